"""What can be kept at all, whoever brings it."""

from __future__ import annotations

import json
import re
from typing import Any

# An escaped NUL, but not an escaped backslash before `u0000`.
_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")


def is_storable(value: Any) -> bool:
    """Whether both stores can hold it and JSON can say it: no NUL, no half of a surrogate pair, no NaN."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return _NUL_IN_JSON.search(text) is None
