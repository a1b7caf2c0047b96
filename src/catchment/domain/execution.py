"""An execution of a workflow: a run that may be driven from elsewhere, known by an id of its own."""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from catchment.domain.run import RunStatus

#: The workflow that collects notes, whoever drives it.
MEDIA_CRAWLER = "media_crawler"
#: What is answered to whoever comes second; it is written in the language of the document that named it.
ALREADY_RUNNING = "已有执行在运行"
#: The trace of the execution that this task works for, if it works for one.
current_trace: ContextVar[str | None] = ContextVar("current_trace", default=None)
_TRACE = re.compile(r"wf-\d+-[0-9a-f]{8}(?![0-9a-f])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    workflow_name: str
    execution_id: str
    #: What every request, log line and note of this execution is marked with.
    trace_id: str
    status: RunStatus
    started_at: datetime
    heartbeat_at: datetime
    completed_at: datetime | None
    items_processed: int
    items_failed: int
    error_summary: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveredCounts:
    """What was taken back from executions that were not heard of any more."""

    executions: int = 0
    records: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an execution ended, in its own words where it counts for itself."""

    status: RunStatus = RunStatus.COMPLETED
    error_summary: str | None = None
    items_processed: int | None = None
    items_failed: int | None = None


def new_execution_id(now: datetime) -> str:
    return f"exec-{int(now.timestamp() * 1000)}-{secrets.token_hex(4)}"


def new_trace_id(now: datetime) -> str:
    return f"wf-{int(now.timestamp())}-{secrets.token_hex(4)}"


def request_id(trace_id: str, step: str) -> str:
    return f"{trace_id}-{step}"


def trace_in(request_id: str) -> str | None:
    """The trace that a request belongs to, where its id names one."""
    found = _TRACE.match(request_id)
    return found[0] if found else None
