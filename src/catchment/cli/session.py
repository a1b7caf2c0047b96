"""The frame of every command: settings read, logs set up, the system opened, the work done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from catchment.cli.failing import FAILED

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.settings import Settings

T = TypeVar("T")


def read_settings() -> Settings:
    """From the environment and `.env`; the logs are set up as they say."""
    from catchment.logs import set_up_logs
    from catchment.settings import load_settings

    settings = load_settings()
    set_up_logs(level=settings.log_level, form=settings.log_format)
    return settings


def with_system(work: Callable[[System], Coroutine[Any, Any, T]], settings: Settings | None = None) -> T:
    """Open the system of the environment, or of the settings given, and do the work on it."""
    from catchment.bootstrap import open_system

    async def session() -> T:
        async with open_system(settings or read_settings()) as system:
            return await work(system)

    return run_async(session())


def run_async(work: Coroutine[Any, Any, T]) -> T:
    from catchment.eventloop import run

    try:
        return run(work)
    except asyncio.CancelledError:
        # A second signal: whoever sent it knows.
        raise typer.Exit(FAILED) from None
