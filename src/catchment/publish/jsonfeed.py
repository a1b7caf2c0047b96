"""JSON Feed 1.1."""

from __future__ import annotations

import json
from typing import Any

from catchment.publish.feed import Feed, FeedEntry

MEDIA_TYPE = "application/feed+json"
VERSION = "https://jsonfeed.org/version/1.1"


def write_json_feed(feed: Feed) -> bytes:
    document = {
        "version": VERSION,
        "title": feed.title,
        "description": feed.description,
        "home_page_url": feed.home_url,
        "feed_url": feed.self_url,
        "items": [_item(entry) for entry in feed.entries],
    }
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")


def _item(entry: FeedEntry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "url": entry.url,
        "title": entry.title,
        "content_text": entry.text,
        "date_published": entry.published_at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
    }
