"""Short ways to a platform: a simulated one on loopback, and the real client to ask it with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Protocol

import pytest
from hypothesis import strategies as st

from catchment.clock import Clock, ManualClock
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Comment, NoteRef
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.simulator.messages import Place
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
WORLD = World(seed=1, sites=1, started_at=START)


class Places(Protocol):
    def places(self) -> Mapping[str, Place]: ...


@asynccontextmanager
async def http_client(*, allow: str = "127.0.0.1") -> AsyncIterator[HttpClient]:
    async with HttpClient(
        guard=AddressGuard.parse(allow),
        pacer=Pacer(PacePolicy()),
        limits=Limits(total_seconds=5),
        user_agent="test",
        clock=ManualClock(START),
    ) as http:
        yield http


@asynccontextmanager
async def on_loopback(service: Places, clock: Clock | None = None) -> AsyncIterator[tuple[str, HttpClient]]:
    """The address of the service, and a client that may go there."""
    now = (clock or ManualClock(START)).now
    async with SimulatedWeb(WORLD, hosts=0, now=now, places=service.places()) as web, http_client() as http:
        yield web.url(""), http


def strange_json(*names: str) -> st.SearchStrategy[Any]:
    """JSON of every shape, with keys that a reader looks for."""
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    return st.recursive(
        leaf,
        lambda one: st.lists(one, max_size=3) | st.dictionaries(st.sampled_from(names), one, max_size=6),
        max_leaves=20,
    )


#: Letters that are ASCII ones when case does not count: a long s, the sign for kelvin, a dotless i and a dotted one.
_LOOKALIKES = "\u017f\u212a\u0131\u0130"


def addresses(*well: str) -> st.SearchStrategy[str]:
    """Addresses that are well, and such in which some characters were replaced."""

    def mangled(address: str) -> st.SearchStrategy[str]:
        other = st.sampled_from(_LOOKALIKES + "٤kKsS/?#%:@[]") | st.characters()
        changes = st.dictionaries(st.integers(0, len(address) - 1), other, max_size=4)
        return changes.map(lambda by: "".join(by.get(place, letter) for place, letter in enumerate(address)))

    return st.sampled_from(well).flatmap(mangled)


async def gathered(pages: AsyncIterator[tuple[Comment, ...]]) -> tuple[Comment, ...]:
    return tuple([comment async for page in pages for comment in page])


async def refusal(asking: Awaitable[object], *, secret: str) -> CrawlError:
    """What the asking ends in, which must not tell the secret."""
    with pytest.raises(CrawlError) as caught:
        await asking
    assert secret not in f"{caught.value} {caught.value.details}"
    return caught.value


class Visit(Protocol):
    async def search(self) -> object: ...

    async def detail(self, ref: NoteRef) -> object: ...

    async def comments(self, ref: NoteRef) -> object: ...


def asked(visit: Visit, way: str, ref: NoteRef) -> Awaitable[object]:
    """The visit by this way: a search, or of this note its detail or its comments."""
    ways = {"search": visit.search, "detail": lambda: visit.detail(ref), "comments": lambda: visit.comments(ref)}
    return ways[way]()


async def struck(visit: Any, kind: object, way: str, *, cookie: str) -> tuple[Code, str]:
    """The code and the cause that a visit by this way ends in while the cookie is in such trouble."""
    [card, *_] = (await visit.search()).cards
    visit.service.trouble(kind, cookie=cookie)
    error = await refusal(asked(visit, way, card.ref), secret=cookie)
    return error.code, error.details["cause"]
