from __future__ import annotations

import errno
import socket

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from loopback_site import FakeNames
from yarl import URL

from catchment.errors import RefusedAddress, Unreachable
from catchment.fetch.dialler import DialRefused, GuardedDialler, SystemLookup
from catchment.fetch.failures import translated
from catchment.fetch.guard import AddressGuard

pytestmark = pytest.mark.proves("F-05")

SITE = URL("http://feeds.example/")
KEY = ConnectionKey("feeds.example", 80, False, True, None, None, None)


def addr_info(address: str, port: int = 80) -> tuple[int, int, int, str, tuple[str, int]]:
    return (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (address, port))


def test_no_socket_is_opened_for_an_inside_address_even_if_all_else_was_passed() -> None:
    dialler = GuardedDialler(AddressGuard.parse(""), FakeNames())
    with pytest.raises(DialRefused, match="not a public address"):
        dialler.open_socket(addr_info("127.0.0.1"))


async def test_an_address_admitted_by_its_name_is_dialled_on_that_port_only() -> None:
    dialler = GuardedDialler(AddressGuard.parse("nas.home:8080"), FakeNames(nas_home=[["10.0.0.5"]]))
    await dialler.resolve("nas.home", 8080)
    dialler.open_socket(addr_info("10.0.0.5", 8080)).close()
    with pytest.raises(DialRefused):
        dialler.open_socket(addr_info("10.0.0.5", 8081))


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
    failure = translated(aiohttp.ClientConnectorError(KEY, OSError(code, "no")), SITE)
    assert isinstance(failure, Unreachable)
    assert (failure.host, failure.ours) == ("feeds.example", ours)


def test_a_refusal_at_the_socket_comes_out_as_a_refused_address() -> None:
    failure = translated(aiohttp.ClientConnectorError(KEY, DialRefused("not there")), SITE)
    assert isinstance(failure, RefusedAddress)


def test_a_connection_not_taken_in_time_is_unreachable() -> None:
    assert isinstance(translated(aiohttp.ConnectionTimeoutError(), SITE), Unreachable)
