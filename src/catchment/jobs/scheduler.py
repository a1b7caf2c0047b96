"""The scheduler of jobs: what the system does by itself from time to time, once for all processes on one store.

The database says when a job is due. Every process looks when its alarm rings, and at each tick; the one whose statement
takes the due job runs it, under a lease, so that a run that takes longer than its interval is not joined by another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.audit_trail import deed
from catchment.domain.run import JobState, Run, RunKind, RunStatus
from catchment.engine.clock_monitor import not_before
from catchment.engine.leases import LeasePolicy, keep_leases
from catchment.errors import Conflict, InvalidInput, NotFound, StoreError, VisitError
from catchment.eventloop import background_tasks
from catchment.redact import redact_text
from catchment.schedule.jobs import Timers
from catchment.store import jobs, runs
from catchment.store.audit_trail import recorded
from catchment.store.database import Store

#: Does the work and says in a few words what came of it.
Work = Callable[[], Awaitable[str]]
#: When the job runs after a run that begins at this moment; None for not by itself.
NextAfter = Callable[[Connection, datetime], datetime | None]
#: How often a process looks whether another one changed the schedule.
LOOK_SECONDS = 5.0
STORE_AGAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    name: str
    work: Work
    next_after: NextAfter
    #: When it runs for the first time that anybody looks after it.
    first: NextAfter
    #: Something to be stored with the decision to run.
    on_start: Callable[[Connection], None] = lambda _: None
    #: Puts right what became of the schedule while nobody was there.
    on_restore: Callable[[Connection, JobState, datetime], None] = lambda *_: None
    #: Somebody else runs it by the clock; here it is only listed, paused and run by hand.
    is_driven_elsewhere: bool = False


class JobScheduler:
    def __init__(self, *, store: Store, clock: Clock, leases: LeasePolicy, timers: Timers, jobs: Iterable[Job]) -> None:
        self._store = store
        self._clock = clock
        self._leases = leases
        self._jobs = {job.name: job for job in jobs}
        self._running: set[asyncio.Task[None]] = set()
        self.timers = timers

    def __contains__(self, name: str) -> bool:
        return name in self._jobs

    async def keep(self, stop: asyncio.Event) -> None:
        """Look after the jobs until told to stop; what runs then is cut off and its lease given back."""
        await self.prepare()
        self.timers.start(self._wake)
        try:
            await self.follow()
            async with background_tasks(self._follow_on(), keep_leases(self._store, self._leases, self._clock)):
                await stop.wait()
        finally:
            self.timers.stop()
            await self._cut_off()
            await self._store.write(runs.release_owner, self._leases.owner, now=self._clock.now())

    async def prepare(self) -> None:
        """Put down every job that the store does not know yet."""
        await self._store.write(self._ensure_all, now=self._clock.now())

    async def follow(self) -> None:
        """Set the alarms by what the store says, whoever changed it."""
        states = await self._store.read(jobs.list_all)
        if any(self._is_ahead(state) for state in states):
            states = await self._store.write(self._pull_back, now=self._clock.now())
        for state in states:
            job = self._jobs.get(state.name)
            if job is not None and not job.is_driven_elsewhere:
                self._set_timer(state)

    def _is_ahead(self, state: JobState) -> bool:
        """It ran under a clock that was ahead, and would wait for that clock's next time."""
        return state.last_started_at is not None and state.last_started_at > not_before(self._clock.now())

    def _pull_back(self, conn: Connection, *, now: datetime) -> list[JobState]:
        for state in jobs.list_all(conn):
            job = self._jobs.get(state.name)
            if job is not None and self._is_ahead(state):
                jobs.record_start(conn, state.name, now=now)
                jobs.set_due(conn, state.name, job.next_after(conn, now))
        return jobs.list_all(conn)

    def _set_timer(self, state: JobState) -> None:
        wanted = None if state.is_paused else state.due_at
        # One whose time has come is set again: an alarm counts time that passes, and a clock may have jumped over it.
        if self.timers.at(state.name) != wanted or (wanted is not None and wanted <= self._clock.now()):
            self.timers.set(state.name, wanted)

    async def look_after(self, name: str) -> None:
        """Run the job if it is due and nobody else takes it."""
        run = await self._store.write(self._take, self._jobs[name], now=self._clock.now())
        if run is not None:
            await self._work(self._jobs[name], run)

    async def run_now(self, name: str) -> None:
        """Run the job at once, whatever its schedule says; a Conflict when it is running."""
        job = self._known(name)
        self._in_background(self._work(job, await self._begin(job)))

    async def run_and_wait(self, name: str) -> JobState:
        """The same, until it is over; says how it went."""
        job = self._known(name)
        if job.is_driven_elsewhere:
            raise InvalidInput(f"{name} belongs to a collector that is at work; `catchment collect` collects now.")
        run = await self._begin(job)
        try:
            async with background_tasks(keep_leases(self._store, self._leases, self._clock)):
                await self._work(job, run)
        finally:
            # Where it was cut off, nobody waits for its lease to run out.
            await self._store.write(runs.release_owner, self._leases.owner, now=self._clock.now())
        return await self._store.read(jobs.get, name)

    async def _begin(self, job: Job) -> Run:
        run = await self._store.write(self._start, job, now=self._clock.now())
        if run is None:
            raise Conflict(f"The job {job.name} is running at this moment.")
        return run

    async def set_paused(self, name: str, *, is_paused: bool) -> JobState:
        self._known(name)
        entry = deed("job.pause" if is_paused else "job.resume", f"job {name}", now=self._clock.now())
        await self._store.write(recorded, entry, jobs.set_paused, name, is_paused=is_paused)
        await self.follow()
        return await self._store.read(jobs.get, name)

    async def list(self) -> list[JobState]:
        return [state for state in await self._store.read(jobs.list_all) if state.name in self._jobs]

    def _wake(self, name: str) -> None:
        self._in_background(self._look_or_complain(name))

    async def _look_or_complain(self, name: str) -> None:
        try:
            await self.look_after(name)
        except StoreError as error:
            logger.error("the job {} cannot be looked after at this moment: {}", name, error)

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _known(self, name: str) -> Job:
        if name not in self._jobs:
            raise NotFound(f"There is no job {name!r}; there are {', '.join(sorted(self._jobs))}.")
        return self._jobs[name]

    def _ensure_all(self, conn: Connection, *, now: datetime) -> None:
        for job in self._jobs.values():
            state = jobs.ensure(conn, job.name, due_at=job.first(conn, now))
            job.on_restore(conn, state, now)

    def _take(self, conn: Connection, job: Job, *, now: datetime) -> Run | None:
        """The statement that moves the job on decides who runs it; a run that still goes on is not joined."""
        if not jobs.take_due(conn, job.name, now=now, next_due=job.next_after(conn, now)):
            return None
        job.on_start(conn)
        run = self._lease(conn, job, now=now)
        if run is None:
            logger.warning("{} is still running: this run is left out", job.name)
        return run

    def _start(self, conn: Connection, job: Job, *, now: datetime) -> Run | None:
        run = self._lease(conn, job, now=now)
        if run is not None:
            jobs.record_start(conn, job.name, now=now)
        return run

    def _lease(self, conn: Connection, job: Job, *, now: datetime) -> Run | None:
        until = self._leases.until(now)
        return runs.start(conn, RunKind.JOB, job.name, owner=self._leases.owner, now=now, until=until)

    async def _work(self, job: Job, run: Run) -> None:
        try:
            message, ok = await job.work(), True
        except VisitError as error:
            logger.bind(event="job.failed", job=job.name).warning("the job {} failed: {}", job.name, error)
            message, ok = redact_text(str(error)), False
        except Exception as error:  # noqa: BLE001 - the edge: a job that fails must not stop the next one
            logger.bind(event="job.failed", job=job.name).opt(exception=error).error("the job {} failed", job.name)
            message, ok = redact_text(f"{type(error).__name__}: {error}"), False
        await self._put_down(job, run, ok=ok, message=message)
        await self.follow()

    async def _put_down(self, job: Job, run: Run, *, ok: bool, message: str) -> None:
        """Until it is written: a run that never ends would keep the next one from beginning."""
        while True:
            try:
                await self._store.write(self._end, job, run, ok=ok, message=message, now=self._clock.now())
            except StoreError as error:
                logger.error("how the job {} ended cannot be stored yet: {}", job.name, error)
                await asyncio.sleep(STORE_AGAIN_SECONDS)
            else:
                return

    def _end(self, conn: Connection, job: Job, run: Run, *, ok: bool, message: str, now: datetime) -> None:
        status = RunStatus.COMPLETED if ok else RunStatus.FAILED
        if runs.finish(conn, [run.id], status=status, now=now):
            jobs.record_end(conn, job.name, now=now, ok=ok, message=message)

    async def _follow_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.follow()
            except StoreError as error:
                logger.error("the schedule of jobs cannot be read: {}", error)

    async def _cut_off(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def every(interval: timedelta) -> NextAfter:
    """So long after each run."""
    return lambda _, moment: moment + interval


def at_once(_: Connection, now: datetime) -> datetime:
    return now


def not_by_the_clock(_: Connection, __: datetime) -> None:
    return None
