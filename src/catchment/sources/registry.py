"""The source types that come with the product."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from catchment.settings import Settings
from catchment.sources.base import SourceType
from catchment.sources.custom_api import CustomApiFetcher
from catchment.sources.github_trending import GithubTrendingFetcher
from catchment.sources.hackernews import HackerNewsFetcher
from catchment.sources.reddit import RedditFetcher
from catchment.sources.rss import DigestFeedFetcher, RssFetcher
from catchment.sources.sitemap import SitemapType
from catchment.sources.website import WebsiteFetcher

GROUP = "catchment.sources"


def installed_fetchers(complain: Callable[[str], None]) -> list[SourceType]:
    """One fetcher for each entry point; one that cannot be loaded is complained about and left out."""
    loaded = [_load(point, complain) for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]
    return [fetcher for fetcher in loaded if fetcher is not None]


def _load(point: EntryPoint, complain: Callable[[str], None]) -> SourceType | None:
    try:
        fetcher: SourceType = point.load()()
    except Exception as error:  # noqa: BLE001 - the edge: whatever a stranger's package does at import, ours goes on
        complain(f"the source type {point.name!r} ({point.value}) cannot be loaded: {error!r}")
        return None
    return fetcher


def builtin_fetchers(settings: Settings) -> list[SourceType]:
    return [
        RssFetcher(),
        SitemapType(settings.user_agent),
        WebsiteFetcher(),
        DigestFeedFetcher(),
        HackerNewsFetcher(settings.hackernews_base_url),
        RedditFetcher(settings.reddit_base_url),
        GithubTrendingFetcher(settings.github_base_url),
        CustomApiFetcher(),
    ]
