"""A feed to be given out, whatever its format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

# What XML 1.0 cannot hold, not even escaped: most control characters, lone surrogates, U+FFFE and U+FFFF.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: For a file of which nothing is known.
UNKNOWN_FILE = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    url: str
    type: str = UNKNOWN_FILE
    #: In bytes; 0 when unknown.
    length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    #: Stays the same for ever, whatever becomes of the address.
    id: str
    #: Empty when there is nothing to go to.
    url: str
    title: str
    #: Plain text; each format escapes it in its own way.
    text: str = ""
    #: HTML that is safe to show; where there is some, it takes the place of the text.
    html: str = ""
    author: str = ""
    published_at: datetime
    #: When it was edited last, if ever.
    updated_at: datetime | None = None
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()

    @property
    def changed_at(self) -> datetime:
        return self.updated_at or self.published_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    title: str
    description: str
    home_url: str
    #: Where this very document is served; empty when nobody knows.
    self_url: str
    entries: tuple[FeedEntry, ...]
    #: Its newest change. No format may put the present time in its place: the same feed is the same bytes.
    updated_at: datetime | None = None
    language: str = ""
    #: Minutes for which readers need not ask again; 0 says nothing.
    ttl_minutes: int = 0
    #: The WebSub hub that tells of news.
    hub_url: str = ""


def without_forbidden_characters(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
