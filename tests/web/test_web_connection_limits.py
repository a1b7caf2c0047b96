"""What is taken in of a caller before anybody knows what they want, on real sockets."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import pytest
from web_site import Site, with_settings

from catchment.errors import OutOfDescriptors
from catchment.fetch.failures import unconnected
from catchment.settings import Settings
from catchment.web.app import create_app
from catchment.web.connection_limits import (
    MAX_HEADER_BYTES,
    MAX_HEADERS,
    RESERVE,
    ConnectionLimiter,
    ConnectionLimits,
    limits_of,
)
from catchment.web.server import serve_app

pytestmark = pytest.mark.proves("R-20")
BEGUN = b"GET / HTTP/1.1\r\nHost: x\r\n"


class Served:
    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._address = parts.hostname, parts.port
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self, sent: bytes = b"") -> asyncio.StreamReader:
        reader, writer = await asyncio.open_connection(*self._address)
        self._writers.append(writer)
        writer.write(sent)
        return reader

    async def say(self, sent: bytes) -> None:
        """More by the connection that was made last."""
        self._writers[-1].write(sent)
        await self._writers[-1].drain()

    async def status_of(self, path: str) -> int:
        return await status(await self.connect(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()))

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


@asynccontextmanager
async def served(site: Site, **settings: object) -> AsyncIterator[Served]:
    system = with_settings(site.system, **settings)
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    task = asyncio.create_task(
        serve_app(create_app(system), host="127.0.0.1", port=0, stop=stop, on_ready=ready.set_result)
    )
    here = Served(await ready)
    yield here
    here.close()
    stop.set()
    await task


async def status(reader: asyncio.StreamReader) -> int:
    """0 where the connection ended without an answer."""
    try:
        line = await reader.readline()
    except ConnectionError:
        return 0
    return int(line.split()[1]) if line else 0


@pytest.mark.parametrize(
    "endless", [b"X-Endless: " + b"a" * 1000 + b"\r\n", b"a" * 1000], ids=["headers", "one header"]
)
async def test_headers_without_end_are_cut_off(lean_site: Site, endless: bytes):
    async with served(lean_site) as server:
        reader = await server.connect(BEGUN + b"X-First: ")
        sent = 0
        try:
            while sent < 64 * MAX_HEADER_BYTES and not reader.at_eof():
                await server.say(endless)
                sent += 1000
        except ConnectionError:
            pass
        assert sent < 64 * MAX_HEADER_BYTES, "somebody listened to all of it"
        assert await server.status_of("/health") == 200


@pytest.mark.parametrize(
    "header",
    [b"X-Long: " + b"a" * (MAX_HEADER_BYTES + 1), b"\r\n".join(b"X-%d: a" % n for n in range(MAX_HEADERS + 1))],
    ids=["bytes", "number"],
)
async def test_too_many_headers_are_told_so(lean_site: Site, header: bytes):
    async with served(lean_site) as server:
        assert await status(await server.connect(BEGUN + header + b"\r\n\r\n")) == 431
        assert await server.status_of("/health") == 200


async def test_as_many_headers_as_a_browser_sends_are_taken(lean_site: Site):
    many = b"\r\n".join(b"X-%d: %s" % (number, b"a" * 500) for number in range(MAX_HEADERS - 1))
    async with served(lean_site) as server:
        assert await status(await server.connect(b"GET /health HTTP/1.1\r\n" + many + b"\r\nHost: x\r\n\r\n")) == 200


@pytest.mark.parametrize(
    ("sent", "answer"),
    [
        (b"", 0),
        (b"\r\n\r\n", 0),
        (BEGUN, 408),
        (b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", 408),
        (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n\r\n", 200),
    ],
    ids=["nothing", "empty lines", "half a head", "half a body", "an empty line after a request"],
)
async def test_a_request_that_does_not_arrive_ends(lean_site: Site, sent: bytes, answer: int):
    async with served(lean_site, request_seconds=0.2) as server:
        reader = await server.connect(sent)
        assert await status(reader) == answer
        with suppress(ConnectionError):
            await reader.read()
        assert reader.at_eof() or reader.exception()


async def test_whoever_comes_when_it_is_full_takes_the_place_of_the_longest_silent(lean_site: Site):
    async with served(lean_site, max_connections_per_address=5) as server:
        silent = [await server.connect(BEGUN) for _ in range(20)]
        assert await server.status_of("/health") == 200
        assert await server.status_of("/api/sources") == 200
        assert [await status(reader) for reader in silent[:15]] == [0] * 15


async def test_where_everybody_is_served_others_are_told_to_come_again_and_health_is_answered(lean_site: Site):
    body = b"POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"
    async with served(lean_site, max_connections_per_address=3) as server:
        for _ in range(3):
            # An answer to `Expect` says that it is being served.
            reader = await server.connect(body.replace(b"\r\n\r\n{", b"\r\nExpect: 100-continue\r\n\r\n"))
            assert await status(reader) == 100
        assert await server.status_of("/api/sources") == 503
        assert await server.status_of("/health") == 200


async def test_the_connections_of_a_proxy_are_those_of_many(lean_site: Site):
    async with served(lean_site, max_connections_per_address=2, trusted_proxies="127.0.0.0/8") as server:
        silent = [await server.connect(BEGUN) for _ in range(10)]
        assert await server.status_of("/api/sources") == 200
        for reader in silent:
            reader.feed_eof()  # nobody was turned away: nothing came of any
            assert await reader.read() == b""


def test_descriptors_are_left_for_collecting():
    settings = Settings(max_connections=1000, concurrency=50)
    assert limits_of(settings, descriptors=65_536).connections == 1000
    assert limits_of(settings, descriptors=1024).connections == 1024 - 256 - 4 * 50 - RESERVE
    assert limits_of(settings, descriptors=64).connections == RESERVE


def test_whoever_left_is_counted_no_more():
    limiter = ConnectionLimiter(ConnectionLimits(connections=10, per_address=1, request_seconds=1))

    class Caller:
        is_served = True

    one, two, three = Caller(), Caller(), Caller()
    assert limiter.admit(one, "192.0.2.1")  # type: ignore[arg-type]
    assert not limiter.admit(two, "192.0.2.1")  # type: ignore[arg-type]
    limiter.leave(one)  # type: ignore[arg-type]
    limiter.leave(one)  # type: ignore[arg-type]
    limiter.leave(two)  # type: ignore[arg-type]
    assert limiter.admit(three, "192.0.2.1")  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_running_out_of_descriptors_is_blamed_on_no_source(number: int):
    told = unconnected(OSError(number, "too many"), "example.org")
    assert isinstance(told, OutOfDescriptors)
    assert told.ours
    assert "ulimit -n" in str(told)
