"""The pool: so many visits at once, claimed a little ahead, handed over to be stored."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.host import DueSource, HostUse
from catchment.domain.run import Run
from catchment.domain.source import Source
from catchment.domain.visit import Postponed, Visit, VisitResult
from catchment.engine.commit import Committer
from catchment.engine.hosts import HostRegistry
from catchment.engine.leases import LeasePolicy
from catchment.engine.round import Round
from catchment.engine.visit import Visitor
from catchment.errors import StoreError
from catchment.store import hosts as host_rows
from catchment.store import runs, sources
from catchment.store.database import Store

RETRY_SECONDS = 1.0
#: Claims wait behind commits for the one writer, so that many per worker are claimed ahead.
AHEAD = 8
#: No more than this part of what is waiting is claimed ahead, so that other collectors find some as well, and all are
#: done at the same time; but so many at least.
SHARE = 2
LEAST = 20
#: So many times what is to be claimed is looked at for it, as others may be claiming the same.
WINDOW = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedSource:
    """A claimed source, waiting for a worker."""

    run: Run
    source: Source
    round: Round
    #: Where it shares one that this process looks after.
    host: str | None = None


class Pool:
    def __init__(
        self,
        *,
        store: Store,
        visitor: Visitor,
        committer: Committer,
        hosts: HostRegistry,
        leases: LeasePolicy,
        clock: Clock,
        concurrency: int,
    ) -> None:
        self._store = store
        self._visitor = visitor
        self._committer = committer
        self._hosts = hosts
        self._leases = leases
        self._clock = clock
        self.concurrency = concurrency
        self.reset()

    def reset(self) -> None:
        """Forget what was left over when work was cut off: it is due again, or somebody else's by now."""
        self._waiting: dict[int, Round] = {}
        #: The host of each queued source that shares one, and those that wait until fewer visits are under way there.
        self._host_of: dict[int, str] = {}
        self._parked: dict[str, dict[int, Round]] = {}
        self._has_waiting = asyncio.Event()
        self._claimed: asyncio.Queue[QueuedSource] = asyncio.Queue()
        self._begun = asyncio.Event()
        #: Every source that is queued, claimed, under way or waiting to be stored.
        self._known: set[int] = set()
        self.is_stopping = False
        self._idle = asyncio.Event()
        self._idle.set()
        #: One for each visit that may be under way.
        self._slots = asyncio.Semaphore(self.concurrency)
        self.in_flight = 0
        self.flight_changed = asyncio.Event()

    @property
    def queued(self) -> int:
        return len(self._waiting) + sum(map(len, self._parked.values())) + self._claimed.qsize()

    def knows(self, source_id: int) -> bool:
        """Whether it is queued, claimed, under way or waiting to be stored."""
        return source_id in self._known

    def add(
        self,
        due: Sequence[DueSource],
        *,
        most: int | None = None,
        others: Sequence[int] = (),
        follows: Round | None = None,
    ) -> Round:
        """Queue those sources that are not queued already, or the first of them, as a round; with those that others
        collect.
        """
        fresh = list(islice((one for one in due if one.id not in self._known), most))
        ids = [one.id for one in fresh]
        round_ = Round(ids, others=others, follows=follows)
        self._known.update(ids)
        for one in fresh:
            if one.host is not None:
                self._host_of[one.id] = one.host
                self._hosts.expect(one.host)
        self._waiting |= dict.fromkeys(ids, round_)
        if ids:
            self._has_waiting.set()
        return round_

    async def run(self) -> None:
        """Work until cancelled. A worker that dies takes the pool down with it: better than quietly doing less."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._feed(), name="pool-feeder")
            for number in range(self.concurrency):
                tasks.create_task(self._work(), name=f"pool-worker-{number}")

    def halt(self) -> None:
        """Start nothing new."""
        self.is_stopping = True

    async def stop(self, grace_seconds: float) -> bool:
        """Start nothing new and let finish what is under way. False when it took longer than the grace."""
        self.halt()
        try:
            async with asyncio.timeout(grace_seconds):
                await self._idle.wait()
                await self._committer.drain()
        except TimeoutError:
            return False
        return True

    @asynccontextmanager
    async def lending(self, visits: int) -> AsyncIterator[None]:
        """Have so many fewer under way here, as somebody else has them."""
        slots, taken = self._slots, 0
        try:
            for _ in range(visits):
                await slots.acquire()
                taken += 1
            yield
        finally:
            for _ in range(taken):
                slots.release()

    async def visit_now(self, run: Run, source: Source) -> VisitResult:
        """Visit one claimed source at once, whatever is queued."""
        round_ = Round([source.id])
        await self._visit(QueuedSource(run=run, source=source, round=round_))
        await round_.wait()
        return round_.results[0]

    async def _feed(self) -> None:
        while True:
            await self._has_waiting.wait()
            await self._until_few_are_claimed()
            for job in await self._claim():
                self._claimed.put_nowait(job)
            self._hurry_if_done()

    async def _until_few_are_claimed(self) -> None:
        """Until half of what may be claimed ahead is left of it."""
        while self._claimed.qsize() > self._ahead() // 2:
            self._begun.clear()
            await self._begun.wait()

    def _ahead(self) -> int:
        """How many may be claimed before a worker has time for them."""
        return min(max(len(self._waiting) // SHARE, LEAST), AHEAD * self.concurrency)

    async def _claim(self) -> list[QueuedSource]:
        """Claim some of what is waiting; what somebody else took meanwhile waits no longer."""
        if self.is_stopping:
            self._waiting.clear()
            self._parked.clear()
        is_idle = not self.in_flight and self._claimed.empty()
        # The first ones at once, and more while those are visited.
        ahead = min(self._ahead(), self.concurrency) if is_idle else self._ahead()
        most = max(ahead - self._claimed.qsize(), 0)
        async with self._hosts.lock:
            window = self._window(most)
            claimed = await self._claim_in_store(list(window), most)
            jobs = (
                []
                if claimed is None
                else [self._job(run, source, window[id_]) for id_, (run, source) in claimed.items()]
            )
        if claimed is None:
            # All of it still waits, and is tried again unless a stop comes first.
            await asyncio.sleep(RETRY_SECONDS)
            return []
        taken = window.keys() - claimed.keys() if len(claimed) < most else set()
        for source_id in (*claimed, *taken):
            del self._waiting[source_id]
        for source_id in taken:
            self._unpark(self._host_of.get(source_id))
            await self._drop(source_id, window[source_id])
        if not self._waiting:
            self._has_waiting.clear()
        return jobs

    def _window(self, most: int) -> dict[int, Round]:
        """What to claim from: of sources that share hosts no more than are claimed, or others would find none."""
        window: dict[int, Round] = {}
        chosen: Counter[str] = Counter()
        for source_id, round_ in list(islice(self._waiting.items(), WINDOW * most)):
            host = self._host_of.get(source_id)
            if host is None:
                window[source_id] = round_
            elif not self._hosts.has_room(host, chosen=chosen[host]):
                self._parked.setdefault(host, {})[source_id] = self._waiting.pop(source_id)
            elif len(window) < most:
                window[source_id] = round_
                chosen[host] += 1
        return window

    def _job(self, run: Run, source: Source, round_: Round) -> QueuedSource:
        host = self._host_of.get(source.id)
        if host is not None:
            self._hosts.enter(host)
        return QueuedSource(run=run, source=source, round=round_, host=host)

    def _unpark(self, host: str | None) -> None:
        """Let the next one try that waits for this host."""
        parked = self._parked.get(host or "")
        if parked:
            source_id = next(iter(parked))
            self._waiting[source_id] = parked.pop(source_id)
            self._has_waiting.set()

    async def _claim_in_store(self, ids: list[int], most: int) -> dict[int, tuple[Run, Source]] | None:
        """None where the store cannot be written."""
        if not ids:
            return {}
        at_hosts = {source_id: self._host_of[source_id] for source_id in ids if source_id in self._host_of}
        now = self._clock.now()
        try:
            claimed, taken = await self._store.write(
                _claim, ids, at_hosts, most=most, owner=self._leases.owner, now=now, until=self._leases.until(now)
            )
        except StoreError as error:
            logger.error("nothing can be claimed: {}", error)
            return None
        self._hosts.took(taken)
        return claimed

    async def _work(self) -> None:
        while True:
            job = await self._claimed.get()
            self._begun.set()
            async with self._slots:
                if not self.is_stopping:
                    await self._visit(job)

    async def _visit(self, job: QueuedSource) -> None:
        self.in_flight += 1
        self.flight_changed.set()
        self._idle.clear()
        try:
            visit = await self._visitor.visit(job.run, job.source)
            if job.host is not None:
                await self._leave(job.host, visit)
            await self._hand_over(job.round.admit(visit), job.round)
        finally:
            # Also when whoever asked for it is gone: a stop would wait for it to no end.
            self.in_flight -= 1
            self.flight_changed.set()
            if not self.in_flight:
                self._idle.set()
        self._hurry_if_done()

    async def _leave(self, host: str, visit: Visit) -> None:
        """Make room for the next one at this host; where it has none now, the next look says when it has."""
        self._hosts.leave(host)
        if isinstance(visit.ending, Postponed) or visit.host_held_until is not None:
            for source_id, round_ in self._parked.pop(host, {}).items():
                await self._drop(source_id, round_)
        else:
            self._unpark(host)

    async def _drop(self, source_id: int, round_: Round) -> None:
        self._forget(source_id)
        await self._hand_over(round_.drop(source_id), round_)

    def _forget(self, source_id: int) -> None:
        self._known.discard(source_id)
        if host := self._host_of.pop(source_id, None):
            self._hosts.done_with(host)

    def _hurry_if_done(self) -> None:
        if not (self.in_flight or self._waiting) and self._claimed.empty():
            self._committer.hurry()

    async def _hand_over(self, visits: list[Visit], round_: Round) -> None:
        def report(result: VisitResult) -> None:
            self._forget(result.source_id)
            round_.record(result)

        for visit in visits:
            await self._committer.submit(visit, report)


def _claim(
    conn: Connection,
    ids: list[int],
    at_hosts: Mapping[int, str],
    *,
    most: int,
    owner: str,
    now: datetime,
    until: datetime,
) -> tuple[dict[int, tuple[Run, Source]], list[HostUse]]:
    """Claim and read what was claimed, in the order asked for, with the hosts that it shares."""
    wanted = set(at_hosts.values())
    taken = host_rows.take(conn, wanted, owner=owner, now=now, until=until) if wanted else []
    ours = {use.host for use in taken}
    free = [source_id for source_id in ids if source_id not in at_hosts or at_hosts[source_id] in ours]
    claimed = runs.claim_due(conn, free, most=most, owner=owner, now=now, until=until)
    by_id = {int(run.subject): run for run in claimed}
    rows = {source.id: source for source in sources.get_many(conn, list(by_id))}
    return {source_id: (by_id[source_id], rows[source_id]) for source_id in ids if source_id in by_id}, taken
