"""A store that is closed while somebody still uses it."""

from __future__ import annotations

import asyncio
import gc
import warnings

from sqlalchemy import Connection, text

from catchment.store.database import open_store
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
