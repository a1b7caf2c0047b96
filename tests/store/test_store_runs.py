"""Leases: one claim per subject, extended by heartbeats, fenced once lost."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import make_url

from catchment.domain.run import RunKind, RunStatus
from catchment.domain.source import NewSource
from catchment.store import runs, sources
from catchment.store.database import migration_engine, open_store
from source_factory import START

MINUTE = timedelta(minutes=1)


async def add_source(store, number=1):
    new = NewSource(name=f"S{number}", type="rss", config={}, identity=str(number))
    return await store.write(sources.add, new, now=START)


async def claim(store, ids, owner="a:1:x", now=START):
    return await store.write(runs.claim_due, ids, owner=owner, now=now, until=now + MINUTE)


@pytest.mark.proves("F-08")
async def test_of_many_claims_at_once_exactly_one_wins(store):
    source = await add_source(store)
    claims = await asyncio.gather(*(claim(store, [source.id], owner=f"a:{n}:x") for n in range(50)))
    assert sum(len(won) for won in claims) == 1


@pytest.mark.proves("F-08")
async def test_racing_claims_over_several_stores_get_each_source_once(store, store_url):
    ids = [(await add_source(store, n)).id for n in range(40)]
    others = [open_store(store_url) for _ in range(4)]
    won = await asyncio.gather(*(claim(other, ids, owner=f"a:{n}:x") for n, other in enumerate(others)))
    claimed = [run.subject for runs_ in won for run in runs_]
    assert sorted(claimed, key=int) == [str(one) for one in ids]
    for other in others:
        await other.close()


async def test_a_claim_of_some_takes_the_most_urgent_of_them(store):
    late, never, early = [await add_source(store, number) for number in range(3)]
    for source, ago in ((late, MINUTE), (early, 2 * MINUTE)):
        await store.write(sources.change, source.id, {"last_fetched_at": START - ago}, now=START)
    everybody = [late.id, never.id, early.id]

    async def claim_some(most):
        claimed = await store.write(
            runs.claim_due, everybody, most=most, owner="a:1:x", now=START, until=START + MINUTE
        )
        return {int(run.subject) for run in claimed}

    assert await claim_some(2) == {never.id, early.id}
    assert await claim_some(2) == {late.id}
    assert await claim_some(2) == set()


def test_who_claims_while_another_does_takes_others_and_waits_for_nobody(postgres_url):
    engine = migration_engine(make_url(postgres_url))
    with engine.begin() as conn:
        new = [NewSource(name=f"S{n}", type="rss", config={}, identity=str(n)) for n in range(4)]
        everybody = [source.id for source in sources.add_all(conn, new, now=START)]

    def claim_two(conn, owner):
        conn.exec_driver_sql("SET LOCAL lock_timeout = '5s'")
        claimed = runs.claim_due(conn, everybody, most=2, owner=owner, now=START, until=START + MINUTE)
        return [int(run.subject) for run in claimed]

    with engine.begin() as one, engine.begin() as other:
        mine, yours = claim_two(one, "a:1:x"), claim_two(other, "a:2:x")
    engine.dispose()
    assert (sorted(mine), sorted(yours)) == (everybody[:2], everybody[2:])


async def test_a_subject_of_any_kind_is_claimed_once_until_finished(store):
    async def start():
        return await store.write(runs.start, RunKind.COLLECTOR, "c", owner="a:1:x", now=START, until=START + MINUTE)

    first = await start()
    assert await start() is None
    assert await store.write(runs.finish, [first.id], status=RunStatus.COMPLETED, now=START) == {first.id}
    second = await start()
    assert second.id > first.id


@pytest.mark.proves("F-08")
async def test_an_expired_run_can_be_taken_over_and_its_late_finisher_is_fenced(store):
    source = await add_source(store)
    [late] = await claim(store, [source.id], owner="a:1:x")
    after = START + MINUTE
    assert [run.id for run in await store.write(runs.expire, now=after)] == [late.id]
    [successor] = await claim(store, [source.id], owner="a:2:x", now=after)
    finished = await store.write(runs.finish, [late.id, successor.id], status=RunStatus.COMPLETED, now=after)
    assert finished == {successor.id}


@pytest.mark.proves("F-08")
async def test_a_heartbeat_keeps_the_lease_but_does_not_bring_back_one_that_ran_out(store):
    source = await add_source(store)
    await claim(store, [source.id])
    half = START + MINUTE / 2
    await store.write(runs.heartbeat, owner="a:1:x", now=half, until=half + MINUTE)
    assert not await store.read(runs.has_expired, now=START + MINUTE)
    dead = half + MINUTE
    await store.write(runs.heartbeat, owner="a:1:x", now=dead, until=dead + MINUTE)
    assert await store.read(runs.has_expired, now=dead)


async def test_a_claim_takes_only_what_is_due_and_not_deleted(store):
    due, later, gone = [await add_source(store, n) for n in range(3)]
    await store.write(sources.change, later.id, {"next_check_at": START + MINUTE}, now=START)
    await store.write(sources.delete, gone.id, now=START)
    assert [run.subject for run in await claim(store, [due.id, later.id, gone.id])] == [str(due.id)]


async def test_ids_of_runs_are_never_used_again(store):
    source = await add_source(store)
    [first] = await claim(store, [source.id])
    await store.write(runs.finish, [first.id], status=RunStatus.COMPLETED, now=START)
    await store.write(runs.purge, finished_before=START + MINUTE, limit=10)
    [second] = await claim(store, [source.id])
    assert second.id > first.id
