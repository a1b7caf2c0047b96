"""JSON as columns hold it. Every visit reads and writes several, so it is done by the quickest that is at hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import PydanticSerializationError, from_json, to_json


def dumps(value: Any) -> str:
    try:
        return to_json(value, inf_nan_mode="constants").decode()
    except PydanticSerializationError:  # half a surrogate pair, which JSON can spell; or a value it has no word for
        return json.dumps(value)


def loads(text: str | bytes) -> Any:
    try:
        return from_json(text)
    except ValueError:  # the same half
        return json.loads(text)


#: For whoever makes an engine.
AS_JSON: Final[Mapping[str, Any]] = {"json_serializer": dumps, "json_deserializer": loads}
