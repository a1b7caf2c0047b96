from __future__ import annotations

import json
import signal
import sqlite3
import time
from asyncio import to_thread
from urllib.parse import urlsplit

import aiohttp
import psutil
import pytest
from command import Command, Process, Start

from catchment.cli.collector_processes import MANY_DUE
from eventually import DEADLINE_SECONDS, eventually
from feed_site import Answer, FeedSite, Gate, rss

ADMIN = {"X-API-Key": "sesame"}
READY = "Catchment is at "


async def address(process: Process) -> str:
    return (await process.says(READY)).removeprefix(READY)


@pytest.mark.proves("F-01")
async def test_up_makes_a_key_and_a_link_that_signs_in_once(start: Start, catchment: Command) -> None:
    process = await start("up", "--port", "0", "--no-collect", "--no-starter", from_scratch=True)
    url = await address(process)
    key = (await process.says("Admin key")).rpartition(" ")[2]
    link = (await process.says("Sign in once")).rpartition(" ")[2]
    assert urlsplit(link).netloc == urlsplit(url).netloc
    async with aiohttp.ClientSession() as browser, browser.get(link, allow_redirects=False) as answer:
        assert answer.status in {302, 303}
    async with aiohttp.ClientSession() as other:
        async with other.get(link, allow_redirects=False) as answer:
            assert answer.status == 401, "the link is spent"
        async with other.get(f"{url}/api/collector/status", headers={"X-API-Key": key}) as answer:
            assert answer.status == 200
        async with other.get(f"{url}/api/collector/status") as answer:
            assert answer.status == 401
    process.signal(signal.SIGTERM)
    assert await process.ends() == 0
    listed = await to_thread(catchment.json, "keys", "list")
    assert len(listed) == 1
    assert key not in str(listed)


@pytest.mark.proves("F-01")
async def test_the_first_link_leads_to_where_the_server_is_reached_from_outside(start: Start) -> None:
    outside = "https://catchment.example.org/below"
    process = await start("up", "--port", "0", "--no-collect", "--no-starter", CATCHMENT_PUBLIC_URL=outside)
    assert (await process.says("Sign in once")).rpartition(" ")[2].startswith(f"{outside}/signin?token=")
    process.signal(signal.SIGTERM)
    assert await process.ends() == 0


@pytest.mark.proves("F-01")
async def test_up_offers_the_starter_pack_once(start: Start, catchment: Command) -> None:
    for removed in (None, 1):
        if removed:
            await to_thread(catchment.json, "sources", "remove", str(removed))
        process = await start("up", "--port", "0", "--no-collect", API_KEY="service", ADMIN_API_KEY="sesame")
        await address(process)
        process.signal(signal.SIGINT)
        assert await process.ends() == 0
        assert "Admin key" not in "".join(process.said), "there are keys in the environment"
    assert [source["id"] for source in await to_thread(catchment.json, "sources", "list")] == list(range(2, 9))


async def test_a_port_that_is_taken_is_a_sentence_not_a_trace(start: Start, site: FeedSite) -> None:
    process = await start("up", "--port", str(site.port), "--no-starter")
    assert await process.ends() == 2
    said = "".join(process.said)
    assert f"cannot listen on 127.0.0.1:{site.port}" in said
    assert "Traceback" not in said


@pytest.mark.proves("A-12", "F-01")
async def test_up_collects_and_serves_and_stops_when_work_is_done(
    start: Start, catchment: Command, site: FeedSite
) -> None:
    gate = Gate(rss("late"))
    await to_thread(catchment.json, "add", site.script(gate), "--no-check")
    process = await start("up", "--port", "0")
    await address(process)
    await process.visits(gate)
    process.signal(signal.SIGTERM)
    await process.says("finishing what is under way")
    gate.opened.set()
    assert await process.ends() == 0
    assert len(await to_thread(catchment.json, "items", "list")) == 1
    assert len(await to_thread(catchment.json, "sources", "list")) == 1, "a store with sources needs no starter pack"


@pytest.mark.proves("A-12")
async def test_up_ends_with_1_when_work_had_to_be_cut_off(start: Start, catchment: Command, site: FeedSite) -> None:
    gate = Gate(rss("never"))
    await to_thread(catchment.json, "add", site.script(gate), "--no-check")
    process = await start("up", "--port", "0", COLLECTOR_STOP_SECONDS="1")
    await process.visits(gate)
    process.signal(signal.SIGTERM)
    assert await process.ends() == 1


@pytest.mark.proves("A-41")
async def test_killing_the_server_or_the_collector_leaves_the_other_at_work(
    start: Start, catchment: Command, site: FeedSite
) -> None:
    server = await start("up", "--no-collect", "--no-starter", "--port", "0", ADMIN_API_KEY="sesame")
    collector = await start("collect", "--loop", COLLECTOR_TICK="0.2")
    await address(server)
    await collector.says("collector started")
    await server.kill()
    await to_thread(catchment.json, "add", site.feed("a"), "--no-check")
    await collector.says("round over")

    server = await start("up", "--no-collect", "--no-starter", "--port", "0", ADMIN_API_KEY="sesame")
    url = await address(server)
    await collector.kill()
    async with aiohttp.ClientSession(url, headers=ADMIN) as visitor:
        async with visitor.get("/api/raw-items") as answer:
            assert "Title a" in await answer.text()
        async with visitor.post("/api/sources", json={"type": "rss", "config": {"url": site.feed("b")}}) as answer:
            assert answer.status in {201, 409}
    assert server.is_running


def wait_until_over(process: psutil.Process) -> None:
    """Until it has ended. Whether its new parent has taken note of it is not our business."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline, "it goes on without whoever started it"
        time.sleep(0.02)


#: So many are due that others help, if so many may be in flight.
MANY = {"COLLECTOR_PROCESSES": "2", "COLLECTOR_CONCURRENCY": "20"}


async def import_many(catchment: Command, site: FeedSite, answer: Answer) -> int:
    addresses = [site.script(answer, path=f"/{number}") for number in range(MANY_DUE + 20)]
    feeds = "".join(f'<outline xmlUrl="{address}"/>' for address in addresses)
    imported = await to_thread(catchment, "import", "-", stdin=f"<opml><body>{feeds}</body></opml>")
    assert imported.exit_code == 0
    return len(addresses)


async def at_the_gate(start: Start, catchment: Command, site: FeedSite, gate: Gate, **env: str) -> Process:
    """Two collectors, each with ten visits under way that nothing but the gate ends, and more to do."""
    await import_many(catchment, site, gate)
    patient = {"COLLECTOR_STOP_SECONDS": "600", "CATCHMENT_TIMEOUT_SECONDS": "600"}
    collector = await start("collect", "--loop", **{**patient, **MANY, **env})
    for _ in range(20):
        await collector.visits(gate)
    return collector


def helpers_of(collector: Process) -> list[psutil.Process]:
    (set_aside,) = [one for one in psutil.Process(collector.pid).children() if one.children()]
    return set_aside.children()


async def both_stop(collector: Process) -> None:
    for _ in range(2):
        await collector.says("a collector process: stop received")


@pytest.mark.proves("A-09", "A-26", "S-01")
async def test_while_much_is_due_several_collectors_share_it_and_what_may_be_in_flight(
    start: Start, catchment: Command, site: FeedSite
) -> None:
    gate = Gate(rss("1"))
    count = await import_many(catchment, site, gate)
    collector = await start("collect", "--json", **MANY)
    # None is answered before there are as many as only both have together: one alone may be done with all of them.
    for _ in range(20):
        await collector.visits(gate)
    gate.opened.set()
    assert await collector.ends() == 0
    said = "".join(collector.said)
    assert json.loads(said[said.index("{\n") :])["totals"] == {
        "sources": count, "collected": count, "failed": 0, "excused": 0, "skipped": 0, "takenOver": 0,
        "fetched": count, "inserted": count, "updated": 0,
    }  # fmt: skip
    assert set(site.hits.values()) == {1}
    assert site.most_in_flight <= 20
    with sqlite3.connect(catchment.home / "catchment.sqlite3") as store:
        owners = store.execute("SELECT DISTINCT owner FROM runs WHERE kind = 'source'").fetchall()
    assert len(owners) == 2


@pytest.mark.proves("A-12")
async def test_a_round_that_is_stopped_tells_what_all_its_collectors_did_and_what_is_left(
    start: Start, catchment: Command, site: FeedSite
) -> None:
    gate = Gate(rss("1"))
    count = await import_many(catchment, site, gate)
    patient = {"COLLECTOR_STOP_SECONDS": "600", "CATCHMENT_TIMEOUT_SECONDS": "600"}
    collector = await start("collect", "--json", **patient, **MANY)
    for _ in range(20):
        await collector.visits(gate)
    collector.signal(signal.SIGTERM)
    await both_stop(collector)
    gate.opened.set()
    assert await collector.ends() == 0
    said = "".join(collector.said)
    told, _ = json.JSONDecoder().raw_decode(said[said.index("{\n") :])
    assert told["totals"]["collected"] == 20
    assert f"Stopped: {count - 20} of what was due was not collected, and is due still." in said
    assert "stop completed" in said


@pytest.mark.proves("A-12", "A-26")
async def test_a_stop_that_cuts_off_gives_the_leases_of_every_collector_back(
    start: Start, catchment: Command, site: FeedSite
) -> None:
    gate = Gate(rss("never"))
    await import_many(catchment, site, gate)
    collector = await start("collect", COLLECTOR_STOP_SECONDS="0.2", **MANY)
    for _ in range(20):
        await collector.visits(gate)
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 1
    with sqlite3.connect(catchment.home / "catchment.sqlite3") as store:
        assert store.execute("SELECT kind, subject FROM runs WHERE status = 'running'").fetchall() == []


async def test_for_a_few_sources_nobody_else_is_called(start: Start, catchment: Command, site: FeedSite) -> None:
    gate = Gate(rss("1"))
    await to_thread(catchment.json, "add", site.script(gate), "--no-check")
    collector = await start("collect", "--loop", **MANY)
    await collector.visits(gate)
    (set_aside,) = collector.children()
    assert set_aside.children() == []
    gate.opened.set()
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 0
    assert not set_aside.is_running()


async def test_helpers_go_with_whoever_called_them(start: Start, catchment: Command, site: FeedSite) -> None:
    gate = Gate(rss("1"))
    collector = await at_the_gate(start, catchment, site, gate)
    both = helpers_of(collector)
    collector.signal(signal.SIGKILL)
    gate.opened.set()
    for helper in both:
        await to_thread(wait_until_over, helper)
    assert site.most_in_flight == 20


@pytest.mark.proves("A-12")
@pytest.mark.parametrize("reaches_all", [False, True], ids=["signal to the first", "signal to all"])
async def test_helpers_begin_nothing_after_the_stop(
    start: Start, catchment: Command, site: FeedSite, reaches_all: bool
) -> None:
    gate = Gate(rss("1"))
    collector = await at_the_gate(start, catchment, site, gate)
    others = collector.children()
    collector.signal(signal.SIGTERM)
    for other in others if reaches_all else ():
        other.send_signal(signal.SIGTERM)
    await both_stop(collector)
    gate.opened.set()
    assert await collector.ends() == 0
    assert sum(site.hits.values()) == 20, "what was under way, and nothing else"
    said = "".join(collector.said)
    assert "Fatal Python error" not in said
    assert "Traceback" not in said
    assert not [other for other in others if other.is_running()]


@pytest.mark.proves("A-12")
async def test_a_second_signal_ends_helpers_at_once(start: Start, catchment: Command, site: FeedSite) -> None:
    gate = Gate(rss("never"))
    collector = await at_the_gate(start, catchment, site, gate)
    others = collector.children()
    collector.signal(signal.SIGTERM)
    await collector.says("finishing what is under way")
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 1
    assert not [other for other in others if other.is_running()]


@pytest.mark.proves("A-12")
async def test_it_ends_with_1_when_a_helper_had_to_be_cut_off(start: Start, catchment: Command, site: FeedSite) -> None:
    collector = await at_the_gate(start, catchment, site, Gate(rss("never")), COLLECTOR_STOP_SECONDS="0.2")
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 1


@pytest.mark.proves("F-08")
async def test_what_a_killed_helper_had_taken_is_taken_over(start: Start, catchment: Command, site: FeedSite) -> None:
    gate = Gate(rss("1"))
    collector = await at_the_gate(start, catchment, site, gate, COLLECTOR_TICK="0.2")
    helpers_of(collector)[0].kill()
    await collector.says("a collector process ended before it was done")
    gate.opened.set()

    async def all_stored() -> bool:
        return len(await to_thread(catchment.json, "items", "list", "--limit", "0")) == MANY_DUE + 20

    await eventually(all_stored)
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 0, "nothing was cut off at this stop"


#: What the demo follows beside feeds.
SERVICES = {"hackernews", "reddit", "github_trending", "sitemap", "xhs_search", "weibo_search"}


@pytest.mark.docs
@pytest.mark.proves("F-02")
async def test_the_demo_shows_items_of_the_simulated_web(start: Start) -> None:
    process = await start("demo", "--port", "0", "--sites", "14", "--faulty", "0.15", ADMIN_API_KEY="sesame")
    url = await address(process)
    async with aiohttp.ClientSession(url, headers=ADMIN) as visitor:

        async def healthy() -> bool:
            async with visitor.get("/api/collector/status") as answer:
                sources = (await answer.json())["sources"]
                assert len(sources) == 14 + len(SERVICES)
                fine = {source["type"] for source in sources if source["status"] == "ok"}
                return fine >= SERVICES and sum(source["status"] == "ok" for source in sources) >= 15

        async def has_items() -> bool:
            async with visitor.get("/api/raw-items") as answer:
                return '"title"' in await answer.text()

        await eventually(healthy)
        await eventually(has_items)
    process.signal(signal.SIGINT)
    assert await process.ends() == 0
    assert "Traceback" not in "".join(process.said)


@pytest.mark.docs
async def test_a_demo_on_a_store_of_its_own_replaces_the_sites_of_the_last_one(
    start: Start, catchment: Command
) -> None:
    for sites in ("3", "2"):
        process = await start("demo", "--port", "0", "--sites", sites, LOG_LEVEL="DEBUG")
        await process.says("round over")
        process.signal(signal.SIGTERM)
        assert await process.ends() == 0
    assert len(await to_thread(catchment.json, "sources", "list")) == 2 + len(SERVICES)
