"""Visits that a person asks for: at once, beside whatever the schedule says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress

from loguru import logger

from catchment.domain.caller import Caller
from catchment.domain.source import NextCheck
from catchment.engine.collector import Collector
from catchment.errors import CatchmentError, Conflict
from catchment.manage.catalog import Catalog


class Visits:
    def __init__(self, *, catalog: Catalog, collector: Collector) -> None:
        self._catalog = catalog
        self._collector = collector
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._put_off: dict[int, NextCheck] = {}
        #: As many as the schedule has under way; more wait for their turn.
        self._turns = asyncio.Semaphore(collector.concurrency)

    @property
    def are_made_here(self) -> bool:
        return self._collector.takes_visits

    async def start(self, source_id: int, caller: Caller) -> str:
        """Have it visited at once, and do not wait for it; its name. One that is being visited is left to that.

        Where this process collects nothing, whoever does finds it due.
        """
        source = await self._catalog.make_due(source_id, caller)
        if self.are_made_here and source_id not in self._under_way:
            self._put_off.pop(source_id, None)
            task = asyncio.create_task(self._visit(source_id))
            self._under_way[source_id] = task
            task.add_done_callback(lambda _: self._under_way.pop(source_id, None))
        return source.name

    async def start_all(self, source_ids: Iterable[int], caller: Caller) -> None:
        """As `start`. Those that nothing here can fetch are passed over: each says so itself."""
        for source_id in source_ids:
            with suppress(Conflict):
                await self.start(source_id, caller)

    def is_under_way(self, source_id: int) -> bool:
        """Whether one that was asked for here is being made, or waits for its turn."""
        return source_id in self._under_way

    def put_off(self, source_id: int) -> NextCheck | None:
        """Until when the last one that was asked for here had to be put off, and why; None where it had not."""
        return self._put_off.get(source_id)

    async def close(self) -> None:
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def wait(self) -> None:
        """Until all that is under way has ended."""
        await asyncio.gather(*self._under_way.values(), return_exceptions=True)

    async def _visit(self, source_id: int) -> None:
        async with self._turns:
            if not self.are_made_here:
                return  # it was told to stop meanwhile: the source stays due
            try:
                result = await self._collector.collect_source(source_id)
                if result.postponed_until is not None:
                    self._put_off[source_id] = NextCheck(at=result.postponed_until, why=result.postponed_why)
            except Conflict:
                logger.debug("source {} is being visited already", source_id)
            except CatchmentError as error:
                logger.warning("source {} could not be visited at once: {}", source_id, error)
