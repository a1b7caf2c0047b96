"""Time as a parameter: whoever needs the time is given a clock, so that tests move it instead of waiting.

A moment is written in one form, wherever it goes.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Protocol


def iso(moment: datetime, timespec: str = "milliseconds") -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware and in UTC."""
        ...

    def elapsed(self) -> float:
        """Seconds since some beginning, which go on evenly however the clock is set."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def elapsed(self) -> float:
        return monotonic()


class ManualClock:
    """A clock that stands still until it is moved."""

    def __init__(self, at: datetime) -> None:
        self._at = at
        self._elapsed = 0.0

    def now(self) -> datetime:
        return self._at

    def elapsed(self) -> float:
        return self._elapsed

    def advance(self, step: timedelta) -> None:
        """Let time pass. It does not pass backward: that sets the clock."""
        self._at += step
        self._elapsed += max(step.total_seconds(), 0.0)

    def jump(self, step: timedelta) -> None:
        """Set the clock, while no time passes."""
        self._at += step
