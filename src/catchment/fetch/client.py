"""The one way out: every outbound HTTP request of the product is made here.

Guarded, paced, capped in time, redirects and size, without cookies and proxies. An answer is either a
`Response` or one of the visit errors; nothing of the HTTP library gets through.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from types import TracebackType
from typing import Final, Self

from yarl import URL

from catchment.clock import Clock
from catchment.domain.options import is_of_the_connection
from catchment.errors import BadAnswer, BadBody, BadConfig, RefusedAddress, TimedOut
from catchment.fetch.body import Arriving, Decoder, Head, StreamedResponse, decode, too_large
from catchment.fetch.connections import ConnectionPool, GuardedDialler, Lookup, Reply, SystemLookup, Timeouts
from catchment.fetch.failures import REDIRECTS, block_reason, blocked_error, redirect_error, status_error
from catchment.fetch.freshness import LONGEST_WAIT, Validators, address_mark, retry_after
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import MAX_CRAWL_DELAY, Pacer

_PERMANENT: Final = frozenset({301, 308})
_SEE_OTHER: Final = 303
#: What browsers turn a POST into a GET for.
_MOVED: Final = frozenset({301, 302})
#: What begins a path, a query or a fragment; what comes after it is no scheme.
_PART_OF_PATH: Final = frozenset("/?#")
#: As bytes that are no UTF-8 stand in a header.
_STRAY_BYTE: Final = re.compile("[\udc80-\udcff]")
#: What may be told to anybody. All else may be a secret, whatever its name.
_HARMLESS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One request on the way, with what the hops before it left."""

    url: URL
    method: str
    headers: Mapping[str, str]
    body: bytes | None
    seconds_left: float
    #: What the last answer was known by, and what stands for the only address that is told it: the one that gave it,
    #: where that is not the first.
    conditions: Mapping[str, str] = field(default_factory=dict)
    conditions_for: str | None = None
    visited: tuple[URL, ...] = ()
    permanent: bool = True

    def sent_headers(self) -> Mapping[str, str]:
        return {**self.headers, **self.conditions} if self.conditions and self._gave_them() else self.headers

    def _gave_them(self) -> bool:
        if self.conditions_for is None:
            return not self.visited
        return address_mark(str(self.url)) == self.conditions_for


def is_redirect(status: int, headers: Mapping[str, str]) -> bool:
    return status in REDIRECTS and bool(headers.get("Location"))


def next_hop(hop: Hop, *, status: int, location: str, guard: AddressGuard, most: int, seconds_spent: float) -> Hop:
    target = _target(hop.url, location, guard)
    visited = (*hop.visited, hop.url)
    if target in visited and hop.method == "GET":
        raise BadAnswer(f"{target.host} redirects in a circle; check the URL")
    if len(visited) > most:
        raise BadAnswer(f"{visited[0].host} redirects more than {most} times; check the URL")
    if hop.seconds_left <= seconds_spent:
        raise TimedOut(f"{hop.url.host} took too long with its redirects; tried again later")
    becomes_get = status == _SEE_OTHER or (status in _MOVED and hop.method == "POST")
    is_elsewhere = target.origin() != hop.url.origin()
    if is_elsewhere and hop.body and not becomes_get:
        raise redirect_error(status, hop.url, location)
    headers = _harmless(hop.headers) if is_elsewhere else hop.headers
    return replace(
        hop,
        url=target,
        method="GET" if becomes_get else hop.method,
        headers=_without_body(headers) if becomes_get else headers,
        body=None if becomes_get else hop.body,
        seconds_left=hop.seconds_left - seconds_spent,
        visited=visited,
        permanent=hop.permanent and status in _PERMANENT,
    )


def why_distrusted(own: str, new: str, *, has_secrets: bool) -> str | None:
    """Why an address that was given for good must not take the place of one's own; None where it may."""
    try:
        before, after = URL(own).origin(), URL(new).origin()
    except ValueError:
        return "that is no address on the web"
    if before.scheme == "https" and after.scheme != "https":
        return "nobody could tell any more who answers there"
    if has_secrets and after != before:
        return "its headers and credentials are meant for its own origin alone"
    return None


def _target(base: URL, location: str, guard: AddressGuard) -> URL:
    """The guard sees a named host as it came: joining could mend a trick before it looks."""
    location = _STRAY_BYTE.sub(lambda found: f"%{ord(found[0]) & 0xFF:02X}", location.strip())
    if not _names_host(location):
        try:
            location = str(base.join(URL(location)))
        except ValueError as error:
            raise BadAnswer(f"{base.host} redirects to something that is not a URL; tried again later") from error
    elif location.startswith("//"):
        location = f"{base.scheme}:{location}"
    try:
        return guard.check_url(location).with_fragment(None)
    except RefusedAddress as error:
        raise RefusedAddress(f"{base.host} redirects to an address that is not asked: {error}") from error


def _names_host(location: str) -> bool:
    """Whether a host follows. Archives have whole addresses in their paths: those are no more than that."""
    scheme, mark, _ = location.partition("://")
    return location.startswith(("//", "\\", "/\\")) or (bool(mark) and _PART_OF_PATH.isdisjoint(scheme))


def _without_body(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if not name.lower().startswith("content-")}


def _harmless(headers: Mapping[str, str]) -> dict[str, str]:
    """Another origin must not learn what was meant for the first."""
    return {name: value for name, value in headers.items() if name.lower() in _HARMLESS}


_FIRST_FAILURE, _PARTIAL = 300, 206
#: Of a page that only tells about a failure, no more than this is read.
_FAILURE_BYTES: Final = 64 * 1024
#: How much of a stream is looked at before it is handed over: block pages show early what they are.
_PEEKED_BYTES: Final = 16 * 1024
#: Above this, unpacking is left to a thread so that the loop goes on.
_UNPACKED_IN_THREAD: Final = 256 * 1024
#: What a Retry-After means the whole host by.
_BUSY: Final = frozenset({429, 503})
_ASKING: Final = frozenset({"GET", "HEAD"})
_NO_VALIDATORS: Final = Validators()


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    total_seconds: float = 30.0
    connect_seconds: float = 10.0
    redirects: int = 5
    body_bytes: int = 10 * 1024 * 1024
    compression_ratio: float = 200.0
    #: For a body that is read as it arrives; the seconds include those that its reader takes.
    stream_bytes: int = 100 * 1024 * 1024
    stream_seconds: float = 300.0
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
    #: Whoever asks keeps to a pace of their own with this service, so the common one does not hold them up.
    own_pace: bool = False
    #: For what is handed over rather than asked for: it is for this address alone, so that a redirect is a failure.
    follow_redirects: bool = True
    #: Without it, that it was answered is enough: whatever is wrong with the body of the answer changes nothing.
    needs_body: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Response(Head):
    body: bytes
    #: The seconds that it asks to be left alone for.
    retry_after: float | None = None


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
        self.pacer = pacer
        self._limits = limits
        self._clock = clock
        self._pace_allowed = pace_allowed
        #: By host, until when it asked to be left alone.
        self._holds: dict[str, datetime] = {}
        self._lookup = lookup or SystemLookup()
        headers = {"User-Agent": user_agent, "Accept": "*/*", "Accept-Encoding": "gzip, deflate, br"}
        #: By whether private addresses are allowed: what was dialled for one request must not serve the other.
        self._pools = {
            allow_private: ConnectionPool(GuardedDialler(one, self._lookup), headers)
            for allow_private, one in ((False, guard), (True, self._own_guard))
        }

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        for pool in self._pools.values():
            pool.close()
        self._lookup.close()

    async def get(self, url: str, *, validators: Validators | None = None) -> Response:
        return await self.send(Request(url=url, validators=validators))

    async def send(self, request: Request) -> Response:
        seconds = request.timeout_seconds or self._limits.total_seconds
        async with self._answered(request, seconds) as (hop, reply):
            self._note_hold(request, hop, reply)
            body = await (self._read(reply) if request.needs_body else self._read_leniently(reply))
        answer = self._judged(hop, _response(hop, reply, body), keep_failures=request.keep_failures)
        asked = answer.headers.get("Retry-After")
        return replace(answer, retry_after=retry_after(asked, self._clock.now())) if asked else answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamedResponse]:
        """As `send`, with the body still to come; the turn at the host is held until the context is left.

        An answer that tells of a failure is raised in any case.
        """
        seconds = request.timeout_seconds or self._limits.stream_seconds
        async with self._answered(request, seconds) as (hop, reply):
            self._note_hold(request, hop, reply)
            body = Arriving(reply, self._stream_decoder(reply))
            start = await (self._read_leniently(reply) if _is_failure(reply) else body.peek(_PEEKED_BYTES))
            head = self._judged(hop, _response(hop, reply, start), keep_failures=False)
            yield StreamedResponse(
                status=head.status, url=head.url, headers=head.headers, permanent_url=head.permanent_url, body=body
            )

    def paces(self, host: str) -> bool:
        """Whether requests to this host keep to the common pace: those to the user's own do not."""
        return self._pace_allowed or not self._guard.exempts(host)

    def slow_down(self, host: str, seconds: float) -> None:
        """Ask a host no more often than this, as its robots.txt wishes."""
        if self.paces(host):
            self.pacer.slow_down(host, min(seconds, MAX_CRAWL_DELAY))

    def held_until(self, host: str) -> datetime | None:
        """Until when a host asked to be left alone, by an answer that told so.

        What lies further ahead than any wait was noted by a clock that was ahead.
        """
        until, now = self._holds.get(host), self._clock.now()
        return until if until is not None and now < until <= now + LONGEST_WAIT else None

    def _note_hold(self, request: Request, hop: Hop, reply: Reply) -> None:
        """Whoever keeps a pace of their own with a service minds its limits as well."""
        if reply.status not in _BUSY or request.own_pace:
            return
        now = self._clock.now()
        seconds = retry_after(reply.headers.get("Retry-After"), now)
        if seconds:
            self._holds = {host: until for host, until in self._holds.items() if until > now}
            self._holds[hop.url.raw_host or ""] = now + timedelta(seconds=seconds)

    @asynccontextmanager
    async def _answered(self, request: Request, seconds: float) -> AsyncIterator[tuple[Hop, Reply]]:
        """The answer after all redirects, its body not yet read, and the hop that led to it."""
        guard = self._own_guard if request.allow_private else self._guard
        hop = self._first_hop(request, guard, seconds)
        while True:
            async with self._turn(hop.url, request):
                started = monotonic()
                with await self._ask(hop, request) as reply:
                    if not is_redirect(reply.status, reply.headers):
                        yield hop, reply
                        return
                    if not request.follow_redirects:
                        raise redirect_error(reply.status, hop.url, reply.headers["Location"])
                    await self._read_leniently(reply)
            asked = hop.url.raw_host
            hop = next_hop(
                hop,
                status=reply.status,
                location=reply.headers["Location"],
                guard=guard,
                most=self._limits.redirects,
                seconds_spent=monotonic() - started,
            )
            if hop.url.raw_host != asked and (request.allow_private or not request.verify_tls):
                # Whoever vouched for a host did not vouch for those that it leads to.
                request, guard = replace(request, allow_private=False, verify_tls=True), self._guard
                guard.check_url(str(hop.url))

    def _first_hop(self, request: Request, guard: AddressGuard, seconds: float) -> Hop:
        url = guard.check_url(request.url)
        validators = request.validators or _NO_VALIDATORS
        conditions = validators.as_headers()
        _check_headers({**request.headers, **conditions})
        return Hop(
            url=url,
            method=request.method,
            headers=request.headers,
            body=request.body,
            seconds_left=seconds,
            conditions=conditions,
            conditions_for=validators.given_by,
        )

    def _turn(self, url: URL, request: Request) -> AbstractAsyncContextManager[None]:
        host = url.raw_host or ""
        if request.own_pace or (not self._pace_allowed and self._guard.is_allowed(host, url.port or 0)):
            return nullcontext()
        return self.pacer.slot(request.host_group or host, patience=self._limits.patience_seconds)

    async def _ask(self, hop: Hop, request: Request) -> Reply:
        return await self._pools[request.allow_private].ask(
            hop.method,
            hop.url,
            hop.sent_headers(),
            hop.body,
            timeouts=self._timeouts(hop, request),
            verify_tls=request.verify_tls,
        )

    def _timeouts(self, hop: Hop, request: Request) -> Timeouts:
        """A stream has longer than others, but not to stand still."""
        silence = request.timeout_seconds or self._limits.total_seconds
        return Timeouts(connect=self._limits.connect_seconds, total=hop.seconds_left, silence=silence)

    def _stream_decoder(self, reply: Reply) -> Decoder:
        cap = self._limits.stream_bytes
        if (reply.content_length or 0) > cap:
            raise too_large(cap)
        return Decoder(reply.content_encoding, max_bytes=cap, max_ratio=self._limits.compression_ratio)

    async def _read(self, reply: Reply) -> bytes:
        if _is_failure(reply):
            return await self._read_leniently(reply)
        packed = await _read_whole(reply, self._limits.body_bytes)
        encoding = reply.content_encoding
        return await self._decoded(packed, encoding) if encoding else packed

    async def _read_leniently(self, reply: Reply) -> bytes:
        """What only helps to tell what it is, such as a failure's page: where it is broken, the status says enough."""
        try:
            packed = await _read_whole(reply, _FAILURE_BYTES)
            return await self._decoded(packed, reply.content_encoding)
        except (BadBody, TimedOut):
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

    def _judged(self, hop: Hop, answer: Response, *, keep_failures: bool) -> Response:
        reason = block_reason(answer.headers, answer.body)
        if reason is not None:
            raise blocked_error(reason, hop.url, answer.headers, self._clock.now())
        # Only what was asked for can be as it was: what was handed over is not taken in by such an answer.
        is_known = answer.not_modified and hop.method in _ASKING
        if _is_failure(answer) and not is_known and not keep_failures:
            raise status_error(answer.status, hop.url, answer.headers, self._clock.now())
        return replace(answer, permanent_url=answer.url) if hop.visited and hop.permanent else answer


def _is_failure(answer: Reply | Response) -> bool:
    """Also a part, as nobody asks for one: it would pass for the whole."""
    return answer.status >= _FIRST_FAILURE or answer.status == _PARTIAL


def _response(hop: Hop, reply: Reply, body: bytes) -> Response:
    return Response(status=reply.status, url=str(hop.url), headers=reply.headers, body=body)


async def _read_whole(reply: Reply, cap: int) -> bytes:
    announced = reply.content_length
    if announced is not None and announced > cap and not reply.is_complete:
        raise too_large(cap)
    pieces: list[bytes] = []
    size = 0
    while piece := await reply.read():
        size += len(piece)
        if size > cap:
            raise too_large(cap)
        pieces.append(piece)
    return b"".join(pieces)


def _check_headers(headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not (name.isascii() and name.isprintable() and value.isprintable()):
            raise BadConfig(f"the header {name!r} holds characters that cannot be sent; fix the source's headers")
        if is_of_the_connection(name):
            raise BadConfig(f"the header {name!r} belongs to the connection, not to a source; fix the source's headers")
