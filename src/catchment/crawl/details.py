"""Details: pending candidates are claimed in batches, fetched several at once, and stored batch by batch."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import NamedTuple

from loguru import logger
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from catchment.clock import Clock
from catchment.domain.candidate import Candidate
from catchment.domain.crawling import Code, CrawlError
from catchment.domain.filters import Filters
from catchment.domain.item import Item
from catchment.domain.note import Action, Crawled
from catchment.domain.source import Source
from catchment.domain.visit import Tally
from catchment.engine.commit import UNSTORABLE
from catchment.engine.decide import each_once, sort_items
from catchment.engine.events import emit_events
from catchment.engine.leases import FencedStore
from catchment.errors import CatchmentError, HttpError, SiteUnavailable, Unreachable, VisitError
from catchment.fetch.freshness import Validators
from catchment.fetch.pacing import Deferred
from catchment.redact import redact_text
from catchment.sources.base import CrawlSession, Detail, Rechecker
from catchment.store import alerts, candidates, crawls, items, notes
from catchment.store.alerts import Incident
from catchment.store.candidates import CandidateFailure, Collected

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
                reason = error.orig if isinstance(error, DBAPIError) else error
                failure = CandidateFailure(one.candidate, redact_text(f"What came cannot be stored: {reason}"))
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


def _collected(one: FetchedDetail) -> Collected:
    known_by = one.validators or Validators()
    return Collected(one.candidate, one.item.fingerprint, known_by.etag, known_by.last_modified)


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
        alerts.record_incident(conn, Incident.INVALID_INPUT, amount=invalid, now=now)


def _is_blameless(error: VisitError) -> bool:
    """It says nothing about the candidate: we were too many, the site or our own network is down."""
    if isinstance(error, CrawlError):
        return error.handling.halts
    if isinstance(error, HttpError):
        return error.status == HTTPStatus.TOO_MANY_REQUESTS
    return isinstance(error, SiteUnavailable) or (isinstance(error, Unreachable) and error.ours)


def _is_refusal(error: VisitError) -> bool:
    """The others would fare no better at this moment."""
    return _is_blameless(error) or (isinstance(error, HttpError) and error.retry_after is not None)


def store_details(conn: Connection, source: Source, batch: Batch, kept: Sequence[Item], *, now: datetime) -> Tally:
    """What was brought becomes items, except for notes that are there already; and every candidate is marked."""
    doubles = {one.item.key for one in batch.brought if one.note and not _write_note(conn, source, one.note, now=now)}
    found = each_once([item for item in kept if item.key not in doubles])
    news = sort_items(found, items.remembered(conn, source.id, [item.key for item in found]))
    items.insert_new(conn, [(source.id, item) for item in news.new], now=now)
    items.update_changed(conn, [(source.id, item) for item in news.changed], now=now)
    emit_events(conn, [(source, news.new)], now=now)
    candidates.mark_collected(conn, [_collected(one) for one in batch.brought], now=now)
    mark_failed(conn, batch.failed, now=now)
    counts = {"fetched": len(batch.brought), "failed": len(batch.failed)}
    return Tally(**counts, inserted=len(news.new), updated=len(news.changed))


def _write_note(conn: Connection, source: Source, note: Crawled, *, now: datetime) -> bool:
    """Whether it is new: a note is written once, whichever source found it."""
    return notes.write(conn, note, source_id=source.id, now=now).action is Action.CREATED
