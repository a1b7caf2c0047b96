"""The source types that come with the product."""

from __future__ import annotations

from catchment.settings import Settings
from catchment.sources.base import SourceType
from catchment.sources.custom_api import CustomApiFetcher
from catchment.sources.digest_feed import DigestFeedFetcher
from catchment.sources.github_trending import GithubTrendingFetcher
from catchment.sources.hackernews import HackerNewsFetcher
from catchment.sources.reddit import RedditFetcher
from catchment.sources.rss import RssFetcher
from catchment.sources.sitemap import SitemapExplorer
from catchment.sources.website import WebsiteFetcher


def builtin_fetchers(settings: Settings) -> list[SourceType]:
    return [
        RssFetcher(),
        SitemapExplorer(settings.user_agent),
        WebsiteFetcher(),
        DigestFeedFetcher(),
        HackerNewsFetcher(settings.hackernews_base_url),
        RedditFetcher(settings.reddit_base_url),
        GithubTrendingFetcher(settings.github_base_url),
        CustomApiFetcher(),
    ]
