from __future__ import annotations

import asyncio
import errno

import pytest

from catchment.errors import RefusedAddress, Unreachable
from catchment.fetch.connections import GuardedDialler, SystemLookup
from catchment.fetch.failures import unconnected
from catchment.fetch.guard import AddressGuard
from loopback_site import FakeNames, Site

pytestmark = pytest.mark.proves("F-05")


class Dialled(asyncio.Protocol):
    """Hangs up at once, and remembers on whom."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.peer = transport.get_extra_info("peername")
        transport.close()


async def test_no_socket_is_opened_for_an_inside_address_even_if_all_else_was_passed() -> None:
    dialler = GuardedDialler(AddressGuard.parse(""), FakeNames())
    with pytest.raises(RefusedAddress, match="not a public address"):
        await dialler.dial(Dialled, "127.0.0.1", 80)


async def test_an_address_admitted_by_its_name_is_dialled_on_that_port_only(site: Site) -> None:
    names = FakeNames(nas_home=[["127.0.0.1"]])
    dialler = GuardedDialler(AddressGuard.parse(f"nas.home:{site.port}"), names)
    await dialler.dial(Dialled, "nas.home", site.port)
    with pytest.raises(RefusedAddress):
        await dialler.dial(Dialled, "nas.home", site.port + 1)
    with pytest.raises(RefusedAddress):
        await dialler.dial(Dialled, "127.0.0.1", site.port)


async def test_a_name_is_looked_up_once_a_minute_and_judged_every_time(site: Site) -> None:
    names = FakeNames(nas_home=[["127.0.0.1"]])
    dialler = GuardedDialler(AddressGuard.parse("nas.home"), names)
    for _ in range(3):
        await dialler.dial(Dialled, "nas.home", site.port)
    assert names.lookups == 1


async def test_the_next_address_of_a_name_is_tried_where_the_first_refuses(site: Site) -> None:
    names = FakeNames(nas_home=[["127.0.0.9", "127.0.0.1"]])
    dialler = GuardedDialler(AddressGuard.parse("nas.home"), names)
    dialled = await dialler.dial(Dialled, "nas.home", site.port)
    assert dialled.peer == ("127.0.0.1", site.port)


async def test_the_system_looks_up_each_address_once() -> None:
    lookup = SystemLookup()
    found = await lookup("localhost", 80)
    lookup.close()
    assert "127.0.0.1" in found
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("code", "ours"),
    [(errno.ENETUNREACH, True), (errno.ENETDOWN, True), (errno.EHOSTUNREACH, False), (errno.ECONNREFUSED, False)],
)
def test_only_a_dead_network_is_our_own_fault(code: int, ours: bool) -> None:
    failure = unconnected(OSError(code, "no"), "feeds.example")
    assert isinstance(failure, Unreachable)
    assert (failure.host, failure.ours) == ("feeds.example", ours)
