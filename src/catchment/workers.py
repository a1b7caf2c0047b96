"""A worker: one of any number of processes that collect what is due on one PostgreSQL, on however many machines.

The queue that they share is Procrastinate's, in the PostgreSQL of the store: an extra, which only this module knows. A
job says "collect some of what is due" and names no source, so that it can be neither stale nor lost for good: what is
due, and who works on it, is in tables of ours. All jobs are alike. Each has a place, and in a place only one job waits:
whoever wants so many jobs to wait fills the empty ones of so many places, and others who do it meanwhile add none.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from typing import Any

from loguru import logger
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException, UniqueViolation
from procrastinate.jobs import DeleteJobCondition, Job, Status

from catchment.bootstrap import System
from catchment.domain.run import COLLECTOR_TICK
from catchment.engine.collector import LOOK_LIMIT
from catchment.errors import StoreError
from catchment.eventloop import background_tasks
from catchment.settings import Settings
from catchment.store import jobs
from catchment.store.database import Store, store_url
from catchment.store.migrate import ensure_worker_tables

QUEUE = "catchment"
EVERY_MINUTE = "* * * * *"
#: Beside those of the store: a few jobs end at the same moment.
CONNECTIONS = 4
CONNECT_SECONDS = 10.0
#: Workers are told of new jobs; those that were put back they find by looking so often.
POLL_SECONDS = 2.0

Work = Callable[[], Coroutine[Any, Any, None]]


class JobQueue:
    """`collect` is what a job does. `look` is done every minute, by one of all workers."""

    def __init__(self, store: Store, *, collect: Work, look: Work, lease_seconds: float) -> None:
        async def look_at(timestamp: int) -> None:  # noqa: ARG001 - the minute, for which it is put out once
            await look()

        address = {**store.url.translate_connect_args(username="user", database="dbname"), **store.url.query}
        # None are made before one is wanted: a database that is away by then is an error of what wanted it.
        connector = PsycopgConnector(kwargs=address, min_size=0, max_size=CONNECTIONS, timeout=CONNECT_SECONDS)
        self._store = store
        self._lease_seconds = lease_seconds
        self._app = App(connector=connector)
        self._jobs = self._app.job_manager
        self._collect = self._app.task(name="catchment.collect", queue=QUEUE)(collect)
        # Without a periodic task Procrastinate would no longer mind its own side tasks, heartbeats among them.
        looking = self._app.task(name="catchment.look", queue=QUEUE, queueing_lock="look", priority=1)(look_at)
        self._app.periodic(cron=EVERY_MINUTE)(looking)

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[None]:
        """Connected, and with Procrastinate's tables in place."""
        await self._store.write(ensure_worker_tables, self._app.schema_manager.get_schema())
        with _relayed_logs():
            async with self._app.open_async():
                yield

    async def fill(self, places: int) -> int:
        """Have a job wait in each of so many places; says how many were added."""
        with _translated_errors():
            waiting = {job.queueing_lock for job in await self._jobs.list_jobs_async(queue=QUEUE, status="todo")}
            wanted = [f"collect-{number}" for number in range(places)]
            return await self._put_in([place for place in wanted if place not in waiting])

    async def take_over(self) -> int:
        """Put back what was taken by workers that are gone; says how many jobs those are."""
        with _translated_errors():
            stalled = await self._jobs.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=self._lease_seconds)
            return sum([await self._put_back(job) for job in stalled])

    async def work(self, *, at_once: int) -> None:
        """Take jobs until cancelled, and cancel those under way then. StoreError when the database fails."""
        with _translated_errors():
            await self._app.run_worker_async(
                queues=[QUEUE],
                concurrency=at_once,
                fetch_job_polling_interval=POLL_SECONDS,
                shutdown_graceful_timeout=0,
                delete_jobs=DeleteJobCondition.ALWAYS,
                install_signal_handlers=False,
                update_heartbeat_interval=self._lease_seconds / 3,
                stalled_worker_timeout=self._lease_seconds,
            )

    async def _put_in(self, places: Sequence[str]) -> int:
        """All in one statement; where others fill one of the places meanwhile, each by itself."""
        jobs = [self._collect.configure(queueing_lock=place).make_new_job() for place in places]
        try:
            return len(await self._jobs.batch_defer_jobs_async(jobs)) if jobs else 0
        except AlreadyEnqueued:
            return sum([await self._put_in([place]) for place in places]) if len(places) > 1 else 0

    async def _put_back(self, job: Job) -> bool:
        # It fails when another worker was faster, which is as good.
        with suppress(ConnectorException):
            try:
                await self._jobs.retry_job(job)
            except UniqueViolation:
                # Another one waits in its place by now, and all are alike.
                await self._jobs.finish_job(job, status=Status.FAILED, delete_job=True)
            return True
        return False


class _Relay(logging.Handler):
    """Hands what a library logs over to our logs, where secrets are struck out."""

    def emit(self, record: logging.LogRecord) -> None:
        logger.opt(exception=record.exc_info).log(record.levelname, "{}: {}", record.name, record.getMessage())


@contextmanager
def _relayed_logs() -> Iterator[None]:
    """From warnings up: the rest is about each job. What a job could not raise to anybody is told by asyncio."""
    relay = _Relay(logging.WARNING)
    libraries = [logging.getLogger(name) for name in ("procrastinate", "psycopg.pool", "asyncio")]
    for library in libraries:
        library.addHandler(relay)
    try:
        yield
    finally:
        for library in libraries:
            library.removeHandler(relay)


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except ConnectorException as error:
        # What follows its first line is a function of theirs, at length.
        reason = str(error.__cause__ or error).strip().partition("\n")[0]
        raise StoreError(f"The jobs of the workers cannot be reached: {reason}") from error


#: Sources that a job collects. A worker gets through some 400 empty jobs a second, so that one source a job would be
#: too dear; many more would leave others without work while one worker has plenty.
BATCH = 20
AGAIN_SECONDS = 1.0


def for_a_worker(settings: Settings) -> Settings:
    """With its share of what all workers together may do, where it is said how many they are; and with a database that
    ends a transaction that is left open for as long as a lease: a worker that hangs, or whose machine is gone, would
    keep the rows that it was about to claim from everybody.
    """
    workers = settings.processes or 1
    url = store_url(settings.store_url())
    patience = f"-c idle_in_transaction_session_timeout={settings.lease_seconds * 1000:.0f}"
    options = " ".join([*url.normalized_query.get("options", ()), patience])
    return replace(
        settings,
        database_url=url.update_query_dict({"options": options}).render_as_string(hide_password=False),
        concurrency=max(1, settings.concurrency // workers),
        parsers=max(1, (settings.parsers or os.cpu_count() or 1) // workers),
        crawl_spacing_seconds=settings.crawl_spacing_seconds * workers,
        crawl_at_once=max(1, settings.crawl_at_once // workers),
        twitter_requests_per_second=settings.twitter_requests_per_second / workers,
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
        logger.bind(event="worker.stopped").info("worker: stop completed")

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
        said = "worker started: tick {:g} s, {} source(s) a job"
        logger.bind(event="worker.started").info(said, tick_seconds, BATCH)
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
