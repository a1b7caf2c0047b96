"""Jobs in the store: when each is due, for all processes together. Taking a due job is one statement."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select, update

from catchment.domain.run import JobState
from catchment.store.bulk import insert_or_ignore
from catchment.store.tables import jobs
from catchment.store.types import read_one, read_row


def ensure(conn: Connection, name: str, *, due_at: datetime | None) -> JobState:
    """The job, which is put down with its first run if nobody knew it."""
    first = {"name": name, "due_at": due_at, "is_paused": False, "runs": 0, "last_message": ""}
    conn.execute(insert_or_ignore(conn, jobs).values(first))
    return get(conn, name)


def remove(conn: Connection, name: str) -> None:
    conn.execute(delete(jobs).where(jobs.c.name == name))


def get(conn: Connection, name: str) -> JobState:
    return _state(conn.execute(select(jobs).where(jobs.c.name == name)).one())


def find(conn: Connection, name: str) -> JobState | None:
    return read_one(conn, select(jobs).where(jobs.c.name == name), _state)


def list_all(conn: Connection) -> list[JobState]:
    return [_state(row) for row in conn.execute(select(jobs).order_by(jobs.c.name))]


def is_paused(conn: Connection, name: str) -> bool:
    return bool(conn.execute(select(jobs.c.is_paused).where(jobs.c.name == name)).scalar_one_or_none())


def take_due(conn: Connection, name: str, *, now: datetime, next_due: datetime | None) -> bool:
    """Whether this process is the one that runs the job now; the others find it moved on."""
    taken = conn.execute(
        update(jobs)
        .where(jobs.c.name == name, jobs.c.due_at <= now, jobs.c.is_paused.is_(False))
        .values(due_at=next_due, last_started_at=now)
        .returning(jobs.c.name)
    )
    return taken.one_or_none() is not None


def record_start(conn: Connection, name: str, *, now: datetime) -> None:
    conn.execute(update(jobs).where(jobs.c.name == name).values(last_started_at=now))


def record_end(conn: Connection, name: str, *, now: datetime, ok: bool, message: str) -> None:
    conn.execute(
        update(jobs)
        .where(jobs.c.name == name)
        .values(last_finished_at=now, last_ok=ok, last_message=message, runs=jobs.c.runs + 1)
    )


def set_due(conn: Connection, name: str, due_at: datetime | None) -> None:
    conn.execute(update(jobs).where(jobs.c.name == name).values(due_at=due_at))


def set_paused(conn: Connection, name: str, *, is_paused: bool) -> bool:
    return conn.execute(update(jobs).where(jobs.c.name == name).values(is_paused=is_paused)).rowcount > 0


def _state(row: Row[Any]) -> JobState:
    return read_row(JobState, row)
