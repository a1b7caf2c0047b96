"""Items made of what a service says: texts sanitised, links absolute, everything fit to be stored and shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from catchment.domain.item import Item, make_item
from catchment.parse.entry import EntryMaker, ParsedEntry, RawEntry


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
    ) -> Item:
        """`content` is HTML as it came."""
        found = RawEntry(
            id=native_id,
            link=url,
            title=title,
            author=author,
            published=published_at,
            updated=None,
            summary="",
            content=content,
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
