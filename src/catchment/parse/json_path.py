"""The part of JSONPath that chooses: names, numbers, slices, `*` and one `..`.

Filters and lists of choices are not taken: a few dozen characters of them could keep a processor busy for years. What
a filter would leave out, the source's own filters do.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, Final

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.segments import JSONPathRecursiveDescentSegment
from jsonpath.selectors import IndexSelector, NameSelector, SliceSelector, WildcardSelector

from catchment.errors import BadConfig, ParseError

#: Whatever a path chooses, no more of it is looked at.
MOST_MATCHES: Final = 10_000

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
            return [match.obj for match in islice(path.finditer(document), MOST_MATCHES)]
        except (JSONPathError, RecursionError) as error:
            raise ParseError(f"the path {text!r} cannot be followed in this document: it is nested too deep") from error

    return walk


def _is_plain(path: JSONPath) -> bool:
    descents = sum(isinstance(segment, JSONPathRecursiveDescentSegment) for segment in path.segments)
    return descents <= 1 and all(
        len(segment.selectors) == 1 and isinstance(segment.selectors[0], _CHOOSING) for segment in path.segments
    )
