"""What the rules of alerts look at: everything, over many tables and beside them, as it is at one moment."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Row, and_, func, or_, select

from catchment.domain.alert_rules import (
    INCIDENT_WINDOW,
    LATE_AFTER,
    REQUEST_WINDOW,
    AlertSnapshot,
    RequestCount,
    Room,
    SilentWebhook,
    SourceTrouble,
    Spending,
    TroubledSource,
)
from catchment.domain.cookie import CookiePolicy
from catchment.domain.cookie_pool import Forecast, forecast
from catchment.domain.note import Platform
from catchment.domain.run import SCRAPER_JOB
from catchment.domain.source import RESTING, PausedBy
from catchment.store import cookies as cookie_store
from catchment.store import fetch_log, incidents, jobs, spending
from catchment.store.incidents import Incident
from catchment.store.platform_tables import scraper_fetch_stats
from catchment.store.runs import running_on
from catchment.store.spending import Caps, Period
from catchment.store.tables import candidates, outbox, sources, webhooks

HOUR = timedelta(hours=1)
#: When more are in trouble at once, it is not theirs.
MAX_SOURCES = 1000
_PENDING = 0


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
    counts = incidents.count_by_kind(conn, since=now - INCIDENT_WINDOW)
    requests = fetch_log.count_requests(conn, now - REQUEST_WINDOW)
    return AlertSnapshot(
        at=now,
        cookies=tuple(_cookies(conn, watched, now)),
        requests=tuple(RequestCount(platform=name, ok=one.ok, failed=one.failed) for name, one in requests.items()),
        pending_notes=count_pending_notes(conn),
        most_pending=watched.most_pending,
        recovered_executions=counts.get(Incident.EXECUTIONS_RECOVERED, 0),
        recovered_records=counts.get(Incident.RECORDS_RECOVERED, 0),
        invalid_notes=counts.get(Incident.INVALID_INPUT, 0),
        sources=tuple(troubled_sources(conn, now=now)),
        late_sources=count_late(conn, due_before=now - LATE_AFTER),
        x_key_refused=_unless_read_since(conn, Incident.X_KEY_REFUSED),
        x_no_credit=_unless_read_since(conn, Incident.X_NO_CREDIT),
        x_rate_limited=_of_late(conn, Incident.X_RATE_LIMITED, now),
        x_scrape_failed=_scrape_failed(conn),
        spending=_spending(conn, watched.caps, now),
        room=room_at(watched.folder),
        webhooks=tuple(silent_webhooks(conn)),
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
    used = cookie_store.uses_since(conn, now - HOUR)
    searched = active_types(conn, watched.crawled.values())
    pools = {platform: cookie_store.list_all(conn, platform) for platform in watched.crawled}
    return [
        forecast(platform, pool, used_last_hour=used.get(platform, 0), now=now, policy=watched.cookies)
        for platform, pool in pools.items()
        if pool or watched.crawled[platform] in searched
    ]


def _unless_read_since(conn: Connection, kind: Incident) -> str | None:
    """What the provider of X said, unless something could be read after it."""
    said = incidents.last_of(conn, kind)
    if said is None:
        return None
    at, message = said
    read_at = last_read_of_x(conn)
    return None if read_at is not None and read_at > at else message


def _of_late(conn: Connection, kind: Incident, now: datetime) -> str | None:
    """The same, and in any case what was said just now: it happened, even if others fared better after it."""
    said = incidents.last_of(conn, kind)
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


def troubled_sources(conn: Connection, *, now: datetime) -> list[TroubledSource]:
    is_broken = sources.c.paused_by.in_([PausedBy.ERROR, PausedBy.GONE])
    is_quiet = and_(sources.c.is_active.is_(True), sources.c.quiet_at <= now)
    told = (sources.c.last_error, sources.c.paused_by, sources.c.gap_at, sources.c.quiet_at)
    statement = (
        select(sources.c.id, sources.c.name, *told, is_broken.label("is_broken"), is_quiet.label("is_quiet"))
        .where(sources.c.is_deleted.is_(False), or_(is_broken, is_quiet, sources.c.gap_at.is_not(None)))
        .order_by(sources.c.id)
        .limit(MAX_SOURCES)
    )
    return [
        TroubledSource(id=row.id, name=row.name, trouble=trouble, detail=detail)
        for row in conn.execute(statement)
        for trouble, detail in _troubles(row)
    ]


def _troubles(row: Row[Any]) -> Iterator[tuple[SourceTrouble, str]]:
    if row.is_broken:
        trouble = SourceTrouble.GONE if row.paused_by == PausedBy.GONE else SourceTrouble.BROKEN
        yield trouble, row.last_error or "nobody knows why"
    if row.is_quiet:
        yield SourceTrouble.QUIET, f"{row.quiet_at:%Y-%m-%d %H:%M} UTC"
    if row.gap_at is not None:
        yield SourceTrouble.GAP, f"{row.gap_at:%Y-%m-%d %H:%M} UTC"


def count_late(conn: Connection, *, due_before: datetime) -> int:
    """Sources that wait for a collector since then."""
    waiting = (sources.c.next_check_at <= due_before) & ~running_on(sources.c.id)
    return conn.execute(select(func.count()).select_from(sources).where(waiting)).scalar_one()


def active_types(conn: Connection, types: Collection[str]) -> set[str]:
    """Those of the types that some source is of, unless it is paused by hand or with its owner."""
    is_wanted = or_(sources.c.paused_by.is_(None), sources.c.paused_by.not_in(RESTING))
    wanted = (sources.c.type.in_(types), sources.c.is_deleted.is_(False), is_wanted)
    return set(conn.execute(select(sources.c.type).where(*wanted).distinct()).scalars())


def count_pending_notes(conn: Connection) -> int:
    """Of sources that are at work: what nobody means to collect is no backlog."""
    pending = and_(candidates.c.platform.is_not(None), candidates.c.state == _PENDING)
    is_at_work = and_(sources.c.is_deleted.is_(False), sources.c.is_active.is_(True))
    found = candidates.join(sources, sources.c.id == candidates.c.source_id)
    return conn.execute(select(func.count()).select_from(found).where(pending, is_at_work)).scalar_one()


def last_read_of_x(conn: Connection) -> datetime | None:
    """When a timeline was last read, to its end or not."""
    latest = select(scraper_fetch_stats.c.updated_at).order_by(scraper_fetch_stats.c.updated_at.desc()).limit(1)
    return conn.execute(latest).scalar_one_or_none()


def silent_webhooks(conn: Connection) -> list[SilentWebhook]:
    """Those to which events were given up, and which took in nothing since."""
    failing = select(outbox.c.webhook_id).where(outbox.c.dead_at.is_not(None))
    taken_in = (
        select(outbox.c.webhook_id, func.max(outbox.c.delivered_at).label("last_at"))
        .where(outbox.c.webhook_id.in_(failing))
        .group_by(outbox.c.webhook_id)
        .subquery()
    )
    statement = (
        select(webhooks.c.id, webhooks.c.name, func.count())
        .join(outbox, outbox.c.webhook_id == webhooks.c.id)
        .join(taken_in, taken_in.c.webhook_id == webhooks.c.id)
        .where(
            webhooks.c.is_active.is_(True),
            outbox.c.dead_at.is_not(None),
            or_(taken_in.c.last_at.is_(None), outbox.c.dead_at > taken_in.c.last_at),
        )
        .group_by(webhooks.c.id, webhooks.c.name)
        .order_by(webhooks.c.id)
    )
    return [SilentWebhook(id=id_, name=name, given_up=count) for id_, name, count in conn.execute(statement)]
