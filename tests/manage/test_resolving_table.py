"""The table of docs/resolving.md, line by line."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.options import UNRESOLVED_KEY
from catchment.errors import InvalidInput, RefusedAddress
from catchment.manage.resolve import Pasted
from catchment.settings import Settings
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from simulated_websites import websites

ROW = re.compile(r"^\| `([^`]+)` \| (?:`(\w+)` `([^`]+)`|refused: (.+)) \|$", re.MULTILINE)
PAGE = (Path(__file__).parents[2] / "docs" / "resolving.md").read_text(encoding="utf-8")
ROWS = ROW.findall(PAGE)
SITE, DOCUMENTED_PORT = "site.example", ":8080"


class OneName:
    """A name service that knows the simulated site, and says of everybody else what it says without a network."""

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        if host != SITE:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return ["127.0.0.1"]

    def close(self) -> None:
        pass


@pytest.fixture
async def web(clock: ManualClock) -> AsyncIterator[SimulatedWeb]:
    world = World(seed=1, sites=0, started_at=clock.now() - timedelta(days=1))
    async with SimulatedWeb(world, now=clock.now, places=websites()) as web:
        yield web


@pytest.fixture
async def offline(
    web: SimulatedWeb, sqlite_url: str, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[System]:
    monkeypatch.setattr("catchment.fetch.connections.SystemLookup", OneName)
    settings = Settings(database_url=sqlite_url, allow_networks=f"{SITE}:{web.port}", timeout_seconds=5.0)
    async with open_system(settings, clock=clock) as system:
        yield system


@pytest.mark.proves("A-32")
@pytest.mark.parametrize(("pasted", "kind", "config", "refusal"), ROWS, ids=[row[0] for row in ROWS])
async def test_every_line_of_the_table_resolves_as_it_says(
    offline: System, web: SimulatedWeb, pasted: str, kind: str, config: str, refusal: str
) -> None:
    real, config = (text.replace(DOCUMENTED_PORT, f":{web.port}") for text in (pasted, config))
    if refusal:
        with pytest.raises((RefusedAddress, InvalidInput), match=re.escape(refusal)):
            await offline.resolver.resolve(Pasted(text=real), OPERATOR)
        return
    resolved = await offline.resolver.resolve(Pasted(text=real), OPERATOR)
    config_found = {key: value for key, value in resolved.config.items() if key != UNRESOLVED_KEY}
    assert (resolved.type, config_found) == (kind, json.loads(config))
    assert resolved.why.endswith(".")
    assert (resolved.preview is None) == bool(resolved.doubt)
    if DOCUMENTED_PORT in pasted and kind != "sitemap":
        assert resolved.preview


@pytest.mark.proves("A-32")
def test_the_table_is_long_and_every_line_of_it_is_read() -> None:
    lines = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(lines) >= 40
