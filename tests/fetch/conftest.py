"""Sites on loopback and clients that may reach them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from catchment.clock import ManualClock
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.connections import Lookup
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from loopback_site import NOW, MakeClient, Site, opened


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with opened() as site:
        yield site


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
async def make_client(clock: ManualClock) -> AsyncIterator[MakeClient]:
    async with AsyncExitStack() as stack:

        def make(
            *,
            allow: str = "127.0.0.0/8",
            limits: Limits | None = None,
            lookup: Lookup | None = None,
            policy: PacePolicy | None = None,
            pace_allowed: bool = False,
        ) -> HttpClient:
            client = HttpClient(
                guard=AddressGuard.parse(allow),
                pacer=Pacer(policy or PacePolicy()),
                limits=limits or Limits(),
                user_agent="Catchment/test",
                clock=clock,
                lookup=lookup,
                pace_allowed=pace_allowed,
            )
            stack.push_async_callback(client.close)
            return client

        yield make


@pytest.fixture
async def client(make_client: MakeClient) -> HttpClient:
    return make_client()
