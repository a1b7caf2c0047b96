"""JSON Feed 1.0 and 1.1."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from catchment.errors import ParseError
from catchment.parse.dates import parse_date
from catchment.parse.entry import (
    MAX_ENTRIES,
    MAX_TITLE,
    Enclosure,
    Entry,
    EntryBuilder,
    Feed,
    absolute,
    feed_base,
    size_in_bytes,
)
from catchment.parse.html import plain_text

_Object = dict[str, Any]


def looks_like_json(body: bytes) -> bool:
    return body[:1] in {b"{", b"["}


def read(body: bytes, url: str, *, summaries: bool = True) -> Feed:
    document = _document(body)
    link = _text(document, "home_page_url")
    base = feed_base(link, _text(document, "feed_url") or url)
    author = _author(document)
    builder = EntryBuilder(base, summaries=summaries)
    return Feed(
        title=plain_text(_text(document, "title"), MAX_TITLE),
        link=absolute(link, base),
        entries=tuple(_entry(item, author, builder) for item in _objects(document, "items")[:MAX_ENTRIES]),
    )


def _document(body: bytes) -> _Object:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"this looks like JSON but cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise ParseError("this is JSON but no feed: it is a list or a single value; use the type custom_api")
    if "jsonfeed.org" not in _text(document, "version") and not isinstance(document.get("items"), list):
        keys = ", ".join(sorted(map(repr, document))[:5])
        raise ParseError(f"this is JSON but no JSON Feed: it has {keys or 'nothing'} instead of 'items'")
    return document


def _entry(item: _Object, feed_author: str, builder: EntryBuilder) -> Entry:
    return builder.build(
        id=_text(item, "id"),
        link=_text(item, "url") or _text(item, "external_url"),
        title=_text(item, "title"),
        author=_author(item) or feed_author,
        published=parse_date(_text(item, "date_published")),
        updated=parse_date(_text(item, "date_modified")),
        texts=builder.texts(_plain(item, "summary"), _text(item, "content_html") or _plain(item, "content_text")),
        enclosures=list(_attachments(item)),
        tags=[tag for tag in _list(item, "tags") if isinstance(tag, str)],
    )


def _text(found: _Object, key: str) -> str:
    """Numbers count as text: publishers write ids as numbers, and the format says to take them."""
    value = found.get(key)
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _plain(found: _Object, key: str) -> str:
    return escape(_text(found, key), quote=False)


def _list(found: _Object, key: str) -> list[Any]:
    value = found.get(key)
    return value if isinstance(value, list) else []


def _objects(found: _Object, key: str) -> list[_Object]:
    return [value for value in _list(found, key) if isinstance(value, dict)]


def _author(found: _Object) -> str:
    single = found.get("author")  # as in version 1.0
    authors = _objects(found, "authors") or ([single] if isinstance(single, dict) else [])
    return ", ".join(filter(None, (_text(author, "name") for author in authors)))


def _attachments(item: _Object) -> Iterable[Enclosure]:
    for file in _objects(item, "attachments"):
        length = size_in_bytes(file.get("size_in_bytes"))
        yield Enclosure(url=_text(file, "url"), type=_text(file, "mime_type"), length=length)
