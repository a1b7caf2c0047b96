"""The collector over minutes: many sources, a third of the hosts faulty, posts appearing all the while.

The real loop runs in a process of its own with an interval of one minute. At the end its store is held against the
truth of the simulated world: every healthy source was visited when it was due and every post is there, once.
"""

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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.bars import Bar, all_met, bars_table
from bench.contenders.product import add_sources
from bench.gauge import MEGABYTE, resident_bytes
from bench.stores import TEMPORARY
from bench.story import Story, Truth
from bench.verdict import INTERVAL, TICK_SECONDS, Kept, Outcome, Sample, bars, count_running, judge, read_sources
from bench.world import ALLOW_NETWORKS, running_world
from catchment.bootstrap import open_system
from catchment.settings import Settings
from catchment.store.database import open_store

REQUEST_SECONDS = 5
AT_ONCE = 100
STOP_SECONDS = 30
SAMPLE_SECONDS = 1.0


@contextmanager
def collecting(url: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The collector in a process of its own; on the way out it is asked to stop."""
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "CATCHMENT_ALLOW_NETWORKS": ALLOW_NETWORKS,
        "FETCH_INTERVAL_RSS": str(int(INTERVAL.total_seconds() // 60)),
        "COLLECTOR_TICK": str(TICK_SECONDS),
        "COLLECTOR_CONCURRENCY": str(AT_ONCE),
        "CATCHMENT_TIMEOUT_SECONDS": str(REQUEST_SECONDS),
    }
    command = [sys.executable, "-m", "bench.loop"]
    root = Path(__file__).parent.parent
    with log.open("wb") as out, subprocess.Popen(command, env=environment, stderr=out, cwd=root) as child:
        try:
            yield child
        finally:
            child.send_signal(signal.SIGTERM)
            child.wait(STOP_SECONDS + REQUEST_SECONDS)


def watch(child: subprocess.Popen[bytes], seconds: float, console: Console) -> list[Sample]:
    """Sample the memory of the collector and what it started until the time is over, or the collector is."""
    samples: list[Sample] = []
    started = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("soaking", total=seconds)
        while (now := time.monotonic() - started) < seconds and child.poll() is None:
            samples.append(Sample(second=now, resident_bytes=resident_bytes(child.pid)))
            megabytes = samples[-1].resident_bytes / MEGABYTE
            progress.update(task, completed=now, description=f"soaking, {megabytes:,.0f} MB")
            time.sleep(SAMPLE_SECONDS)
    return samples


async def fill(url: str, truth: Truth) -> None:
    async with open_system(Settings(database_url=url, allow_networks=ALLOW_NETWORKS)) as system:
        await add_sources(system, truth.feed_urls())


async def look_into(url: str) -> tuple[list[Kept], int]:
    store = open_store(url)
    try:
        return await store.read(read_sources), await store.read(count_running)
    finally:
        await store.close()


def soak(given: argparse.Namespace, console: Console) -> Outcome:
    story = Story(sites=given.sites, faulty=given.faulty, speed=given.speed, started_at=datetime.now(UTC).isoformat())
    with ExitStack() as stack:
        log = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="catchment-soak-"))) / "log"
        url = given.database_url or stack.enter_context(TEMPORARY["postgres" if given.postgres else "sqlite"]())
        world = stack.enter_context(running_world([story.as_word()], module="bench.story"))
        truth = Truth(story, world.addresses)
        console.print(f"adding {given.sites:,} sources")
        asyncio.run(fill(url, truth))
        started_at = datetime.now(UTC)
        with collecting(url, log) as child:
            samples = watch(child, given.minutes * 60, console)
            stopped_at = datetime.now(UTC)
        kept, runs_left = asyncio.run(look_into(url))
        return judge(
            kept,
            truth,
            started_at=started_at,
            stopped_at=stopped_at,
            runs_left=runs_left,
            exit_code=child.returncode,
            log=log.read_text(encoding="utf-8"),
            samples=samples,
        )


def run(words: Sequence[str]) -> list[Bar]:
    given = _arguments(words)
    console = Console(stderr=given.json)
    outcome = soak(given, console)
    found = bars(outcome)
    if given.json:
        print(json.dumps({"outcome": asdict(outcome), "bars": [bar.as_json() for bar in found]}, indent=2))
    else:
        console.print(_summary(outcome), bars_table(found))
    return found


def _summary(outcome: Outcome) -> str:
    return (
        f"{outcome.healthy:,} healthy and {outcome.faulty:,} faulty sources, {outcome.visits:,} visits, "
        f"{outcome.items:,} items. All healthy sources were first collected within {outcome.first_pass_seconds:.1f} s. "
        f"Lateness after that: median {outcome.late_p50:.1f} s, 99th percentile {outcome.late_p99:.1f} s, "
        f"worst {outcome.late_max:.1f} s. Memory {outcome.megabytes_first:,.0f} MB in the second minute, "
        f"{outcome.megabytes_last:,.0f} MB in the last."
    )


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/soak.py", description=str(__doc__).splitlines()[0])
    parser.add_argument("--minutes", type=float, default=3.0, help="how long (%(default)s)")
    parser.add_argument("--sites", type=int, default=10_000, help="sources, each at a host of its own (%(default)s)")
    parser.add_argument("--faulty", type=float, default=0.33, help="share of them in trouble (%(default)s)")
    parser.add_argument("--speed", type=float, default=60.0, help="hours of posts in an hour (%(default)s)")
    parser.add_argument("--database-url", default="", help="an empty store; a throwaway SQLite file unless given")
    parser.add_argument("--postgres", action="store_true", help="a throwaway PostgreSQL instead")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
