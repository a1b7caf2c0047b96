"""Scraping X: users side by side, one's failure nobody else's, and everything that came stored as it comes.

What a scrape is told of earlier ones, what it may spend and how it is kept is at the top; the tasks are below.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.outbox import Topic
from catchment.domain.run import Run
from catchment.domain.scrape_task import ScrapeOrder, ScrapeTask, TaskStatus, UserOutcome
from catchment.domain.source import Source
from catchment.domain.tweet import FetchStats, Reach, Scrape, Tweet
from catchment.engine.leases import LeasePolicy, keep_leases, recover
from catchment.errors import (
    Conflict,
    InvalidInput,
    LeaseLost,
    StoreError,
    TooManyAttempts,
    VisitError,
    or_not_found,
)
from catchment.eventloop import background_tasks
from catchment.fetch.client import HttpClient
from catchment.fetch.pacing import Deferred
from catchment.redact import redact_text
from catchment.sources.x.client import CapReached, XError, XTrouble, user_timeline
from catchment.sources.x.scrape import Scraper, Window, stats_after
from catchment.store import incidents, outbox, scrape_tasks, spending, tweets
from catchment.store.database import Store
from catchment.store.incidents import Incident
from catchment.store.spending import Caps, Period
from catchment.store.tweets import SaveResult

#: Of somebody whom another scraped lately, this many tweets are given.
MAX_CACHED = 300
#: What was looked at longer ago than this is asked for anew when it is collected.
PREVIEW_KEPT = timedelta(hours=1)
#: Of the same trouble nothing more is noted for so long.
TOLD_EVERY = timedelta(minutes=1)
_INCIDENTS = {
    XTrouble.KEY_REFUSED: Incident.X_KEY_REFUSED,
    XTrouble.NO_CREDIT: Incident.X_NO_CREDIT,
    XTrouble.RATE_LIMITED: Incident.X_RATE_LIMITED,
}
_CAP_REACHED = {
    Period.DAY: "today's pages of X are used up; raise TWITTER_DAILY_PAGES or wait for tomorrow (UTC)",
    Period.MONTH: "this month's pages of X are used up; raise TWITTER_MONTHLY_PAGES or wait for the next",
}


class XRepository:
    """The store as scrapes see it: `ScrapeHistory`, `TweetCache` and `SpendingLog` in one."""

    def __init__(self, *, store: Store, clock: Clock, caps: Caps, interval_of: Callable[[Source], timedelta]) -> None:
        self._store = store
        self._clock = clock
        self._caps = caps
        self._interval_of = interval_of

    async def stats(self, subject: str) -> FetchStats | None:
        try:
            return await self._store.read(spending.get_stats, subject)
        except StoreError as error:
            logger.warning("the statistics of {} cannot be read, the scrape goes on without: {}", subject, error)
            return None

    async def known(self, tweet_ids: Sequence[str], *, by: datetime) -> set[str]:
        return await self._store.read(tweets.known_ids, tweet_ids, by=by)

    async def fetched_lately(self, source: Source, subject: str) -> Sequence[Tweet] | None:
        stats = await self.stats(subject)
        if stats is None or self._clock.now() - stats.last_fetch_at >= self._interval_of(source):
            return None
        # It may be due before its interval is over, as after a gap: its own last visit is no reason not to look.
        if source.last_fetched_at is not None and stats.last_fetch_at <= source.last_fetched_at:
            return None
        stored = await self._store.read(tweets.get_tweets_by_author, subject, limit=MAX_CACHED)
        return [one.tweet for one in stored]

    async def previewed(self, timeline: str) -> Mapping[str, Any] | None:
        return await self._store.read(spending.get_preview, timeline, since=self._clock.now() - PREVIEW_KEPT)

    async def keep_previewed(self, timeline: str, body: Mapping[str, Any]) -> None:
        now = self._clock.now()
        await self._store.write(spending.put_preview, timeline, body, now=now, since=now - PREVIEW_KEPT)

    async def take_previewed(self, timeline: str) -> Mapping[str, Any] | None:
        return await self._store.write(spending.take_preview, timeline, since=self._clock.now() - PREVIEW_KEPT)

    async def record_trouble(self, error: XError) -> None:
        """As an incident, of which an alert is made; logged once a minute, however many it befalls."""
        kind, message, now = _INCIDENTS[error.trouble], redact_text(str(error)), self._clock.now()
        if await self._store.write(incidents.record_once, kind, message=message, now=now, within=TOLD_EVERY):
            logger.warning("X: {}", message)

    async def take_page(self) -> CapReached | None:
        now = self._clock.now()
        period = await self._store.write(spending.take_page, now.date(), self._caps)
        if period is None:
            return None
        logger.warning("X: {}", _CAP_REACHED[period])
        return _cap(period, now)

    async def cap_reached(self) -> CapReached | None:
        """As `take_page` would find it, without taking one."""
        now = self._clock.now()
        period = (await self._store.read(spending.spent, now.date())).reached(self._caps)
        return None if period is None else _cap(period, now)


def _cap(period: Period, now: datetime) -> CapReached:
    return CapReached(message=_CAP_REACHED[period], seconds=(end_of(period, now) - now).total_seconds())


def end_of(period: Period, now: datetime) -> datetime:
    """When the day or month of this moment is over."""
    day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if period is Period.DAY:
        return day + timedelta(days=1)
    return (day.replace(day=1) + timedelta(days=32)).replace(day=1)


class ScrapeWriter:
    """Stores scrapes, whether a source's visit or a task brought them."""

    def __init__(self, *, alpha: float) -> None:
        self._alpha = alpha

    def __call__(self, conn: Connection, scrapes: Sequence[Scrape], now: datetime) -> None:
        for scrape in scrapes:
            self.keep(conn, scrape, now)

    def keep(self, conn: Connection, scrape: Scrape, now: datetime) -> SaveResult:
        """The tweets, and what the scrape says about the next."""
        saved = tweets.save_tweets(conn, scrape.tweets, now=now)
        if stats := self._stats(spending.get_stats(conn, scrape.subject), scrape, new=saved.success, now=now):
            spending.put_stats(conn, stats, now=now)
        if saved.new_ids:
            outbox.emit(conn, Topic.TWEETS_NEW, [{"tweet_ids": list(saved.new_ids)}], now=now)
        return saved

    def _stats(self, before: FetchStats | None, scrape: Scrape, *, new: int, now: datetime) -> FetchStats | None:
        if scrape.reach is Reach.PART:
            # Put back as they are, they still say when something could be read.
            return before
        fetched, at = len(scrape.tweets), now
        if scrape.reach is Reach.LIMIT and before is not None:
            # All of it came since the last look that was read to its end, though earlier attempts may have stored some:
            # so the next look asks for twice as many.
            new, at = fetched, before.last_fetch_at
        return stats_after(before, username=scrape.subject, fetched=fetched, new=new, at=at, alpha=self._alpha)


NO_KEY = "X cannot be asked without a key: set TWITTER_API_KEY."

#: The cap on spending that is reached by now, if any.
Quota = Callable[[], Awaitable[CapReached | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _TaskContext:
    """What is done for each user of one task."""

    scraper: Scraper
    run: Run
    order: ScrapeOrder

    async def scrape(self, http: HttpClient, username: str) -> Scrape:
        order = self.order
        window = Window(since=order.since, until=order.until)
        return await self.scraper.scrape(
            http, user_timeline(username), most=order.limit, window=window, depth=order.depth
        )


class ScrapingService:
    def __init__(
        self,
        *,
        store: Store,
        http: HttpClient,
        scraper: Scraper | None,
        writer: ScrapeWriter,
        quota: Quota,
        leases: LeasePolicy,
        clock: Clock,
        at_once: int,
    ) -> None:
        self._store = store
        self._http = http
        self._scraper = scraper
        self._writer = writer
        self._quota = quota
        self._leases = leases
        self._clock = clock
        self._at_once = at_once
        self._tasks: dict[str, asyncio.Task[None]] = {}

    @property
    def has_key(self) -> bool:
        return self._scraper is not None

    def require_key(self) -> Scraper:
        if self._scraper is None:
            raise InvalidInput(NO_KEY)
        return self._scraper

    async def start(self, order: ScrapeOrder) -> ScrapeTask:
        """Begin in the background.

        A user who is being scraped already is a Conflict, a cap on spending that is reached TooManyAttempts.
        """
        task_id, _ = await self._launch(order)
        return await self.get(task_id)

    async def scrape(self, order: ScrapeOrder) -> ScrapeTask:
        """The same, but wait for the end; whoever stops waiting interrupts it."""
        task_id, work = await self._launch(order)
        await work
        return await self.get(task_id)

    async def get(self, task_id: str) -> ScrapeTask:
        sentence = f"There is no scrape task {task_id}; finished ones are forgotten after a day."
        return or_not_found(await self._store.read(scrape_tasks.get, task_id), sentence)

    async def list(self, *, status: TaskStatus | None = None) -> list[ScrapeTask]:
        return await self._store.read(scrape_tasks.list_all, status=status)

    async def is_busy(self) -> bool:
        """Whether any scrape runs, in whichever process; those of the dead do not count."""
        await recover(self._store, self._clock)
        return await self._store.read(scrape_tasks.is_any_running)

    async def cancel(self, task_id: str) -> ScrapeTask:
        """End a task, whichever process runs it. What it stored stays."""
        await self.get(task_id)
        if await self._store.write(scrape_tasks.cancel, task_id, now=self._clock.now()):
            logger.info("scrape {}: cancelled", task_id)
            if work := self._tasks.get(task_id):
                work.cancel()
        return await self.get(task_id)

    async def forget(self, task_id: str) -> None:
        if (await self.get(task_id)).status is TaskStatus.RUNNING:
            raise Conflict(f"The scrape task {task_id} is running; cancel it first.")
        await self._store.write(scrape_tasks.forget, task_id)

    async def close(self) -> None:
        """Cut off what runs; such tasks say that they were interrupted."""
        running = list(self._tasks.values())
        for work in running:
            work.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def _launch(self, order: ScrapeOrder) -> tuple[str, asyncio.Task[None]]:
        scraper = self.require_key()
        if cap := await self._quota():
            raise TooManyAttempts(cap.message, retry_after=ceil(cap.seconds))
        # Nobody else may be there to free the users of a process that was killed.
        await recover(self._store, self._clock)
        task_id, now = str(uuid.uuid4()), self._clock.now()
        leases = replace(self._leases, owner=f"{self._leases.owner}-{task_id}")
        until = leases.until(now)
        run = await self._store.write(scrape_tasks.begin, task_id, order, owner=leases.owner, now=now, until=until)
        logger.info("scrape {}: {} user(s), asked for by {}", task_id, len(order.usernames), order.asked_by)
        work = asyncio.create_task(self._run(scraper, run, order, leases))
        self._tasks[task_id] = work
        work.add_done_callback(lambda _: self._tasks.pop(task_id, None))
        return task_id, work

    async def _run(self, scraper: Scraper, run: Run, order: ScrapeOrder, leases: LeasePolicy) -> None:
        context = _TaskContext(scraper=scraper, run=run, order=order)
        try:
            async with background_tasks(keep_leases(self._store, leases, self._clock)):
                await self._scrape_all(context, order.usernames)
        except LeaseLost:
            logger.warning("scrape {}: somebody else ended it", run.subject)
        except asyncio.CancelledError:
            await self._end(run, error=scrape_tasks.INTERRUPTED)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: nobody waits for a task, it says itself what ended it
            logger.opt(exception=error).error("scrape {} stopped: {}", run.subject, error)
            await self._end(run, error=redact_text(str(error)))
            if isinstance(error, XError) and error.trouble is XTrouble.CAP_REACHED:
                await self._tell_of_cap(run, error)
        else:
            await self._end(run, error=None)

    async def _scrape_all(self, context: _TaskContext, usernames: Iterable[str]) -> None:
        gate = asyncio.Semaphore(self._at_once)

        async def one(username: str) -> None:
            async with gate:
                await self._scrape_user(context, username)

        try:
            async with asyncio.TaskGroup() as group:
                for username in usernames:
                    group.create_task(one(username))
        except ExceptionGroup as stopped:
            raise stopped.exceptions[0] from stopped.exceptions[0].__cause__

    async def _scrape_user(self, context: _TaskContext, username: str) -> None:
        """Only what no other user would be spared either is raised."""
        try:
            scrape = await context.scrape(self._http, username)
        except XError as error:
            await self._record(context.run, _failed(username, error, trouble=error.trouble))
            if error.stops_everything:
                raise
        except (VisitError, Deferred) as error:
            await self._record(context.run, _failed(username, error))
        except Exception as error:  # noqa: BLE001 - the edge: whatever befalls one user must not befall the others
            logger.opt(exception=error).error("scrape {}: @{}", context.run.subject, username)
            await self._record(context.run, _failed(username, error))
        else:
            await self._record(context.run, scrape)

    async def _record(self, run: Run, came: Scrape | UserOutcome) -> None:
        outcome = await self._store.write(self._keep, run, came, now=self._clock.now())
        for warning in came.warnings if isinstance(came, Scrape) else ():
            logger.warning("scrape {}: @{}: {}", run.subject, outcome.username, warning)
        level, said = ("INFO", "{} new of {}") if outcome.success else ("WARNING", "{2}")
        came_of_it = said.format(outcome.new, outcome.fetched, outcome.error_message)
        logger.log(level, "scrape {}: @{}: {}", run.subject, outcome.username, came_of_it)

    async def _tell_of_cap(self, run: Run, error: XError) -> None:
        """Of other troubles alerts tell, which last as long as they do; a cap is over by itself."""
        told = {"alert": f"x_{error.trouble}", "task_id": run.subject, "message": redact_text(str(error))}
        await self._store.write(outbox.emit, Topic.ALERT, [told], now=self._clock.now())
        logger.error("alert {alert}: {message}", **told)

    def _keep(self, conn: Connection, run: Run, came: Scrape | UserOutcome, *, now: datetime) -> UserOutcome:
        """Tweets, progress and the user's release together; nothing of it when the task was ended by somebody else."""
        scrape_tasks.hold(conn, run)
        outcome = came if isinstance(came, UserOutcome) else self._kept(conn, came, now)
        scrape_tasks.record_outcome(conn, run, outcome, now=now)
        return outcome

    def _kept(self, conn: Connection, scrape: Scrape, now: datetime) -> UserOutcome:
        saved = self._writer.keep(conn, scrape, now)
        is_whole = scrape.broken_off is None
        return UserOutcome(
            username=scrape.subject,
            success=is_whole,
            fetched=len(scrape.tweets),
            new=saved.success,
            skipped=saved.skipped,
            errors=saved.errors + scrape.unusable + (not is_whole),
            error_message=scrape.broken_off,
            trouble=scrape.trouble,
        )

    async def _end(self, run: Run, *, error: str | None) -> None:
        try:
            await self._store.write(scrape_tasks.end, run, error=error, now=self._clock.now())
        except StoreError as failure:
            # Its lease runs out by itself.
            logger.error("scrape {}: its end cannot be stored: {}", run.subject, failure)
            return
        logger.info("scrape {} over: {}", run.subject, error or "completed")


def _failed(username: str, error: Exception, *, trouble: str | None = None) -> UserOutcome:
    message = redact_text(str(error) or type(error).__name__)
    return UserOutcome(username=username, success=False, errors=1, error_message=message, trouble=trouble)
