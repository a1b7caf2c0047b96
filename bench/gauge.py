"""What a process and all those it started take: time, processor and memory. Reads /proc, so Linux only."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self

import psutil  # type: ignore[import-untyped]

MEGABYTE = 1_000_000


def family(pid: int | None = None) -> list[psutil.Process]:
    """A process (this one, unless told) and everybody below it, such as the members of a crew."""
    head = psutil.Process(pid)
    return [head, *head.children(recursive=True)]


def processor_seconds(members: list[psutil.Process]) -> float:
    """Of those that are still there, and of what each of them started that ended since: collectors and PostgreSQL's
    helpers come and go.
    """
    total = 0.0
    for member in members:
        with suppress(psutil.NoSuchProcess):
            times = member.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


def peak_bytes(members: list[psutil.Process]) -> int:
    """The high-water marks added up; what the processes share counts for each of them."""
    return sum(_high_water(member.pid) for member in members)


def resident_bytes(pid: int) -> int:
    """What the family holds now; members that end while they are looked at count as nothing."""
    total = 0
    for member in family(pid):
        try:
            total += member.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total


def _high_water(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    kibibytes = next(line for line in lines if line.startswith("VmHWM:")).split()[1]
    return int(kibibytes) * 1024


class Stopwatch:
    """Wall clock and processor time of this family from entry to exit."""

    def __enter__(self) -> Self:
        self._cpu = processor_seconds(family())
        self._start = perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = perf_counter() - self._start
        self.processor_seconds = processor_seconds(family()) - self._cpu
