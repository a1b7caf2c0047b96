"""Feeds: RSS, Atom, RDF and JSON Feed at a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yarl import URL

from catchment.domain.item import Item
from catchment.domain.visit import Fetched
from catchment.fetch.client import Request
from catchment.parse.feed import Entry, parse_feed
from catchment.sources.base import Context
from catchment.sources.config import text
from catchment.sources.maker import item_of
from catchment.sources.page import Read, visit_page


class RssFetcher:
    type = "rss"
    config_keys = frozenset({"url"})

    def identity(self, config: Mapping[str, Any]) -> str:
        return str(URL(_url(config)).with_fragment(None))

    async def fetch(self, context: Context) -> Fetched:
        return await visit_page(context, Request(url=_url(context.source.config)), read_counted, is_window=True)


def read_items(body: bytes, *, url: str, content_type: str) -> tuple[str, tuple[Item, ...]]:
    """The title of a feed, and its entries as items."""
    title, items, _ = read_counted(body, url=url, content_type=content_type)
    return title, items


def read_counted(body: bytes, *, url: str, content_type: str) -> Read:
    """The same, with how many entries make no sense."""
    feed = parse_feed(body, url=url, content_type=content_type, summaries=False)
    items = tuple([item_of(entry, _metadata(entry)) for entry in feed.entries])
    return Read(title=feed.title, items=items, left_out=feed.left_out)


def _url(config: Mapping[str, Any]) -> str:
    return text(config, "url", example="https://example.org/feed.xml")


def _metadata(entry: Entry) -> dict[str, Any]:
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
