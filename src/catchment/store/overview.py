"""The whole at a glance: counts and short lists over all tables, for status pages and metrics."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Connection, String, and_, case, cast, func, select, text, true

from catchment.domain.caller import Caller
from catchment.domain.run import RunKind
from catchment.domain.source import PausedBy, Source, Why
from catchment.store.changes import CATALOGUE, Cause
from catchment.store.runs import IS_RUNNING, list_running
from catchment.store.sources import MANY_HOSTS, get_many, seen_by
from catchment.store.tables import changes, fetch_log, raw_items, runs, sources

_IS_CLAIMED = and_(runs.c.kind == RunKind.SOURCE, IS_RUNNING)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCounts:
    total: int
    active: int
    paused: int
    paused_by_error: int
    gone: int
    failing: int
    never_fetched: int


def count_sources(conn: Connection, caller: Caller) -> SourceCounts:
    """What is not deleted and may be seen, by health."""
    active = sources.c.is_active.is_(True)
    statement = select(
        func.count(),
        func.count().filter(active),
        func.count().filter(sources.c.paused_by == PausedBy.ERROR),
        func.count().filter(sources.c.paused_by == PausedBy.GONE),
        func.count().filter(active, sources.c.fetch_error_count > 0),
        func.count().filter(active, sources.c.fetch_error_count == 0, sources.c.last_fetched_at.is_(None)),
    ).where(seen_by(caller))
    total, running, by_error, gone, failing, never = conn.execute(statement).one()
    return SourceCounts(
        total=total,
        active=running,
        paused=total - running,
        paused_by_error=by_error,
        gone=gone,
        failing=failing,
        never_fetched=never,
    )


def list_by_attention(conn: Connection, caller: Caller, *, limit: int) -> list[Source]:
    """Those that need a person first: paused by errors or gone, failing, then the most recently visited."""
    if not limit:
        return []
    need = case(
        (sources.c.paused_by.in_([PausedBy.ERROR, PausedBy.GONE]), 0), (sources.c.fetch_error_count > 0, 1), else_=2
    )
    ids = conn.execute(
        select(sources.c.id)
        .where(seen_by(caller))
        .order_by(need, sources.c.last_attempt_at.desc().nulls_last(), sources.c.id)
        .limit(limit)
    ).scalars()
    return get_many(conn, list(ids))


def count_due(conn: Connection, caller: Caller, *, now: datetime) -> int:
    """Sources that may be seen whose time has come and on which nobody works yet."""
    is_free = cast(sources.c.id, String).not_in(select(runs.c.subject).where(_IS_CLAIMED))
    # What is deleted is never due, so that who sees all is served by the index of what is.
    seen = true() if caller.sees_all else seen_by(caller)
    due = select(func.count()).select_from(sources).where(sources.c.next_check_at <= now, is_free, seen)
    return conn.execute(due).scalar_one()


def claimed_by_owner(conn: Connection, caller: Caller, *, now: datetime) -> dict[str, int]:
    """How many sources that may be seen each process has claimed: to visit them, or to visit them next."""
    claimed = select(runs.c.owner, func.count().label("claims")).where(_IS_CLAIMED, runs.c.lease_until > now)
    if not caller.sees_all:
        # The subjects of other kinds are no numbers, and a store may look at those first.
        source_id = case((runs.c.kind == RunKind.SOURCE, cast(runs.c.subject, BigInteger)))
        claimed = claimed.join(sources, sources.c.id == source_id).where(seen_by(caller))
    return {row.owner: row.claims for row in conn.execute(claimed.group_by(runs.c.owner))}


def pulse(conn: Connection) -> tuple[Any, ...]:
    """A few cheap marks that move whenever something was collected, begun, added or changed by a person."""
    marks = select(
        select(func.max(sources.c.id)).scalar_subquery(),
        select(func.max(raw_items.c.id)).scalar_subquery(),
        select(func.max(fetch_log.c.id)).scalar_subquery(),
        select(func.max(runs.c.id)).scalar_subquery(),
        select(changes.c.times)
        .where(changes.c.source_id == CATALOGUE, changes.c.cause == Cause.EDITED)
        .scalar_subquery(),
    )
    collectors = tuple((run.id, run.progress.get("last_tick_at")) for run in list_running(conn, RunKind.COLLECTOR))
    return (*conn.execute(marks).one(), *collectors)


def latest_excuses(conn: Connection) -> dict[str | None, datetime]:
    """When sources were visited last that the network kept from us, by their hosts; of very many some."""
    # The reason is spelled out, so that the partial index of those serves.
    is_excused = sources.c.next_check_why == text(f"'{Why.OFFLINE}'")
    excused = select(sources.c.host, func.max(sources.c.last_attempt_at)).where(
        sources.c.is_active.is_(True), sources.c.is_deleted.is_(False), is_excused
    )
    return dict(conn.execute(excused.group_by(sources.c.host).limit(MANY_HOSTS)).all())
