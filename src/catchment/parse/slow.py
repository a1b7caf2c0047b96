"""The thorough way to read a feed: feedparser, which knows the broken feeds of twenty years."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from io import BytesIO
from typing import Any

import feedparser

from catchment.parse.dates import from_struct
from catchment.parse.entry import (
    MAX_ENTRIES,
    MAX_TITLE,
    Enclosure,
    EntryMaker,
    Feed,
    Found,
    absolute,
    feed_base,
    size_in_bytes,
)
from catchment.parse.html import CONTROL_BYTES, plain_text

# It takes some seconds per megabyte where the markup is hostile.
MAX_BYTES = 4 * 1024 * 1024

# feedparser expands no bombs, but it takes its time over them.
_ENTITY = re.compile(rb"<!ENTITY[^>]*>")

_Fields = Mapping[str, Any]


def read(body: bytes, url: str, *, summaries: bool = True) -> Feed:
    """The feed as feedparser finds it; without entries where it finds none, whatever the bytes are."""
    harmless = _ENTITY.sub(b" ", body.translate(None, CONTROL_BYTES))
    # As a stream: bytes might be taken for the name of a file, and text for an address.
    found = feedparser.parse(BytesIO(harmless), sanitize_html=False)
    link = _text(found.feed, "link")
    base = feed_base(link, url)
    author = _text(found.feed, "author")
    return Feed(
        title=plain_text(_text(found.feed, "title"), MAX_TITLE),
        link=absolute(link, base),
        entries=EntryMaker(base, summaries=summaries).make(
            [_entry(entry, author) for entry in found.entries[:MAX_ENTRIES]]
        ),
    )


def _entry(found: _Fields, feed_author: str) -> Found:
    return Found(
        id=_text(found, "id"),
        link=_link(found),
        title=_text(found, "title"),
        author=_text(found, "author") or feed_author,
        published=from_struct(found.get("published_parsed") or found.get("updated_parsed")),
        updated=from_struct(found.get("updated_parsed")) if "updated_parsed" in found else None,
        summary=_text(found, "summary"),
        content=_content(found),
        enclosures=list(_enclosures(found.get("enclosures") or ())),
        tags=[_text(tag, "term") for tag in found.get("tags") or ()],
    )


def _text(found: _Fields, key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def _link(found: _Fields) -> str:
    """Its own link; feedparser takes an id for one, whatever it looks like."""
    link = _text(found, "link")
    return "" if link == _text(found, "id") else link


def _content(found: _Fields) -> str:
    """The richest of the contents: what is not plain text, else the first."""
    given = found.get("content") or ()
    rich = next((part for part in given if part.get("type") != "text/plain"), None)
    if rich is not None:
        return _text(rich, "value")
    return escape(_text(given[0], "value"), quote=False) if given else ""


def _enclosures(given: Iterable[_Fields]) -> Iterable[Enclosure]:
    for file in given:
        url = _text(file, "href") or _text(file, "url")
        yield Enclosure(url=url, type=_text(file, "type"), length=size_in_bytes(file.get("length")))
