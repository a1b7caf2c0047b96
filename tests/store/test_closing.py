"""A store that is closed while somebody still uses it, or that is left while it looks."""

from __future__ import annotations

import asyncio
import gc
import warnings

import anyio
import pytest
from sqlalchemy import Connection, text

from catchment.store.database import Store, open_store
from stores import on_both_stores


@on_both_stores
async def test_what_is_under_way_ends_and_leaves_no_connection_open(store_url):
    store, begun = open_store(store_url), asyncio.Event()
    loop = asyncio.get_running_loop()

    def look(conn: Connection) -> int:
        loop.call_soon_threadsafe(begun.set)
        return int(conn.execute(text("SELECT 7")).scalar_one())

    looking = asyncio.create_task(store.read(look))
    await begun.wait()
    await store.close()
    assert await looking == 7
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
