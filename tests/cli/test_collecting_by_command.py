from __future__ import annotations

import json
import signal
from asyncio import to_thread
from datetime import UTC, datetime

import pytest
from command import Command, Start

from catchment.cli.collect import print_results
from catchment.cli.console import MAX_ROWS
from catchment.domain.visit import VisitResult
from feed_site import FeedSite, Gate, rss


async def collected(catchment: Command, *words: str) -> tuple[int, str]:
    result = await catchment.aside("collect", *words, LOG_LEVEL="ERROR")
    return result.exit_code, result.output


async def add(catchment: Command, *urls: str) -> list[int]:
    shapes = [await to_thread(catchment.json, "add", url, "--no-check") for url in urls]
    return [shape["id"] for shape in shapes]


@pytest.mark.proves("A-01", "A-10", "A-17")
async def test_one_round_tells_what_became_of_each_source(catchment: Command, site: FeedSite) -> None:
    good, bad = await add(catchment, site.feed("a", "b"), site.serve("gone", path="/gone", status=410))
    code, said = await collected(catchment, "--json")
    assert code == 0, "the round ran; a source that fails is that source's failure"
    answer = json.loads(said)
    results = {result["sourceId"]: result for result in answer["sources"]}
    assert results[good] == {
        "sourceId": good,
        "name": "127.0.0.1",
        "type": "rss",
        "fetched": 2,
        "inserted": 2,
        "updated": 0,
        "skipped": False,
        "reason": None,
        "error": None,
        "postponedUntil": None,
    }
    assert "410" in results[bad]["error"]
    assert answer["totals"] == {
        "sources": 2,
        "collected": 1,
        "failed": 1,
        "excused": 0,
        "skipped": 0,
        "takenOver": 0,
        "fetched": 2,
        "inserted": 2,
        "updated": 0,
    }
    items = await to_thread(catchment.json, "items", "list", "--source", str(good))
    assert {item["title"] for item in items} == {"Title a", "Title b"}


@pytest.mark.proves("A-17")
async def test_a_round_while_collecting_is_paused_says_so(catchment: Command, site: FeedSite) -> None:
    await add(catchment, site.feed("a"))
    await to_thread(catchment.json, "jobs", "pause", "collector_tick")
    code, said = await collected(catchment)
    assert (code, said.count("\n")) == (0, 1)
    assert "paused" in said
    assert "catchment jobs resume collector_tick" in said
    await to_thread(catchment.json, "jobs", "resume", "collector_tick")
    assert "1 collected" in (await collected(catchment))[1]


@pytest.mark.proves("A-42")
async def test_a_second_round_fetches_nothing_that_is_not_due(catchment: Command, site: FeedSite) -> None:
    await add(catchment, site.feed("a"))
    await collected(catchment)
    code, said = await collected(catchment)
    assert (code, said) == (0, "Nothing is due.\n")
    assert site.hits["/feed"] == 1


@pytest.mark.proves("A-17", "A-37")
async def test_one_source_is_collected_at_once_also_when_it_is_paused(catchment: Command, site: FeedSite) -> None:
    [number] = await add(catchment, site.feed("a"))
    await to_thread(catchment.json, "sources", "pause", str(number))
    code, said = await collected(catchment, "--source", str(number), "--json")
    assert code == 0
    assert json.loads(said)["inserted"] == 1


@pytest.mark.proves("A-17", "A-37")
async def test_an_unknown_or_removed_source_is_a_clear_error(catchment: Command, site: FeedSite) -> None:
    [number] = await add(catchment, site.feed("a"))
    await to_thread(catchment.json, "sources", "remove", str(number))
    for unknown in (number, 4711):
        code, said = await collected(catchment, "--source", str(unknown))
        assert code == 1
        assert said.startswith(f"Error: There is no source {unknown}.")
        assert said.count("\n") == 1


async def test_a_single_source_that_fails_is_a_failure_of_the_command(catchment: Command, site: FeedSite) -> None:
    [number] = await add(catchment, site.serve("busy", status=503))
    code, said = await collected(catchment, "--source", str(number))
    assert code == 1
    assert "503" in said


@pytest.mark.proves("A-06")
async def test_junk_in_an_interval_is_warned_about_once_and_keeps_the_default(
    catchment: Command, start: Start, site: FeedSite
) -> None:
    [number] = await add(catchment, site.feed("a"))
    process = await start("collect", "--loop", FETCH_INTERVAL_RSS="often", COLLECTOR_TICK="0.05")
    await process.says("round over")
    process.signal(signal.SIGTERM)
    assert await process.ends() == 0
    assert "".join(process.said).count("'often' is not a positive number of minutes") == 1
    shape = await to_thread(
        catchment.json, "sources", "show", str(number), FETCH_INTERVAL_RSS="often", LOG_LEVEL="ERROR"
    )
    assert shape["fetch_interval_minutes"] == 240


@pytest.mark.proves("A-07", "A-18", "A-39")
async def test_the_loop_says_how_it_goes_and_takes_up_what_is_added(
    catchment: Command, start: Start, site: FeedSite
) -> None:
    process = await start("collect", "--loop", COLLECTOR_INTERVAL="0.2", from_scratch=True)
    started = await process.says("collector started")
    assert "tick 0.2 s" in started
    assert "'rss': 240" in started
    await add(catchment, site.feed("a", "b"))
    await process.says("1 source(s) due")
    assert "2 inserted" in await process.says("round over")
    process.signal(signal.SIGTERM)
    assert "0 visit(s) in flight" in await process.says("stop received")
    await process.says("stop completed")
    assert await process.ends() == 0


@pytest.mark.parametrize("words", [("--loop",), ()], ids=["loop", "one round"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.proves("A-12")
async def test_a_stop_lets_work_in_flight_finish(
    catchment: Command, start: Start, site: FeedSite, words: tuple[str, ...], number: signal.Signals
) -> None:
    gate = Gate(rss("late"))
    await add(catchment, site.script(gate))
    process = await start("collect", *words)
    await process.visits(gate)
    process.signal(number)
    await process.says("finishing what is under way")
    gate.opened.set()
    assert await process.ends() == 0
    assert [item["title"] for item in await to_thread(catchment.json, "items", "list")] == ["Title late"]


@pytest.mark.proves("A-12")
async def test_no_new_work_starts_after_a_stop(catchment: Command, start: Start, site: FeedSite) -> None:
    gate = Gate(rss("late"))
    await add(catchment, site.script(gate), *(site.feed("a", path=f"/{number}") for number in range(5)))
    process = await start("collect", "--loop", COLLECTOR_CONCURRENCY="1")
    await process.visits(gate)
    process.signal(signal.SIGTERM)
    await process.says("finishing what is under way")
    gate.opened.set()
    assert await process.ends() == 0
    assert sum(site.hits.values()) == 1
    shapes = await to_thread(catchment.json, "sources", "list")
    assert [shape["status"] for shape in shapes] == ["ok", *["pending"] * 5]


@pytest.mark.parametrize("words", [("--loop",), ()], ids=["loop", "one round"])
@pytest.mark.proves("A-12")
async def test_work_that_outlasts_the_grace_is_cut_off_and_nothing_of_it_is_stored(
    catchment: Command, start: Start, site: FeedSite, words: tuple[str, ...]
) -> None:
    gate = Gate(rss("never"))
    [number] = await add(catchment, site.script(gate))
    process = await start("collect", *words, COLLECTOR_STOP_SECONDS="1")
    await process.visits(gate)
    process.signal(signal.SIGTERM)
    assert await process.ends() == 1
    assert "work in flight was cut off after 1 s" in "".join(process.said)
    shape = await to_thread(catchment.json, "sources", "show", str(number))
    assert (shape["status"], shape["fetch_error_count"]) == ("pending", 0)


@pytest.mark.parametrize("words", [("--loop",), ("--source", "1")], ids=["loop", "one source"])
@pytest.mark.proves("A-12")
async def test_a_second_signal_stops_at_once(
    catchment: Command, start: Start, site: FeedSite, words: tuple[str, ...]
) -> None:
    gate = Gate(rss("never"))
    await add(catchment, site.script(gate))
    process = await start("collect", *words, COLLECTOR_STOP_SECONDS="3600")
    await process.visits(gate)
    process.signal(signal.SIGTERM)
    await process.says("finishing what is under way")
    process.signal(signal.SIGINT)
    assert await process.ends() == 1
    assert "Traceback" not in "".join(process.said)
    assert await to_thread(catchment.json, "items", "list") == []


async def test_items_are_listed_newest_first_by_the_names_that_were_settled(catchment: Command, site: FeedSite) -> None:
    [number] = await add(catchment, site.feed("a"))
    await collected(catchment)
    site.feed("c", "b", "a")
    await collected(catchment, "--source", str(number))
    items = await to_thread(catchment.json, "items", "list", "--limit", "0")
    assert [item["title"] for item in items] == ["Title c", "Title b", "Title a"]
    assert list(items[0]) == [
        "id",
        "source_id",
        "source_name",
        "type",
        "title",
        "url",
        "author",
        "content",
        "published_at",
        "fetched_at",
        "metadata",
    ]
    assert items[0]["published_at"] == "2026-03-01T08:00:00.000Z"
    assert len(await to_thread(catchment.json, "items", "list", "--limit", "2")) == 2
    unknown = await to_thread(catchment, "items", "list", "--source", "99")
    assert (unknown.exit_code, unknown.stderr) == (1, "Error: There is no source 99.\n")


@pytest.mark.proves("R-41")
def test_without_a_network_no_visit_is_told_as_a_failure(catchment: Command) -> None:
    for host in ("one.invalid", "two.invalid"):
        catchment.json("add", f"http://{host}/feed", "--type", "rss", "--json")
    totals = catchment.json("collect", "--json")["totals"]
    assert (totals["failed"], totals["excused"]) == (0, 2)
    [visit] = catchment.json("sources", "history", "1", "--json")
    assert (visit["ok"], visit["outcome"]) == (False, "network_away")
    assert "network away" in catchment("sources", "history", "1").stdout
    assert catchment.json("sources", "history", "1", "--days", "--json")[-1]["excused"] == 1
    stats = catchment.json("status", "--json")["stats"]
    assert (stats["errors_24h"], stats["excused_24h"], stats["success_rate_24h"]) == (0, 2, None)


def visited(number: int, **values: object) -> VisitResult:
    return VisitResult(source_id=number, name=f"Source number {number}", type="rss", **values)


def test_a_large_round_shows_what_failed_and_what_is_new_and_counts_the_rest(capsys):
    quiet = [visited(number, fetched=30) for number in range(MAX_ROWS)]
    print_results([*quiet, visited(100, inserted=2), visited(101, error="HTTP 500")], show_all=False)
    shown = capsys.readouterr()
    assert [line.split()[0] for line in shown.out.splitlines() if "Source number" in line] == ["101", "100"]
    assert f"{MAX_ROWS} more: --all shows all." in shown.err
    assert "52 sources: 51 collected, 1 failed, 2 new items." in shown.err


@pytest.mark.proves("A-26")
def test_what_somebody_else_took_over_is_no_failure_of_this_round(capsys):
    print_results([visited(1), visited(2, fenced=True, error="took too long"), visited(3, fenced=True)])
    assert "3 sources: 1 collected, 0 failed, 2 taken over by others, 0 new items." in capsys.readouterr().err


def test_the_summary_names_the_postponed_and_the_skipped_where_there_are_any(capsys):
    later = datetime(2026, 1, 2, tzinfo=UTC)
    print_results([visited(1), visited(2, postponed_until=later), visited(3, skipped="paused"), visited(4, inserted=1)])
    said = capsys.readouterr().err
    assert "4 sources: 2 collected, 0 failed, 1 postponed, 1 skipped, 1 new item." in said


def test_one_source_is_not_called_sources(capsys):
    print_results([visited(1)])
    assert "1 source: 1 collected, 0 failed, 0 new items." in capsys.readouterr().err


@pytest.mark.parametrize(("count", "rows"), [(MAX_ROWS, MAX_ROWS), (MAX_ROWS + 1, 0)])
def test_a_round_without_news_is_a_sentence_once_it_is_longer_than_a_page(capsys, count, rows):
    print_results([visited(number) for number in range(count)], show_all=False)
    shown = capsys.readouterr()
    assert shown.out.count("Source number") == rows
    assert ("Nothing new: --all shows every source." in shown.err) == (not rows)
