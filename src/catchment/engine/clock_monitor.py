"""Minds the clock: tells when it jumped, and brings back what was put down while it was ahead."""

from __future__ import annotations

from datetime import datetime, timedelta

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.schedule.clock_jumps import Reading, described_jump, jump_between, not_before
from catchment.store import alerts
from catchment.store.alerts import Incident
from catchment.store.clock_repair import (
    forget_incidents_ahead,
    pull_back_deliveries,
    pull_back_hosts,
    pull_back_sources,
)
from catchment.store.database import Store


class ClockMonitor:
    def __init__(self, *, store: Store, clock: Clock, lease: timedelta) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._last: Reading | None = None

    async def start(self) -> None:
        """Look for what a clock put down that was ahead before this process began."""
        self._last = self._read()
        await self._repair("The clock was ahead.")

    async def look(self) -> None:
        """Compare the clock with the time that passed since the last look."""
        last, self._last = self._last, self._read()
        jump = jump_between(last, self._last) if last is not None else None
        if jump is not None:
            await self._repair(described_jump(jump), is_jump=True)

    def _read(self) -> Reading:
        return Reading(at=self._clock.now(), elapsed=self._clock.elapsed())

    async def _repair(self, what: str, *, is_jump: bool = False) -> None:
        told = await self._store.write(_repair, what, is_jump=is_jump, now=self._clock.now(), lease=self._lease)
        if told:
            logger.warning("{}", told)


def _repair(conn: Connection, what: str, *, is_jump: bool, now: datetime, lease: timedelta) -> str | None:
    """What is to be told of it, if anything is."""
    latest = not_before(now)
    pulled = pull_back_sources(conn, now=now, latest=latest)
    pull_back_deliveries(conn, now=now, latest=latest)
    pull_back_hosts(conn, now=now, latest=latest, lease=lease, is_jump=is_jump)
    if not pulled and not is_jump:
        return None
    told = f"{what} {pulled} source(s) that waited for a later time are due now." if pulled else what
    forget_incidents_ahead(conn, latest=latest)
    alerts.record_incident(conn, Incident.CLOCK_JUMPED, message=told, now=now)
    return told
