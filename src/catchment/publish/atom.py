"""Atom 1.0, valid for any text."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from catchment.publish.feed import Feed, FeedEntry
from catchment.publish.xml import ATOM, add, written

MEDIA_TYPE = "application/atom+xml"
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def write_atom(feed: Feed) -> bytes:
    root = ET.Element(_name("feed"))
    if feed.language:
        root.set(_XML_LANGUAGE, feed.language)
    # The address of the document is what names the feed, or else what it is about.
    add(root, _name("id"), feed.self_url or feed.home_url)
    add(root, _name("title"), feed.title)
    if feed.description:
        add(root, _name("subtitle"), feed.description)
    add(root, _name("updated"), _moment(_changed_at(feed)))
    # Every entry needs an author; those without one of their own have the feed's.
    add(add(root, _name("author")), _name("name"), feed.title or feed.self_url or feed.home_url)
    if feed.self_url:
        add(root, _name("link"), rel="self", href=feed.self_url, type=MEDIA_TYPE)
    add(root, _name("link"), rel="alternate", href=feed.home_url)
    if feed.hub_url:
        add(root, _name("link"), rel="hub", href=feed.hub_url)
    for entry in feed.entries:
        _add_entry(root, entry)
    return written(root)


def _add_entry(root: ET.Element, entry: FeedEntry) -> None:
    node = ET.SubElement(root, _name("entry"))
    add(node, _name("id"), entry.id)
    add(node, _name("title"), entry.title)
    add(node, _name("published"), _moment(entry.published_at))
    add(node, _name("updated"), _moment(entry.changed_at))
    if entry.author:
        add(add(node, _name("author")), _name("name"), entry.author)
    if entry.url:
        add(node, _name("link"), rel="alternate", href=entry.url)
    for enclosure in entry.enclosures:
        length = str(enclosure.length) if enclosure.length else ""
        add(node, _name("link"), rel="enclosure", href=enclosure.url, type=enclosure.type, length=length)
    for category in entry.categories:
        add(node, _name("category"), term=category)
    add(node, _name("content"), entry.html or entry.text, type="html" if entry.html else "text")


def _changed_at(feed: Feed) -> datetime:
    return max((entry.changed_at for entry in feed.entries), default=feed.updated_at or _BEGINNING)


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _name(tag: str) -> str:
    return f"{{{ATOM}}}{tag}"
