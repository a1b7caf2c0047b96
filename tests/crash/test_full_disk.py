"""A disk that fills up under a real `catchment up`: it is told, and once there is room every item is there, once."""

from __future__ import annotations

import asyncio
import os
import re
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest
from aiohttp import web

from eventually import eventually
from feed_site import FeedSite, rss
from small_disk import SmallDisk, small_disk

pytestmark = pytest.mark.slow

FEEDS, ITEMS = 150, 10
KEY = "the-administrator"
#: Of what all items need, there is room for less than half.
BODY = "long " * 800
FREE = 4 << 20


@asynccontextmanager
async def up(disk: SmallDisk) -> AsyncIterator[httpx.AsyncClient]:
    """The real program, as a user starts it, and a client that may do everything."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "catchment.cli", "up", "--no-starter", "--port", "0",
        env={
            **os.environ,
            "CATCHMENT_HOME": str(disk.folder / "home"),
            "CATCHMENT_ALLOW_NETWORKS": "127.0.0.1",
            "COLLECTOR_TICK": "0.2",
            "ADMIN_API_KEY": KEY,
        },
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        while line := (await process.stdout.readline()).decode():
            if found := re.search(r"Catchment is at (http://\S+)", line):
                async with httpx.AsyncClient(base_url=found[1], headers={"X-API-Key": KEY}, timeout=30) as client:
                    yield client
                break
        else:
            pytest.fail("it did not start")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def stored(disk: SmallDisk) -> Counter[str]:
    with closing(sqlite3.connect(disk.folder / "home" / "catchment.sqlite3")) as conn:
        return Counter(url for (url,) in conn.execute("SELECT url FROM raw_items"))


async def follow_all(client: httpx.AsyncClient, site: FeedSite, begin: asyncio.Event) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        await begin.wait()
        names = [f"{request.path[1:]}-{number}" for number in range(ITEMS)]
        return web.Response(text=rss(*names, body=BODY), content_type="text/xml")

    for feed in range(FEEDS):
        url = site.script(answer, path=f"/{feed}")
        added = await client.post("/api/sources", json={"type": "rss", "config": {"url": url}, "name": f"feed {feed}"})
        assert added.status_code == 201, added.text


@pytest.mark.proves("R-25", "F-08")
@pytest.mark.parametrize("killed", [False, True], ids=["it goes on by itself", "killed while it is full"])
async def test_every_item_is_there_once_after_the_disk_was_full(tmp_path: Path, killed: bool) -> None:
    with small_disk(tmp_path / "disk", megabytes=64) as disk:
        async with FeedSite() as site:
            async with up(disk) as client:
                await eventually(lambda: is_ready(client))
                begin = asyncio.Event()
                await follow_all(client, site, begin)
                disk.fill_but(FREE)
                begin.set()
                await eventually(lambda: is_full(client))
                before = stored(disk)
                assert 0 < len(before) < FEEDS * ITEMS
                if not killed:
                    disk.make_room()
                    await eventually(lambda: is_whole(disk), look_seconds=0.2, deadline=120)
                    await eventually(lambda: is_ready(client))
                    await is_nobody_blamed(client)
            if killed:
                disk.make_room()
                async with up(disk) as client:
                    await eventually(lambda: is_whole(disk), look_seconds=0.2, deadline=120)
                    await is_nobody_blamed(client)
            assert set(stored(disk).values()) == {1}
            assert set(before) <= set(stored(disk))


async def is_ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/ready")).status_code == 200


async def is_full(client: httpx.AsyncClient) -> bool:
    ready, health = await client.get("/ready"), (await client.get("/health")).json()
    return ready.status_code == 503 and "disk is full" in ready.json()["reason"] and health["status"] == "unhealthy"


async def is_whole(disk: SmallDisk) -> bool:
    return len(stored(disk)) == FEEDS * ITEMS


async def is_nobody_blamed(client: httpx.AsyncClient) -> None:
    status = (await client.get("/api/collector/status")).json()
    assert {source["status"] for source in status["sources"]} == {"ok"}
    assert status["stats"]["errors_24h"] == 0
