from __future__ import annotations

import json
from asyncio import to_thread

import pytest
from command import Command

from catchment.redact import MASK
from feed_site import FeedSite, rss


def added(catchment: Command, url: str = "https://example.org/feed", **words: str) -> int:
    options = [part for name, value in words.items() for part in (f"--{name}", value)]
    return catchment.json("add", url, "--no-check", *options)["id"]


async def test_an_added_feed_takes_the_name_it_gives_itself(catchment: Command, site: FeedSite) -> None:
    url = site.serve(rss("a", title="Harbour &amp; Light"))
    shape = await to_thread(catchment.json, "add", url, "--tag", "sea", "--interval", "30", "--public")
    assert shape["name"] == "Harbour & Light"
    assert shape["config"] == {"url": url, "fetch_interval_minutes": 30}
    assert (shape["type"], shape["tags"], shape["is_public"], shape["status"]) == ("rss", ["sea"], True, "pending")


def test_a_comma_parts_tags_by_command_and_in_a_list(catchment: Command) -> None:
    number = added(catchment, tag="a,two")
    assert catchment.json("sources", "show", str(number))["tags"] == ["a", "two"]
    catchment("sources", "set", str(number), "--tag", "b, three", "--tag", "四，b")
    assert catchment.json("sources", "show", str(number))["tags"] == ["b", "three", "四"]
    outline = '<outline text="A" xmlUrl="https://a.example/feed" category="&quot;tea, coffee&quot;"/>'
    (catchment.home / "list.opml").write_text(f'<opml><body><outline text="Sea, air">{outline}</outline></body></opml>')
    catchment("import", "list.opml")
    assert catchment.json("sources", "list")[-1]["tags"] == ["Sea", "air", "tea", "coffee"]
    listing = [{"name": "L", "url": "https://l.example/feed", "tags": ["x,y"]}]
    (catchment.home / "list.json").write_text(json.dumps(listing))
    catchment("import", "list.json")
    assert catchment.json("sources", "list")[-1]["tags"] == ["x", "y"]
    assert catchment("sources", "set", str(number), "--tag", ",").exit_code != 0
    assert catchment.json("sources", "show", str(number))["tags"] == ["b", "three", "四"]


async def test_a_name_given_by_hand_wins(catchment: Command, site: FeedSite) -> None:
    shape = await to_thread(catchment.json, "add", site.feed("a"), "--name", "Mine")
    assert shape["name"] == "Mine"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("no-url",), "not an http:// or https:// address"),
        (("ftp://example.org/feed",), "not an http:// or https:// address"),
        (("http://10.0.0.1/feed",), "not a public address"),
        (("http://169.254.169.254/latest/",), "not a public address"),
        (("https://example.org/feed", "--type", "gopher"), "no source type 'gopher'"),
        (("https://example.org/feed", "--config", "{"), "--config is not JSON"),
        (("https://example.org/feed", "--config", "[1]"), "--config is a JSON object"),
        (("https://example.org/feed", "--interval", "-5", "--no-check"), "whole number of minutes"),
    ],
)
def test_what_can_never_work_is_refused_in_one_sentence(catchment: Command, words: tuple[str, ...], part: str) -> None:
    result = catchment("add", *words, "--json")
    assert result.exit_code == 1
    assert part in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""
    assert catchment.json("sources", "list") == []


async def test_a_page_that_is_said_to_be_a_feed_is_refused_and_not_stored(catchment: Command, site: FeedSite) -> None:
    url = site.serve("<!doctype html><html><title>Hello</title></html>")
    result = await to_thread(catchment, "add", url, "--type", "rss")
    assert result.exit_code == 1
    assert "HTML page, not a feed" in result.stderr
    assert await to_thread(catchment.json, "sources", "list") == []


async def test_a_feed_that_only_fails_today_is_added_with_a_warning(catchment: Command, site: FeedSite) -> None:
    url = site.serve("busy", status=503)
    result = await to_thread(catchment, "add", url, "--json")
    assert result.exit_code == 0
    assert "could not be checked now" in result.stderr
    assert json.loads(result.stdout)["name"] == "127.0.0.1"


def test_adding_the_same_source_twice_names_the_one_there_is(catchment: Command) -> None:
    first = added(catchment, name="Paper")
    result = catchment("add", "https://example.org/feed#top", "--no-check")
    assert result.exit_code == 1
    assert f"'Paper' (id {first})" in result.stderr


def test_a_source_is_paused_resumed_changed_and_removed(catchment: Command) -> None:
    number = str(added(catchment))
    assert catchment.json("sources", "pause", number)["status"] == "paused"
    assert catchment.json("sources", "resume", number)["status"] == "pending"
    changed = catchment.json("sources", "set", number, "--name", "New", "--interval", "15", "--tag", "a", "--public")
    assert (changed["name"], changed["tags"], changed["is_public"]) == ("New", ["a"], True)
    assert changed["fetch_interval_minutes"] == 15
    assert catchment.json("sources", "set", number, "--interval", "0")["fetch_interval_minutes"] == 240
    assert catchment.json("sources", "set", number, "--tag", "")["tags"] == []
    assert catchment.json("sources", "show", number)["name"] == "New"
    assert catchment.json("sources", "remove", number) == {"id": int(number), "removed": True}
    assert catchment.json("sources", "list") == []


def test_a_new_address_leaves_the_rest_of_the_config_as_it_is(catchment: Command) -> None:
    number = str(added(catchment, interval="30", config=json.dumps({"headers": {"X-Key": "sesame"}})))
    moved = catchment.json("sources", "set", number, "--url", "https://example.org/moved")
    kept = {"fetch_interval_minutes": 30, "headers": {"X-Key": MASK}}
    assert moved["config"] == {"url": "https://example.org/moved", **kept}
    elsewhere = catchment("sources", "set", number, "--url", "https://elsewhere.example/feed")
    assert (elsewhere.exit_code, "headers" in elsewhere.stderr) == (1, True), elsewhere.stderr
    both = catchment("sources", "set", number, "--url", "https://example.org/feed", "--config", "{}")
    assert (both.exit_code, "--config says the address as well" in both.stderr) == (1, True), both.stderr


@pytest.mark.parametrize("command", ["show", "pause", "resume", "remove"])
def test_an_unknown_source_is_a_clear_error(catchment: Command, command: str) -> None:
    result = catchment("sources", command, "77")
    assert (result.exit_code, result.stderr) == (1, "Error: There is no source 77.\n")


def test_changing_nothing_is_an_error(catchment: Command) -> None:
    result = catchment("sources", "set", str(added(catchment)))
    assert result.exit_code == 1
    assert "Nothing to change" in result.stderr


def test_a_name_cannot_steer_the_terminal_or_pass_for_markup(catchment: Command) -> None:
    added(catchment, name="[bold]red\x1b[31m[/bold]")
    result = catchment("sources", "list")
    assert "\x1b[31m" not in result.stdout
    assert "[bold]red" in result.stdout


@pytest.mark.proves("A-24")
def test_intervals_are_set_and_unset_in_the_store_whatever_their_case(catchment: Command) -> None:
    number = str(added(catchment))
    assert catchment.json("config", "set", "fetch_interval_rss", "60") == {"FETCH_INTERVAL_RSS": "60"}
    assert catchment.json("sources", "show", number, FETCH_INTERVAL_RSS="30")["fetch_interval_minutes"] == 60
    assert catchment.json("config", "unset", "Fetch_Interval_Rss") == {}
    assert catchment.json("sources", "show", number, FETCH_INTERVAL_RSS="30")["fetch_interval_minutes"] == 30


@pytest.mark.parametrize("words", [("FETCH_INTERVAL_RSS", "soon"), ("FETCH_INTERVAL_RSS", "0"), ("SPEED", "9")])
@pytest.mark.proves("A-24")
def test_junk_is_not_stored_as_a_setting(catchment: Command, words: tuple[str, str]) -> None:
    assert catchment("config", "set", *words).exit_code == 1
    assert catchment.json("config", "list") == {}
