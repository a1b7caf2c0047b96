"""Cleaning up what is old: items, log lines, events, runs and hosts, at most once an hour, holding up nobody."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from loguru import logger

from catchment.clock import Clock
from catchment.domain.source import UNDO
from catchment.engine.clock_monitor import ClockMonitor
from catchment.store import hosts, incidents, items, runs
from catchment.store.database import Store
from catchment.store.incidents import Incident

EVERY = timedelta(hours=1)
KEEP_RUNS = timedelta(hours=24)
BATCH = 500


class Cleaner:
    def __init__(
        self,
        *,
        store: Store,
        clock: Clock,
        clock_monitor: ClockMonitor,
        keep: timedelta,
        keep_trail: timedelta = timedelta(days=90),
    ) -> None:
        self._store = store
        self._clock = clock
        self._clock_monitor = clock_monitor
        self._keep = keep
        self._keep_trail = keep_trail

    async def tidy_if_due(self) -> None:
        """Unless somebody on this store did within the hour, in whatever process."""
        now = self._clock.now()
        if await self._store.write(incidents.record_once, Incident.CLEANED, now=now, within=EVERY):
            await self.tidy(now)

    async def tidy(self, now: datetime) -> int:
        """Remove what is too old and return how many items went; none by a clock that may be wrong."""
        if await self._clock_monitor.is_doubtful():
            logger.info("nothing is cleaned until the clock, which leapt forward, has kept to it for a day")
            return 0
        # Here, as most processes start and end within the hour.
        from catchment.store import alerts, audit_trail, fetch_log, outbox, reading

        before = now - self._keep
        removed = await self._in_batches(partial(items.delete_old, now=now, keep=self._keep, limit=BATCH))
        await self._in_batches(partial(items.delete_of_removed, before=now - UNDO, limit=BATCH))
        await self._in_batches(partial(audit_trail.delete_old, before=now - self._keep_trail, limit=BATCH))
        await self._in_batches(partial(fetch_log.count_an_hour, now=now))
        await self._in_batches(partial(fetch_log.delete_old, finished_before=before, limit=BATCH))
        await self._in_batches(partial(outbox.delete_old, before=before, limit=BATCH))
        await self._store.write(alerts.delete_old, before=before)
        await self._store.write(incidents.delete_old, before=before)
        await self._store.write(fetch_log.delete_old_requests, before=now - KEEP_RUNS)
        await self._in_batches(partial(hosts.forget_unshared, before=now - KEEP_RUNS, limit=BATCH))
        await self._store.write(reading.fold_oldest)
        await self._in_batches(partial(runs.purge, finished_before=now - KEEP_RUNS, limit=BATCH))
        if removed:
            logger.info("cleaned {} item(s) that were kept long enough ({} days)", removed, self._keep.days)
        return removed

    async def _in_batches(self, delete_some: Callable[..., int]) -> int:
        total = 0
        # Between two batches whoever waits for the writer has its turn.
        while (removed := await self._store.write(delete_some)) > 0:
            total += removed
        return total
