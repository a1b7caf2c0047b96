"""Sites by their sitemap, end to end: real sockets, real stores, a clock that moves."""

from __future__ import annotations

import asyncio
import itertools
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web
from sqlalchemy import select

from catchment.bootstrap import open_system
from catchment.domain.alert_rules import SourceTrouble
from catchment.domain.caller import OPERATOR
from catchment.domain.candidate import MAX_RECHECKED, RECHECK_VISITS, CandidateState
from catchment.domain.source import PausedBy
from catchment.manage.catalog import Change
from catchment.monitor.status import MAX_PAGES, read_backlogs
from catchment.settings import Settings
from catchment.sources import sitemap_tree
from catchment.store import alert_queries
from catchment.store.tables import candidates
from collecting import add, collect, collect_one, get, stored
from damage import damage
from sitemap_site import WORDS, SitemapSite
from source_factory import START
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture
def pages(site):
    return SitemapSite(site)


async def follow(system, url, **config):
    return await add(system, url, type="sitemap", config={"url": url, **config})


async def paths(system):
    return sorted(item.url.split("/", 3)[3] for item in await stored(system))


async def again(system, clock):
    clock.advance(5 * HOUR)
    [result] = await collect(system)
    return result


class TestASiteIsFollowed:
    @pytest.mark.proves("B-03", "B-05")
    async def test_its_newest_pages_come_first_and_then_only_what_is_new_or_changed(self, system, site, pages, clock):
        for number in range(15):
            pages.write(f"/{number}", START - number * DAY)
        await follow(system, pages.publish())
        [result] = await collect(system)
        assert (result.fetched, result.inserted, result.error) == (10, 10, None)
        assert await paths(system) == sorted(str(number) for number in range(10))
        site.hits.clear()
        result = await again(system, clock)
        assert (result.fetched, result.inserted, result.updated) == (0, 0, 0)
        assert set(site.hits) == {"/sitemap.xml"}
        pages.write("/new", clock.now())
        pages.write("/12", clock.now(), body="Otherwise. " + WORDS * 4)
        result = await again(system, clock)
        assert (result.fetched, result.inserted) == (2, 2)

    @pytest.mark.proves("R-19")
    async def test_of_one_that_lists_more_than_it_may_the_first_pages_are_taken_and_it_is_said(
        self, system, pages, clock, log, monkeypatch
    ):
        monkeypatch.setattr(sitemap_tree, "MAX_PAGES", 5)
        for number in range(9):
            pages.write(f"/{number}", START - number * DAY)
        source = await follow(system, pages.publish())
        [result] = await collect(system)
        assert (result.fetched, result.error) == (5, None)
        assert await paths(system) == [str(number) for number in range(5)]
        assert sum("lists more than the 5 pages that are read of one" in line for line in log) == 1
        pages.write("/0", START + HOUR, body="Otherwise. " + WORDS * 4)
        result = await again(system, clock)
        assert (result.fetched, result.updated, result.error) == (1, 1, None)
        assert not (await get(system, source)).last_error

    @on_both_stores
    @pytest.mark.proves("B-11")
    async def test_one_that_got_half_way_and_is_then_read_whole_stores_each_page_once(self, system, site, pages, clock):
        for number in range(9):
            pages.write(f"/{number}", START - number * DAY)
        pages.write("/9", START - 9 * DAY)

        async def busy(_):
            return web.Response(status=429, headers={"Retry-After": "600"})

        site.script(busy, path="/9")
        url = pages.publish()
        source = await follow(system, url)
        [result] = await collect(system)
        assert (result.inserted, (await get(system, source)).fetch_count) == (9, 0)
        pages.write("/9", START - 9 * DAY)
        await system.catalog.change(source.id, Change(config={"url": url, "enable_incremental": False}), OPERATOR)
        result = await again(system, clock)
        assert (result.error, result.inserted) == (None, 1)
        assert await paths(system) == sorted(str(number) for number in range(10))

    @pytest.mark.proves("B-07")
    @pytest.mark.parametrize("bad", ["http:///nohost", "http://a.example:99999/x", "http://a\u0301\u200d.example/"])
    @pytest.mark.parametrize("fetch_titles", [True, False])
    @pytest.mark.parametrize("incremental", [True, False])
    async def test_an_address_that_is_none_spoils_no_other(self, system, site, pages, bad, fetch_titles, incremental):
        pages.write("/good", START)
        entries = "".join(
            f"<url><loc>{loc}</loc><lastmod>2026-01-01</lastmod></url>" for loc in (bad, site.url("/good"))
        )
        url = site.serve(f"<urlset>{entries}</urlset>", path="/sitemap.xml")
        await follow(system, url, fetch_titles=fetch_titles, enable_incremental=incremental)
        [result] = await collect(system)
        assert (result.error, await paths(system)) == (None, ["good"])

    @pytest.mark.proves("B-22")
    async def test_a_changed_page_keeps_its_item_and_gets_its_new_date(self, system, pages, clock):
        pages.write("/1", START - DAY)
        await follow(system, pages.publish())
        await collect(system)
        [before] = await stored(system)
        pages.write("/1", clock.now(), body="Otherwise. " + WORDS * 4)
        result = await again(system, clock)
        [after] = await stored(system)
        assert (result.inserted, result.updated) == (0, 1)
        assert after.id == before.id
        assert (before.published_at, after.published_at) == (START - DAY, START)
        assert "Otherwise" in after.content

    @pytest.mark.proves("B-04")
    async def test_a_page_that_fails_is_not_published_until_it_is_well(self, system, pages, clock):
        url = pages.publish()
        await follow(system, url)
        await collect(system)
        pages.write("/1", START, status=500)
        result = await again(system, clock)
        assert (result.inserted, result.error) == (0, None)
        pages.write("/1", START)
        assert (await again(system, clock)).inserted == 1

    @pytest.mark.proves("B-09")
    async def test_titles_and_texts_come_from_the_pages(self, system, pages):
        pages.write("/1", START)
        await follow(system, pages.publish())
        await collect(system)
        [item] = await stored(system)
        assert item.title == "Page /1"
        assert "river rose" in item.content
        assert item.metadata["description"] == "About Page /1"

    @on_both_stores
    @pytest.mark.proves("B-09")
    async def test_several_pages_are_fetched_at_once(self, system, site, pages):
        together = asyncio.Barrier(4)

        async def answer(_):
            await together.wait()
            return web.Response(text="<title>A page</title>", content_type="text/html")

        for number in range(8):
            pages.write(f"/{number}", START)
            site.script(answer, path=f"/{number}")
        await follow(system, pages.publish())
        [result] = await collect(system)
        assert result.inserted == 8
        assert site.most_in_flight == 4

    @pytest.mark.proves("B-09", "B-22")
    async def test_without_titles_no_page_is_asked_for(self, system, site, pages, clock):
        pages.write("/tech/python-tips.html", START - DAY)
        await follow(system, pages.publish(), fetch_titles=False)
        await collect(system)
        [item] = await stored(system)
        assert item.title == "Tech - Python Tips"
        assert set(site.hits) == {"/sitemap.xml"}
        pages.write("/tech/python-tips.html", START)
        assert (await again(system, clock)).updated == 1

    @pytest.mark.proves("B-09")
    async def test_patterns_say_which_pages_are_wanted(self, system, pages):
        for path in ("/blog/a", "/blog/draft-b", "/shop/c"):
            pages.write(path, START)
        await follow(system, pages.publish(), include_patterns=["/blog/"], exclude_patterns=["draft"])
        await collect(system)
        assert await paths(system) == ["blog/a"]


class TestTheSitemap:
    @pytest.mark.proves("B-11")
    async def test_one_that_cannot_be_fetched_is_an_error_and_nothing_is_lost(self, system, site, pages, clock):
        pages.write("/1", START)
        source = await follow(system, pages.publish())
        await collect(system)
        site.serve("no", path="/sitemap.xml", status=500)
        result = await again(system, clock)
        assert "500" in result.error

        def query(conn):
            return conn.execute(select(candidates.c.deleted_at)).scalars().all()

        assert await system.store.read(query) == [None]
        assert (await get(system, source)).fetch_error_count == 1

    @pytest.mark.proves("B-01")
    async def test_it_is_found_through_robots_txt_or_where_every_site_has_it(self, system, site, pages):
        pages.write("/1", START)
        site.serve(f"Sitemap: {site.url('/hidden.xml')}", path="/robots.txt")
        pages.publish("/hidden.xml")
        await follow(system, site.url("/"))
        [result] = await collect(system)
        assert result.inserted == 1

    @pytest.mark.proves("B-01")
    async def test_without_robots_txt_it_is_looked_for_at_its_usual_place(self, system, site, pages):
        pages.write("/1", START)
        pages.publish()
        await follow(system, site.url("/"))
        [result] = await collect(system)
        assert result.inserted == 1

    @on_both_stores
    @pytest.mark.proves("B-01")
    async def test_a_branch_that_did_not_change_is_not_downloaded(self, system, site, pages, clock):
        pages.write("/old/1", START - 9 * DAY)
        pages.write("/new/1", START - DAY)
        pages.publish("/old.xml", only="/old")
        pages.publish("/new.xml", only="/new", etag=True)
        url = pages.index({"/old.xml": START - 9 * DAY, "/new.xml": None})
        source = await follow(system, url)
        await collect(system)
        site.hits.clear()
        pages.write("/new/2", START)
        result = await again(system, clock)
        assert result.inserted == 1
        assert site.hits["/old.xml"] == 0
        await again(system, clock)
        assert site.requests[-1].headers["If-None-Match"]

        def query(conn):
            return conn.execute(select(candidates.c.deleted_at, candidates.c.state)).all()

        assert {tuple(row) for row in await system.store.read(query)} == {(None, CandidateState.PROCESSED)}
        assert (await get(system, source)).last_error is None

    @on_both_stores
    @pytest.mark.proves("B-07", "B-11")
    async def test_a_branch_that_fails_is_warned_about_and_loses_nothing(self, system, site, pages, clock, log):
        for path in ("/a/1", "/b/1", "/b/2", "/b/3"):
            pages.write(path, START)
        pages.publish("/a.xml", only="/a")
        pages.publish("/b.xml", only="/b")
        await follow(system, pages.index({"/a.xml": None, "/b.xml": None}))
        await collect(system)
        site.serve("no", path="/b.xml", status=503)
        pages.write("/a/2", START)
        result = await again(system, clock)
        assert (result.inserted, result.error) == (1, None)
        assert [line for line in log if line.startswith("WARNING") and "/b.xml" in line]

        def query(conn):
            return conn.execute(select(candidates.c.deleted_at)).scalars().all()

        assert set(await system.store.read(query)) == {None}

    async def test_an_index_whose_branches_all_fail_is_an_error(self, system, site, pages):
        await follow(system, pages.index({"/a.xml": None}))
        [result] = await collect(system)
        assert "404" in result.error

    async def test_an_index_that_contains_itself_ends(self, system, site, pages):
        pages.write("/1", START)
        pages.publish("/a.xml")
        await follow(system, pages.index({"/sitemap.xml": None, "/a.xml": None}))
        await collect(system)
        assert site.hits["/sitemap.xml"] == 1


class TestRobots:
    async def test_a_page_that_robots_txt_forbids_is_not_asked_for(self, system, site, pages):
        pages.write("/private/1", START)
        pages.write("/open/1", START)
        site.serve("User-agent: *\nDisallow: /private/", path="/robots.txt")
        await follow(system, pages.publish())
        await collect(system)
        assert await paths(system) == ["open/1"]
        assert site.hits["/private/1"] == 0

    async def test_it_is_asked_for_all_the_same_when_the_user_may(self, system, site, pages):
        pages.write("/private/1", START)
        site.serve("User-agent: *\nDisallow: /", path="/robots.txt")
        await follow(system, pages.publish(), respect_robots=False)
        await collect(system)
        assert await paths(system) == ["private/1"]

    async def test_a_robots_txt_out_of_order_ends_the_visit_and_blames_no_page(self, system, site, pages, clock):
        pages.write("/1", START)
        site.serve("no", path="/robots.txt", status=500)
        await follow(system, pages.publish())
        [result] = await collect(system)
        assert "robots.txt" in result.error
        site.serve("", path="/robots.txt")
        assert (await again(system, clock)).inserted == 1


class TestTheFullMode:
    @pytest.mark.proves("B-11", "B-09")
    async def test_it_takes_the_newest_of_everything_and_remembers_nothing(self, system, site, pages, clock):
        for number in range(9):
            pages.write(f"/{number}", START - number * DAY)
        pages.write("/2", START - 2 * DAY, status=500)
        await follow(system, pages.publish(), enable_incremental=False, max_items=4)
        [result] = await collect(system)
        assert (result.fetched, result.inserted) == (3, 3)
        assert await paths(system) == ["0", "1", "3"]

        def query(conn):
            return conn.execute(select(candidates)).all()

        assert await system.store.read(query) == []
        result = await again(system, clock)
        assert (result.fetched, result.inserted) == (3, 0)
        assert site.hits["/0"] == 2


class TestASitemapThatWorkedOnceAndThenFails:
    @staticmethod
    def publish(pages, kind):
        """A sitemap alone, or one below an index; returns its address and its path."""
        if kind == "alone":
            return pages.publish(), "/sitemap.xml"
        pages.publish("/part.xml")
        return pages.index({"/part.xml": None}), "/part.xml"

    @pytest.mark.proves("R-11")
    @pytest.mark.parametrize("kind", ["alone", "below an index"])
    async def test_is_asked_at_every_visit_and_the_fifth_failure_pauses_it(self, system, site, pages, clock, kind):
        pages.write("/1", START)
        url, path = self.publish(pages, kind)
        source = await follow(system, url)
        await collect(system)
        site.serve("no", path=path, status=500)
        for failures in range(1, 6):
            clock.advance(timedelta(minutes=10))
            asked = site.hits[path]
            result = await collect_one(system, source.id)
            assert (site.hits[path], bool(result.error)) == (asked + 1, True)
            now = await get(system, source)
            assert now.last_error is not None
            assert (now.fetch_error_count, "500" in now.last_error.message) == (failures, True)
        assert (now.is_active, now.paused_by) == (False, PausedBy.ERROR)
        [trouble] = await system.store.read(alert_queries.troubled_sources, now=clock.now())
        assert (trouble.id, trouble.trouble) == (source.id, SourceTrouble.BROKEN)
        pages.write("/2", clock.now())
        self.publish(pages, kind)
        clock.advance(timedelta(minutes=10))
        result = await collect_one(system, source.id)
        assert (result.error, result.inserted) == (None, 1)
        now = await get(system, source)
        assert (now.fetch_error_count, now.last_error, now.is_active) == (0, None, True)

    @pytest.mark.proves("R-11")
    async def test_one_part_that_fails_is_asked_again_when_the_visit_is_gone_on_with(self, system, site, pages, clock):
        """The visit that met the failing part was cut short by another."""
        pages.write("/a/1", START)
        pages.write("/b/1", START)
        pages.publish("/a.xml", only="/a/")
        pages.publish("/b.xml", only="/b/")
        source = await follow(system, pages.index({"/a.xml": None, "/b.xml": None}))
        await collect(system)
        site.serve("no", path="/a.xml", status=500)
        site.serve("busy", path="/b.xml", status=503, headers={"Retry-After": "60"})
        clock.advance(HOUR)
        assert (await collect_one(system, source.id)).error is not None
        pages.write("/a/2", clock.now())
        pages.publish("/a.xml", only="/a/")
        pages.publish("/b.xml", only="/b/")
        clock.advance(timedelta(minutes=10))
        assert (await collect_one(system, source.id)).inserted == 1

    @pytest.mark.proves("R-11")
    async def test_one_part_that_fails_for_a_while_costs_the_pages_of_the_others_nothing(
        self, system, site, pages, clock
    ):
        pages.write("/a/1", START)
        pages.write("/b/1", START)
        pages.publish("/a.xml", only="/a/")
        pages.publish("/b.xml", only="/b/")
        await follow(system, pages.index({"/a.xml": None, "/b.xml": None}))
        await collect(system)
        site.serve("no", path="/a.xml", status=500)
        pages.write("/b/2", clock.now())
        result = await again(system, clock)
        assert (result.error, result.inserted) == (None, 1)
        gone = await system.store.read(lambda conn: conn.execute(select(candidates.c.deleted_at)).scalars().all())
        assert gone == [None] * 3


@pytest.mark.proves("R-14")
class TestASiteWithoutDates:
    @staticmethod
    def with_tags(site, texts):
        """Pages that say 304 to whoever knows them; what each was asked with is kept."""
        asked = []

        def answer_for(path):
            async def answer(request):
                tag = f'"{hash(texts[path]):x}"'
                asked.append((path, request.headers.get("If-None-Match") is not None))
                if request.headers.get("If-None-Match") == tag:
                    return web.Response(status=304, headers={"ETag": tag})
                body = f"<title>Page {path}</title><article><p>{texts[path]}</p></article>"
                return web.Response(text=body, content_type="text/html", headers={"ETag": tag})

            return answer

        for path in texts:
            site.script(answer_for(path), path=path)
        entries = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in texts)
        return site.serve(f"<urlset>{entries}</urlset>", path="/sitemap.xml"), asked

    async def test_has_its_changes_found_by_asking_for_a_share_of_its_pages_at_each_visit(self, system, site, clock):
        texts = {f"/{number}": WORDS * 5 for number in range(10)}
        url, asked = self.with_tags(site, texts)
        await follow(system, url)
        await collect(system)
        texts["/7"] = "Otherwise. " + WORDS * 5
        updated = 0
        for _ in range(RECHECK_VISITS):
            asked.clear()
            updated += (await again(system, clock)).updated
            assert len(asked) == 2
            assert all(is_conditional for _, is_conditional in asked)
        assert updated == 1
        assert sum("Otherwise" in item.content for item in await stored(system)) == 1

    async def test_also_has_those_found_that_were_too_many_to_be_fetched_at_first(self, system, site, clock):
        texts = {f"/{number}": WORDS * 5 for number in range(10)}
        url, _ = self.with_tags(site, texts)
        await follow(system, url, baseline_items=0)
        await collect(system)
        for _ in range(RECHECK_VISITS):
            assert (await again(system, clock)).inserted == 0
        texts["/7"] = "Otherwise. " + WORDS * 5
        assert sum([(await again(system, clock)).inserted for _ in range(RECHECK_VISITS)]) == 1

    @on_both_stores
    async def test_has_at_most_so_many_pages_asked_for_at_one_visit(self, system, site, clock):
        url, asked = self.with_tags(site, {f"/{number}": WORDS * 5 for number in range(5 * MAX_RECHECKED + 20)})
        await follow(system, url, baseline_items=0)
        await collect(system)
        await again(system, clock)
        assert len(asked) == MAX_RECHECKED

    async def test_is_left_alone_where_its_source_says_so(self, system, site, clock):
        url, asked = self.with_tags(site, {"/1": WORDS * 5})
        await follow(system, url, recheck_pages=False)
        await collect(system)
        asked.clear()
        await again(system, clock)
        assert asked == []

    async def test_whose_pages_fail_for_a_while_is_as_it_was(self, system, site, clock):
        url, _ = self.with_tags(site, {"/1": WORDS * 5})
        source = await follow(system, url)
        await collect(system)
        site.serve("no", path="/1", status=500)
        result = await again(system, clock)
        assert (result.error, result.failed) == (None, 0)
        found = await system.store.read(read_backlogs, [await get(system, source)], registry=system.registry)
        assert (found[source.id].pending, found[source.id].failed) == (0, 0)


@pytest.mark.proves("R-12")
async def test_pages_that_wait_or_were_given_up_are_told_with_the_reason(system, site, pages, clock):
    pages.write("/good", START)
    pages.write("/bad", START, status=500)

    async def busy(_):
        return web.Response(status=429, headers={"Retry-After": "60"})

    url = pages.publish()
    source = await follow(system, url)
    for _ in range(5):
        await again(system, clock)
    pages.write("/later", clock.now())
    site.script(busy, path="/later")
    await again(system, clock)
    found = await system.store.read(read_backlogs, [await get(system, source)], registry=system.registry)
    backlog = found[source.id]
    assert (backlog.pending, backlog.failed) == (1, 1)
    bad, later = backlog.listed
    assert (bad.url, bad.state, bad.attempts, bad.is_given_up) == (site.url("/bad"), "failed", 5, True)
    assert "500" in bad.error
    assert (later.url, later.state, later.is_given_up) == (site.url("/later"), "pending", False)


@on_both_stores
@pytest.mark.proves("R-12")
async def test_of_many_pages_that_wait_some_are_named_and_all_are_counted(system, site, pages, clock):
    for number in range(MAX_PAGES + 5):
        pages.write(f"/{number}", START, status=500)
    source = await follow(system, pages.publish(), baseline_items=100)
    await collect(system)
    found = await system.store.read(read_backlogs, [await get(system, source)], registry=system.registry)
    assert (found[source.id].failed, len(found[source.id].listed)) == (MAX_PAGES + 5, MAX_PAGES)


@pytest.mark.proves("R-13")
@pytest.mark.parametrize("table", ["candidates", "expeditions", "listings"])
async def test_a_source_whose_state_is_damaged_is_read_in_full(sqlite_url, site, pages, clock, log, table):
    settings = Settings(database_url=sqlite_url, allow_networks="127.0.0.1")
    pages.write("/1", START)
    url = pages.publish()
    async with open_system(settings, clock=clock) as system:
        source = await follow(system, url)
        await collect(system)
    damage(Path(sqlite_url.removeprefix("sqlite:///")), table)
    pages.write("/2", START)
    clock.advance(HOUR)
    async with open_system(settings, clock=clock) as system:
        result = await collect_one(system, source.id)
        assert (result.error, result.inserted) == (None, 1)
        assert (await get(system, source)).last_error is None
        assert await paths(system) == ["1", "2"]
    assert any("damaged" in line for line in log)


@pytest.mark.proves("R-26")
class TestATreeOfSitemapsThatLoops:
    @staticmethod
    def loop(site, *, real=""):
        """Every sitemap is an index of further ones at addresses that are always new, and of a real one."""
        made = itertools.count()

        async def answer(_):
            below = [site.url(f"/sitemap.xml?{next(made)}") for _ in range(30)] + ([site.url(real)] if real else [])
            entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in below)
            return web.Response(text=f"<sitemapindex>{entries}</sitemapindex>", content_type="text/xml")

        return site.script(answer, path="/sitemap.xml")

    async def test_ends_soon_and_is_a_failure_where_it_leads_to_no_page(self, system, site):
        await follow(system, self.loop(site))
        [result] = await collect(system)
        assert "only to further ones" in result.error
        assert site.hits["/sitemap.xml"] <= 60

    async def test_ends_soon_and_gives_the_pages_that_it_has(self, system, site, pages, log):
        pages.write("/1", START)
        pages.publish("/real.xml")
        await follow(system, self.loop(site, real="/real.xml"))
        [result] = await collect(system)
        assert (result.error, result.inserted) == (None, 1)
        assert site.hits["/sitemap.xml"] <= 60
        assert any("only to further ones" in line for line in log)

    async def test_many_indexes_that_lead_to_pages_are_read_to_their_end(self, system, site, pages):
        numbers = range(40)
        for number in numbers:
            pages.write(f"/{number}/page", START)
            pages.publish(f"/{number}/map.xml", only=f"/{number}/")
            pages.index({f"/{number}/map.xml": None}, path=f"/{number}.xml")
        url = pages.index({f"/{number}.xml": None for number in numbers})
        await follow(system, url, fetch_titles=False, baseline_items=100)
        [result] = await collect(system)
        assert (result.error, result.inserted) == (None, 40)


async def test_the_hosts_budget_puts_off_what_is_left_and_nothing_is_listed_twice(open_test_system, site, pages):
    for number in range(12):
        pages.write(f"/{number}", START)
    settings = {"pace_allowed": True, "host_budget_per_minute": 8, "host_spacing_seconds": 0.0}
    async with open_test_system(**settings) as system:
        source = await follow(system, pages.publish())
        async with system.collector.working(grace_seconds=5):
            result = await system.collector.collect_source(source.id)
        assert result.postponed_until is not None
        assert (result.error, result.inserted) == (None, 6)


@on_both_stores
async def test_a_tree_too_large_for_one_visit_is_gone_on_with_where_it_was_left(open_test_system, site, pages):
    children = {f"/{number}.xml": None for number in range(5)}
    for number in range(5):
        pages.write(f"/{number}/page", START)
        pages.publish(f"/{number}.xml", only=f"/{number}/")
    url = pages.index(children)
    settings = {"pace_allowed": True, "host_budget_per_minute": 4, "host_spacing_seconds": 0.0}
    async with open_test_system(**settings) as system:
        source = await follow(system, url, fetch_titles=False)
        async with system.collector.working(grace_seconds=5):
            result = await system.collector.collect_source(source.id)
        assert (result.postponed_until is not None, result.inserted) == (True, 0)
    async with open_test_system(**settings) as system, system.collector.working(grace_seconds=5):
        result = await system.collector.collect_source(source.id)
        assert (result.postponed_until, result.inserted) == (None, 5)
    assert [site.hits[child] for child in children] == [1] * 5
