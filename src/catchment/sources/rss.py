"""Feeds: RSS, Atom, RDF and JSON Feed at a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yarl import URL

from catchment.domain.visit import Fetched
from catchment.fetch.client import Request
from catchment.sources.base import Context
from catchment.sources.config import text
from catchment.sources.feed_items import read_items
from catchment.sources.page import visit_page


class RssFetcher:
    type = "rss"
    config_keys = frozenset({"url"})

    def identity(self, config: Mapping[str, Any]) -> str:
        return str(URL(_url(config)).with_fragment(None))

    async def fetch(self, context: Context) -> Fetched:
        return await visit_page(context, Request(url=_url(context.source.config)), read_items, is_window=True)


def _url(config: Mapping[str, Any]) -> str:
    return text(config, "url", example="https://example.org/feed.xml")


class DigestFeedFetcher(RssFetcher):
    type = "digest_feed"
