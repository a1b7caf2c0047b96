"""Bodies that strangers might send, against a real `catchment up`: does the API answer meanwhile, and does it stop?

For each of them a server is started in a folder of its own, told to follow the address at which the body is, and asked
for /health all the while. Once the source has failed or was collected, the same body is sent once more, and the server
is told to stop while it reads it.

    python bench/hostile.py [NAME …] [--catchment PATH]
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import re
import signal
import sys
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any

import aiohttp
from aiohttp import web

KEY = "hostile-bodies"
LOOK_SECONDS = 0.02
#: After this a source that has neither failed nor was collected is given up on.
PATIENCE_SECONDS = 90.0
START_SECONDS = 120.0
STOP_SECONDS = 60.0
MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    name: str
    #: The body, made when it is its turn: some are large.
    body: Callable[[int], bytes]
    type: str = "rss"
    #: How many sources have such a body at once.
    sources: int = 1


@dataclass(slots=True)
class Found:
    name: str
    latencies: list[float] = field(default_factory=list)
    outcome: str = ""
    settled_seconds: float = 0.0
    stop_seconds: float = 0.0
    exit_code: int | None = None

    def row(self) -> str:
        worst = f"{max(self.latencies, default=0) * 1000:,.0f} ms"
        settled = f"{self.settled_seconds:.1f} s"
        stopped = f"{self.stop_seconds:.1f} s, {self.exit_code}"
        return f"| {self.name} | {worst} | {settled} | {self.outcome} | {stopped} |"


def rss(items: str) -> bytes:
    return f"<?xml version='1.0'?><rss version='2.0'><channel><title>t</title>{items}</channel></rss>".encode()


def many_items(_: int) -> bytes:
    return rss("<item><guid>1</guid></item>" * 300_000)


def deep(_: int) -> bytes:
    return rss("<item><description>" + "<a>" * 100_000)


def unreadable_dates(size: int) -> Callable[[int], bytes]:
    def body(seed: int) -> bytes:
        count = size // 62
        dates = (f"<item><pubDate>{seed} le {n} du mois passe</pubDate></item>" for n in range(count))
        return rss("".join(dates))

    return body


def many_tags(_: int) -> bytes:
    """9 MB of texts that are hard to put in order."""
    text = "&lt;b&gt;&lt;i&gt;&lt;a href=x&gt;" * 400 + "&lt;/p&gt;" * 400
    return rss("".join(f"<item><guid>{n}</guid><description>{text}</description></item>" for n in range(500)))


def damaged(_: int) -> bytes:
    """9 MB that only the thorough parser would read."""
    return rss("".join(f"<item><guid>{n}</guid><title>&nbsp;a < b \x0b</title></item>" for n in range(170_000)))


def laughs(_: int) -> bytes:
    names = "abcdefghij"
    entities = "".join(f"<!ENTITY {name} '{f'&{below};' * 10}'>" for below, name in pairwise(names))
    head = f"<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a 'ha'>{entities}]>"
    return head.encode() + rss("<item><title>&j;</title></item>").partition(b"?>")[2]


def sitemap(pages: bytes) -> bytes:
    return b"<?xml version='1.0'?><urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>" + pages + b"</urlset>"


def large_sitemap(_: int) -> bytes:
    page = b"<url><loc>https://example.org/page/%d</loc><lastmod>soon</lastmod></url>"
    return sitemap(b"".join(page % number for number in range(50 * MEGABYTE // 75)))


def packed_sitemap(_: int) -> bytes:
    return gzip.compress(sitemap(b"<url><loc>https://example.org/a</loc></url>" * 2_000_000))


def deep_sitemap(_: int) -> bytes:
    return sitemap(b"<a>" * 3 * MEGABYTE)


def deep_page(_: int) -> bytes:
    return b"<html><body>" + b"<div><b><p>" * 300_000 + b"words"


CASES = (
    Case(name="a small feed, to compare with", body=lambda _: rss("<item><guid>1</guid></item>")),
    Case(name="300,000 items", body=many_items),
    Case(name="100,000 levels of XML", body=deep),
    Case(name="six feeds of 64 kB with unreadable dates", body=unreadable_dates(64_000), sources=6),
    Case(name="9 MB of unreadable dates", body=unreadable_dates(9 * MEGABYTE)),
    Case(name="9 MB of tangled markup", body=many_tags),
    Case(name="9 MB, not well-formed", body=damaged),
    Case(name="a billion laughs", body=laughs),
    Case(name="a sitemap of 50 MB", body=large_sitemap, type="sitemap"),
    Case(name="a sitemap that unfolds to 86 MB", body=packed_sitemap, type="sitemap"),
    Case(name="a sitemap of 3,000,000 levels", body=deep_sitemap, type="sitemap"),
    Case(name="a page of 900,000 tags", body=deep_page, type="website"),
)


class Site:
    """Sends a body to whoever asks, and tells when it was sent."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.sent: dict[str, asyncio.Event] = {}
        self.port = 0

    def put(self, path: str, body: bytes) -> str:
        self.bodies[path], self.sent[path] = body, asyncio.Event()
        return f"http://127.0.0.1:{self.port}{path}"

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        body = self.bodies.get(request.path)
        if body is None:
            return web.Response(status=404)
        kind = "text/html" if body.startswith(b"<html") else "text/xml"
        response = web.StreamResponse(headers={"Content-Type": kind, "Content-Length": str(len(body))})
        await response.prepare(request)
        # Some are more than anybody reads to the end.
        with suppress(ConnectionError):
            await response.write(body)
            await response.write_eof()
        self.sent[request.path].set()
        return response


@asynccontextmanager
async def serving() -> AsyncIterator[Site]:
    site = Site()
    runner = web.ServerRunner(web.Server(site.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    site.port = runner.addresses[0][1]
    yield site
    await runner.cleanup()


@asynccontextmanager
async def running(catchment: str, home: str) -> AsyncIterator[tuple[Process, aiohttp.ClientSession]]:
    """A server on a store of its own, and a client that may do everything."""
    settings = {
        "CATCHMENT_HOME": home,
        "CATCHMENT_ALLOW_NETWORKS": "127.0.0.1",
        "CATCHMENT_HOST_SPACING_SECONDS": "0",
        "COLLECTOR_CONCURRENCY": "10",
        "COLLECTOR_TICK": "0.5",
        "ADMIN_API_KEY": KEY,
        "PATH": os.environ["PATH"],
    }
    command = (catchment, "up", "--no-starter", "--port", "0")
    process = await asyncio.create_subprocess_exec(*command, env=settings, cwd=home, stdout=PIPE, stderr=STDOUT)
    try:
        address = await asyncio.wait_for(_address(process), START_SECONDS)
        drain = asyncio.create_task(_drain(process))
        async with aiohttp.ClientSession(address, headers={"Authorization": f"Bearer {KEY}"}) as client:
            yield process, client
        drain.cancel()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _address(process: Process) -> str:
    assert process.stdout is not None
    said = []
    while line := (await process.stdout.readline()).decode():
        said.append(line)
        if found := re.search(r"Catchment is at (http://\S+)", line):
            return found[1]
    raise RuntimeError("it did not start:\n" + "".join(said))


async def _drain(process: Process) -> None:
    assert process.stdout is not None
    while await process.stdout.readline():
        pass


async def look_after(client: aiohttp.ClientSession, latencies: list[float]) -> None:
    """Ask for /health again and again. What does not answer at all counts with the time it was waited for."""
    while True:
        started = perf_counter()
        latencies.append(0.0)
        try:
            async with client.get("/health", timeout=aiohttp.ClientTimeout(total=PATIENCE_SECONDS)) as answer:
                await answer.read()
        except (aiohttp.ClientError, TimeoutError):
            return
        finally:
            latencies[-1] = perf_counter() - started
        await asyncio.sleep(LOOK_SECONDS)


async def follow(client: aiohttp.ClientSession, case: Case, url: str) -> None:
    source = {"type": case.type, "config": {"url": url}, "name": url}
    async with client.post("/api/sources", json=source) as answer:
        if answer.status != 201:
            raise RuntimeError(f"{url} was not added: {await answer.text()}")


async def outcome_of(client: aiohttp.ClientSession, count: int) -> str:
    """What became of all sources, once each was visited."""
    deadline = perf_counter() + PATIENCE_SECONDS
    while perf_counter() < deadline:
        async with client.get("/api/collector/status") as answer:
            sources: list[dict[str, Any]] = (await answer.json())["sources"]
        errors = [one["last_error"]["message"] for one in sources if one["last_error"]]
        if len(errors) + sum(one["last_fetched_at"] is not None for one in sources) >= count:
            return errors[0][:60] if errors else "collected"
        await asyncio.sleep(0.1)
    return "nothing yet"


async def try_case(catchment: str, case: Case) -> Found:
    found = Found(case.name)
    # Beforehand, so that making them holds up nobody who is measured.
    bodies = [case.body(number) for number in range(case.sources + 1)]
    with tempfile.TemporaryDirectory(prefix="catchment-hostile-") as home:
        async with serving() as site, running(catchment, home) as (process, client):
            looking = asyncio.create_task(look_after(client, found.latencies))
            started = perf_counter()
            for number in range(case.sources):
                await follow(client, case, site.put(f"/{number}.xml", bodies[number]))
            found.outcome = await outcome_of(client, case.sources)
            found.settled_seconds = perf_counter() - started
            again = f"/{case.sources}.xml"
            await follow(client, case, site.put(again, bodies[-1]))
            await asyncio.wait_for(site.sent[again].wait(), PATIENCE_SECONDS)
            looking.cancel()
            await _stop(process, found)
    return found


async def _stop(process: Process, found: Found) -> None:
    started = perf_counter()
    process.send_signal(signal.SIGTERM)
    # One that goes on has no exit code.
    with suppress(TimeoutError):
        found.exit_code = await asyncio.wait_for(process.wait(), STOP_SECONDS)
    found.stop_seconds = perf_counter() - started


async def main(words: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description="Bodies that strangers might send, against a real server.")
    parser.add_argument("names", nargs="*", help="parts of the names of cases; without any, all are tried")
    parser.add_argument("--catchment", default=str(Path(sys.executable).with_name("catchment")))
    given = parser.parse_args(words)
    print("| body | worst /health | settled after | as | SIGTERM while it is read: ended after, exit code |")
    print("|---|---|---|---|---|")
    for case in CASES:
        if not given.names or any(name in case.name for name in given.names):
            print((await try_case(given.catchment, case)).row(), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
