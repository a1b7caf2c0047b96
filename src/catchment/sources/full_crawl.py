"""The full mode of a crawling type: everything is listed, the newest is fetched, and nothing is remembered."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from itertools import count

from catchment.domain.candidate import Listed, ListingPage
from catchment.domain.item import Item
from catchment.domain.visit import Fetched
from catchment.errors import VisitError
from catchment.sources.base import CrawlSession

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


async def crawl_in_full(crawl_session: CrawlSession) -> Fetched:
    """The newest of all that is listed. What cannot be fetched is left out and warned about."""
    return await _bring(crawl_session, await _newest(_listed(crawl_session), crawl_session.policy.max_items))


async def sample(crawl_session: CrawlSession, most: int) -> Fetched:
    """The newest of the first page that is listed: enough to see what a source is like."""
    async for listed in _listed(crawl_session):
        if listed:
            return await _bring(crawl_session, heapq.nlargest(most, listed, key=_date))
    return Fetched()


async def _listed(crawl_session: CrawlSession) -> AsyncIterator[Sequence[Listed]]:
    async for told in crawl_session.list_pages({}):
        if isinstance(told, ListingPage):
            yield told.listed


async def _newest(pages: AsyncIterator[Sequence[Listed]], most: int) -> list[Listed]:
    """The newest first, each once. No more than these are held, however much is listed."""
    order = count()
    heap: list[tuple[datetime, int, Listed]] = []
    held: set[bytes] = set()
    async for listed in pages:
        for one in listed:
            if one.key in held:
                continue
            held.add(one.key)
            # Of two with one date the first listed is the better one.
            heapq.heappush(heap, (_date(one), -next(order), one))
            if len(heap) > most:
                held.discard(heapq.heappop(heap)[2].key)
    return [one for _, _, one in sorted(heap, reverse=True)]


def _date(listed: Listed) -> datetime:
    return listed.lastmod or _LONG_AGO


async def _bring(crawl_session: CrawlSession, chosen: Sequence[Listed]) -> Fetched:
    gate = asyncio.Semaphore(crawl_session.policy.at_once)

    async def detail(listed: Listed) -> Item | VisitError:
        async with gate:
            try:
                return (await crawl_session.detail(listed)).item
            except VisitError as error:
                return error

    outcomes = await asyncio.gather(*(detail(one) for one in chosen))
    failures = [one for one in outcomes if isinstance(one, VisitError)]
    if failures and len(failures) == len(outcomes):
        raise failures[0]
    return Fetched(
        title=crawl_session.name,
        items=tuple(one for one in outcomes if not isinstance(one, VisitError)),
        warnings=tuple(f"left out: {failure}" for failure in failures),
    )
