"""X's provider on a real socket, a client that may reach it, and a purse to pay from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from bench.simulated_x import XProvider

from catchment.clock import ManualClock
from catchment.domain.tweet import FetchStats
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from catchment.sources.x.client import CapReached, ProviderPage, TweetTimeline, XClient, XError, XTrouble

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = "the-key-nobody-may-see"


@dataclass
class SpendingLog:
    """What is known and spent, in memory: the store's own is tried in `test_x_sources.py`."""

    pages: int = 0
    cap: int | None = None
    known_ids: set[str] = field(default_factory=set)
    stats_of: FetchStats | None = None
    troubles: list[XTrouble] = field(default_factory=list)
    previews: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    async def take_page(self) -> CapReached | None:
        if self.cap is not None and self.pages >= self.cap:
            return CapReached(message="the cap is reached", seconds=60)
        self.pages += 1
        return None

    async def record_trouble(self, error: XError) -> None:
        self.troubles.append(error.trouble)

    async def previewed(self, timeline: str) -> Mapping[str, Any] | None:
        return self.previews.get(timeline)

    async def keep_previewed(self, timeline: str, body: Mapping[str, Any]) -> None:
        self.previews[timeline] = body

    async def take_previewed(self, timeline: str) -> Mapping[str, Any] | None:
        return self.previews.pop(timeline, None)

    async def stats(self, subject: str) -> FetchStats | None:
        return self.stats_of

    async def known(self, tweet_ids: list[str], *, by: datetime) -> set[str]:
        return self.known_ids & set(tweet_ids)


@dataclass
class Bench:
    """A client at work: what it was answered from, how it waited, what it spent."""

    provider: XProvider
    http: HttpClient
    client: XClient
    spending: SpendingLog
    waits: list[float]

    async def pages(self, timeline: TweetTimeline, *, limit: int = 100) -> list[ProviderPage]:
        return [page async for page in self.client.pages(self.http, timeline, limit=limit)]


@asynccontextmanager
async def working(provider: XProvider, *, timeout_seconds: float = 5.0, **options: Any) -> AsyncIterator[Bench]:
    clock = ManualClock(START)
    waits: list[float] = []

    async def wait(seconds: float) -> None:
        waits.append(seconds)

    http = HttpClient(
        guard=AddressGuard.parse("127.0.0.1"),
        pacer=Pacer(PacePolicy()),
        limits=Limits(total_seconds=timeout_seconds),
        user_agent="Catchment/test",
        clock=clock,
    )
    world = World(seed=1, sites=1, started_at=START)
    async with SimulatedWeb(world, hosts=0, now=clock.now, places={"/twitter": provider}) as web, http:
        spending = SpendingLog()
        settings = {"key": KEY, "requests_per_second": 1000.0, **options}
        client = XClient(base_url=web.url("/twitter"), spending=spending, sleep=wait, **settings)
        yield Bench(provider=provider, http=http, client=client, spending=spending, waits=waits)
