"""Short ways to visit services: the fetcher of a type, on the real client, against a simulated web or a scripted site."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from catchment.clock import ManualClock
from catchment.crypto import Vault
from catchment.domain.visit import Fetched
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.settings import Settings
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.services.places import service_places
from catchment.simulator.world import World
from catchment.sources.base import Context, Parts
from catchment.sources.client import ClientFactory
from catchment.sources.registry import Registry
from parsers_here import ParsersHere
from source_factory import make_source

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
REAL = Path(os.environ.get("CATCHMENT_REAL_DATA", Path(__file__).resolve().parents[2] / "shared/data/real"))

Visit = Callable[..., Any]


def capture(*parts: str) -> bytes:
    """What a real service once answered; the test is skipped where there is none."""
    path = REAL.joinpath(*parts)
    if not path.is_file():
        pytest.skip(f"no capture {path}; set CATCHMENT_REAL_DATA to the folder of captures")
    return path.read_bytes()


def registry(base_url: str = "https://service.example") -> Registry:
    settings = Settings(hackernews_base_url=base_url, reddit_base_url=base_url, github_base_url=base_url)
    return Registry(parts=Parts(settings=settings))


@asynccontextmanager
async def simulated_services(clock: ManualClock) -> AsyncIterator[SimulatedWeb]:
    world = World(seed=1, sites=1, started_at=START)
    async with SimulatedWeb(world, hosts=0, now=clock.now, places=service_places(world)) as web:
        yield web


@asynccontextmanager
async def visitor(
    base_url: str,
    *,
    policy: PacePolicy | None = None,
    patience: float | None = None,
    variables: Mapping[str, str] | None = None,
) -> AsyncIterator[Visit]:
    """Visits sources at a base address; paced only where a policy is given."""
    clock = ManualClock(START)
    vault = Vault(key_id="test", keys={"test": lambda: b"k" * 32})
    async with (
        ParsersHere(size=1) as parsers,
        HttpClient(
            guard=AddressGuard.parse("127.0.0.1"),
            pacer=Pacer(policy or PacePolicy()),
            limits=Limits(total_seconds=5, patience_seconds=patience),
            user_agent="test",
            clock=clock,
            pace_allowed=policy is not None,
        ) as http,
    ):
        clients = ClientFactory(http=http, vault=vault, variables=variables or {}, parsers=parsers)
        fetchers = registry(base_url)

        async def visit(
            source_type: str, config: Mapping[str, Any], memory: Mapping[str, Any] | None = None
        ) -> Fetched:
            fetcher = fetchers.get(source_type)
            assert fetcher is not None
            _, dressed = clients.client_for(config)
            source = make_source(type=source_type, config=config, memory=memory or {})
            return await fetcher.fetch(Context(source=source, now=START, http=dressed, parsers=parsers))

        yield visit
