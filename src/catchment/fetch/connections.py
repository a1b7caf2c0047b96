"""Connections to web servers: dialled past the guard, one exchange at a time, kept while they may serve again.

What is dialled is what was judged. HTTP/1.1 as llhttp reads it, without what a collector does not need: no cookies, no
proxies, no upgrades. Whatever goes wrong is one of the visit errors.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from time import monotonic
from types import TracebackType
from typing import Final, Protocol, Self, TypeVar, cast

from aiohappyeyeballs import AddrInfoType, start_connection
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
from multidict import CIMultiDict
from yarl import URL

from catchment.errors import VisitError
from catchment.fetch.failures import (
    broken_body,
    broken_off,
    garbled_body,
    not_http,
    not_in_time,
    too_long_head,
    too_slow,
    unconnected,
)
from catchment.fetch.guard import AddressGuard, written_address

_LOOKUP_THREADS: Final = 32
_REMEMBERED_SECONDS: Final = 60
_MAX_REMEMBERED: Final = 4096
#: How long one address of a host may keep the next one waiting.
_NEXT_ADDRESS_SECONDS: Final = 0.25
#: What is read at a time, which most feeds are as a whole: others get their turn in between, however many chunks or
#: headers are in it.
_READ_BYTES: Final = 64 * 1024
#: Of an answer's head, or of whatever else is not its body, beside as much as there is of the body.
_MAX_FRAMING_BYTES: Final = 64 * 1024
#: What is read ahead of whoever takes in the body.
_READ_AHEAD_BYTES: Final = 256 * 1024
_MAX_KEPT: Final = 100
_KEPT_SECONDS: Final = 15
_FIRST_STATUS, _FIRST_FINAL_STATUS = 100, 200
_VERSIONS: Final = frozenset({"1.0", "1.1"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
#: Asking twice changes nothing.
_REPEATABLE: Final = frozenset({"GET", "HEAD"})

_Key = tuple[str, str, int, bool]
P = TypeVar("P", bound=asyncio.BaseProtocol)


class Lookup(Protocol):
    """Where names become addresses: the edge to a world that may lie."""

    async def __call__(self, host: str, port: int) -> Sequence[str]: ...

    def close(self) -> None: ...


class SystemLookup:
    """The operating system's name service, in threads of its own.

    The loop's shared threads are few; a handful of dead name servers would hold them all.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_LOOKUP_THREADS, thread_name_prefix="lookup")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, _lookup, host, port)
        return list(dict.fromkeys(found))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _lookup(host: str, port: int) -> list[str]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(sockaddr[0]) for *_, sockaddr in answers]


class GuardedDialler:
    """The one place where connections to others are opened."""

    def __init__(self, guard: AddressGuard, lookup: Lookup) -> None:
        self._guard = guard
        self._lookup = lookup
        #: By host and port, what was found and until when it is good.
        self._found: dict[tuple[str, int], tuple[Sequence[str], float]] = {}

    async def dial(self, protocol: Callable[[], P], host: str, port: int, tls: ssl.SSLContext | None = None) -> P:
        """A connection to one of the addresses of a host, each judged anew; an error that says why, where none is."""
        try:
            found = await self._addresses(host, port) if written_address(host) is None else [host]
            addresses = self._guard.dialable(host, port, found)
            return await _dialled(protocol, addresses, port, tls, host.rstrip(".") if tls else None)
        except OSError as error:
            raise unconnected(error, host) from error

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        found, until = self._found.get((host, port), ((), 0.0))
        if monotonic() < until:
            return found
        if len(self._found) >= _MAX_REMEMBERED:
            self._found.clear()
        found = await self._lookup(host, port)
        self._found[host, port] = found, monotonic() + _REMEMBERED_SECONDS
        return found


async def _dialled(
    protocol: Callable[[], P], addresses: Sequence[str], port: int, tls: ssl.SSLContext | None, name: str | None
) -> P:
    loop = asyncio.get_running_loop()
    if len(addresses) == 1:
        _, connection = await loop.create_connection(protocol, addresses[0], port, ssl=tls, server_hostname=name)
        return connection
    infos = [_addr_info(address, port) for address in addresses]
    first = await start_connection(infos, happy_eyeballs_delay=_NEXT_ADDRESS_SECONDS)
    try:
        _, connection = await loop.create_connection(protocol, sock=first, ssl=tls, server_hostname=name)
    except BaseException:
        first.close()
        raise
    return connection


def _addr_info(address: str, port: int) -> AddrInfoType:
    if ":" in address:
        return socket.AF_INET6, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port, 0, 0)
    return socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port)


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Seconds that are waited: for a connection, for the whole exchange, and while nothing comes."""

    connect: float
    total: float
    silence: float


class HttpConnection(asyncio.BufferedProtocol):
    """A socket on which one answer at a time arrives, by way of a buffer that all share: it is taken in at once."""

    def __init__(self, buffer: memoryview) -> None:
        self.reply: Reply | None = None
        self.expiry: asyncio.TimerHandle | None = None
        self._buffer = buffer
        self._transport: asyncio.Transport | None = None
        self._is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are of no class of asyncio's

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 (it is as large as it is)
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self.reply is None:
            self.close()  # nothing was asked
        else:
            self.reply.feed(self._buffer[:nbytes])

    def eof_received(self) -> None:
        self._is_over = True

    def connection_lost(self, error: Exception | None) -> None:
        """Over TLS, whose end is signed, anybody on the way could cut off what ends with its connection."""
        self._transport = None
        if self.reply is not None:
            self.reply.end(broken=error is not None or not self._is_over)

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def write(self, data: bytes) -> None:
        """What cannot be written any more is told by the answer that does not come."""
        if self._transport is not None:
            self._transport.write(data)

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Reply:
    """An answer as it arrives: its head first, then its body in pieces. To be left: `with reply: …`."""

    def __init__(
        self,
        connection: HttpConnection,
        pool: ConnectionPool,
        key: _Key,
        *,
        is_head: bool,
        deadline: float,
        silence: float,
    ) -> None:
        self.status = 0
        self.headers: CIMultiDict[str] = CIMultiDict()
        self.is_complete = False
        self.has_begun = False
        self._connection = connection
        self._pool = pool
        self._key = key
        self._is_head = is_head
        self._has_head = False
        self._has_whole_body = False
        self._may_stay = False
        self._pieces: list[bytes] = []
        self._waiting_bytes = 0
        self._body_bytes = 0
        self._framing_bytes = 0
        self._error: VisitError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._deadline = deadline
        self._silence = silence
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        connection.reply = self

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def leave(self) -> None:
        self._parser = None
        self._connection.reply = None
        is_paused = self._waiting_bytes > _READ_AHEAD_BYTES
        if self.is_complete and self._may_stay and self._connection.is_open and not is_paused:
            self._pool.keep(self._key, self._connection)
        else:
            self._connection.close()

    @property
    def content_length(self) -> int | None:
        """What is said of the body; of none, for what has none in any case."""
        said = self.headers.get("Content-Length")
        return int(said) if said is not None and said.isdecimal() else None

    @property
    def content_encoding(self) -> str:
        return ", ".join(self.headers.getall("Content-Encoding", ()))

    async def begin(self) -> None:
        """Until status and headers are there."""
        while not self._has_head:
            await self._more()

    async def read(self) -> bytes:
        """What has arrived of the body since the last time; nothing at its end."""
        while not self._pieces and not self.is_complete:
            await self._more()
        pieces, self._pieces = self._pieces, []
        if self._waiting_bytes > _READ_AHEAD_BYTES:
            self._connection.resume()
        self._waiting_bytes = 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def _more(self) -> None:
        if self._error is not None:
            raise self._error
        loop = asyncio.get_running_loop()
        seconds = min(self._deadline - loop.time(), self._silence)
        if seconds <= 0:
            raise too_slow(self._key[1])
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self._give_up)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _give_up(self) -> None:
        self._fail(too_slow(self._key[1]))

    def _fail(self, error: VisitError) -> None:
        self._error = self._error or error
        self._parser = None
        self._connection.close()
        self._wake()

    # What the connection tells.

    def feed(self, data: memoryview) -> None:
        if self._parser is None:
            self._may_stay = False  # more than the answer
            return
        self.has_begun = True
        self._framing_bytes += len(data)
        is_http = True
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            is_http = False
            # A trailer that the parser cannot bear takes nothing from what came before it.
            if self._has_whole_body:
                self.is_complete = True
                self._wake()
        if self.is_complete:
            self._parser = None
            self._may_stay = self._may_stay and is_http
        elif not is_http:
            self._fail((garbled_body if self._has_head else not_http)(self._key[1]))
        elif self._framing_bytes > _MAX_FRAMING_BYTES + self._body_bytes:
            self._fail((garbled_body if self._has_head else too_long_head)(self._key[1]))

    def end(self, *, broken: bool) -> None:
        """The connection is gone. A body of no known length ends with it, unless it was we who gave up."""
        if self.is_complete or self._error is not None:
            return
        if not self._has_head:
            self._fail(broken_off(self._key[1]))
        elif broken or "Content-Length" in self.headers or "Transfer-Encoding" in self.headers:
            self._fail(broken_body(self._key[1]))
        else:
            self.is_complete = True
            self._wake()

    # What the parser tells. After the body come trailers, and after the answer what was not asked for.

    def on_message_begin(self) -> None:
        if self.is_complete:
            self._may_stay = False

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            self.headers.add(
                name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape").strip(" \t")
            )

    def on_headers_complete(self) -> None:
        if self.is_complete or self._parser is None:
            return
        self.status = self._parser.get_status_code()
        if self.status < _FIRST_STATUS or self._parser.get_http_version() not in _VERSIONS:
            raise ValueError  # which the parser tells as an error of its own
        if self.status < _FIRST_FINAL_STATUS:
            self.headers.clear()
            return
        self._has_head = True
        self.is_complete = self._is_head
        self._wake()

    def on_chunk_header(self) -> None:
        """A chunk begins: the last one, unless something is in it."""
        self._has_whole_body = True

    def on_body(self, piece: bytes) -> None:
        if self.is_complete:
            return
        self._has_whole_body = False
        self._framing_bytes -= len(piece)
        self._body_bytes += len(piece)
        self._pieces.append(piece)
        before, self._waiting_bytes = self._waiting_bytes, self._waiting_bytes + len(piece)
        if before <= _READ_AHEAD_BYTES < self._waiting_bytes:
            self._connection.pause()
        self._wake()

    def on_message_complete(self) -> None:
        if self._has_head and not self.is_complete and self._parser is not None:
            self.is_complete = True
            self._may_stay = self._parser.should_keep_alive()
            self._wake()


class ConnectionPool:
    """Asks, on a connection of before where there is one."""

    def __init__(self, dialler: GuardedDialler, headers: Mapping[str, str]) -> None:
        self._dialler = dialler
        #: Sent with every request that does not say otherwise.
        self._headers = headers
        #: Those that may serve again, the longest unused first.
        self._kept: dict[HttpConnection, _Key] = {}
        self._buffer = memoryview(bytearray(_READ_BYTES))
        self._by_key: defaultdict[_Key, list[HttpConnection]] = defaultdict(list)

    async def ask(
        self,
        method: str,
        url: URL,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        timeouts: Timeouts,
        verify_tls: bool,
    ) -> Reply:
        """The head of the answer; its body is still to come."""
        deadline = asyncio.get_running_loop().time() + timeouts.total
        key = url.scheme, url.raw_host or "", url.port or 0, verify_tls
        said = _written(method, url, [self._headers, headers], body)
        kept = self._take(key)
        while True:
            connection = kept or await self._connected(key, min(timeouts.connect, timeouts.total))
            is_head = method == "HEAD"
            reply = Reply(connection, self, key, is_head=is_head, deadline=deadline, silence=timeouts.silence)
            connection.write(said)
            try:
                await reply.begin()
            except BaseException as error:
                reply.leave()
                if isinstance(error, VisitError) and kept and not reply.has_begun and method in _REPEATABLE:
                    kept = None  # its server had closed it meanwhile: no answer to this
                    continue
                raise
            return reply

    def keep(self, key: _Key, connection: HttpConnection) -> None:
        if len(self._kept) >= _MAX_KEPT:
            self._drop(next(iter(self._kept)))
        connection.expiry = asyncio.get_running_loop().call_later(_KEPT_SECONDS, self._drop, connection)
        self._kept[connection] = key
        self._by_key[key].append(connection)

    def close(self) -> None:
        for connection in list(self._kept):
            self._drop(connection)

    def _take(self, key: _Key) -> HttpConnection | None:
        while waiting := self._by_key.get(key):
            connection = waiting[-1]
            self._forget(connection)
            if connection.is_open:
                return connection
        return None

    def _drop(self, connection: HttpConnection) -> None:
        self._forget(connection)
        connection.close()

    def _forget(self, connection: HttpConnection) -> None:
        key = self._kept.pop(connection)
        self._by_key[key].remove(connection)
        if not self._by_key[key]:
            del self._by_key[key]
        if connection.expiry is not None:
            connection.expiry.cancel()

    async def _connected(self, key: _Key, seconds: float) -> HttpConnection:
        scheme, host, port, verify_tls = key
        try:
            async with asyncio.timeout(seconds):
                tls = _tls(verify=verify_tls) if scheme == "https" else None
                return await self._dialler.dial(lambda: HttpConnection(self._buffer), host, port, tls)
        except TimeoutError as error:
            raise not_in_time(host) from error


def _written(method: str, url: URL, headers: Iterable[Mapping[str, str]], body: bytes | None) -> bytes:
    host = f"[{url.raw_host}]" if ":" in (url.raw_host or "") else url.raw_host
    port = "" if url.port == _DEFAULT_PORTS.get(url.scheme) else f":{url.port}"
    fields = CIMultiDict({"Host": f"{host}{port}"})
    for some in headers:
        fields.update(some)
    if body is not None or method not in _REPEATABLE:
        fields["Content-Length"] = str(len(body or b""))
    lines = "".join([f"{name}: {value}\r\n" for name, value in fields.items()])
    return f"{method} {url.raw_path_qs} HTTP/1.1\r\n{lines}\r\n".encode("utf-8", "surrogateescape") + (body or b"")


@cache
def _tls(*, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context
