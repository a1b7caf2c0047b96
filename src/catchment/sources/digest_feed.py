"""Digests of other services: JSON Feed or RSS, read like any feed."""

from __future__ import annotations

from catchment.sources.rss import RssFetcher


class DigestFeedFetcher(RssFetcher):
    type = "digest_feed"
