"""When the clock jumps: told by time that passed beside it, and by stored moments that have not come yet. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

#: Clocks of machines differ a little, and are set right by seconds; none of that is a jump.
TOLERANCE = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What the clock said, and how many seconds had passed since some beginning, whatever the clock says."""

    at: datetime
    elapsed: float


def jump_between(before: Reading, after: Reading) -> timedelta | None:
    """How far the clock jumped, backward if negative; a machine that slept woke up to a jump as well."""
    jump = (after.at - before.at) - timedelta(seconds=after.elapsed - before.elapsed)
    return jump if abs(jump) > TOLERANCE else None


def not_before(now: datetime) -> datetime:
    """Whatever is later than this and was put down as past was put down by a clock that was ahead."""
    return now + TOLERANCE


def described_jump(jump: timedelta) -> str:
    direction = "forward" if jump > timedelta(0) else "back"
    return f"The clock jumped {direction} by {_rounded(abs(jump))}."


def _rounded(duration: timedelta) -> str:
    if duration >= timedelta(days=2):
        return f"{duration.days:,} days"
    if duration >= timedelta(hours=2):
        return f"{duration // timedelta(hours=1)} hours"
    return f"{duration // timedelta(minutes=1)} minutes"
