"""A crawl: what a crawling type lists is taken in document by document, settled, and then collected.

It may take several visits, as the host's budget allows: the round that one of them begins, the next goes on with.
Everything is written while the run holds its lease, in short transactions, so that whatever happens in between, the
next run finds a state from which nothing is lost and nothing comes twice.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crawl.details import DetailFetcher, different_items
from catchment.domain.candidate import (
    CrawlRound,
    CrawlTarget,
    ListingPage,
    ListingRead,
    ListingWarning,
    Settled,
    Unchanged,
    is_untrue,
)
from catchment.domain.filters import Filters
from catchment.domain.source import Source
from catchment.domain.visit import Tally
from catchment.engine.leases import FencedStore
from catchment.redact import redact_url
from catchment.sources.base import CrawlSession, Rechecker
from catchment.store import candidates, crawls

#: A round that was left lying for longer begins anew, with what is listed by now.
RESUMED_WITHIN = timedelta(hours=1)
#: So many details are looked at to find out whether a site's lastmod is to be believed.
SAMPLE = 10


class Crawler:
    """Makes one visit of a crawl."""

    def __init__(
        self, *, store: FencedStore, clock: Clock, source: Source, crawl_session: CrawlSession, filters: Filters
    ) -> None:
        self._store = store
        self._clock = clock
        self._source = source
        self._crawl_session = crawl_session
        self._who = f"source {source.id} ({source.name})"
        self._details = DetailFetcher(
            store=store, clock=clock, source=source, crawl_session=crawl_session, filters=filters
        )

    @property
    def tally(self) -> Tally:
        """What was stored so far, however the visit ends."""
        return self._details.tally

    async def crawl(self) -> None:
        """List what is there, unless that was done a moment ago, and collect what is pending."""
        now = self._clock.now()
        crawl_round = await self._store.write(
            crawls.begin_round,
            self._source.id,
            CrawlTarget(
                identity=self._source.identity,
                site_name=self._crawl_session.name,
                address=redact_url(self._crawl_session.address),
            ),
            now=now,
            resume_since=now - RESUMED_WITHIN,
        )
        if crawl_round.listed_at is None:
            await self._list(crawl_round)
        await self._look_into_doubts()
        await self._details.gather()
        # What was collected at the first round was collected a moment ago.
        if (
            self._crawl_session.policy.rechecks
            and isinstance(self._crawl_session, Rechecker)
            and crawl_round.baseline_at
        ):
            await self._details.recheck(self._crawl_session)
        await self._store.write(crawls.end_round, self._source.id, self._crawl_session.policy, now=self._clock.now())

    async def _list(self, crawl_round: CrawlRound) -> None:
        now = self._clock.now()
        known = await self._store.read(crawls.list_listings, self._source.id, round_began_at=crawl_round.round_began_at)
        async for told in self._crawl_session.explore(known):
            if isinstance(told, ListingWarning):
                logger.warning("{}: {}", self._who, told.message)
            else:
                await self._store.write(_take_in, self._source.id, told, now=now)
        settled = await self._store.write(
            crawls.settle, self._source.id, self._crawl_session.policy, now=self._clock.now()
        )
        self._report(settled, crawl_round)

    async def _look_into_doubts(self) -> None:
        """Compare a few of those that are said to have changed with what they were."""
        if not (claimed := await self._details.claim(SAMPLE, doubted=True)):
            return
        batch = await self._details.fetch(claimed)
        different = different_items(batch)
        same = sum(one.candidate.fingerprint == one.item.fingerprint for one in batch.brought)
        # What cannot be compared is remembered for the next time, and is no news.
        await self._details.store_batch(batch, publish=different)
        if not batch.brought:
            return
        if is_untrue(same=same, different=len(different)):
            await self._store.write(candidates.dismiss, self._source.id)
        else:
            await self._store.write(_believe, self._source.id, now=self._clock.now())

    def _report(self, settled: Settled, before: CrawlRound) -> None:
        if not settled.vanished_believed:
            logger.warning(
                "{}: {} of {} known are no longer listed, which is too many to believe; none is marked deleted",
                self._who,
                settled.vanished,
                settled.known,
            )
        if settled.doubted and before.doubted_since is None:
            logger.warning(
                "{}: {} of {} known are said to have changed at once; {} are looked into before that is believed",
                self._who,
                settled.changed,
                settled.known,
                SAMPLE,
            )


def _take_in(conn: Connection, source_id: int, told: ListingPage | ListingRead | Unchanged, *, now: datetime) -> None:
    match told:
        case ListingPage(url=url, listed=listed):
            listing_id = crawls.open_listing(conn, source_id, url, now=now)
            candidates.note(conn, source_id, listed, listing_id=listing_id, now=now)
        case ListingRead(listing=listing):
            crawls.close_listing(conn, source_id, listing, now=now)
        case Unchanged(url=url):
            crawls.vouch(conn, source_id, url, now=now)


def _believe(conn: Connection, source_id: int, *, now: datetime) -> None:
    candidates.believe(conn, source_id)
    crawls.save(conn, source_id, {"doubted_since": None}, now=now)
