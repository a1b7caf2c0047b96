"""Rounds do not overlap, and the status counts what is really under way, the same for whoever asks."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from datetime import timedelta

import httpx
import pytest

from catchment.domain.caller import OPERATOR
from catchment.domain.host import DueSource
from catchment.domain.source import PausedBy
from catchment.domain.visit import VisitResult
from catchment.jobs.builtin import COLLECTOR_TICK
from catchment.monitor.status import count_in_flight, read_collector, read_stats
from catchment.processes import owner_name
from catchment.store import runs, sources
from catchment.web.app import create_app
from collecting import add, collect, get, stored
from eventually import eventually
from feed_site import Gate, rss
from source_factory import START
from stores import on_both_stores, on_sqlite_in_both_ways

pytestmark = on_sqlite_in_both_ways


@pytest.mark.proves("R-15", "A-39")
async def test_a_slow_round_is_not_joined_by_the_next_one(system, site, log):
    gate, stop = Gate(rss("1")), asyncio.Event()
    await add(system, site.script(gate, path="/slow"))
    loop = asyncio.create_task(system.collector.serve(stop, tick_seconds=0.02, grace_seconds=5))
    await gate.arrived.acquire()
    await add(system, site.feed("2", path="/quick"))
    ticks = await _ticks_pass(system, 3)
    assert ticks, "the collector is alive meanwhile"
    assert not site.hits["/quick"]
    gate.opened.set()
    await eventually(lambda: _two_items(system))
    stop.set()
    await loop
    rounds = [line for line in log if "source(s) due" in line or "round over" in line]
    assert ["round over" in line for line in rounds] == [False, True, False, True]


async def _ticks_pass(system, count: int) -> bool:
    """The loop has come round so many times."""
    seen = 0
    real = system.collector.report

    async def report(tick_seconds):
        nonlocal seen
        seen += 1
        await real(tick_seconds)

    system.collector.report = report

    async def enough():
        return seen >= count

    return await eventually(enough)


async def _two_items(system):
    return len(await stored(system)) == 2


@pytest.mark.proves("R-15")
async def test_a_tick_had_by_hand_is_left_out_while_a_round_is_under_way(system, site):
    gate = Gate(rss("1"))
    await add(system, site.script(gate, path="/slow"))
    await system.jobs.prepare()
    async with system.collector.working(grace_seconds=5):
        round_ = await system.collector.tick()
        await gate.arrived.acquire()
        await add(system, site.feed("2", path="/quick"))
        await system.jobs.run_now(COLLECTOR_TICK)
        state = await eventually(lambda: _ended(system))
        assert state.last_message == "left out: a round is still under way"
        gate.opened.set()
        await round_.wait()
    assert not site.hits["/quick"]


async def _ended(system):
    states = {state.name: state for state in await system.jobs.list()}
    return states[COLLECTOR_TICK] if states[COLLECTOR_TICK].last_finished_at else None


@on_both_stores
@pytest.mark.proves("R-15")
async def test_a_round_beside_another_process_visits_nothing_twice(open_test_system, site):
    async with open_test_system() as one, open_test_system() as other:
        for number in range(10):
            await add(one, site.feed(str(number), path=f"/{number}"))
        results = await asyncio.gather(collect(one), collect(other))
        assert sorted(result.source_id for some in results for result in some) == list(range(1, 11))
    assert set(site.hits.values()) == {1}


@pytest.mark.proves("R-15", "A-36")
async def test_what_is_claimed_ahead_waits_and_is_not_in_flight(open_test_system, site, clock):
    gate = Gate(rss("1"))
    async with open_test_system(concurrency=2) as system:
        for number in range(8):
            await add(system, site.script(gate, path=f"/{number}"))
        async with system.collector.working(grace_seconds=5):
            round_ = await system.collector.tick()
            for _ in range(2):
                await gate.arrived.acquire()

            async def two_in_flight():
                state = await system.store.read(read_collector, OPERATOR, now=clock.now())
                return (state.in_flight, state.queue) == (2, 6)

            assert await eventually(two_in_flight)
            gate.opened.set()
            await round_.wait()
        assert (await system.store.read(read_collector, OPERATOR, now=clock.now())).in_flight == 0


async def test_who_helps_another_does_not_put_the_store_in_order_once_more(system, monkeypatch):
    changes, write = [], system.store.write

    async def recorded(change, *args, **values):
        changes.append(change)
        return await write(change, *args, **values)

    monkeypatch.setattr(system.store, "write", recorded)
    async with system.collector.working(grace_seconds=5, is_helping=True):
        assert sources.wake_types not in changes
    async with system.collector.working(grace_seconds=5):
        assert sources.wake_types in changes


async def test_what_a_busy_collector_cannot_begin_soon_is_left_to_another(open_test_system, site):
    gate = Gate(rss("1"))
    async with open_test_system(concurrency=30) as busy, open_test_system() as other:
        for number in range(60):
            await add(busy, site.script(gate, path=f"/{number}"))
        async with busy.collector.working(grace_seconds=5):
            round_ = await busy.collector.tick()
            for _ in range(30):
                await gate.arrived.acquire()
            left = await other.collector.due()
            gate.opened.set()
            await round_.wait()
    assert len(left) >= 10


@pytest.mark.proves("A-11")
async def test_a_network_that_others_find_is_there_for_a_part_of_a_round_in_which_nobody_is_reached(system):
    dead = [await add(system, f"http://host-{number}.invalid/feed") for number in range(2)]
    async with system.collector.working(grace_seconds=5):
        round_ = system.collector._pool.add([DueSource(one.id) for one in dead], others=[1_000])
        round_.record_of_others(VisitResult(source_id=1_000, name="elsewhere", type="rss"))
        await eventually(lambda: _all_recorded(round_))
        assert not round_.is_over, "the other one has more to say, or has to go"
        round_.close_others()
        await round_.wait()
    assert [result.excuse for result in round_.results] == [None] * 3
    assert [(await get(system, one)).fetch_error_count for one in dead] == [1, 1]


async def _all_recorded(round_):
    return len(round_.results) == len(round_.ids)


@pytest.mark.proves("A-11")
async def test_who_helps_at_the_end_of_a_round_knows_what_was_reached_before(system, site):
    near = await add(system, site.feed("1"))
    await system.store.write(sources.change, near.id, {"host": None}, now=START)
    dead = [await add(system, f"http://host-{number}.invalid/feed") for number in range(2)]
    begun = []
    async with system.collector.working(grace_seconds=5):
        first = await system.collector.collect_these([DueSource(near.id)], on_round=begun.append)
        due = [DueSource(one.id) for one in dead]
        await system.collector.collect_these(due, on_round=begun.append, follows=first)
    assert [result.excuse for round_ in begun for result in round_.results] == [None] * 3
    assert [(await get(system, one)).fetch_error_count for one in dead] == [1, 1]


@pytest.mark.proves("A-12")
async def test_a_stop_claims_nothing_more_however_much_is_claimed_ahead(system):
    pool = system.collector._pool
    for _ in range(1_000):
        pool._claimed.put_nowait(None)
    pool.halt()
    assert await pool._claim() == []


@pytest.mark.proves("R-15", "A-36")
async def test_what_a_dead_process_claimed_is_in_nobodys_flight(system, site, clock):
    source = await add(system, site.feed("1"))
    place = owner_name().rsplit(":", 2)[0]
    gone, until = f"{place}:{2**22 + 1}:dead", clock.now() + timedelta(minutes=1)
    await system.store.write(runs.claim_now, source.id, owner=gone, now=clock.now(), until=until)
    assert (await system.store.read(read_collector, OPERATOR, now=clock.now())).in_flight == 0


@pytest.mark.proves("R-15")
def test_in_flight_is_what_is_said_of_what_is_claimed():
    assert count_in_flight({"a": 6, "b": 1, "c": 3}, {"a": 2, "b": 9, "d": 5}) == 2 + 1 + 3


@on_both_stores
@pytest.mark.proves("R-15")
async def test_the_api_the_page_and_the_command_line_count_the_same(open_test_system, site, clock):
    async with open_test_system(api_key="the-service-key") as system:
        kept = [await add(system, site.feed(name, path=f"/{name}")) for name in ("a", "b", "c", "d")]
        await collect(system)
        for source, why in zip(kept, (PausedBy.ERROR, PausedBy.GONE, PausedBy.GONE), strict=False):
            values = {"is_active": False, "paused_by": why}
            await system.store.write(sources.change, source.id, values, now=clock.now())
        stats = asdict(await system.store.read(read_stats, OPERATOR, now=clock.now()))
        assert (stats["raw_items_24h"], stats["gone_sources"], stats["paused_by_error"]) == (4, 2, 1)
        transport = httpx.ASGITransport(create_app(system))
        async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
            headers = {"X-API-Key": "the-service-key"}
            asked = (await client.get("/api/collector/status", headers=headers)).json()
            assert asked["stats"] == json.loads(json.dumps(stats))
            assert (await client.get("/api/metrics")).json()["stats"] == asked["stats"]
