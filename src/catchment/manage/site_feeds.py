"""Sites as feeds, now: followed as sources, collected to the end, and shown as they are then."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.caller import Caller
from catchment.domain.feed import ShownItem
from catchment.domain.source import Source
from catchment.domain.visit import Tally
from catchment.engine.collector import Collector
from catchment.engine.leases import recover
from catchment.errors import Conflict, VisitError
from catchment.manage.catalog import Catalog, Change, Draft
from catchment.manage.listing import SiteLister
from catchment.manage.sites import SITEMAP, Site
from catchment.publish.feed import Feed, FeedFormat
from catchment.publish.views import site_feed
from catchment.store import crawls, sources, views
from catchment.store.database import Store, check_state

INCREMENTAL, FULL, FULL_FALLBACK = "incremental", "full", "full_fallback"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRun:
    """What a run over a site came to."""

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
        self, *, store: Store, catalog: Catalog, collector: Collector, surveyor: SiteLister, clock: Clock
    ) -> None:
        self._store = store
        self._catalog = catalog
        self._collector = collector
        self._surveyor = surveyor
        self._clock = clock

    async def run(self, site: Site, caller: Caller) -> SiteRun:
        """Find what changed and fetch that, however long the host's budget makes it take; or everything anew.

        DamagedStore when what is remembered of sites cannot be read any more.
        """
        if not site.is_incremental:
            return await run_in_full(self._surveyor, site)
        await self._store.read(check_state)
        source = await self.follow(site, caller)
        tally = await self._collect(source)
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


async def run_in_full(surveyor: SiteLister, site: Site, *, mode: str = FULL) -> SiteRun:
    source, shown = await surveyor.survey(site)
    return SiteRun(site=site, mode=mode, source=source, shown=shown, tally=Tally(fetched=len(shown)))


def _named(conn: Connection, name: str) -> Source | None:
    """The source whose state has that name, unless it was removed."""
    found = crawls.find(conn, name)
    source = sources.get(conn, found[0]) if found else None
    return None if source is None or source.is_deleted else source
