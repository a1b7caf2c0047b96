"""Scrapes and the store: what a scrape is told of earlier ones, what it may spend, and how what it brought is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.outbox import Topic
from catchment.domain.source import Source
from catchment.domain.tweet import FetchStats, Reach, Scrape, Tweet
from catchment.errors import StoreError
from catchment.redact import redact_text
from catchment.sources.x.client import CapReached, XError, XTrouble
from catchment.sources.x.scrape import stats_after
from catchment.store import alerts, fetch_stats, outbox, spending, tweets, x_previews
from catchment.store.alerts import Incident
from catchment.store.database import Store
from catchment.store.spending import Caps, Period
from catchment.store.tweets import SaveResult

#: Of somebody whom another scraped lately, this many tweets are given.
SHELVED = 300
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
    """The store as scrapes see it: `ScrapeHistory`, `Shelf` and `SpendingLog` in one."""

    def __init__(self, *, store: Store, clock: Clock, caps: Caps, interval_of: Callable[[Source], timedelta]) -> None:
        self._store = store
        self._clock = clock
        self._caps = caps
        self._interval_of = interval_of

    async def stats(self, subject: str) -> FetchStats | None:
        try:
            return await self._store.read(fetch_stats.get, subject)
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
        stored = await self._store.read(tweets.get_tweets_by_author, subject, limit=SHELVED)
        return [one.tweet for one in stored]

    async def previewed(self, timeline: str) -> Mapping[str, Any] | None:
        return await self._store.read(x_previews.get, timeline, since=self._clock.now() - PREVIEW_KEPT)

    async def keep_previewed(self, timeline: str, body: Mapping[str, Any]) -> None:
        now = self._clock.now()
        await self._store.write(x_previews.put, timeline, body, now=now, since=now - PREVIEW_KEPT)

    async def take_previewed(self, timeline: str) -> Mapping[str, Any] | None:
        return await self._store.write(x_previews.take, timeline, since=self._clock.now() - PREVIEW_KEPT)

    async def note_trouble(self, error: XError) -> None:
        """As an incident, of which an alert is made; logged once a minute, however many it befalls."""
        kind, message, now = _INCIDENTS[error.trouble], redact_text(str(error)), self._clock.now()
        if await self._store.write(alerts.note_incident_once, kind, message=message, now=now, within=TOLD_EVERY):
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
        if stats := self._stats(fetch_stats.get(conn, scrape.subject), scrape, new=saved.success, now=now):
            fetch_stats.put(conn, stats, now=now)
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
