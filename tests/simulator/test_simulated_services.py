"""The simulated services look like the real ones: what captures hold, they hold too."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import lxml.html
import pytest

from catchment.simulator.messages import IncomingRequest
from catchment.simulator.services.places import BLOCK_PAGE, ROOMS, GithubTrending, HackerNews, Museum, Reddit, kind_of
from catchment.simulator.words import WorldTime
from service_visits import capture

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
TIMELINE = WorldTime(started_at=START, speed=1)


def ask(place, path: str, query: str = "", at: datetime = START):
    return place(IncomingRequest(method="GET", path=path, query=query, headers={}, body=b"", at=at))


def hackernews_item(kind: str) -> dict[str, object] | None:
    service = HackerNews(TIMELINE)
    number = next(number for number in service.numbers("new", START) if kind_of(number) == kind)
    return json.loads(ask(service, f"/v0/item/{number}.json").body)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("story", "item_story_40464529.json"),
        ("ask", "item_ask_121003.json"),
        ("job", "item_job_40481509.json"),
        ("poll", "item_poll_30239441.json"),
        ("dead", "item_story_dead_no_title_no_url_49280269.json"),
        ("missing", "item_missing_item_null.json"),
    ],
)
def test_stories_have_the_fields_of_captured_ones(kind, name):
    captured, played = json.loads(capture("hackernews", name)), hackernews_item(kind)
    if captured is None:
        assert played is None
        return
    assert {key: type(value) for key, value in played.items()} == {
        key: type(value) for key, value in captured.items() if key not in {"kids", "parts"}
    }


def test_posts_have_fields_of_the_kinds_that_captured_ones_have():
    captured = json.loads(capture("reddit", "praw_askreddit_hot_2016_2stickied_102children.json"))
    played = json.loads(ask(Reddit(TIMELINE), "/r/x/hot.json", "limit=100&raw_json=1").body)
    assert len(captured["data"]["children"]) == len(played["data"]["children"]) == 102
    post = captured["data"]["children"][5]["data"]
    for child in played["data"]["children"]:
        assert child["kind"] == "t3"
        for key, value in child["data"].items():
            assert isinstance(value, type(post[key])) or value is None or post[key] is None, key


def test_without_raw_json_the_signs_of_markup_are_escaped():
    plain, raw = (ask(Reddit(TIMELINE), "/r/x/new.json", query).body for query in ("", "raw_json=1"))
    assert b"&lt;p&gt;" in plain
    assert b"<p>" in raw


def test_the_block_page_says_what_the_captured_one_says():
    captured = capture("reddit", "a2web_old_reddit_network_policy_block.html").decode()
    for words in ("whoa there, pardner!", "Your request has been blocked due to a network policy."):
        assert words in captured
        assert words in BLOCK_PAGE


def test_rows_of_the_trending_page_are_built_as_in_the_capture():
    def skeleton(row) -> list[str]:
        links = [link.get("href") for link in row.xpath(".//a")]
        return [
            ("login" in link) * "login" or link.split("/")[-1]
            for link in links
            if link.count("/") > 2 or "login" in link
        ]

    captured = lxml.html.fromstring(capture("github_trending", "trending_2026-04_trimmed_llmx.html"))
    played = lxml.html.fromstring(ask(GithubTrending(TIMELINE), "/trending").body)
    for page in (captured, played):
        for row in page.xpath("//article[@class='Box-row']"):
            assert len(row.xpath(".//h2/a")) == 1
            assert skeleton(row)[-2:] == ["stargazers", "forks"]
            assert row.xpath(".//a")[0].getparent().tag == "div", "the first link is not the one that matters"


def test_a_site_without_a_feed_lists_its_pages_and_another_one_every_hour():
    museum, later = Museum(TIMELINE), START + timedelta(hours=1)
    for at, count in ((START, ROOMS), (later, ROOMS + 1)):
        listed = re.findall(r"<loc>http://([^<]+)</loc>", ask(museum, "/museum/sitemap.xml", at=at).body.decode())
        assert len(listed) == count
        assert all(b"<article><h1>" in ask(museum, one, at=at).body for one in listed)
    missing = ("/museum/rooms/x", f"/museum/rooms/{ROOMS + 1}", "/museum", "/museum/feed")
    assert {ask(museum, path, at=later).status for path in missing} == {404}
