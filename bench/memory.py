"""What `catchment up` holds: idle with 100 sources, and while it collects 10,000; what processes share counts once.

    python -m bench.memory

By PSS of every process that it started, looked at several times a second. Linux only.
"""

# proves: S-01

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil  # type: ignore[import-untyped]
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from bench.bars import Bar, all_met, bars_table
from bench.contenders.product import ProductContender
from bench.contest import Plan
from bench.gauge import MEGABYTE, family
from bench.static import served, write_feeds

IDLE_SOURCES, MANY_SOURCES = 100, 10_000
#: The server listens at each of them, and keeps each feed open.
MAX_HOSTS = 3_000
MAX_PARSER_MB = 40.0
LOOK_SECONDS = 0.2
#: So long after its last visit it is idle: parser processes go after five seconds.
REST_SECONDS = 10.0
PARSER, OTHER = "parser processes", "all others"

#: The bytes of each process, by what it does.
Held = dict[str, list[int]]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=str(__doc__).splitlines()[0])
    parser.add_argument("--sources", type=int, default=MANY_SOURCES, help="sources that are collected (%(default)s)")
    given = parser.parse_args(words)
    idle, collecting = measure(IDLE_SOURCES)[0], measure(given.sources)[1]
    bars = [
        Bar(name="parser processes while idle", measured=len(idle[PARSER]), most=0),
        Bar(name="largest parser process", measured=max(_megabytes(collecting)), most=MAX_PARSER_MB, unit="MB"),
    ]
    console = Console()
    console.print(_table({f"idle, {IDLE_SOURCES} sources": idle, f"at most, {given.sources:,} sources": collecting}))
    console.print(bars_table(bars))
    return 0 if all_met(bars) else 1


def measure(sources: int) -> tuple[Held, Held]:
    """What `up` holds when it is idle again after its first round, and at most within it."""
    contender = ProductContender()
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        feeds = write_feeds(Path(folder) / "feeds", sources, hosts=min(sources, MAX_HOSTS))
        store = Path(folder) / "store"
        store.mkdir()
        plan = Plan(urls=feeds.urls, folder=store, at_once=50)
        contender.make_store(plan)
        contender.add_feeds(plan)
        with served(feeds, validators=True), contender.up(plan) as head:
            most = max(_looks(contender, plan, head), key=_total)
            time.sleep(REST_SECONDS)
            return _held(head), most


def _looks(contender: ProductContender, plan: Plan, head: psutil.Process) -> Iterator[Held]:
    """Until every source was visited; what is stored is asked rarely, as it is work as well."""
    wanted = len(plan.urls) * 30
    looks = 0
    while looks % 10 or contender.count(plan) < wanted:
        yield _held(head)
        looks += 1
        time.sleep(LOOK_SECONDS)


def _held(head: psutil.Process) -> Held:
    held: Held = {PARSER: [], OTHER: []}
    for member in family(head.pid):
        try:
            kind = PARSER if "catchment.sandbox.process" in member.cmdline() else OTHER
            held[kind].append(member.memory_full_info().pss)
        except psutil.NoSuchProcess:  # it ended while it was looked at
            continue
    return held


def _total(held: Held) -> int:
    return sum(map(sum, held.values()))


def _megabytes(held: Held) -> list[float]:
    return [size / MEGABYTE for size in held[PARSER]] or [0.0]


def _table(held: dict[str, Held]) -> Table:
    table = Table("", "processes", PARSER, "MB in all", "MB of these", title="Memory (PSS)", box=SIMPLE_HEAD)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, found in held.items():
        processes, parsers = sum(map(len, found.values())), found[PARSER]
        sizes = " + ".join(f"{size / MEGABYTE:.0f}" for size in parsers)
        table.add_row(name, str(processes), str(len(parsers)), f"{_total(found) / MEGABYTE:.0f}", sizes)
    return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
