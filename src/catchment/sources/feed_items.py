"""The items of a feed. Nothing is imported here that reading does not need: it is done in processes of its own."""

from __future__ import annotations

from typing import Any

from catchment.domain.item import Item, content_key
from catchment.domain.visit import Reading
from catchment.parse.encoding import UTF_8
from catchment.parse.feed import ParsedEntry, ParsedFeed, parse_feed
from catchment.sources.items import item_of


def read_items(body: bytes, *, url: str, content_type: str) -> Reading:
    """The title of a feed, and its entries as items."""
    feed = parse_feed(body, url=url, content_type=content_type, summaries=False)
    items = tuple([_item(entry, feed.encoding) for entry in feed.entries])
    return Reading(feed.title, items, is_damaged=feed.is_damaged, warnings=_warnings(feed), left_out=feed.left_out)


def _item(entry: ParsedEntry, encoding: str) -> Item:
    item = item_of(entry, _metadata(entry))
    if encoding == UTF_8 or entry.id or entry.link:
        return item
    # Known by its bytes: under another declaration the same bytes are other words, but still the same item.
    return item._replace(key=content_key(entry.title, entry.content, encoding))


def _warnings(feed: ParsedFeed) -> tuple[str, ...]:
    if not feed.cut:
        return ()
    kept = len(feed.entries)
    return (f"the feed lists {kept + feed.cut} entries: the newest {kept} were read, {feed.cut} left out",)


def _metadata(entry: ParsedEntry) -> dict[str, Any]:
    """What has no column of its own, where there is any."""
    metadata: dict[str, Any] = {}
    if entry.updated and entry.updated != entry.published:
        metadata["updated"] = entry.updated.isoformat()
    if entry.tags:
        metadata["tags"] = list(entry.tags)
    if entry.enclosures:
        metadata["enclosures"] = [
            {"url": file.url, "type": file.type, "length": file.length} for file in entry.enclosures
        ]
    return metadata
