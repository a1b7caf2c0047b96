"""Callers who mean no good, against a real `catchment up` on loopback, bounded in time and number.

Three acts of ten seconds each: headers without end, 1,300 connections that never finish their request, and bodies
that come byte by byte. For each: the worst answer of /health, how much memory the server grew, and how many feeds it
collected meanwhile. The server may have 1,024 descriptors, as is usual.

    python bench/hostile_callers.py
    python bench/hostile_callers.py --package /elsewhere/src    # another release, to compare
"""

# proves: R-20

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console

HALF_OPEN, SLOW_BODIES, FLOOD_BYTES = 1300, 200, 200 * 1024 * 1024
ACT_SECONDS, FEED_SECONDS, SOURCES = 10.0, 0.25, 2000
DESCRIPTORS = 1024
PROBE_SECONDS, ANSWER_SECONDS = 0.1, 5.0
FEED = b"<rss version='2.0'><channel><title>t</title><item><guid>a</guid><title>a</title></item></channel></rss>"
HEAD = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
say = Console(highlight=False, soft_wrap=True).print
Act = Callable[["Scene"], Awaitable[None]]


@dataclass
class Scene:
    port: int
    pid: int
    end: float
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def is_on(self) -> bool:
        return time.monotonic() < self.end

    async def connect(self, sent: bytes = b"") -> asyncio.StreamWriter:
        _, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port), ANSWER_SECONDS)
        self.writers.append(writer)
        writer.write(sent)
        return writer


async def endless_headers(scene: Scene) -> None:
    writer = await scene.connect(b"GET / HTTP/1.1\r\nHost: x\r\n")
    line, sent = b"X-Endless: " + b"a" * 8000 + b"\r\n", 0
    with suppress(OSError):
        while scene.is_on and sent < FLOOD_BYTES:
            writer.write(line * 16)
            await writer.drain()
            sent += 16 * len(line)
    say(f"    {sent / 1e6:.1f} MB of headers were sent")


async def half_open(scene: Scene) -> None:
    for _ in range(HALF_OPEN):
        with suppress(OSError, TimeoutError):
            await scene.connect(b"GET / HTTP/1.1\r\nHost: x\r\n")
        if not scene.is_on:
            break


async def slow_bodies(scene: Scene) -> None:
    for _ in range(SLOW_BODIES):
        with suppress(OSError, TimeoutError):
            await scene.connect(HEAD + b"Content-Length: 1000\r\n\r\n")
    while scene.is_on:
        for writer in scene.writers:
            if not writer.transport.is_closing():
                writer.write(b"a")
        await asyncio.sleep(0.5)


async def nobody(_scene: Scene) -> None:
    """To compare with."""


@dataclass
class Health:
    worst: float = 0.0
    missed: int = 0

    async def watch(self, scene: Scene) -> None:
        while scene.is_on:
            started = time.monotonic()
            ok = await _is_healthy(scene.port)
            self.worst = max(self.worst, time.monotonic() - started)
            self.missed += not ok
            await asyncio.sleep(PROBE_SECONDS)


async def _is_healthy(port: int) -> bool:
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            line = await reader.readline()
            writer.close()
            return b" 200 " in line
    except (OSError, TimeoutError):
        return False


class Feeds:
    """A site whose answers take a moment, so that there is always something to collect."""

    def __init__(self) -> None:
        self.served = 0

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(FEED_SECONDS)
            # A new connection for every feed, as with feeds of many hosts.
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nConnection: close\r\n\r\n" + FEED)
            await writer.drain()
            self.served += 1
        writer.close()


async def play(name: str, act: Act, port: int, pid: int, feeds: Feeds) -> None:
    scene = Scene(port=port, pid=pid, end=time.monotonic() + ACT_SECONDS)
    health, before, collected = Health(), _resident(pid), feeds.served
    watching = asyncio.create_task(health.watch(scene))
    with suppress(OSError, TimeoutError):
        await act(scene)
    await watching
    grown = (_resident(pid) - before) / 1e6
    say(
        f"{name:<18} worst /health {health.worst * 1000:6.0f} ms, missed {health.missed:3}, "
        f"memory {grown:+8.1f} MB, collected {feeds.served - collected:4}"
    )
    for writer in scene.writers:
        writer.close()


def _resident(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize()


@asynccontextmanager
async def serving(home: Path, port: int, package: str | None) -> AsyncIterator[int]:
    environment = {
        **os.environ,
        "CATCHMENT_HOME": str(home),
        "CATCHMENT_ALLOW_NETWORKS": "127.0.0.1",
        "COLLECTOR_TICK": "1",
        "LOG_LEVEL": "ERROR",
        **({"PYTHONPATH": package} if package else {}),
    }
    catchment = [sys.executable, "-c", "from catchment.cli.main import run; run()"]
    await asyncio.to_thread(
        subprocess.run,
        [*catchment, "import", str(home / "sources.txt")],
        env=environment,
        check=True,
        capture_output=True,
    )
    with (home / "log").open("wb") as log:
        child = subprocess.Popen(  # noqa: ASYNC220 - ours, and long before anything waits
            [*catchment, "up", "--port", str(port), "--no-starter"],
            env=environment,
            stdout=log,
            stderr=log,
        )
    resource.prlimit(child.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    try:
        while not await _is_healthy(port):  # noqa: ASYNC110 - another process says when, by answering
            await asyncio.sleep(0.2)
        yield child.pid
    finally:
        child.terminate()
        await asyncio.to_thread(child.wait)
        errors = (home / "log").read_text(errors="replace")
        say(f"of too many open files the log has {errors.count('Too many open files')} lines")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return int(one.getsockname()[1])


async def main(package: str | None) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))
    feeds = Feeds()
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        site = await stack.enter_async_context(await asyncio.start_server(feeds.answer, "127.0.0.1", 0))
        at = site.sockets[0].getsockname()[1]
        lines = [f"- http://127.0.0.1:{at}/feed/{number}" for number in range(SOURCES)]
        (home / "sources.txt").write_text("\n".join(lines))
        port = _free_port()
        pid = await stack.enter_async_context(serving(home, port, package))
        acts = (nobody, endless_headers, half_open, slow_bodies)
        for act in acts:
            await play(act.__name__.replace("_", " "), act, port, pid, feeds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--package", help="A folder with another release's `catchment` package.")
    asyncio.run(main(parser.parse_args().package))
