"""When a source is looked at next: the one place where it is computed. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from catchment.domain.rhythm import Rhythm
from catchment.domain.source import NextCheck, Source, Why

#: What the other side asks for is honoured up to this, so that no header can put a source to sleep for good.
MAX_PATIENCE = timedelta(hours=24)
FIRST_RETRY = timedelta(minutes=5)
MAX_BACK_OFF = timedelta(hours=24)
#: Of which nothing is known yet.
STEADY = Rhythm()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Between what an interval may follow the rhythm of a source."""

    floor: timedelta
    ceiling: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Cadence:
    """All that the schedule of one source depends on, resolved."""

    interval: timedelta
    #: After how long a source paused by errors is tried again; None for never.
    probe_after: timedelta | None
    #: Set when the interval follows the source's rhythm.
    adapt: Bounds | None = None


def back_off(failures: int, interval: timedelta) -> timedelta:
    """After the first failure min(interval, 5 min), after the n-th min(24 h, interval × 2^(n-2))."""
    if failures <= 1:
        return min(interval, FIRST_RETRY)
    doublings = min(failures - 2, 32)
    # Compared as a ratio first: a timedelta overflows long before the factor does.
    if interval >= MAX_BACK_OFF / 2**doublings:
        return MAX_BACK_OFF
    return interval * int(2**doublings)


def next_fetch_at(source: Source, interval: timedelta) -> datetime | None:
    """The documented formula, blind to back-off and server wishes: last fetch plus interval."""
    if source.last_fetched_at is None or not source.is_active or source.is_deleted:
        return None
    return source.last_fetched_at + interval


def regular_check(last: datetime, cadence: Cadence, rhythm: Rhythm) -> NextCheck:
    """The next look after a success: at the interval, or at what the source's rhythm makes of it."""
    adapted = rhythm.adapted(last, floor=cadence.adapt.floor, ceiling=cadence.adapt.ceiling) if cadence.adapt else None
    wanted = adapted or cadence.interval
    squeezed = rhythm.squeezed(wanted, last)
    why = Why.GAP if squeezed < wanted else Why.ADAPTED if adapted else Why.INTERVAL
    return NextCheck(at=last + squeezed, why=why)


def after_success(
    now: datetime, cadence: Cadence, *, fresh_for: timedelta | None, rhythm: Rhythm = STEADY
) -> NextCheck:
    check = regular_check(now, cadence, rhythm)
    if fresh_for is not None and check.at is not None and now + min(fresh_for, MAX_PATIENCE) > check.at:
        return NextCheck(at=now + min(fresh_for, MAX_PATIENCE), why=Why.SERVER_CACHE)
    return check


def after_failure(now: datetime, cadence: Cadence, *, failures: int, retry_after: timedelta | None) -> NextCheck:
    wait = back_off(failures, cadence.interval)
    if retry_after is not None and min(retry_after, MAX_PATIENCE) > wait:
        return NextCheck(at=now + min(retry_after, MAX_PATIENCE), why=Why.RETRY_AFTER)
    return NextCheck(at=now + wait, why=Why.BACK_OFF)


def after_pause_by_error(now: datetime, cadence: Cadence) -> NextCheck:
    if cadence.probe_after is None:
        return NextCheck(at=None, why=None)
    return NextCheck(at=now + cadence.probe_after, why=Why.PROBE)


def after_excuse(now: datetime, cadence: Cadence, why: Why) -> NextCheck:
    return NextCheck(at=now + min(cadence.interval, FIRST_RETRY), why=why)


def without_fetcher(now: datetime, cadence: Cadence) -> NextCheck:
    return NextCheck(at=now + cadence.interval, why=Why.NO_FETCHER)


def after_interval_change(source: Source, cadence: Cadence) -> NextCheck:
    """The next check under a new interval. What the other side asked for and what we back off from stays."""
    if source.next_check.at is None or not source.is_active:
        return source.next_check
    if source.last_fetched_at is None:
        return source.next_check
    if source.fetch_error_count > 0 and source.last_attempt_at is not None:
        if source.next_check.why is not Why.BACK_OFF:
            return source.next_check
        return after_failure(source.last_attempt_at, cadence, failures=source.fetch_error_count, retry_after=None)
    regular = regular_check(source.last_fetched_at, cadence, source.rhythm)
    if source.next_check.why is Why.SERVER_CACHE and regular.at is not None and source.next_check.at > regular.at:
        return source.next_check
    return regular
