"""A worker: one of any number of processes that collect what is due on one PostgreSQL, on however many machines."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from loguru import logger

from catchment.bootstrap import System
from catchment.domain.run import COLLECTOR_TICK
from catchment.engine.background import background_tasks
from catchment.engine.collector import LOOK_LIMIT
from catchment.errors import StoreError
from catchment.settings import Settings
from catchment.store import jobs
from catchment.store.database import store_url
from catchment.workers.queue import JobQueue

#: Sources that a job collects. A worker gets through some 400 empty jobs a second, so that one source a job would be
#: too dear; many more would leave others without work while one worker has plenty.
BATCH = 20
AGAIN_SECONDS = 1.0


def for_a_worker(settings: Settings) -> Settings:
    """With a database that ends a transaction that is left open for as long as a lease: a worker that hangs, or whose
    machine is gone, would keep the rows that it was about to claim from everybody.
    """
    url = store_url(settings.store_url())
    patience = f"-c idle_in_transaction_session_timeout={settings.lease_seconds * 1000:.0f}"
    options = " ".join([*url.normalized_query.get("options", ()), patience])
    return replace(
        settings, database_url=url.update_query_dict({"options": options}).render_as_string(hide_password=False)
    )


class Worker:
    def __init__(self, system: System) -> None:
        self._settings = system.settings
        self._store = system.store
        self._collector = system.collector
        self.queue = JobQueue(
            system.store,
            collect=self._collect_batch,
            look=self._look_in_passing,
            lease_seconds=system.settings.lease_seconds,
        )

    async def serve(self, stop: asyncio.Event) -> None:
        """Work until told to stop, then finish what is in flight within the grace, or raise TimeoutError."""
        grace = self._settings.stop_seconds
        async with self.queue.opened():
            try:
                async with (
                    self._collector.working(grace_seconds=grace, stop=stop),
                    background_tasks(self._take_jobs(stop)),
                ):
                    await self._keep_looking(stop)
            finally:
                # What this worker had taken and not begun is due: others need not wait for their next tick.
                await self._look_or_complain()
        logger.info("worker: stop completed")

    async def look(self) -> int:
        """Take over what the dead left, and have as many jobs wait as what is due takes. Says how much that is."""
        if taken_over := await self.queue.take_over():
            logger.warning("took over {} job(s) of workers that are gone", taken_over)
        due = len(await self._collector.due())
        if added := await self.queue.fill(-(-due // BATCH)):
            logger.info("{} source(s) due: {} job(s) put out", due, added)
        return due

    async def _keep_looking(self, stop: asyncio.Event) -> None:
        tick_seconds = self._settings.tick_seconds
        logger.info("worker started: tick {:g} s, {} source(s) a job", tick_seconds, BATCH)
        while not stop.is_set():
            due = await self._look_or_complain()
            await self._collector.report(tick_seconds)
            # A look that was cut short is followed by the next soon.
            await _rest(stop, AGAIN_SECONDS if due >= LOOK_LIMIT else tick_seconds)

    async def _look_in_passing(self) -> None:
        await self._look_or_complain()

    async def _look_or_complain(self) -> int:
        try:
            return await self.look()
        except StoreError as error:
            logger.error("this look is skipped: {}", error)
            return 0

    async def _take_jobs(self, stop: asyncio.Event) -> None:
        """For as long as it takes: a database that fails for a moment ends no worker."""
        while not stop.is_set():
            try:
                # As many as are visited at once, so that a job that waits for a slow site keeps none from being begun.
                await self.queue.work(at_once=self._collector.concurrency)
            except StoreError as error:
                logger.error("no jobs can be taken: {}", error)
            await _rest(stop, AGAIN_SECONDS)

    async def _collect_batch(self) -> None:
        # It may have been put out before the ticks were paused.
        if await self._store.read(jobs.is_paused, COLLECTOR_TICK):
            return
        results = await self._collector.collect_some(BATCH)
        logger.debug("a job collected {} source(s)", len(results))


async def _rest(stop: asyncio.Event, seconds: float) -> None:
    waiting = asyncio.create_task(stop.wait())
    await asyncio.wait({waiting}, timeout=seconds)
    waiting.cancel()
