"""A clock that jumped forward and back holds nothing for years, and health says that it jumped."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest

from catchment.domain.rhythm import Rhythm
from catchment.domain.source import PausedBy, Why
from catchment.engine.clock_monitor import ClockReading, jump_between
from catchment.engine.leases import recover
from catchment.jobs.builtin import CLEANUP
from catchment.store import runs, sources, tables
from catchment.web.app import create_app
from collecting import add, collect, get
from source_factory import START
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

YEARS = timedelta(days=3650)
HOUR = timedelta(hours=1)


async def health_of(system):
    transport = httpx.ASGITransport(create_app(system))
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        return (await client.get("/health")).json()


@on_both_stores
@pytest.mark.proves("R-16")
async def test_what_was_visited_while_the_clock_was_ahead_is_due_again_at_once(system, site, clock):
    source, failing = await add(system, site.feed("1")), await add(system, site.url("/none"))
    clock.jump(YEARS)
    await collect(system)
    assert (await get(system, source)).next_check.at > START + YEARS
    clock.jump(-YEARS)
    results = await collect(system)
    assert {result.source_id for result in results} == {source.id, failing.id}
    after = await get(system, source)
    assert (after.last_fetched_at, after.next_check.at) == (START, START + 4 * HOUR)
    assert (await get(system, failing)).next_check.at <= START + 24 * HOUR
    health = await health_of(system)
    assert health["components"]["clock"]["status"] == "degraded"
    assert "2 source(s)" in health["components"]["clock"]["message"]
    clock.advance(2 * HOUR)
    assert "clock" not in (await health_of(system))["components"]


@on_both_stores
@pytest.mark.proves("R-16")
async def test_a_collector_at_work_notices_both_jumps_by_itself(system, site, clock, log):
    source = await add(system, site.feed("1"))
    async with system.collector.working(grace_seconds=5):
        clock.jump(YEARS)
        await (await system.collector.tick()).wait()
        assert "forward by 3,650 days" in (await health_of(system))["components"]["clock"]["message"]
        clock.jump(-YEARS)
        round_ = await system.collector.tick()
        assert round_.ids == (source.id,)
        await round_.wait()
        assert "back by 3,650 days" in (await health_of(system))["components"]["clock"]["message"]
    assert (await get(system, source)).last_fetched_at == START
    assert any(line.startswith("WARNING The clock jumped back") for line in log)


@on_both_stores
@pytest.mark.proves("R-16")
async def test_a_clock_that_leapt_throws_nothing_away_before_it_has_kept_to_it_for_a_day(system, site, clock):
    """Neither a collector at work nor a job that comes before it has looked, nor a process that began afterwards."""
    await add(system, site.feed("1"))
    await collect(system)
    await system.cleaner.tidy(clock.now())
    clock.jump(YEARS)
    assert await system.cleaner.tidy(clock.now()) == 0
    clock.advance(23 * HOUR)
    assert await system.cleaner.tidy(clock.now()) == 0
    clock.jump(-YEARS - 23 * HOUR)
    assert await system.cleaner.tidy(clock.now()) == 0
    clock.advance(timedelta(days=29))
    assert await system.cleaner.tidy(clock.now()) == 0
    clock.jump(YEARS)
    assert await system.cleaner.tidy(clock.now()) == 0
    clock.advance(25 * HOUR)
    assert await system.cleaner.tidy(clock.now()) == 1


@pytest.mark.proves("R-16")
async def test_a_machine_that_sleeps_every_night_is_cleaned_all_the_same(open_test_system, site, clock):
    async with open_test_system(keep_days=4) as system:
        await add(system, site.feed("1"))
        await collect(system)
        await system.cleaner.tidy(clock.now())
        for _ in range(6):
            clock.advance(12 * HOUR)
            clock.jump(12 * HOUR)
            removed = await system.cleaner.tidy(clock.now())
            if removed:
                return
    pytest.fail("nothing was ever cleaned")


@pytest.mark.proves("R-16")
async def test_what_is_paused_stays_paused_and_time_that_passes_is_no_jump(system, site, clock, log):
    source = await add(system, site.feed("1"))
    clock.jump(YEARS)
    await collect(system)
    paused = {"is_active": False, "paused_by": PausedBy.PERSON, "next_check_at": None, "next_check_why": None}
    await system.store.write(sources.change, source.id, paused, now=clock.now())
    clock.jump(-YEARS)
    assert await collect(system) == []
    assert (await get(system, source)).next_check.at is None
    log.clear()
    async with system.collector.working(grace_seconds=5):
        clock.advance(timedelta(days=30))
        await (await system.collector.tick()).wait()
    assert not any("clock" in line for line in log)


@on_both_stores
@pytest.mark.proves("R-16")
async def test_what_was_put_off_while_the_clock_was_ahead_does_not_wait_for_it(system, site, clock):
    source = await add(system, site.feed("1"))
    late = {"next_check_at": START + YEARS, "next_check_why": Why.HOST_BUDGET}
    await system.store.write(sources.change, source.id, late, now=clock.now())
    assert len(await collect(system)) == 1


@pytest.mark.proves("R-16")
async def test_a_long_interval_is_no_jump(system, site, clock):
    source = await add(system, site.feed("1"), fetch_interval_minutes=525_600)
    await collect(system)
    assert await collect(system) == []
    assert (await get(system, source)).next_check.at == START + timedelta(days=365)


@pytest.mark.proves("R-16")
async def test_a_lease_of_the_future_runs_out_as_any_other(system, site, clock):
    source = await add(system, site.feed("1"))
    ahead = START + YEARS
    await system.store.write(
        runs.claim_now, source.id, owner="elsewhere:1:x", now=ahead, until=ahead + timedelta(minutes=1)
    )
    await recover(system.store, clock)
    assert await collect(system) == [], "whoever holds it may be alive"
    clock.advance(timedelta(minutes=1))
    assert len(await collect(system)) == 1


@pytest.mark.proves("R-16")
async def test_a_job_that_ran_while_the_clock_was_ahead_runs_again_in_its_time(system, clock):
    clock.jump(YEARS)
    await system.jobs.prepare()
    await system.jobs.look_after(CLEANUP)
    clock.jump(-YEARS)
    await system.jobs.follow()
    (state,) = [state for state in await system.jobs.list() if state.name == CLEANUP]
    assert state.due_at == START + HOUR


@pytest.mark.proves("R-16")
@pytest.mark.parametrize(
    ("wall", "elapsed", "jump"),
    [
        (60, 60, None),
        (60 + 299, 60, None),
        (-3600, 60, -3660),
        (86_400, 60, 86_340),
        (30 * 86_400, 30 * 86_400, None),
    ],
)
def test_a_jump_is_what_the_clock_says_beyond_the_time_that_passed(wall, elapsed, jump):
    after = ClockReading(at=START + timedelta(seconds=wall), elapsed=elapsed)
    found = jump_between(ClockReading(at=START, elapsed=0), after)
    assert found == (None if jump is None else timedelta(seconds=jump))


@pytest.mark.proves("R-16")
def test_a_source_is_not_hurried_for_years_by_a_gap_of_the_future():
    rhythm = Rhythm(squeeze=1, squeezed_at=START + YEARS)
    assert rhythm.squeezed(HOUR, START) == HOUR


@pytest.mark.proves("R-16")
async def test_a_host_waits_for_no_moment_that_a_clock_put_down_that_was_ahead(system, site, clock):
    found = [await add(system, site.feed("1")), await add(system, site.feed("2", path="/other"))]
    ahead = {"owner_until": START + YEARS, "held_until": START + YEARS, "booked_until": START + YEARS}
    await system.store.write(_set_hosts, owner="elsewhere:1:x", **ahead)
    await collect(system)
    [host] = await system.store.read(_hosts)
    lease = timedelta(seconds=system.settings.lease_seconds)
    assert (host.owner, host.owner_until) == ("elsewhere:1:x", START + lease), "whoever has it may be alive"
    assert (host.held_until, host.booked_until) == (None, None)
    clock.advance(lease)
    await collect(system)
    assert [(await get(system, source)).fetch_count for source in found] == [1, 1]


@on_both_stores
@pytest.mark.proves("R-16")
async def test_what_a_host_may_ask_for_is_heeded_after_a_jump_and_its_turns_are_given_anew(system, site, clock):
    for path in ("/one", "/other"):
        await add(system, site.feed("1", path=path))
    near = {"owner_until": START + timedelta(seconds=30), "held_until": START + 2 * HOUR}
    async with system.collector.working(grace_seconds=5):
        await system.store.write(_set_hosts, owner="elsewhere:1:x", booked_until=START + 2 * HOUR, **near)
        clock.jump(-HOUR / 2)
        await (await system.collector.tick()).wait()
    [host] = await system.store.read(_hosts)
    assert (host.held_until, host.booked_until) == (START + 2 * HOUR, None)


def _set_hosts(conn, **values):
    conn.execute(tables.hosts.update().values(**values))


def _hosts(conn):
    return conn.execute(tables.hosts.select()).all()


@pytest.mark.proves("R-16")
async def test_a_host_is_not_left_alone_until_a_moment_that_was_noted_by_a_clock_ahead(system, site, clock):
    await add(system, site.serve("", path="/busy", status=429, headers={"Retry-After": "600"}))
    clock.jump(YEARS)
    await collect(system)
    assert system.http.held_until("127.0.0.1") == START + YEARS + timedelta(minutes=10)
    clock.jump(-YEARS)
    assert system.http.held_until("127.0.0.1") is None
