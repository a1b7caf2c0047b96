"""Xiaohongshu on a real socket, and a client that may reach it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from catchment.clock import ManualClock
from catchment.domain.note import NoteCard, Search
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World
from catchment.sources.platforms.answers import Patience
from catchment.sources.platforms.xhs import Xhs, XhshowSigner, XhsSigner
from planted import MARKER

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SESSION = f"0400698c2f5a-{MARKER}"
COOKIE = f"a1=19ab1e5ce48c3b3c5c50e2c040a801cfcca0a4ac50000571046; web_session={SESSION}; webId=e4b89785b215; gid=yj"


@dataclass(kw_only=True)
class Bench:
    service: XhsService
    http: HttpClient
    xhs: Xhs
    clock: ManualClock

    async def card(self, place: int = 0, *, keyword: str = "咖啡") -> NoteCard:
        page = await self.xhs.search(self.http, COOKIE, Search(keyword=keyword))
        return page.cards[place]


@asynccontextmanager
async def xhs_at_work(
    *, signer: XhsSigner | None = None, patience: Patience | None = None, slow_seconds: float = 0.2
) -> AsyncIterator[Bench]:
    clock = ManualClock(START)
    world = World(seed=1, sites=1, started_at=START)
    service = XhsService(world, slow_seconds=slow_seconds)
    places = {"/api/sns": service, "/explore": service, "/website-login": service}
    http = HttpClient(
        guard=AddressGuard.parse("127.0.0.1"),
        pacer=Pacer(PacePolicy()),
        limits=Limits(total_seconds=5),
        user_agent="Catchment/test",
        clock=clock,
    )
    async with SimulatedWeb(world, hosts=0, now=clock.now, places=places) as web, http:
        xhs = Xhs(
            base_url=web.url(""),
            site_url=web.url(""),
            signer=signer or XhshowSigner(),
            clock=clock,
            patience=patience or Patience(),
        )
        yield Bench(service=service, http=http, xhs=xhs, clock=clock)
