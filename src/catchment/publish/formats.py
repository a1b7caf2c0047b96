"""The formats that a feed is given out in."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from catchment.publish import atom, jsonfeed, rss
from catchment.publish.feed import Feed


class Format(StrEnum):
    """The value is how its address ends."""

    RSS = "rss"
    ATOM = "atom"
    JSON = "json"

    @property
    def media_type(self) -> str:
        return _MEDIA_TYPES[self]

    def write(self, feed: Feed) -> bytes:
        return _WRITERS[self](feed)


_MEDIA_TYPES = {Format.RSS: rss.MEDIA_TYPE, Format.ATOM: atom.MEDIA_TYPE, Format.JSON: jsonfeed.MEDIA_TYPE}
_WRITERS: dict[Format, Callable[[Feed], bytes]] = {
    Format.RSS: rss.write_rss,
    Format.ATOM: atom.write_atom,
    Format.JSON: jsonfeed.write_json_feed,
}
