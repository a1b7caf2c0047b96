"""Minds the clock: tells when it jumped, and brings back what was put down while it was ahead."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.store import incidents
from catchment.store.clock_repair import (
    forget_incidents_ahead,
    pull_back_deliveries,
    pull_back_hosts,
    pull_back_sources,
)
from catchment.store.database import Store
from catchment.store.incidents import Incident

#: Clocks of machines differ a little, and are set right by seconds; none of that is a jump.
TOLERANCE = timedelta(minutes=5)
#: A clock that leapt forward by this much may be wrong. It is taken at its word once it has kept to that for as long.
LEAP = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockReading:
    """What the clock said, and how many seconds had passed since some beginning, whatever the clock says."""

    at: datetime
    elapsed: float


def jump_between(before: ClockReading, after: ClockReading) -> timedelta | None:
    """How far the clock jumped, backward if negative; a machine that slept woke up to a jump as well."""
    jump = (after.at - before.at) - timedelta(seconds=after.elapsed - before.elapsed)
    return jump if abs(jump) > TOLERANCE else None


def not_before(now: datetime) -> datetime:
    """Whatever is later than this and was put down as past was put down by a clock that was ahead."""
    return now + TOLERANCE


def described_jump(jump: timedelta) -> str:
    direction = "forward" if jump > timedelta(0) else "back"
    return f"The clock jumped {direction} by {_rounded(abs(jump))}."


def _rounded(duration: timedelta) -> str:
    if duration >= timedelta(days=2):
        return f"{duration.days:,} days"
    if duration >= timedelta(hours=2):
        return f"{duration // timedelta(hours=1)} hours"
    return f"{duration // timedelta(minutes=1)} minutes"


class ClockMonitor:
    def __init__(self, *, store: Store, clock: Clock, lease: timedelta) -> None:
        self._store = store
        self._lease = lease
        self._clock = clock
        self._last: ClockReading | None = None

    async def start(self) -> None:
        """Look for what a clock put down that was ahead before this process began."""
        self._last = self._read()
        await self._repair("The clock was ahead.")

    async def look(self) -> None:
        """Compare the clock with the time that passed since the last look."""
        last, self._last = self._last, self._read()
        jump = jump_between(last, self._last) if last is not None else None
        if jump is not None:
            await self._repair(described_jump(jump), jump)

    async def is_doubtful(self) -> bool:
        """Whether it leapt forward so lately that what is old by it may not be."""
        await self.look()
        leap = await self._store.read(incidents.last_of, Incident.CLOCK_LEAPT)
        return leap is not None and self._clock.now() - leap[0] < LEAP

    def _read(self) -> ClockReading:
        return ClockReading(at=self._clock.now(), elapsed=self._clock.elapsed())

    async def _repair(self, what: str, jump: timedelta | None = None) -> None:
        told = await self._store.write(_repair, what, jump, now=self._clock.now(), lease=self._lease)
        if told:
            logger.warning("{}", told)


def _repair(conn: Connection, what: str, jump: timedelta | None, *, now: datetime, lease: timedelta) -> str | None:
    """What is to be told of it, if anything is."""
    is_jump = jump is not None
    latest = not_before(now)
    pulled = pull_back_sources(conn, now=now, latest=latest)
    pull_back_deliveries(conn, now=now, latest=latest)
    pull_back_hosts(conn, now=now, latest=latest, lease=lease, is_jump=is_jump)
    if not pulled and not is_jump:
        return None
    told = f"{what} {pulled} source(s) that waited for a later time are due now." if pulled else what
    forget_incidents_ahead(conn, latest=latest)
    incidents.record(conn, Incident.CLOCK_JUMPED, message=told, now=now)
    if jump is not None and jump >= LEAP:
        incidents.record(conn, Incident.CLOCK_LEAPT, now=now)
    return told
