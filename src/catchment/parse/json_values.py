"""JSON from strangers: bytes to values, and values taken for what they should be.

Paths into them are as people write them: `data.posts`, `items.0.title`, or JSONPath as `$.data[*].post`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from catchment.errors import BadConfig, ParseError

if TYPE_CHECKING:
    from jsonpath import JSONPath

#: Whatever a path chooses, no more of it is looked at.
MAX_MATCHES: Final = 10_000


def read_json_path(text: str) -> Callable[[Any], list[Any]]:
    # Imported where it is needed: few paths are JSONPath, and it takes longer than all that reading a feed needs.
    from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError

    try:
        path = JSONPathEnvironment(strict=True).compile(text)
    except (JSONPathError, RecursionError, ValueError) as error:
        raise BadConfig(f"{text!r} is no JSONPath: {error}.") from error
    if not isinstance(path, JSONPath) or not _is_plain(path):
        raise BadConfig(
            f"{text!r} is more than a path: only names, numbers, slices, * and one .. are taken; "
            "use the source's filters to leave items out."
        )

    def walk(document: Any) -> list[Any]:
        if not isinstance(document, dict | list):
            return []  # the library would take a text for a document of its own
        try:
            return [match.obj for match in islice(path.finditer(document), MAX_MATCHES)]
        except (JSONPathError, RecursionError) as error:
            raise ParseError(f"the path {text!r} cannot be followed in this document: it is nested too deep") from error

    return walk


def _is_plain(path: JSONPath) -> bool:
    from jsonpath.segments import JSONPathRecursiveDescentSegment
    from jsonpath.selectors import IndexSelector, NameSelector, SliceSelector, WildcardSelector

    choosing = (IndexSelector, NameSelector, SliceSelector, WildcardSelector)
    descents = sum(isinstance(segment, JSONPathRecursiveDescentSegment) for segment in path.segments)
    return descents <= 1 and all(
        len(segment.selectors) == 1 and isinstance(segment.selectors[0], choosing) for segment in path.segments
    )


MAX_CHARS: Final = 300

Path: TypeAlias = Callable[[Any], list[Any]]

_INDEX: Final = re.compile(r"\d{1,6}", re.ASCII)


@lru_cache(maxsize=1024)
def compile_path(text: str) -> Path:
    """A function from a document to everything that the path leads to in it."""
    if len(text) > MAX_CHARS:
        raise BadConfig(f"A path has at most {MAX_CHARS} characters.")
    if not text.startswith("$"):
        return _dot_path(text)
    return read_json_path(text)


def first_at(path: Path, document: Any) -> Any:
    """What the path leads to first; None where there is nothing."""
    return next(iter(path(document)), None)


def _dot_path(text: str) -> Path:
    steps = text.split(".") if text else []

    def walk(document: Any) -> list[Any]:
        for step in steps:
            if isinstance(document, dict) and step in document:
                document = document[step]
            elif isinstance(document, list) and _INDEX.fullmatch(step) and int(step) < len(document):
                document = document[int(step)]
            else:
                return []
        return [document]

    return walk


#: What a body is by its first character, when it is not what it should be.
_LOOKS = {
    b"<": "JSON was expected, but this is an HTML page",
    b"{": "this is JSON with a mistake in it",
    b"[": "this is JSON with a mistake in it",
}


def read_json(body: bytes) -> Any:
    """The value in the bytes. What they hold instead is not quoted: an answer may repeat what it was asked with."""
    try:
        return json.loads(body, strict=False)  # line breaks in texts are as clear as they are forbidden
    except (ValueError, RecursionError) as error:
        what = _LOOKS.get(body.lstrip()[:1], "JSON was expected, but this is something else")
        reason = "it is nested too deep" if isinstance(error, RecursionError) else _place(error)
        raise ParseError(f"{what}: {reason}") from error


def holds_list(document: Any) -> bool:
    """Whether it is a list, or has one anywhere."""
    found = [document]
    while found:
        one = found.pop()
        if isinstance(one, list):
            return True
        if isinstance(one, dict):
            found.extend(one.values())
    return False


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
