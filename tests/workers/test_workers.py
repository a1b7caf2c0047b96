"""Several workers on one PostgreSQL: real processes, a real web, and nobody who sorts out what they do."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import AsyncExitStack
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web
from sqlalchemy import Connection, select, text, update

from catchment.bootstrap import System, open_system
from catchment.domain.run import COLLECTOR_TICK, RunKind
from catchment.store import runs as store_runs
from catchment.store.tables import raw_items, runs, sources
from catchment.workers import BATCH, Worker
from cli.command import Process, Start
from collecting import add
from eventually import eventually
from feed_site import FeedSite, rss

pytestmark = pytest.mark.proves("F-04")


class Visitors:
    """A web of feeds with one item each, that knows by name who comes, and can keep them."""

    def __init__(self, site: FeedSite) -> None:
        self._site = site
        self.visits: list[tuple[str, str]] = []
        self.at_once: Counter[str] = Counter()
        self.most_at_once = 0
        self.kept: Callable[[str], bool] = lambda _: False
        self.opened = asyncio.Event()

    def feed(self, number: int) -> str:
        async def answer(request: web.Request) -> web.StreamResponse:
            self.visits.append((request.headers["User-Agent"], request.path))
            self.at_once[request.path] += 1
            self.most_at_once = max(self.most_at_once, self.at_once[request.path])
            try:
                if self.kept(request.headers["User-Agent"]):
                    await self.opened.wait()
                return web.Response(body=rss(f"item-{number}").encode(), content_type="text/xml")
            finally:
                self.at_once[request.path] -= 1

        return self._site.script(answer, path=f"/feed/{number}")

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.visits}

    async def includes(self, *names: str) -> None:
        async def come() -> bool:
            return self.names >= set(names)

        await eventually(come)


@pytest.fixture
def visitors(site: FeedSite) -> Visitors:
    return Visitors(site)


async def add_feeds(system: System, visitors: Visitors, count: int) -> None:
    for number in range(count):
        await add(system, visitors.feed(number))


async def all_stored(system: System, count: int) -> None:
    async def stored() -> bool:
        return len(await system.store.read(_items)) >= count

    await eventually(stored)


async def all_visited(system: System, since: datetime) -> None:
    async def visited() -> bool:
        return not await system.store.read(_unvisited, since)

    await eventually(visited)


def _items(conn: Connection) -> list[tuple[int, str]]:
    return [(row.source_id, row.dedup_key) for row in conn.execute(select(raw_items))]


def _unvisited(conn: Connection, since: datetime) -> list[int]:
    missing = sources.c.last_fetched_at.is_(None) | (sources.c.last_fetched_at < since)
    return list(conn.execute(select(sources.c.id).where(missing)).scalars())


def _make_all_due(conn: Connection, now: datetime) -> None:
    conn.execute(update(sources).values(next_check_at=now))


def _runs_of_sources(conn: Connection) -> dict[str, list[Any]]:
    found = defaultdict(list)
    for run in conn.execute(select(runs).where(runs.c.kind == RunKind.SOURCE).order_by(runs.c.started_at)):
        found[run.subject].append(run)
    return found


def _jobs(conn: Connection) -> list[str]:
    """The status of every job of collecting that there is."""
    return list(
        conn.execute(text("SELECT status FROM procrastinate_jobs WHERE task_name = 'catchment.collect'")).scalars()
    )


async def test_two_workers_share_what_is_due_and_neither_doubles_nor_forgets(
    system: System, visitors: Visitors, start_worker: Start
) -> None:
    await add_feeds(system, visitors, 60)
    # Whoever comes first waits for the other one.
    visitors.kept = lambda _: len(visitors.names) < 2
    await asyncio.gather(start_worker("one", LOG_LEVEL="DEBUG"), start_worker("two", LOG_LEVEL="DEBUG"))
    await visitors.includes("one", "two")
    visitors.opened.set()
    await all_stored(system, 60)
    assert set(Counter(path for _, path in visitors.visits).values()) == {1}, "what is due once is visited once"
    for _ in range(2):
        now = system.clock.now()
        await system.store.write(_make_all_due, now)
        await all_visited(system, now)
    stored = await system.store.read(_items)
    assert len(stored) == len(set(stored)) == 60
    assert visitors.most_at_once == 1
    by_source = await system.store.read(_runs_of_sources)
    assert len(by_source) == 60
    for of_one in by_source.values():
        assert len(of_one) == 3
        assert all(before.finished_at <= after.started_at for before, after in pairwise(of_one))


async def test_what_a_killed_worker_had_taken_is_taken_over(
    system: System, visitors: Visitors, start_worker: Start
) -> None:
    await add_feeds(system, visitors, 50)
    visitors.kept = lambda name: name == "doomed"
    doomed = await start_worker("doomed")
    await visitors.includes("doomed")
    heir: Process = await start_worker("heir", CATCHMENT_LEASE_SECONDS="2")
    await heir.says("worker started")
    doomed.signal(signal.SIGKILL)
    await all_stored(system, 50)
    await heir.says("took over")
    stored = await system.store.read(_items)
    assert len(stored) == len(set(stored)) == 50

    async def no_job_is_left() -> bool:
        return not await system.store.read(_jobs)

    await eventually(no_job_is_left)
    assert await system.store.read(store_runs.list_running, RunKind.SOURCE) == []


async def test_a_worker_that_hangs_is_taken_over_and_stores_nothing_late(
    system: System, visitors: Visitors, start_worker: Start
) -> None:
    """As one on another machine, of which nobody can tell that it is gone but by its leases."""
    await add_feeds(system, visitors, 30)
    visitors.kept = lambda name: name == "sleeper"
    sleeper: Process = await start_worker("sleeper", CATCHMENT_LEASE_SECONDS="2")
    await visitors.includes("sleeper")
    sleeper.signal(signal.SIGSTOP)
    heir: Process = await start_worker("heir", CATCHMENT_LEASE_SECONDS="2")
    await heir.says("recovered")
    await all_stored(system, 30)
    heir.signal(signal.SIGTERM)
    assert await heir.ends() == 0
    visitors.opened.set()
    sleeper.signal(signal.SIGCONT)
    now = system.clock.now()
    await system.store.write(_make_all_due, now)
    await all_visited(system, now)
    sleeper.signal(signal.SIGTERM)
    assert await sleeper.ends() == 0
    stored = await system.store.read(_items)
    assert len(stored) == len(set(stored)) == 30


async def test_looks_put_out_no_more_jobs_than_what_is_due_takes(system: System, visitors: Visitors) -> None:
    await add_feeds(system, visitors, 2 * BATCH + 1)
    async with AsyncExitStack() as opened:
        others = [await opened.enter_async_context(open_system(system.settings)) for _ in range(3)]
        workers = [Worker(one) for one in others]
        for worker in workers:
            await opened.enter_async_context(worker.queue.opened())
        for _ in range(3):
            await asyncio.gather(*(worker.look() for worker in workers))
        assert await system.store.read(_jobs) == ["todo"] * 3


@pytest.mark.proves("S-04")
async def test_who_asks_for_some_at_the_same_moment_gets_other_sources(system: System, visitors: Visitors) -> None:
    """Each job asks for some of what is due, and a worker takes many jobs at once: none may go without."""
    await add_feeds(system, visitors, 20)
    async with system.collector.working(grace_seconds=10):
        found = await asyncio.gather(*(system.collector.collect_some(5) for _ in range(4)))
    assert [len(results) for results in found] == [5, 5, 5, 5]
    assert set(Counter(path for _, path in visitors.visits).values()) == {1}


async def test_a_stop_lets_finish_what_is_under_way_and_hands_over_the_rest(
    system: System, visitors: Visitors, start_worker: Start
) -> None:
    await add_feeds(system, visitors, 10)
    visitors.kept = lambda _: True
    worker: Process = await start_worker("one")
    await visitors.includes("one")
    worker.signal(signal.SIGTERM)
    await worker.says("SIGTERM received")
    visitors.opened.set()
    assert await worker.ends() == 0
    begun = len(visitors.visits)
    assert 0 < begun < 10
    assert len(await system.store.read(_items)) == begun
    assert await system.store.read(store_runs.list_running, RunKind.SOURCE) == []
    assert await system.store.read(_jobs) == ["todo"], "for those who are left"


async def test_jobs_that_were_put_out_before_a_pause_collect_nothing(
    system: System, visitors: Visitors, start_worker: Start
) -> None:
    await add_feeds(system, visitors, 3)
    async with (worker := Worker(system)).queue.opened():
        await worker.look()
    await system.jobs.prepare()
    await system.jobs.set_paused(COLLECTOR_TICK, is_paused=True)
    await start_worker("one")

    async def none_waits() -> bool:
        return await system.store.read(_jobs) == []

    await eventually(none_waits)
    assert not visitors.visits
    await system.jobs.set_paused(COLLECTOR_TICK, is_paused=False)
    await all_stored(system, 3)


async def test_a_worker_outlives_its_connections(system: System, visitors: Visitors, start_worker: Start) -> None:
    worker: Process = await start_worker("one")
    await worker.says("worker started")
    await system.store.write(_cut_all_connections)
    await add_feeds(system, visitors, 3)
    await all_stored(system, 3)
    worker.signal(signal.SIGTERM)
    assert await worker.ends() == 0


def _cut_all_connections(conn: Connection) -> None:
    others = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
    conn.execute(text(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}"))
