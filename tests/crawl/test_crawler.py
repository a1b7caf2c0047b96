"""Crawls: what is listed is collected once, whatever crashes, fails or lies on the way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import select, text

from catchment.domain.caller import OPERATOR
from catchment.domain.candidate import CandidatePolicy, CandidateState
from catchment.errors import HttpError, LeaseLost
from catchment.fetch.pacing import Deferred
from catchment.store import crawls, items, runs
from catchment.store.items import ItemQuery
from catchment.store.tables import candidates
from scripted_crawl import Crash, ScriptedSite, add_source, crawl
from source_factory import START
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
ONE_BY_ONE = CandidatePolicy(baseline_items=2, at_once=1)


@pytest.fixture
def site():
    return ScriptedSite()


async def versions(store, source):
    """What is published, by address."""
    stored = await store.read(items.list_items, ItemQuery(caller=OPERATOR, limit=0, source_id=source.id))
    return {item.url: item.content for item in stored}


async def states(store, source):
    def query(conn):
        return conn.execute(select(candidates).where(candidates.c.source_id == source.id)).all()

    return {row.url: row for row in await store.read(query)}


async def begin(store, clock, site):
    """A source whose first run is over."""
    source = await add_source(store, clock.now())
    await crawl(store, clock, source, site)
    clock.advance(HOUR)
    return source


class TestTheFirstRun:
    @pytest.mark.proves("B-05", "B-02")
    async def test_it_publishes_the_newest_and_marks_everything_processed(self, store, clock, site):
        for number in range(6):
            site.add(f"/{number}", lastmod=START - number * DAY)
        source = await add_source(store, START)
        tally = await crawl(store, clock, source, site)
        assert (tally.fetched, tally.inserted) == (2, 2)
        assert set(await versions(store, source)) == {"/0", "/1"}
        assert {row.state for row in (await states(store, source)).values()} == {CandidateState.PROCESSED}

    @pytest.mark.proves("B-05", "B-03")
    async def test_the_second_run_does_not_flood(self, store, clock, site):
        site.add(*(f"/{number}" for number in range(6)))
        source = await begin(store, clock, site)
        site.asked.clear()
        tally = await crawl(store, clock, source, site)
        assert (tally.fetched, tally.inserted, tally.updated) == (0, 0, 0)
        assert not site.asked

    @pytest.mark.proves("B-05", "B-06")
    @pytest.mark.parametrize("steps", range(6))
    async def test_a_crash_in_the_middle_of_it_floods_nobody_later(self, store, clock, site, steps):
        site.add(*(f"/{number}" for number in range(6)))
        source = await add_source(store, START)
        site.fault = (steps, Crash())
        with pytest.raises(Crash):
            await crawl(store, clock, source, site)
        for _ in range(2):
            clock.advance(HOUR)
            await crawl(store, clock, source, site)
        assert len(await versions(store, source)) == 2

    async def test_a_baseline_of_none_collects_everything(self, store, clock, site):
        site.policy = CandidatePolicy(baseline_items=None)
        site.add("/1", "/2", "/3")
        source = await add_source(store, START)
        assert (await crawl(store, clock, source, site)).inserted == 3


class TestWhatIsFetched:
    @on_both_stores
    @pytest.mark.proves("B-03", "B-02")
    async def test_only_new_and_changed_pages_are_fetched(self, store, clock, site):
        site.add("/1", "/2", "/3", lastmod=START)
        source = await begin(store, clock, site)
        site.asked.clear()
        site.add("/new", lastmod=clock.now())
        site.edit("/3", clock.now())
        tally = await crawl(store, clock, source, site)
        assert site.asked == {"/new": 1, "/3": 1}
        assert (tally.inserted, tally.updated) == (2, 0)

    @pytest.mark.proves("B-22")
    async def test_a_changed_page_is_the_same_item_with_a_new_face(self, store, clock, site):
        site.add("/1", lastmod=START)
        source = await begin(store, clock, site)
        [before] = await store.read(items.list_items, ItemQuery(caller=OPERATOR))
        site.edit("/1", clock.now())
        tally = await crawl(store, clock, source, site)
        [after] = await store.read(items.list_items, ItemQuery(caller=OPERATOR))
        assert (tally.inserted, tally.updated) == (0, 1)
        assert (after.id, after.content) == (before.id, "version 2")

    @pytest.mark.proves("B-02")
    async def test_a_page_that_vanishes_is_marked_deleted_and_is_no_news_when_it_is_back(self, store, clock, site):
        site.add("/1", "/2", "/3", lastmod=START)
        source = await begin(store, clock, site)
        site.unlisted.add("/1")
        await crawl(store, clock, source, site)
        assert (await states(store, source))["/1"].deleted_at == clock.now()
        site.unlisted.clear()
        site.asked.clear()
        clock.advance(HOUR)
        await crawl(store, clock, source, site)
        assert (await states(store, source))["/1"].deleted_at is None
        assert not site.asked

    @pytest.mark.proves("B-11")
    async def test_when_more_than_half_vanish_none_is_marked_deleted(self, store, clock, site, log):
        site.add("/1", "/2", "/3", lastmod=START)
        source = await begin(store, clock, site)
        site.unlisted |= {"/1", "/2"}
        await crawl(store, clock, source, site)
        assert all(row.deleted_at is None for row in (await states(store, source)).values())
        assert [line for line in log if line.startswith("WARNING") and "2 of 3" in line]

    @on_both_stores
    async def test_another_address_starts_afresh(self, store, clock, site):
        site.add("/1", "/2", "/3", lastmod=START)
        source = await begin(store, clock, site)
        site.pages.clear()
        site.add("/a", "/b", "/c", "/d", lastmod=START)
        moved = replace(source, identity="another")
        assert (await crawl(store, clock, moved, site)).inserted == 2
        assert set(await states(store, source)) == {"/a", "/b", "/c", "/d"}


class TestWhatFails:
    @pytest.mark.proves("B-04", "B-07")
    async def test_a_page_that_fails_is_not_published_and_is_tried_again_at_the_next_run(self, store, clock, site):
        source = await begin(store, clock, site)
        site.add("/bad", "/good")
        site.pages["/bad"].is_reachable = False
        tally = await crawl(store, clock, source, site)
        assert tally.inserted == 1
        failed = (await states(store, source))["/bad"]
        assert (failed.state, failed.attempts, failed.last_error) == (CandidateState.FAILED, 1, "It answered 500.")
        assert set(await versions(store, source)) == {"/good"}
        site.pages["/bad"].is_reachable = True
        await crawl(store, clock, source, site)
        assert set(await versions(store, source)) == {"/good", "/bad"}
        assert (await states(store, source))["/bad"].attempts == 0

    @pytest.mark.proves("B-04")
    async def test_after_five_attempts_it_is_given_up_until_its_lastmod_changes(self, store, clock, site):
        source = await begin(store, clock, site)
        site.add("/bad", lastmod=START)
        site.pages["/bad"].is_reachable = False
        for _ in range(8):
            clock.advance(HOUR)
            await crawl(store, clock, source, site)
        assert site.asked["/bad"] == 5
        site.pages["/bad"].is_reachable = True
        await crawl(store, clock, source, site)
        assert await versions(store, source) == {}
        site.edit("/bad", clock.now())
        await crawl(store, clock, source, site)
        assert await versions(store, source) == {"/bad": "version 2"}

    @pytest.mark.proves("B-04")
    async def test_without_retries_a_failed_page_stays_failed(self, store, clock, site):
        site.policy = replace(site.policy, retry_failed=False)
        source = await begin(store, clock, site)
        site.add("/bad")
        site.pages["/bad"].is_reachable = False
        for _ in range(3):
            await crawl(store, clock, source, site)
        assert site.asked["/bad"] == 1

    async def test_a_page_that_breaks_its_fetcher_fails_alone(self, store, clock, site, log):
        source = await begin(store, clock, site)
        site.policy = ONE_BY_ONE
        site.add("/1", "/2")
        site.fault = (2, ZeroDivisionError("no"))
        assert (await crawl(store, clock, source, site)).inserted == 1
        assert "ZeroDivisionError" in (await states(store, source))["/1"].last_error
        assert any("broke its fetcher" in line for line in log)

    async def test_a_page_that_cannot_be_stored_fails_alone(self, store, clock, site):
        source = await begin(store, clock, site)
        site.add("/1", "/2", "/3")
        site.pages["/2"].version = "\ud800"
        assert (await crawl(store, clock, source, site)).inserted == 2
        assert (await states(store, source))["/2"].state == CandidateState.FAILED

    async def test_a_host_that_wants_no_more_is_left_alone_and_nothing_is_blamed(self, store, clock, site):
        source = await begin(store, clock, site)
        site.policy = ONE_BY_ONE
        site.add("/1", "/2", "/3")
        site.fault = (4, HttpError("Too many.", status=429, retry_after=60))
        with pytest.raises(HttpError):
            await crawl(store, clock, source, site)
        assert site.asked == {"/1": 1}
        assert [row.attempts for row in (await states(store, source)).values()] == [0, 0, 0]
        await crawl(store, clock, source, site)
        assert len(await versions(store, source)) == 3


class TestWhatIsInterrupted:
    @pytest.mark.proves("B-06")
    @pytest.mark.parametrize("steps", range(6))
    async def test_a_crash_between_detection_and_marking_loses_nothing(self, store, clock, site, steps):
        source = await begin(store, clock, site)
        site.policy = ONE_BY_ONE
        site.add("/1", "/2", "/3")
        site.fault = (steps, Crash())
        with pytest.raises(Crash):
            await crawl(store, clock, source, site)
        await crawl(store, clock, source, site)
        assert len(await versions(store, source)) == 3

    async def test_what_the_hosts_budget_puts_off_is_gone_on_with_and_not_listed_again(self, store, clock, site):
        source = await begin(store, clock, site)
        site.policy = ONE_BY_ONE
        site.add("/1", "/2", "/3")
        site.fault = (4, Deferred("example.org", seconds=30))
        with pytest.raises(Deferred):
            await crawl(store, clock, source, site)
        assert set(await versions(store, source)) == {"/1"}
        site.add("/4")
        clock.advance(timedelta(seconds=30))
        assert (await crawl(store, clock, source, site)).inserted == 2
        assert (await crawl(store, clock, source, site)).inserted == 1

    async def test_a_round_that_was_left_lying_begins_with_a_new_listing(self, store, clock, site):
        source = await begin(store, clock, site)
        site.add("/1")
        site.fault = (2, Deferred("example.org", seconds=30))
        with pytest.raises(Deferred):
            await crawl(store, clock, source, site)
        site.add("/2")
        clock.advance(2 * HOUR)
        assert (await crawl(store, clock, source, site)).inserted == 2

    async def test_a_listing_that_was_left_lying_begins_anew_too(self, store, clock, site):
        source = await begin(store, clock, site)
        site.add("/1", "/2", "/3")
        site.fault = (1, Deferred("example.org", seconds=30))
        with pytest.raises(Deferred):
            await crawl(store, clock, source, site)
        began = (await store.read(crawls.get, source.id)).round_began_at
        clock.advance(2 * HOUR)
        await crawl(store, clock, source, site)
        assert (await store.read(crawls.get, source.id)).round_began_at == began + 2 * HOUR

    @on_both_stores
    @pytest.mark.proves("F-08")
    async def test_a_run_that_was_taken_over_writes_nothing_more(self, store, clock, site):
        source = await begin(store, clock, site)
        site.add("/1")

        class Overtaken(ScriptedSite):
            async def detail(self, listed):
                await store.write(runs.expire_owners, ["test:1:x"], now=clock.now())
                return await super().detail(listed)

        with pytest.raises(LeaseLost):
            await crawl(store, clock, source, Overtaken(pages=site.pages))
        assert await versions(store, source) == {}
        assert (await states(store, source))["/1"].state == CandidateState.PENDING
        assert (await crawl(store, clock, source, site)).inserted == 1


class TestSitesThatLie:
    def everything_changed(self, site, now, *, truly):
        for page in site.pages.values():
            page.lastmod = now
            page.version += truly

    async def begin(self, store, clock, site):
        site.policy = CandidatePolicy(baseline_items=10)
        for number in range(40):
            site.add(f"/{number}", lastmod=START - number * DAY)
        source = await begin(store, clock, site)
        site.asked.clear()
        return source

    @on_both_stores
    @pytest.mark.proves("B-03")
    async def test_when_everything_is_said_to_have_changed_a_few_are_looked_at_first(self, store, clock, site, log):
        source = await self.begin(store, clock, site)
        self.everything_changed(site, clock.now(), truly=False)
        tally = await crawl(store, clock, source, site)
        assert (tally.fetched, tally.inserted, tally.updated) == (10, 0, 0)
        assert [line for line in log if line.startswith("WARNING") and "40 of 40" in line]
        assert (await store.read(crawls.get, source.id)).doubted_since == clock.now()
        clock.advance(HOUR)
        self.everything_changed(site, clock.now(), truly=False)
        await crawl(store, clock, source, site)
        assert sum(site.asked.values()) == 20
        assert len([line for line in log if "said to have changed" in line]) == 1

    @on_both_stores
    async def test_a_site_that_was_rebuilt_is_believed(self, store, clock, site):
        source = await self.begin(store, clock, site)
        self.everything_changed(site, clock.now(), truly=True)
        tally = await crawl(store, clock, source, site)
        assert (tally.inserted, tally.updated) == (30, 10)
        assert (await store.read(crawls.get, source.id)).doubted_since is None

    async def test_after_a_lie_the_next_true_change_is_believed_again(self, store, clock, site):
        source = await self.begin(store, clock, site)
        self.everything_changed(site, clock.now(), truly=False)
        await crawl(store, clock, source, site)
        clock.advance(HOUR)
        site.edit("/1", clock.now())
        assert (await crawl(store, clock, source, site)).updated == 1
        assert (await store.read(crawls.get, source.id)).doubted_since is None

    async def test_what_cannot_be_compared_is_remembered_and_no_news(self, store, clock, site):
        site.policy = CandidatePolicy(baseline_items=0)
        site.add(*(f"/{number}" for number in range(40)), lastmod=START)
        source = await begin(store, clock, site)
        self.everything_changed(site, clock.now(), truly=False)
        tally = await crawl(store, clock, source, site)
        assert (tally.fetched, tally.inserted) == (10, 0)
        clock.advance(HOUR)
        self.everything_changed(site, clock.now(), truly=True)
        assert (await crawl(store, clock, source, site)).inserted == 40


class TestCleaningUp:
    policy = CandidatePolicy(baseline_items=0, is_complete=False, cleanup_interval_days=7, most_rows=3)

    async def test_it_forgets_what_was_not_listed_for_thirty_days_but_nothing_of_the_latest_run(
        self, store, clock, site
    ):
        site.policy = self.policy
        site.add("/old", "/here")
        source = await begin(store, clock, site)
        site.unlisted.add("/old")
        for days in (7, 22, 7):
            clock.advance(days * DAY)
            await crawl(store, clock, source, site)
        assert set(await states(store, source)) == {"/here"}

    @on_both_stores
    @pytest.mark.proves("B-08")
    async def test_of_what_is_no_longer_listed_so_many_are_kept_processed_ones_go_first(self, store, clock, site):
        site.policy = self.policy
        source = await begin(store, clock, site)
        site.add("/failed")
        site.pages["/failed"].is_reachable = False
        await crawl(store, clock, source, site)
        site.unlisted.add("/failed")
        for number in range(5):
            clock.advance(DAY)
            site.add(f"/{number}")
            await crawl(store, clock, source, site)
            site.unlisted.add(f"/{number}")
        clock.advance(3 * DAY)
        site.add("/here", "/there")
        await crawl(store, clock, source, site)
        assert set(await states(store, source)) == {"/failed", "/3", "/4", "/here", "/there"}

    @pytest.mark.proves("B-08")
    async def test_it_happens_every_so_many_days(self, store, clock, site):
        site.policy = self.policy
        source = await begin(store, clock, site)
        cleaned = []
        for _ in range(9):
            clock.advance(DAY)
            await crawl(store, clock, source, site)
            cleaned.append((await store.read(crawls.get, source.id)).last_cleanup_at)
        assert len(set(cleaned)) == 2


@on_both_stores
@pytest.mark.proves("B-15")
async def test_the_states_can_be_read_in_the_words_of_the_document(store, clock, site):
    site.add("/1", lastmod=START)
    await begin(store, clock, site)

    def query(conn):
        sites = conn.execute(text("SELECT site_name, sitemap_url, last_run, created_at, updated_at FROM site_states"))
        urls = conn.execute(text("SELECT site_name, url, state, lastmod, first_seen, last_seen FROM url_states"))
        return [tuple(row)[:2] for row in sites], [tuple(row)[:3] for row in urls]

    assert await store.read(query) == ([("example", site.address)], [("example", "/1", 1)])
