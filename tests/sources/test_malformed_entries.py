"""Entries that make no sense, of whatever service: left out and counted, and no other suffers for them."""

from __future__ import annotations

import json

import pytest

from collecting import add, collect
from feed_site import FeedSite
from service_visits import capture, visitor
from stores import on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("R-49")]


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


def story(number: int, **values: object) -> dict[str, object]:
    return {"id": number, "type": "story", "title": f"Story {number}", "score": 100, "time": 1716543983, **values}


async def test_of_hacker_news(site):
    stories = {1: story(1), 2: "no story", 3: story(3, title=7.5, score="many"), 4: story(4, title=None), 5: None}
    site.serve(json.dumps([*stories, "six", None, True]), path="/v0/topstories.json")
    for number, one in stories.items():
        site.serve(json.dumps(one), path=f"/v0/item/{number}.json")
    async with visitor(site.url("")) as visit:
        fetched = await visit("hackernews", {"min_score": 0})
    assert [item.key for item in fetched.items] == ["1", "3"]
    assert fetched.left_out == 5


async def test_of_hacker_news_without_their_numbers(site):
    site.serve("[1, 2]", path="/v0/topstories.json")
    for number in (1, 2):
        site.serve(json.dumps(story(number, id=None)), path=f"/v0/item/{number}.json")
    async with visitor(site.url("")) as visit:
        fetched = await visit("hackernews", {"min_score": 0})
    assert [item.key for item in fetched.items] == ["1", "2"]
    assert fetched.items[0].url == "https://news.ycombinator.com/item?id=1"


async def test_of_reddit(site):
    good = {"kind": "t3", "data": {"name": "t3_1", "title": "One", "url": "https://example.org/1"}}
    children = [good, 7, {"kind": "t3", "data": None}, {"kind": "t3", "data": {"title": ["x"]}}, {"kind": "more"}]
    site.serve(json.dumps({"kind": "Listing", "data": {"children": children}}), path="/r/python/hot.json")
    async with visitor(site.url("")) as visit:
        fetched = await visit("reddit", {"subreddit": "python"})
    assert [item.key for item in fetched.items] == ["t3_1"]
    assert fetched.left_out == 3


async def test_of_github_trending(site):
    page = capture("github_trending", "trending_2026-04_trimmed_llmx.html").decode()
    site.serve(page.replace("<article", "<article><p>no repository</p></article><article", 1), path="/trending")
    async with visitor(site.url("")) as visit:
        fetched = await visit("github_trending", {})
    assert fetched.items
    assert fetched.left_out == 1


async def test_of_a_json_feed(site):
    items = [{"id": "1", "title": "One"}, None, "two", ["three"], {}, {"title": {"en": "x"}}]
    url = site.serve(json.dumps({"version": "https://jsonfeed.org/version/1.1", "title": "F", "items": items}))
    async with visitor("") as visit:
        fetched = await visit("rss", {"url": url})
    assert ([item.title for item in fetched.items], fetched.left_out) == (["One"], 5)


EMPTY = ("<item></item>", "<item/>", "<item><pubDate>Mon, 02 Nov 2026 10:00:00 GMT</pubDate><title> </title></item>")


async def test_of_a_feed_whose_entries_say_nothing(site):
    url = site.serve(f"<rss><channel><title>F</title><item><title>One</title></item>{''.join(EMPTY)}</channel></rss>")
    async with visitor("") as visit:
        fetched = await visit("rss", {"url": url})
    assert ([item.title for item in fetched.items], fetched.left_out) == (["One"], len(EMPTY))


async def test_a_file_without_a_word_about_it_is_an_item_that_can_be_opened(site):
    files = "".join(f'<item><enclosure url="/{name}.mp3" type="audio/mpeg"/></item>' for name in ("one", "two"))
    url = site.serve(f"<rss><channel><title>F</title>{files}</channel></rss>")
    async with visitor("") as visit:
        fetched = await visit("rss", {"url": url})
    assert [item.url for item in fetched.items] == [site.url("/one.mp3"), site.url("/two.mp3")]
    assert len({item.key for item in fetched.items}) == len(fetched.items)


@pytest.mark.parametrize("paging", ["none", "page"])
async def test_of_any_api(site, paging):
    url = site.serve(json.dumps({"items": [{"id": 1}, None, {"unknown": 2}, 3]}))
    async with visitor("") as visit:
        fetched = await visit("custom_api", {"url": url, "paging": paging, "max_pages": 1})
    assert ([item.key for item in fetched.items], fetched.left_out) == (["1"], 3)


async def test_the_visit_says_how_many(system, site, log):
    url = site.serve(json.dumps({"items": [{"id": 1}, None]}))
    await add(system, url, type="custom_api")
    [result] = await collect(system)
    assert (result.error, result.inserted, result.failed) == (None, 1, 1)
    assert any("1 entries make no sense" in line for line in log)
