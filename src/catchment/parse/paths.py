"""Paths into JSON that people write: `data.posts`, `items.0.title`, or JSONPath as `$.data[*].post`.

A path chooses, it does not compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import islice
from typing import Any, Final, TypeAlias

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.segments import JSONPathRecursiveDescentSegment
from jsonpath.selectors import IndexSelector, NameSelector, SliceSelector, WildcardSelector

from catchment.errors import BadConfig, ParseError

#: Whatever a path chooses, no more of it is looked at.
MAX_MATCHES: Final = 10_000

_ENVIRONMENT: Final = JSONPathEnvironment(strict=True)
_CHOOSING: Final = (IndexSelector, NameSelector, SliceSelector, WildcardSelector)


def read_json_path(text: str) -> Callable[[Any], list[Any]]:
    try:
        path = _ENVIRONMENT.compile(text)
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
    descents = sum(isinstance(segment, JSONPathRecursiveDescentSegment) for segment in path.segments)
    return descents <= 1 and all(
        len(segment.selectors) == 1 and isinstance(segment.selectors[0], _CHOOSING) for segment in path.segments
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
    # Imported where it is needed: few paths are JSONPath, and it takes a while.

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
