"""kill -9 at any moment: nothing is lost, nothing comes twice, no source stays stuck."""

from __future__ import annotations

import asyncio
import os
import random
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psutil
import pytest
from sqlalchemy import Connection, func, select, update

from catchment.bootstrap import open_system
from catchment.cli.collector_processes import MANY_DUE
from catchment.domain.caller import OPERATOR
from catchment.domain.run import RunKind
from catchment.manage.catalog import Draft
from catchment.settings import Settings
from catchment.simulator.faults import SiteTrouble, late
from catchment.simulator.server import NETWORKS, SimulatedWeb
from catchment.simulator.world import World
from catchment.store import runs
from catchment.store.tables import raw_items, sources
from source_factory import START

SITES = 150
#: Enough to be collected by processes of their own.
MANY_SITES = MANY_DUE + 40
ITEMS = 12
LOOK_SECONDS = 0.002


@asynccontextmanager
async def slow_world(sites: int, *, hosts: int = 0) -> AsyncIterator[SimulatedWeb]:
    """A world that stands still, each of whose sites takes a moment to answer, so that there is time to kill."""
    world = World(seed=7, sites=sites, started_at=START, speed=0, window=ITEMS)
    dawdling = {site: [SiteTrouble(fault=late(0.1))] for site in range(len(world.sites))}
    async with SimulatedWeb(world, hosts=hosts, now=lambda: START, troubles=dawdling) as web:
        yield web


@asynccontextmanager
async def collector(database_url: str, networks: str, **settings: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The real program, as a user starts it."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "catchment.cli", "collect", "--loop",
        env={
            **os.environ,
            "DATABASE_URL": database_url,
            "CATCHMENT_ALLOW_NETWORKS": networks,
            "COLLECTOR_TICK": "0.1",
            **settings,
        },
        stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def reaches(web: SimulatedWeb, hits: int, process: asyncio.subprocess.Process) -> None:
    """Wait until the world was asked that often, or the collector has nothing more to ask."""
    idle_since, seen = 0, web.hits.of("/s")
    while web.hits.of("/s") < hits and idle_since < 1000:
        assert process.returncode is None, "the collector ended by itself"
        await asyncio.sleep(LOOK_SECONDS)
        idle_since = idle_since + 1 if web.hits.of("/s") == seen else 0
        seen = web.hits.of("/s")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.proves("F-08", "A-26", "A-42")
async def test_kill_at_random_moments_loses_nothing_and_doubles_nothing(store_url):
    kills = 4 if os.environ.get("SLOW") == "short" else 30
    chance = random.Random(20260301)
    networks = ",".join(map(str, NETWORKS))
    settings = Settings(database_url=store_url, allow_networks=networks)
    async with slow_world(SITES if kills > 5 else SITES // 3) as web:
        await add_all(settings, web)
        for _ in range(kills):
            async with collector(store_url, networks) as process:
                # Within the first answers after a start, wherever that is in claim, fetch, parse or commit.
                await reaches(web, web.hits.of("/s") + chance.randint(1, 20), process)
                await asyncio.sleep(chance.random() * 0.3)
                process.kill()
        await assert_that_nothing_is_lost(settings, web)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.proves("F-08", "A-26", "S-01")
async def test_kill_of_any_process_of_a_collector_loses_nothing_and_doubles_nothing(store_url):
    kills = 6 if os.environ.get("SLOW") == "short" else 40
    chance = random.Random(20261119)
    networks = ",".join(map(str, NETWORKS))
    settings = Settings(database_url=store_url, allow_networks=networks)
    killed: Counter[str] = Counter()
    async with slow_world(MANY_SITES, hosts=MANY_SITES) as web:
        await add_all(settings, web)
        for _ in range(kills):
            async with open_system(settings) as system:
                await system.store.write(make_all_due)
            async with collector(store_url, networks, COLLECTOR_CONCURRENCY="30", COLLECTOR_PROCESSES="3") as process:
                await reaches(web, web.hits.of("/s") + chance.randint(1, MANY_SITES // 2), process)
                kind, victim = chance.choice(processes_of(process.pid))
                victim.kill()
                killed[kind] += 1
                if kind != "first":
                    await reaches(web, web.hits.of("/s") + chance.randint(1, MANY_SITES // 2), process)
        await assert_that_nothing_is_lost(settings, web)
    assert {"first", "fork server", "collector"} >= killed.keys() > {"first"}


def processes_of(pid: int) -> list[tuple[str, psutil.Process]]:
    """Of a collector that has others beside it: itself, who forked them, and each of them."""
    first = psutil.Process(pid)
    servers = [child for child in first.children() if child.children()]
    others = [("collector", other) for server in servers for other in server.children()]
    return [("first", first), *(("fork server", server) for server in servers), *others]


def make_all_due(conn: Connection) -> None:
    conn.execute(update(sources).values(next_check_at=START))


async def add_all(settings: Settings, web: SimulatedWeb) -> None:
    async with open_system(settings) as system:
        for url in web.feed_urls():
            await system.catalog.add(Draft(type="rss", config={"url": url}), OPERATOR)


async def assert_that_nothing_is_lost(settings: Settings, web: SimulatedWeb) -> None:
    async with open_system(settings) as system:
        async with system.collector.working(grace_seconds=30):
            await system.collector.collect_due()
        await assert_exactly_once(system, web)


async def assert_exactly_once(system, web: SimulatedWeb) -> None:
    def read(conn):
        rows = conn.execute(
            select(sources.c.config, raw_items.c.dedup_key).join(sources, sources.c.id == raw_items.c.source_id)
        )
        stored = Counter((row.config["url"], row.dedup_key) for row in rows)
        unfetched = conn.execute(
            select(func.count()).select_from(sources).where(sources.c.last_fetched_at.is_(None))
        ).scalar_one()
        return stored, unfetched

    stored, unfetched = await system.store.read(read)
    expected = {(url, one) for url, ids in web.catalogue.visible_items(START).items() for one in ids}
    assert set(stored) == expected
    assert set(stored.values()) == {1}
    assert unfetched == 0
    assert await system.store.read(runs.list_running, RunKind.SOURCE) == []
