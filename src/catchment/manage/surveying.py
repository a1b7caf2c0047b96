"""The full run over a site: whatever it lists, cut to size, with nothing remembered. It needs no store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import datetime

from loguru import logger

from catchment.clock import Clock
from catchment.domain.candidate import KnownListing, Listed, Stretch, Told
from catchment.domain.feed import ShownItem
from catchment.domain.item import Item
from catchment.domain.source import NewSource, Source
from catchment.manage.preview import unsaved
from catchment.manage.sites import SITEMAP, Site
from catchment.sources.base import Context, Detail, Explorer, Journey
from catchment.sources.outfit import Outfitter
from catchment.sources.survey import survey


class Surveyor:
    def __init__(self, *, explorer: Explorer, outfitter: Outfitter, clock: Clock) -> None:
        self._explorer = explorer
        self._outfitter = outfitter
        self._clock = clock

    async def survey(self, site: Site) -> tuple[Source, list[ShownItem]]:
        """The newest pages of a site, or the first that it lists. What cannot be fetched is left out and told."""
        now = self._clock.now()
        source = self._as_source(site, now)
        _, http = self._outfitter.outfit(source.config)
        context = Context(source=source, now=now, http=http, parsers=self._outfitter.parsers)
        journey: Journey = self._explorer.set_out(context)
        walk = journey if site.sort_by_date else AsListed(journey)
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
    """A journey that goes no further than the first so many, and remembers their order."""

    def __init__(self, journey: Journey) -> None:
        self._journey = journey
        self._order: dict[str, int] = {}
        self.policy = journey.policy
        self.lane = journey.lane
        self.address = journey.address
        self.name = journey.name

    async def explore(self, known: Mapping[str, KnownListing]) -> AsyncIterator[Told]:
        async for told in self._journey.explore(known):
            yield replace(told, listed=self._first(told)) if isinstance(told, Stretch) else told
            if len(self._order) >= self.policy.max_items:
                return

    async def detail(self, listed: Listed) -> Detail:
        return await self._journey.detail(listed)

    def in_order(self, items: tuple[Item, ...]) -> list[Item]:
        return sorted(items, key=lambda item: self._order[item.url])

    def _first(self, stretch: Stretch) -> list[Listed]:
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
