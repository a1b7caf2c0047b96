"""Jobs: once for all processes on one store, never beside themselves, and a failure stops nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from catchment.domain.run import COLLECTOR_TICK, SCRAPER_JOB, RunKind
from catchment.engine.leases import LeasePolicy, owner_name
from catchment.errors import Conflict, NotFound
from catchment.jobs.builtin import ALERTS, BACKUP, CLEANUP, LOCK_RECOVERY, OUTBOX, RECOVERY, SEARCH
from catchment.jobs.scheduler import Job, JobScheduler, at_once, every
from catchment.schedule.jobs import Timers
from catchment.store import jobs, runs
from collecting import add, collect
from feed_site import FeedSite
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

HOUR = timedelta(hours=1)


class Work:
    """A job's work: counted, and held up or failing when a test says so."""

    def __init__(self):
        self.runs = 0
        self.error = None
        self.entered = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self):
        self.runs += 1
        self.entered.set()
        await self.gate.wait()
        if self.error:
            raise self.error
        return f"run {self.runs}"


@pytest.fixture
def work():
    return Work()


@pytest.fixture
def scheduler_of(store, clock, work):
    """Another process, as far as the store can tell."""

    def make(**changes):
        job = Job(**{"name": "tidy", "work": work, "first": at_once, "next_after": every(HOUR), **changes})
        leases = LeasePolicy(owner=owner_name(), duration=timedelta(seconds=60))
        return JobScheduler(store=store, clock=clock, leases=leases, timers=Timers(clock), jobs=[job])

    return make


@on_both_stores
@pytest.mark.proves("D-15")
async def test_of_two_processes_one_runs_a_job_once_per_interval(scheduler_of, clock, work):
    schedulers = [scheduler_of(), scheduler_of()]
    for scheduler in schedulers:
        await scheduler.prepare()
    for expected in (1, 2, 3):
        await asyncio.gather(*(scheduler.look_after("tidy") for scheduler in schedulers * 5))
        assert work.runs == expected
        clock.advance(HOUR)


@pytest.mark.proves("D-08")
async def test_a_run_that_takes_longer_than_its_interval_is_not_joined_by_another(scheduler_of, clock, work, log):
    one, other = scheduler_of(), scheduler_of()
    await one.prepare()
    work.gate.clear()
    first = asyncio.create_task(one.look_after("tidy"))
    await work.entered.wait()
    clock.advance(timedelta(seconds=30))
    with pytest.raises(Conflict):
        await other.run_now("tidy")
    work.gate.set()
    await first
    assert work.runs == 1


@pytest.mark.proves("D-14")
async def test_a_run_that_fails_is_recorded_and_does_not_stop_the_next(scheduler_of, clock, work, store):
    scheduler = scheduler_of()
    await scheduler.prepare()
    work.error = RuntimeError("password=hunter2 was wrong")
    await scheduler.look_after("tidy")
    failed = await store.read(jobs.get, "tidy")
    assert failed.last_ok is False
    assert "hunter2" not in failed.last_message
    work.error = None
    clock.advance(HOUR)
    await scheduler.look_after("tidy")
    state = await store.read(jobs.get, "tidy")
    assert (state.last_ok, state.last_message, state.runs) == (True, "run 2", 2)


async def test_a_paused_job_waits_in_every_process_until_it_is_resumed(scheduler_of, clock, work):
    one, other = scheduler_of(), scheduler_of()
    await one.prepare()
    await one.set_paused("tidy", is_paused=True)
    await other.look_after("tidy")
    assert work.runs == 0
    await other.set_paused("tidy", is_paused=False)
    await one.look_after("tidy")
    assert work.runs == 1


async def test_what_one_process_changes_sets_the_alarms_of_the_other(scheduler_of, clock, store):
    one, other = scheduler_of(), scheduler_of()
    await one.prepare()
    wanted = clock.now() + 5 * HOUR
    other.timers.start(lambda _: None)
    try:
        await store.write(jobs.set_due, "tidy", wanted)
        await other.follow()
        assert other.timers.at("tidy") == wanted
        await one.set_paused("tidy", is_paused=True)
        await other.follow()
        assert other.timers.at("tidy") is None
    finally:
        other.timers.stop()


async def test_an_alarm_that_rings_has_the_job_run(scheduler_of, work):
    scheduler, stop = scheduler_of(), asyncio.Event()
    keeping = asyncio.create_task(scheduler.keep(stop))
    async with asyncio.timeout(20):
        await work.entered.wait()
    stop.set()
    await keeping
    assert work.runs == 1


async def test_a_job_that_is_cut_off_by_a_stop_gives_back_its_lease(scheduler_of, work, store):
    scheduler, stop = scheduler_of(), asyncio.Event()
    work.gate.clear()
    keeping = asyncio.create_task(scheduler.keep(stop))
    async with asyncio.timeout(20):
        await work.entered.wait()
    stop.set()
    await keeping
    assert await store.read(runs.list_running, RunKind.JOB) == []


async def test_a_job_that_nobody_knows_is_named_with_those_there_are(scheduler_of):
    with pytest.raises(NotFound, match="tidy"):
        await scheduler_of().run_now("nothing")


async def test_the_system_lists_all_it_does_by_itself(system):
    await system.jobs.prepare()
    assert {state.name for state in await system.jobs.list()} == {
        COLLECTOR_TICK,
        CLEANUP,
        RECOVERY,
        LOCK_RECOVERY,
        OUTBOX,
        ALERTS,
        BACKUP,
        SCRAPER_JOB,
        SEARCH,
    }


async def test_a_paused_collector_tick_collects_nothing_until_it_is_resumed(system):
    await system.jobs.prepare()
    async with FeedSite() as site:
        await add(system, site.feed("a"))
        await system.jobs.set_paused(COLLECTOR_TICK, is_paused=True)
        assert await collect(system) == []
        await system.jobs.set_paused(COLLECTOR_TICK, is_paused=False)
        assert len(await collect(system)) == 1


@pytest.mark.proves("A-21")
async def test_cleaning_is_a_job_that_runs_at_most_once_an_hour(open_test_system, clock):
    async with open_test_system(keep_days=30) as system, FeedSite() as site:
        await system.jobs.prepare()
        await add(system, site.feed("a"))
        await collect(system)
        clock.advance(timedelta(days=31))
        await system.jobs.look_after(CLEANUP)
        state = await system.store.read(jobs.get, CLEANUP)
        assert (state.last_message, state.due_at) == ("1 item(s) cleaned", clock.now() + HOUR)


async def test_a_process_that_does_not_collect_says_so_when_it_is_asked_to_tick(system):
    await system.jobs.prepare()
    async with FeedSite() as site:
        await add(system, site.feed("a"))
        await system.jobs.run_now(COLLECTOR_TICK)
        await asyncio.gather(*system.jobs._running)
        state = await system.store.read(jobs.get, COLLECTOR_TICK)
        assert "does not collect" in state.last_message
        assert site.hits["/feed"] == 0


@pytest.mark.proves("E-19", "C-43", "D-14")
async def test_settings_that_shorten_an_interval_count_from_the_next_start(open_test_system, clock):
    async def due(**settings):
        async with open_test_system(**settings) as system:
            await system.jobs.prepare()
            for name in (LOCK_RECOVERY, SCRAPER_JOB):
                await system.jobs.look_after(name)
            return {state.name: state.due_at - clock.now() for state in await system.jobs.list() if state.due_at}

    before = await due(recovery_interval_minutes=1440, scraper_interval=604_800)
    assert (before[LOCK_RECOVERY], before[SCRAPER_JOB]) == (timedelta(days=1), timedelta(days=7))
    after = await due(recovery_interval_minutes=5, scraper_interval=300)
    assert (after[LOCK_RECOVERY], after[SCRAPER_JOB]) == (timedelta(minutes=5), timedelta(minutes=5))
    by_cron = await due(scraper_cron="1 * * * *")
    assert by_cron[SCRAPER_JOB] == timedelta(minutes=1)


@pytest.mark.proves("C-41")
async def test_what_an_administrator_set_is_not_pulled_by_the_settings(open_test_system, clock):
    async with open_test_system() as system:
        await system.scraper_schedule.set_interval(604_800, by="ada")
    async with open_test_system(scraper_interval=300) as system:
        await system.jobs.prepare()
        assert (await system.scraper_schedule.show()).interval_seconds == 604_800
        (state,) = [state for state in await system.jobs.list() if state.name == SCRAPER_JOB]
        assert state.due_at == clock.now() + timedelta(days=7)
