"""Sources in the store: what is due, in which order, and what a store under load answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text
from sqlalchemy.dialects import sqlite

from catchment.domain.rhythm import Rhythm
from catchment.domain.source import Moved, NewSource, NextCheck, Why
from catchment.domain.visit import SourceState
from catchment.errors import Conflict
from catchment.store import config, runs, sources
from catchment.store.database import open_store
from catchment.store.types import UtcDateTime
from source_factory import START

HOUR = timedelta(hours=1)


def new_source(number, **values):
    return NewSource(**{"name": f"S{number}", "type": "rss", "config": {}, "identity": str(number), **values})


async def add_source(store, number, *, fetched=None, check=START, **values):
    source = await store.write(sources.add, new_source(number, **values), now=START - 100 * HOUR)
    return await store.write(sources.change, source.id, {"last_fetched_at": fetched, "next_check_at": check}, now=START)


def visited(source, at, **values):
    state = SourceState(
        last_fetched_at=at,
        last_attempt_at=at,
        fetch_count=source.fetch_count + 1,
        fetch_error_count=0,
        last_error=None,
        is_active=True,
        paused_by=None,
        next_check=NextCheck(at=at + HOUR, why=Why.INTERVAL),
        memory=source.memory,
        rhythm=source.rhythm,
        moved=source.moved,
    )
    return source, replace(state, **values)


async def due(store, now=START, limit=100):
    return [one.id for one in await store.read(sources.due, now=now, limit=limit, owner="me")]


@pytest.mark.proves("A-01", "A-37")
async def test_never_fetched_sources_come_first_then_the_longest_unfetched(store):
    recent = await add_source(store, 1, fetched=START - 2 * HOUR)
    oldest = await add_source(store, 2, fetched=START - 9 * HOUR)
    never = await add_source(store, 3)
    older = await add_source(store, 4, fetched=START - 5 * HOUR)
    assert await due(store) == [never.id, oldest.id, older.id, recent.id]
    assert await due(store, limit=2) == [never.id, oldest.id]


async def test_states_are_stored_whether_or_not_something_was_learnt(store):
    plain, taught = [await add_source(store, number) for number in range(2)]
    learnt = {
        "memory": {"etag": "1"},
        "rhythm": Rhythm(last_new_at=START, known=2),
        "moved": Moved(to="http://b/", times=1),
    }
    await store.write(sources.save_states, [visited(plain, START), visited(taught, START, **learnt)])
    once = await store.read(sources.get_many, [plain.id, taught.id])
    assert [(one.fetch_count, one.next_check.at) for one in once] == [(1, START + HOUR)] * 2
    assert [one.memory for one in once] == [{}, {"etag": "1"}]
    await store.write(sources.save_states, [visited(one, START + HOUR) for one in once])
    twice = await store.read(sources.get_many, [plain.id, taught.id])
    assert [(one.fetch_count, one.next_check.at) for one in twice] == [(2, START + 2 * HOUR)] * 2
    assert {name: getattr(twice[1], name) for name in learnt} == learnt


@pytest.mark.proves("A-37")
async def test_deleted_and_paused_sources_are_never_picked(store):
    paused = await add_source(store, 1, check=None)
    deleted = await add_source(store, 2)
    await store.write(sources.delete, deleted.id, now=START)
    assert paused.id not in await due(store)
    assert await due(store) == []


async def test_what_is_being_worked_on_is_not_due(store):
    source = await add_source(store, 1)
    await store.write(runs.claim_due, [source.id], owner="a:1:x", now=START, until=START + HOUR)
    assert await due(store) == []


@pytest.mark.proves("A-28")
async def test_looking_for_what_is_due_reads_the_index_of_due_sources(store):
    await add_source(store, 1)

    def explain(conn):
        compiled = sources._DUE.compile(conn)
        if conn.dialect.name == "sqlite":
            values = {**compiled.params, "now": START.isoformat(), "most": 10}
            plan = conn.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {compiled}", tuple(values[name] for name in compiled.positiontup)
            )
            return "\n".join(row[3] for row in plan)
        conn.execute(text("SET LOCAL enable_seqscan = off"))
        plan = conn.exec_driver_sql(f"EXPLAIN {compiled}", {**compiled.params, "now": START, "most": 10})
        return "\n".join(row[0] for row in plan)

    shown = await store.read(explain)
    assert "ix_sources_due" in shown
    assert "uq_runs_running" in shown


async def test_the_same_source_twice_in_the_same_hands_is_a_conflict_that_names_it(store):
    first = await store.write(sources.add, new_source(1), now=START)
    with pytest.raises(Conflict) as conflict:
        await store.write(sources.add, new_source(1, name="Other"), now=START)
    assert conflict.value.existing_id == first.id
    await store.write(sources.delete, first.id, now=START)
    assert (await store.write(sources.add, new_source(1), now=START)).id != first.id


async def test_a_store_under_load_from_several_doors_never_says_that_it_is_locked(store, store_url):
    others = [open_store(store_url) for _ in range(3)]

    async def write_some(door, start):
        for number in range(start, start + 25):
            await door.write(sources.add, new_source(number), now=START)
            await door.read(sources.due, now=START, limit=10, owner="me")

    await asyncio.gather(*(write_some(door, 1000 * n) for n, door in enumerate([store, *others])))
    assert len(await due(store, limit=1000)) == 100
    for door in others:
        await door.close()


async def test_a_write_that_fails_leaves_nothing_behind(store):
    def half(conn):
        config.set_config(conn, {"A": "1"}, now=START)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.write(half)
    assert await store.read(config.read_config) == {}


@pytest.mark.proves("A-24")
async def test_config_keys_are_the_same_whatever_their_case(store):
    await store.write(config.set_config, {"fetch_interval_rss": "5"}, now=START)
    await store.write(config.set_config, {"FETCH_INTERVAL_RSS": "6"}, now=START)
    assert await store.read(config.read_config) == {"FETCH_INTERVAL_RSS": "6"}
    assert await store.write(config.unset_config, "Fetch_Interval_Rss")
    assert await store.read(config.read_config) == {}


@given(one=st.datetimes(timezones=st.timezones()), other=st.datetimes(timezones=st.timezones()))
def test_a_moment_comes_back_as_the_same_moment_and_text_order_is_time_order(one, other):
    kind, dialect = UtcDateTime(), sqlite.dialect()
    store, read = kind.bind_processor(dialect), kind.result_processor(dialect, None)
    try:
        moments = [one.astimezone(UTC), other.astimezone(UTC)]
    except OverflowError:  # the first or last day of the calendar, in another zone
        return
    texts = [store(one), store(other)]
    assert [read(text) for text in texts] == moments
    assert (texts[0] < texts[1]) == (moments[0] < moments[1])


def test_a_naive_moment_cannot_be_stored():
    with pytest.raises(ValueError, match="naive"):
        UtcDateTime().bind_processor(sqlite.dialect())(datetime(2026, 3, 1))  # noqa: DTZ001
