"""`catchment x scrape`: fetch tweets now."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.failing import FAILED
from catchment.cli.printing import AsJson, print_facts, print_json, print_table, say
from catchment.cli.session import with_system
from catchment.cli.stopping import stop_on_signals
from catchment.domain.scrape_task import LEAST_LIMIT, MOST_LIMIT, USUAL_LIMIT, TaskStatus

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.scrape_task import ScrapeOrder, ScrapeTask

REFRESH_SECONDS = 0.2


def scrape(
    usernames: Annotated[
        str, typer.Argument(metavar="NAMES", help="Users, comma-separated, with or without @; all follows if left out.")
    ] = "",
    *,
    limit: Annotated[int, typer.Option(min=LEAST_LIMIT, max=MOST_LIMIT, help="Tweets of each at most.")] = USUAL_LIMIT,
    as_json: AsJson = False,
) -> None:
    """Fetch the newest tweets of these users and store what is new.

    Example: catchment x scrape @openai,@python --limit 50
    """
    task = with_system(lambda system: _scrape(system, usernames, limit), makes_store=True)
    if as_json:
        print_json(_shape(task))
    else:
        _print(task)
    if task.status is not TaskStatus.COMPLETED or not any(one.success for one in task.outcomes):
        say(f"Error: {task.error or 'no user could be scraped'}")
        raise typer.Exit(FAILED)


async def _scrape(system: System, usernames: str, limit: int) -> ScrapeTask:
    """Until it is over, or somebody wants it to stop: then it is cancelled, and what came stays."""
    order = await _order(system, usernames, limit)
    async with stop_on_signals() as stop:
        task = await system.scraping.start(order)
        with _bar(len(order.usernames)) as show:
            while task.status is TaskStatus.RUNNING and not stop.is_set():
                await asyncio.sleep(REFRESH_SECONDS)
                task = await system.scraping.get(task.task_id)
                show(len(task.outcomes))
    return await system.scraping.cancel(task.task_id) if task.status is TaskStatus.RUNNING else task


async def _order(system: System, usernames: str, limit: int) -> ScrapeOrder:
    from catchment.domain.scrape_task import ScrapeOrder, usernames_in
    from catchment.errors import InvalidInput

    names = usernames_in(usernames) or tuple(follow.username for follow in await system.follows.list())
    if not names:
        raise InvalidInput("Nobody is followed: name somebody, or use `catchment x follow`.")
    return ScrapeOrder(usernames=names, limit=limit, asked_by="operator")


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    """Shows how many users are done, on a terminal; elsewhere nothing."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("scraping", total=total)
        yield lambda done: progress.update(bar, completed=done)


def _print(task: ScrapeTask) -> None:
    rows = [
        (f"@{one.username}", one.success, one.fetched, one.new, one.skipped, one.errors, one.error_message or "")
        for one in task.outcomes
    ]
    print_table(("user", "ok", "fetched", "new", "known", "errors", "error"), rows)
    if task.report:
        print_facts({name.replace("_", " "): value for name, value in task.report.items()})


def _shape(task: ScrapeTask) -> dict[str, Any]:
    facts = {name: value for name, value in asdict(task).items() if name != "outcomes"}
    return {**facts, "progress": task.progress, "result": task.result}
