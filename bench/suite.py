"""How long the tests take: `make test` as somebody types it, by the clock on the wall.

Not part of `python -m bench`, which it would double: `python -m bench.suite`, on a machine with nothing else to do.
"""
# proves: S-05

from __future__ import annotations

import os
import subprocess
import sys
import time

from rich.console import Console

from bench.bars import Bar, bars_table

MAX_MINUTES = 6.0


def main() -> int:
    began = time.perf_counter()
    code = subprocess.run(["make", "test"], check=False).returncode
    minutes = (time.perf_counter() - began) / 60
    Console().print(bars_table([_bar(minutes)]))
    return code or int(minutes > MAX_MINUTES)


def _bar(minutes: float) -> Bar:
    return Bar(name=f"`make test` on {os.cpu_count()} cores", measured=minutes, most=MAX_MINUTES, unit="min")


if __name__ == "__main__":
    sys.exit(main())
