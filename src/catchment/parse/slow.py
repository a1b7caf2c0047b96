"""The thorough way to read a feed: feedparser, which knows the broken feeds of twenty years."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
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
_ENTITY = re.compile(rb"<!ENTITY[^>]*(?:>|\Z)")
_FIRST_TAG = re.compile(rb"<\w")
_DECLARATION = b'<?xml version="1.0" encoding="utf-8"?>\n'
_LONGEST_AUTHOR = 1_000

_Fields = Mapping[str, Any]


def read(body: bytes, url: str, *, summaries: bool = True) -> Feed:
    """The feed as feedparser finds it; without entries where it finds none, whatever the bytes are."""
    harmless = _without_prolog(_ENTITY.sub(b" ", body.translate(None, CONTROL_BYTES)))
    # As a stream: bytes might be taken for the name of a file, and text for an address. Links in texts are resolved by
    # what cleans them: feedparser would write all of the markup anew, other than the quick parser leaves it.
    found = feedparser.parse(BytesIO(harmless), resolve_relative_uris=False, sanitize_html=False)
    link = _text(found.feed, "link")
    base = feed_base(link, url)
    is_atom = str(found.get("version")).startswith("atom")
    author = _author(found.feed, is_atom=True) if is_atom else _text(found.feed, "author")
    return Feed(
        title=plain_text(_text(found.feed, "title"), MAX_TITLE),
        link=absolute(link, base),
        entries=EntryMaker(base, summaries=summaries).make(
            [_entry(entry, author, is_atom=is_atom) for entry in found.entries[:MAX_ENTRIES]]
        ),
    )


def _without_prolog(document: bytes) -> bytes:
    """What stands before the first tag says nothing that is not known, and feedparser can be made to brood on it."""
    first = _FIRST_TAG.search(document)
    return _DECLARATION + document[first.start() :] if first else b""


def _without_brooding(find_address: Callable[..., None]) -> Callable[..., None]:
    """How feedparser finds the mail address in an author: from every letter anew, so that a long one takes hours."""

    def find_address_if_short(parser: Any, key: str = "author") -> None:
        if len(_text(parser._get_context(), key)) <= _LONGEST_AUTHOR:  # noqa: SLF001 - as below
            find_address(parser, key)

    return find_address_if_short


# There is no way to tell it so from outside.
_Parser = feedparser.mixin._FeedParserMixin  # noqa: SLF001
_Parser._sync_author_detail = _without_brooding(_Parser._sync_author_detail)  # noqa: SLF001


def _entry(found: _Fields, feed_author: str, *, is_atom: bool) -> Found:
    # Asked for what is not there, feedparser gives the other date, and warns of it.
    updated = from_struct(found["updated_parsed"]) if "updated_parsed" in found else None
    return Found(
        id=_text(found, "id"),
        link=_link(found),
        title=_text(found, "title"),
        author=_author(found, is_atom=is_atom) or feed_author,
        published=from_struct(found.get("published_parsed")) or updated,
        updated=updated,
        summary=_text(found, "summary"),
        content=_content(found),
        enclosures=list(_enclosures(found.get("enclosures") or ())),
        tags=[_text(tag, "term") for tag in found.get("tags") or ()],
        base=_base(found),
    )


def _text(found: _Fields, key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""


def _author(found: _Fields, *, is_atom: bool) -> str:
    """The first one, as it is written; feedparser has the last, and puts addresses to names."""
    author = _text(found, "author")
    names = [name for person in found.get("authors") or () if (name := _text(person, "name"))]
    return names[0] if names and (is_atom or len(names) > 1 or not author) else author


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


def _base(found: _Fields) -> str:
    texts = (*(found.get("content") or ()), found.get("summary_detail") or {})
    return next((base for text in texts if (base := _text(text, "base"))), "")


def _enclosures(given: Iterable[_Fields]) -> Iterable[Enclosure]:
    for file in given:
        url = _text(file, "href") or _text(file, "url")
        yield Enclosure(url=url, type=_text(file, "type"), length=size_in_bytes(file.get("length")))
