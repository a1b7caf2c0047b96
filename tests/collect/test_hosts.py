"""Manners belong to the host and to all processes: one promise, however many collect, and waiting costs nothing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from catchment.domain.caller import OPERATOR
from catchment.domain.source import Why
from catchment.manage.catalog import Change
from catchment.monitor.reason import Language, next_check_reason
from catchment.store import hosts, sources, tables
from collecting import add, collect, get

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
PACED = {"pace_allowed": True, "host_spacing_seconds": 0.0, "concurrency": 20}


class ClockTimeline:
    """Has the pace follow the clock of the test."""

    def __init__(self, clock):
        self._clock = clock

    def time(self):
        return self._clock.now().timestamp()

    def call_at(self, when, callback):
        return asyncio.get_running_loop().call_later(max(0.0, when - self.time()), callback)


@pytest.fixture
def open_paced(open_test_system, clock):
    @asynccontextmanager
    async def open_(**settings):
        async with open_test_system(**{**PACED, **settings}) as system:
            system.http.pacer._timeline = lambda: ClockTimeline(clock)
            async with system.collector.working(grace_seconds=5):
                yield system

    return open_


async def tick(system):
    round_ = await system.collector.tick()
    await round_.wait()
    return round_


async def count(system, table):
    return await system.store.read(lambda conn: conn.execute(select(func.count()).select_from(table)).scalar_one())


async def host_rows(system):
    return await system.store.read(lambda conn: conn.execute(select(tables.hosts)).all())


@pytest.mark.proves("R-45")
async def test_what_waits_for_its_host_is_put_off_once_and_neither_claimed_nor_logged(open_paced, site, clock, log):
    async with open_paced() as system:
        for number in range(200):
            await add(system, site.feed("1", path=f"/{number}"))
        first = await tick(system)
        assert (len(first.results), first.put_off) == (60, 140)
        assert await count(system, tables.runs) == await count(system, tables.fetch_log) == 60
        turns = await system.store.read(_turns)
        assert turns == [clock.now() + MINUTE + number * SECOND for number in range(140)]
        for _ in range(30):
            clock.advance(10 * SECOND)
            assert (await tick(system)).put_off == 0
        assert sorted(site.hits.values()) == [1] * 200
        assert await count(system, tables.runs) == await count(system, tables.fetch_log) == 200
    assert sum("wait for their hosts" in line for line in log) == 1
    assert not [line for line in log if "is put off" in line]


def _turns(conn):
    later = tables.sources.c.next_check_why == Why.HOST_BUDGET
    return sorted(conn.execute(select(tables.sources.c.next_check_at).where(later)).scalars())


@pytest.mark.proves("R-44")
async def test_two_collectors_are_together_as_polite_as_one(open_paced, site, clock):
    async with open_paced() as one, open_paced() as other:
        for number in range(100):
            await add(one, site.feed("1", path=f"/{number}"))
        for _ in range(3):
            await asyncio.gather(tick(one), tick(other))
        assert sum(site.hits.values()) == 60
        assert site.most_in_flight <= one.settings.host_concurrency
        for _ in range(12):
            clock.advance(5 * SECOND)
            before = sum(site.hits.values())
            await asyncio.gather(tick(one), tick(other))
            assert before == 60 or sum(site.hits.values()) - before <= 6
        clock.advance(MINUTE)
        await asyncio.gather(tick(one), tick(other))
        assert sorted(site.hits.values()) == [1] * 100, "and they are no slower"


@pytest.mark.proves("R-44")
async def test_whoever_looks_after_a_host_next_knows_what_was_asked_of_it(open_paced, site, clock):
    async with open_paced(host_budget_per_minute=10) as one:
        for number in range(8):
            await add(one, site.feed("1", path=f"/{number}"))
        await tick(one)
    assert sum(site.hits.values()) == 8
    clock.advance(10 * SECOND)
    async with open_paced(host_budget_per_minute=10) as other:
        for number in range(8, 16):
            await add(other, site.feed("1", path=f"/{number}"))
        for _ in range(4):
            await tick(other)
        assert sum(site.hits.values()) == 10
        for _ in range(2):
            clock.advance(MINUTE)
            await tick(other)
        assert sum(site.hits.values()) == 16


@pytest.mark.proves("R-44")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("paced", [True, False])
async def test_what_a_host_asks_for_holds_for_all_its_sources(open_paced, site, clock, status, paced):
    async with open_paced(pace_allowed=paced) as system:
        busy = await add(system, site.serve("", path="/busy", status=status, headers={"Retry-After": "600"}))
        await add(system, site.feed("1", path="/twin"))
        await system.store.write(_due_in, [busy.id + 1], clock.now() + MINUTE)
        await tick(system)
        asked_at = clock.now()
        twin = await system.store.read(sources.get, busy.id + 1)
        assert twin.next_check.at == asked_at + 10 * MINUTE
        assert twin.next_check.why is Why.HOST_WAIT
        assert twin.fetch_error_count == 0
        late = await add(system, site.feed("1", path="/late"))
        for _ in range(5):
            clock.advance(MINUTE)
            await tick(system)
        assert (await get(system, late)).next_check.why is Why.HOST_WAIT
        assert dict(site.hits) == {"/busy": 1}
        assert await count(system, tables.runs) == 1
        said = next_check_reason(twin, HOUR)
        assert said == f"waits for 127.0.0.1 until {asked_at + 10 * MINUTE:%Y-%m-%d %H:%M} UTC, as the host asked"
        assert "127.0.0.1" in next_check_reason(twin, HOUR, Language.CHINESE)
        clock.advance(6 * MINUTE)
        await tick(system)
        assert site.hits["/twin"] == site.hits["/late"] == 1


@pytest.mark.proves("R-44")
async def test_another_process_heeds_what_a_host_asked_of_the_first(open_paced, site, clock):
    async with open_paced() as one, open_paced() as other:
        await add(one, site.serve("", path="/busy", status=429, headers={"Retry-After": "600"}))
        await tick(one)
        await add(other, site.feed("1", path="/twin"))
        await add(other, site.serve("", path="/busy2", status=429, headers={"Retry-After": "600"}))
        await tick(other)
        await add(one, site.feed("1", path="/third"))
        await tick(one)
        assert site.hits["/third"] == 0


def _due_in(conn, ids, at):
    chosen = tables.sources.update().where(tables.sources.c.id.in_(ids))
    conn.execute(chosen.values(next_check_at=at, next_check_why=Why.INTERVAL))


@pytest.mark.proves("R-45")
async def test_a_host_with_a_single_source_needs_no_row(open_paced, site):
    async with open_paced() as system:
        await add(system, site.feed("1"))
        await tick(system)
        assert await host_rows(system) == []
        await add(system, site.feed("1", path="/other"))
        assert [row.host for row in await host_rows(system)] == ["127.0.0.1"]


@pytest.mark.proves("R-44")
async def test_hosts_are_given_back_when_work_ends(open_paced, site):
    async with open_paced() as system:
        for number in range(2):
            await add(system, site.feed("1", path=f"/{number}"))
        await tick(system)
    async with open_paced() as system:
        [row] = await host_rows(system)
        assert row.owner is None
        assert len(row.starts) == 2


@pytest.mark.proves("R-44")
async def test_only_one_of_many_takes_a_host(open_paced, store_url, clock):
    async with open_paced() as system:
        await add(system, "http://127.0.0.1:1/a")
        await add(system, "http://127.0.0.1:1/b")
        now = clock.now()
        takers = [
            system.store.write(hosts.take, ["127.0.0.1"], owner=f"p{number}", now=now, until=now + MINUTE)
            for number in range(10)
        ]
        assert sum(map(len, await asyncio.gather(*takers))) == 1
        later = now + 2 * MINUTE
        assert await system.store.write(hosts.take, ["127.0.0.1"], owner="q", now=later, until=later + MINUTE)


@pytest.mark.proves("R-45")
async def test_a_one_shot_waits_for_the_turns_of_a_host(open_test_system, site, clock):
    slept = []

    async def move_on(moment):
        slept.append(moment)
        clock.advance(max(moment - clock.now(), timedelta()))

    async with open_test_system(**PACED, host_budget_per_minute=5) as system:
        system.http.pacer._timeline = lambda: ClockTimeline(clock)
        system.collector._sleep_until = move_on
        for number in range(12):
            await add(system, site.feed("1", path=f"/{number}"))
        results = await collect(system)
    assert len(results) == 12
    assert sorted(site.hits.values()) == [1] * 12


async def test_a_source_is_counted_at_the_host_of_its_new_address(open_paced, site):
    async with open_paced() as system:
        source = await add(system, site.feed("1"))
        await system.catalog.change(source.id, Change(config={"url": "https://example.org/feed"}), OPERATOR)
        assert (await get(system, source)).host == "example.org"
