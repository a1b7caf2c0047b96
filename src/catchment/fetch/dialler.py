"""From a host name to a socket, past the guard twice: when the name is looked up, and when it is dialled."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from typing import Any, Final, Protocol

from aiohttp.abc import AbstractResolver, ResolveResult

from catchment.errors import RefusedAddress
from catchment.fetch.guard import AddressGuard

_NUMERIC: Final = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
_LOOKUP_THREADS: Final = 32


class DialRefused(PermissionError):
    """The guard's no in the shape in which a connector expects a socket to fail."""


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


class GuardedDialler(AbstractResolver):
    """Resolver and socket factory of the one connector."""

    def __init__(self, guard: AddressGuard, lookup: Lookup) -> None:
        self._guard = guard
        self._lookup = lookup
        # The socket factory is not told the name, so it needs to know what the name let through.
        self._admitted: set[tuple[str, int]] = set()

    async def resolve(
        self,
        host: str,
        port: int = 0,
        family: socket.AddressFamily = socket.AF_UNSPEC,  # noqa: ARG002 - both families, always
    ) -> list[ResolveResult]:
        addresses = self._guard.dialable(host, port, await self._lookup(host, port))
        if self._guard.is_allowed(host, port):
            self._admitted.update((address, port) for address in addresses)
        return [_resolved(host, port, address) for address in addresses]

    def open_socket(self, addr_info: tuple[Any, ...]) -> socket.socket:
        """A socket for the very address that is dialled next: nothing can change in between."""
        family, kind, protocol, _, (address, port, *_) = addr_info
        if (address, port) not in self._admitted:
            try:
                self._guard.check_address(address, port, address)
            except RefusedAddress as refusal:
                raise DialRefused(str(refusal)) from refusal
        return socket.socket(family=family, type=kind, proto=protocol)

    async def close(self) -> None:
        """Nothing is held: whoever made the lookup closes it."""


def _resolved(host: str, port: int, address: str) -> ResolveResult:
    is_v4 = ip_address(address).version == 4  # noqa: PLR2004
    return ResolveResult(
        hostname=host,
        host=address,
        port=port,
        family=socket.AF_INET if is_v4 else socket.AF_INET6,
        proto=socket.IPPROTO_TCP,
        flags=_NUMERIC,
    )
