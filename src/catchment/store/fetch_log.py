"""The history of visits, from which rates and statistics are told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, func, select

from catchment.store.bulk import BulkInsert
from catchment.store.sources import visible_to
from catchment.store.tables import fetch_log, sources


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


def delete_old(conn: Connection, *, finished_before: datetime, limit: int) -> int:
    old = select(fetch_log.c.id).where(fetch_log.c.finished_at < finished_before).limit(limit)
    return conn.execute(delete(fetch_log).where(fetch_log.c.id.in_(old.scalar_subquery()))).rowcount
