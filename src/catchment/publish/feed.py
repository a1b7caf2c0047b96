"""A feed to be given out, whatever its format."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from enum import StrEnum
from typing import Any
from xml.etree import ElementTree as ET

from catchment.clock import iso

# What XML 1.0 cannot hold, not even escaped: most control characters, lone surrogates, U+FFFE and U+FFFF.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: For a file of which nothing is known.
UNKNOWN_FILE = "application/octet-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enclosure:
    url: str
    type: str = UNKNOWN_FILE
    #: In bytes; 0 when unknown.
    length: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryState:
    """What a reader did with an entry, for apps that look for it among the categories."""

    term: str
    scheme: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    #: Stays the same for ever, whatever becomes of the address.
    id: str
    #: Empty when there is nothing to go to.
    url: str
    title: str
    #: Plain text; each format escapes it in its own way.
    text: str = ""
    #: HTML that is safe to show; where there is some, it takes the place of the text.
    html: str = ""
    author: str = ""
    published_at: datetime
    #: When it was edited last, if ever.
    updated_at: datetime | None = None
    categories: tuple[str, ...] = ()
    enclosures: tuple[Enclosure, ...] = ()
    #: Atom only.
    states: tuple[EntryState, ...] = ()

    @property
    def changed_at(self) -> datetime:
        return self.updated_at or self.published_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    title: str
    description: str
    home_url: str
    #: Where this very document is served; empty when nobody knows.
    self_url: str
    entries: tuple[FeedEntry, ...]
    #: Its newest change. No format may put the present time in its place: the same feed is the same bytes.
    updated_at: datetime | None = None
    language: str = ""
    #: Minutes for which readers need not ask again; 0 says nothing.
    ttl_minutes: int = 0
    #: The WebSub hub that tells of news.
    hub_url: str = ""


def without_forbidden_characters(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)


ATOM = "http://www.w3.org/2005/Atom"
DUBLIN_CORE = "http://purl.org/dc/elements/1.1/"

ET.register_namespace("atom", ATOM)
ET.register_namespace("dc", DUBLIN_CORE)


def add(parent: ET.Element, tag: str, text: str = "", **attributes: str) -> ET.Element:
    """A child with this text and those attributes that are not empty."""
    given = {name: without_forbidden_characters(value) for name, value in attributes.items() if value}
    child = ET.SubElement(parent, tag, given)
    child.text = without_forbidden_characters(text) or None
    return child


def add_enclosure_link(parent: ET.Element, tag: str, enclosure: Enclosure) -> None:
    length = str(enclosure.length) if enclosure.length else ""
    add(parent, tag, rel="enclosure", href=enclosure.url, type=enclosure.type, length=length)


def atom_moment(moment: datetime) -> str:
    return iso(moment, "seconds")


def written(root: ET.Element) -> bytes:
    document: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


ATOM_TYPE = "application/atom+xml"
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_XML_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def write_atom(feed: Feed) -> bytes:
    # As its own default namespace, without a prefix: some readers look for plain names only.
    root = ET.Element("feed", xmlns=ATOM)
    if feed.language:
        root.set(_XML_LANGUAGE, feed.language)
    # The address of the document is what names the feed, or else what it is about.
    add(root, "id", feed.self_url or feed.home_url)
    _add_title(root, feed.title)
    if feed.description:
        add(root, "subtitle", feed.description)
    add(root, "updated", atom_moment(_changed_at(feed)))
    # Every entry needs an author; those without one of their own have the feed's.
    add(add(root, "author"), "name", feed.title or feed.self_url or feed.home_url)
    if feed.self_url:
        add(root, "link", rel="self", href=feed.self_url, type=ATOM_TYPE)
    add(root, "link", rel="alternate", href=feed.home_url)
    if feed.hub_url:
        add(root, "link", rel="hub", href=feed.hub_url)
    for entry in feed.entries:
        _add_entry(root, entry)
    return written(root)


def _add_entry(root: ET.Element, entry: FeedEntry) -> None:
    node = ET.SubElement(root, "entry")
    add(node, "id", entry.id)
    _add_title(node, entry.title)
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
    for state in entry.states:
        add(node, "category", term=state.term, scheme=state.scheme, label=state.label)
    add(node, "content", entry.html or entry.text, type="html" if entry.html else "text")


def _add_title(parent: ET.Element, title: str) -> None:
    # It is text anyway, but many readers take one that does not say so for HTML.
    add(parent, "title", title, type="text" if "<" in title or "&" in title else "")


def _changed_at(feed: Feed) -> datetime:
    return max((entry.changed_at for entry in feed.entries), default=feed.updated_at or _BEGINNING)


RSS_TYPE = "application/rss+xml"
#: Of plain text readers show the beginning; the rest is behind the link.
MAX_DESCRIPTION = 2000


def write_rss(feed: Feed) -> bytes:
    root = ET.Element("rss", version="2.0")
    channel = ET.SubElement(root, "channel")
    add(channel, "title", feed.title)
    add(channel, "link", feed.home_url)
    add(channel, "description", feed.description)
    if feed.language:
        add(channel, "language", feed.language)
    if feed.self_url:
        add(channel, f"{{{ATOM}}}link", href=feed.self_url, rel="self", type=RSS_TYPE)
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
    if entry.updated_at:
        # Before `pubDate`, which is the last word for whoever takes them for the same.
        add(item, f"{{{ATOM}}}published", atom_moment(entry.published_at))
        add(item, f"{{{ATOM}}}updated", atom_moment(entry.updated_at))
    # RSS has one date only: that of an edit, so that the item rises in readers that sort by it.
    add(item, "pubDate", format_datetime(entry.changed_at))
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
    add(item, "description", entry.html or _as_html(entry.text[:MAX_DESCRIPTION]))


def _as_html(text: str) -> str:
    """Readers take a description for HTML, so plain text is escaped for that first."""
    return html.escape(text, quote=False).replace("\n", "<br>\n")


JSON_TYPE = "application/feed+json"
VERSION = "https://jsonfeed.org/version/1.1"


def write_json_feed(feed: Feed) -> bytes:
    document = {
        "version": VERSION,
        "title": feed.title,
        "description": feed.description,
        "home_page_url": feed.home_url,
        **({"feed_url": feed.self_url} if feed.self_url else {}),
        **({"language": feed.language} if feed.language else {}),
        **({"hubs": [{"type": "WebSub", "url": feed.hub_url}]} if feed.hub_url else {}),
        "items": [_json_item(entry) for entry in feed.entries],
    }
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _json_item(entry: FeedEntry) -> dict[str, Any]:
    item: dict[str, Any] = {"id": entry.id, "url": entry.url, "title": entry.title}
    item |= {"content_html": entry.html} if entry.html else {"content_text": entry.text}
    item |= {"date_published": iso(entry.published_at)}
    optional = {
        "date_modified": iso(entry.updated_at) if entry.updated_at else None,
        "authors": [{"name": entry.author}] if entry.author else None,
        "tags": list(entry.categories),
        "attachments": [_attachment(enclosure) for enclosure in entry.enclosures],
    }
    item |= {name: value for name, value in optional.items() if value}
    return item if entry.url else {name: value for name, value in item.items() if name != "url"}


def _attachment(enclosure: Enclosure) -> dict[str, Any]:
    size = {"size_in_bytes": enclosure.length} if enclosure.length else {}
    return {"url": enclosure.url, "mime_type": enclosure.type, **size}


class FeedFormat(StrEnum):
    """The value is how its address ends."""

    RSS = "rss"
    ATOM = "atom"
    JSON = "json"

    @property
    def media_type(self) -> str:
        return _MEDIA_TYPES[self]

    @property
    def label(self) -> str:
        """Its name in every language."""
        return _LABELS[self]

    def write(self, feed: Feed) -> bytes:
        return _WRITERS[self](feed)


_MEDIA_TYPES = {FeedFormat.RSS: RSS_TYPE, FeedFormat.ATOM: ATOM_TYPE, FeedFormat.JSON: JSON_TYPE}
_LABELS = {FeedFormat.RSS: "RSS", FeedFormat.ATOM: "Atom", FeedFormat.JSON: "JSON"}
_WRITERS: dict[FeedFormat, Callable[[Feed], bytes]] = {
    FeedFormat.RSS: write_rss,
    FeedFormat.ATOM: write_atom,
    FeedFormat.JSON: write_json_feed,
}
