"""Group commit, when something in the group cannot be stored."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from catchment.domain.caller import OPERATOR
from catchment.domain.item import make_item
from catchment.domain.source import NewSource
from catchment.domain.visit import Collected, Fetched, Visit
from catchment.engine import commit as commit_module
from catchment.engine.commit import Committer, Rules, commit_visits
from catchment.engine.pool import _claim
from catchment.eventloop import background_tasks
from catchment.schedule.due import Cadence
from catchment.store import items, runs, sources
from catchment.store.items import ItemQuery
from source_factory import START

HOUR = timedelta(hours=1)


async def claimed(store, count):
    """Sources of their own, each claimed."""
    new = [NewSource(name=f"S{n}", type="rss", config={}, identity=str(n)) for n in range(count)]
    added = await store.write(sources.add_all, new, now=START)
    ids = [source.id for source in added]
    jobs, _ = await store.write(_claim, ids, {}, most=count, owner="a:1:x", now=START, until=START + HOUR)
    return [jobs[source_id] for source_id in ids]


def visit(job, item):
    run, source = job
    return Visit(run=run, source=source, ending=Collected(fetched=Fetched(items=(item,))))


RULES = Rules(
    cadence_of=lambda _: Cadence(interval=HOUR, probe_after=None),
    identity_of=lambda *_: "",
    is_crawled=lambda _: False,
)


async def commit(store, clock, visits):
    committer = Committer(store=store, rules=RULES, clock=clock)
    results = {}
    async with background_tasks(committer.run()):
        for one in visits:
            await committer.submit(one, lambda result: results.update({result.name: result}))
        await committer.drain()
    return results


@pytest.mark.proves("A-10")
async def test_what_a_plug_in_gave_that_is_no_json_fails_its_source_alone(store, clock):
    good, bad, fine = await claimed(store, 3)
    broken = make_item(native_id="1", metadata={"when": object()})
    results = await commit(
        store, clock, [visit(good, make_item(native_id="1")), visit(bad, broken), visit(fine, make_item(native_id="1"))]
    )
    assert [results[name].inserted for name in ("S0", "S1", "S2")] == [1, 0, 1]
    assert "cannot be stored" in results["S1"].error
    failed = await store.read(sources.get, bad[1].id)
    assert (failed.fetch_error_count, failed.fetch_count) == (1, 0)


@pytest.mark.proves("A-10", "A-26")
async def test_what_the_database_refuses_fails_its_source_alone(store, clock):
    good, bad = await claimed(store, 2)
    # As if the item had come in behind the engine's back: the unique index says no.
    await store.write(items.insert_new, [(bad[1].id, make_item(native_id="1"))], now=START)
    results = await commit(
        store, clock, [visit(good, make_item(native_id="1")), visit(bad, make_item(native_id="1", content="other"))]
    )
    assert results["S0"].inserted == 1
    assert "cannot be stored" in results["S1"].error
    assert len(await store.read(items.list_items, ItemQuery(caller=OPERATOR))) == 2


@pytest.mark.proves("A-28")
async def test_visits_that_fill_several_groups_wait_for_no_others_once_none_will_come(store, clock, monkeypatch):
    monkeypatch.setattr(commit_module, "MAX_AT_ONCE", 2)
    monkeypatch.setattr(commit_module, "GATHER_SECONDS", 3600.0)
    first, *others = [visit(job, make_item(native_id="1")) for job in await claimed(store, 3)]
    committer, results = Committer(store=store, rules=RULES, clock=clock), []
    async with asyncio.timeout(30), background_tasks(committer.run()):
        await committer.submit(first, results.append)
        await asyncio.sleep(0)  # by now it waits for others
        for one in others:
            await committer.submit(one, results.append)
        await committer.drain()
    assert [result.inserted for result in results] == [1, 1, 1]


@pytest.mark.proves("A-03")
async def test_a_visit_that_was_taken_over_stores_nothing_beside_that_of_its_successor(store):
    [(run, source)] = await claimed(store, 1)
    later = START + 2 * HOUR
    await store.write(runs.expire, now=later)
    again, _ = await store.write(_claim, [source.id], {}, most=1, owner="a:1:x", now=later, until=later + HOUR)
    [successor] = again.values()
    group = [visit(successor, make_item(native_id="new")), visit((run, source), make_item(native_id="late"))]
    results = await store.write(commit_visits, group, RULES, later)
    assert [(result.inserted, result.fenced) for result in results] == [(1, False), (0, True)]
    assert len(await store.read(items.list_items, ItemQuery(caller=OPERATOR))) == 1
    assert (await store.read(sources.get, source.id)).fetch_count == 1
