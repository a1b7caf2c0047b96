"""The trail of who changed what, written in the transaction of the change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection, delete, insert, select

from catchment.domain.audit_trail import AuditEntry, AuditLine
from catchment.store.tables import audit_trail
from catchment.store.types import as_row, read_row

P = ParamSpec("P")
T = TypeVar("T")


def record(conn: Connection, entry: AuditEntry) -> None:
    conn.execute(insert(audit_trail), as_row(entry))


def recorded(
    conn: Connection,
    entry: AuditEntry,
    change: Callable[Concatenate[Connection, P], T],
    /,
    *args: P.args,
    **kwargs: P.kwargs,
) -> T:
    """Make the change and record it; one that found nothing to change says so by None or False."""
    result = change(conn, *args, **kwargs)
    if result is not None and result is not False:
        record(conn, entry)
    return result


def page(conn: Connection, *, before: int | None, limit: int) -> list[AuditLine]:
    """The newest first."""
    statement = select(audit_trail).order_by(audit_trail.c.id.desc()).limit(limit)
    if before is not None:
        statement = statement.where(audit_trail.c.id < before)
    return [read_row(AuditLine, row) for row in conn.execute(statement)]


def delete_old(conn: Connection, *, before: datetime, limit: int) -> int:
    old = select(audit_trail.c.id).where(audit_trail.c.at < before).limit(limit)
    return conn.execute(delete(audit_trail).where(audit_trail.c.id.in_(old.scalar_subquery()))).rowcount
