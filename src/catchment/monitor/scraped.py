"""Numbers about X: scrape tasks and their failures in the last day, and the pages that were spent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection

from catchment.domain.scrape_task import TaskStatus
from catchment.settings import Settings
from catchment.store import scrape_tasks, spending

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class XNumbers:
    #: Tasks of the last 24 hours, by how they ended or that they run.
    tasks_24h: Mapping[str, int]
    #: Users of those tasks who could not be scraped.
    failed_users_24h: int
    #: Why the latest of them could not.
    last_failure: str | None
    #: Where no cap is set, it is 0.
    pages_today: int
    daily_cap: int
    pages_this_month: int
    monthly_cap: int


def read_x(conn: Connection, settings: Settings, *, now: datetime) -> XNumbers:
    tasks = [task for task in scrape_tasks.list_all(conn) if task.created_at > now - DAY]
    failed = [one for task in tasks for one in task.outcomes if not one.success]
    spent = spending.spent(conn, now.date())
    counts = Counter(task.status for task in tasks)
    return XNumbers(
        tasks_24h={status: counts[status] for status in TaskStatus if status is not TaskStatus.PENDING},
        failed_users_24h=len(failed),
        last_failure=f"@{failed[0].username}: {failed[0].error_message}" if failed else None,
        pages_today=spent.day,
        daily_cap=settings.twitter_daily_pages,
        pages_this_month=spent.month,
        monthly_cap=settings.twitter_monthly_pages,
    )
