"""Catchment itself, as a user types it: `catchment collect`, and `catchment up` once it is at work."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TypeVar

import psutil  # type: ignore[import-untyped]
from sqlalchemy import Connection, func, select, update

from bench.contest import PYTHON, ROOT, Command, Cost, Plan
from bench.gauge import family, processor_seconds
from bench.static import ALLOW_NETWORKS
from catchment.bootstrap import System, open_system
from catchment.domain.caller import OPERATOR
from catchment.domain.run import RunKind
from catchment.manage.catalog import Draft
from catchment.settings import Settings
from catchment.store import sources, tables

T = TypeVar("T")
STOP_SECONDS = 30
LOOK_SECONDS = 0.2


async def add_sources(system: System, urls: Sequence[str]) -> None:
    """As the catalogue would store them, all in one transaction."""
    drafts = [Draft(type="rss", config={"url": url}, name=url) for url in urls]
    checked = [system.catalog.check(draft, OPERATOR) for draft in drafts]
    await system.store.write(sources.add_all, checked, now=system.clock.now())


class ProductContender:
    title = "Catchment"
    goes_again = True

    def make_store(self, plan: Plan) -> None:
        self._run(plan, lambda system: system.store.read(_count_items))

    def add_feeds(self, plan: Plan) -> None:
        self._run(plan, lambda system: add_sources(system, plan.urls))

    def make_due(self, plan: Plan) -> None:
        self._run(plan, lambda system: system.store.write(_make_due, now=system.clock.now()))

    def command(self, plan: Plan) -> Command:
        return Command(words=[PYTHON, "-m", "catchment.cli", "collect"], environment=self._environment(plan))

    def count(self, plan: Plan) -> int:
        return self._run(plan, lambda system: system.store.read(_count_items))

    @contextmanager
    def up(self, plan: Plan) -> Iterator[psutil.Process]:
        """`catchment up`, until the block ends."""
        command = [PYTHON, "-m", "catchment.cli", "up", "--no-starter", "--port", "0"]
        environment = {**os.environ, **self._environment(plan), "COLLECTOR_TICK": "1"}
        with (plan.folder / "up.log").open("wb") as log:
            child = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)
        try:
            yield psutil.Process(child.pid)
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(STOP_SECONDS)

    def steady_round(self, plan: Plan, head: psutil.Process, *, is_due: bool) -> Cost:
        """Once over all feeds by a running `up`: from the first claim to the last commit, as its runs tell."""
        before, already = processor_seconds(family(head.pid)), 0 if is_due else self._run(plan, _last_run)
        if not is_due:
            self.make_due(plan)
        while (seconds := self._run(plan, lambda system: _seconds(system, already, len(plan.urls)))) is None:
            if not head.is_running():
                raise RuntimeError((plan.folder / "up.log").read_text(encoding="utf-8")[-2000:])
            time.sleep(LOOK_SECONDS)
        return Cost(seconds=seconds, processor_seconds=processor_seconds(family(head.pid)) - before)

    def _environment(self, plan: Plan) -> dict[str, str]:
        """Default settings but for the requests in flight, and that what is on this machine may be fetched."""
        return {
            "CATCHMENT_HOME": str(plan.folder),
            "DATABASE_URL": f"sqlite:///{plan.store}",
            "CATCHMENT_ALLOW_NETWORKS": ALLOW_NETWORKS,
            "COLLECTOR_CONCURRENCY": str(plan.at_once),
        }

    def _run(self, plan: Plan, work: Callable[[System], Awaitable[T]]) -> T:
        async def session() -> T:
            async with open_system(
                Settings(database_url=f"sqlite:///{plan.store}", allow_networks=ALLOW_NETWORKS)
            ) as system:
                return await work(system)

        return asyncio.run(session())


async def _last_run(system: System) -> int:
    return await system.store.read(lambda conn: conn.execute(select(func.max(tables.runs.c.id))).scalar() or 0)


async def _seconds(system: System, after: int, feeds: int) -> float | None:
    """How long these runs took from the first to the last; None while not all of them are over."""
    return await system.store.read(_span, after, feeds)


def _span(conn: Connection, after: int, feeds: int) -> float | None:
    runs = tables.runs.c
    ours = select(func.count(), func.min(runs.started_at), func.max(runs.finished_at)).where(
        runs.id > after, runs.kind == RunKind.SOURCE, runs.finished_at.is_not(None)
    )
    count, first, last = conn.execute(ours).one()
    return (last - first).total_seconds() if count >= feeds else None


def _make_due(conn: Connection, *, now: datetime) -> None:
    conn.execute(update(tables.sources).values(next_check_at=now))


def _count_items(conn: Connection) -> int:
    return conn.execute(select(func.count()).select_from(tables.raw_items)).scalar_one()
