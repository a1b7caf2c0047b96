"""The cookies of a platform together: which one is next, how long to wait for one, and how long they will last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from catchment.domain.cookie import LOST, Cookie, CookiePolicy, CookieStatus, as_of
from catchment.domain.note import Platform

HOUR = timedelta(hours=1)
#: A cookie that is worn out by then is named in the forecast.
SOON = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """Which cookie is asked for: any of the platform, or one by its name, but none of those that failed already."""

    platform: Platform
    name: str | None = None
    excluded: frozenset[str] = frozenset()

    def allows(self, cookie: Cookie) -> bool:
        is_it = self.name is None or cookie.name == self.name
        return is_it and cookie.platform is self.platform and cookie.name not in self.excluded


def is_available(cookie: Cookie, now: datetime, policy: CookiePolicy) -> bool:
    """Whether it may be used at all; it may still be lent out, or have been used just now."""
    current = as_of(cookie, now, policy)
    is_active = current.is_enabled and current.status is CookieStatus.ACTIVE
    return is_active and current.daily_used < current.daily_limit


def in_order(cookies: Iterable[Cookie], now: datetime, policy: CookiePolicy) -> list[Cookie]:
    """The best first."""
    today = policy.today(now)
    return sorted(cookies, key=lambda cookie: (-cookie.priority, cookie.used_on_day(today), cookie.name))


def free_at(cookie: Cookie, policy: CookiePolicy) -> datetime | None:
    """When it may be used next for all that its last use says; None for any time."""
    return None if cookie.last_used_at is None else cookie.last_used_at + policy.spacing


def choose(
    cookies: Iterable[Cookie], want: Want, *, lent: Collection[str], now: datetime, policy: CookiePolicy
) -> Cookie | None:
    """The cookie to lend now. The store asks the same of its rows in one statement."""
    for cookie in in_order(cookies, now, policy):
        is_free = cookie.name not in lent and (free_at(cookie, policy) or now) <= now
        if is_free and want.allows(cookie) and is_available(cookie, now, policy):
            return cookie
    return None


def wait_for_one(
    usable: Iterable[Cookie], *, lent: Collection[str], now: datetime, policy: CookiePolicy, at_most: timedelta
) -> timedelta:
    """How long until it is worth asking again for one of those that may be used; nobody knows of one that is lent."""
    waits = [(free_at(cookie, policy) or now) - now for cookie in usable if cookie.name not in lent]
    return min([at_most, *(max(timedelta(), wait) for wait in waits)])


def next_back_at(cookies: Iterable[Cookie], now: datetime, policy: CookiePolicy) -> datetime | None:
    """When the next of those that may not be used at the moment may be again, by itself."""
    backs = [back for cookie in cookies if (back := _back_at(cookie, now, policy)) is not None]
    return min(backs, default=None)


def _back_at(cookie: Cookie, now: datetime, policy: CookiePolicy) -> datetime | None:
    current = as_of(cookie, now, policy)
    if not current.is_enabled or current.status in LOST:
        return None
    waits = [current.cooling_until] if current.cooling_until is not None else []
    if current.daily_used >= current.daily_limit:
        waits.append(policy.midnight(now))
    return max(waits, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wear:
    """When a cookie will be invalid if its errors go on as they did."""

    name: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    platform: Platform
    total: int
    available: int
    remaining_today: int
    #: Requests in the last hour, which the rest supposes to go on.
    per_hour: int
    #: When none is left before the day is over; None when they last.
    dry_at: datetime | None
    next_back_at: datetime | None
    wearing_out: tuple[Wear, ...] = ()

    @property
    def sentence(self) -> str:
        if self.available == 0:
            back = f"the next is back at {_clock_time(self.next_back_at)}" if self.next_back_at else "none comes back"
            return f"The pool of {self.platform} is dry; {back}."
        if self.dry_at is None:
            return f"At {self.per_hour} requests an hour the pool of {self.platform} lasts for today."
        return f"At {self.per_hour} requests an hour the pool of {self.platform} is dry at {_clock_time(self.dry_at)}."


def forecast(
    platform: Platform, cookies: Sequence[Cookie], *, used_last_hour: int, now: datetime, policy: CookiePolicy
) -> Forecast:
    usable = [cookie for cookie in cookies if is_available(cookie, now, policy)]
    left = sum(_left_today(cookie, now, policy) for cookie in usable)
    return Forecast(
        platform=platform,
        total=len(cookies),
        available=len(usable),
        remaining_today=left,
        per_hour=used_last_hour,
        dry_at=_dry_at(left, _returns(cookies, now, policy), used_last_hour, now, policy) if usable else None,
        next_back_at=next_back_at(cookies, now, policy),
        wearing_out=_wearing_out(usable, now, policy),
    )


def _left_today(cookie: Cookie, now: datetime, policy: CookiePolicy) -> int:
    return max(0, cookie.daily_limit - cookie.used_on_day(policy.today(now)))


def _returns(cookies: Iterable[Cookie], now: datetime, policy: CookiePolicy) -> list[tuple[datetime, int]]:
    """When cookies that cool down come back today, and how many requests each brings."""
    current = [as_of(cookie, now, policy) for cookie in cookies if cookie.is_enabled]
    return sorted(
        (one.cooling_until, _left_today(one, now, policy)) for one in current if one.cooling_until is not None
    )


def _dry_at(
    left: int, returns: Sequence[tuple[datetime, int]], per_hour: int, now: datetime, policy: CookiePolicy
) -> datetime | None:
    if per_hour == 0:
        return None
    dry = now + HOUR * left / per_hour
    for back, brings in returns:
        if back <= dry:
            dry += HOUR * brings / per_hour
    return dry if dry < policy.midnight(now) else None


def _wearing_out(cookies: Iterable[Cookie], now: datetime, policy: CookiePolicy) -> tuple[Wear, ...]:
    wears = [wear for cookie in cookies if (wear := _wear(cookie, now, policy)) is not None and wear.at <= now + SOON]
    return tuple(sorted(wears, key=lambda wear: wear.at))


def _wear(cookie: Cookie, now: datetime, policy: CookiePolicy) -> Wear | None:
    """Supposing that the errors to come are as far apart as those since it was added."""
    if cookie.total_errors == 0:
        return None
    apart = (now - cookie.counted_since) / cookie.total_errors
    return Wear(name=cookie.name, at=now + apart * max(0, policy.most_in_all - cookie.total_errors))


def _clock_time(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
