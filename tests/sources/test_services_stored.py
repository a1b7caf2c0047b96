"""The services through the whole engine, on both stores: each thing kept once, and failures told on the source."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from catchment.clock import ManualClock
from catchment.simulator.faults import SiteTrouble
from catchment.simulator.services.places import POSTS, block_page
from collecting import add, collect, collect_one, get, stored
from feed_site import FeedSite
from service_visits import START, simulated_services
from stores import on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("A-31")]
HOUR = timedelta(hours=1)

JSON_FEED = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "A digest",
    "items": [
        {"id": "d1", "url": "https://d.example/1", "title": "One", "content_text": "1 < 2", "authors": [{"name": "K"}]},
        {"id": 2, "content_html": "<p>two</p>", "date_published": "2026-02-01T10:00:00Z"},
    ],
}


@pytest.fixture
async def services(clock: ManualClock):
    async with simulated_services(clock) as simulated:
        yield simulated


@pytest.fixture
async def served(open_test_system, services):
    root = services.url("")
    async with open_test_system(hackernews_base_url=root, reddit_base_url=root, github_base_url=root) as system:
        yield system


SOURCES = [
    ("hackernews", {"filter": "top", "min_score": 10}),
    ("reddit", {"subreddit": "sailing", "sort": "new"}),
    ("github_trending", {"language": "python"}),
]


@pytest.mark.parametrize(("source_type", "config"), SOURCES, ids=[name for name, _ in SOURCES])
async def test_a_service_is_collected_twice_and_each_thing_is_kept_once(served, clock, source_type, config):
    source = await add(served, "", type=source_type, config=config)
    [first] = await collect(served)
    assert first.error is None
    assert first.inserted == first.fetched > 0
    clock.advance(6 * HOUR)
    second = await collect_one(served, source.id)
    assert second.error is None
    assert second.updated == 0, "votes and stars are no news"
    kept = await stored(served)
    assert len(kept) == first.inserted + second.inserted
    assert len({item.url for item in kept}) == len(kept)


async def test_every_page_of_an_api_is_kept(served, services):
    config = {"url": services.url("/api/pages"), "paging": "page", "author_field": "author.name"}
    await add(served, "", type="custom_api", config=config)
    [result] = await collect(served)
    assert (result.error, result.inserted) == (None, POSTS)


async def test_a_block_page_is_an_error_with_a_wait_and_not_an_empty_success(served, services, clock):
    """What came back before was taken for success whenever its status was 200."""
    services.trouble("/r/sailing", SiteTrouble(fault=block_page(200), until=START + HOUR))
    source = await add(served, "", type="reddit", config={"subreddit": "sailing"})
    [result] = await collect(served)
    assert "block page" in result.error
    after = await get(served, source)
    assert after.fetch_error_count == 1
    assert after.next_check.at >= clock.now() + timedelta(minutes=15)
    clock.advance(2 * HOUR)
    [again] = await collect(served)
    assert again.error is None
    assert (await get(served, source)).last_error is None


class TestDigestFeeds:
    @pytest.fixture
    async def site(self):
        async with FeedSite() as site:
            yield site

    async def test_a_json_feed_gives_its_items(self, system, site):
        """A parser that looks for tags finds none in JSON."""
        await add(system, site.serve(json.dumps(JSON_FEED)), type="digest_feed")
        [result] = await collect(system)
        assert (result.error, result.inserted) == (None, 2)
        one, two = sorted(await stored(system), key=lambda item: item.title, reverse=True)
        assert (one.title, one.author, one.content) == ("One", "K", "1 &lt; 2")
        assert two.content == "<p>two</p>"

    async def test_an_rss_feed_gives_its_items_too(self, system, site):
        await add(system, site.feed("1", "2"), type="digest_feed")
        [result] = await collect(system)
        assert (result.error, result.inserted) == (None, 2)

    async def test_a_feed_without_an_address_is_refused_with_a_sentence(self, system):
        """What came back before was no items and no error."""
        with pytest.raises(Exception, match="url"):
            await add(system, "", type="digest_feed", config={})
