"""Feeds: RSS, Atom, RDF and JSON Feed at a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yarl import URL

from catchment.domain.visit import Fetched
from catchment.fetch.client import Request
from catchment.settings import Settings
from catchment.sources.base import Context, Parts, Suggestion
from catchment.sources.config import text
from catchment.sources.items import read_items
from catchment.sources.page import validators_of, visit_page


class DigestFeedFetcher:
    """A feed by another name."""

    type = "digest_feed"
    display_names: Mapping[str, str] = {"en": "Digest feed", "zh": "摘要订阅源"}
    default_minutes = 240
    config_keys = frozenset({"url"})

    def identity(self, config: Mapping[str, Any]) -> str:
        return str(URL(_url(config)).with_fragment(None))

    async def fetch(self, context: Context) -> Fetched:
        source = context.source
        # With its validators from the start: most visits are to feeds, and to copy a request is a fortieth of one.
        request = Request(url=_url(source.config), validators=validators_of(source.memory))
        return await visit_page(context, request, read_items, is_window=True)


def _url(config: Mapping[str, Any]) -> str:
    return text(config, "url", example="https://example.org/feed.xml")


class RssFetcher(DigestFeedFetcher):
    type = "rss"
    display_names: Mapping[str, str] = {"en": "Feed", "zh": "订阅源"}

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings or Settings()

    @classmethod
    def from_parts(cls, parts: Parts) -> RssFetcher:
        return cls(parts.settings)

    def recognise(self, pasted: str) -> Suggestion | None:
        """Of services whose pages have a feed at an address that follows from theirs."""
        # Most visits are to feeds, and nobody pastes anything then.
        from catchment.sources.shortcuts import Services, recognise

        return recognise(pasted, Services.of(self._settings))
