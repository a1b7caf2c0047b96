"""What the rules of alerts look at, counted and listed over many tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, func, or_, select

from catchment.domain.alert_rules import SilentWebhook, SourceTrouble, TroubledSource
from catchment.domain.source import RESTING, PausedBy
from catchment.store.runs import running_on
from catchment.store.tables import candidates, outbox, scraper_fetch_stats, sources, webhooks

#: When more are in trouble at once, it is not theirs.
MAX_SOURCES = 1000
_PENDING = 0


def troubled_sources(conn: Connection, *, now: datetime) -> list[TroubledSource]:
    is_broken = sources.c.paused_by.in_([PausedBy.ERROR, PausedBy.GONE])
    is_quiet = and_(sources.c.is_active.is_(True), sources.c.quiet_at <= now)
    columns = (sources.c.id, sources.c.name, sources.c.last_error, sources.c.gap_at, sources.c.quiet_at)
    statement = (
        select(*columns, is_broken.label("is_broken"), is_quiet.label("is_quiet"))
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
        yield SourceTrouble.BROKEN, row.last_error or "nobody knows why"
    if row.is_quiet:
        yield SourceTrouble.QUIET, f"though something was to be expected by {row.quiet_at:%Y-%m-%d %H:%M} UTC"
    if row.gap_at is not None:
        yield SourceTrouble.GAP, f"as was seen at {row.gap_at:%Y-%m-%d %H:%M} UTC"


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
