"""Candidates: each is claimed once, by a run that holds its lease."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import inspect

from catchment.domain.candidate import Listed
from catchment.domain.run import RunKind
from catchment.store import candidates, runs
from catchment.store.database import open_store
from scripted_crawl import add_source
from source_factory import START

MINUTE = timedelta(minutes=1)


async def start(store, subject):
    return await store.write(runs.start, RunKind.SOURCE, subject, owner="a:1:x", now=START, until=START + MINUTE)


@pytest.fixture
async def source(store):
    source = await add_source(store, START)
    listed = [Listed(f"/{number}") for number in range(40)]
    await store.write(candidates.record_listed, source.id, listed, listing_id=None, now=START)
    return source


@pytest.mark.proves("B-02", "F-08")
async def test_what_a_run_claimed_is_nobody_elses_until_it_ends(store, source):
    first, second = await start(store, "1"), await start(store, "2")
    mine = await store.write(candidates.claim, source.id, first.id, limit=30, now=START)
    assert [one.listed.url for one in mine] == [f"/{number}" for number in range(30)]
    assert len(await store.write(candidates.claim, source.id, second.id, limit=30, now=START)) == 10
    assert await store.write(candidates.claim, source.id, first.id, limit=30, now=START) == []
    await store.write(runs.expire_owners, ["a:1:x"], now=START)
    third = await start(store, "3")
    assert len(await store.write(candidates.claim, source.id, third.id, limit=100, now=START)) == 40


@pytest.mark.proves("F-08")
async def test_racing_claims_over_several_stores_get_each_candidate_once(store, store_url, source):
    others = [open_store(store_url) for _ in range(4)]
    holders = [await start(store, str(number)) for number in range(4)]
    won = await asyncio.gather(
        *(
            other.write(candidates.claim, source.id, run.id, limit=10, now=START)
            for other, run in zip(others, holders, strict=True)
        )
    )
    urls = [one.listed.url for claimed in won for one in claimed]
    assert len(urls) == len(set(urls))
    for other in others:
        await other.close()


@pytest.mark.proves("F-08")
async def test_a_run_that_lost_its_lease_claims_nothing(store, source):
    late = await start(store, "1")
    await store.write(runs.expire_owners, ["a:1:x"], now=START)
    assert await store.write(candidates.claim, source.id, late.id, limit=10, now=START) == []


async def test_a_listing_that_names_one_twice_names_it_once(store, source):
    twice = [Listed("/twice", START), Listed("/twice", START)]
    judged = await store.write(candidates.record_listed, source.id, twice, listing_id=None, now=START)
    assert len(judged.new) == 1


@pytest.mark.proves("B-15")
async def test_states_and_last_sightings_are_indexed(store):
    def query(conn):
        return [tuple(index["column_names"]) for index in inspect(conn).get_indexes("candidates")]

    assert {("source_id", "state", "id"), ("source_id", "last_seen")} <= set(await store.read(query))
