"""Scrape tasks in the store: each is a run with a lease, and holds a lease on every user until it is done with them.

All leases of a task have one owner, which nobody else has, so that they live and end together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, delete, select, update

from catchment.domain.run import Run, RunKind, RunStatus
from catchment.domain.scrape_task import ScrapeOrder, ScrapeTask, TaskNotes, TaskStatus, UserOutcome
from catchment.errors import Conflict, LeaseLost
from catchment.store import runs
from catchment.store.tables import runs as table
from catchment.store.types import read_one

#: What a task says of itself that nobody ended: its process is gone.
INTERRUPTED = "interrupted"
CANCELLED = "cancelled"


def begin(conn: Connection, task_id: str, order: ScrapeOrder, *, owner: str, now: datetime, until: datetime) -> Run:
    """Claim the users and begin the task, all or nothing; a user who is being scraped is a Conflict."""
    # In one order for all, or two that begin at once could wait for each other.
    for username in sorted(order.usernames):
        if runs.start(conn, RunKind.X_USER, username, owner=owner, now=now, until=until) is None:
            raise Conflict(f"@{username} is being scraped at this moment; wait, or leave this user out.")
    run = runs.start(conn, RunKind.SCRAPE, task_id, owner=owner, now=now, until=until)
    assert run is not None, "task ids are random"
    _save(conn, run.id, TaskNotes(usernames=order.usernames, limit=order.limit, asked_by=order.asked_by))
    return run


def hold(conn: Connection, run: Run) -> None:
    """See that the task still runs, and that it does until the transaction ends; LeaseLost if somebody ended it."""
    running = _task(run.subject).where(table.c.id == run.id, table.c.status == RunStatus.RUNNING)
    if conn.execute(running.with_for_update()).one_or_none() is None:
        raise LeaseLost(f"scrape {run.subject}")


def record_outcome(conn: Connection, run: Run, outcome: UserOutcome, *, now: datetime) -> None:
    """What came of a user, who may be scraped by others from now on."""
    notes = _notes(conn.execute(_task(run.subject)).one().progress)
    _save(conn, run.id, replace(notes, outcomes=(*notes.outcomes, outcome)))
    conn.execute(
        update(table)
        .where(table.c.kind == RunKind.X_USER, table.c.subject == outcome.username, table.c.owner == run.owner)
        .values(status=RunStatus.COMPLETED, finished_at=now)
    )


def end(conn: Connection, run: Run, *, error: str | None, now: datetime) -> None:
    """Complete the task, or say why it failed; nothing where somebody else ended it."""
    status = RunStatus.COMPLETED if error is None else RunStatus.FAILED
    _finish(conn, run.id, run.subject, status=status, now=now, error=error)


def cancel(conn: Connection, task_id: str, *, now: datetime) -> bool:
    """End a running task from wherever; whoever works on it finds its lease gone. False if it does not run."""
    row = conn.execute(_task(task_id)).one_or_none()
    if row is None:
        return False
    return _finish(conn, row.id, task_id, status=RunStatus.FAILED, now=now, error=CANCELLED, cancelled=True)


def get(conn: Connection, task_id: str) -> ScrapeTask | None:
    return read_one(conn, _task(task_id), _shown)


def list_all(conn: Connection, *, status: TaskStatus | None = None) -> list[ScrapeTask]:
    """The newest first."""
    rows = conn.execute(select(table).where(table.c.kind == RunKind.SCRAPE).order_by(table.c.id.desc()))
    shown = [_shown(row) for row in rows]
    return [task for task in shown if status is None or task.status == status]


def is_any_running(conn: Connection) -> bool:
    return bool(runs.list_running(conn, RunKind.SCRAPE))


def forget(conn: Connection, task_id: str) -> None:
    conn.execute(delete(table).where(table.c.kind == RunKind.SCRAPE, table.c.subject == task_id))


def _task(task_id: str) -> Select[Any]:
    return select(table).where(table.c.kind == RunKind.SCRAPE, table.c.subject == task_id)


def _finish(conn: Connection, run_id: int, task_id: str, *, status: RunStatus, now: datetime, **noted: Any) -> bool:
    """Whoever ends the run first decides how it ended, so it is ended before its notes are read."""
    if not runs.finish(conn, [run_id], status=status, now=now):
        return False
    row = conn.execute(_task(task_id)).one()
    _save(conn, run_id, replace(_notes(row.progress), **noted))
    runs.release_owner(conn, row.owner, now=now)
    return True


def _save(conn: Connection, run_id: int, notes: TaskNotes) -> None:
    conn.execute(update(table).where(table.c.id == run_id).values(progress=asdict(notes)))


def _notes(progress: Mapping[str, Any]) -> TaskNotes:
    outcomes = tuple(UserOutcome(**one) for one in progress["outcomes"])
    return TaskNotes(**{**progress, "usernames": tuple(progress["usernames"]), "outcomes": outcomes})


def _shown(row: Row[Any]) -> ScrapeTask:
    notes = _notes(row.progress)
    status = _status(row.status, notes)
    return ScrapeTask(
        task_id=row.subject,
        status=status,
        usernames=notes.usernames,
        limit=notes.limit,
        created_at=row.started_at,
        updated_at=row.finished_at or row.heartbeat_at,
        completed_at=row.finished_at,
        outcomes=notes.outcomes,
        error=notes.error or (INTERRUPTED if status is TaskStatus.FAILED else None),
        asked_by=notes.asked_by,
    )


def _status(stored: str, notes: TaskNotes) -> TaskStatus:
    if notes.cancelled:
        return TaskStatus.CANCELLED
    if stored in {RunStatus.RUNNING, RunStatus.COMPLETED}:
        return TaskStatus(stored)
    return TaskStatus.FAILED
