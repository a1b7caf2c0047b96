"""Items made of what a service or a feed says: texts sanitised, links absolute, fit to be stored and shown.

Nothing is imported here that reading does not need: it is done in processes of its own, or by a
collector that serves nobody.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from catchment.domain.item import Item, Reading, content_key, make_item
from catchment.parse.encoding import UTF_8
from catchment.parse.entry import EntryMaker, ParsedEntry, RawEntry
from catchment.parse.feed import ParsedFeed, parse_feed


class ItemMaker:
    """Makes the items of one answer; their links are relative to `base`."""

    def __init__(self, base: str) -> None:
        self._entries = EntryMaker(base, summaries=False)

    def make(
        self,
        *,
        native_id: str,
        url: str,
        title: str,
        author: str = "",
        content: str = "",
        published_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        has_plain_title: bool = False,
    ) -> Item:
        """`content` is HTML as it came, and so is `title` unless it is known to be plain text."""
        found = RawEntry(
            id=native_id,
            link=url,
            title=title,
            author=author,
            published=published_at,
            updated=None,
            summary="",
            content=content,
            plain_title=title if has_plain_title else "",
        )
        (entry,) = self._entries.make([found])
        return item_of(entry, metadata or {})


def item_of(entry: ParsedEntry, metadata: Mapping[str, Any]) -> Item:
    return make_item(
        native_id=entry.id,
        url=entry.link,
        title=entry.title,
        author=entry.author,
        content=entry.content,
        published_at=entry.published or entry.updated,
        metadata=metadata,
    )


def read_items(body: bytes, *, url: str, content_type: str) -> Reading:
    """The title of a feed, and its entries as items."""
    feed = parse_feed(body, url=url, content_type=content_type, summaries=False)
    items = tuple([_item(entry, feed.encoding) for entry in feed.entries if _says_something(entry)])
    return Reading(
        feed.title,
        items,
        is_damaged=feed.is_damaged,
        warnings=_warnings(feed),
        left_out=feed.left_out + len(feed.entries) - len(items),
        is_cut_off=feed.is_cut_off,
    )


def _says_something(entry: ParsedEntry) -> bool:
    """Nobody could read, open or tell apart what does not."""
    return bool(entry.id or entry.link or entry.title or entry.content or entry.enclosures)


def _item(entry: ParsedEntry, encoding: str) -> Item:
    if entry.enclosures and not (entry.id or entry.link or entry.title or entry.content):
        # A file and not a word about it: it is what there is to open, and what tells it from others of its kind.
        entry = entry._replace(link=entry.enclosures[0].url)
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
