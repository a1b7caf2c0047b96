"""Limits on connections: how much of a caller is taken in before anybody knows what they want.

Bytes and number of headers, the time that a request takes to arrive, and connections, an address and in all. Whoever
comes when it is full takes the place of the one who has been silent for longest; only where everybody is being served
are they turned away, and `/health` not even then.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Any, ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from catchment.manage.logins import neighbourhood
from catchment.settings import Settings

MAX_HEADER_BYTES: Final = 64 * 1024
MAX_HEADERS: Final = 100
#: Seconds for the head of a request, which fits into a few packets.
HEAD_SECONDS: Final = 10.0
#: Connections beyond the bound that are still asked what they want.
RESERVE: Final = 20
ALWAYS_ANSWERED: Final = frozenset({b"/health", b"/live", b"/ready"})
#: Descriptors that the store, the log and whatever else need, and for each source that is collected at once.
SPARE_DESCRIPTORS, DESCRIPTORS_PER_VISIT = 256, 4
MAX_DESCRIPTORS: Final = 65_536

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    connections: int
    per_address: int
    request_seconds: float
    #: Whose connections are those of many callers.
    proxies: tuple[Network, ...] = ()

    def is_proxy(self, address: str) -> bool:
        try:
            return any(ip_address(address) in network for network in self.proxies)
        except ValueError:
            return False


def limits_of(settings: Settings, *, descriptors: int) -> ConnectionLimits:
    """As the settings say, but so that there are descriptors left for collecting."""
    spare = SPARE_DESCRIPTORS + DESCRIPTORS_PER_VISIT * settings.concurrency
    return ConnectionLimits(
        connections=max(RESERVE, min(settings.max_connections, descriptors - spare - RESERVE)),
        per_address=settings.max_connections_per_address,
        request_seconds=settings.request_seconds,
        proxies=tuple(ip_network(one) for one in settings.trusted_proxies.split(",") if one),
    )


def raise_descriptor_limit() -> int:
    """As many as this process may have, within reason; says how many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return MAX_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted


class Phase(Enum):
    """What of a request has come."""

    BETWEEN = auto()
    HEAD = auto()
    BODY = auto()


class ConnectionLimiter:
    """Who is in. The longest silent come first in `_inside`."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._inside: dict[BoundedConnection, str] = {}
        self._of: Counter[str] = Counter()

    def admit(self, caller: BoundedConnection, address: str) -> bool:
        """Let somebody in, in the place of somebody else if need be; False where no place could be made."""
        place = "" if self.limits.is_proxy(address) else neighbourhood(address)
        self._inside[caller] = place
        self._of[place] += 1
        if place and self._of[place] > self.limits.per_address:
            return self._make_room(caller, place)
        return len(self._inside) <= self.limits.connections or self._make_room(caller, None)

    @property
    def is_overrun(self) -> bool:
        return len(self._inside) > self.limits.connections + RESERVE

    def leave(self, caller: BoundedConnection) -> None:
        place = self._inside.pop(caller, None)
        if place is not None:
            self._of[place] -= 1
            self._of += Counter()  # forgets who has none

    def heard(self, caller: BoundedConnection) -> None:
        """Somebody said something whole: they are the last to go."""
        place = self._inside.pop(caller, None)
        if place is not None:
            self._inside[caller] = place

    def _make_room(self, caller: BoundedConnection, place: str | None) -> bool:
        for other, theirs in self._inside.items():
            if other is not caller and not other.is_served and place in {None, theirs}:
                self.leave(other)
                other.turn_away()
                return True
        return False


class BoundedConnection(HttpToolsProtocol):
    """One connection, bounded. Made for a limiter by `bounded_protocol`."""

    limiter: ClassVar[ConnectionLimiter]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._phase = Phase.BETWEEN
        self._head_bytes = 0
        self._is_refused = False
        self._is_crowded = False
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def is_served(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # there is none before the first request
        return cycle is not None and not cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._is_crowded = not self.limiter.admit(self, self.client[0] if self.client else "")
        self._expect(HEAD_SECONDS)
        if self._is_crowded and self.limiter.is_overrun:
            self.turn_away()

    def connection_lost(self, exc: Exception | None) -> None:
        self._expect(None)
        self.limiter.leave(self)
        super().connection_lost(exc)

    def turn_away(self) -> None:
        self._is_refused = True
        self._expect(None)
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        was_in_head = self._phase is Phase.HEAD
        super().data_received(data)
        if was_in_head and self._phase is Phase.HEAD:
            # Headers that do not come to their end: what is kept of them is no more than this.
            self._head_bytes += len(data)
            self._refuse_if(self._head_bytes > MAX_HEADER_BYTES, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._phase is Phase.BETWEEN and not self.is_served and self._deadline is None:
            # Empty lines are no request, and no reason to wait for one for ever.
            self._expect(HEAD_SECONDS)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._phase, self._head_bytes = Phase.HEAD, 0
        self._expect(HEAD_SECONDS)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_refused:
            super().on_header(name, value)
            self._refuse_if(len(self.headers) > MAX_HEADERS, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        self._refuse_if(size > MAX_HEADER_BYTES, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        is_important = self.url.partition(b"?")[0] in ALWAYS_ANSWERED
        self._refuse_if(self._is_crowded and not is_important, HTTPStatus.SERVICE_UNAVAILABLE)
        if not self._is_refused:
            self._phase = Phase.BODY
            self._expect(self.limiter.limits.request_seconds)
            self.limiter.heard(self)
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if not self._is_refused:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_refused:
            self._phase = Phase.BETWEEN
            self._expect(None)
            super().on_message_complete()

    def _expect(self, seconds: float | None) -> None:
        """The next part within so many seconds, or nothing more."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        if seconds is not None:
            self._deadline = self.loop.call_later(min(seconds, self.limiter.limits.request_seconds), self._end_late)

    def _end_late(self) -> None:
        waits_for_head = self._phase is Phase.HEAD and not self.is_served
        waits_for_body = self._phase is Phase.BODY and not self.cycle.response_started
        if waits_for_head or waits_for_body:
            self._refuse_if(True, HTTPStatus.REQUEST_TIMEOUT)
        else:
            self.turn_away()

    def _refuse_if(self, reason: bool, status: HTTPStatus) -> None:
        if not reason or self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        self._expect(None)
        said = status.phrase.encode()
        self.transport.write(
            b"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nRetry-After: 5\r\n"
            b"Connection: close\r\n\r\n%s" % (status, said, len(said), said)
        )
        self.transport.close()


def bounded_protocol(limits: ConnectionLimits) -> type[BoundedConnection]:
    """The protocol of one server: all of its connections have the same limiter."""
    return type("BoundedProtocol", (BoundedConnection,), {"limiter": ConnectionLimiter(limits)})
