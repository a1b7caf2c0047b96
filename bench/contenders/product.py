"""Catchment itself, as it ships: a real store, real leases, real collectors. Only the schedule is turned by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TypedDict

from loguru import logger
from sqlalchemy import Connection, func, select, update

from bench.contest import KINDS_OF_ROUND, Plan, Round, compete, round_of
from bench.gauge import Stopwatch
from bench.world import ALLOW_NETWORKS
from catchment.bootstrap import System, open_system
from catchment.domain.caller import OPERATOR
from catchment.manage.catalog import Draft
from catchment.settings import Settings
from catchment.store import sources, tables


class Visited(TypedDict):
    """What a member says of a round."""

    feeds: int
    errors: list[str]


async def add_sources(system: System, urls: Sequence[str]) -> None:
    """As the catalogue would store them, all in one transaction."""
    drafts = [Draft(type="rss", config={"url": url}, name=url) for url in urls]
    checked = [system.catalog.check(draft, OPERATOR) for draft in drafts]
    await system.store.write(sources.add_all, checked, now=system.clock.now())


async def rounds(plan: Plan) -> list[Round]:
    """The collectors are processes of their own, as `COLLECTOR_PROCESSES` starts them; this one turns the clock."""
    settings = settings_of(plan)
    async with open_system(settings) as system, AsyncExitStack() as crew:
        members = [await crew.enter_async_context(_member(plan)) for _ in range(plan.processes)]
        await add_sources(system, plan.warm_up)
        for _ in range(KINDS_OF_ROUND):
            await system.store.write(_make_due, now=system.clock.now())
            await _collect(members)
        already = await system.store.read(_count_items)
        await system.store.write(_put_off)
        await add_sources(system, plan.urls)
        return [await _round(system, members, len(plan.urls), already) for _ in range(plan.rounds)]


def settings_of(plan: Plan) -> Settings:
    return Settings(
        database_url=f"sqlite:///{plan.store}",
        allow_networks=ALLOW_NETWORKS,
        concurrency=plan.at_once,
        processes=plan.processes,
    )


@asynccontextmanager
async def _member(plan: Plan) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.contenders.product_member", stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(plan)).encode() + b"\n")
    yield process
    process.stdin.close()
    await process.wait()


async def _collect(members: Sequence[Process]) -> list[Visited]:
    """Have every member collect what is due, and wait for the last of them."""
    return await asyncio.gather(*(_ask(member) for member in members))


async def _ask(member: Process) -> Visited:
    assert member.stdin is not None
    assert member.stdout is not None
    member.stdin.write(b"go\n")
    answer: Visited = json.loads(await member.stdout.readline())
    return answer


async def _round(system: System, members: Sequence[Process], feeds: int, already: int) -> Round:
    await system.store.write(_make_due, now=system.clock.now())
    with Stopwatch() as watch:
        visited = await _collect(members)
    failures = [error for one in visited for error in one["errors"]]
    if sum(one["feeds"] for one in visited) != feeds or failures:
        raise RuntimeError(f"not all of {feeds} feeds were visited once: {visited}"[:500])
    return round_of(watch, feeds=feeds, items=await system.store.read(_count_items) - already)


def _put_off(conn: Connection) -> None:
    """The feeds of the warm-up have done their part."""
    conn.execute(update(tables.sources).values(next_check_at=None))


def _make_due(conn: Connection, *, now: datetime) -> None:
    due = update(tables.sources).where(tables.sources.c.next_check_at.is_not(None))
    conn.execute(due.values(next_check_at=now))


def _count_items(conn: Connection) -> int:
    return conn.execute(select(func.count()).select_from(tables.raw_items)).scalar_one()


if __name__ == "__main__":
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    compete(lambda plan: asyncio.run(rounds(plan)))
