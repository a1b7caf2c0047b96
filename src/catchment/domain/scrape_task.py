"""A scrape that somebody asked for, or the schedule did: its users, how far it is, and what came of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from catchment.domain.tweet import Depth, normal_username

LEAST_LIMIT, MAX_LIMIT, USUAL_LIMIT = 1, 1000, 100
MAX_USERS = 1000


class TaskStatus(StrEnum):
    #: What whoever asks for a scrape is told; by the time that anybody looks it runs.
    PENDING = "pending"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeOrder:
    """What is wanted: normalised users, and how many tweets of each at most."""

    usernames: tuple[str, ...]
    #: None leaves it to each user's own statistics, or to the depth.
    limit: int | None = None
    depth: Depth = Depth.NEWS
    since: datetime | None = None
    until: datetime | None = None
    asked_by: str = ""


def how_far(limit: int | None, *, full: bool) -> tuple[int | None, Depth]:
    """The limit and the depth of a scrape by hand: what somebody says is read, else the news within the usual limit."""
    if full:
        return None, Depth.FULL
    return (USUAL_LIMIT, Depth.NEWS) if limit is None else (limit, Depth.LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class UserOutcome:
    username: str
    success: bool
    fetched: int = 0
    new: int = 0
    skipped: int = 0
    errors: int = 0
    error_message: str | None = None
    #: What kind of no the provider gave, if it was that.
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskNotes:
    """What a task has to say of itself, apart from its run."""

    usernames: tuple[str, ...]
    limit: int | None = None
    asked_by: str = ""
    outcomes: tuple[UserOutcome, ...] = ()
    error: str | None = None
    cancelled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeTask:
    """As it is told to whoever asks; the store keeps it with its run."""

    task_id: str
    status: TaskStatus
    usernames: tuple[str, ...]
    limit: int | None
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
    outcomes: tuple[UserOutcome, ...] = ()
    error: str | None = None
    asked_by: str = ""

    @property
    def progress(self) -> dict[str, int | float]:
        done, total = len(self.outcomes), len(self.usernames)
        percentage = round(100 * done / total, 2) if total else 0
        # Half of it is 50, not 50.0.
        return {"current": done, "total": total, "percentage": int(percentage) if percentage % 1 == 0 else percentage}

    @property
    def metadata(self) -> dict[str, Any]:
        """What was asked for."""
        return {"usernames": list(self.usernames), "limit": self.limit, "asked_by": self.asked_by}

    @property
    def report(self) -> dict[str, float] | None:
        """The final report; None while there is none."""
        if self.completed_at is None:
            return None
        outcomes = self.outcomes
        return {
            "total_users": len(self.usernames),
            "successful_users": sum(one.success for one in outcomes),
            "failed_users": sum(not one.success for one in outcomes),
            "total_tweets": sum(one.fetched for one in outcomes),
            "new_tweets": sum(one.new for one in outcomes),
            "skipped_tweets": sum(one.skipped for one in outcomes),
            "total_errors": sum(one.errors for one in outcomes),
            "elapsed_seconds": round((self.completed_at - self.created_at).total_seconds(), 2),
        }

    @property
    def result(self) -> dict[str, Any] | None:
        """The report, and what came of each user."""
        report = self.report
        return None if report is None else {**report, "users": [asdict(one) for one in self.outcomes]}


def usernames_in(text: str) -> tuple[str, ...]:
    """The users that a comma-separated text names, each once; InvalidInput where a name can be nobody's."""
    return tuple(dict.fromkeys(normal_username(name) for name in text.split(",") if name.strip()))
