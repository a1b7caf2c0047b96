from __future__ import annotations

import asyncio
import signal
import time
from asyncio import to_thread
from urllib.parse import urlsplit

import aiohttp
import psutil
import pytest
from command import Command, Process, Start, environment
from loguru import logger

from catchment.cli.collector_processes import crew
from eventually import DEADLINE_SECONDS, eventually
from feed_site import FeedSite, Gate, rss

ADMIN = {"X-API-Key": "sesame"}
READY = "Catchment is at "


async def address(process: Process) -> str:
    return (await process.says(READY)).removeprefix(READY)


@pytest.mark.proves("F-01")
async def test_up_makes_a_key_and_a_link_that_signs_in_once(start: Start, catchment: Command) -> None:
    process = await start("up", "--port", "0", "--no-collect", "--no-starter")
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


async def test_a_crew_of_collectors_shares_the_work_and_goes_with_whoever_started_it(
    start: Start, catchment: Command, site: FeedSite
) -> None:
    gate = Gate(rss("1"))
    # More than one of them claims ahead.
    feeds = "".join(f'<outline xmlUrl="{site.script(gate, path=f"/{number}")}"/>' for number in range(12))
    imported = await to_thread(catchment, "import", "-", stdin=f"<opml><body>{feeds}</body></opml>")
    assert imported.exit_code == 0
    # One visit at a time for each of the two: if two are at the gate, both collectors are at work.
    collector = await start("collect", "--loop", COLLECTOR_PROCESSES="2", COLLECTOR_CONCURRENCY="2")
    await collector.visits(gate)
    await collector.visits(gate)
    members = collector.children()
    assert len(members) == 1
    collector.signal(signal.SIGKILL)
    gate.opened.set()
    await to_thread(wait_until_over, members[0])
    assert site.most_in_flight == 2


@pytest.mark.proves("A-12")
async def test_a_crew_stops_with_its_leader(start: Start) -> None:
    collector = await start("collect", "--loop", COLLECTOR_PROCESSES="3")
    await collector.says("collector started")
    members = collector.children()
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 0
    assert not [member for member in members if member.is_running()]


async def a_crew_at_the_gate(start: Start, catchment: Command, site: FeedSite, gate: Gate) -> Process:
    """Two collectors, each with a visit under way that nothing but the gate ends, and more to do."""
    feeds = "".join(f'<outline xmlUrl="{site.script(gate, path=f"/{number}")}"/>' for number in range(12))
    await to_thread(catchment, "import", "-", stdin=f"<opml><body>{feeds}</body></opml>")
    patient = {"COLLECTOR_STOP_SECONDS": "600", "CATCHMENT_TIMEOUT_SECONDS": "600"}
    collector = await start("collect", "--loop", COLLECTOR_PROCESSES="2", COLLECTOR_CONCURRENCY="2", **patient)
    await collector.visits(gate)
    await collector.visits(gate)
    return collector


@pytest.mark.proves("A-12")
@pytest.mark.parametrize("reaches_all", [False, True], ids=["signal to the leader", "signal to all"])
async def test_a_crew_begins_nothing_after_the_stop(
    start: Start, catchment: Command, site: FeedSite, reaches_all: bool
) -> None:
    gate = Gate(rss("1"))
    collector = await a_crew_at_the_gate(start, catchment, site, gate)
    members = collector.children()
    collector.signal(signal.SIGTERM)
    for member in members if reaches_all else ():
        member.send_signal(signal.SIGTERM)
    for _ in range(2):
        await collector.says("collector: stop received")
    gate.opened.set()
    assert await collector.ends() == 0
    assert sum(site.hits.values()) == 2, "what was under way, and nothing else"
    said = "".join(collector.said)
    assert "Fatal Python error" not in said
    assert "Traceback" not in said
    assert "starting another" not in said
    assert not [member for member in members if member.is_running()]


@pytest.mark.proves("A-12")
async def test_a_second_signal_ends_a_whole_crew_at_once(start: Start, catchment: Command, site: FeedSite) -> None:
    gate = Gate(rss("never"))
    collector = await a_crew_at_the_gate(start, catchment, site, gate)
    members = collector.children()
    collector.signal(signal.SIGTERM)
    await collector.says("finishing what is under way")
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 1
    assert not [member for member in members if member.is_running()]


@pytest.mark.proves("A-12")
@pytest.mark.parametrize("is_held", [True, False])
async def test_a_member_that_had_to_be_cut_off_is_known_to_whoever_told_it_to_stop(
    catchment: Command, site: FeedSite, monkeypatch: pytest.MonkeyPatch, is_held: bool
) -> None:
    gate = Gate(rss("late"))
    await to_thread(catchment.json, "add", site.script(gate), "--no-check")
    for name, value in environment(catchment.home, COLLECTOR_STOP_SECONDS="0.2" if is_held else "30").items():
        monkeypatch.setenv(name, value)
    stop = asyncio.Event()
    async with crew(1, stop) as members:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await gate.arrived.acquire()
        if not is_held:
            gate.opened.set()
        stop.set()
    assert members.was_cut_off is is_held


@pytest.mark.proves("A-12")
async def test_a_member_that_is_stopped_alone_ends_cleanly_and_is_replaced(start: Start) -> None:
    collector = await start("collect", "--loop", COLLECTOR_PROCESSES="2")
    for _ in range(2):
        await collector.says("collector started")
    collector.children()[0].terminate()
    await collector.says("a collector process ended with code 0; starting another")
    await collector.says("collector started")
    collector.signal(signal.SIGTERM)
    assert await collector.ends() == 0
    assert "Fatal Python error" not in "".join(collector.said)


@pytest.mark.proves("A-12")
async def test_a_member_that_a_signal_reached_before_its_leader_is_not_replaced(
    catchment: Command, site: FeedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, log = Gate(rss("1")), list[str]()
    await to_thread(catchment.json, "add", site.script(gate), "--no-check")
    logger.add(log.append, format="{message}")
    for name, value in environment(catchment.home).items():
        monkeypatch.setenv(name, value)
    stop = asyncio.Event()
    async with crew(1, stop) as members:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await gate.arrived.acquire()
        (member,) = [one for one in psutil.Process().children() if "--member" in one.cmdline()]
        member.terminate()
        gate.opened.set()
        await to_thread(wait_until_over, member)
        stop.set()
    assert members.codes == [0]
    assert log == []


#: What the demo follows beside feeds.
SERVICES = {"hackernews", "reddit", "github_trending", "xhs_search", "weibo_search"}


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
