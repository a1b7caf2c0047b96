"""`catchment add` with anything that can be pasted."""

from __future__ import annotations

import json
import sys
from asyncio import to_thread

import pytest
from command import Command

from feed_site import FeedSite, rss

HEAD = "<!doctype html><title>Quay</title>"


@pytest.mark.proves("A-32")
async def test_a_page_is_added_as_the_feed_that_it_names(catchment: Command, site: FeedSite) -> None:
    feed = site.serve(rss("a", title="Quay feed"), path="/posts.xml")
    page = site.serve(f"{HEAD}<link rel=alternate type=application/rss+xml href=posts.xml>", path="/")
    shape = await to_thread(catchment.json, "add", page)
    assert (shape["type"], shape["name"], shape["config"]) == ("rss", "Quay feed", {"url": feed})
    again = await to_thread(catchment, "add", page)
    assert again.exit_code == 1
    assert f"'Quay feed' (id {shape['id']})" in again.stderr
    looked = await to_thread(catchment, "add", page, "--dry-run")
    assert (looked.exit_code, f"Already followed: it is source {shape['id']}." in looked.stderr) == (0, True)


@pytest.mark.proves("A-32", "R-39")
async def test_a_page_whose_feed_is_gone_is_added_with_a_word_of_that(catchment: Command, site: FeedSite) -> None:
    feed = site.serve("gone", status=404, path="/posts.xml")
    page = site.serve(f"{HEAD}<link rel=alternate type=application/rss+xml href=posts.xml><p>Mind the step", path="/")
    added = await to_thread(catchment, "add", page)
    assert "(website)" in added.stdout
    assert f"The page names a feed at {feed}, but the page itself is watched instead: " in added.stderr
    assert "HTTP 404" in added.stderr


@pytest.mark.proves("A-32")
async def test_a_dry_run_shows_what_would_be_stored_and_stores_nothing(catchment: Command, site: FeedSite) -> None:
    page = site.serve(f"{HEAD}<main>Mind the step</main>", path="/rules")
    plan = await to_thread(catchment.json, "add", page, "--dry-run", "--tag", "sea")
    assert (plan["type"], plan["name"], plan["tags"]) == ("website", "Quay", ["sea"])
    assert plan["preview"] == [{"title": "Quay", "url": page}]
    shown = await to_thread(catchment, "add", page, "--dry-run")
    assert (shown.exit_code, "website" in shown.stdout, "Nothing was stored" in shown.stdout) == (0, True, True)
    assert await to_thread(catchment.json, "sources", "list") == []


@pytest.mark.proves("A-32")
@pytest.mark.parametrize(
    ("words", "kind", "config"),
    [
        (("@jack",), "twitter_feed", {"handle": "@jack"}),
        (("r/python",), "reddit", {"subreddit": "python", "sort": "hot", "limit": 20}),
        (("hn",), "hackernews", {"filter": "top", "min_score": 100}),
        (("露营 装备", "--type", "xhs_search"), "xhs_search", {"keyword": "露营 装备"}),
        (("node.js", "--type", "weibo_search"), "weibo_search", {"keyword": "node.js"}),
        (("@jack", "--type", "douyin_search"), "douyin_search", {"keyword": "@jack"}),
        (("example.org/a", "--type", "website", "--config", '{"selector": "h1"}'), "website", {"selector": "h1"}),
        (("https://example.org/feed", "--config", '{"selector": "h1"}'), "website", {"selector": "h1"}),
        (("https://example.org/a.xml",), "rss", {"url": "https://example.org/a.xml"}),
    ],
)
def test_names_and_words_are_added_without_an_address(
    catchment: Command, words: tuple[str, ...], kind: str, config: dict[str, object]
) -> None:
    shape = catchment.json("add", *words, "--no-check")
    assert shape["type"] == kind
    assert {key: shape["config"][key] for key in config} == config


async def test_a_selector_is_tried_before_it_is_stored(catchment: Command, site: FeedSite) -> None:
    page = site.serve(f"{HEAD}<h1>Open</h1>", path="/")
    for selector, part in (("h1[", "no CSS selector"), ("h2", "nothing on the page fits")):
        result = await to_thread(catchment, "add", page, "--config", json.dumps({"selector": selector}))
        assert (result.exit_code, part in result.stderr) == (1, True)


async def test_a_host_that_does_not_answer_is_added_with_a_warning_by_its_spelling(
    catchment: Command, site: FeedSite
) -> None:
    result = await to_thread(catchment, "add", site.serve("busy", status=503, path="/blog"), "--json")
    assert (result.exit_code, json.loads(result.stdout)["type"]) == (0, "website")
    assert "503" in result.stderr


@pytest.mark.proves("R-39")
@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("words", [(), ("--type", "rss"), ("--type", "website"), ("--type", "sitemap")], ids=" ".join)
async def test_an_address_at_which_there_is_nothing_is_refused_unless_told_otherwise(
    catchment: Command, site: FeedSite, status: int, words: tuple[str, ...]
) -> None:
    url = site.serve("no", status=status, path="/feed.xml")
    refused = await to_thread(catchment, "add", url, *words)
    assert refused.exit_code == 1
    assert str(status) in refused.stderr
    assert "--force" in refused.stderr
    assert await to_thread(catchment.json, "sources", "list") == []
    added = await to_thread(catchment, "add", url, *words, "--force")
    assert added.exit_code == 0
    assert "could not be checked" not in added.stderr
    assert "Warning: there is nothing to follow yet" in added.stderr


@pytest.mark.proves("A-32")
async def test_json_is_added_by_the_type_that_the_refusal_names(catchment: Command, site: FeedSite) -> None:
    url = site.serve('{"posts": [{"id": 1, "title": "a"}]}', path="/api/posts")
    refused = await to_thread(catchment, "add", url)
    assert refused.exit_code == 1
    assert "`catchment add URL --type custom_api`" in refused.stderr
    assert await to_thread(catchment.json, "sources", "list") == []
    where = ("--type", "custom_api", "--config", json.dumps({"items_path": "posts"}))
    assert (await to_thread(catchment.json, "add", url, *where))["type"] == "custom_api"
    assert "## custom_api" in (await to_thread(catchment, "docs", "sources")).stdout


@pytest.mark.proves("R-39")
async def test_what_only_does_not_answer_now_is_added(catchment: Command, site: FeedSite) -> None:
    added = await to_thread(catchment, "add", site.serve("no", status=503, path="/feed.xml"))
    assert added.exit_code == 0
    assert "could not be checked now" in added.stderr


@pytest.mark.proves("R-41", "R-38")
@pytest.mark.parametrize(
    ("platform", "missing"),
    [
        ("xhs", "pip install 'catchment[xhs]'"),
        ("douyin", "CATCHMENT_DOUYIN_SIGNER"),
        ("weibo", ""),
    ],
)
def test_a_search_names_all_that_it_lacks_when_it_is_added_and_when_it_is_collected(
    catchment: Command, monkeypatch: pytest.MonkeyPatch, platform: str, missing: str
) -> None:
    monkeypatch.setitem(sys.modules, "xhshow", None)
    added = catchment("add", "咖啡", "--type", f"{platform}_search")
    assert added.exit_code == 0
    collected = catchment.json("collect", "--source", "1")
    for said in (added.stderr, collected["reason"]):
        assert "COOKIE_MASTER_KEY" in said
        assert missing in " ".join(said.split())
