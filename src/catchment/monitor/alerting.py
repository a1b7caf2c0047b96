"""Alerts and cookies as those who ask about them are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from catchment.domain.alert import Alert
from catchment.domain.caller import Caller
from catchment.domain.cookie import Cookie, CookieStatus
from catchment.domain.note import Platform
from catchment.domain.scrape_task import TaskStatus
from catchment.settings import Settings
from catchment.store import alerts, fetch_log, scrape_tasks, spending
from catchment.store.fetch_log import Requests

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class XNumbers:
    #: Tasks of the last 24 hours, by how they ended or that they run.
    tasks_24h: Mapping[str, int]
    #: Users of those tasks who could not be scraped.
    failed_users_24h: int
    #: Why the latest of them could not.
    last_failure: str | None
    #: Where no cap is set, it is 0.
    pages_today: int
    daily_cap: int
    pages_this_month: int
    monthly_cap: int


def read_x(conn: Connection, settings: Settings, *, now: datetime) -> XNumbers:
    tasks = [task for task in scrape_tasks.list_all(conn) if task.created_at > now - DAY]
    failed = [one for task in tasks for one in task.outcomes if not one.success]
    spent = spending.spent(conn, now.date())
    counts = Counter(task.status for task in tasks)
    return XNumbers(
        tasks_24h={status: counts[status] for status in TaskStatus if status is not TaskStatus.PENDING},
        failed_users_24h=len(failed),
        last_failure=f"@{failed[0].username}: {failed[0].error_message}" if failed else None,
        pages_today=spent.day,
        daily_cap=settings.twitter_daily_pages,
        pages_this_month=spent.month,
        monthly_cap=settings.twitter_monthly_pages,
    )


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
    return fetch_log.count_requests(conn, now - DAY)


#: For how long one that ended is still shown.
RECENT = timedelta(days=1)
MAX_SHOWN = 200


def list_alerts(conn: Connection, caller: Caller, *, now: datetime, within: timedelta = RECENT) -> list[Alert]:
    """What fires and what ended of late, as far as it is the caller's business; strangers are told nothing."""
    if not caller.is_known:
        return []
    return alerts.list_shown(conn, caller, ended_since=now - within, limit=MAX_SHOWN)


def count_open(conn: Connection, caller: Caller) -> int:
    """How many fire, of those that somebody known is told of."""
    return alerts.count_open(conn, caller, limit=MAX_SHOWN)
