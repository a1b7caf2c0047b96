"""A day of a million sources on PostgreSQL, with the clock moved by hand: what each check costs, and how late it is.

Everything but the web is real: sources are found due, jobs are put into Procrastinate's queue, workers in processes of
their own take them, claim sources by leases, visit them and commit what came. Only the feed at the end of it answers at
once (`bench/instant.py`): what fetching and parsing take is known from `bench/workers.py`, and counts as time that
passes. A tick is a minute of the day, or as long as its visits would have taken at the pace of those workers if that is
more, so that workers that cannot keep up fall behind here as they would.
"""

# proves: S-04

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from array import array
from asyncio.subprocess import PIPE, Process
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path
from statistics import quantiles
from typing import Any

from loguru import logger
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, Engine, event, func, select, text

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench import due
from bench.bars import Bar, all_met, bars_table
from bench.gauge import family, processor_seconds
from bench.instant import InstantFeed, instant_system
from bench.stores import temporary_postgres
from bench.workers import database_use
from catchment.clock import ManualClock
from catchment.domain.visit import Fetched
from catchment.eventloop import run as run_loop
from catchment.settings import Settings
from catchment.sources.base import Context
from catchment.sources.registry import Registry
from catchment.store import runs, tables
from catchment.store.database import Store, open_store
from catchment.store.migrate import migrate
from catchment.workers import Worker

INTERVAL = timedelta(minutes=240)
TICK = timedelta(minutes=1)
START = due.NOW
LOOK_SECONDS = 0.05
#: Looks are had by hand, and nobody dies: no lease runs out within the day.
NEVER_SECONDS = 200_000.0
AT_ONCE = 200
#: Of the checks, so many in time: no later than an interval after they were due, which is twice the interval after the
#: last one.
LEAST_IN_TIME = 0.999
#: What one machine of two cores did in `bench/workers.py`, where this is not told.
FEEDS_PER_SECOND = 150.0
#: The doors through which the engine goes to the store, by the names of what it does there.
DOORS = {"due": "find what is due", "_claim": "claim", "commit_visits": "commit"}


class MeasuredStore:
    """A store that knows how long each thing took that was done with it, and what was asked of it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.url, self.checked = store.url, store.checked
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.times: Counter[str] = Counter()

    async def read(self, query: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self._timed(self._store.read, query, *args, **kwargs)

    async def write(self, change: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return await self._timed(self._store.write, change, *args, **kwargs)

    async def close(self) -> None:
        await self._store.close()

    async def _timed(self, door: Callable[..., Any], change: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        name = getattr(change, "__name__", "")
        began = time.perf_counter()
        try:
            return await door(change, *args, **kwargs)
        finally:
            self.seconds[name] += time.perf_counter() - began
            self.times[name] += 1


class LateFeed(InstantFeed):
    """Notes how late it is looked at, in seconds. Those that are visited later in a tick are later by as much."""

    def __init__(self, pace: float, members: int) -> None:
        self.late = array("d")
        self.in_tick = 0
        self._each = members / pace

    async def fetch(self, context: Context) -> Fetched:
        at = context.source.next_check.at
        self.in_tick += 1
        if at is not None:
            self.late.append((context.now - at).total_seconds() + self.in_tick * self._each)
        return await super().fetch(context)


async def member(plan: dict[str, Any]) -> None:
    """A worker. Each line that it reads is a moment; where it begins with "look", it puts out the jobs for it."""
    clock, statements = ManualClock(datetime.fromisoformat(plan["at"])), Counter[str]()
    event.listen(Engine, "before_cursor_execute", lambda *_: statements.update(["sent"]))
    settings = Settings(
        database_url=plan["url"], concurrency=AT_ONCE, lease_seconds=NEVER_SECONDS, tick_seconds=NEVER_SECONDS
    )
    async with instant_system(settings, clock=clock) as system:
        feed, store = LateFeed(plan["pace"], plan["members"]), MeasuredStore(system.store)
        system.store, system.registry = store, Registry([feed])
        worker, stop = Worker(system), asyncio.Event()
        serving = asyncio.create_task(worker.serve(stop))
        while not store.times["due"]:  # noqa: ASYNC110 - its first look, before which it has no queue
            await asyncio.sleep(LOOK_SECONDS)
        print(json.dumps({"ready": True}), flush=True)
        while line := (await asyncio.to_thread(sys.stdin.readline)).strip():
            word, moment = line.split()
            clock.advance(datetime.fromisoformat(moment) - clock.now())
            feed.in_tick = 0
            found = await worker.look() if word == "look" else 0
            print(json.dumps({"due": found}), flush=True)
        stop.set()
        await serving
    doors = {name: (store.seconds[name], store.times[name]) for name in DOORS}
    print(json.dumps({"doors": doors, "statements": statements["sent"], "late": feed.late.tolist()}), flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """What came of it."""

    sources: int
    workers: int
    hours: float
    ticks: int
    checks: int
    real_seconds: float
    #: Checks that were no later than an interval, and sources that wait for longer than that at the end.
    in_time: int
    overdue: int
    late_p50: float
    late_p99: float
    late_p999: float
    late_max: float
    worker_ms: float
    database_ms: float
    statements: float
    transactions: float
    rows_written: float
    megabytes_grown: float
    find_ms: float
    claim_ms: float
    commit_ms: float

    @property
    def share_in_time(self) -> float:
        return self.in_time / (self.checks + self.overdue)


async def day_of(given: argparse.Namespace, emit_events: Callable[[str], None]) -> Day:
    with temporary_postgres() as url:
        store = open_store(url)
        try:
            emit_events(f"making {given.sources:,} sources")
            await migrate(store)
            await store.write(due.fill, given.sources)
            await store.write(_spread)
            await store.write(due.learn)
            return await _simulate(store, url, given, emit_events)
        finally:
            await store.close()


def _spread(conn: Connection) -> None:
    """All were checked in the last hours, evenly."""
    moved = "make_interval(secs => id % :seconds)"
    earlier = f"last_fetched_at = :before + {moved}, last_attempt_at = :before + {moved}"
    every = text(f"UPDATE sources SET next_check_at = :start + {moved}, {earlier}")
    conn.execute(every, {"start": START, "before": START - INTERVAL, "seconds": int(INTERVAL.total_seconds())})


async def _simulate(store: Store, url: str, given: argparse.Namespace, emit_events: Callable[[str], None]) -> Day:
    async with AsyncExitStack() as stack:
        members = [await _start(stack, url, given) for _ in range(given.workers)]
        pids = [one.pid for one in members]
        size = await store.read(_bytes)
        postmaster, before = await store.read(database_use)
        used = sum(processor_seconds(family(pid)) for pid in pids), processor_seconds(family(postmaster))
        began, now, ticks = time.monotonic(), START, 0
        end = START + timedelta(hours=given.hours)
        while now < end and time.monotonic() - began < given.minutes * 60:
            found = await _tick(store, members, now)
            ticks += 1
            now += max(TICK, timedelta(seconds=found / given.feeds_per_second))
            emit_events(f"{now - START} of the day, {found:,} due, {time.monotonic() - began:,.0f} s")
        real = time.monotonic() - began
        spent = (
            sum(processor_seconds(family(pid)) for pid in pids) - used[0],
            processor_seconds(family(postmaster)) - used[1],
        )
        _, after = await store.read(database_use)
        overdue = await store.read(_overdue, now)
        grown = await store.read(_bytes) - size
        told = [await _finish(one) for one in members]
    late = sorted(seconds for one in told for seconds in one["late"])
    cuts = quantiles(late, n=1000)
    checks = len(late)

    def door(name: str) -> float:
        return float(sum(one["doors"][name][0] for one in told)) * 1000 / checks

    return Day(
        sources=given.sources,
        workers=given.workers,
        hours=(now - START) / timedelta(hours=1),
        ticks=ticks,
        checks=checks,
        real_seconds=real,
        in_time=sum(seconds <= INTERVAL.total_seconds() for seconds in late),
        overdue=overdue,
        late_p50=cuts[499],
        late_p99=cuts[989],
        late_p999=cuts[998],
        late_max=late[-1],
        worker_ms=spent[0] * 1000 / checks,
        database_ms=spent[1] * 1000 / checks,
        statements=sum(one["statements"] for one in told) / checks,
        transactions=(after["transactions"] - before["transactions"]) / checks,
        rows_written=(after["rows"] - before["rows"]) / checks,
        megabytes_grown=grown / 1e6,
        find_ms=door("due"),
        claim_ms=door("_claim"),
        commit_ms=door("commit_visits"),
    )


async def _start(stack: AsyncExitStack, url: str, given: argparse.Namespace) -> Process:
    words = (sys.executable, "-m", "bench.scale", "--member")
    root = Path(__file__).parent.parent
    child = await asyncio.create_subprocess_exec(*words, stdin=PIPE, stdout=PIPE, cwd=root, limit=2**30)
    stack.push_async_callback(_end, child)
    plan = {"url": url, "at": START.isoformat(), "pace": given.feeds_per_second, "members": given.workers}
    await _say(child, json.dumps(plan))
    await _answer(child)
    return child


async def _tick(store: Store, members: Sequence[Process], now: datetime) -> int:
    """All hear the time, the first of them looks, and all collect until nothing is due."""
    for number, one in reversed(list(enumerate(members))):
        await _say(one, f"{'look' if number == 0 else 'time'} {now.isoformat()}")
        found: int = (await _answer(one))["due"]
    while await store.read(_is_busy, now):  # noqa: ASYNC110 - it is other processes that are waited for
        await asyncio.sleep(LOOK_SECONDS)
    return found


def _is_busy(conn: Connection, now: datetime) -> bool:
    waiting = select(tables.sources.c.id).where(tables.sources.c.next_check_at <= now).limit(1)
    if conn.execute(waiting).first() is not None:
        return True
    working = select(tables.runs.c.id).where(runs.IS_RUNNING, tables.runs.c.kind == "source").limit(1)
    return conn.execute(working).first() is not None


def _overdue(conn: Connection, now: datetime) -> int:
    """Those that wait for longer than an interval: no check of theirs is counted yet."""
    late = select(func.count()).where(tables.sources.c.next_check_at <= now - INTERVAL)
    return conn.execute(late).scalar_one()


def _bytes(conn: Connection) -> int:
    return int(conn.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


async def _say(child: Process, line: str) -> None:
    assert child.stdin is not None
    child.stdin.write(f"{line}\n".encode())
    await child.stdin.drain()


async def _answer(child: Process) -> dict[str, Any]:
    assert child.stdout is not None
    found: dict[str, Any] = json.loads(await child.stdout.readline())
    return found


async def _finish(child: Process) -> dict[str, Any]:
    await _say(child, "")
    return await _answer(child)


async def _end(child: Process) -> None:
    if child.returncode is None:
        assert child.stdin is not None
        child.stdin.close()
    await child.wait()


def bars(day: Day) -> list[Bar]:
    """Whether the pace is that of what comes to be due; in a run of longer than an interval, also who was in time.

    In a shorter one nothing can be later than its interval, so that it would say nothing.
    """
    pace = day.checks / day.real_seconds / (day.sources / INTERVAL.total_seconds())
    found = [Bar(name=f"S-04 pace, against what {day.sources:,} sources ask for", measured=pace, least=1.0, unit="×")]
    if timedelta(hours=day.hours) > INTERVAL:
        name = f"S-04 checked within twice their interval, of {day.sources:,} sources in {day.hours:.1f} h"
        found.append(Bar(name=name, measured=day.share_in_time * 100, least=LEAST_IN_TIME * 100, unit="%"))
    return found


def day_table(day: Day) -> Table:
    table = Table(title="A day with the clock moved by hand", box=SIMPLE_HEAD, show_header=False)
    facts = {
        "sources, workers": f"{day.sources:,}, {day.workers}",
        "of the day": f"{day.hours:.2f} h in {day.ticks:,} ticks, {day.checks:,} checks",
        "took": f"{day.real_seconds:,.0f} s, {day.checks / day.real_seconds:,.0f} checks a second",
        "in time": f"{day.share_in_time:.4%} ({day.overdue:,} overdue)",
        "late: median, 99 %, 99.9 %, worst": (
            f"{day.late_p50:.0f} s, {day.late_p99:.0f} s, {day.late_p999:.0f} s, {day.late_max:.0f} s"
        ),
        "CPU a check: worker, PostgreSQL": f"{day.worker_ms:.2f} ms, {day.database_ms:.2f} ms",
        "waited a check: find, claim, commit": f"{day.find_ms:.3f} ms, {day.claim_ms:.3f} ms, {day.commit_ms:.3f} ms",
        "a check: statements, transactions, rows": (
            f"{day.statements:.2f}, {day.transactions:.2f}, {day.rows_written:.2f}"
        ),
        "the database grew by": f"{day.megabytes_grown:,.0f} MB",
    }
    for name, value in facts.items():
        table.add_row(name, value)
    return table


def run(words: Sequence[str]) -> list[Bar]:
    given = _arguments(words)
    console = Console(stderr=given.json)
    if given.quick:
        given.sources, given.hours = 20_000, 0.2
    logger.remove()
    with console.status("starting") as status:
        day = asyncio.run(day_of(given, status.update))
    found = bars(day)
    if given.json:
        print(json.dumps({"day": asdict(day), "bars": [bar.as_json() for bar in found]}, indent=2))
    else:
        console.print(day_table(day), bars_table(found))
    return found


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sources", type=int, default=1_000_000, help="sources, each every 240 minutes (%(default)s)")
    parser.add_argument("--hours", type=float, default=24.0, help="hours of the day (%(default)s)")
    parser.add_argument("--minutes", type=float, default=2.0, help="real minutes, after which it ends (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes that collect (%(default)s)")
    parser.add_argument("--feeds-per-second", type=float, default=FEEDS_PER_SECOND, help="their pace (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="20,000 sources, 12 minutes of the day")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


def _member() -> None:
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    run_loop(member(json.loads(sys.stdin.readline())))


if __name__ == "__main__":
    if sys.argv[1:] == ["--member"]:
        _member()
    else:
        sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
