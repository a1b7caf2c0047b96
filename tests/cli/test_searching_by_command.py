"""Searching, reading, undoing and asking why, by command."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from command import Command, Start, environment, on_a_terminal

from catchment.bootstrap import open_system
from catchment.domain.item import make_item
from catchment.settings import Settings
from catchment.store import items


def store_items(home: Path, source_id: int, **contents: str) -> None:
    async def work() -> None:
        async with open_system(Settings(home=home)) as system:
            made = [(source_id, make_item(native_id=t, title=t, content=c)) for t, c in contents.items()]
            now = system.clock.now()
            known = await system.store.read(items.remembered, source_id, list(contents))
            store = items.update_changed if known else items.insert_new
            await system.store.write(store, made, now=now)

    asyncio.run(work())


@pytest.fixture
def source_id(catchment: Command) -> int:
    added = catchment.json("add", "https://news.example/feed", "--type", "rss", "--name", "News", "--json")
    return int(added["id"])


@pytest.mark.proves("G-12")
def test_items_are_searched_and_shown(catchment: Command, source_id: int):
    store_items(
        catchment.home, source_id, Chips="<p>人工智能 and <a href='https://x.example/'>more</a></p>", Rain="wet"
    )
    [found] = catchment.json("items", "search", "智能", "--json")
    assert found["title"] == "Chips"
    assert catchment.json("items", "search", "more and", "--json") == [], "a phrase where the shell has one word"
    assert len(catchment.json("items", "search", "--json", "wet", "--source", str(source_id))) == 1
    assert catchment.json("items", "search", "--json", "--", "and", "-智能") == []
    store_items(catchment.home, source_id, Chips="<p>人工智能 and less</p>")
    shown = catchment.json("items", "show", str(found["id"]), "--json")
    assert [part["text"] for part in shown["edits"][0]["text"] if part["kind"] != "same"] == ["more", "less"]
    assert "人工智能 and less" in catchment("items", "show", str(found["id"])).stdout
    refused = catchment("items", "search", "人")
    assert (refused.exit_code, "look for a word of two or more" in refused.stderr) == (1, True)
    assert catchment.json("items", "reindex", "--json")["items"] == 2


@pytest.mark.proves("G-12", "G-04")
def test_a_removal_says_how_to_take_it_back_and_can_be_taken_back(catchment: Command, source_id: int):
    store_items(catchment.home, source_id, Rain="wet")
    answer = catchment("sources", "remove", str(source_id))
    assert f"catchment undo {source_id}" in answer.stderr
    assert catchment.json("sources", "list", "--json") == []
    assert [one["id"] for one in catchment.json("undo", "--json")] == [source_id]
    assert "is back" in catchment("undo", str(source_id)).stdout
    assert [one["name"] for one in catchment.json("sources", "list", "--json")] == ["News"]
    assert len(catchment.json("items", "search", "wet", "--json")) == 1
    assert catchment("undo", str(source_id)).exit_code == 1


@pytest.mark.proves("G-12", "G-10")
def test_a_change_prints_what_changed_and_is_in_the_trail(catchment: Command, source_id: int):
    answer = catchment("sources", "set", str(source_id), "--name", "Papers", "--tag", "red")
    assert "Changed name: News → Papers; tags: none → red." in answer.stderr
    assert "Nothing is different" in catchment("sources", "set", str(source_id), "--name", "Papers").stderr
    newest = catchment.json("trail", "--json")[0]
    assert (newest["actor"], newest["action"]) == ("operator", "source.change")
    assert "source.change" in catchment("trail").stdout


@pytest.mark.proves("G-12", "G-06")
def test_a_feed_is_changed_by_parts(catchment: Command, source_id: int):
    store_items(catchment.home, source_id, Chips="人工智能", Rain="wet")
    catchment("feeds", "create", "news", "--public", "--q", "智能", "--limit", "5")
    answer = catchment("feeds", "set", "news", "--title", "Ours", "--private")
    assert "title: none → Ours" in answer.stderr
    assert "Token (shown only now)" in answer.stdout
    shown = catchment.json("feeds", "show", "news", "--json")
    assert shown["filter"] == {"q": "智能", "limit": 5}
    assert catchment("feeds", "set", "news").exit_code == 1
    assert catchment("feeds", "set", "news", "--q", "人").exit_code == 1


@pytest.mark.proves("G-12")
def test_the_visits_of_a_source_and_why_it_brought_nothing(catchment: Command, source_id: int):
    assert catchment.json("sources", "history", str(source_id), "--json") == []
    [never, due] = catchment.json("why", "new", "--json")["why"]
    assert (never, due) == ("It was not visited yet.", "The next visit is as soon as the collector looks.")
    catchment("collect", "--source", str(source_id), CATCHMENT_TIMEOUT_SECONDS="1")
    [visit] = catchment.json("sources", "history", str(source_id), "--json")
    assert not visit["ok"]
    assert len(catchment.json("sources", "history", str(source_id), "--days", "--json")) == 30
    assert "failed" in catchment("why", str(source_id)).stdout
    catchment("sources", "pause", str(source_id))
    assert "paused by hand" in catchment("why", str(source_id)).stdout
    assert catchment("why", "nobody").exit_code == 1


@pytest.mark.proves("G-12")
def test_a_person_is_asked_before_something_is_removed(catchment: Command, source_id: int):
    assert "Remove source" in on_a_terminal(catchment.home, "sources", "remove", str(source_id), typed="n\n")
    assert len(catchment.json("sources", "list", "--json")) == 1
    assert "Removed source" in on_a_terminal(catchment.home, "sources", "remove", str(source_id), typed="y\n")
    assert catchment.json("sources", "list", "--json") == []


@pytest.mark.proves("G-12")
async def test_the_status_is_shown_again_and_again_until_told_to_stop(start: Start, home: Path):
    process = await start("status", "--watch")
    await process.says("Collector")
    await process.says("Collector")


@pytest.mark.proves("G-12")
def test_a_shell_completes_commands(home: Path):
    completing = {"_CATCHMENT_COMPLETE": "complete_bash", "COMP_WORDS": "catchment items se", "COMP_CWORD": "2"}
    command = [sys.executable, "-c", "from catchment.cli.main import app; app(prog_name='catchment')"]
    told = subprocess.run(command, env={**environment(home), **completing}, capture_output=True, text=True, check=False)
    assert told.stdout.split() == ["search"], told.stderr
