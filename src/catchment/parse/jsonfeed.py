"""JSON Feed of every version, and RSS in JSON as RSS."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from typing import Any

from catchment.errors import ParseError
from catchment.parse.dates import parse_feed_date
from catchment.parse.entry import (
    MAX_TITLE,
    EntryMaker,
    ParsedEnclosure,
    ParsedFeed,
    RawEntry,
    absolute,
    feed_base,
    has_lines,
    newest,
    size_in_bytes,
)
from catchment.parse.html import CONTROL_BYTES, one_line, unescaped
from catchment.parse.json_values import as_text, list_at, object_at, objects_at, read_json, text_at

_Object = dict[str, Any]
#: Of an element; prefixes need not be declared.
_NAME = re.compile(r"(?!xmlns)(?:[A-Za-z][\w.-]*:)?[A-Za-z][\w.-]*", re.ASCII)


def looks_like_json(body: bytes) -> bool:
    return body[:1] in {b"{", b"["}


def read(document: _Object, url: str, *, summaries: bool = True) -> ParsedFeed:
    link = text_at(document, "home_page_url")
    url = absolute(text_at(document, "feed_url"), url) or url
    base = feed_base(link, url)
    author = _author(document)
    listed = list_at(document, "items")
    entries = (_entry(item, author) for item in listed if isinstance(item, dict))
    found = [one for one in entries if one.id or one.link or one.title or one.summary or one.content]
    places = newest(len(found), lambda place: (found[place].published, found[place].id or found[place].link))
    return ParsedFeed(
        title=one_line(unescaped(text_at(document, "title")), MAX_TITLE),
        link=absolute(link, url),
        entries=EntryMaker(base, summaries=summaries).make([found[place] for place in places]),
        left_out=len(listed) - len(found),
        cut=len(found) - len(places),
    )


def load(body: bytes) -> _Object:
    document = read_json(body.translate(None, CONTROL_BYTES))
    if not isinstance(document, dict):
        raise ParseError("this is JSON but no feed: it is a list or a single value; use the type custom_api")
    if is_rss(document):
        return document
    if "jsonfeed.org" not in text_at(document, "version") and not isinstance(document.get("items"), list):
        keys = ", ".join(sorted(map(repr, document))[:5])
        raise ParseError(f"this is JSON but no JSON Feed: it has {keys or 'nothing'} instead of 'items'")
    return document


def is_rss(document: _Object) -> bool:
    """Whether it is RSS with every element as a value of its name: RSS in JSON."""
    return isinstance(object_at(document, "rss").get("channel"), dict)


def as_rss(document: _Object) -> bytes:
    try:
        return _element("rss", document["rss"]).encode("utf-8", "replace")
    except RecursionError as error:
        raise ParseError("this is RSS in JSON, but it is nested too deep") from error


def _element(name: str, said: object) -> str:
    if not _NAME.fullmatch(name):
        return ""
    if isinstance(said, list):
        return "".join(_element(name, one) for one in said)
    if not isinstance(said, dict):
        inner = escape(as_text(said))
    elif "#value" in said:
        inner = escape(text_at(said, "#value"))
    else:
        inner = "".join(_element(key, one) for key, one in said.items())
    return f"<{name}>{inner}</{name}>"


def _entry(item: _Object, feed_author: str) -> RawEntry:
    title, html = text_at(item, "title"), text_at(item, "content_html")
    entry = RawEntry(
        id=text_at(item, "id"),
        link=text_at(item, "url") or text_at(item, "external_url"),
        title=title,
        author=_author(item) or feed_author,
        published=parse_feed_date(text_at(item, "date_published")),
        updated=parse_feed_date(text_at(item, "date_modified")),
        summary=_plain(item, "summary"),
        content=html or _plain(item, "content_text"),
        enclosures=list(_attachments(item)),
        tags=[tag for tag in list_at(item, "tags") if isinstance(tag, str)],
    )
    if "<" in title or "&" in title:
        # Some escape what need not be, as for HTML; a tag is a word nevertheless.
        entry = entry._replace(plain_title=unescaped(title))
    return entry if html or not has_lines(entry.content) else entry._replace(has_plain_lines=True)


def _plain(found: _Object, key: str) -> str:
    return escape(text_at(found, key), quote=False)


def _author(found: _Object) -> str:
    return _names(found.get("authors")) or _names(found.get("author"))  # as in version 1.0


def _names(people: object) -> str:
    """Some give one person for a list, or a name for a person."""
    listed = people if isinstance(people, list) else [people]
    named = ({"name": one} if isinstance(one, str) else one for one in listed)
    names = (text_at(one, "name").strip() for one in named if isinstance(one, dict))
    return ", ".join(dict.fromkeys(filter(None, names)))


def _attachments(item: _Object) -> Iterable[ParsedEnclosure]:
    for file in objects_at(item, "attachments"):
        length = size_in_bytes(file.get("size_in_bytes"))
        yield ParsedEnclosure(url=text_at(file, "url"), type=text_at(file, "mime_type"), length=length)
