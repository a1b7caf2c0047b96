"""JSON Feed 1.1."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from catchment.publish.feed import Enclosure, Feed, FeedEntry

MEDIA_TYPE = "application/feed+json"
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
        "items": [_item(entry) for entry in feed.entries],
    }
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _item(entry: FeedEntry) -> dict[str, Any]:
    item: dict[str, Any] = {"id": entry.id, "url": entry.url, "title": entry.title}
    item |= {"content_html": entry.html} if entry.html else {"content_text": entry.text}
    item |= {"date_published": _moment(entry.published_at)}
    optional = {
        "date_modified": _moment(entry.updated_at) if entry.updated_at else None,
        "authors": [{"name": entry.author}] if entry.author else None,
        "tags": list(entry.categories),
        "attachments": [_attachment(enclosure) for enclosure in entry.enclosures],
    }
    item |= {name: value for name, value in optional.items() if value}
    return item if entry.url else {name: value for name, value in item.items() if name != "url"}


def _attachment(enclosure: Enclosure) -> dict[str, Any]:
    size = {"size_in_bytes": enclosure.length} if enclosure.length else {}
    return {"url": enclosure.url, "mime_type": enclosure.type, **size}


def _moment(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
