"""The rhythm of a source: how often it brings something new, when it falls silent, and when items were missed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

#: Silences by which a rhythm is known well enough to adapt to it, and to miss something when it stops.
KNOWN_TO_ADAPT, KNOWN_TO_MISS = 3, 5
#: How much the newest silence counts against those before it.
WEIGHT = 0.1
#: The longest silence is forgotten slowly, so that a source may get livelier.
FORGETTING = 0.97
#: A source is quiet when it is silent for so many times its longest silence, its usual one, and this at least.
QUIET_SILENCES, QUIET_SPACINGS, QUIET_LEAST = 3, 10, timedelta(days=1)
#: Fewer items than this tell nothing about what lies between two visits.
LEAST_WINDOW = 3
#: Each time that items were missed the interval is halved, down to a sixteenth but not below five minutes; it is let
#: out again step by step.
MAX_SQUEEZE, RELAX_AFTER, LEAST_SQUEEZED = 4, timedelta(days=7), timedelta(minutes=5)
#: Arrivals that are looked at; the oldest of a long list say little about today.
MAX_ARRIVALS = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    #: When a visit last brought something new.
    last_new_at: datetime | None = None
    #: Seconds from one new item to the next, smoothed.
    spacing: float = 0.0
    #: Seconds of the longest silence of late.
    silence: float = 0.0
    #: How many silences are known.
    known: int = 0
    #: When a visit met nothing of what the one before had seen; None once they meet again.
    gap_at: datetime | None = None
    squeeze: int = 0
    squeezed_at: datetime | None = None

    def quiet_at(self) -> datetime | None:
        """From when on it counts as quiet unless it brings something new."""
        if self.last_new_at is None or self.known < KNOWN_TO_MISS:
            return None
        longest = max(QUIET_SILENCES * self.silence, QUIET_SPACINGS * self.spacing)
        return self.last_new_at + max(timedelta(seconds=longest), QUIET_LEAST)

    def adapted(self, now: datetime, *, floor: timedelta, ceiling: timedelta) -> timedelta | None:
        """Two looks for every item to be expected, fewer the longer it is silent; None if too little is known."""
        if self.last_new_at is None or self.known < KNOWN_TO_ADAPT:
            return None
        expected = max(self.spacing, (now - self.last_new_at).total_seconds() / 2)
        return min(max(timedelta(seconds=expected / 2), floor), ceiling)

    def squeezed(self, interval: timedelta, now: datetime) -> timedelta:
        """The interval as it is while items are being missed, or were of late."""
        if self.squeezed_at is None or self.squeezed_at > now:  # by a clock that was ahead
            return interval
        steps = self.squeeze - (now - self.squeezed_at) // RELAX_AFTER
        return min(interval, max(interval / 2**steps, LEAST_SQUEEZED)) if steps > 0 else interval


def learn(rhythm: Rhythm, published: Sequence[datetime | None], now: datetime) -> Rhythm:
    """The rhythm after new items arrived, with the time that each says it was published."""
    if not published:
        return rhythm
    silences = _silences(rhythm.last_new_at, published, now)
    spacing, longest = rhythm.spacing, rhythm.silence
    for count, silence in enumerate(silences, start=rhythm.known + 1):
        spacing += (silence - spacing) * max(WEIGHT, 1 / count)
        longest = max(longest * FORGETTING, silence)
    return replace(
        rhythm,
        last_new_at=now,
        spacing=spacing,
        silence=longest,
        known=min(rhythm.known + len(silences), MAX_ARRIVALS),
    )


def mark_gap(rhythm: Rhythm, now: datetime, *, new: int, known: int) -> Rhythm:
    """Two successive windows without a common item: what lay between them was missed."""
    if rhythm.last_new_at is not None and known == 0 and new >= LEAST_WINDOW:
        return replace(rhythm, gap_at=now, squeeze=min(rhythm.squeeze + 1, MAX_SQUEEZE), squeezed_at=now)
    return end_gap(rhythm) if known else rhythm


def end_gap(rhythm: Rhythm) -> Rhythm:
    """A visit met what was known. The interval stays as it is: it was the shorter one that let them meet."""
    return replace(rhythm, gap_at=None) if rhythm.gap_at else rhythm


def _silences(last: datetime | None, published: Sequence[datetime | None], now: datetime) -> list[float]:
    """Seconds between arrivals; items without a date are taken to have come evenly."""
    dated = _arrivals(last, published, now)
    if dated:
        moments = dated if last is None else [last, *dated]
        return [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    if last is None:
        return []
    count = min(len(published), MAX_ARRIVALS)
    return [max((now - last).total_seconds(), 0.0) / len(published)] * count


def _arrivals(last: datetime | None, published: Iterable[datetime | None], now: datetime) -> list[datetime]:
    """What was published since, oldest first; what comes from the future or the past says nothing."""
    plausible = (moment for moment in published if moment is not None and moment <= now)
    return sorted(moment for moment in plausible if last is None or moment > last)[-MAX_ARRIVALS:]


def to_json(rhythm: Rhythm) -> dict[str, Any]:
    """Only what is known, so that a source that never brought anything takes no room."""
    values = {name: getattr(rhythm, name) for name in _MOMENTS} | {name: getattr(rhythm, name) for name in _NUMBERS}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items() if value
    }


def from_json(stored: Mapping[str, Any]) -> Rhythm:
    if not stored:
        return Rhythm()
    values: dict[str, Any] = {name: datetime.fromisoformat(stored[name]) for name in _MOMENTS if name in stored}
    return Rhythm(**values, **{name: stored[name] for name in _NUMBERS if name in stored})


_MOMENTS = ("last_new_at", "gap_at", "squeezed_at")
_NUMBERS = ("spacing", "silence", "known", "squeeze")
