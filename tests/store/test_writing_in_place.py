"""SQLite as a process has it that serves nobody: transactions hold up its loop, but to wait for others does not."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Connection, text

from catchment.errors import StoreError
from catchment.store import database, jobs
from catchment.store.database import SqliteStoreInPlace, Store
from eventually import eventually
from source_factory import START
from stores import IN_PLACE

pytestmark = [pytest.mark.stores(IN_PLACE), pytest.mark.proves("F-04", "S-01")]


@pytest.fixture
async def other(store: Store) -> AsyncIterator[sqlite3.Connection]:
    """Another program that writes."""
    other = sqlite3.connect(str(store.url.database), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def put_down(conn: Connection, name: str) -> None:
    jobs.ensure(conn, name, due_at=START)


def count(conn: Connection) -> int:
    return int(conn.execute(text("SELECT count(*) FROM jobs WHERE name LIKE 'mine%'")).scalar_one())


async def test_who_waits_for_another_writer_holds_up_nobody_and_comes_next(store: Store, other: sqlite3.Connection):
    assert isinstance(store, SqliteStoreInPlace)
    writing = [asyncio.create_task(store.write(put_down, f"mine {number}")) for number in range(3)]
    assert await store.read(count) == 0, "reading waits for nobody"
    other.execute("COMMIT")
    await asyncio.gather(*writing)
    assert await store.read(count) == 3


async def test_a_store_that_stays_locked_is_told_of(
    store: Store, other: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.0)
    with pytest.raises(StoreError, match="is locked: another program holds it"):
        await store.write(put_down, "mine")
    other.execute("COMMIT")
    await store.write(put_down, "mine")
    assert await store.read(count) == 1


async def test_what_fails_leaves_nothing_and_the_next_one_is_well(store: Store):
    def fail(conn: Connection) -> None:
        put_down(conn, "mine")
        raise LookupError

    with pytest.raises(LookupError):
        await store.write(fail)
    assert await store.read(count) == 0
    await store.write(put_down, "mine")
    assert await store.read(count) == 1


async def test_who_leaves_while_the_lock_is_held_takes_no_turn_with_it(store: Store, other: sqlite3.Connection):
    first = asyncio.create_task(store.write(put_down, "mine first"))
    second = asyncio.create_task(store.write(put_down, "mine second"))
    await asyncio.sleep(0)
    first.cancel()
    other.execute("COMMIT")
    await second
    assert await eventually(lambda: store.read(count)) == 1
