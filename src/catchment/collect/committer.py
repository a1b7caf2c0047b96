"""Group commit: visits that end while a transaction is under way share the next one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from loguru import logger
from sqlalchemy.exc import DBAPIError

from catchment.clock import Clock
from catchment.collect.commit import Rules, commit_visits
from catchment.domain.visit import Failed, Visit, VisitResult
from catchment.errors import StoreError
from catchment.redact import redact_text
from catchment.store.door import Store

MOST_AT_ONCE = 200
#: A transaction costs as much as ten visits, so one is not begun for a few while more are on their way.
GATHER_SECONDS = 0.1
RETRY_SECONDS = 1.0
#: What a value that no column can hold leads to: the database refuses it, or it cannot be written for the database.
UNSTORABLE = (DBAPIError, TypeError, ValueError, OverflowError)

Report = Callable[[VisitResult], None]


class Committer:
    def __init__(self, *, store: Store, rules: Rules, clock: Clock) -> None:
        self._store = store
        self._rules = rules
        self._clock = clock
        # Bounded, so that fetching slows down when the disk cannot keep up.
        self._queue: asyncio.Queue[tuple[Visit, Report]] = asyncio.Queue(2 * MOST_AT_ONCE)
        self._no_more = asyncio.Event()

    async def submit(self, visit: Visit, report: Report) -> None:
        """Hand over a visit; `report` hears of it once it is stored."""
        await self._queue.put((visit, report))

    def hurry(self) -> None:
        """No more visits will come for now: do not wait for them."""
        self._no_more.set()

    async def drain(self) -> None:
        """Wait until everything handed over is stored."""
        self.hurry()
        await self._queue.join()

    async def run(self) -> None:
        """Store what is handed over, until cancelled."""
        while True:
            group = [await self._queue.get()]
            if self._queue.qsize() < MOST_AT_ONCE // 2:
                await self._gather()
            while len(group) < MOST_AT_ONCE and not self._queue.empty():
                group.append(self._queue.get_nowait())
            try:
                for (_, report), result in zip(group, await self._store_all([v for v, _ in group]), strict=True):
                    report(result)
            finally:
                for _ in group:
                    self._queue.task_done()

    async def _gather(self) -> None:
        """Let more visits come in, unless it is known that none will."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHER_SECONDS):
                await self._no_more.wait()
        self._no_more.clear()

    async def _store_all(self, visits: list[Visit]) -> list[VisitResult]:
        try:
            return await self._store_together(visits)
        except UNSTORABLE as error:
            # Alone, only the culprit fails.
            logger.warning("a group of {} visits could not be stored, trying one by one: {}", len(visits), error)
            return [await self._store_alone(visit) for visit in visits]

    async def _store_alone(self, visit: Visit) -> VisitResult:
        try:
            return (await self._store_together([visit]))[0]
        except UNSTORABLE as error:
            reason = error.orig if isinstance(error, DBAPIError) else error
            failed = replace(visit, ending=Failed(message=redact_text(f"What came cannot be stored: {reason}")))
            return (await self._store_together([failed]))[0]

    async def _store_together(self, visits: list[Visit]) -> list[VisitResult]:
        """Keep trying while the store is away: the leases decide whether the result still counts then."""
        while True:
            try:
                return await self._store.write(commit_visits, visits, self._rules, self._clock.now())
            except StoreError as error:
                logger.error("{} visits wait to be stored: {}", len(visits), error)
                await asyncio.sleep(RETRY_SECONDS)
