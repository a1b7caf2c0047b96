"""A store that is closed while somebody still uses it, by us or by its server, or that is left while it looks."""

from __future__ import annotations

import asyncio
import gc
import warnings

import anyio
import pytest
from sqlalchemy import Connection, make_url, text

from catchment.errors import StoreError
from catchment.store.database import Store, migration_engine, open_store
from stores import on_both_stores


@on_both_stores
async def test_what_is_under_way_ends_and_leaves_no_connection_open(store_url):
    store, begun, seen = open_store(store_url), asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def look(conn: Connection) -> None:
        loop.call_soon_threadsafe(begun.set)
        seen.append(conn.execute(text("SELECT 7")).scalar_one())

    looking = asyncio.create_task(store.read(look))
    await begun.wait()
    await store.close()
    assert seen == [7], "whoever closes the store may end the loop next"
    await looking
    del store, looking
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        gc.collect()
    assert not warned


def look_again(conn: Connection) -> int:
    return int(conn.execute(text("SELECT 7")).scalar_one())


@pytest.mark.stores("postgres")
async def test_who_leaves_at_any_moment_breaks_nothing(store: Store):
    """As a server does it whose client leaves a stream: whatever is waited for meanwhile is cancelled as well."""
    await store.read(look_again)
    for steps in range(40):
        async with anyio.create_task_group() as group:
            group.start_soon(store.read, look_again)
            for _ in range(steps):
                await asyncio.sleep(0)
            group.cancel_scope.cancel()
    assert await store.read(look_again) == 7


@pytest.mark.proves("F-04")
async def test_a_transaction_that_the_server_ended_is_a_failure_of_the_store_and_the_next_one_is_well(postgres_url):
    """As of a worker that was stopped in the middle of one: it is to complain and go on, not to end."""
    store, watching = open_store(postgres_url), migration_engine(make_url(postgres_url))

    def hang(conn: Connection) -> None:
        pid = conn.execute(text("SELECT pg_backend_pid()")).scalar_one()
        conn.execute(text("SET LOCAL idle_in_transaction_session_timeout = 1"))
        is_there = text("SELECT count(*) FROM pg_stat_activity WHERE pid = :pid")
        with watching.connect().execution_options(isolation_level="AUTOCOMMIT") as outside:
            while outside.execute(is_there, {"pid": pid}).scalar_one():
                pass
        conn.execute(text("SELECT 1"))

    try:
        with pytest.raises(StoreError, match="failed"):
            await store.write(hang)
        assert await store.write(lambda conn: conn.execute(text("SELECT 7")).scalar_one()) == 7
    finally:
        watching.dispose()
        await store.close()
