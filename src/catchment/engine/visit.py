"""Visit a source: let its fetcher work, and turn whatever happens into an ending."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Protocol

from loguru import logger

from catchment.clock import Clock
from catchment.crypto import Unsealable
from catchment.domain.filters import Filters
from catchment.domain.options import UNRESOLVED_KEY, Options
from catchment.domain.run import Run
from catchment.domain.source import Source
from catchment.domain.visit import Collected, Ending, Failed, Fetched, Postponed, Skipped, Tally, Visit
from catchment.engine.leases import FencedStore
from catchment.errors import (
    BadConfig,
    CatchmentError,
    DamagedStore,
    HttpError,
    LeaseLost,
    OutOfDescriptors,
    ParserUnavailable,
    RefusedAddress,
    SettingsError,
    StoreError,
    TimedOut,
    Unreachable,
    VisitError,
)
from catchment.fetch.pacing import Deferred
from catchment.redact import redact_text
from catchment.sources.base import CrawlingType, CrawlSession, Fetcher
from catchment.sources.client import ClientFactory
from catchment.sources.registry import Registry
from catchment.store.database import Store

#: Until when a host asked to be left alone, if it did.
Holds = Callable[[str], datetime | None]
#: When to come back to a lane that another crawl is on.
LANE_SECONDS = 30.0


#: Gives a source that was never looked at as what it is.
Resolve = Callable[[Source], Awaitable[Source]]


class Crawl(Protocol):
    """One visit of an incremental crawl, which stores what it finds on its way."""

    @property
    def tally(self) -> Tally:
        """What was stored so far, however the visit ends."""
        ...

    async def crawl(self) -> None: ...


class StartCrawl(Protocol):
    def __call__(
        self, *, store: FencedStore, clock: Clock, source: Source, crawl_session: CrawlSession, filters: Filters
    ) -> Crawl: ...


class Visitor:
    def __init__(
        self,
        *,
        store: Store,
        registry: Registry,
        clients: ClientFactory,
        clock: Clock,
        start_crawl: StartCrawl,
        resolve: Resolve,
        held_until: Holds,
    ) -> None:
        self._start_crawl = start_crawl
        self._held_until = held_until
        self._store = store
        self._resolve = resolve
        self._registry = registry
        self._clients = clients
        self._clock = clock
        self._warned_types: set[str] = set()

    async def visit(self, run: Run, source: Source) -> Visit:
        if source.config.get(UNRESOLVED_KEY):
            source = await self._resolved(source)
        visit = await self._visit(run, source)
        held_until = self._held_until(source.host) if source.host else None
        return visit if held_until is None else replace(visit, host_held_until=held_until)

    async def _resolved(self, source: Source) -> Source:
        """As what it is; as it was where that cannot be told, for which no worker has to die."""
        try:
            return await self._resolve(source)
        except CatchmentError as error:
            logger.warning("source {} ({}) stays as it is: {}", source.id, source.name, redact_text(str(error)))
        except Exception as error:  # noqa: BLE001 - the edge: whatever was found there concerns this source alone
            logger.opt(exception=error).error("source {} ({}) stays as it is", source.id, source.name)
        return source

    async def _visit(self, run: Run, source: Source) -> Visit:
        fetcher = self._registry.fetcher(source.type)
        if fetcher is not None:
            return Visit(run=run, source=source, ending=await self._end(source, self._fetch(fetcher, source)))
        crawling_type = self._registry.crawling_type(source.type)
        if crawling_type is not None:
            return await self._crawl(crawling_type, run, source)
        return Visit(run=run, source=source, ending=self._skip(source))

    async def _end(self, source: Source, work: Awaitable[Fetched]) -> Ending:
        try:
            return Collected(fetched=await work)
        except Deferred as deferred:
            logger.info("source {} ({}) is put off: {}", source.id, source.name, deferred)
            until = self._clock.now() + timedelta(seconds=deferred.seconds)
            return Postponed(until=until, why=deferred.why, message=redact_text(str(deferred)))
        except VisitError as error:
            if isinstance(error, OutOfDescriptors):
                logger.error("source {} ({}): {}", source.id, source.name, error)
            return _failure(error)
        except LeaseLost as error:
            return Skipped(reason=str(error))
        except (StoreError, SettingsError, ParserUnavailable) as error:
            # A secret of the source that does not open is for its owner to enter again, who is told when it counts.
            return Failed(message=redact_text(str(error)), ours=not isinstance(error, Unsealable))
        except Exception as error:  # noqa: BLE001 - the edge: a plug-in's mistake is its source's failure, nobody else's
            logger.opt(exception=error).error("source {} ({}): its fetcher broke", source.id, source.name)
            return Failed(message=f"The fetcher for {source.type!r} broke: {redact_text(repr(error))}")

    async def _fetch(self, fetcher: Fetcher, source: Source) -> Fetched:
        options, context = self._clients.context(source, self._clock.now())
        return self._sifted(source, await fetcher.fetch(context), options)

    async def _crawl(self, crawling_type: CrawlingType, run: Run, source: Source) -> Visit:
        """What a crawl brings is stored on its way: only the count of it is left to tell."""
        crawls: list[Crawl] = []
        ending = await self._end(source, self._run_crawl(crawling_type, run, source, crawls))
        return Visit(run=run, source=source, ending=ending, tally=sum((crawl.tally for crawl in crawls), Tally()))

    async def _run_crawl(self, crawling_type: CrawlingType, run: Run, source: Source, crawls: list[Crawl]) -> Fetched:
        options, context = self._clients.context(source, self._clock.now())
        crawl_session = crawling_type.start_crawl(context)
        if not crawl_session.policy.incremental:
            return self._sifted(source, await _crawl_in_full(crawl_session), options)
        store = FencedStore(store=self._store, run_id=run.id)
        crawl = self._start_crawl(
            store=store, clock=self._clock, source=source, crawl_session=crawl_session, filters=options.filters
        )
        crawls.append(crawl)
        try:
            async with _in_lane(crawl_session):
                await crawl.crawl()
        except DamagedStore as error:
            if not crawl_session.policy.is_complete:
                raise
            logger.warning("source {} ({}) is read in full: {}", source.id, source.name, error)
            return self._sifted(source, await _crawl_in_full(crawl_session), options)
        return Fetched(memory=source.memory)

    def _sifted(self, source: Source, fetched: Fetched, options: Options) -> Fetched:
        for warning in fetched.warnings:
            logger.warning("source {} ({}): {}", source.id, source.name, warning)
        if fetched.left_out:
            logger.warning(
                "source {} ({}): {} entries make no sense and are left out", source.id, source.name, fetched.left_out
            )
        return _filtered(fetched, options) if options.filters else fetched

    def _skip(self, source: Source) -> Skipped:
        key = self._registry.needed_key(source.type)
        reason = f"no fetcher for type '{source.type}'" + (f": set {key}" if key else "")
        if source.type not in self._warned_types:
            self._warned_types.add(source.type)
            logger.warning("{}; such sources are skipped until then", reason)
        return Skipped(reason=reason)


async def _crawl_in_full(crawl_session: CrawlSession) -> Fetched:
    # Imported here, as most visits are to feeds.
    from catchment.sources.full_crawl import crawl_in_full

    return await crawl_in_full(crawl_session)


@asynccontextmanager
async def _in_lane(crawl_session: CrawlSession) -> AsyncIterator[None]:
    """In its lane, if it has one; whoever finds it taken holds up nobody else while waiting."""
    if crawl_session.lane is None:
        yield
        return
    if crawl_session.lane.locked():
        raise Deferred(crawl_session.address, seconds=LANE_SECONDS)
    async with crawl_session.lane:
        yield


def _filtered(fetched: Fetched, options: Options) -> Fetched:
    """Only what the source's filters keep. What they drop is not remembered, so nothing is told of missed items."""
    return replace(fetched, items=options.filters.apply(fetched.items), is_window=False)


def _failure(error: VisitError) -> Failed:
    # That too much is open here says nothing of the network: it is ours whoever else was reached.
    is_full = isinstance(error, OutOfDescriptors)
    unreachable = error if isinstance(error, Unreachable) and not is_full else None
    return Failed(
        message=redact_text(str(error)),
        retry_after=timedelta(seconds=error.retry_after) if error.retry_after is not None else None,
        answered=not isinstance(error, Unreachable | RefusedAddress | BadConfig | TimedOut),
        unreachable_host=unreachable.host if unreachable else None,
        ours=unreachable.ours if unreachable else is_full,
        gone=isinstance(error, HttpError) and error.status == HTTPStatus.GONE,
    )
