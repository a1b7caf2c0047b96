"""The collector: looks at every tick what is due, and has it collected."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Any, Protocol

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.host import DueSource, Seating
from catchment.domain.run import COLLECTOR_TICK, Run, RunKind
from catchment.domain.source import Source
from catchment.domain.visit import VisitResult
from catchment.engine.cadence import Cadences
from catchment.engine.cleanup import Cleaner
from catchment.engine.clock_monitor import ClockMonitor
from catchment.engine.commit import Committer
from catchment.engine.hosts import HostRegistry
from catchment.engine.leases import LeasePolicy, keep_leases, recover
from catchment.engine.pool import Pool
from catchment.engine.round import Round
from catchment.errors import Conflict, NotFound, StoreError
from catchment.eventloop import background_tasks
from catchment.sources.registry import Registry
from catchment.store import jobs, runs, sources
from catchment.store.database import Store

#: Ids read at one look. When more is due, the next look follows as soon as the queue is empty.
LOOK_LIMIT = 10_000
#: When others are claiming all that was looked at; a moment later they are done with it.
CROWDED_SECONDS = 0.2
#: How many visits are under way is written as often as this at most.
FLIGHT_SECONDS = 1.0


class Others(Protocol):
    """Whoever collects beside this one."""

    def divide(self, due: Sequence[DueSource]) -> tuple[Sequence[DueSource], Sequence[DueSource]]:
        """What of this they are to collect, and what is left to this one."""
        ...

    def collect(self, round_: Round, due: Sequence[DueSource], *, left_here: int) -> None:
        """Have them begin, and tell the round what becomes of these; so many others of it are collected here."""
        ...


class Collector:
    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        pool: Pool,
        hosts: HostRegistry,
        committer: Committer,
        cadences: Cadences,
        cleaner: Cleaner,
        clock_monitor: ClockMonitor,
        leases: LeasePolicy,
        clock: Clock,
    ) -> None:
        self._store = store
        self._registry = registry
        self._pool = pool
        self._hosts = hosts
        self._committer = committer
        self._cadences = cadences
        self._cleaner = cleaner
        self._leases = leases
        self._clock = clock
        self._clock_monitor = clock_monitor
        self._ticking = asyncio.Lock()
        self._asking = asyncio.Lock()
        self._round = Round([])
        self.is_working = False
        self.others: Others | None = None

    @property
    def takes_visits(self) -> bool:
        """Whether one that is asked for now is made here: it works, and was not told to stop."""
        return self.is_working and not self._pool.is_stopping

    @property
    def concurrency(self) -> int:
        """How many sources are visited at once."""
        return self._pool.concurrency

    @concurrency.setter
    def concurrency(self, visits: int) -> None:
        """Only before it works."""
        self._pool.concurrency = visits

    def lending(self, visits: int) -> AbstractAsyncContextManager[None]:
        """Have so many fewer under way here, as another collector has them."""
        return self._pool.lending(visits)

    @asynccontextmanager
    async def working(
        self, *, grace_seconds: float, stop: asyncio.Event | None = None, is_helping: bool = False
    ) -> AsyncIterator[None]:
        """Have the pool at work; on the way out let it finish, within the grace, and give back every lease.

        Nothing new is begun from the moment that `stop` is set. Who helps another finds the store in order.
        Raises TimeoutError when work had to be cut off.
        """
        await (self._cadences.load() if is_helping else self._put_in_order())
        await self._store.write(_register, leases=self._leases, now=self._clock.now())
        self._pool.reset()
        self._round = Round([])
        self.is_working = True
        try:
            heartbeat = keep_leases(self._store, self._leases, self._clock)
            works = (self._pool.run(), self._committer.run(), self._hosts.run(), self._report_flight())
            async with background_tasks(*works, heartbeat, self._halt_at(stop)):
                yield
                clean = await self._pool.stop(grace_seconds)
        finally:
            self.is_working = False
            self._pool.reset()
            try:
                await self._hosts.give_back_all()
            finally:
                await self._store.write(runs.release_owner, self._leases.owner, now=self._clock.now())
        if not clean:
            raise TimeoutError(f"work in flight was cut off after {grace_seconds:g} s")

    async def _put_in_order(self) -> None:
        """What a clock that was ahead, other settings or another set of types left in the store."""
        await self._clock_monitor.start()
        await self._cadences.start()
        await self._store.write(sources.wake_types, self._registry.can_fetch, now=self._clock.now())

    async def tick(self) -> Round:
        """One look: take over what the dead left, and queue what is due; nothing while the last round is under way."""
        return (await self._begin_round())[0]

    async def _begin_round(self) -> tuple[Round, Seating]:
        async with self._ticking:
            if not self._round.is_over:
                return Round([]), Seating()
            seating = await self._look_around()
            self._round = self._queue(seating)
            return self._round, seating

    def _queue(self, seating: Seating) -> Round:
        theirs, ours = self.others.divide(seating.now) if self.others else ((), seating.now)
        round_ = self._pool.add(ours, others=[one.id for one in theirs])
        round_.put_off = len(seating.later)
        if round_.ids:
            logger.info("{} source(s) due", len(round_.ids))
            round_.when_over(log_round)
        if self.others and theirs:
            self.others.collect(round_, theirs, left_here=len(ours))
        return round_

    @property
    def is_in_round(self) -> bool:
        return not self._round.is_over

    async def due(self) -> list[DueSource]:
        """What is due and has a turn at its host, with what the dead left; nothing while ticks are paused."""
        return (await self._look_around()).now

    async def _look_around(self) -> Seating:
        await self._clock_monitor.look()
        await self._cadences.apply()
        await recover(self._store, self._clock)
        if await self._store.read(jobs.is_paused, COLLECTOR_TICK):
            return Seating()
        return await self._look(LOOK_LIMIT)

    async def collect_due(self, *, on_round: Callable[[Round], None] | None = None) -> list[VisitResult]:
        """Collect everything that is due now, and what had to wait for its host as well.

        `on_round` is given each round as it starts, so that it can be watched.
        """
        results: dict[int, VisitResult] = {}
        turns: set[datetime] = set()
        while True:
            # Those that have come are looked at now; those that come while the round runs need another look.
            turns = {turn for turn in turns if turn > self._clock.now()}
            round_, seating = await self._begin_round()
            turns |= seating.turns
            if on_round is not None:
                on_round(round_)
            # What is old is cleaned meanwhile.
            await asyncio.gather(round_.wait(), self._tidy_or_complain())
            results.update({result.source_id: result for result in round_.results})
            until = min(turns | {moment for moment in [round_.postponed_until()] if moment}, default=None)
            if until is None and (not round_.ids or (len(round_.ids) < LOOK_LIMIT and not round_.dropped)):
                break
            await self._sleep_until(until)
        return list(results.values())

    async def collect_these(
        self, due: Sequence[DueSource], *, on_round: Callable[[Round], None], follows: Round | None = None
    ) -> Round:
        """Collect what somebody else found to be due, but for what others take meanwhile."""
        round_ = self._pool.add(due, follows=follows)
        on_round(round_)
        await round_.wait()
        return round_

    async def collect_some(self, limit: int) -> list[VisitResult]:
        """Collect up to `limit` of what is due. What others take meanwhile does not count."""
        results: list[VisitResult] = []
        while (wanted := limit - len(results)) > 0:
            # One at a time: who looked at the same moment would find the same, and the last would go without.
            async with self._asking:
                # What is queued here for others who asked is due as well.
                seating = await self._look(wanted + self._pool.queued)
                round_ = self._pool.add(seating.now, most=wanted)
            if not round_.ids:
                break
            await round_.wait()
            results += round_.results
            if not round_.results:
                await asyncio.sleep(CROWDED_SECONDS)
        return results

    async def collect_source(self, source_id: int) -> VisitResult:
        """Collect one source at once, whatever its schedule says."""
        now = self._clock.now()
        source, run = await self._store.write(
            _claim_one, source_id, owner=self._leases.owner, now=now, until=self._leases.until(now)
        )
        return await self._pool.visit_now(run, source)

    async def serve(self, stop: asyncio.Event, *, tick_seconds: float, grace_seconds: float) -> None:
        """Work until told to stop, then finish what is in flight within the grace, or raise TimeoutError."""
        async with self.working(grace_seconds=grace_seconds, stop=stop):
            await self.run(stop, tick_seconds=tick_seconds)
        log_stop()

    async def run(self, stop: asyncio.Event, *, tick_seconds: float) -> None:
        """Tick until told to stop. State is in the database: nothing that is not due is fetched."""
        intervals = await self._cadences.load()
        minutes = {name: intervals.minutes(name) for name in sorted({*self._registry, *intervals.chosen})}
        said = "collector started: tick {:g} s, intervals in minutes {}"
        logger.bind(event="collector.started").info(said, tick_seconds, minutes)
        while not stop.is_set():
            is_late = self.is_in_round
            await self._tick_or_complain()
            await self.report(tick_seconds)
            await _rest(stop, self._round, tick_seconds, is_late=is_late)
        logger.info("collector: stop received, {} visit(s) in flight", self._pool.in_flight)

    async def _look(self, limit: int) -> Seating:
        """What is due, and has a turn at its host; what has none for a while is put off to its turn, once."""
        now = self._clock.now()
        due = await self._store.read(sources.due, now=now, limit=limit, owner=self._leases.owner)
        return await self._hosts.seat([one for one in due if not self._pool.knows(one.id)], now)

    async def _tick_or_complain(self) -> None:
        try:
            await self.tick()
        except StoreError as error:
            logger.bind(event="store.failed").error("this tick is skipped: {}", error)

    async def _tidy_or_complain(self) -> None:
        try:
            await self._cleaner.tidy_if_due()
        except StoreError as error:
            logger.bind(event="store.failed").error("what is old could not be cleaned: {}", error)

    async def report(self, tick_seconds: float) -> None:
        """Say in the database how the collector is, for whoever asks in whatever process; or complain in the log."""
        now = self._clock.now()
        progress = {
            "last_tick_at": now.isoformat(),
            "next_tick_at": (now + timedelta(seconds=tick_seconds)).isoformat(),
            "queued": self._pool.queued + self._round.left_to_others,
            "in_flight": self._pool.in_flight,
        }
        try:
            await self._store.write(_report, leases=self._leases, now=now, progress=progress)
        except StoreError as error:
            logger.error("the collector's state cannot be stored: {}", error)

    async def _report_flight(self) -> None:
        """Have the store know how many visits are under way, of all that are claimed; until cancelled."""
        reported = 0
        while True:
            await self._pool.flight_changed.wait()
            self._pool.flight_changed.clear()
            if self._pool.in_flight != reported:
                reported = self._pool.in_flight
                # The next change, or the next tick, says it again.
                with suppress(StoreError):
                    await self._store.write(_report_flight, owner=self._leases.owner, in_flight=reported)
            await asyncio.sleep(FLIGHT_SECONDS)

    async def _halt_at(self, stop: asyncio.Event | None) -> None:
        if stop is not None:
            await stop.wait()
            self._pool.halt()

    async def _sleep_until(self, moment: datetime | None) -> None:
        if moment is not None:
            await asyncio.sleep(max(0.0, (moment - self._clock.now()).total_seconds()))


def _claim_one(conn: Connection, source_id: int, *, owner: str, now: datetime, until: datetime) -> tuple[Source, Run]:
    """Claim it, then read it: what was stored of it before can no longer change."""
    run = runs.claim_now(conn, source_id, owner=owner, now=now, until=until)
    source = sources.get(conn, source_id)
    if source is None or source.is_deleted:
        raise NotFound(f"There is no source {source_id}. `catchment sources list` shows those there are.")
    if run is None:
        raise Conflict(f"Source {source_id} ({source.name}) is being collected at this moment.", existing_id=source_id)
    return source, run


def _report(conn: Connection, *, leases: LeasePolicy, now: datetime, progress: Mapping[str, Any]) -> None:
    until = leases.until(now)
    jobs.set_due(conn, COLLECTOR_TICK, datetime.fromisoformat(progress["next_tick_at"]))
    runs.start(conn, RunKind.COLLECTOR, leases.owner, owner=leases.owner, now=now, until=until)
    runs.set_progress(conn, RunKind.COLLECTOR, leases.owner, progress)


def _register(conn: Connection, *, leases: LeasePolicy, now: datetime) -> None:
    """Have everybody know that this process collects, also one that never ticks."""
    started = {"queued": 0, "in_flight": 0}
    owner, until = leases.owner, leases.until(now)
    runs.start(conn, RunKind.COLLECTOR, owner, owner=owner, now=now, until=until, progress=started)


def _report_flight(conn: Connection, *, owner: str, in_flight: int) -> None:
    run = runs.running_of(conn, RunKind.COLLECTOR, owner)
    if run is not None:
        runs.set_progress(conn, RunKind.COLLECTOR, owner, {**run.progress, "in_flight": in_flight})


async def _rest(stop: asyncio.Event, round_: Round, tick_seconds: float, *, is_late: bool) -> None:
    """Until the next tick, or until told to stop; a look that was cut short, or whose time has come while a round was
    under way, is followed by the next as soon as that is over.
    """
    waits: list[asyncio.Task[Any]] = [asyncio.create_task(stop.wait())]
    if is_late or len(round_.ids) >= LOOK_LIMIT:
        waits.append(asyncio.create_task(round_.wait()))
    await asyncio.wait(waits, timeout=tick_seconds, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def log_stop() -> None:
    logger.bind(event="collector.stopped").info("collector: stop completed")


def log_round(round_: Round) -> None:
    counts = round_.summary()
    said = ", ".join(f"{count} {name}" for name, count in counts.items())
    logger.bind(event="round.over", **counts).info("round over: {}", said)
