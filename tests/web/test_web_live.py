"""The server on a real socket: it starts, streams, and stops when told."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import chain, count, repeat
from typing import Any

import httpx
import pytest
from web_site import ADMIN_KEY, Site, with_settings

from catchment.domain.caller import ANONYMOUS
from catchment.errors import SettingsError
from catchment.monitor.status import View
from catchment.web.live import Live
from catchment.web.server import serve, serve_app


@asynccontextmanager
async def served(site: Site) -> AsyncIterator[tuple[str, asyncio.Event, asyncio.Task[None]]]:
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve_app(site.app, host="127.0.0.1", port=0, stop=stop, on_ready=ready.set_result))
    await asyncio.wait([task, ready], return_when=asyncio.FIRST_COMPLETED)
    try:
        yield ready.result(), stop, task
    finally:
        stop.set()
        await task


async def boards(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, Any]]:
    async for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def test_the_server_says_where_it_listens_and_stops_when_told(lean_site: Site):
    handler = signal.getsignal(signal.SIGTERM)
    async with served(lean_site) as (url, stop, task):
        assert signal.getsignal(signal.SIGTERM) is handler
        async with httpx.AsyncClient(base_url=url) as client:
            assert (await client.get("/api/health")).json() == {"status": "ok"}
        stop.set()
        await asyncio.wait_for(task, 10)
        async with httpx.AsyncClient(base_url=url) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get("/api/health")


async def test_the_settings_say_where_to_listen(lean_site: Site):
    stop, urls = asyncio.Event(), list[str]()

    def on_ready(url: str) -> None:
        urls.append(url)
        stop.set()

    await serve(lean_site.system, stop=stop, on_ready=on_ready)
    assert urls[0].startswith("http://127.0.0.1:")


async def test_a_port_in_use_is_a_clear_error(lean_site: Site):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        system = with_settings(lean_site.system, port=taken.getsockname()[1])
        with pytest.raises(SettingsError, match=r"cannot listen on 127.0.0.1:\d+: .*CATCHMENT_PORT"):
            await serve(system, stop=asyncio.Event(), on_ready=lambda _: None)


async def test_a_host_that_is_not_ours_is_a_clear_error(lean_site: Site):
    with pytest.raises(SettingsError, match=r"cannot listen on 192\.0\.2\.1"):
        await serve(with_settings(lean_site.system, host="192.0.2.1"), stop=asyncio.Event(), on_ready=lambda _: None)


async def test_an_open_dashboard_hears_of_what_is_new_and_of_the_end(lean_site: Site):
    source = await lean_site.add_source(None, "feed", public=True)
    async with served(lean_site) as (url, stop, task), httpx.AsyncClient(base_url=url, timeout=20) as client:
        async with client.stream("GET", "/api/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            heard = boards(answer.aiter_lines())
            first = await anext(heard)
            assert [row["name"] for row in first["sources"]] == ["feed"]
            assert first["items"] == []
            await lean_site.add_items(source, "news")
            second = await anext(heard)
            assert [item["title"] for item in second["items"]] == ["news"]
            assert second["sources"][0]["count"] == "1"
            stop.set()
            with pytest.raises(StopAsyncIteration):
                await anext(heard)
        await asyncio.wait_for(task, 10)


async def test_a_stream_shows_what_its_caller_may_see_and_ends_with_its_key(lean_site: Site):
    await lean_site.add_source(lean_site.alice, "hers")
    headers = {"X-API-Key": lean_site.keys["alice"]}
    async with served(lean_site) as (url, _, _), httpx.AsyncClient(base_url=url, timeout=20) as client:
        assert (await client.get("/api/events", headers={"X-API-Key": "wrong"})).status_code == 401
        async with (
            client.stream("GET", "/api/events") as strangers,
            client.stream("GET", "/api/events?lang=zh", headers=headers) as hers,
        ):
            assert (await anext(boards(strangers.aiter_lines())))["sources"] == []
            heard = boards(hers.aiter_lines())
            assert (await anext(heard))["sources"][0]["status"] == "等待首次抓取"
            await lean_site.system.accounts.revoke_key(1)
            await lean_site.add_source(lean_site.alice, "another")
            with pytest.raises(StopAsyncIteration):
                await anext(heard)


@dataclass
class Counter:
    reads: int = 0


async def test_the_store_is_looked_at_once_for_all_and_only_while_somebody_listens(lean_site: Site):
    counter = Counter()

    async def read(_view: View) -> str:
        counter.reads += 1
        return str(counter.reads)

    live = Live(lean_site.system, read, look_seconds=0.01)
    view = View(caller=ANONYMOUS)
    streams = [live.listen(view) for _ in range(3)]
    for stream in streams:
        await anext(stream)
    before = counter.reads
    assert [await anext(stream) for stream in streams] == [str(before + 1)] * 3
    assert counter.reads == before + 1
    for stream in streams:
        await stream.aclose()
    assert live.listeners == 0
    assert live._looking is None


async def test_a_board_that_did_not_change_is_not_sent_again(lean_site: Site):
    looked = asyncio.Event()
    reads = 0

    async def read(_view: View) -> str:
        nonlocal reads
        reads += 1
        if reads > 3:
            looked.set()
        return "the same"

    live = Live(lean_site.system, read, look_seconds=0.001)
    stream = live.listen(View(caller=ANONYMOUS))
    await anext(stream)
    following = asyncio.ensure_future(anext(stream))
    await looked.wait()
    assert not following.done()
    await live.close()
    with pytest.raises(StopAsyncIteration):
        await following


@pytest.mark.proves("F-06")
async def test_a_stream_without_news_still_sends_something_so_that_who_left_is_noticed(lean_site: Site):
    async def read(_view: View) -> str:
        return "the same"

    live = lean_site.app.state.live = Live(lean_site.system, read, heartbeat_seconds=0.001)
    async with (
        served(lean_site) as (url, _, _),
        httpx.AsyncClient(base_url=url, timeout=20) as client,
        client.stream("GET", "/api/events") as answer,
    ):
        lines = answer.aiter_lines()
        assert [await anext(lines) for _ in range(4)] == ["data: the same", "", ": ", ""]
    assert live.listeners == 0


@pytest.mark.proves("F-06")
async def test_a_look_that_fails_is_told_with_its_trace_and_the_next_goes_on(lean_site: Site, log: list[str]):
    answers = chain(["first", ZeroDivisionError("by chance")], repeat("second"))

    async def read(_view: View) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    stream = Live(lean_site.system, read, look_seconds=0.001).listen(View(caller=ANONYMOUS))
    assert [await asyncio.wait_for(anext(stream), 10) for _ in range(2)] == ["first", "second"]
    await stream.aclose()
    [told] = [line for line in log if "cannot be brought up to date" in line]
    assert "Traceback" in told
    assert "by chance" in told


@pytest.mark.proves("F-06")
async def test_where_looking_has_ended_it_begins_anew_with_whoever_comes(lean_site: Site):
    reads = count()

    async def read(_view: View) -> str:
        return str(next(reads))

    live = Live(lean_site.system, read, look_seconds=0.001)
    first, second = live.listen(View(caller=ANONYMOUS)), live.listen(View(caller=ANONYMOUS))
    await anext(first)
    assert live._looking is not None
    live._looking.cancel()
    await asyncio.wait([live._looking])
    shown = await anext(second)
    assert int(await asyncio.wait_for(anext(second), 10)) > int(shown)
    await live.close()


@pytest.mark.proves("B-10", "E-16")
@pytest.mark.parametrize("path", ["/", "/health", "/static/catchment.js", "/no/such/place"])
async def test_the_head_of_an_answer_says_how_long_it_is_over_a_real_connection(lean_site: Site, path: str):
    async with served(lean_site) as (url, _, _), httpx.AsyncClient(base_url=url) as client:
        whole = await client.get(path)
        for _ in range(2):
            head = await client.head(path)
            assert (head.status_code, head.content) == (whole.status_code, b"")
            assert head.headers["content-type"] == whole.headers["content-type"]
            assert int(head.headers["content-length"]) > 0
        assert (await client.get("/api/health")).json() == {"status": "ok"}


async def test_signing_in_works_over_a_real_connection(lean_site: Site):
    async with served(lean_site) as (url, _, _), httpx.AsyncClient(base_url=url, follow_redirects=True) as client:
        page = await client.post("/signin", data={"key": ADMIN_KEY}, headers={"Origin": url})
        assert page.status_code == 200
        assert "Signed in as admin" in page.text
