"""A crawl: what a crawling type lists is taken in document by document, settled, and then collected.

It may take several visits, as the host's budget allows: the round that one of them begins, the next goes on with.
Everything is written while the run holds its lease, in short transactions, so that whatever happens in between, the
next run finds a state from which nothing is lost and nothing comes twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import NamedTuple

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.candidate import (
    Candidate,
    CrawlRound,
    CrawlTarget,
    ListingPage,
    ListingRead,
    ListingWarning,
    Settled,
    Unchanged,
    is_untrue,
)
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.filters import Filters
from catchment.domain.item import Item
from catchment.domain.note import Action, Crawled
from catchment.domain.source import Source
from catchment.domain.visit import Tally, network_is_down
from catchment.engine.items import UNSTORABLE, FoundItems, store_items, why_unstorable
from catchment.engine.leases import FencedStore
from catchment.errors import CatchmentError, HttpError, SiteUnavailable, Unreachable, VisitError
from catchment.fetch.freshness import Validators
from catchment.fetch.pacing import Deferred
from catchment.redact import redact_text, redact_url
from catchment.sources.base import CrawlSession, Detail, Rechecker
from catchment.store import candidates, crawls, incidents, notes
from catchment.store.candidates import CandidateFailure, CollectedCandidate
from catchment.store.incidents import Incident

Ask = Callable[[Candidate], Awaitable[Detail | None]]
#: How many batches' worth of fetching at once are claimed together.
CLAIMED_AHEAD = 5


class FetchedDetail(NamedTuple):
    candidate: Candidate
    item: Item
    #: What goes into a table of its own besides.
    note: Crawled | None = None
    validators: Validators | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What came of the candidates that were claimed together. Those that are in neither list stay pending."""

    brought: Sequence[FetchedDetail] = ()
    failed: Sequence[CandidateFailure] = ()
    #: Why no more can be fetched at this visit.
    halt: CatchmentError | None = None


class DetailFetcher:
    def __init__(
        self, *, store: FencedStore, clock: Clock, source: Source, crawl_session: CrawlSession, filters: Filters
    ) -> None:
        self._store = store
        self._clock = clock
        self._source = source
        self._crawl_session = crawl_session
        self._filters = filters
        self.tally = Tally()

    async def gather(self) -> None:
        """Collect everything that is pending, or raise what stands in the way; what was brought is stored then."""
        size = self._crawl_session.policy.at_once * CLAIMED_AHEAD
        while claimed := await self.claim(size):
            await self.store_batch(await self.fetch(claimed))

    async def claim(self, limit: int, *, doubted: bool = False) -> list[Candidate]:
        return await self._store.write(
            candidates.claim,
            self._source.id,
            self._store.run_id,
            limit=limit,
            now=self._clock.now(),
            doubted=doubted,
        )

    async def recheck(self, crawl_session: Rechecker) -> None:
        """Ask for some of what no lastmod tells about whether it changed. What fails is as it was."""
        chosen = await self._store.write(crawls.take_to_recheck, self._source.id, now=self._clock.now())
        batch = await self.fetch(chosen, lambda one: crawl_session.recheck(one.listed, _known_by(one)))
        refused = batch.halt if not isinstance(batch.halt, Deferred) else None
        # What cannot be compared is remembered for the next time, and is no news.
        await self.store_batch(replace(batch, failed=(), halt=refused), publish=different_items(batch))

    async def fetch(self, claimed: Sequence[Candidate], ask: Ask | None = None) -> Batch:
        """Fetch these, several at once, until one of them shows that the host wants no more."""
        ask = ask or (lambda one: self._crawl_session.detail(one.listed))
        gate = asyncio.Semaphore(self._crawl_session.policy.at_once)
        halts: list[CatchmentError] = []

        async def look(candidate: Candidate) -> FetchedDetail | CandidateFailure | None:
            async with gate:
                return None if halts else await self._look(candidate, halts, ask)

        outcomes = await asyncio.gather(*(look(candidate) for candidate in claimed))
        return Batch(
            brought=[one for one in outcomes if isinstance(one, FetchedDetail)],
            failed=[one for one in outcomes if isinstance(one, CandidateFailure)],
            halt=halts[0] if halts else None,
        )

    async def store_batch(self, batch: Batch, *, publish: Sequence[Item] | None = None) -> None:
        """Store a batch, then raise what halted it. Of what was brought, `publish` becomes items; without it, all."""
        kept = self._filters.apply(publish if publish is not None else [one.item for one in batch.brought])
        try:
            self.tally += await self._store.write(store_details, self._source, batch, kept, now=self._clock.now())
        except UNSTORABLE as error:
            # Alone, only the culprit fails.
            logger.warning("source {}: {} details could not be stored together: {}", self._source.id, len(kept), error)
            await self._store_one_by_one(batch, kept)
        if batch.halt is not None:
            raise batch.halt

    async def _store_one_by_one(self, batch: Batch, kept: Sequence[Item]) -> None:
        for one in batch.brought:
            alone = [item for item in kept if item is one.item]
            try:
                outcome = Batch(brought=[one])
                self.tally += await self._store.write(
                    store_details, self._source, outcome, alone, now=self._clock.now()
                )
            except UNSTORABLE as error:
                failure = CandidateFailure(one.candidate, why_unstorable(error))
                await self._store.write(mark_failed, [failure], now=self._clock.now())
        await self._store.write(mark_failed, batch.failed, now=self._clock.now())

    async def _look(
        self, candidate: Candidate, halts: list[CatchmentError], ask: Ask
    ) -> FetchedDetail | CandidateFailure | None:
        try:
            detail = await ask(candidate)
            return None if detail is None else FetchedDetail(candidate, *detail)
        except Deferred as deferred:
            halts.append(deferred)
            return None
        except VisitError as error:
            if _is_refusal(error):
                halts.append(error)
            return None if _is_blameless(error) else failure_of(candidate, error)
        except CatchmentError as error:
            # Something of ours is amiss, such as the store: the note cannot help it.
            halts.append(error)
            return None
        except Exception as error:  # noqa: BLE001 - the edge: what a page breaks is that page's failure, nobody else's
            logger.opt(exception=error).error("source {}: {} broke its fetcher", self._source.id, candidate.listed.url)
            return CandidateFailure(candidate, f"It broke its fetcher: {redact_text(repr(error))}")


def different_items(batch: Batch) -> list[Item]:
    """What is no longer as it was when it was last fetched."""
    return [one.item for one in batch.brought if one.candidate.fingerprint not in {None, one.item.fingerprint}]


def _known_by(candidate: Candidate) -> Validators:
    return Validators(etag=candidate.etag, last_modified=candidate.last_modified)


def _collected(one: FetchedDetail) -> CollectedCandidate:
    known_by = one.validators or Validators()
    return CollectedCandidate(one.candidate, one.item.fingerprint, known_by.etag, known_by.last_modified)


def failure_of(candidate: Candidate, error: VisitError) -> CandidateFailure:
    if not isinstance(error, CrawlError):
        return CandidateFailure(candidate, redact_text(str(error)))
    handling = error.handling
    said = redact_text(str(error))
    return CandidateFailure(candidate, said, error.code, is_final=handling.is_final, is_blameless=handling.halts)


def mark_failed(conn: Connection, failures: Sequence[CandidateFailure], *, now: datetime) -> None:
    """Mark what failed. That something could not even be asked for is for people to look into."""
    candidates.mark_failed(conn, failures)
    invalid = sum(one.code == Code.INVALID_INPUT for one in failures)
    if invalid:
        incidents.record(conn, Incident.INVALID_INPUT, amount=invalid, now=now)


def _is_blameless(error: VisitError) -> bool:
    """It says nothing about the candidate: we were too many, the site or our own network is down."""
    if isinstance(error, CrawlError):
        return error.handling.halts
    if isinstance(error, HttpError):
        return error.status == HTTPStatus.TOO_MANY_REQUESTS
    if isinstance(error, Unreachable):
        return network_is_down(reached=False, unreachable_hosts={error.host}, surely_ours=error.ours)
    return isinstance(error, SiteUnavailable)


def _is_refusal(error: VisitError) -> bool:
    """The others would fare no better at this moment."""
    return _is_blameless(error) or (isinstance(error, HttpError) and error.retry_after is not None)


def store_details(conn: Connection, source: Source, batch: Batch, kept: Sequence[Item], *, now: datetime) -> Tally:
    """What was brought becomes items, except for notes that are there already; and every candidate is marked."""
    doubles = {one.item.key for one in batch.brought if one.note and not _write_note(conn, source, one.note, now=now)}
    found = FoundItems(source=source, items=[item for item in kept if item.key not in doubles])
    (news,) = store_items(conn, [found], now=now)
    candidates.mark_collected(conn, [_collected(one) for one in batch.brought], now=now)
    mark_failed(conn, batch.failed, now=now)
    counts = {"fetched": len(batch.brought), "failed": len(batch.failed)}
    return Tally(**counts, inserted=len(news.new), updated=len(news.changed))


def _write_note(conn: Connection, source: Source, note: Crawled, *, now: datetime) -> bool:
    """Whether it is new: a note is written once, whichever source found it."""
    return notes.write(conn, note, source_id=source.id, now=now).action is Action.CREATED


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
        async for told in self._crawl_session.list_pages(known):
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
            candidates.record_listed(conn, source_id, listed, listing_id=listing_id, now=now)
        case ListingRead(listing=listing):
            crawls.close_listing(conn, source_id, listing, now=now)
        case Unchanged(url=url):
            crawls.vouch(conn, source_id, url, now=now)


def _believe(conn: Connection, source_id: int, *, now: datetime) -> None:
    candidates.believe(conn, source_id)
    crawls.save(conn, source_id, {"doubted_since": None}, now=now)
