"""A contest: every contender is a command that goes once over its feeds, timed from its start to its end.

What starting takes by itself is timed first, with nothing to collect, and taken off.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Protocol

ROOT = Path(__file__).parent.parent
PYTHON = sys.executable


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    urls: Sequence[str]
    #: A folder of the contender's own, empty at first.
    folder: Path
    #: Requests in flight.
    at_once: int

    @property
    def store(self) -> Path:
        return self.folder / "store.sqlite3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    words: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: Path = ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Of a process with all that it started."""

    seconds: float
    processor_seconds: float

    def __sub__(self, other: Cost) -> Cost:
        seconds, processor = self.seconds - other.seconds, self.processor_seconds - other.processor_seconds
        return Cost(seconds=seconds, processor_seconds=processor)


class Contender(Protocol):
    title: str
    #: Whether the bars are about its later rounds as well.
    goes_again: bool

    def make_store(self, plan: Plan) -> None:
        """Whatever a round needs to be possible at all."""
        ...

    def add_feeds(self, plan: Plan) -> None: ...

    def make_due(self, plan: Plan) -> None: ...

    def command(self, plan: Plan) -> Command:
        """Goes over the feeds that were added; over none where none were."""
        ...

    def count(self, plan: Plan) -> int:
        """How many items the store holds."""
        ...


def timed(command: Command) -> Cost:
    # Empty, as it is for users: else what a contender imports late is compiled anew in every run.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **command.environment}
    log = (command.folder if command.folder != ROOT else Path("/tmp")) / f"bench-{os.getpid()}.log"
    started = perf_counter()
    with log.open("wb") as out:
        child = subprocess.Popen(command.words, env=environment, cwd=command.folder, stdout=out, stderr=out)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    said = log.read_text(encoding="utf-8", errors="replace")
    log.unlink()
    if child.returncode:
        raise RuntimeError(f"{command.words} ended with {child.returncode}:\n{said[-2000:]}")
    return Cost(seconds=seconds, processor_seconds=usage.ru_utime + usage.ru_stime)
