"""The source types that come with the product."""

from __future__ import annotations

from catchment.settings import Settings
from catchment.sources.base import Fetcher
from catchment.sources.rss import RssFetcher


def builtin_fetchers(settings: Settings) -> list[Fetcher]:  # noqa: ARG001 - services get their addresses from it
    return [
        RssFetcher(),
    ]
