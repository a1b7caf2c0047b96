from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from command import Command, Process, Start
from loguru import logger

from catchment.cli import signals
from fork_server import ForkServer


@pytest.fixture
def home(sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with nothing but a new store, and the working folder as well: no `.env` is found there."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def catchment(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:
    # They belong to the process of the test.
    monkeypatch.setattr(signals, "SIGNALS", ())
    yield Command(home)
    # The logs went to a stream that is gone.
    logger.remove()


@pytest.fixture
async def start(home: Path, fork_server: ForkServer) -> AsyncIterator[Start]:
    """Starts processes, forked unless one is to begin from scratch; none outlives the test."""
    processes: list[Process] = []

    async def start_(*words: str, from_scratch: bool = False, **env: str) -> Process:
        begun = Process.start(home, *words, **env) if from_scratch else Process.fork(fork_server, home, *words, **env)
        processes.append(await begun)
        return processes[-1]

    yield start_
    for process in processes:
        await process.kill()
