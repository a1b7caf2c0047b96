"""What a page says of itself in JSON-LD, as far as it is about an article."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

#: Whoever writes more than this into a page writes for somebody else.
_MAX_CHARS: Final = 500_000
_MAX_OBJECTS: Final = 500
# Some hide it from browsers that are long gone.
_WRAPPING: Final = re.compile(r"\s*(?://)?\s*(?:<!\[CDATA\[|<!--)?\s*")
_DECODER: Final = json.JSONDecoder(strict=False)
_ARTICLES: Final = ("Article", "Posting", "Report", "Recipe", "Review", "Podcast", "Episode", "VideoObject")
_PAGES: Final = ("WebPage", "ItemPage", "AboutPage")


class LinkedData:
    """The object that stands for the page: an article if there is one. Every answer is "" where it does not say."""

    def __init__(self, scripts: Iterable[str]) -> None:
        objects = [found for script in scripts for found in _objects(script)]
        self._by_id = {str(found["@id"]): found for found in reversed(objects) if "@id" in found and len(found) > 1}
        self._object = _first_of(objects, _ARTICLES) or _first_of(objects, _PAGES) or {}

    def text(self, *names: str) -> str:
        return next((text for name in names if (text := self._text(self._object.get(name)))), "")

    def names(self, name: str) -> list[str]:
        """Of persons or organisations, which are given as names, as objects, or as references to objects."""
        value = self._object.get(name)
        found = (self._text(person) for person in (value if isinstance(value, list) else [value]))
        return list(dict.fromkeys(filter(None, found)))

    def _text(self, value: Any) -> str:
        if isinstance(value, list):
            return next((text for part in value if (text := self._text(part))), "")
        if isinstance(value, dict):
            value = self._by_id.get(str(value.get("@id")), value)
            value = next((value[key] for key in ("name", "url", "contentUrl", "@value") if value.get(key)), "")
        return value.strip() if isinstance(value, str) else ""


def _objects(script: str) -> Iterator[dict[str, Any]]:
    """Every object in it, outer ones first."""
    try:
        # Reads one value and leaves what follows it, which closes the wrapping.
        value, _ = _DECODER.raw_decode(script[:_MAX_CHARS], _start_of(script))
    except (ValueError, RecursionError):
        return
    waiting = [value]
    for _ in range(_MAX_OBJECTS):
        if not waiting:
            return
        value = waiting.pop(0)
        if isinstance(value, dict):
            yield value
            waiting += (inner for inner in value.values() if isinstance(inner, dict | list))
        elif isinstance(value, list):
            waiting += value


def _start_of(script: str) -> int:
    wrapping = _WRAPPING.match(script)
    return wrapping.end() if wrapping else 0


def _first_of(objects: list[dict[str, Any]], kinds: tuple[str, ...]) -> dict[str, Any] | None:
    return next((found for found in objects if _kind(found).endswith(kinds)), None)


def _kind(found: dict[str, Any]) -> str:
    kind = found.get("@type", "")
    return str(kind[0] if isinstance(kind, list) and kind else kind)
