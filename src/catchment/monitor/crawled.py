"""How the crawler fares, in numbers: its cookies, and its requests to the platforms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from catchment.domain.cookie import Cookie, CookieStatus
from catchment.domain.note import Platform
from catchment.store import crawl_minutes
from catchment.store.crawl_minutes import Requests

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieNumbers:
    by_status: Mapping[tuple[Platform, CookieStatus], int]
    #: Those that could be lent now.
    available: Mapping[Platform, int]
    daily_used: int
    daily_limit: int

    @property
    def total(self) -> int:
        return sum(self.by_status.values())

    @property
    def are_spent(self) -> bool:
        """There are cookies, and none of them can be used."""
        return self.total > 0 and not any(self.available.values())

    @property
    def daily_usage_rate(self) -> float | None:
        return self.daily_used / self.daily_limit if self.daily_limit else None

    def of_status(self, status: CookieStatus) -> int:
        return sum(self.by_status.get((platform, status), 0) for platform in Platform)


def count_cookies(cookies: Iterable[Cookie]) -> CookieNumbers:
    """Of cookies as they are by now."""
    known = [*cookies]
    working = [one for one in known if one.is_enabled and one.status is CookieStatus.ACTIVE]
    return CookieNumbers(
        by_status=Counter((one.platform, one.status) for one in known),
        available=Counter(one.platform for one in working if one.daily_used < one.daily_limit),
        daily_used=sum(one.daily_used for one in working),
        daily_limit=sum(one.daily_limit for one in working),
    )


def read_requests(conn: Connection, *, now: datetime) -> Mapping[str, Requests]:
    """By platform, of the last 24 hours."""
    return crawl_minutes.count_since(conn, now - DAY)
