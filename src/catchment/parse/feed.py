"""Bytes to entries: RSS, Atom, RDF and JSON Feed of every version and in every encoding.

The characters of a document are found out first. What is well-formed is read as it is; what is not is made
well-formed and then read by the same reader, so that nobody sees in an entry which way it came.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from html import escape, unescape
from typing import Any

import lxml.etree  # type: ignore[import-untyped]

from catchment.errors import ParseError
from catchment.parse import xmlfeed
from catchment.parse.dates import parse_date
from catchment.parse.encoding import UTF_8, read_as
from catchment.parse.entry import (
    MAX_ENTRIES,
    MAX_TITLE,
    EntryMaker,
    ParsedEnclosure,
    ParsedEntry,
    ParsedFeed,
    RawEntry,
    absolute,
    feed_base,
    newest,
    size_in_bytes,
)
from catchment.parse.html import CONTROL_BYTES, plain_text
from catchment.parse.json_values import list_at, objects_at, read_json, text_at
from catchment.parse.wellformed import Mended, well_formed

_Object = dict[str, Any]


def looks_like_json(body: bytes) -> bool:
    return body[:1] in {b"{", b"["}


def read(body: bytes, url: str, *, summaries: bool = True) -> ParsedFeed:
    document = _document(body)
    link = text_at(document, "home_page_url")
    url = text_at(document, "feed_url") or url
    base = feed_base(link, url)
    author = _author(document)
    listed = list_at(document, "items")
    entries = (_entry(item, author) for item in listed if isinstance(item, dict))
    found = [one for one in entries if one.id or one.link or one.title or one.summary or one.content]
    places = newest(len(found), lambda place: (found[place].published, found[place].id or found[place].link))
    return ParsedFeed(
        title=plain_text(text_at(document, "title"), MAX_TITLE),
        link=absolute(link, url),
        entries=EntryMaker(base, summaries=summaries).make([found[place] for place in places]),
        left_out=len(listed) - len(found),
        cut=len(found) - len(places),
    )


def _document(body: bytes) -> _Object:
    document = read_json(body.translate(None, CONTROL_BYTES))
    if not isinstance(document, dict):
        raise ParseError("this is JSON but no feed: it is a list or a single value; use the type custom_api")
    if "jsonfeed.org" not in text_at(document, "version") and not isinstance(document.get("items"), list):
        keys = ", ".join(sorted(map(repr, document))[:5])
        raise ParseError(f"this is JSON but no JSON Feed: it has {keys or 'nothing'} instead of 'items'")
    return document


def _entry(item: _Object, feed_author: str) -> RawEntry:
    return RawEntry(
        id=text_at(item, "id"),
        link=text_at(item, "url") or text_at(item, "external_url"),
        title=text_at(item, "title"),
        author=_author(item) or feed_author,
        published=parse_date(text_at(item, "date_published")),
        updated=parse_date(text_at(item, "date_modified")),
        summary=_plain(item, "summary"),
        content=text_at(item, "content_html") or _plain(item, "content_text"),
        enclosures=list(_attachments(item)),
        tags=[tag for tag in list_at(item, "tags") if isinstance(tag, str)],
    )


def _plain(found: _Object, key: str) -> str:
    return escape(text_at(found, key), quote=False)


def _author(found: _Object) -> str:
    single = found.get("author")  # as in version 1.0
    authors = objects_at(found, "authors") or ([single] if isinstance(single, dict) else [])
    return ", ".join(filter(None, (text_at(author, "name") for author in authors)))


def _attachments(item: _Object) -> Iterable[ParsedEnclosure]:
    for file in objects_at(item, "attachments"):
        length = size_in_bytes(file.get("size_in_bytes"))
        yield ParsedEnclosure(url=text_at(file, "url"), type=text_at(file, "mime_type"), length=length)


__all__ = ["MAX_ENTRIES", "ParsedEnclosure", "ParsedEntry", "ParsedFeed", "parse_feed"]

_HEAD = 4096
# What stands where bytes could not be read.
_LOST = "\ufffd".encode()
_FEED_ROOT = re.compile(rb"<(?:[\w-]+:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_HTML_ROOT = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
# The numbers of U+0080 to U+009F.
_WINDOWS_REFERENCE = re.compile(rb"&#(?:1(?:2[89]|[345][0-9])|[xX](?:00)?[89][0-9a-fA-F]);")
# Whatever the document says of its characters, they are UTF-8 by now. Nothing is fetched, and no entity unfolds.
_SAFELY = {
    "encoding": "utf-8", "resolve_entities": False, "no_network": True, "remove_comments": True, "remove_pis": True
}  # fmt: skip
_STRICT = lxml.etree.XMLParser(**_SAFELY)
# For a namespace that is declared as nothing, and the like: what was made well-formed has no other faults left.
_FORGIVING = lxml.etree.XMLParser(**_SAFELY, recover=True)
_HTML_TITLE = re.compile(rb"<title[^<>]*>([^<]{0,400})", re.IGNORECASE)


def parse_feed(body: bytes, *, url: str = "", content_type: str = "", summaries: bool = True) -> ParsedFeed:
    """The feed in the bytes, its texts sanitised and its links absolute.

    Without `summaries`, a summary that stands beside a content is left out: sanitising it is a third of the work.

    Touches no network and raises nothing but `ParseError`, whatever the bytes are.
    """
    document, encoding = read_as(body, content_type)
    if not document:
        raise ParseError("the body is empty: there is no feed in it")
    if looks_like_json(document):
        return read(document, url, summaries=summaries)
    feed = _parse_xml(document, url, summaries=summaries)
    if document is not body and _LOST in document and _LOST not in body:
        feed = replace(feed, is_damaged=True)
    return feed if encoding == UTF_8 else replace(feed, encoding=encoding)


def _parse_xml(document: bytes, url: str, *, summaries: bool) -> ParsedFeed:
    if not _FEED_ROOT.search(document, 0, _HEAD) and _HTML_ROOT.search(document, 0, _HEAD):
        raise ParseError(_what_it_is(document))
    if b"&#" in document:
        document = _WINDOWS_REFERENCE.sub(_as_windows_means_it, document)
    mended: Mended | None = None
    root = _tree(document)
    if root is None:
        mended = well_formed(document)
        root = _tree(mended.document, _FORGIVING)
    if root is None or not xmlfeed.is_feed(root):
        raise ParseError(_what_it_is(document))
    feed = xmlfeed.read(root, url, summaries=summaries, has_bases=b"xml:base" in document)
    return replace(feed, is_damaged=mended.is_damaged, is_cut_off=mended.is_cut_off) if mended else feed


def _as_windows_means_it(reference: re.Match[bytes]) -> bytes:
    return unescape(reference[0].decode("ascii")).encode()


def _tree(document: bytes, parser: lxml.etree.XMLParser = _STRICT) -> Any | None:
    """The document as a tree, if it is well-formed and says all by itself: what it declares as entities is lost."""
    try:
        root = lxml.etree.fromstring(document, parser)
    except lxml.etree.XMLSyntaxError:
        return None
    if root is None:
        return None
    return root if root.getroottree().docinfo.internalDTD is None else None


def _what_it_is(document: bytes) -> str:
    if _HTML_ROOT.search(document, 0, _HEAD):
        match = _HTML_TITLE.search(document)
        title = plain_text(match[1].decode("utf-8", "replace"), 80) if match else ""
        return f"this is an HTML page, not a feed: {title!r}" if title else "this is an HTML page, not a feed"
    if _FEED_ROOT.search(document, 0, _HEAD):
        return "this looks like a feed but is too damaged to be read"
    start = plain_text(document[:200].decode("utf-8", "replace"), 60) or document[:30].decode("latin-1")
    return f"this is no feed; it starts with {start!r}"
