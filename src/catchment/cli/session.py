"""The frame of every command: settings read, logs set up, the system opened, the work done."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from catchment.cli.console import say

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.settings import Settings

from catchment.errors import MissingStore

DONE = 0
FAILED = 1
WRONG_USAGE = 2
#: As shells have it: 128, and the number of the signal.
INTERRUPTED = 130


T = TypeVar("T")


def read_settings() -> Settings:
    """From the environment and `.env`; the logs are set up as they say."""
    from catchment.logs import set_up_logs
    from catchment.settings import load_settings
    from catchment.settings.spec import worded_unknown

    settings = load_settings()
    set_up_logs(level=settings.log_level, form=settings.log_format)
    for name, meant in settings.unknown_variables.items():
        say(f"Warning: {worded_unknown(name, meant)}")
    return settings


def with_system(
    work: Callable[[System], Coroutine[Any, Any, T]], settings: Settings | None = None, *, makes_store: bool = False
) -> T:
    """Open the system of the environment, or of the settings given, and do the work on it.

    A store that is not there is made only for a command that puts something into it.
    """
    chosen = settings or read_settings()
    if makes_store:
        _name_new_store(chosen)
    return _in_session(work, chosen, makes_store=makes_store)


def _in_session(work: Callable[[System], Coroutine[Any, Any, T]], settings: Settings, *, makes_store: bool) -> T:
    from catchment.bootstrap import open_system
    from catchment.domain.audit_trail import acting
    from catchment.domain.caller import OPERATOR

    async def session() -> T:
        acting.set(OPERATOR)
        async with open_system(settings, makes_store=makes_store) as system:
            _name_unknown_intervals(settings, system)
            return await work(system)

    return run_async(session())


def with_new_store(
    work: Callable[[System], Coroutine[Any, Any, T]],
    trial: Callable[[System], Coroutine[Any, Any, object]] | None = None,
) -> T:
    """As `with_system`, for what puts something into the store at once: one that is not there yet is made only for work
    that can be done, which is tried on an empty one first; or the part of it is that may be done twice.
    """
    settings = read_settings()
    try:
        return with_system(work, settings)
    except MissingStore:
        _with_empty_store(trial or work, settings)
        return with_system(work, settings, makes_store=True)


def with_store_if_any(work: Callable[[System], Coroutine[Any, Any, T]]) -> T:
    """As `with_system`, for what only shows what would be done: where there is no store yet, on an empty one that is
    gone afterwards.
    """
    settings = read_settings()
    try:
        return with_system(work, settings)
    except MissingStore:
        return _with_empty_store(work, settings)


def _with_empty_store(work: Callable[[System], Coroutine[Any, Any, T]], settings: Settings) -> T:
    with TemporaryDirectory() as folder:
        return _in_session(work, replace(settings, home=Path(folder), database_url=""), makes_store=True)


def _name_unknown_intervals(settings: Settings, system: System) -> None:
    given = settings.intervals_from_environment.keys() | settings.intervals_from_file.keys()
    if not given:
        return
    from catchment.settings import INTERVAL_PREFIX
    from catchment.settings.spec import likely_one

    # Also those that are there once their key is.
    known = sorted(system.registry)
    for name in sorted(given.difference(known)):
        meant = likely_one(name, known)
        hint = f"; did you mean {INTERVAL_PREFIX}{meant.upper()}?" if meant else "."
        say(f"Warning: {INTERVAL_PREFIX}{name.upper()} is for no type of source{hint}")


def say_empty(settings: Settings, what: str) -> None:
    """Name the store in which nothing was found: it may not be the one that was meant."""
    from catchment.store.database import shown_place, store_url

    say(f"The store {shown_place(store_url(settings.store_url()))} has no {what} yet.")


def _name_new_store(settings: Settings) -> None:
    from catchment.store.database import sqlite_file, store_url

    file = sqlite_file(store_url(settings.store_url()))
    if file is not None and not file.exists():
        say(f"There is no store at {file} yet: a new one is made.")


def command_for(settings: Settings, **variables: str) -> str:
    """How this program is called for this store from another terminal in the same folder, with these variables."""
    from catchment.settings import load_settings

    if not settings.database_url and settings.home != load_settings({}).home:
        variables["CATCHMENT_HOME"] = str(settings.home.absolute())
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in sorted(variables.items())), program()])


def program() -> str:
    """How this program was called, in a way that works when it is pasted."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m catchment.cli"
    if shutil.which(called.name) == str(called):
        return called.name
    here, whole = Path.cwd(), Path(os.path.abspath(called))  # noqa: PTH100 - a link to the program stays that link
    return shlex.quote(str(whole.relative_to(here) if whole.is_relative_to(here) else whole))


def run_async(work: Coroutine[Any, Any, T]) -> T:
    from catchment.eventloop import run

    try:
        return run(work)
    except asyncio.CancelledError:
        # A second signal: whoever sent it knows.
        raise typer.Exit(FAILED) from None
