"""Looking for what deserves an alert: everything that the rules look at, read at one moment."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from sqlalchemy import Connection

from catchment.domain.alert import Alert
from catchment.domain.alert_rules import (
    INCIDENT_WINDOW,
    LATE_AFTER,
    REQUEST_WINDOW,
    AlertSnapshot,
    RequestCount,
    Room,
    Spending,
)
from catchment.domain.caller import Caller
from catchment.domain.cookie import Cookie, CookiePolicy, CookieStatus
from catchment.domain.cookie_pool import Forecast, forecast
from catchment.domain.note import Platform
from catchment.domain.run import SCRAPER_JOB
from catchment.store import alert_queries, alerts, cookies, crawl_minutes, jobs, spending
from catchment.store.alerts import Incident
from catchment.store.crawl_minutes import Requests
from catchment.store.spending import Caps, Period

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


HOUR = timedelta(hours=1)
#: For how long one that ended is still shown.
RECENT = timedelta(days=1)
MAX_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertInputs:
    """What is looked at besides the store."""

    #: The types of sources that need the cookies of each platform.
    crawled: Mapping[Platform, str]
    cookies: CookiePolicy
    caps: Caps
    #: More notes than this that wait to be collected are a backlog.
    most_pending: int
    #: On the disk that must not fill up.
    folder: Path


def gather(conn: Connection, watched: AlertInputs, *, now: datetime) -> AlertSnapshot:
    incidents = alerts.count_incidents(conn, since=now - INCIDENT_WINDOW)
    requests = crawl_minutes.count_since(conn, now - REQUEST_WINDOW)
    return AlertSnapshot(
        at=now,
        cookies=tuple(_cookies(conn, watched, now)),
        requests=tuple(RequestCount(platform=name, ok=one.ok, failed=one.failed) for name, one in requests.items()),
        pending_notes=alert_queries.count_pending_notes(conn),
        most_pending=watched.most_pending,
        recovered_executions=incidents.get(Incident.EXECUTIONS_RECOVERED, 0),
        recovered_records=incidents.get(Incident.RECORDS_RECOVERED, 0),
        invalid_notes=incidents.get(Incident.INVALID_INPUT, 0),
        sources=tuple(alert_queries.troubled_sources(conn, now=now)),
        late_sources=alert_queries.count_late(conn, due_before=now - LATE_AFTER),
        x_key_refused=_unless_read_since(conn, Incident.X_KEY_REFUSED),
        x_no_credit=_unless_read_since(conn, Incident.X_NO_CREDIT),
        x_rate_limited=_of_late(conn, Incident.X_RATE_LIMITED, now),
        x_scrape_failed=_scrape_failed(conn),
        spending=_spending(conn, watched.caps, now),
        room=room_at(watched.folder),
        webhooks=tuple(alert_queries.silent_webhooks(conn)),
    )


def list_alerts(conn: Connection, caller: Caller, *, now: datetime) -> list[Alert]:
    """What fires and what ended of late, as far as it is the caller's business; strangers are told nothing."""
    if not caller.is_known:
        return []
    return alerts.list_shown(
        conn, caller.user_id, all_sources=caller.sees_all, ended_since=now - RECENT, limit=MAX_SHOWN
    )


def room_at(folder: Path) -> Room | None:
    """None where there is no such folder, as beside a store on another machine."""
    try:
        usage = shutil.disk_usage(folder)
    except FileNotFoundError:
        return None
    return Room(path=str(folder), free=usage.free, total=usage.total)


def _cookies(conn: Connection, watched: AlertInputs, now: datetime) -> list[Forecast]:
    """Of the platforms that somebody means to crawl: there are cookies, or a source that needs them."""
    used = cookies.uses_since(conn, now - HOUR)
    searched = alert_queries.active_types(conn, watched.crawled.values())
    pools = {platform: cookies.list_all(conn, platform) for platform in watched.crawled}
    return [
        forecast(platform, pool, used_last_hour=used.get(platform, 0), now=now, policy=watched.cookies)
        for platform, pool in pools.items()
        if pool or watched.crawled[platform] in searched
    ]


def _unless_read_since(conn: Connection, kind: Incident) -> str | None:
    """What the provider of X said, unless something could be read after it."""
    said = alerts.last_incident(conn, kind)
    if said is None:
        return None
    at, message = said
    read_at = alert_queries.last_read_of_x(conn)
    return None if read_at is not None and read_at > at else message


def _of_late(conn: Connection, kind: Incident, now: datetime) -> str | None:
    """The same, and in any case what was said just now: it happened, even if others fared better after it."""
    said = alerts.last_incident(conn, kind)
    is_late = said is not None and said[0] > now - INCIDENT_WINDOW
    return said[1] if said and is_late else _unless_read_since(conn, kind)


def _scrape_failed(conn: Connection) -> str | None:
    """Unless it was turned off since."""
    state = jobs.find(conn, SCRAPER_JOB)
    is_failing = state is not None and state.last_ok is False and state.due_at is not None
    return state.last_message if state and is_failing else None


def _spending(conn: Connection, caps: Caps, now: datetime) -> tuple[Spending, ...]:
    spent = spending.spent(conn, now.date())
    return (
        Spending(period=Period.DAY, pages=spent.day, cap=caps.day),
        Spending(period=Period.MONTH, pages=spent.month, cap=caps.month),
    )
