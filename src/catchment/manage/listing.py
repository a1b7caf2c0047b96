"""The full run over a site: whatever it lists, cut to size, with nothing remembered. It needs no store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime

from loguru import logger

from catchment.clock import Clock
from catchment.domain.candidate import KnownListing, Listed, ListingPage, Told
from catchment.domain.feed import ShownItem
from catchment.domain.item import Item
from catchment.domain.source import NewSource, Source
from catchment.manage.preview import unsaved
from catchment.manage.sites import SITEMAP, Site
from catchment.sources.base import Context, CrawlingType, CrawlSession, Detail
from catchment.sources.client import ClientFactory
from catchment.sources.listing import survey


class SiteLister:
    def __init__(self, *, crawling_type: CrawlingType, clients: ClientFactory, clock: Clock) -> None:
        self._explorer = crawling_type
        self._clients = clients
        self._clock = clock

    async def survey(self, site: Site) -> tuple[Source, list[ShownItem]]:
        """The newest pages of a site, or the first that it lists. What cannot be fetched is left out and told."""
        now = self._clock.now()
        source = self._as_source(site, now)
        _, http = self._clients.client_for(source.config)
        context = Context(source=source, now=now, http=http, parsers=self._clients.parsers)
        crawl_session: CrawlSession = self._explorer.start_crawl(context)
        walk = crawl_session if site.sort_by_date else AsListed(crawl_session)
        fetched = await survey(walk)
        for warning in fetched.warnings:
            logger.warning("{}: {}", site.title, warning)
        items = walk.in_order(fetched.items) if isinstance(walk, AsListed) else list(fetched.items)
        return source, [_shown(item, source, now) for item in items]

    def _as_source(self, site: Site, now: datetime) -> Source:
        config = {**site.source_config(), "enable_incremental": False, "max_items": site.max_items}
        identity = self._explorer.identity(config)
        return unsaved(NewSource(name=site.title, type=SITEMAP, config=config, identity=identity), now)


class AsListed:
    """A crawl that goes no further than the first so many, and remembers their order."""

    def __init__(self, crawl_session: CrawlSession) -> None:
        self._crawl_session = crawl_session
        self._order: dict[str, int] = {}
        self.policy = crawl_session.policy
        self.lane = crawl_session.lane
        self.address = crawl_session.address
        self.name = crawl_session.name

    async def explore(self, known: Mapping[str, KnownListing]) -> AsyncIterator[Told]:
        async for told in self._crawl_session.explore(known):
            yield replace(told, listed=self._first(told)) if isinstance(told, ListingPage) else told
            if len(self._order) >= self.policy.max_items:
                return

    async def detail(self, listed: Listed) -> Detail:
        return await self._crawl_session.detail(listed)

    def in_order(self, items: tuple[Item, ...]) -> list[Item]:
        return sorted(items, key=lambda item: self._order[item.url])

    def _first(self, stretch: ListingPage) -> list[Listed]:
        taken = []
        for one in stretch.listed:
            if len(self._order) >= self.policy.max_items:
                break
            if one.url not in self._order:
                self._order[one.url] = len(self._order)
                taken.append(one)
        return taken


def _shown(item: Item, source: Source, now: datetime) -> ShownItem:
    return ShownItem(item=item, source_id=source.id, source_type=source.type, fetched_at=now, updated_at=None)
