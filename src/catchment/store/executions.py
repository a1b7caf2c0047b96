"""Executions of workflows in the store: runs whose owner is the execution itself, with the document's rules."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Integer, Row, Select, String, column, select, table, update

from catchment.domain.execution import Execution, RecoveredCounts, Result
from catchment.domain.run import Run, RunKind, RunStatus
from catchment.store import found_notes, incidents, runs
from catchment.store.tables import runs as run_rows
from catchment.store.types import UtcDateTime, read_one, read_row

#: Read through the view, which counts what an execution did.
_SHOWN = table(
    "tbl_crawl_execution",
    column("id", Integer),
    column("workflow_name", String),
    column("execution_id", String),
    column("status", String),
    column("started_at", UtcDateTime),
    column("heartbeat_at", UtcDateTime),
    column("completed_at", UtcDateTime),
    column("items_processed", Integer),
    column("items_failed", Integer),
    column("error_summary", String),
)


def acquire(
    conn: Connection, workflow_name: str, execution_id: str, *, trace_id: str, now: datetime, until: datetime
) -> Run | None:
    """The lock of a workflow, in one statement; None when it is held. One that nobody kept alive is freed first."""
    recover(conn, now=now, workflow_name=workflow_name)
    return runs.start(
        conn,
        RunKind.WORKFLOW,
        workflow_name,
        owner=execution_id,
        now=now,
        until=until,
        progress={"trace_id": trace_id},
    )


def running(conn: Connection, execution_id: str) -> Run | None:
    """The run of an execution that still holds its lock; if so, it keeps it until the transaction ends."""
    run = runs.running_of(conn, RunKind.WORKFLOW, execution_id)
    return run if run is not None and runs.holds(conn, run.id) else None


def recover(conn: Connection, *, now: datetime, workflow_name: str | None = None) -> RecoveredCounts:
    """End executions without a heartbeat, take back what they had claimed, and put it down for whoever watches."""
    ended = runs.expire_workflows(conn, now=now, name=workflow_name)
    recovered = RecoveredCounts(executions=len(ended), records=found_notes.reclaim(conn, [run.id for run in ended]))
    if ended:
        incidents.record_recovery(conn, executions=recovered.executions, records=recovered.records, now=now)
    return recovered


def release(conn: Connection, run: Run, result: Result, *, now: datetime) -> Execution:
    """End an execution, with what it did put down for good; records that it still holds go back untried."""
    before = get(conn, run.owner)
    assert before is not None, "it runs"
    counted = {"items_processed": before.items_processed, "items_failed": before.items_failed}
    told = {"items_processed": result.items_processed, "items_failed": result.items_failed}
    said = {name: value for name, value in told.items() if value is not None}
    progress = {**run.progress, **counted, **said, "error_summary": result.error_summary}
    _set_progress(conn, run.id, progress)
    runs.finish(conn, [run.id], status=result.status, now=now)
    ended = get(conn, run.owner)
    assert ended is not None, "it was there a moment ago"
    return ended


def get(conn: Connection, execution_id: str) -> Execution | None:
    return read_one(conn, _showing().where(_SHOWN.c.execution_id == execution_id), _execution)


def list_latest(conn: Connection, *, workflow_name: str | None = None, limit: int = 50) -> list[Execution]:
    statement = _showing().order_by(_SHOWN.c.id.desc()).limit(limit)
    if workflow_name is not None:
        statement = statement.where(_SHOWN.c.workflow_name == workflow_name)
    return [_execution(row) for row in conn.execute(statement)]


def _showing() -> Select[Any]:
    return select(_SHOWN, run_rows.c.progress).join(run_rows, run_rows.c.id == _SHOWN.c.id)


def _set_progress(conn: Connection, run_id: int, progress: Mapping[str, Any]) -> None:
    conn.execute(update(run_rows).where(run_rows.c.id == run_id).values(progress=dict(progress)))


def _execution(row: Row[Any]) -> Execution:
    trace_id = row.progress.get("trace_id", "")
    return read_row(Execution, row, trace_id=trace_id, status=RunStatus(row.status))
