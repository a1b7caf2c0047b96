"""Whatever happens to a site and to its runs: what appeared is collected once, what changed is up to date."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.candidate import CandidatePolicy
from catchment.errors import CatchmentError
from catchment.fetch.pacing import Deferred
from catchment.store import crawls, items
from catchment.store.items import ItemQuery
from examples import at_most
from scripted_crawl import Crash, ScriptedSite, add_source, crawl
from source_factory import START
from stores import on_sqlite_alone

pytestmark = on_sqlite_alone

BASELINE = 2
#: None of the pages is given up, so that every one that can be reached is collected in the end.
POLICY = CandidatePolicy(baseline_items=BASELINE, most_attempts=1000, at_once=2, cleanup_interval_days=1)
_numbers = itertools.count()


@dataclass(frozen=True)
class Happening:
    what: str
    page: int = 0
    steps: int = 0


pages = st.integers(0, 7)
happenings = st.one_of(
    st.builds(
        Happening, st.sampled_from(["add", "edit", "edit", "break", "break", "mend", "hide", "show"]), page=pages
    ),
    st.builds(Happening, st.sampled_from(["run", "crash", "defer", "break down"]), steps=st.integers(0, 12)),
)


class Story:
    """A site that things happen to, and what should be published of it."""

    def __init__(self, store, source):
        self.store = store
        self.source = source
        self.clock = ManualClock(START)
        self.site = ScriptedSite(policy=POLICY)
        #: The pages of the first listing, once it is complete.
        self.baseline = None
        #: What has to be published: pages that came or changed after the first run.
        self.news = set()

    async def emit_events(self, happening):
        self.clock.advance(timedelta(minutes=7))
        url, site = f"/{happening.page}", self.site
        match happening.what:
            case "add" if url not in site.pages:
                site.add(url, lastmod=self.clock.now())
                self.mark(url)
            case "edit" if url in site.pages:
                site.edit(url, self.clock.now())
                self.mark(url)
            case "break" | "mend" if url in site.pages:
                site.pages[url].is_reachable = happening.what == "mend"
            case "hide":
                site.unlisted.add(url)
            case "show" if url in site.unlisted:
                site.unlisted.discard(url)
                if url in site.pages and url not in (self.baseline or ()):
                    self.mark(url)
            case "run" | "crash" | "defer" | "break down":
                await self.run(happening)

    def mark(self, url):
        if self.baseline is not None:
            self.news.add(url)

    async def run(self, happening):
        """One visit; afterwards nothing is published that is not news."""
        faults = {"crash": Crash(), "defer": Deferred("x", seconds=1), "break down": CatchmentError("no")}
        error = faults.get(happening.what)
        self.site.fault = (happening.steps, error) if error else None
        before = await self.published()
        try:
            tally = await crawl(self.store, self.clock, self.source, self.site)
        except (Crash, CatchmentError):
            tally = None
        after = await self.published()
        changed = {url for url, version in after.items() if before.get(url) != version}
        assert all(after[url] == f"version {self.site.pages[url].version}" for url in changed)
        assert len(after.keys() - self.news) <= BASELINE
        if tally is not None:
            assert tally.inserted + tally.updated == len(changed)
        crawl_round = await self.store.read(crawls.get, self.source.id)
        if self.baseline is None and crawl_round is not None and crawl_round.baseline_at is not None:
            self.baseline = self.site.pages.keys() - self.site.unlisted

    async def published(self):
        query = ItemQuery(caller=OPERATOR, limit=0, source_id=self.source.id)
        stored = await self.store.read(items.list_items, query)
        assert len({item.url for item in stored}) == len(stored), "an item came twice"
        return {item.url: item.content for item in stored}

    async def end(self):
        """Every page is well, and two runs have no trouble: one may finish what was begun, the next lists anew."""
        for page in self.site.pages.values():
            page.is_reachable = True
        for _ in range(2):
            self.clock.advance(timedelta(minutes=7))
            await self.run(Happening("run"))


@pytest.mark.proves("B-03", "B-06", "B-22")
@settings(max_examples=at_most(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(before=st.sets(pages), story=st.lists(happenings, max_size=25))
async def test_what_appeared_is_collected_once_and_what_changed_is_up_to_date(store, before, story):
    told = Story(store, await add_source(store, START, name=f"story {next(_numbers)}"))
    for page in before:
        await told.emit_events(Happening("add", page=page))
    for happening in story:
        await told.emit_events(happening)
    await told.end()
    published = await told.published()
    for url in told.news:
        page = told.site.pages[url]
        if url not in told.site.unlisted:
            assert published.get(url) == f"version {page.version}"
