"""Sites as feeds on both stores: what is fetched, what is shown, and what a source is told."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import feedparser
import pytest
from sqlalchemy import update

from catchment.domain.caller import OPERATOR
from catchment.errors import VisitError
from catchment.manage.catalog import Change
from catchment.manage.feeds import FeedDraft
from catchment.manage.sites import Site
from catchment.publish.feed import FeedFormat
from catchment.store import runs
from catchment.store.tables import runs as run_table
from feed_site import FeedSite
from sitemap_site import WORDS, SitemapSite
from source_factory import START
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


@pytest.fixture
def pages(site):
    return SitemapSite(site)


@pytest.fixture
async def at_work(system):
    async with system.collector.working(grace_seconds=5):
        yield system


def paths(run):
    return ["/" + shown.item.url.split("/", 3)[3] for shown in run.shown]


@on_both_stores
@pytest.mark.proves("B-10", "B-03")
async def test_the_same_pages_are_the_same_bytes_however_late_it_is(at_work, site, pages, clock):
    for number in range(5):
        pages.write(f"/{number}", START - number * DAY)
    pages.write("/undated")
    followed = Site(sitemap_url=pages.publish(), channel={"title": "Mill & <Co> ]]>"})
    first = await at_work.site_feeds.run(followed, OPERATOR)
    documents = [first.document(format_) for format_ in FeedFormat]
    site.hits.clear()
    clock.advance(9 * DAY)
    again = await at_work.site_feeds.run(followed, OPERATOR)
    assert [again.document(format_) for format_ in FeedFormat] == documents
    assert set(site.hits) == {"/sitemap.xml", "/robots.txt", "/undated"}, "only what no date tells about is asked again"


@on_both_stores
@pytest.mark.proves("B-09", "B-22")
async def test_the_newest_dates_come_first_in_whatever_order_the_pages_were_fetched(at_work, pages, clock):
    for number in range(60):
        pages.write(f"/{number:02}", START - (number * 37 % 60) * DAY)
    followed = Site(sitemap_url=pages.publish(), max_items=15, config={"baseline_items": 50})
    run = await at_work.site_feeds.run(followed, OPERATOR)
    assert run.tally.inserted == 50
    dates = [shown.item.published_at for shown in run.shown]
    assert dates == [START - days * DAY for days in range(15)]
    clock.advance(5 * HOUR)
    pages.write("/59", clock.now(), body=WORDS * 6)
    assert paths(await at_work.site_feeds.run(followed, OPERATOR))[0] == "/59"


@pytest.mark.proves("B-04")
async def test_a_page_that_fails_is_in_no_feed_and_tried_again(at_work, pages, clock):
    pages.write("/good", START)
    pages.write("/bad", START - DAY, status=500)
    followed = Site(sitemap_url=pages.publish())
    assert paths(await at_work.site_feeds.run(followed, OPERATOR)) == ["/good"]
    clock.advance(5 * HOUR)
    pages.write("/bad", START - DAY)
    assert paths(await at_work.site_feeds.run(followed, OPERATOR)) == ["/good", "/bad"]


@on_both_stores
@pytest.mark.proves("R-14")
async def test_an_items_guid_is_its_address_at_every_door(at_work, pages, site):
    pages.write("/1", START)
    followed = Site(sitemap_url=pages.publish())
    run = await at_work.site_feeds.run(followed, OPERATOR)
    full = await at_work.site_feeds.run(replace(followed, is_incremental=False), OPERATOR)
    await at_work.feeds.add(FeedDraft(slug="mill", filter={"sources": [run.source.id]}), OPERATOR)
    rendered = await at_work.renderer.look("mill", FeedFormat.RSS, folder_url="https://here.example/feeds")
    documents = [run.document(FeedFormat.RSS), full.document(FeedFormat.RSS), await at_work.renderer.document(rendered)]
    ids = [[entry.id for entry in feedparser.parse(document).entries] for document in documents]
    assert ids == [[site.url("/1")]] * 3


@pytest.mark.proves("R-14")
@pytest.mark.parametrize("format_", list(FeedFormat))
async def test_a_self_link_is_where_the_feed_is_served_and_none_where_nobody_knows(at_work, pages, format_):
    pages.write("/1", START)
    followed = Site(sitemap_url=pages.publish())
    run = await at_work.site_feeds.run(followed, OPERATOR)
    assert b"self" not in run.document(format_)
    assert b"feed_url" not in run.document(format_)
    assert b"https://bucket.example/mill" in run.document(format_, served_at="https://bucket.example/mill")
    said = replace(followed, channel={"self_url": "https://here.example/mill"})
    run = await at_work.site_feeds.run(said, OPERATOR)
    assert run.feed(served_at="https://bucket.example/mill").self_url == "https://here.example/mill"


@pytest.mark.proves("R-14")
async def test_an_unknown_author_is_empty_and_the_text_does_not_repeat_the_title(at_work, pages):
    pages.write("/1", START)
    run = await at_work.site_feeds.run(Site(sitemap_url=pages.publish()), OPERATOR)
    [entry] = run.feed().entries
    assert (entry.title, entry.author) == ("Page /1", "")
    assert "river rose" in entry.html
    assert "Page /1" not in entry.html


@pytest.mark.proves("R-14")
@pytest.mark.parametrize("is_incremental", [True, False])
async def test_addresses_that_differ_in_their_fragment_are_one_page(at_work, site, pages, is_incremental):
    pages.write("/1", START)
    entries = "".join(f"<url><loc>{site.url(path)}</loc></url>" for path in ("/1#top", "/1", "/1#end"))
    url = site.serve(f"<urlset>{entries}</urlset>", path="/sitemap.xml")
    run = await at_work.site_feeds.run(Site(sitemap_url=url, is_incremental=is_incremental), OPERATOR)
    assert (paths(run), site.hits["/1"]) == (["/1"], 1)


@pytest.mark.proves("B-11")
async def test_a_sitemap_that_cannot_be_fetched_is_an_error(at_work, site, pages, clock):
    pages.write("/1", START)
    followed = Site(sitemap_url=pages.publish())
    await at_work.site_feeds.run(followed, OPERATOR)
    site.serve("no", path="/sitemap.xml", status=503)
    clock.advance(HOUR)
    with pytest.raises(VisitError, match="503"):
        await at_work.site_feeds.run(followed, OPERATOR)


@pytest.mark.proves("B-11")
async def test_a_new_site_that_cannot_be_fetched_leaves_no_source_unless_it_has_a_schedule(at_work, site):
    nowhere = Site(sitemap_url=site.url("/nowhere.xml"))
    for wanted, left in ((nowhere, []), (replace(nowhere, schedule="0 * * * *"), [nowhere.sitemap_url])):
        with pytest.raises(VisitError, match="404"):
            await at_work.site_feeds.run(wanted, OPERATOR)
        assert [source.config["url"] for source in await at_work.catalog.list(OPERATOR)] == left


@on_both_stores
@pytest.mark.proves("B-06")
async def test_what_a_killed_run_left_claimed_is_taken_over(at_work, pages, clock):
    pages.write("/1", START)
    followed = Site(sitemap_url=pages.publish())
    source = await at_work.site_feeds.follow(followed, OPERATOR)

    def claim(conn):
        now = clock.now()
        run = runs.claim_now(conn, source.id, owner="elsewhere:1:dead", now=now, until=now + HOUR)
        conn.execute(update(run_table).where(run_table.c.id == run.id).values(lease_until=now - HOUR))

    await at_work.store.write(claim)
    assert paths(await at_work.site_feeds.run(followed, OPERATOR)) == ["/1"]


async def test_a_named_site_keeps_its_source_at_another_address_and_with_other_patterns(at_work, site, pages, clock):
    pages.write("/1", START)
    first = Site(sitemap_url=pages.publish(), name="mill", config={"include_patterns": []})
    before = (await at_work.site_feeds.run(first, OPERATOR)).source
    moved = replace(first, sitemap_url=pages.publish("/other.xml"), config={"include_patterns": ["/1"]})
    clock.advance(HOUR)
    after = (await at_work.site_feeds.run(moved, OPERATOR)).source
    assert after.id == before.id
    assert (after.config["url"], after.config["include_patterns"]) == (site.url("/other.xml"), ["/1"])


async def test_a_site_that_was_removed_is_begun_anew(at_work, pages, clock):
    pages.write("/1", START)
    named = Site(sitemap_url=pages.publish(), name="mill")
    before = (await at_work.site_feeds.run(named, OPERATOR)).source
    await at_work.catalog.remove(before.id, OPERATOR)
    clock.advance(HOUR)
    again = await at_work.site_feeds.run(named, OPERATOR)
    assert again.source.id != before.id
    assert paths(again) == ["/1"]


@on_both_stores
async def test_only_a_site_with_a_schedule_is_left_to_the_collector(at_work, pages):
    pages.write("/1", START)
    once = Site(sitemap_url=pages.publish())
    source = await at_work.site_feeds.follow(once, OPERATOR)
    assert not source.is_active
    followed = await at_work.site_feeds.follow(replace(once, schedule="0 * * * *"), OPERATOR)
    assert (followed.id, followed.is_active, followed.own_interval) == (source.id, True, HOUR)
    # Whoever asks once more changes nothing about that.
    assert (await at_work.site_feeds.follow(once, OPERATOR)).is_active
    await at_work.catalog.change(source.id, Change(config={**followed.config, "fetch_titles": False}), OPERATOR)
    assert (await at_work.site_feeds.follow(once, OPERATOR)).config["fetch_titles"] is False
    await at_work.site_feeds.pause(once, OPERATOR)
    assert not (await at_work.catalog.get(source.id, OPERATOR)).is_active


@pytest.mark.proves("B-11", "B-20")
async def test_a_full_run_takes_what_is_newest_or_what_is_listed_first(at_work, pages):
    for number in (2, 0, 3, 1):
        pages.write(f"/{number}", START - number * DAY)
    full = Site(sitemap_url=pages.publish(), is_incremental=False, max_items=2)
    run = await at_work.site_feeds.run(full, OPERATOR)
    assert (run.mode, paths(run)) == ("full", ["/0", "/1"])
    as_listed = await at_work.site_feeds.run(replace(full, sort_by_date=False, max_items=3), OPERATOR)
    assert paths(as_listed) == ["/2", "/0", "/3"]
    assert await at_work.catalog.list(OPERATOR) == []
