"""`python -m bench`: what `make bench` runs, with all bars in one table at its end.

Words that follow are for the first script, `bench/collect.py`. The soak takes minutes and has a command of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from rich.console import Console

from bench import collect, commands, due, feeds, pages, scale, workers
from bench.bars import Bar, all_met, bars_table

Run = Callable[[Sequence[str]], list[Bar]]
#: In the order of what they prove: S-01, S-02, S-03, A-28.
SCRIPTS: Sequence[Run] = (collect.run, commands.run, pages.run, due.run)


def main() -> int:
    found: list[Bar] = []
    for number, run in enumerate(SCRIPTS):
        found += run(sys.argv[1:] if number == 0 else [])
    # S-04: the day goes by the pace that workers had in this very run.
    of_workers, pace = workers.run_for_pace([])
    found += [*of_workers, *scale.run(["--feeds-per-second", f"{pace:.1f}"])]
    feeds.run([])
    console = Console()
    console.rule("Summary")
    console.print(bars_table(found), "The soak: python bench/soak.py --minutes 3")
    return 0 if all_met(found) else 1


if __name__ == "__main__":
    sys.exit(main())
