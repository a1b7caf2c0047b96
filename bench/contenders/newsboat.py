"""newsboat, the feed reader for terminals, told to reload and quit. Its start, a moment, is part of each round."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from time import perf_counter

from bench.contest import Plan, Round, compete

#: It keeps validators from the second reload on, so it is the third that can be answered with 304.
ROUNDS = 3
CONFIG = "auto-reload no\ncleanup-on-quit no\nreload-threads {threads}\nshow-read-feeds yes\n"


def is_installed() -> bool:
    return shutil.which("newsboat") is not None


def rounds(plan: Plan) -> list[Round]:
    folder = Path(plan.folder)
    (folder / "urls").write_text("\n".join(plan.urls) + "\n", encoding="utf-8")
    (folder / "config").write_text(CONFIG.format(threads=plan.at_once), encoding="utf-8")
    cold, _, later = (_round(folder, len(plan.urls)) for _ in range(ROUNDS))
    return [cold, later]


def _round(folder: Path, feeds: int) -> Round:
    started = perf_counter()
    child = subprocess.Popen(
        ["newsboat", "-u", "urls", "-C", "config", "-c", "cache.db", "-x", "reload"],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        stdout=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(child.pid, 0)
    seconds = perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"newsboat failed with exit code {child.returncode}")
    return Round(
        feeds=feeds,
        items=_count(folder / "cache.db"),
        seconds=seconds,
        processor_seconds=usage.ru_utime + usage.ru_stime,
        peak_bytes=usage.ru_maxrss * 1024,
    )


def _count(cache: Path) -> int:
    with sqlite3.connect(cache) as db:
        count: int = db.execute("SELECT count(*) FROM rss_item").fetchone()[0]
    return count


if __name__ == "__main__":
    compete(rounds)
