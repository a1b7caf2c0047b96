"""Bodies with moments in them: `{{now}}` and `{{7_days_ago}}` become dates when the request is made."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

_MOMENT: Final = re.compile(r"\{\{\s*(?:now|(\d{1,5})_days_ago)\s*\}\}", re.ASCII)


def fill_text(template: str, now: datetime) -> str:
    """The text with its moments in ISO 8601, UTC. Other braces stay as they are: some APIs are fond of them."""

    def moment(found: re.Match[str]) -> str:
        return f"{now - timedelta(days=int(found[1] or 0)):%Y-%m-%dT%H:%M:%SZ}"

    return _MOMENT.sub(moment, template)


def fill_body(template: str | Mapping[str, Any], now: datetime) -> bytes:
    """A text as it is, an object as JSON."""
    if isinstance(template, str):
        return fill_text(template, now).encode()
    return json.dumps(_filled(template, now), ensure_ascii=False).encode()


def _filled(value: Any, now: datetime) -> Any:
    match value:
        case str():
            return fill_text(value, now)
        case Mapping():
            return {key: _filled(one, now) for key, one in value.items()}
        case list():
            return [_filled(one, now) for one in value]
        case _:
            return value
