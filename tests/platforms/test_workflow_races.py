"""Fifty processes at once: one gets the lock, each record goes to one of them, and what the dead held is taken over."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from datetime import timedelta

import psycopg
import pytest
from racing import ROUNDS, claim_records, racing, take_the_lock
from sqlalchemy import Connection, func, text

from catchment.clock import ManualClock, SystemClock
from catchment.domain.note import Action
from catchment.errors import LeaseLost
from catchment.platforms.workflow import Workflow
from catchment.sources.platforms.search import item_of
from catchment.store import executions
from catchment.store.candidates import claimable, claiming
from catchment.store.database import open_store
from crawl_notes import LOCK_TIMEOUT, add_keyword, crawled, listed, note
from eventually import eventually

#: Locks a record, says so, and waits to be killed.
HOLDER = """
import asyncio, sys
from catchment.clock import SystemClock
from catchment.platforms.workflow import Workflow
from catchment.store.database import open_store
from datetime import timedelta

async def hold():
    workflow = Workflow(store=open_store(sys.argv[1]), clock=SystemClock(), lock_timeout=timedelta(minutes=30))
    begun = await workflow.acquire("media_crawler")
    claimed = await workflow.claim(begun.execution_id, limit=1)
    print(begun.execution_id, claimed[0].id, flush=True)
    await asyncio.Event().wait()

asyncio.run(hold())
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.proves("E-03")
def test_of_fifty_processes_exactly_one_gets_the_lock_round_after_round(store, store_url):
    with racing(store_url, take_the_lock) as race:
        for _ in range(ROUNDS):
            locked = [answer for answer in race.round() if answer is not None]
            assert len(locked) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.proves("E-04")
async def test_fifty_processes_that_race_for_records_get_each_of_them_once(store, store_url, clock):
    source = await add_keyword(store, clock, "coffee")
    reporter = Workflow(store=store, clock=SystemClock(), lock_timeout=LOCK_TIMEOUT)
    begun = await reporter.acquire("reporter")
    with racing(store_url, claim_records) as race:
        for round_ in range(ROUNDS):
            numbers = range(round_ * 200, round_ * 200 + 200)
            await reporter.report(begun.execution_id, source.id, listed(*numbers))
            won = Counter(record for answer in race.round() for record in answer)
            assert set(won.values()) == {1}, "no record went to two"
            assert len(won) == 200, "none was left lying, as fifty may take five hundred"
            await store.write(lambda conn: conn.execute(text("UPDATE candidates SET state = 1")))


@pytest.fixture
async def postgres(postgres_url):
    store = open_store(postgres_url)
    yield store
    await store.close()


@pytest.mark.proves("E-04")
async def test_a_record_claimed_while_another_claim_was_under_way_is_not_claimed_again(postgres, postgres_url, clock):
    """PostgreSQL shows a statement the executions of the moment it began, and a record as it is when it is locked."""
    source = await add_keyword(postgres, clock, "coffee")
    workflow = Workflow(store=postgres, clock=clock, lock_timeout=LOCK_TIMEOUT)
    slow = await workflow.acquire("slow")
    await workflow.report(slow.execution_id, source.id, listed(1))
    claim_slowly = claiming(claimable(func.pg_advisory_xact_lock_shared(1).is_not(None)))

    def claim(conn: Connection) -> list[int]:
        run = executions.running(conn, slow.execution_id)
        rows = conn.execute(claim_slowly, {"run": run.id, "most": 10, "now": clock.now()})
        return [row.id for row in rows]

    def waits(conn: Connection) -> bool:
        return conn.execute(text("SELECT count(*) FROM pg_locks WHERE NOT granted")).scalar_one() == 1

    with psycopg.connect(postgres_url.replace("+psycopg", "")) as gate:
        gate.execute("SELECT pg_advisory_xact_lock(1)")
        under_way = asyncio.create_task(postgres.write(claim))
        await eventually(lambda: postgres.read(waits))
        quick = await workflow.acquire("quick")
        assert len(await workflow.claim(quick.execution_id, limit=10)) == 1
    assert await under_way == [], "it stays with whoever came first"
    written = await workflow.write(quick.execution_id, crawled(1), item_of(note(1)))
    assert written.action is Action.CREATED


@pytest.mark.proves("E-05")
async def test_what_a_killed_process_had_locked_is_taken_over_and_stays_with_whoever_took_it(store, store_url, clock):
    source = await add_keyword(store, clock, "coffee")
    reporter = Workflow(store=store, clock=SystemClock(), lock_timeout=LOCK_TIMEOUT)
    begun = await reporter.acquire("reporter")
    await reporter.report(begun.execution_id, source.id, listed(1))
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, store_url, stdout=asyncio.subprocess.PIPE
    )
    assert holder.stdout is not None
    killed, record = (await holder.stdout.readline()).decode().split()
    holder.kill()
    await holder.wait()
    now = SystemClock().now()
    later = ManualClock(now + timedelta(minutes=29))
    successor = Workflow(store=store, clock=later, lock_timeout=LOCK_TIMEOUT)
    assert (await successor.recover()).records == 0, "not yet: it may only be slow"
    later.advance(timedelta(minutes=2))
    recovered = await successor.recover()
    assert (recovered.executions, recovered.records) == (2, 1), "the killed one, and the reporter that also fell silent"
    taken = await successor.acquire("media_crawler")
    (same,) = await successor.claim(taken.execution_id, limit=10)
    assert (same.id, same.attempts) == (int(record), 1)
    with pytest.raises(LeaseLost):
        await successor.write(killed, crawled(1), item_of(note(1)))
    written = await successor.write(taken.execution_id, crawled(1), item_of(note(1)))
    assert written.action is Action.CREATED
