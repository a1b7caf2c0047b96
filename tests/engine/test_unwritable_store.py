"""A store that cannot be written: everybody is told, nothing is lost, nobody is blamed, and it goes on by itself."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import psycopg
import pytest
from sqlalchemy import text

from catchment.bootstrap import System, open_system
from catchment.cli.up import serve_and_collect
from catchment.domain.caller import OPERATOR
from catchment.errors import FullStore, ReadOnlyStore, StoreError
from catchment.monitor.status import View
from catchment.settings import Settings
from catchment.store import database
from catchment.store.database import WriteCheck, WriteTrouble, open_store, store_url
from catchment.web.app import create_app
from collecting import add, get, stored
from eventually import eventually
from small_disk import SmallDisk, fill_until_refused, small_disk
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@asynccontextmanager
async def system_on(disk: SmallDisk) -> AsyncIterator[System]:
    settings = Settings(home=disk.folder, allow_networks="127.0.0.1", timeout_seconds=5.0, api_key="the-service-key")
    async with open_system(settings) as system:
        yield system


@asynccontextmanager
async def client_of(system: System) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(system))
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        yield client


@pytest.mark.proves("R-25")
async def test_a_full_disk_loses_nothing_blames_nobody_and_is_got_over(disk, site):
    async with AsyncExitStack() as stack:
        system = await stack.enter_async_context(system_on(disk))
        client = await stack.enter_async_context(client_of(system))
        source = await add(system, site.feed("1", "2", body="long " * 2000))
        assert (await client.get("/ready")).status_code == 200
        disk.fill()
        await fill_until_refused(system.store)
        stop = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(_collect_until(system, stop))
            await _everybody_is_told(client, system)
            assert not await stored(system)
            disk.make_room()
            await eventually(lambda: stored(system))
            await eventually(lambda: _is_ready(client))
            stop.set()
        assert {item.url.rsplit("/", 1)[1] for item in await stored(system)} == {"1", "2"}
        source = await get(system, source)
        assert (source.fetch_error_count, source.last_error) == (0, None)
        assert (await client.get("/health")).json()["checks"]["store"] is True


async def _collect_until(system: System, stop: asyncio.Event) -> None:
    """Also the start has to wait for room."""
    while not stop.is_set():
        try:
            await system.collector.serve(stop, tick_seconds=0.05, grace_seconds=5)
        except StoreError:
            await asyncio.sleep(0.05)


async def _everybody_is_told(client: httpx.AsyncClient, system: System) -> None:
    ready = await client.get("/ready")
    assert ready.status_code == 503
    assert "disk is full" in ready.json()["reason"]
    health = (await client.get("/health")).json()
    assert (health["status"], health["checks"]["store"]) == ("unhealthy", False)
    assert "disk is full" in health["components"]["store"]["message"]
    assert health["metrics"] is not None, "it can still be read"
    assert "disk is full" in (await client.get("/", headers={"Accept-Language": "en"})).text
    assert "磁盘已满" in (await client.get("/", headers={"Accept-Language": "zh"})).text
    status = await client.get("/api/collector/status", headers={"X-API-Key": "the-service-key"})
    assert status.json()["store"] == {"writable": False, "trouble": "full"}
    assert (await _snapshot(system)).store.trouble is WriteTrouble.FULL


async def _snapshot(system: System):
    return await system.snapshot(View(caller=OPERATOR))


async def _is_ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/ready")).status_code == 200


@pytest.mark.proves("R-25")
async def test_a_disk_that_became_read_only_is_told_at_once(disk):
    async with system_on(disk) as system, client_of(system) as client:
        assert await _is_ready(client)
        await system.store.close()
        disk.set_read_only(read_only=True)
        try:
            reopened = open_store(system.settings.store_url())
            with pytest.raises(StoreError):
                await reopened.write(lambda conn: conn.execute(text("DELETE FROM config")))
            assert (await reopened.checked.trouble(system.clock.now())) is not None
            await reopened.close()
        finally:
            disk.set_read_only(read_only=False)


@pytest.mark.proves("R-25")
async def test_postgresql_that_takes_no_writes_is_told_and_blames_no_source(postgres_url, open_test_system, site):
    url = store_url(postgres_url)
    async with open_test_system(database_url=postgres_url) as system, client_of(system) as client:
        await add(system, site.feed("1"))
        _allow_writes(url, allowed=False)
        await system.store.close()
        ready = await client.get("/ready")
        assert ready.status_code == 503
        assert "read-only" in ready.json()["reason"]
        with pytest.raises(ReadOnlyStore):
            await system.store.write(lambda conn: conn.execute(text("DELETE FROM config")))
        _allow_writes(url, allowed=True)


@pytest.mark.proves("R-25")
async def test_a_start_on_a_store_that_takes_no_writes_ends_with_that_before_anybody_is_served(
    postgres_url, open_test_system, capsys
):
    url = store_url(postgres_url)
    async with open_test_system(database_url=postgres_url, port=0) as system:
        _allow_writes(url, allowed=False)
        await system.store.close()
        with pytest.raises(ReadOnlyStore):
            await serve_and_collect(system, asyncio.Event())
        _allow_writes(url, allowed=True)
    assert "Catchment is at" not in capsys.readouterr().out


def _allow_writes(url, *, allowed: bool) -> None:
    place = url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(place, autocommit=True) as conn:
        conn.execute("SET default_transaction_read_only = off")
        conn.execute(f"ALTER DATABASE {url.database} SET default_transaction_read_only = {'off' if allowed else 'on'}")


@on_both_stores
@pytest.mark.proves("R-25")
async def test_whether_it_can_be_written_is_looked_at_once_a_second_and_leaves_nothing(store, clock):
    now = [0.0]
    check = WriteCheck(store, monotonic=lambda: now[0])
    writes = []
    real = store.write

    async def write(*args, **kwargs):
        writes.append(args)
        return await real(*args, **kwargs)

    store.write = write
    for _ in range(50):
        assert await check.trouble(clock.now()) is None
    assert len(writes) == 1
    now[0] += 1.0
    assert await check.trouble(clock.now()) is None
    assert len(writes) == 2
    assert not (await store.read(lambda conn: conn.execute(text("SELECT * FROM jobs")).all()))


@pytest.mark.proves("R-25")
async def test_a_write_that_failed_is_told_until_a_while_passed_without(store, clock):
    """A look is small, and may find room where what has to be stored finds none."""
    now = [0.0]
    check = WriteCheck(store, monotonic=lambda: now[0])

    with pytest.raises(FullStore), check.watching():
        raise FullStore("no room")
    assert await check.trouble(clock.now()) is WriteTrouble.FULL
    now[0] += 4.9
    assert await check.trouble(clock.now()) is WriteTrouble.FULL
    now[0] += 0.2
    assert await check.trouble(clock.now()) is None


@pytest.mark.proves("R-19", "R-25")
async def test_a_long_transaction_neither_holds_up_the_look_nor_counts_as_trouble(store, clock):
    begun, over = threading.Event(), threading.Event()

    def long_transaction(conn):
        conn.execute(text("DELETE FROM jobs"))
        begun.set()
        over.wait(60)

    writing = asyncio.create_task(asyncio.to_thread(asyncio.run, _writing(store.url, long_transaction)))
    try:
        await asyncio.to_thread(begun.wait, 60)
        assert await WriteCheck(store).trouble(clock.now()) is None
        assert not writing.done()
    finally:
        over.set()
        await writing


@pytest.mark.proves("R-25")
async def test_a_store_that_another_program_holds_for_long_is_in_trouble_until_it_is_let_go(tmp_path, clock):
    now = [0.0]
    async with open_system(Settings(home=tmp_path)) as system:
        check = system.store.checked = WriteCheck(system.store, monotonic=lambda: now[0])
        with sqlite3.connect(tmp_path / "catchment.sqlite3", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            assert await check.trouble(clock.now()) is None
            now[0] += 9.9
            assert await check.trouble(clock.now()) is None
            now[0] += 0.1
            assert [await check.trouble(clock.now()) for _ in range(3)] == [WriteTrouble.HELD] * 3
            other.execute("ROLLBACK")
        await system.store.write(lambda conn: conn.execute(text("DELETE FROM jobs")))
        assert await check.trouble(clock.now()) is None
    other.close()


async def _writing(url, change):
    other = open_store(url.render_as_string(hide_password=False))
    try:
        await other.write(change)
    finally:
        await other.close()


@pytest.mark.proves("R-25")
async def test_a_store_that_another_program_holds_says_so_and_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0)
    async with open_system(Settings(home=tmp_path)) as system:
        with sqlite3.connect(tmp_path / "catchment.sqlite3", isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(
                StoreError, match=f"The store {tmp_path}/catchment.sqlite3 is locked: another program holds it"
            ):
                await system.store.write(lambda conn: conn.execute(text("UPDATE sources SET name = ''")))
            other.execute("ROLLBACK")
