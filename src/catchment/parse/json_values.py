"""JSON from strangers: bytes to values, and values taken for what they should be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from catchment.errors import ParseError

#: What a body is by its first character, when it is not what it should be.
_LOOKS = {
    b"<": "is an HTML page",
    b"{": "looks like JSON but cannot be read",
    b"[": "looks like JSON but cannot be read",
}


def read_json(body: bytes) -> Any:
    """The value in the bytes. What they hold instead is not quoted: an answer may repeat what it was asked with."""
    try:
        return json.loads(body, strict=False)  # line breaks in texts are as clear as they are forbidden
    except (ValueError, RecursionError) as error:
        what = _LOOKS.get(body.lstrip()[:1], "is something else")
        reason = "it is nested too deep" if isinstance(error, RecursionError) else _place(error)
        raise ParseError(f"JSON was expected, but this {what}: {reason}") from error


def read_object(body: bytes) -> dict[str, Any]:
    value = read_json(body)
    if not isinstance(value, dict):
        raise ParseError(f"a JSON object was expected, but this is {type(value).__name__}")
    return value


def text_at(found: Mapping[str, Any], key: str) -> str:
    return as_text(found.get(key))


def as_text(value: object) -> str:
    """Numbers count as text, since publishers write ids as numbers; everything else that is no text is ""."""
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def number_at(found: Mapping[str, Any], key: str) -> int:
    """A count; 0 where there is none."""
    value = found.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def list_at(found: Mapping[str, Any], key: str) -> list[Any]:
    value = found.get(key)
    return value if isinstance(value, list) else []


def object_at(found: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key)
    return value if isinstance(value, dict) else {}


def objects_at(found: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    return [value for value in list_at(found, key) if isinstance(value, dict)]


def _place(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at line {error.lineno}, column {error.colno}"
    return "its characters or numbers cannot be read"
