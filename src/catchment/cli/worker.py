"""`catchment worker`: one of several collectors, on as many machines as there are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import typer

from catchment.cli.console import say
from catchment.cli.session import FAILED, read_settings, with_system
from catchment.cli.signals import stop_on_signals
from catchment.errors import SettingsError

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.settings import Settings


def worker() -> None:
    """Collect what is due, together with any number of other workers on any number of machines, until stopped.

    They share one PostgreSQL. When one is killed, the others take its work over.

    Example: catchment worker
    """
    settings = read_settings()
    _require_postgres(settings)
    _require_procrastinate()
    from catchment.workers.worker import for_a_worker

    if not with_system(_work, for_a_worker(settings), makes_store=True):
        raise typer.Exit(FAILED)


def _require_postgres(settings: Settings) -> None:
    from catchment.store.database import store_url

    if store_url(settings.store_url()).get_backend_name() == "sqlite":
        raise SettingsError(
            "Workers share their work by PostgreSQL: set DATABASE_URL to postgresql://…. "
            "On SQLite, which is one machine, COLLECTOR_PROCESSES has `collect --loop` run several collectors."
        )


def _require_procrastinate() -> None:
    try:
        import catchment.workers.queue  # noqa: F401
    except ModuleNotFoundError as error:
        raise SettingsError(f"Workers need an extra: pip install 'catchment[workers]' ({error}).") from error


async def _work(system: System) -> bool:
    from catchment.workers.worker import Worker

    async with stop_on_signals() as stop, asyncio.TaskGroup() as tasks:
        tasks.create_task(system.jobs.keep(stop))
        try:
            await Worker(system).serve(stop)
        except TimeoutError as error:
            say(f"Error: {error}")
            return False
        return True
