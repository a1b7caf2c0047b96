"""Feeds: RSS, Atom, RDF and JSON Feed at a URL."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from yarl import URL

from catchment.domain.item import Item, make_item
from catchment.domain.visit import Fetched
from catchment.errors import BadConfig
from catchment.fetch.client import Response
from catchment.fetch.freshness import Validators, fresh_for
from catchment.parse.feed import Entry, parse_feed
from catchment.sources.base import Context, parse_beside


class RssFetcher:
    type = "rss"

    def identity(self, config: Mapping[str, Any]) -> str:
        return str(URL(_url(config)).with_fragment(None))

    async def fetch(self, context: Context) -> Fetched:
        memory = context.source.memory
        response = await context.http.get(_url(context.source.config), validators=_validators(memory))
        fresh = fresh_for(response.headers, context.now)
        if response.not_modified:
            return Fetched(memory=memory, unchanged=True, fresh_for=fresh)
        remembered = _remember(response)
        if remembered["body"] == memory.get("body"):
            return Fetched(memory=remembered, unchanged=True, fresh_for=fresh)
        title, items = await parse_beside(
            read_items, response.body, url=response.url, content_type=response.headers.get("Content-Type", "")
        )
        return Fetched(title=title, items=items, memory=remembered, fresh_for=fresh)


def read_items(body: bytes, *, url: str, content_type: str) -> tuple[str, tuple[Item, ...]]:
    """The title of a feed, and its entries as items."""
    feed = parse_feed(body, url=url, content_type=content_type, summaries=False)
    return feed.title, tuple(_item(entry) for entry in feed.entries)


def _url(config: Mapping[str, Any]) -> str:
    url = config.get("url")
    if not isinstance(url, str) or not url.strip():
        raise BadConfig('A feed needs its address: config {"url": "https://…"}.')
    return url.strip()


def _validators(memory: Mapping[str, Any]) -> Validators:
    return Validators(etag=memory.get("etag"), last_modified=memory.get("last_modified"))


def _remember(response: Response) -> dict[str, str]:
    validators = Validators.from_headers(response.headers)
    memory = {"body": hashlib.blake2b(response.body, digest_size=16).hexdigest()}
    if validators.etag:
        memory["etag"] = validators.etag
    if validators.last_modified:
        memory["last_modified"] = validators.last_modified
    return memory


def _item(entry: Entry) -> Item:
    return make_item(
        native_id=entry.id,
        url=entry.link,
        title=entry.title,
        author=entry.author,
        content=entry.content,
        published_at=entry.published or entry.updated,
        metadata=_metadata(entry),
    )


def _metadata(entry: Entry) -> dict[str, Any]:
    """What has no column of its own, where there is any."""
    metadata: dict[str, Any] = {}
    if entry.updated and entry.updated != entry.published:
        metadata["updated"] = entry.updated.isoformat()
    if entry.tags:
        metadata["tags"] = list(entry.tags)
    if entry.enclosures:
        metadata["enclosures"] = [asdict(enclosure) for enclosure in entry.enclosures]
    return metadata
