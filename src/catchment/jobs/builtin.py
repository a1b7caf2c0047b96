"""What the system does by itself: the jobs there are, each with its schedule.

Whoever only lists them loads none of what does the work: that is asked for when a job begins.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.run import COLLECTOR_TICK, FEISHU_JOB, JobState
from catchment.domain.scrape_task import ScrapeOrder, ScrapeTask, TaskStatus
from catchment.engine.cleanup import Cleaner
from catchment.engine.leases import recover
from catchment.errors import Conflict, InvalidInput, TooManyAttempts, VisitError
from catchment.jobs.scheduler import Job, at_once, every, not_by_the_clock
from catchment.store import jobs
from catchment.store.backups import backup_name, keep_newest, make_backup
from catchment.store.database import Store

if TYPE_CHECKING:
    from catchment.engine.collector import Collector
    from catchment.platforms.workflow import Workflow
    from catchment.x import ScrapingService

CLEANUP, RECOVERY, LOCK_RECOVERY, OUTBOX = "cleanup", "recovery", "lock_recovery", "outbox"
CLEANUP_EVERY, RECOVERY_EVERY, OUTBOX_EVERY = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=10)
FEISHU_EVERY = timedelta(minutes=1)
ALERTS, ALERTS_EVERY = "alerts", timedelta(seconds=30)
BACKUP = "backup"
SEARCH, SEARCH_EVERY = "search_index", timedelta(seconds=5)

Usernames = Callable[[], Awaitable[tuple[str, ...]]]
Work = Callable[[], Awaitable[str]]


def collector_tick(find_collector: Callable[[], Collector]) -> Job:
    """Every collector ticks by itself; here its ticks can be seen, paused, and had at once."""

    async def tick() -> str:
        collector = find_collector()
        if not collector.is_working:
            return "left out: this process does not collect"
        if collector.is_in_round:
            return "left out: a round is still under way"
        round_ = await collector.tick()
        return f"{len(round_.ids)} due"

    return Job(
        name=COLLECTOR_TICK, work=tick, first=not_by_the_clock, next_after=not_by_the_clock, is_driven_elsewhere=True
    )


def cleanup(cleaner: Cleaner, clock: Clock) -> Job:
    async def tidy() -> str:
        return f"{await cleaner.tidy(clock.now())} item(s) cleaned"

    return Job(name=CLEANUP, work=tidy, first=at_once, next_after=every(CLEANUP_EVERY))


def recovery(store: Store, clock: Clock) -> Job:
    async def free() -> str:
        return f"{len(await recover(store, clock))} run(s) recovered"

    return Job(name=RECOVERY, work=free, first=at_once, next_after=every(RECOVERY_EVERY), on_restore=_at_each_start)


def lock_recovery(find_workflow: Callable[[], Workflow], interval: timedelta) -> Job:
    """The locks of workflows, which may be driven from elsewhere, have a schedule of their own."""

    async def free() -> str:
        recovered = await find_workflow().recover()
        return f"{recovered.executions} execution(s) and {recovered.records} record(s) recovered"

    return Job(name=LOCK_RECOVERY, work=free, first=at_once, next_after=every(interval), on_restore=_within(interval))


def _at_each_start(conn: Connection, state: JobState, now: datetime) -> None:
    """What was left behind may be the work of whoever starts again."""
    jobs.set_due(conn, state.name, now)


def _within(interval: timedelta) -> Callable[[Connection, JobState, datetime], None]:
    """An interval that is shorter than it was before the start counts at once, and not after the longer one.

    What ran only by hand until now runs at once.
    """

    def pull(conn: Connection, state: JobState, now: datetime) -> None:
        if state.due_at is None:
            jobs.set_due(conn, state.name, now)
        elif state.due_at > now + interval:
            jobs.set_due(conn, state.name, now + interval)

    return pull


def delivery(deliver: Work) -> Job:
    return Job(name=OUTBOX, work=deliver, first=at_once, next_after=every(OUTBOX_EVERY))


def copying(copy: Work) -> Job:
    return Job(name=FEISHU_JOB, work=copy, first=at_once, next_after=every(FEISHU_EVERY))


def watching(look: Work) -> Job:
    return Job(name=ALERTS, work=look, first=at_once, next_after=every(ALERTS_EVERY))


def indexing(take_in: Callable[[], Awaitable[int]]) -> Job:
    """What was stored since the last time can be searched for within seconds."""

    async def index() -> str:
        return f"{await take_in()} item(s) taken in"

    return Job(name=SEARCH, work=index, first=at_once, next_after=every(SEARCH_EVERY))


def backing_up(store: Store, clock: Clock, folder: Path, *, interval: timedelta | None, keep: int) -> Job:
    """Without an interval only by hand."""

    async def back_up() -> str:
        file = folder / backup_name(clock.now())
        made = await asyncio.to_thread(make_backup, store.url, file)
        gone = await asyncio.to_thread(keep_newest, folder, keep)
        logger.bind(event="backup.made", file=made.file.name, bytes=made.size_bytes).info("backup made: {}", made.file)
        return (
            f"{made.file.name}: {sum(made.rows.values())} row(s), {made.size_bytes} bytes; {len(gone)} old one(s) gone"
        )

    if interval is None:
        return Job(
            name=BACKUP,
            work=back_up,
            first=not_by_the_clock,
            next_after=not_by_the_clock,
            on_restore=lambda conn, state, _: jobs.set_due(conn, state.name, None),
        )
    return Job(name=BACKUP, work=back_up, first=at_once, next_after=every(interval), on_restore=_within(interval))


async def scheduled_scrape(scraping: ScrapingService, usernames: Usernames) -> str:
    """Scrape everybody who is followed, unless a scrape is under way; says what came of it."""
    users = await usernames()
    if not users and not scraping.has_key:
        return "left out: X is not set up"
    if not users:
        return _left_out("nobody is followed: use the page Platforms, `catchment x follow` or SCRAPER_USERNAMES")
    if await scraping.is_busy():
        return _left_out("another scrape is still running")
    try:
        task = await scraping.scrape(ScrapeOrder(usernames=users, asked_by="schedule"))
    except (InvalidInput, Conflict, TooManyAttempts) as error:
        return _left_out(str(error))
    if reason := failure_of(task):
        raise VisitError(f"scrape {task.task_id} {task.status}: {reason}")
    return _told_of(task)


def _told_of(task: ScrapeTask) -> str:
    report = task.report or {}
    users = f"{report['successful_users']} of {report['total_users']} user(s)"
    return f"{users}, {report['new_tweets']} new of {report['total_tweets']} tweet(s), scrape {task.task_id}"


def failure_of(task: ScrapeTask) -> str | None:
    """Why a scrape counts as failed: it ended early, it failed for everybody, or nobody would be spared."""
    if task.status is not TaskStatus.COMPLETED:
        return task.error
    from catchment.sources.x.client import TROUBLES_OF_ALL

    failed = [one for one in task.outcomes if not one.success]
    if len(failed) == len(task.outcomes) > 0:
        return f"it failed for everybody: {failed[0].error_message}"
    stopped = next((one for one in failed if one.trouble in TROUBLES_OF_ALL), None)
    return f"{len(failed)} of {len(task.outcomes)} users failed: {stopped.error_message}" if stopped else None


def _left_out(reason: str) -> str:
    logger.warning("the scheduled scrape is left out: {}", reason)
    return f"left out: {reason}"
