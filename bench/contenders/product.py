"""Catchment itself, as it ships: a real store, real leases, the real collector. Only the schedule is turned by hand."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from loguru import logger
from sqlalchemy import Connection, func, select, update

from bench.contest import ROUNDS, Plan, Round, compete, round_of
from bench.gauge import Stopwatch
from bench.world import ALLOW_NETWORKS
from catchment.bootstrap import System, open_system
from catchment.domain.caller import OPERATOR
from catchment.manage.catalog import Draft
from catchment.settings import Settings
from catchment.store import sources, tables

GRACE_SECONDS = 10.0


async def add_sources(system: System, urls: Sequence[str]) -> None:
    """As the catalogue would store them, all in one transaction."""
    drafts = [Draft(type="rss", config={"url": url}, name=url) for url in urls]
    checked = [system.catalog.check(draft, OPERATOR) for draft in drafts]
    await system.store.write(sources.add_all, checked, now=system.clock.now())


async def rounds(plan: Plan) -> list[Round]:
    async with open_system(_settings(plan)) as system, system.collector.working(grace_seconds=GRACE_SECONDS):
        await add_sources(system, plan.warm_up)
        await system.collector.collect_due()
        already = await system.store.read(_count_items)
        await system.store.write(_put_off)
        await add_sources(system, plan.urls)
        return [await _round(system, len(plan.urls), already) for _ in range(ROUNDS)]


def _settings(plan: Plan) -> Settings:
    wanted: dict[str, Any] = {} if plan.parsers is None else {"parser_processes": plan.parsers}
    return Settings(
        database_url=f"sqlite:///{plan.store}", allow_networks=ALLOW_NETWORKS, concurrency=plan.at_once, **wanted
    )


async def _round(system: System, feeds: int, already: int) -> Round:
    await system.store.write(_make_due, now=system.clock.now())
    with Stopwatch() as watch:
        results = await system.collector.collect_due()
    failures = [result.error for result in results if result.error]
    if len(results) != feeds or failures:
        raise RuntimeError(f"{len(results)} of {feeds} feeds were visited, with failures: {failures[:3]}")
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
