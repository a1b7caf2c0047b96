"""The title of a page without the name of its site, where it is clear which part that is."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

# Between the parts of a title. A hyphen inside a word is none, and neither is a colon: it belongs to the sentence.
_SEPARATOR: Final = re.compile(r"\s+[-–—|·•»«]{1,2}\s+|\s*[|｜]\s*|_+")
_PLAIN: Final = re.compile(r"[\W_]+")
_SHORTEST_LABEL: Final = 3


def without_site(title: str, *, sites: Collection[str], headings: Collection[str], url: str) -> str:
    """Without a first or last part that names the site, or without the rest where a heading is the beginning."""
    found = _heading_at_start(title, headings)
    if found:
        return found
    names = {_folded(name) for name in sites} | _labels(url)
    separators = list(_SEPARATOR.finditer(title))
    if not separators:
        return title
    first, last = separators[0], separators[-1]
    if _folded(title[last.end() :]) in names:
        return without_site(title[: last.start()], sites=sites, headings=(), url=url)
    if _folded(title[: first.start()]) in names:
        return title[first.end() :]
    return title


def is_same_title(one: str, other: str) -> bool:
    """However they are written."""
    return bool(other) and _folded(one) == _folded(other)


def names_the_same(one: str, other: str) -> bool:
    """Whether one of two titles is a part of the other, however they are written."""
    first, second = _folded(one), _folded(other)
    return bool(first and second) and (first in second or second in first)


def _heading_at_start(title: str, headings: Collection[str]) -> str:
    """The heading that the title begins with, if a separator follows it there."""
    for heading in headings:
        if title.startswith(heading) and _SEPARATOR.match(title, len(heading)):
            return heading
    return ""


def _labels(url: str) -> set[str]:
    """What the site may be called after its address: `example` and `example.org` of www.example.org."""
    try:
        host = (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:  # a bracket that opens no IPv6 address
        return set()
    names = {host, host.partition(".")[0], host.rpartition(".")[0]}
    return {_folded(name) for name in names if len(name) >= _SHORTEST_LABEL}


def _folded(text: str) -> str:
    return _PLAIN.sub("", text).casefold()
