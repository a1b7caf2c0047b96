"""Time as a parameter: whoever needs the time is given a clock, so that tests move it instead of waiting.

A moment is written in one form, wherever it goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from time import monotonic
from typing import Protocol


def iso(moment: datetime, timespec: str = "milliseconds") -> str:
    """`YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Day:
    """A day as a zone counts them: from one midnight to the next, which may be 23 or 25 hours away."""

    day: date
    begins: datetime
    ends: datetime


def last_days(now: datetime, count: int, zone: tzinfo = UTC) -> list[Day]:
    """The last days in this zone, the oldest first and today last."""
    first = now.astimezone(zone).date() - timedelta(days=count - 1)
    dates = [first + timedelta(days=number) for number in range(count + 1)]
    midnights = [datetime.combine(one, time.min, zone).astimezone(UTC) for one in dates]
    return [Day(*one) for one in zip(dates[:-1], midnights[:-1], midnights[1:], strict=True)]


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
