from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from command import Command, Process, Start
from loguru import logger

from catchment.cli import signals


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
async def start(home: Path) -> AsyncIterator[Start]:
    """Starts processes; none outlives the test."""
    processes: list[Process] = []

    async def start_(*words: str, **env: str) -> Process:
        processes.append(await Process.start(home, *words, **env))
        return processes[-1]

    yield start_
    for process in processes:
        await process.kill()
