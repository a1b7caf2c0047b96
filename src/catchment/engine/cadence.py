"""The cadence of every source, kept true to what is set in the table, the environment and on the source."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from loguru import logger
from sqlalchemy import Connection

from catchment.domain.options import ADAPTIVE_KEY
from catchment.domain.source import Source
from catchment.schedule.due import Bounds, Cadence, after_interval_change
from catchment.schedule.intervals import Intervals, read_chosen
from catchment.settings import Settings
from catchment.sources.registry import Registry
from catchment.store import config, sources
from catchment.store.database import Store

PAGE = 1000
ALL_TYPES = "all"


class Cadences:
    def __init__(self, *, store: Store, settings: Settings, registry: Registry) -> None:
        self._store = store
        self._registry = registry
        self._settings = settings
        self._probe_after = timedelta(hours=settings.probe_hours) if settings.probe_hours else None
        self._bounds = Bounds(
            floor=timedelta(minutes=min(settings.adaptive_floor_minutes, settings.adaptive_ceiling_minutes)),
            ceiling=timedelta(minutes=settings.adaptive_ceiling_minutes),
        )
        self._adaptive = {name.strip().lower() for name in settings.adaptive_types.split(",")}
        self._warned: set[tuple[str, str]] = set()
        self.intervals = Intervals(default=registry.default_minutes)

    def of(self, source: Source) -> Cadence:
        adapt = self._bounds if self._adapts(source) else None
        return Cadence(interval=self.intervals.of(source), probe_after=self._probe_after, adapt=adapt)

    def _adapts(self, source: Source) -> bool:
        """As the source says; else as its type does, unless somebody gave the source an interval of its own."""
        wish = source.config.get(ADAPTIVE_KEY)
        if wish is not None:
            return bool(wish)
        return source.own_interval is None and not self._adaptive.isdisjoint({source.type, ALL_TYPES})

    async def load(self) -> Intervals:
        """Read the intervals that hold now. Unusable values are warned about once and passed over."""
        chosen = read_chosen(
            table=await self._store.read(config.read_config),
            environment=self._settings.intervals_from_environment,
            file=self._settings.intervals_from_file,
            warn=self._warn_once,
        )
        self.intervals = replace(self.intervals, chosen=chosen)
        return self.intervals

    async def start(self) -> None:
        """Apply them, and have nobody probed whom the settings do not want to be."""
        if self._probe_after is None:
            await self._store.write(sources.drop_probes)
        await self.apply()

    async def apply(self) -> None:
        """Load, and move the next check of every source whose type's interval changed since it was computed."""
        intervals = await self.load()
        applied = await self._store.read(config.read_applied_intervals)
        for source_type in sorted({*applied, *intervals.chosen}):
            minutes = intervals.minutes(source_type)
            if applied.get(source_type, self._registry.default_minutes(source_type)) != minutes:
                await self._reschedule(source_type, minutes)

    async def _reschedule(self, source_type: str, minutes: int) -> None:
        last_id = 0
        while last_id >= 0:
            last_id = await self._store.write(self._reschedule_page, source_type, after_id=last_id)
        await self._store.write(config.set_applied_interval, source_type, minutes)
        logger.info("interval of {}: now {} min", source_type, minutes)

    def _reschedule_page(self, conn: Connection, source_type: str, *, after_id: int) -> int:
        """One page of sources; returns the last id, or -1 when there are no more."""
        page = sources.page_of_type(conn, source_type, after_id=after_id, limit=PAGE)
        sources.reschedule(conn, [(one.id, after_interval_change(one, self.of(one))) for one in page])
        return page[-1].id if page else -1

    def _warn_once(self, place: str, value: str) -> None:
        if (place, value) not in self._warned:
            self._warned.add((place, value))
            logger.warning("{}: {!r} is not a positive number of minutes; it is ignored", place, value)
