"""A contest: a plan goes into a contender's own process, and how its rounds went comes out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.gauge import Stopwatch, family, peak_bytes

#: Every contender goes over so many other feeds, in rounds of each kind, before its clock starts: imports, pools and
#: statements are paid for by then.
WARM_UP = 8
#: A cold one and a later one.
KINDS_OF_ROUND = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    urls: Sequence[str]
    warm_up: Sequence[str]
    #: An empty folder for the contender's store.
    folder: str
    #: Requests in flight.
    at_once: int
    #: A cold round and so many later ones.
    later_rounds: int = 1
    #: Processes that collect side by side, where a contender can.
    processes: int = 1

    @property
    def rounds(self) -> int:
        return 1 + self.later_rounds

    @property
    def store(self) -> Path:
        return Path(self.folder) / "store.sqlite3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Once over all feeds. `items` is how many the store holds afterwards, those of the warm-up left out."""

    feeds: int
    items: int
    seconds: float
    processor_seconds: float
    peak_bytes: int

    @property
    def feeds_per_second(self) -> float:
        return self.feeds / self.seconds

    @property
    def processor_ms_per_feed(self) -> float:
        return self.processor_seconds * 1000 / self.feeds


def round_of(watch: Stopwatch, *, feeds: int, items: int) -> Round:
    return Round(
        feeds=feeds,
        items=items,
        seconds=watch.seconds,
        processor_seconds=watch.processor_seconds,
        peak_bytes=peak_bytes(family()),
    )


def compete(collect: Callable[[Plan], list[Round]]) -> None:
    """The child's side: read the plan, collect, and tell."""
    plan = Plan(**json.load(sys.stdin))
    json.dump([asdict(one) for one in collect(plan)], sys.stdout)


def play(contender: str, plan: Plan) -> list[Round]:
    """The parent's side: the rounds of `bench.contenders.<contender>`, in a process of its own."""
    child = subprocess.run(
        [sys.executable, "-m", f"bench.contenders.{contender}"],
        input=json.dumps(asdict(plan)),
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    if child.returncode:
        raise RuntimeError(f"{contender} failed with exit code {child.returncode}:\n{child.stderr}")
    found: list[dict[str, Any]] = json.loads(child.stdout)
    return [Round(**fields) for fields in found]
