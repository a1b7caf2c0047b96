"""What another process on the same PostgreSQL does in the very moment between two steps of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import psycopg
import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.util import await_only

from catchment.domain.item import make_item
from catchment.domain.source import NewSource
from catchment.store import config, items, runs, sources
from catchment.store.database import store_url as as_store_url
from collecting import add, collect, get, stored
from source_factory import START

DAY = timedelta(days=1)


@pytest.fixture
def store_url(postgres_url: str) -> str:
    """SQLite has one writer, and nothing happens in between."""
    return postgres_url


@pytest.fixture
def other(postgres_url: str) -> Iterator[Engine]:
    """Another process, which waits for nobody for long."""
    engine = create_engine(as_store_url(postgres_url), connect_args={"options": "-c lock_timeout=500ms"})
    yield engine
    engine.dispose()


@pytest.mark.proves("A-26")
async def test_what_was_stored_just_before_a_claim_by_hand_is_known_to_it(open_test_system, site, monkeypatch):
    async with open_test_system() as daemon, open_test_system() as hand:
        source = await add(daemon, site.feed("a", "b"))
        claim = runs.claim_now

        async def visit():
            await (await daemon.collector.tick()).wait()

        def claim_after_a_visit(*args, **values):
            await_only(asyncio.ensure_future(visit()))
            return claim(*args, **values)

        async with daemon.collector.working(grace_seconds=5), hand.collector.working(grace_seconds=5):
            monkeypatch.setattr(runs, "claim_now", claim_after_a_visit)
            result = await hand.collector.collect_source(source.id)
        assert (result.error, result.inserted) == (None, 0)
        assert (await get(daemon, source)).fetch_count == 2
        assert len(await stored(daemon)) == 2


@pytest.mark.proves("A-37")
async def test_a_source_cannot_be_removed_between_a_look_at_it_and_its_new_time(
    system, site, clock, postgres_url, monkeypatch
):
    source = await add(system, site.feed("a"))
    await collect(system)
    await system.store.write(config.set_config, {"FETCH_INTERVAL_RSS": "60"}, now=clock.now())
    reschedule, refused = sources.reschedule, []

    def reschedule_while_it_is_removed(conn, checks):
        checks = list(checks)
        plain = postgres_url.replace("+psycopg", "")
        with psycopg.connect(plain, options="-c lock_timeout=200ms") as web:
            try:
                web.execute("UPDATE sources SET is_deleted = true, next_check_at = NULL WHERE id = %s", [source.id])
            except psycopg.errors.LockNotAvailable as error:
                refused.append(error)
        reschedule(conn, checks)

    monkeypatch.setattr(sources, "reschedule", reschedule_while_it_is_removed)
    await system.collector.due()
    assert refused, "it has to wait until the new time is stored, and then takes it away"


@pytest.mark.parametrize("is_changed", [False, True], ids=["as it was", "changed meanwhile"])
async def test_old_items_are_cleaned_away_while_a_visit_of_their_source_is_stored(store, other, is_changed):
    add_one = partial(sources.add, new=NewSource(name="S", type="rss", config={}, identity="1"), now=START)
    source = await store.write(add_one)
    await store.write(items.insert_new, [(source.id, make_item(native_id="1"))], now=START)
    if is_changed:
        await store.write(sources.change, source.id, {"name": "T"}, now=START)

    def commit_while_others_clean(conn):
        sources.get_for_commit(conn, [source])
        with other.begin() as cleaner:
            return items.delete_old(cleaner, now=START + 31 * DAY, keep=30 * DAY, limit=500)

    assert await store.write(commit_while_others_clean) == 1
