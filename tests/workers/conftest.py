from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from catchment.bootstrap import System, open_system
from catchment.settings import Settings
from cli.command import Process, Start
from fork_server import ForkServer

PASSWORD = secrets.token_hex(8)


@pytest.fixture
def shared_url(postgres_url: str) -> str:
    """The server of the tests asks for no password, so that any may be said; none may be seen again."""
    return make_url(postgres_url).set(password=PASSWORD).render_as_string(hide_password=False)


@pytest.fixture
async def start_worker(shared_url: str, tmp_path: Path, fork_server: ForkServer) -> AsyncIterator[Start]:
    """Starts `catchment worker` by the name that it gives to sites; none outlives the test, or says the password."""
    workers: list[Process] = []

    async def start(name: str, **env: str) -> Process:
        usual = {"DATABASE_URL": shared_url, "COLLECTOR_TICK": "0.2", "COLLECTOR_CONCURRENCY": "2"}
        env = {**usual, "CATCHMENT_USER_AGENT": name, **env}
        workers.append(await Process.fork(fork_server, tmp_path, "worker", **env))
        return workers[-1]

    yield start
    for worker in workers:
        await worker.kill()
        assert PASSWORD not in "".join(worker.said)


@pytest.fixture
async def system(shared_url: str) -> AsyncIterator[System]:
    """The same store, looked at by the test."""
    async with open_system(Settings(database_url=shared_url, allow_networks="127.0.0.1")) as system:
        yield system
