"""X's scraper and sources from the settings: one client, so that its pace and purse hold for all of them."""

from __future__ import annotations

from typing import Protocol

from catchment.settings import Settings
from catchment.sources.base import Fetcher
from catchment.sources.x.client import Ledger, XClient
from catchment.sources.x.fetchers import Shelf, TwitterFeedFetcher, TwitterListFetcher
from catchment.sources.x.limits import LimitRules
from catchment.sources.x.scrape import Books, Scraper


class Memory(Books, Shelf, Ledger, Protocol):
    """All that X needs to have remembered."""


def make_scraper(settings: Settings, memory: Memory) -> Scraper | None:
    """None without a key."""
    if not settings.twitter_api_key:
        return None
    client = XClient(
        key=settings.twitter_api_key,
        base_url=settings.twitter_base_url,
        ledger=memory,
        # The key's allowance is for all collector processes together.
        requests_per_second=settings.twitter_requests_per_second / settings.processes,
        max_retries=settings.twitter_max_retries,
    )
    rules = LimitRules(
        default=settings.scraper_limit,
        least=settings.scraper_min_limit,
        most=settings.scraper_max_limit,
        alpha=settings.scraper_ema_alpha,
    )
    return Scraper(client=client, books=memory, rules=rules, early_stop=settings.scraper_early_stop_threshold)


def x_fetchers(settings: Settings, scraper: Scraper | None, shelf: Shelf) -> list[Fetcher]:
    """None without a scraper: such sources are skipped, as those of any type that nobody knows."""
    if scraper is None:
        return []
    return [TwitterFeedFetcher(scraper, shelf), TwitterListFetcher(scraper, path=settings.twitter_list_path)]
