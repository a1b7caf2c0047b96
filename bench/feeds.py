"""What a published feed costs to serve: wrk against one server process, for readers with and without the document.

Needs `wrk`. The server is the product itself, as `catchment up` starts it, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.stores import TEMPORARY
from catchment.bootstrap import open_system
from catchment.domain.caller import OPERATOR
from catchment.domain.item import make_item
from catchment.manage.catalog import Draft
from catchment.manage.feeds import FeedDraft
from catchment.settings import Settings
from catchment.store import items

ITEMS, WORDS = 50, 300
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
_RATE = re.compile(r"Requests/sec:\s+([\d.]+)")
_P99 = re.compile(r"99%\s+([\d.]+)(us|ms|s)\b")
_FAILED = re.compile(r"Non-2xx or 3xx responses: (\d+)|Socket errors: (.+)")
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    store: str
    what: str
    kilobytes: float
    requests_per_second: float
    p99_ms: float


async def publish(url: str) -> None:
    """A feed of fifty items of a usual length."""
    async with open_system(Settings(database_url=url)) as system:
        source = await system.catalog.add(Draft(type="rss", config={"url": "https://example.org/feed"}), OPERATOR)
        text = f"<p>{' '.join(['word'] * WORDS)}</p>"
        made = [
            make_item(
                native_id=str(number),
                title=f"Item {number}",
                url=f"https://example.org/{number}",
                content=text,
                published_at=NOW - timedelta(hours=number),
            )
            for number in range(ITEMS)
        ]
        await system.store.write(items.insert_new, [(source.id, item) for item in made], now=NOW)
        await system.feeds.add(FeedDraft(slug="bench", filter={"sources": [source.id]}, is_public=True), OPERATOR)


@contextmanager
def served(url: str) -> Iterator[str]:
    """The product, serving and not collecting; the address of the feed."""
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as home:
        process = subprocess.Popen(
            [sys.executable, "-m", "catchment.cli", "up", "--port", "0", "--no-collect", "--no-starter"],
            cwd=home,
            env={
                **os.environ,
                "DATABASE_URL": url,
                "CATCHMENT_HOME": home,
                "LOG_LEVEL": "WARNING",
                "API_KEY": "x" * 20,
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            address = next(line.split()[-1] for line in process.stdout if line.startswith("Catchment is at"))
            yield f"{address}/feeds/bench.rss"
        finally:
            process.terminate()
            process.wait()


def load(address: str, header: str | None, *, seconds: int, connections: int) -> tuple[float, float]:
    """Requests a second, and the time in seconds that 99 of 100 stay below."""
    words = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{seconds}s",
        "--latency",
        *(["-H", header] if header else []),
        address,
    ]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    rate, p99 = _RATE.search(said), _P99.search(said)
    if rate is None or p99 is None or _FAILED.search(said):
        raise RuntimeError(f"wrk did not get through:\n{said}")
    return float(rate[1]), float(p99[1]) * _SECONDS[p99[2]]


def measure(store: str, *, seconds: int, connections: int) -> list[Load]:
    with TEMPORARY[store]() as url:
        asyncio.run(publish(url))
        with served(url) as address:
            with urllib.request.urlopen(address) as answer:
                size, tag = len(answer.read()), answer.headers["ETag"]
            found = []
            for what, header, kilobytes in (
                ("200, the whole feed", None, size / 1000),
                ("304, by If-None-Match", f"If-None-Match: {tag}", 0.0),
            ):
                rate, p99 = load(address, header, seconds=seconds, connections=connections)
                found.append(
                    Load(store=store, what=what, kilobytes=kilobytes, requests_per_second=rate, p99_ms=p99 * 1000)
                )
            return found


def loads_table(loads: Sequence[Load]) -> Table:
    table = Table(title=f"A feed of {ITEMS} items from one process", box=SIMPLE_HEAD)
    for name in ("store", "answer", "kB", "requests/s", "p99 ms"):
        table.add_column(name, justify="left" if name in {"store", "answer"} else "right")
    for one in loads:
        figures = (f"{one.kilobytes:,.0f}", f"{one.requests_per_second:,.0f}", f"{one.p99_ms:,.1f}")
        table.add_row(one.store, one.what, *figures)
    return table


def run(words: Sequence[str]) -> None:
    given = _arguments(words)
    console = Console(stderr=given.json)
    if shutil.which("wrk") is None:
        console.print("wrk is not installed: feeds are not measured.")
        return
    loads = []
    with console.status("starting") as status:
        for store in given.stores:
            status.update(store)
            loads += measure(store, seconds=given.seconds, connections=given.connections)
    if given.json:
        print(json.dumps({"loads": [asdict(one) for one in loads]}, indent=2))
    else:
        console.print(loads_table(loads))


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.feeds", description="The cost of serving a feed.")
    parser.add_argument("--seconds", type=int, default=8, help="of each run (%(default)s)")
    parser.add_argument("--connections", type=int, default=16, help="open at once (%(default)s)")
    parser.add_argument("--stores", nargs="+", choices=list(TEMPORARY), default=list(TEMPORARY))
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


if __name__ == "__main__":
    run(sys.argv[1:])
