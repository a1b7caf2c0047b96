"""A sitemap that is read portion by portion by a process that remembers it in between."""

from __future__ import annotations

from typing import NamedTuple

from catchment.errors import ParseError
from catchment.parse.sitemap import SitemapEntry, SitemapParser

_under_way: dict[str, SitemapParser] = {}


class Portion(NamedTuple):
    """What a portion brought."""

    entries: list[SitemapEntry]
    #: Of the last portion: whether the document came to its end.
    is_whole: bool


def read_portion(portion: bytes, *, url: str, is_first: bool, is_last: bool) -> Portion:
    """Whatever was begun before is over with the first portion of another document."""
    if is_first:
        _under_way.clear()
        _under_way[url] = SitemapParser(url)
    parser = _under_way.get(url)
    if parser is None:
        raise ParseError(f"the process that read the start of {url} is gone; it is read again at the next visit")
    entries = parser.feed(portion)
    if is_last:
        del _under_way[url]
        entries += parser.close()
    return Portion(entries, parser.is_whole)
