"""What befell the system, each in a row; alerts are made of them, but whoever records one need know none of those."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection, delete, func, insert, select

from catchment.store.tables import incidents


class Incident(StrEnum):
    EXECUTIONS_RECOVERED = "executions_recovered"
    RECORDS_RECOVERED = "records_recovered"
    INVALID_INPUT = "invalid_input"
    X_KEY_REFUSED = "x_key_refused"
    X_NO_CREDIT = "x_no_credit"
    X_RATE_LIMITED = "x_rate_limited"
    CLOCK_JUMPED = "clock_jumped"
    #: By so much that what is old by it may not be.
    CLOCK_LEAPT = "clock_leapt"
    #: What is old was removed.
    CLEANED = "cleaned"


def record(conn: Connection, kind: Incident, *, amount: int = 1, message: str = "", now: datetime) -> None:
    conn.execute(insert(incidents).values(kind=kind, amount=amount, message=message, at=now))


def record_once(conn: Connection, kind: Incident, *, message: str = "", now: datetime, within: timedelta) -> bool:
    """The same, unless one of its kind was recorded that shortly before; a clock that was set back knows none."""
    last = last_of(conn, kind)
    if last is not None and timedelta(0) <= now - last[0] < within:
        return False
    record(conn, kind, message=message, now=now)
    return True


def record_recovery(conn: Connection, *, executions: int, records: int, now: datetime) -> None:
    """Executions that stopped without a word were ended, and what they held was freed."""
    counts = {Incident.EXECUTIONS_RECOVERED: executions, Incident.RECORDS_RECOVERED: records}
    for kind, amount in counts.items():
        if amount:
            record(conn, kind, amount=amount, now=now)


def count_by_kind(conn: Connection, *, since: datetime) -> Mapping[str, int]:
    """By kind."""
    counts = select(incidents.c.kind, func.sum(incidents.c.amount)).where(incidents.c.at >= since)
    return {kind: int(amount) for kind, amount in conn.execute(counts.group_by(incidents.c.kind))}


def last_of(conn: Connection, kind: Incident) -> tuple[datetime, str] | None:
    """When, and what was said."""
    last = select(incidents.c.at, incidents.c.message).where(incidents.c.kind == kind)
    row = conn.execute(last.order_by(incidents.c.at.desc()).limit(1)).one_or_none()
    return (row.at, row.message) if row else None


def delete_old(conn: Connection, *, before: datetime) -> int:
    return conn.execute(delete(incidents).where(incidents.c.at < before)).rowcount
