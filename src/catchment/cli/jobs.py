"""`catchment jobs`: what the system does by itself; `catchment config`: settings in the store, for its next tick."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import AsJson, print_list, print_result
from catchment.cli.session import FAILED, with_new_store, with_system
from catchment.domain.run import COLLECTOR_TICK
from catchment.errors import FullStore, ReadOnlyStore

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.run import JobState


jobs = typer.Typer(
    name="jobs", help="List, run, pause and resume what the system does by itself.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(help="The job, as `jobs list` shows it.")]
COLUMNS = ("job", "next run", "last run", "how it went")


@jobs.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List the jobs, when each runs next and how it went last.

    Example: catchment jobs list
    """

    async def work(system: System) -> list[JobState]:
        # One that cannot be written is read as it is.
        with suppress(FullStore, ReadOnlyStore):
            await system.jobs.prepare()
        return await system.jobs.list()

    found = with_system(work)
    print_list(
        found, COLUMNS, ((one.name, _next_run(one), one.last_finished_at, _how(one)) for one in found), as_json=as_json
    )


def _next_run(job: JobState) -> object:
    if job.is_paused:
        return "paused"
    return "with each tick" if job.name == COLLECTOR_TICK else job.due_at


def _how(job: JobState) -> str:
    if job.last_ok is None:
        return "-"
    return f"{'ok' if job.last_ok else 'failed'}: {job.last_message}"


@jobs.command()
def pause(name: Name, *, as_json: AsJson = False) -> None:
    """Keep a job from running until it is resumed, in every process on this store.

    Example: catchment jobs pause cleanup
    """
    _set_paused(name, is_paused=True, as_json=as_json)


@jobs.command()
def resume(name: Name, *, as_json: AsJson = False) -> None:
    """Let a job run again.

    Example: catchment jobs resume cleanup
    """
    _set_paused(name, is_paused=False, as_json=as_json)


@jobs.command()
def run(name: Name, *, as_json: AsJson = False) -> None:
    """Run a job now, paused or not, and wait for it; ends with 1 if it fails, or if any process runs it already.

    Example: catchment jobs run cleanup
    """

    async def work(system: System) -> JobState:
        await system.jobs.prepare()
        return await system.jobs.run_and_wait(name)

    state = with_system(work)
    print_result(state, f"{name}: {state.last_message}", as_json=as_json)
    if not state.last_ok:
        raise typer.Exit(FAILED)


def _set_paused(name: str, *, is_paused: bool, as_json: bool) -> None:
    async def work(system: System) -> JobState:
        await system.jobs.prepare()
        return await system.jobs.set_paused(name, is_paused=is_paused)

    state = with_system(work)
    print_result(state, f"{name} is {'paused' if is_paused else 'at work'}.", as_json=as_json)


config = typer.Typer(
    name="config", help="Settings kept in the store, such as FETCH_INTERVAL_RSS.", no_args_is_help=True
)

Option = Annotated[str, typer.Argument(metavar="NAME", help="Such as FETCH_INTERVAL_RSS; upper or lower case.")]


@config.command("list")
def list_options(*, as_json: AsJson = False) -> None:
    """List what is set in the store.

    Example: catchment config list
    """
    _print_options(with_system(lambda system: system.interval_settings.read()), as_json=as_json)


@config.command("set")
def set_(name: Option, value: Annotated[str, typer.Argument(help="Its value.")], *, as_json: AsJson = False) -> None:
    """Set a value; it wins over the environment.

    Example: catchment config set FETCH_INTERVAL_RSS 60
    """
    _print_options(with_new_store(lambda system: system.interval_settings.change({name: value})), as_json=as_json)


@config.command()
def unset(name: Option, *, as_json: AsJson = False) -> None:
    """Remove a value; the environment's or the default holds again.

    Example: catchment config unset FETCH_INTERVAL_RSS
    """
    _print_options(with_system(lambda system: system.interval_settings.change({name: None})), as_json=as_json)


def _print_options(values: dict[str, str], *, as_json: bool) -> None:
    print_list(values, ("name", "value"), values.items(), as_json=as_json)
