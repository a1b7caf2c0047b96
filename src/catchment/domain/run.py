"""A run: one unit of work with a lease. Its id is the fencing token: a run that was taken over cannot finish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

#: The job that collects from X, as the administration knows it.
SCRAPER_JOB = "scraper_job"
COLLECTOR_TICK = "collector_tick"
#: The job that copies notes to a table of Feishu.
FEISHU_JOB = "feishu"

LEAST_INTERVAL, MAX_INTERVAL, USUAL_INTERVAL = 300, 604_800, 43_200
#: A moment that passed while it was being typed is taken for now.
TOLERANCE = timedelta(seconds=30)
FARTHEST = timedelta(days=30)


class BadMoment(StrEnum):
    """What can be wrong with a next run."""

    PAST = "past"
    TOO_FAR = "too_far"


def fault_of_next_run(moment: datetime, now: datetime) -> BadMoment | None:
    if moment < now - TOLERANCE:
        return BadMoment.PAST
    return BadMoment.TOO_FAR if moment > now + FARTHEST else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScraperSchedule:
    """The one row of `scraper_schedule_config`."""

    interval_seconds: int
    #: Whether an administrator set it; else what the environment says holds.
    is_interval_set: bool
    #: A single run that somebody asked for; the interval goes on from it.
    next_run_time: datetime | None
    is_enabled: bool
    updated_at: datetime
    updated_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobState:
    """What the database knows of a job, for every process that might run it."""

    name: str
    #: When it runs next; None for not at all.
    due_at: datetime | None
    is_paused: bool = False
    last_started_at: datetime | None = None
    last_finished_at: datetime | None = None
    #: None before it first finished.
    last_ok: bool | None = None
    last_message: str = ""
    runs: int = 0


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
