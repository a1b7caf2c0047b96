"""RSS 2.0, valid for any text."""

from __future__ import annotations

import html
from email.utils import format_datetime
from xml.etree import ElementTree as ET

from catchment.publish.feed import Feed, FeedEntry, without_forbidden_characters

MEDIA_TYPE = "application/rss+xml"
ATOM = "http://www.w3.org/2005/Atom"
#: Readers show the beginning; the rest is behind the link.
MOST_DESCRIPTION = 2000

ET.register_namespace("atom", ATOM)


def write_rss(feed: Feed) -> bytes:
    root = ET.Element("rss", version="2.0")
    channel = ET.SubElement(root, "channel")
    _add(channel, "title", feed.title)
    _add(channel, "link", feed.home_url)
    _add(channel, "description", feed.description)
    ET.SubElement(channel, f"{{{ATOM}}}link", href=_clean(feed.self_url), rel="self", type=MEDIA_TYPE)
    if feed.entries:
        _add(channel, "lastBuildDate", format_datetime(max(entry.published_at for entry in feed.entries)))
    for entry in feed.entries:
        _add_item(channel, entry)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written


def _add_item(channel: ET.Element, entry: FeedEntry) -> None:
    item = ET.SubElement(channel, "item")
    _add(item, "title", entry.title)
    _add(item, "link", entry.url)
    _add(item, "guid", entry.id).set("isPermaLink", "false")
    _add(item, "pubDate", format_datetime(entry.published_at))
    _add(item, "description", _as_html(entry.text[:MOST_DESCRIPTION]))


def _as_html(text: str) -> str:
    """Readers take a description for HTML, so plain text is escaped for that first."""
    return html.escape(text, quote=False).replace("\n", "<br>\n")


def _add(parent: ET.Element, tag: str, text: str) -> ET.Element:
    child = ET.SubElement(parent, tag)
    child.text = _clean(text)
    return child


def _clean(text: str) -> str:
    return without_forbidden_characters(text)
