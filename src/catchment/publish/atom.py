"""Atom 1.0, valid for any text."""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from catchment.publish.feed import Feed, FeedEntry
from catchment.publish.xml import ATOM, add, add_enclosure_link, atom_moment, written

MEDIA_TYPE = "application/atom+xml"
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def write_atom(feed: Feed) -> bytes:
    # As its own default namespace, without a prefix: some readers look for plain names only.
    root = ET.Element("feed", xmlns=ATOM)
    if feed.language:
        root.set(_XML_LANGUAGE, feed.language)
    # The address of the document is what names the feed, or else what it is about.
    add(root, "id", feed.self_url or feed.home_url)
    add(root, "title", feed.title)
    if feed.description:
        add(root, "subtitle", feed.description)
    add(root, "updated", atom_moment(_changed_at(feed)))
    # Every entry needs an author; those without one of their own have the feed's.
    add(add(root, "author"), "name", feed.title or feed.self_url or feed.home_url)
    if feed.self_url:
        add(root, "link", rel="self", href=feed.self_url, type=MEDIA_TYPE)
    add(root, "link", rel="alternate", href=feed.home_url)
    if feed.hub_url:
        add(root, "link", rel="hub", href=feed.hub_url)
    for entry in feed.entries:
        _add_entry(root, entry)
    return written(root)


def _add_entry(root: ET.Element, entry: FeedEntry) -> None:
    node = ET.SubElement(root, "entry")
    add(node, "id", entry.id)
    add(node, "title", entry.title)
    add(node, "published", atom_moment(entry.published_at))
    add(node, "updated", atom_moment(entry.changed_at))
    if entry.author:
        add(add(node, "author"), "name", entry.author)
    if entry.url:
        add(node, "link", rel="alternate", href=entry.url)
    for enclosure in entry.enclosures:
        add_enclosure_link(node, "link", enclosure)
    for category in entry.categories:
        add(node, "category", term=category)
    add(node, "content", entry.html or entry.text, type="html" if entry.html else "text")


def _changed_at(feed: Feed) -> datetime:
    return max((entry.changed_at for entry in feed.entries), default=feed.updated_at or _BEGINNING)
