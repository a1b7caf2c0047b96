"""A site for the engine to explore, without a wire: its pages, its listing, and what goes wrong with either."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from catchment.clock import ManualClock
from catchment.crawl import Crawler
from catchment.domain.candidate import CandidatePolicy, KnownListing, Listed, Listing, ListingPage, ListingRead, Told
from catchment.domain.filters import Filters
from catchment.domain.item import make_item
from catchment.domain.run import RunStatus
from catchment.domain.source import NewSource, Source
from catchment.domain.visit import Tally
from catchment.engine.leases import FencedStore
from catchment.errors import HttpError
from catchment.sources.base import Detail
from catchment.store import runs, sources
from catchment.store.database import Store

LEASE = timedelta(minutes=5)


class Crash(BaseException):
    """The process is gone from one moment to the next."""


@dataclass
class Page:
    version: int
    lastmod: datetime | None
    is_reachable: bool = True


@dataclass
class ScriptedSite:
    pages: dict[str, Page] = field(default_factory=dict)
    #: Pages that exist but are left out of the listing.
    unlisted: set[str] = field(default_factory=set)
    policy: CandidatePolicy = CandidatePolicy(baseline_items=2, cleanup_interval_days=0)
    #: What is raised at so many steps from now, where a step is a stretch listed or a detail fetched.
    fault: tuple[int, BaseException] | None = None
    asked: Counter[str] = field(default_factory=Counter)
    address: str = "https://example.org/sitemap.xml"
    name: str = "example"
    stretch: int = 2

    def add(self, *urls: str, lastmod: datetime | None = None) -> None:
        self.pages |= {url: Page(version=1, lastmod=lastmod) for url in urls}

    def edit(self, url: str, now: datetime) -> None:
        self.pages[url].version += 1
        self.pages[url].lastmod = now

    lane = None

    async def list_pages(self, _: Mapping[bytes, KnownListing]) -> AsyncIterator[Told]:
        listed = [Listed(url, page.lastmod) for url, page in self.pages.items() if url not in self.unlisted]
        for start in range(0, len(listed), self.stretch):
            self._step()
            yield ListingPage(url=self.address, listed=listed[start : start + self.stretch])
        self._step()
        yield ListingRead(listing=Listing(url=self.address))

    async def detail(self, listed: Listed) -> Detail:
        self._step()
        self.asked[listed.url] += 1
        page = self.pages[listed.url]
        if not page.is_reachable:
            raise HttpError("It answered 500.", status=500)
        return Detail(make_item(url=listed.url, title=listed.url, content=f"version {page.version}"))

    def _step(self) -> None:
        if self.fault is None:
            return
        steps, error = self.fault
        self.fault = (steps - 1, error) if steps else None
        if not steps:
            raise error


async def add_source(store: Store, now: datetime, name: str = "example") -> Source:
    new = NewSource(name=name, type="sitemap", config={}, identity=name)
    return await store.write(sources.add, new, now=now)


async def crawl(store: Store, clock: ManualClock, source: Source, site: ScriptedSite) -> Tally:
    """One visit, as the engine makes it. Whatever it raises, its run is over."""
    now = clock.now()
    run = await store.write(runs.claim_now, source.id, owner="test:1:x", now=now, until=now + LEASE)
    assert run is not None
    fenced = FencedStore(store=store, run_id=run.id)
    crawler = Crawler(store=fenced, clock=clock, source=source, crawl_session=site, filters=Filters())
    try:
        await crawler.crawl()
    except BaseException:
        await store.write(runs.expire_owners, ["test:1:x"], now=clock.now())
        raise
    await store.write(runs.finish, [run.id], status=RunStatus.COMPLETED, now=clock.now())
    return crawler.tally
