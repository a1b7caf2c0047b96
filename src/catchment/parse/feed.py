"""Bytes to entries: RSS, Atom, RDF and JSON Feed of every version and in every encoding.

The characters of a document are found out first. What is well-formed is read as it is; what is not is made
well-formed and then read by the same reader, so that nobody sees in an entry which way it came.
"""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from typing import Any

import lxml.etree  # type: ignore[import-untyped]

from catchment.errors import ParseError
from catchment.parse import jsonfeed, xmlfeed
from catchment.parse.encoding import UTF_8, read_as
from catchment.parse.entry import MAX_ENTRIES, ParsedEnclosure, ParsedEntry, ParsedFeed
from catchment.parse.html import plain_text
from catchment.parse.wellformed import Mended, well_formed

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
    if jsonfeed.looks_like_json(document):
        found = jsonfeed.load(document)
        if jsonfeed.is_rss(found):
            return _parse_xml(jsonfeed.as_rss(found), url, summaries=summaries)
        return jsonfeed.read(found, url, summaries=summaries)
    feed = _parse_xml(document, url, summaries=summaries)
    if document is not body and _LOST in document and _LOST not in body:
        feed = replace(feed, is_damaged=True)
    return feed if encoding == UTF_8 else replace(feed, encoding=encoding)


def _parse_xml(document: bytes, url: str, *, summaries: bool) -> ParsedFeed:
    if not _FEED_ROOT.search(document, 0, _HEAD) and _HTML_ROOT.search(document, 0, _HEAD):
        raise ParseError(_what_it_is(document))
    document = _WINDOWS_REFERENCE.sub(_as_windows_means_it, document)
    mended: Mended | None = None
    # Where a section has no end, the next one's is taken for it: what it swallows may be well-formed all the same.
    # They are sought from the end of the document, which takes half as long.
    is_open = document.count(b"<![CDATA[") >= len(document.rsplit(b"]]>"))
    root = None if is_open else _tree(document)
    if root is None:
        mended = well_formed(document)
        root = _tree(mended.document, _FORGIVING)
    if root is None or not xmlfeed.is_feed(root):
        raise ParseError(_what_it_is(document))
    feed = xmlfeed.read(root, url, summaries=summaries, has_bases=document.rfind(b"xml:base") >= 0)
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
