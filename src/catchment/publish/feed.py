"""A feed to be given out, whatever its format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

# What XML 1.0 cannot hold, not even escaped: most control characters, lone surrogates, U+FFFE and U+FFFF.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    #: Stays the same for ever, whatever becomes of the address.
    id: str
    url: str
    title: str
    #: Plain text; each format escapes it in its own way.
    text: str
    published_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    title: str
    description: str
    home_url: str
    #: Where this very document is.
    self_url: str
    entries: tuple[FeedEntry, ...]


def without_forbidden_characters(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
