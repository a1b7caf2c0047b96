"""Paths into JSON that people write: `data.posts`, `items.0.title`, or JSONPath as `$.data[*].post`.

A path chooses, it does not compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from catchment.errors import BadConfig

MOST_CHARS: Final = 300

Path: TypeAlias = Callable[[Any], list[Any]]

_INDEX: Final = re.compile(r"\d{1,6}", re.ASCII)


@lru_cache(maxsize=1024)
def compile_path(text: str) -> Path:
    """A function from a document to everything that the path leads to in it."""
    if len(text) > MOST_CHARS:
        raise BadConfig(f"A path has at most {MOST_CHARS} characters.")
    if not text.startswith("$"):
        return _dot_path(text)
    # Imported where it is needed: few paths are JSONPath, and it takes a while.
    from catchment.parse.json_path import read_json_path

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
