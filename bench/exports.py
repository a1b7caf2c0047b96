"""Exports: what a million items take in memory beside ten thousand, by command and over HTTP.

    python -m bench.exports [--items 1000000] [--few 10000] [--keep /tmp/exports]

Each export is made by a process of its own, and each server serves one: the most memory that was resident at once is
the kernel's own count (VmHWM), with what is shared. With `--keep` stores that were made are used again.
"""

# proves: H-05

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from bench.bars import Bar, all_met, bars_table
from bench.stores import kept_or_temporary
from catchment.domain.export import ExportFormat
from catchment.domain.item import make_item
from catchment.domain.source import NewSource
from catchment.store import items, sources
from catchment.store.database import open_store
from catchment.store.migrate import migrate

#: Items of long ago would be cleaned away by the server.
NOW = datetime.now(UTC)
SOURCES, AT_ONCE = 100, 5_000
KEY = "the-key-of-the-measurement-and-nothing-else"
MOST_MB = 20.0
#: In the folder of a store that has all its items.
FILLED = "filled"
TEXT = "<p>" + "Words of an item, 一条内容的正文。" * 12 + "</p>"


async def fill(home: Path, count: int) -> None:
    store = open_store(f"sqlite:///{home / 'catchment.sqlite3'}")
    await migrate(store)
    new = [
        NewSource(name=f"s{n}", type="rss", config={}, identity=f"s{n}", is_public=True, created_by=None, host=None)
        for n in range(SOURCES)
    ]
    known = await store.write(sources.add_all, new, now=NOW)
    for start in range(0, count, AT_ONCE):
        made = [
            (
                known[n % SOURCES].id,
                make_item(native_id=str(n), url=f"https://x.example/{n}", title=f"Item {n}", content=f"{TEXT}{n}"),
            )
            for n in range(start, min(start + AT_ONCE, count))
        ]
        await store.write(items.insert_new, made, now=NOW)
    await store.close()


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "CATCHMENT_HOME": str(home),
        "ADMIN_API_KEY": KEY,
        "CATCHMENT_PORT": "0",
        "LOG_LEVEL": "WARNING",
    }


def most_memory(pid: int) -> float:
    """Megabytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(encoding="ascii"))
    assert found is not None
    return int(found[1]) / 1024


def by_command(home: Path, form: ExportFormat) -> tuple[float, float, int]:
    """Megabytes, seconds and bytes of `catchment items export` to standard output."""
    began, size, most = time.monotonic(), 0, 0.0
    words = [sys.executable, "-m", "catchment.cli", "items", "export", "--format", form]
    with subprocess.Popen(words, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        while written := os.read(process.stdout.fileno(), 1 << 20):
            size += len(written)
            # It is still there, as what it wrote is read: at the end it would not be.
            most = max(most, most_memory(process.pid))
    assert process.returncode == 0
    return most, time.monotonic() - began, size


@contextmanager
def server(home: Path) -> Iterator[tuple[int, str]]:
    words = [sys.executable, "-m", "catchment.cli", "up", "--no-starter", "--no-collect"]
    with subprocess.Popen(
        words, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if found := re.search(r"Catchment is at (http://\S+)", line):
                yield process.pid, found[1].rstrip("/")
                break
        process.terminate()
        process.stdout.read()


def over_http(home: Path, form: ExportFormat) -> tuple[float, float, int]:
    with server(home) as (pid, address):
        asked = urllib.request.Request(f"{address}/api/items/export?format={form}", headers={"X-API-Key": KEY})
        began, size = time.monotonic(), 0
        with urllib.request.urlopen(asked, timeout=60) as answer:
            while written := answer.read(1 << 20):
                size += len(written)
        return most_memory(pid), time.monotonic() - began, size


WAYS = {"command": by_command, "HTTP": over_http}


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--few", type=int, default=10_000)
    parser.add_argument("--keep", type=Path, help="folder in which the stores stay, to be used again")
    asked = parser.parse_args(words)
    console, bars = Console(), []
    with kept_or_temporary(asked.keep, "exports") as folder:
        homes = {count: folder / str(count) for count in (asked.few, asked.items)}
        for count, home in homes.items():
            if not (home / FILLED).exists():
                home.mkdir(exist_ok=True)
                asyncio.run(fill(home, count))
                (home / FILLED).touch()
        for way, export in WAYS.items():
            for form in ExportFormat:
                few, _, _ = export(homes[asked.few], form)
                many, seconds, size = export(homes[asked.items], form)
                console.print(
                    f"{form} by {way}: {few:.1f} MB with {asked.few:,} items, {many:.1f} MB with {asked.items:,} "
                    f"({size / 1e6:,.0f} MB in {seconds:.0f} s)"
                )
                bars.append(Bar(name=f"{form} by {way}: more memory", measured=many - few, most=MOST_MB, unit="MB"))
    console.print(bars_table(bars))
    return 0 if all_met(bars) else 1


if __name__ == "__main__":
    sys.exit(main())
