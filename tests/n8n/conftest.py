"""The workflow files are run by a real n8n, which is no part of the product: `make test-n8n`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from loguru import logger
from real_n8n import KEY, RealN8n, Station

from catchment.simulator.server import SimulatedWeb
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World
from cli.command import Command, Process

N8N_DIR = os.environ.get("N8N_DIR")
#: It is two gigabytes large and slow to start, so that it is only run when it is asked for.
collect_ignore = [] if N8N_DIR else ["test_workflows_in_n8n.py"]

FILES = Path(__file__).parent.parent.parent / "n8n"
READY = "Catchment is at "
#: How long the platform takes over what is to be slow: longer than a second n8n takes to start and to be refused.
SLOW_SECONDS = 25.0


@pytest.fixture(scope="session")
def n8n(tmp_path_factory: pytest.TempPathFactory) -> RealN8n:
    """With the workflows imported, as anybody would."""
    if N8N_DIR is None:
        pytest.skip("asked for by name, but only `make test-n8n` has an n8n to run")
    n8n = RealN8n(command=Path(N8N_DIR) / "node_modules" / ".bin" / "n8n", home=tmp_path_factory.mktemp("n8n"))
    imported = asyncio.run(n8n("import:workflow", "--separate", f"--input={FILES}"))
    assert imported.code == 0, imported.said
    return n8n


@pytest.fixture
async def station(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n8n: RealN8n) -> AsyncIterator[Station]:
    monkeypatch.chdir(tmp_path)
    # Time stands still there, so that a keyword always has the same notes.
    world = World(seed=1, sites=1, started_at=datetime.now(UTC), speed=0)
    xhs = XhsService(world, slow_seconds=SLOW_SECONDS)
    places = {"/api/sns": xhs, "/explore": xhs, "/website-login": xhs}
    async with SimulatedWeb(world, places=places) as web:
        settings = {
            "ADMIN_API_KEY": KEY,
            "COOKIE_MASTER_KEY": "a passphrase for the cookies of tests",
            "CRAWL_SPACING_SECONDS": "0",
            "XHS_BASE_URL": web.url(""),
            "XHS_WEB_URL": web.url(""),
        }
        process = await Process.start(tmp_path, "up", "--port", "0", "--no-collect", "--no-starter", **settings)
        try:
            url = (await process.says(READY)).removeprefix(READY)
            command = Command(tmp_path)
            yield Station(url=url, process=process, command=command, settings=settings, web=web, xhs=xhs, n8n=n8n)
        finally:
            await process.kill()
            logger.remove()
