"""What crosses the simulated wire: a request, an answer, and the way the answer is delivered.

A place on the web is a function from request to answer. Whatever goes wrong on the wire itself is said by
the answer's delivery, so that places and faults stay plain functions and only the wire touches sockets.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import TypeAlias, cast


class Hits:
    """How often each path was asked for, with the status of the answer it was given (even if cut off)."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, int]] = Counter()

    def of(self, prefix: str = "/") -> int:
        """Visits to all paths that begin so: `/s/17/` is a site, `/s/17/posts/` its pages."""
        return self.statuses(prefix).total()

    def statuses(self, prefix: str = "/") -> Counter[int]:
        found: Counter[int] = Counter()
        for (path, status), count in self.counts.items():
            if path.startswith(prefix):
                found[status] += count
        return found


Headers: TypeAlias = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IncomingRequest:
    method: str
    path: str
    query: str
    #: Names in lower case.
    headers: Mapping[str, str]
    body: bytes
    #: When it arrived, by the clock of the simulated web.
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """Everything at once, after an optional wait."""

    wait_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Drip:
    """A few bytes at a time."""

    piece_bytes: int
    pause_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Announces the whole length, sends a share of it and ends the connection: politely, or by a reset."""

    share: float
    reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Flood:
    """The body, then the same piece over and over, with no length announced."""

    piece: bytes
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """The connection stays open and nothing is ever said."""


Delivery: TypeAlias = Whole | Drip | Cut | Flood | Silence
AT_ONCE = Whole()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int = 200
    headers: Headers = ()
    body: bytes = b""
    delivery: Delivery = AT_ONCE

    def header(self, name: str) -> str | None:
        return next((value for known, value in self.headers if known.lower() == name.lower()), None)

    def without(self, *names: str) -> Headers:
        gone = {name.lower() for name in names}
        return tuple(pair for pair in self.headers if pair[0].lower() not in gone)


Place: TypeAlias = Callable[[IncomingRequest], Answer]


def page(html: str, *, status: int = 200, headers: Headers = ()) -> Answer:
    return Answer(
        status=status,
        headers=(("Content-Type", "text/html; charset=utf-8"), *headers),
        body=html.encode(),
    )


def json_answer(value: object, *, status: int = 200, headers: Headers = ()) -> Answer:
    body = json.dumps(value, ensure_ascii=False).encode()
    return Answer(status=status, headers=(("Content-Type", "application/json"), *headers), body=body)


def not_found(request: IncomingRequest) -> Answer:
    return page(f"<!doctype html><title>Not found</title><p>Nothing at {request.path}.</p>", status=404)


HEAD_END = b"\r\n\r\n"
LARGEST_REQUEST = 1 << 20
BAD_REQUEST = Answer(status=400, headers=(("Connection", "close"),))
#: Linger for no time at all: closing then sends a reset instead of a goodbye.
LINGER_NOT = struct.pack("ii", 1, 0)
_KNOWN_STATUSES = frozenset(HTTPStatus)


def read_request(head: bytes, body: bytes, at: datetime) -> IncomingRequest:
    """Raises ValueError when the head is not HTTP."""
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _version = first.split(" ", 2)
    path, _, query = target.partition("?")
    pairs = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in pairs}
    return IncomingRequest(method=method, path=path, query=query, headers=headers, body=body, at=at)


def announced_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"\r\ncontent-length:")
    return int(rest.split(b"\r\n", 1)[0]) if found else 0


def phrase(status: int) -> str:
    """Some services answer with numbers of their own."""
    return HTTPStatus(status).phrase if status in _KNOWN_STATUSES else "Unknown"


@lru_cache(maxsize=4096)
def head_lines(status: int, headers: Headers, length: int | None) -> bytes:
    lines = [f"HTTP/1.1 {status} {phrase(status)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    if length is None:
        lines.append("Connection: close")
    elif status != HTTPStatus.NOT_MODIFIED:
        lines.append(f"Content-Length: {length}")
    return "\r\n".join(lines).encode("latin-1")


@lru_cache(maxsize=4)
def date_line(second: int) -> bytes:
    return b"\r\nDate: " + formatdate(second, usegmt=True).encode() + HEAD_END


class Connection(asyncio.Protocol):
    """One visitor's connection. Requests are answered in order; a slow answer holds the next ones back."""

    def __init__(self, place: Place, now: Callable[[], datetime], guests: set[Connection]) -> None:
        self._place = place
        self._now = now
        self._guests = guests
        self._received = b""
        self._slow: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._guests.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the signature is asyncio's
        self._guests.discard(self)
        self._writable.set()
        if self._slow is not None:
            self._slow.cancel()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        self._serve()

    def hang_up(self, *, reset: bool = False) -> None:
        if reset:
            raw = self._transport.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NOT)
        self._transport.abort()

    def _serve(self) -> None:
        while self._slow is None and not self._transport.is_closing():
            try:
                request = self._next_request()
            except ValueError:
                self._send(
                    BAD_REQUEST, IncomingRequest(method="", path="", query="", headers={}, body=b"", at=self._now())
                )
                return
            if request is None:
                return
            self._send(self._place(request), request)

    def _next_request(self) -> IncomingRequest | None:
        if len(self._received) > LARGEST_REQUEST:
            raise ValueError("the request is larger than any that this web expects")
        head, found, rest = self._received.partition(HEAD_END)
        length = announced_length(head) if found else 0
        if not found or len(rest) < length:
            return None
        self._received = rest[length:]
        return read_request(head, rest[:length], self._now())

    def _send(self, answer: Answer, request: IncomingRequest) -> None:
        sized = not isinstance(answer.delivery, Flood)
        head = head_lines(answer.status, answer.headers, len(answer.body) if sized else None)
        head += date_line(int(request.at.astimezone(UTC).timestamp()))
        body = b"" if request.method == "HEAD" else answer.body
        delivery = answer.delivery
        if isinstance(delivery, Whole) and not delivery.wait_seconds:
            self._finish(head + body, answer, request)
        else:
            self._slow = asyncio.get_running_loop().create_task(self._send_slowly(head, body, answer, request))
            self._slow.add_done_callback(self._slow_done)

    def _finish(self, data: bytes, answer: Answer, request: IncomingRequest) -> None:
        self._transport.write(data)
        if "close" in (answer.header("Connection"), request.headers.get("connection")):
            self._transport.close()

    def _slow_done(self, task: asyncio.Task[None]) -> None:
        self._slow = None
        if not task.cancelled():
            task.result()
            self._serve()

    async def _send_slowly(self, head: bytes, body: bytes, answer: Answer, request: IncomingRequest) -> None:
        match answer.delivery:
            case Whole(wait_seconds=wait):
                await asyncio.sleep(wait)
                self._finish(head + body, answer, request)
            case Drip() as drip:
                await self._drip(head, body, drip)
            case Cut(share=share, reset=reset):
                await self._cut(head + body[: int(len(body) * share)], reset=reset)
            case Flood() as flood:
                await self._flood(head + body, flood)
            case Silence():
                await asyncio.Event().wait()

    async def _drip(self, head: bytes, body: bytes, drip: Drip) -> None:
        await self._write(head)
        for start in range(0, len(body), drip.piece_bytes):
            await self._write(body[start : start + drip.piece_bytes])
            await asyncio.sleep(drip.pause_seconds)

    async def _cut(self, data: bytes, *, reset: bool) -> None:
        await self._write(data)
        if reset:
            self.hang_up(reset=True)
        else:
            self._transport.close()

    async def _flood(self, opening: bytes, flood: Flood) -> None:
        await self._write(opening)
        for _ in range(flood.times):
            await self._write(flood.piece)
        self._transport.close()

    async def _write(self, data: bytes) -> None:
        """Writes and waits while the visitor is slow to read; ends quietly when the visitor has left."""
        if self._transport.is_closing():
            raise asyncio.CancelledError
        self._transport.write(data)
        await self._writable.wait()
