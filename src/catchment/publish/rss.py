"""RSS 2.0, valid for any text."""

from __future__ import annotations

import html
from email.utils import format_datetime
from xml.etree import ElementTree as ET

from catchment.publish.feed import Feed, FeedEntry
from catchment.publish.xml import ATOM, DUBLIN_CORE, add, add_enclosure_link, atom_moment, written

MEDIA_TYPE = "application/rss+xml"
#: Of plain text readers show the beginning; the rest is behind the link.
MOST_DESCRIPTION = 2000


def write_rss(feed: Feed) -> bytes:
    root = ET.Element("rss", version="2.0")
    channel = ET.SubElement(root, "channel")
    add(channel, "title", feed.title)
    add(channel, "link", feed.home_url)
    add(channel, "description", feed.description)
    if feed.language:
        add(channel, "language", feed.language)
    if feed.self_url:
        add(channel, f"{{{ATOM}}}link", href=feed.self_url, rel="self", type=MEDIA_TYPE)
    if feed.hub_url:
        add(channel, f"{{{ATOM}}}link", href=feed.hub_url, rel="hub")
    changed = [entry.changed_at for entry in feed.entries] or ([feed.updated_at] if feed.updated_at else [])
    if changed:
        add(channel, "lastBuildDate", format_datetime(max(changed)))
    if feed.ttl_minutes:
        add(channel, "ttl", str(feed.ttl_minutes))
    for entry in feed.entries:
        _add_item(channel, entry)
    return written(root)


def _add_item(channel: ET.Element, entry: FeedEntry) -> None:
    item = ET.SubElement(channel, "item")
    add(item, "title", entry.title)
    if entry.url:
        add(item, "link", entry.url)
    add(item, "guid", entry.id, isPermaLink="false")
    # RSS has one date only: that of an edit, so that the item rises in readers that sort by it.
    add(item, "pubDate", format_datetime(entry.changed_at))
    if entry.updated_at:
        # After `pubDate`: who knows these takes the later word.
        add(item, f"{{{ATOM}}}published", atom_moment(entry.published_at))
        add(item, f"{{{ATOM}}}updated", atom_moment(entry.updated_at))
    if entry.author:
        # Not `author`, which must be an e-mail address.
        add(item, f"{{{DUBLIN_CORE}}}creator", entry.author)
    for category in entry.categories:
        add(item, "category", category)
    # Readers of RSS expect one file to an item; who wants more finds the others beside it.
    for enclosure in entry.enclosures[:1]:
        add(item, "enclosure", url=enclosure.url, length=str(enclosure.length), type=enclosure.type)
    for enclosure in entry.enclosures[1:]:
        add_enclosure_link(item, f"{{{ATOM}}}link", enclosure)
    add(item, "description", entry.html or _as_html(entry.text[:MOST_DESCRIPTION]))


def _as_html(text: str) -> str:
    """Readers take a description for HTML, so plain text is escaped for that first."""
    return html.escape(text, quote=False).replace("\n", "<br>\n")
