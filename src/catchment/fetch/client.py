"""The one way out: every outbound HTTP request of the product is made here.

Guarded, paced, capped in time, redirects and size, without cookies and proxies. An answer is either a
`Response` or one of the visit errors; nothing of the HTTP library gets through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Final, Self

import aiohttp
from yarl import URL

from catchment.clock import Clock
from catchment.errors import BadBody, BadConfig
from catchment.fetch.blocked import block_reason
from catchment.fetch.body import decode, too_large
from catchment.fetch.dial import GuardedDialler, Lookup, SystemLookup
from catchment.fetch.failures import blocked_error, status_error, translated
from catchment.fetch.freshness import Validators
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import Pacer
from catchment.fetch.redirects import Hop, is_redirect, next_hop

_NOT_MODIFIED: Final = 304
_FIRST_FAILURE: Final = 300
#: Of a page that only tells about a failure, no more than this is read.
_FAILURE_BYTES: Final = 64 * 1024
#: Above this, unpacking is left to a thread so that the loop goes on.
_UNPACKED_IN_THREAD: Final = 256 * 1024
_DNS_SECONDS: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    total_seconds: float = 30.0
    connect_seconds: float = 10.0
    redirects: int = 5
    body_bytes: int = 10 * 1024 * 1024
    compression_ratio: float = 200.0
    #: How long to wait for a turn at the host before Deferred is raised; None waits.
    patience_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    validators: Validators | None = None
    #: Hosts that share one budget are paced together under this name.
    host_group: str | None = None
    verify_tls: bool = True
    #: The user vouches for this one: private addresses may be dialled, link-local ones never.
    allow_private: bool = False
    #: Seconds for this request, where the client's own limit does not fit.
    timeout_seconds: float | None = None
    #: Give back answers that tell of a failure instead of raising: some services say more in the body.
    keep_failures: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    status: int
    #: Where the answer came from, after all redirects.
    url: str
    headers: Mapping[str, str]
    body: bytes
    #: The new address, when every hop on the way to it was a permanent one.
    permanent_url: str | None = None

    @property
    def not_modified(self) -> bool:
        return self.status == _NOT_MODIFIED


class HttpClient:
    """Made inside a running loop and closed there: `async with HttpClient(...) as client`."""

    def __init__(
        self,
        *,
        guard: AddressGuard,
        pacer: Pacer,
        limits: Limits,
        user_agent: str,
        clock: Clock,
        pace_allowed: bool = False,
        lookup: Lookup | None = None,
    ) -> None:
        self._guard = guard
        self._own_guard = guard.with_private()
        self._pacer = pacer
        self._limits = limits
        self._clock = clock
        self._pace_allowed = pace_allowed
        self._timeout = aiohttp.ClientTimeout(total=limits.total_seconds, connect=limits.connect_seconds)
        self._lookup = lookup or SystemLookup()
        self._session = _session(GuardedDialler(guard, self._lookup), user_agent)
        self._own_session = _session(GuardedDialler(self._own_guard, self._lookup), user_agent)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()
        await self._own_session.close()
        self._lookup.close()

    async def get(self, url: str, *, validators: Validators | None = None) -> Response:
        return await self.send(Request(url=url, validators=validators))

    async def send(self, request: Request) -> Response:
        guard = self._own_guard if request.allow_private else self._guard
        hop = self._first_hop(request, guard)
        while True:
            async with self._turn(hop.url, request):
                started = monotonic()
                answer = await self._exchange(hop, request)
            if not is_redirect(answer.status, answer.headers):
                return self._judged(hop, answer, request)
            hop = next_hop(
                hop,
                status=answer.status,
                location=answer.headers["Location"],
                guard=guard,
                most=self._limits.redirects,
                seconds_spent=monotonic() - started,
            )

    def _first_hop(self, request: Request, guard: AddressGuard) -> Hop:
        headers = request.headers
        if request.validators is not None:
            headers = {**headers, **request.validators.as_headers()}
        _check_headers(headers)
        return Hop(
            url=guard.check_url(request.url),
            method=request.method,
            headers=headers,
            body=request.body,
            seconds_left=request.timeout_seconds or self._limits.total_seconds,
        )

    def _turn(self, url: URL, request: Request) -> AbstractAsyncContextManager[None]:
        host = url.raw_host or ""
        if not self._pace_allowed and self._guard.is_allowed(host, url.port or 0):
            return nullcontext()
        return self._pacer.slot(request.host_group or host, patience=self._limits.patience_seconds)

    def _timeout_for(self, hop: Hop) -> aiohttp.ClientTimeout:
        if hop.seconds_left == self._limits.total_seconds:
            return self._timeout
        return aiohttp.ClientTimeout(total=hop.seconds_left, connect=self._limits.connect_seconds)

    async def _exchange(self, hop: Hop, request: Request) -> Response:
        session = self._own_session if request.allow_private else self._session
        try:
            async with session.request(
                hop.method,
                hop.url,
                headers=hop.headers,
                data=hop.body,
                timeout=self._timeout_for(hop),
                ssl=request.verify_tls,
                allow_redirects=False,
            ) as reply:
                return Response(
                    status=reply.status,
                    url=str(hop.url),
                    headers=reply.headers,
                    body=await self._read(reply),
                )
        except (aiohttp.ClientError, OSError) as error:
            raise translated(error, hop.url) from error

    async def _read(self, reply: aiohttp.ClientResponse) -> bytes:
        if reply.status >= _FIRST_FAILURE:
            return await self._read_failure(reply)
        packed = await _read_whole(reply, self._limits.body_bytes)
        encoding = reply.headers.get("Content-Encoding")
        return packed if encoding is None else await self._decoded(packed, encoding)

    async def _read_failure(self, reply: aiohttp.ClientResponse) -> bytes:
        """A failure's page only helps to tell what it is: when it is broken too, the status says enough."""
        try:
            packed = await _read_whole(reply, _FAILURE_BYTES)
            return await self._decoded(packed, reply.headers.get("Content-Encoding", ""))
        except (BadBody, aiohttp.ClientPayloadError):
            return b""

    async def _decoded(self, packed: bytes, encoding: str) -> bytes:
        work = partial(
            decode,
            packed,
            encoding,
            max_bytes=self._limits.body_bytes,
            max_ratio=self._limits.compression_ratio,
        )
        return work() if len(packed) <= _UNPACKED_IN_THREAD else await asyncio.to_thread(work)

    def _judged(self, hop: Hop, answer: Response, request: Request) -> Response:
        reason = block_reason(answer.headers, answer.body)
        if reason is not None:
            raise blocked_error(reason, hop.url, answer.headers, self._clock.now())
        if answer.status >= _FIRST_FAILURE and not answer.not_modified and not request.keep_failures:
            raise status_error(answer.status, hop.url, answer.headers, self._clock.now())
        return replace(answer, permanent_url=answer.url) if hop.visited and hop.permanent else answer


def _session(dialler: GuardedDialler, user_agent: str) -> aiohttp.ClientSession:
    # No limit here: requests in flight are counted by the pacer, and a second count could only deadlock.
    connector = aiohttp.TCPConnector(
        resolver=dialler, socket_factory=dialler.open_socket, limit=0, ttl_dns_cache=_DNS_SECONDS
    )
    return aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": user_agent, "Accept-Encoding": "gzip, deflate, br"},
        auto_decompress=False,
        trust_env=False,
    )


async def _read_whole(reply: aiohttp.ClientResponse, cap: int) -> bytes:
    announced = reply.content_length
    if announced is not None and announced <= cap:
        return await reply.read()
    if announced is not None and reply.method != "HEAD":
        raise too_large(cap)
    pieces: list[bytes] = []
    size = 0
    while piece := await reply.content.readany():
        size += len(piece)
        if size > cap:
            raise too_large(cap)
        pieces.append(piece)
    return b"".join(pieces)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isprintable()):
            raise BadConfig(f"the header {name!r} holds characters that cannot be sent; fix the source's headers")
