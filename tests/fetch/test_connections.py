"""What is HTTP about a request: how answers begin and end, and which connections serve again."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import pytest

from catchment.errors import BadAnswer, BadBody, HttpError
from catchment.fetch.client import HttpClient, Limits, Request
from catchment.fetch.connections import ConnectionPool, GuardedDialler, HttpConnection, Reply, SystemLookup
from catchment.fetch.guard import AddressGuard
from loopback_site import MakeClient, Script, Site, answer

pytestmark = pytest.mark.proves("F-05")

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
UNTIL_CLOSED = b"HTTP/1.1 200 OK\r\n\r\n"


def said(*parts: bytes, hang_up: bool = False, reset: bool = False) -> Script:
    """Each part in a packet of its own."""

    async def script(writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()
        if reset:
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif hang_up:
            writer.close()

    return script


def endless(part: bytes) -> Script:
    async def script(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(part)
            await writer.drain()

    return script


@pytest.mark.parametrize(
    "script",
    [
        said(
            b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
            b"HTTP/1.1 100 Continue\r\n\r\n" + answer(body=b"whole"),
        ),
        said(CHUNKED, b"3\r\nwho\r\n", b"2;name=value\r\nle\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"),
        said(CHUNKED + b"5\r\nwhole\r\n0\r\n\r\n"),
        said(CHUNKED + b"5\r\nwhole\r\n0\r\nContent-Length: 5\r\n\r\n"),
        said(CHUNKED, b"5\r\nwhole\r\n", b"0\r\n", b"Content-Length: 7\r\n\r\n"),
        said(UNTIL_CLOSED, b"who", b"le", hang_up=True),
        said(b"HTTP/1.0 200 OK\r\nServer: old\r\n\r\nwhole", hang_up=True),
        said(b"HTTP/1.1 200\nContent-Length: 5\n\nwhole"),
        said(*(bytes([byte]) for byte in answer(body=b"whole"))),
        said(answer(body=b"whole") + b"and more than was said"),
    ],
)
async def test_an_answer_is_whole_however_it_is_put(site: Site, client: HttpClient, script: Script) -> None:
    site.pages["/"] = script
    found = await client.get(site.url("/"))
    assert (found.status, found.body) == (200, b"whole")
    assert not {"Link", "X-Sum"} & set(found.headers)


async def test_a_status_counts_more_than_chunks_that_are_none(site: Site, client: HttpClient) -> None:
    site.pages["/"] = said(b"HTTP/1.1 404 Gone\r\nTransfer-Encoding: chunked\r\n\r\nnothex\r\n")
    with pytest.raises(HttpError, match="404"):
        await client.get(site.url("/"))


async def test_an_answer_to_head_has_no_body_whatever_it_says(site: Site, client: HttpClient) -> None:
    site.pages["/"] = said(b"HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n")
    found = await client.send(Request(url=site.url("/"), method="HEAD"))
    assert (found.body, found.headers["content-length"]) == (b"", "900000000")


@pytest.mark.parametrize(
    "script",
    [
        said(CHUNKED + b"5\r\nwh", hang_up=True),
        said(answer(body=b"whole")[:-1], hang_up=True),
        said(UNTIL_CLOSED, b"who", reset=True),
        said(b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nContent-Length: 5\r\n\r\nwhole"),
    ],
)
async def test_what_is_cut_off_is_not_whole(site: Site, client: HttpClient, script: Script) -> None:
    site.pages["/"] = script
    with pytest.raises((BadBody, BadAnswer, HttpError)):
        await client.get(site.url("/"))


@pytest.mark.parametrize(
    "script",
    [
        endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
        endless(b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 1000),
        said(b"HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n"),
        said(b"HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_a_head_without_an_end_or_of_another_kind_is_no_answer(
    site: Site, client: HttpClient, script: Script
) -> None:
    site.pages["/"] = script
    with pytest.raises(BadAnswer):
        await client.get(site.url("/"))


async def test_chunks_of_next_to_nothing_are_not_taken_in_for_long(site: Site, client: HttpClient) -> None:
    site.pages["/"] = endless(CHUNKED + b"1\r\nx\r\n" * 1000)
    with pytest.raises(BadBody, match="put together"):
        await client.get(site.url("/"))


async def test_trailers_without_an_end_are_not_waited_for(site: Site, client: HttpClient) -> None:
    async def script(writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + b"1\r\nx\r\n0\r\n")
        await endless(b"X-More: " + b"y" * 10_000 + b"\r\n")(writer)

    site.pages["/"] = script
    with pytest.raises(BadBody):
        await client.get(site.url("/"))


async def test_a_connection_that_its_server_closed_meanwhile_is_no_failure(site: Site, client: HttpClient) -> None:
    site.pages["/"] = answer(body=b"whole")
    await client.get(site.url("/"))
    await site.hang_up()
    assert (await client.get(site.url("/"))).body == b"whole"
    assert site.connections == 2


async def test_what_was_handed_over_is_not_handed_over_again(site: Site, client: HttpClient) -> None:
    """Nobody knows whether it was taken in."""
    site.pages["/"] = answer(body=b"whole")
    await client.get(site.url("/"))
    site.pages["/"] = said(hang_up=True)
    with pytest.raises(BadAnswer, match="broke off"):
        await client.send(Request(url=site.url("/"), method="POST", body=b"event"))
    assert len(site.asked) == 2


@pytest.mark.parametrize(
    "script",
    [
        said(answer(body=b"whole") + answer(body=b"not asked for")),
        said(answer(body=b"whole", Connection="close")),
        said(UNTIL_CLOSED + b"whole", hang_up=True),
    ],
)
async def test_a_connection_that_is_not_as_it_was_serves_no_other_request(
    site: Site, client: HttpClient, script: Script
) -> None:
    site.pages["/"] = script
    assert [(await client.get(site.url("/"))).body for _ in range(2)] == [b"whole", b"whole"]
    assert site.connections == 2


async def test_several_connections_to_a_host_serve_again(site: Site, client: HttpClient) -> None:
    both = asyncio.Barrier(2)

    async def script(writer: asyncio.StreamWriter) -> None:
        await both.wait()
        await said(answer())(writer)

    site.pages["/"] = script
    for _ in range(3):
        await asyncio.gather(*(client.get(site.url("/")) for _ in range(2)))
    assert site.connections == 2


async def test_the_headers_of_a_source_take_the_place_of_ours(site: Site, client: HttpClient) -> None:
    site.pages["/"] = answer()
    await client.send(Request(url=site.url("/"), headers={"user-agent": "Mine", "X-Own": "yes"}))
    head = site.asked[0].lower()
    assert head.count("user-agent:") == 1
    assert "user-agent: mine\r\n" in head
    assert f"host: 127.0.0.1:{site.port}\r\n" in head


@pytest.mark.parametrize("said_so_far", [answer(body=b"whole")[:-1], UNTIL_CLOSED + b"who"])
async def test_silence_in_the_middle_of_a_body_is_given_up(
    site: Site, make_client: MakeClient, said_so_far: bytes
) -> None:
    site.pages["/"] = said(said_so_far)
    client = make_client(limits=Limits(total_seconds=0.05))
    with pytest.raises(Exception, match="took too long"):
        await client.get(site.url("/"))


class Wire:
    """A transport that only remembers what was done to it."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.done.append(name)

    def is_closing(self) -> bool:
        return False


async def test_no_more_is_read_ahead_than_is_taken_in() -> None:
    buffer = bytearray(200_000)
    wire, connection = Wire(), HttpConnection(memoryview(buffer))
    connection.connection_made(wire)  # type: ignore[arg-type]
    pool = ConnectionPool(GuardedDialler(AddressGuard.parse(""), SystemLookup()), {})
    reply = Reply(connection, pool, ("http", "a", 80, True), is_head=False, deadline=1e9, silence=1)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 600000\r\n\r\n"
    buffer[: len(head)] = head
    connection.buffer_updated(len(head) + 100_000)
    assert wire.done == []
    connection.buffer_updated(200_000)
    assert wire.done == ["pause_reading"]
    assert len(await reply.read()) == 300_000
    assert wire.done == ["pause_reading", "resume_reading"]
