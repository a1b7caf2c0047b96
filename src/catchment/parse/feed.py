"""Bytes to entries: RSS, Atom, RDF and JSON Feed of every version and in every encoding.

The quick parser reads nearly all feeds. Where it fails, or where there is reason to doubt what it found, the
thorough one reads them again, fifty times slower.
"""

from __future__ import annotations

import re

from catchment.errors import ParseError
from catchment.parse import ampersands, fast, jsonfeed, slow
from catchment.parse.doubt import is_doubtful
from catchment.parse.encoding import as_utf8
from catchment.parse.entry import MAX_ENTRIES, Enclosure, Entry, Feed
from catchment.parse.html import plain_text

__all__ = ["MAX_ENTRIES", "Enclosure", "Entry", "Feed", "parse_feed"]

_HEAD = 4096
_FEED_ROOT = re.compile(rb"<(?:[\w-]+:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_HTML_ROOT = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_HTML_TITLE = re.compile(rb"<title[^<>]*>([^<]{0,400})", re.IGNORECASE)


def parse_feed(body: bytes, *, url: str = "", content_type: str = "", summaries: bool = True) -> Feed:
    """The feed in the bytes, its texts sanitised and its links absolute.

    Without `summaries`, a summary that stands beside a content is left out: sanitising it is a third of the work.

    Touches no network and raises nothing but `ParseError`, whatever the bytes are.
    """
    document = as_utf8(body, content_type)
    if not document:
        raise ParseError("the body is empty: there is no feed in it")
    if jsonfeed.looks_like_json(document):
        return jsonfeed.read(document, url, summaries=summaries)
    return _parse_xml(document, url, summaries=summaries)


def _parse_xml(document: bytes, url: str, *, summaries: bool) -> Feed:
    if not _FEED_ROOT.search(document, 0, _HEAD) and _HTML_ROOT.search(document, 0, _HEAD):
        raise ParseError(_what_it_is(document))
    document = ampersands.mended(document)
    finding = _find_quickly(document)
    if finding is not None and not is_doubtful(finding):
        return fast.read(finding, url, summaries=summaries)
    thorough = _read_thoroughly(document, url, summaries=summaries)
    if finding is not None and (thorough is None or len(finding.entries) > len(thorough.entries)):
        return fast.read(finding, url, summaries=summaries)
    if thorough is None or not (thorough.entries or _FEED_ROOT.search(document, 0, _HEAD)):
        raise ParseError(_what_it_is(document))
    return thorough


def _find_quickly(document: bytes) -> fast.Finding | None:
    try:
        return fast.find(document)
    except Exception:  # noqa: BLE001 - whatever it trips over, the thorough parser has the last word
        return None


def _read_thoroughly(document: bytes, url: str, *, summaries: bool) -> Feed | None:
    if len(document) > slow.MAX_BYTES:
        return None
    try:
        return slow.read(document, url, summaries=summaries)
    except Exception:  # noqa: BLE001 - strangers' bytes in others' code: the outcome is "unreadable"
        return None


def _what_it_is(document: bytes) -> str:
    if _HTML_ROOT.search(document, 0, _HEAD):
        match = _HTML_TITLE.search(document)
        title = plain_text(match[1].decode("utf-8", "replace"), 80) if match else ""
        return f"this is an HTML page, not a feed: {title!r}" if title else "this is an HTML page, not a feed"
    if _FEED_ROOT.search(document, 0, _HEAD):
        return "this looks like a feed but is too damaged to be read"
    start = plain_text(document[:200].decode("utf-8", "replace"), 60) or document[:30].decode("latin-1")
    return f"this is no feed; it starts with {start!r}"
