"""A run: one unit of work with a lease. Its id is the fencing token: a run that was taken over cannot finish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class RunKind(StrEnum):
    SOURCE = "source"
    COLLECTOR = "collector"
    JOB = "job"
    DELIVERY = "delivery"
    SCRAPE = "scrape"
    #: An execution of a workflow: its owner is the execution itself, wherever it runs.
    WORKFLOW = "workflow"
    #: A user of X who is being scraped.
    X_USER = "x_user"
    #: A cookie that is lent for a request.
    COOKIE = "cookie"


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    id: int
    kind: RunKind
    #: What is worked on: a source's id, a workflow's name.
    subject: str
    owner: str
    started_at: datetime
    lease_until: datetime
    status: RunStatus = RunStatus.RUNNING
    progress: Mapping[str, Any] = field(default_factory=dict)
