"""The history of visits, and of requests to crawled platforms by the minute, from which rates are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import Connection, String, delete, func, literal_column, select

from catchment.store.bulk import BulkInsert, insert_into
from catchment.store.platform_tables import crawl_minutes
from catchment.store.sources import visible_to
from catchment.store.tables import fetch_log, sources
from catchment.store.types import read_row


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    source_id: int
    started_at: datetime
    finished_at: datetime
    ok: bool
    items: int = 0
    inserted: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitCounts:
    fetches: int
    errors: int

    @property
    def success_rate(self) -> float | None:
        return round((self.fetches - self.errors) / self.fetches, 4) if self.fetches else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedVisit(LogLine):
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfVisits:
    day: date
    visits: int = 0
    failed: int = 0
    #: How many were new.
    items: int = 0


_write = BulkInsert(fetch_log, varying=["source_id", "started_at", "finished_at", "ok", "items", "inserted", "error"])


def write(conn: Connection, lines: Sequence[LogLine]) -> None:
    rows = [(o.source_id, o.started_at, o.finished_at, o.ok, o.items, o.inserted, o.error) for o in lines]
    _write(conn, rows)


def count_since(conn: Connection, since: datetime, user_id: int | None, *, all_sources: bool) -> VisitCounts:
    statement = select(func.count(), func.count().filter(fetch_log.c.ok.is_(False))).where(
        fetch_log.c.finished_at >= since
    )
    if not all_sources:
        visible = select(sources.c.id).where(visible_to(user_id, all_sources=False))
        statement = statement.where(fetch_log.c.source_id.in_(visible))
    fetches, errors = conn.execute(statement).one()
    return VisitCounts(fetches=fetches, errors=errors)


def page(conn: Connection, source_id: int, *, before: int | None, limit: int) -> list[LoggedVisit]:
    """The visits of one source, the last first."""
    statement = select(fetch_log).where(fetch_log.c.source_id == source_id)
    if before is not None:
        then = select(fetch_log.c.finished_at).where(fetch_log.c.id == before).scalar_subquery()
        statement = statement.where(fetch_log.c.finished_at <= then, fetch_log.c.id < before)
    rows = conn.execute(statement.order_by(fetch_log.c.finished_at.desc(), fetch_log.c.id.desc()).limit(limit))
    return [read_row(LoggedVisit, row) for row in rows]


def by_day(conn: Connection, source_id: int, *, since: datetime) -> dict[date, DayOfVisits]:
    """What came of the visits of each day in UTC that had some."""
    if conn.dialect.name == "sqlite":
        day = func.substr(fetch_log.c.finished_at, 1, 10, type_=String)
    else:
        day = func.to_char(func.timezone("UTC", fetch_log.c.finished_at), literal_column("'YYYY-MM-DD'"), type_=String)
    statement = (
        select(
            day.label("day"),
            func.count().label("visits"),
            func.count().filter(fetch_log.c.ok.is_(False)).label("failed"),
            func.sum(fetch_log.c.inserted).label("items"),
        )
        .where(fetch_log.c.source_id == source_id, fetch_log.c.finished_at >= since)
        .group_by(literal_column("day"))
    )
    found = ((date.fromisoformat(row.day), row) for row in conn.execute(statement))
    return {
        on: DayOfVisits(day=on, visits=row.visits, failed=row.failed, items=int(row.items or 0)) for on, row in found
    }


def delete_old(conn: Connection, *, finished_before: datetime, limit: int) -> int:
    old = select(fetch_log.c.id).where(fetch_log.c.finished_at < finished_before).limit(limit)
    return conn.execute(delete(fetch_log).where(fetch_log.c.id.in_(old.scalar_subquery()))).rowcount


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    ok: int = 0
    failed: int = 0


def record_request(conn: Connection, platform: str, *, ok: bool, now: datetime) -> None:
    """Count one request."""
    one_more = insert_into(conn, crawl_minutes).values(
        minute=now.replace(second=0, microsecond=0), platform=platform, ok=int(ok), failed=int(not ok)
    )
    counted = {
        "ok": crawl_minutes.c.ok + one_more.excluded.ok,
        "failed": crawl_minutes.c.failed + one_more.excluded.failed,
    }
    conn.execute(one_more.on_conflict_do_update(index_elements=["minute", "platform"], set_=counted))


def count_requests(conn: Connection, moment: datetime) -> Mapping[str, Requests]:
    """By platform, from the minute of `moment` on."""
    counts = (
        select(crawl_minutes.c.platform, func.sum(crawl_minutes.c.ok), func.sum(crawl_minutes.c.failed))
        .where(crawl_minutes.c.minute >= moment.replace(second=0, microsecond=0))
        .group_by(crawl_minutes.c.platform)
    )
    return {platform: Requests(ok=int(ok), failed=int(failed)) for platform, ok, failed in conn.execute(counts)}


def delete_old_requests(conn: Connection, *, before: datetime) -> int:
    return conn.execute(delete(crawl_minutes).where(crawl_minutes.c.minute < before)).rowcount
