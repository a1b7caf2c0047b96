"""Sites as feeds, now: followed as sources, collected to the end, and shown as they are then."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.caller import Caller
from catchment.domain.candidate import KnownListing, Listed, ListingPage, Told
from catchment.domain.feed import ShownItem
from catchment.domain.item import Item
from catchment.domain.source import NewSource, Source
from catchment.domain.visit import Tally
from catchment.engine.collector import Collector
from catchment.engine.leases import recover
from catchment.errors import Conflict, VisitError
from catchment.manage.catalog import Catalog, Change, Draft
from catchment.manage.preview import unsaved
from catchment.manage.sites import SITEMAP, Site
from catchment.publish.feed import Feed, FeedFormat
from catchment.publish.views import site_feed
from catchment.sources.base import CrawlSession, Detail
from catchment.sources.client import ClientFactory
from catchment.sources.full_crawl import crawl_in_full
from catchment.sources.registry import Registry
from catchment.store import crawls, sources, views
from catchment.store.database import Store, check_state

INCREMENTAL, FULL, FULL_FALLBACK = "incremental", "full", "full_fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRun:
    site: Site
    mode: str
    #: As it is stored; of a full run, as it would be.
    source: Source
    shown: Sequence[ShownItem]
    tally: Tally

    def feed(self, *, served_at: str = "") -> Feed:
        return site_feed(self.source, self.shown, served_at=served_at)

    def document(self, format_: FeedFormat, *, served_at: str = "") -> bytes:
        return format_.write(self.feed(served_at=served_at))


class SiteFeeds:
    """The collector has to be working while a site is run incrementally."""

    def __init__(
        self, *, store: Store, catalog: Catalog, collector: Collector, site_lister: SiteLister, clock: Clock
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._collector = collector
        self._site_lister = site_lister
        self._clock = clock

    async def run(self, site: Site, caller: Caller) -> SiteRun:
        """Find what changed and fetch that, however long the host's budget makes it take; or everything anew.

        DamagedStore when what is remembered of sites cannot be read any more.
        """
        if not site.is_incremental:
            return await run_in_full(self._site_lister, site)
        await self._store.read(check_state)
        is_new = await self._find(site, caller) is None
        source = await self.follow(site, caller)
        try:
            tally = await self._collect(source)
        except VisitError:
            # Nobody would try again, and there is nothing to remember of it.
            if is_new and not site.schedule and not await self._store.read(views.newest_by_date, source.id, 1):
                await self._catalog.remove(source.id, caller)
            raise
        shown = await self._store.read(views.newest_by_date, source.id, site.max_items)
        return SiteRun(site=site, mode=INCREMENTAL, source=source, shown=shown, tally=tally)

    async def follow(self, site: Site, caller: Caller) -> Source:
        """The source of a site, made or changed as the site says. Without a schedule the collector leaves it alone."""
        config = site.source_config()
        known = await self._find(site, caller)
        source = known or await self._catalog.add(Draft(type=SITEMAP, config=config, name=site.name), caller)
        wanted = {**source.config, **config}
        change = Change(
            config=wanted if wanted != source.config else None,
            is_active=site.is_enabled if site.schedule else (None if known else False),
        )
        return await self._catalog.change(source.id, change, caller)

    async def pause(self, site: Site, caller: Caller) -> None:
        """Have the collector leave a site alone, if it is followed."""
        if source := await self._find(site, caller):
            await self._catalog.change(source.id, Change(is_active=False), caller)

    async def _find(self, site: Site, caller: Caller) -> Source | None:
        """By its address and patterns, or else by its name."""
        new = self._catalog.check(Draft(type=SITEMAP, config=site.source_config()), caller)
        twin = await self._store.read(
            sources.find_twin, SITEMAP, new.identity, owner=caller.user_id, anybodys=caller.sees_all
        )
        if twin is not None or not site.name:
            return twin
        named = await self._store.read(_named, site.name)
        return named if named and caller.may_change(named) else None

    async def _collect(self, source: Source) -> Tally:
        # What a process that was killed left claimed would be in the way.
        await recover(self._store, self._clock)
        tally = Tally()
        while True:
            result = await self._collector.collect_source(source.id)
            tally += Tally(fetched=result.fetched, inserted=result.inserted, updated=result.updated)
            if result.error is not None:
                raise VisitError(result.error)
            if result.skipped is not None or result.fenced:
                raise Conflict(f"{source.name}: {result.skipped or 'somebody else took it over'}.")
            if result.postponed_until is None:
                return tally
            await asyncio.sleep(max(0.0, (result.postponed_until - self._clock.now()).total_seconds()))


async def run_in_full(site_lister: SiteLister, site: Site) -> SiteRun:
    source, shown = await site_lister.crawl_in_full(site)
    return SiteRun(site=site, mode=FULL, source=source, shown=shown, tally=Tally(fetched=len(shown)))


def _named(conn: Connection, name: str) -> Source | None:
    """The source whose state has that name, unless it was removed."""
    found = crawls.find(conn, name)
    source = sources.get(conn, found[0]) if found else None
    return None if source is None or source.is_deleted else source


class SiteLister:
    """The full run over a site: whatever it lists, cut to size, with nothing remembered. It needs no store."""

    def __init__(self, *, registry: Registry, clients: ClientFactory, clock: Clock) -> None:
        self._registry = registry
        self._clients = clients
        self._clock = clock

    async def crawl_in_full(self, site: Site) -> tuple[Source, list[ShownItem]]:
        """The newest pages of a site, or the first that it lists. What cannot be fetched is left out and told."""
        now = self._clock.now()
        source = self._as_source(site, now)
        _, context = self._clients.context(source, now)
        crawling_type = self._registry.crawling_type(SITEMAP)
        assert crawling_type is not None, "it comes along"
        crawl_session = crawling_type.start_crawl(context)
        walk = crawl_session if site.sort_by_date else AsListed(crawl_session)
        fetched = await crawl_in_full(walk)
        for warning in fetched.warnings:
            logger.warning("{}: {}", site.title, warning)
        items = walk.in_order(fetched.items) if isinstance(walk, AsListed) else list(fetched.items)
        return source, [_shown(item, source, now) for item in items]

    def _as_source(self, site: Site, now: datetime) -> Source:
        config = {**site.source_config(), "enable_incremental": False, "max_items": site.max_items}
        identity = self._registry.identity(SITEMAP, config)
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

    async def list_pages(self, known: Mapping[bytes, KnownListing]) -> AsyncIterator[Told]:
        async for told in self._crawl_session.list_pages(known):
            yield replace(told, listed=self._first(told)) if isinstance(told, ListingPage) else told
            if len(self._order) >= self.policy.max_items:
                return

    async def detail(self, listed: Listed) -> Detail:
        return await self._crawl_session.detail(listed)

    def in_order(self, items: tuple[Item, ...]) -> list[Item]:
        return sorted(items, key=lambda item: self._order[item.url])

    def _first(self, page: ListingPage) -> list[Listed]:
        taken = []
        for one in page.listed:
            if len(self._order) >= self.policy.max_items:
                break
            if one.url not in self._order:
                self._order[one.url] = len(self._order)
                taken.append(one)
        return taken


def _shown(item: Item, source: Source, now: datetime) -> ShownItem:
    return ShownItem(item=item, source_id=source.id, source_type=source.type, fetched_at=now, updated_at=None)
