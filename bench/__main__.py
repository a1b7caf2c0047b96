"""`python -m bench`: what `make bench` runs. The soak takes minutes and has a command of its own."""

from __future__ import annotations

import sys

from rich.console import Console

from bench import collect, due, feeds, pages
from bench.bars import all_met, bars_table


def main() -> int:
    found = [*collect.run(sys.argv[1:]), *due.run([]), *pages.run([])]
    feeds.run([])
    console = Console()
    console.rule("Summary")
    console.print(bars_table(found), "The soak: python bench/soak.py --minutes 3")
    return 0 if all_met(found) else 1


if __name__ == "__main__":
    sys.exit(main())
