"""How many feeds a second workers collect, one, two and four of them, and what their queue costs a source.

`catchment worker` as it is typed, on a real PostgreSQL and beside nginx, all on this machine; and `catchment collect
--loop` on the same store, which collects without the queue: what one worker takes more than that is the price of the
queue. Each round begins when everybody is at work, with feeds of 30 items that were never fetched; a second round over
the same feeds finds nothing new.
"""

# proves: S-04

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from loguru import logger
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, func, select, text, update

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.bars import Bar, all_met, bars_table
from bench.contenders.product import add_sources
from bench.gauge import family, processor_seconds
from bench.instant import make_due
from bench.static import ALLOW_NETWORKS, Feeds, served, write_feeds
from bench.stores import temporary_postgres
from catchment.bootstrap import System, open_system
from catchment.domain.run import RunKind
from catchment.settings import Settings
from catchment.store import runs, tables

WARM_UP = 40
HOSTS = 50
AT_ONCE = 50
LOOK_SECONDS = 0.1
START_SECONDS, ROUND_SECONDS, STOP_SECONDS = 60.0, 300.0, 30.0
WORKER, LOOP = ("worker",), ("collect", "--loop")
#: More workers than processors may not collect less than fewer do.
LEAST_OF_FEWER = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Used:
    """What was used up to a moment."""

    collectors: float
    database: float
    transactions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A round over the feeds; costs are for each source."""

    who: str
    cold_per_second: float
    cold_ms: float
    cold_database_ms: float
    cold_transactions: float
    again_per_second: float
    again_ms: float
    again_database_ms: float
    again_transactions: float


@contextmanager
def collecting(words: Sequence[str], url: str, home: str, count: int) -> Iterator[list[int]]:
    """So many processes of this command; on the way out they are asked to stop."""
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "CATCHMENT_HOME": home,
        "CATCHMENT_ALLOW_NETWORKS": ALLOW_NETWORKS,
        "COLLECTOR_TICK": "1",
        "COLLECTOR_CONCURRENCY": str(AT_ONCE),
        "COLLECTOR_PROCESSES": "1",
        "LOG_LEVEL": "WARNING",
    }
    command = [sys.executable, "-m", "catchment.cli", *words]
    with ExitStack() as stack:
        log = stack.enter_context((Path(home) / "log").open("ab"))
        children = [
            stack.enter_context(subprocess.Popen(command, env=environment, stderr=log, stdout=log))
            for _ in range(count)
        ]
        try:
            yield [child.pid for child in children]
        finally:
            for child in children:
                child.send_signal(signal.SIGTERM)
            for child in children:
                child.wait(STOP_SECONDS)


async def pace_of(words: Sequence[str], count: int, feeds: Feeds) -> Pace:
    with temporary_postgres() as url, tempfile.TemporaryDirectory(prefix="catchment-bench-") as home:
        async with open_system(Settings(database_url=url, allow_networks=ALLOW_NETWORKS)) as system:
            await add_sources(system, feeds.urls[:WARM_UP])
            with collecting(words, url, home, count) as pids:
                await _until(system, _are_at_work, START_SECONDS, collectors=count)
                await _until(system, _are_done, ROUND_SECONDS)
                await system.store.write(_put_off)
                rounds = [await _round(system, pids, feeds.urls[WARM_UP:], is_cold=cold) for cold in (True, False)]
    (cold_pace, cold), (again_pace, again) = rounds
    return Pace(
        who="the loop, without a queue" if words == LOOP else f"{count} worker{'s' if count > 1 else ''}",
        cold_per_second=cold_pace,
        cold_ms=cold.collectors * 1000,
        cold_database_ms=cold.database * 1000,
        cold_transactions=cold.transactions,
        again_per_second=again_pace,
        again_ms=again.collectors * 1000,
        again_database_ms=again.database * 1000,
        again_transactions=again.transactions,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PerSource:
    collectors: float
    database: float
    transactions: float


async def _round(system: System, pids: Sequence[int], urls: Sequence[str], *, is_cold: bool) -> tuple[float, PerSource]:
    before, began = await _used(system, pids), system.clock.now()
    if is_cold:
        await add_sources(system, urls)
    else:
        await system.store.write(make_due, now=began)
    await _until(system, _are_done, ROUND_SECONDS)
    after = await _used(system, pids)
    visits, seconds = await system.store.read(_visits_since, began)
    if visits != len(urls):
        raise RuntimeError(f"{visits} visits to {len(urls)} feeds")
    per_source = PerSource(
        collectors=(after.collectors - before.collectors) / visits,
        database=(after.database - before.database) / visits,
        transactions=(after.transactions - before.transactions) / visits,
    )
    return visits / seconds, per_source


async def _until(system: System, is_so: Callable[..., bool], seconds: float, **about: int) -> None:
    deadline = time.monotonic() + seconds
    while not await system.store.read(is_so, **about):
        if time.monotonic() > deadline:
            raise RuntimeError(f"{is_so.__name__}: not within {seconds:g} s")
        await asyncio.sleep(LOOK_SECONDS)


def _are_at_work(conn: Connection, *, collectors: int) -> bool:
    return len(runs.list_running(conn, RunKind.COLLECTOR)) == collectors


def _are_done(conn: Connection) -> bool:
    waiting = select(tables.sources.c.id).where(tables.sources.c.next_check_at <= func.now()).limit(1)
    return conn.execute(waiting).first() is None


def _put_off(conn: Connection) -> None:
    """The feeds of the warm-up have done their part."""
    conn.execute(update(tables.sources).values(next_check_at=None))


def _visits_since(conn: Connection, moment: datetime) -> tuple[int, float]:
    log = tables.fetch_log.c
    stated = select(func.count(), func.min(log.started_at), func.max(log.finished_at)).where(
        log.started_at >= moment, log.ok.is_(True)
    )
    count, first, last = conn.execute(stated).one()
    took: timedelta = last - first
    return count, took.total_seconds()


async def _used(system: System, pids: Sequence[int]) -> Used:
    postmaster, counts = await system.store.read(database_use)
    return Used(
        collectors=sum(processor_seconds(family(pid)) for pid in pids),
        database=processor_seconds(family(postmaster)),
        transactions=counts["transactions"],
    )


def database_use(conn: Connection) -> tuple[int, dict[str, int]]:
    """Its first process, and how many transactions and changed rows there were."""
    backend = conn.execute(text("SELECT pg_backend_pid()")).scalar_one()
    counts = (
        "SELECT xact_commit + xact_rollback, tup_inserted + tup_updated + tup_deleted FROM pg_stat_database"
        " WHERE datname = current_database()"
    )
    transactions, rows = conn.execute(text(counts)).one()
    return psutil.Process(backend).ppid(), {"transactions": transactions, "rows": rows}


def bars(paces: Sequence[Pace]) -> list[Bar]:
    by_name = {pace.who: pace for pace in paces}
    found = []
    for fewer, more in (("1 worker", "2 workers"), ("2 workers", "4 workers")):
        if fewer in by_name and more in by_name:
            ratio = by_name[more].cold_per_second / by_name[fewer].cold_per_second
            found.append(Bar(name=f"S-04 feeds a second: {more} against {fewer}", measured=ratio, least=LEAST_OF_FEWER))
    return found


def best_pace(paces: Sequence[Pace]) -> float:
    """Feeds a second of the best number of workers; cold."""
    return max(pace.cold_per_second for pace in paces if pace.who.endswith(("worker", "workers")))


def paces_table(paces: Sequence[Pace]) -> Table:
    title = "Workers, and what each feed takes: milliseconds of processor, and commits"
    table = Table(title=title, box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    for name in ("", "round", "feeds/s", "collectors", "PostgreSQL", "commits"):
        table.add_column(name, justify="right" if name not in {"", "round"} else "left", no_wrap=True)
    for pace in paces:
        who, *figures = asdict(pace).values()
        for name, (speed, *costs) in (("cold", figures[:4]), ("again", figures[4:])):
            table.add_row(str(who), name, f"{speed:,.0f}", *(f"{cost:.2f}" for cost in costs))
    return table


def queue_costs(paces: Sequence[Pace]) -> str:
    """What one worker takes more than the loop does."""
    by_name = {pace.who: pace for pace in paces}
    loop, worker = by_name.get("the loop, without a queue"), by_name.get("1 worker")
    if loop is None or worker is None:
        return ""
    return (
        f"The queue costs a source {worker.cold_ms - loop.cold_ms:+.2f} ms of the worker, "
        f"{worker.cold_database_ms - loop.cold_database_ms:+.2f} ms of PostgreSQL and "
        f"{worker.cold_transactions - loop.cold_transactions:+.2f} transactions; where nothing is new "
        f"{worker.again_ms - loop.again_ms:+.2f} ms, {worker.again_database_ms - loop.again_database_ms:+.2f} ms and "
        f"{worker.again_transactions - loop.again_transactions:+.2f}."
    )


def measure(feeds_count: int, workers: Sequence[int], emit_events: Callable[[str], None]) -> list[Pace]:
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        emit_events(f"writing {feeds_count:,} feeds")
        pages = Path(folder) / "feeds"
        pages.mkdir()
        feeds = write_feeds(pages, feeds_count + WARM_UP, hosts=HOSTS)
        paces = []
        with served(feeds, validators=True):
            for words, count in ((LOOP, 1), *((WORKER, count) for count in workers)):
                emit_events(f"{' '.join(words)}: {count}")
                paces.append(asyncio.run(pace_of(words, count, feeds)))
    return paces


def run(words: Sequence[str]) -> list[Bar]:
    return run_for_pace(words)[0]


def run_for_pace(words: Sequence[str]) -> tuple[list[Bar], float]:
    """The bars, and what the best number of workers did."""
    given = _arguments(words)
    console = Console(stderr=given.json)
    logger.remove()
    with console.status("starting") as status:
        paces = measure(100 if given.quick else given.feeds, given.workers, status.update)
    found = bars(paces)
    if given.json:
        listed = [asdict(pace) for pace in paces]
        print(json.dumps({"paces": listed, "bars": [bar.as_json() for bar in found]}, indent=2))
    else:
        console.print(paces_table(paces), queue_costs(paces), bars_table(found))
    return found, best_pace(paces)


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.workers", description=str(__doc__).splitlines()[0])
    parser.add_argument("--feeds", type=int, default=2000, help="feeds of 30 items (%(default)s)")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="how many, in turn (1 2 4)")
    parser.add_argument("--quick", action="store_true", help="100 feeds: whether it works, not how fast")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
