"""`catchment x`: whom the scraper of X follows, how scraping goes, and scraping by hand."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import (
    AsJson,
    print_facts,
    print_json,
    print_list,
    print_one,
    print_result,
    print_table,
    progress_bar,
    say,
)
from catchment.cli.session import FAILED, with_new_store, with_system
from catchment.cli.signals import stop_on_signals
from catchment.domain.run import LEAST_INTERVAL, MAX_INTERVAL, SCRAPER_JOB
from catchment.domain.scrape_task import LEAST_LIMIT, MAX_LIMIT, TaskStatus, how_far

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.scrape_task import ScrapeOrder, ScrapeTask
    from catchment.domain.tweet import Depth
    from catchment.manage.scraper_schedule import ScheduleView
    from catchment.monitor.alerting import XNumbers

LOOK_SECONDS = 0.2


def scrape(
    usernames: Annotated[
        str, typer.Argument(metavar="NAMES", help="Users, comma-separated, with or without @; all follows if left out.")
    ] = "",
    *,
    limit: Annotated[
        int | None,
        typer.Option(min=LEAST_LIMIT, max=MAX_LIMIT, help="Of each, read this far, also below what is known."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Read each timeline to its end.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fetch the newest tweets of these users and store what is new: down to what is known, 100 of each at most.

    Example: catchment x scrape @openai,@python --limit 50
    """
    if full and limit is not None:
        raise typer.BadParameter("either a limit, or all of it", param_hint="--full")
    reading = how_far(limit, full=full)
    task = with_new_store(
        lambda system: _scrape(system, usernames, reading), trial=lambda system: _order(system, usernames, reading)
    )
    if as_json:
        print_json(_shape(task))
    else:
        _print(task)
    if task.status is not TaskStatus.COMPLETED or not any(one.success for one in task.outcomes):
        say(f"Error: {task.error or 'no user could be scraped'}")
        raise typer.Exit(FAILED)


def schedule(
    *,
    interval: Annotated[
        int | None, typer.Option(min=LEAST_INTERVAL, max=MAX_INTERVAL, help="Seconds, instead of what is set up.")
    ] = None,
    take_back: Annotated[
        bool, typer.Option("--take-back", help="Forget such an interval: SCRAPER_CRON or SCRAPER_INTERVAL hold again.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show when the scraper runs by itself, or change it; a server follows within seconds.

    Example: catchment x schedule --interval 3600
    """
    if interval is not None and take_back:
        raise typer.BadParameter("either an interval, or taking it back", param_hint="--take-back")
    facts = with_system(
        lambda system: _schedule(system, interval, take_back=take_back), makes_store=interval is not None
    )
    print_one(facts, as_json=as_json)


async def _schedule(system: System, interval: int | None, *, take_back: bool) -> dict[str, Any]:
    view = await _changed(system, interval, take_back=take_back)
    due = {state.name: state.due_at for state in await system.jobs.list()}
    return {
        "interval_seconds": view.interval_seconds,
        "cron": view.cron,
        # This process rings for nobody, so what counts is when the job is due for all of them.
        "next_run_time": due.get(SCRAPER_JOB),
        "is_enabled": view.is_enabled,
        "updated_at": view.updated_at,
        "updated_by": view.updated_by,
    }


async def _changed(system: System, interval: int | None, *, take_back: bool) -> ScheduleView:
    if interval is not None:
        return await system.scraper_schedule.set_interval(interval, by="operator")
    if take_back:
        return await system.scraper_schedule.take_back_interval(by="operator")
    return await system.scraper_schedule.show()


async def _scrape(system: System, usernames: str, reading: tuple[int | None, Depth]) -> ScrapeTask:
    """Until it is over, or somebody wants it to stop: then it is cancelled, and what came stays."""
    order = await _order(system, usernames, reading)
    async with stop_on_signals() as stop:
        task = await system.scraping.start(order)
        with progress_bar("scraping", is_kept=False) as show:
            while task.status is TaskStatus.RUNNING and not stop.is_set():
                await asyncio.sleep(LOOK_SECONDS)
                task = await system.scraping.get(task.task_id)
                if show:
                    show(len(task.outcomes), len(order.usernames))
    return await system.scraping.cancel(task.task_id) if task.status is TaskStatus.RUNNING else task


async def _order(system: System, usernames: str, reading: tuple[int | None, Depth]) -> ScrapeOrder:
    from catchment.domain.scrape_task import ScrapeOrder, usernames_in
    from catchment.errors import InvalidInput

    system.scraping.require_key()
    names = usernames_in(usernames) or tuple(follow.username for follow in await system.follows.list())
    if not names:
        raise InvalidInput("Nobody is followed: name somebody, or use `catchment x follow`.")
    limit, depth = reading
    return ScrapeOrder(usernames=names, limit=limit, depth=depth, asked_by="operator")


def _print(task: ScrapeTask) -> None:
    rows = [
        (f"@{one.username}", one.success, one.fetched, one.new, one.skipped, one.errors, one.error_message or "")
        for one in task.outcomes
    ]
    print_table(("user", "ok", "fetched", "new", "known", "errors", "error"), rows)
    if task.report:
        print_facts(task.report)


def _shape(task: ScrapeTask) -> dict[str, Any]:
    facts = {name: value for name, value in asdict(task).items() if name != "outcomes"}
    return {**facts, "progress": task.progress, "result": task.result}


x = typer.Typer(name="x", help="Follow users of X, and see how scraping goes.", invoke_without_command=True)

Username = Annotated[str, typer.Argument(metavar="NAME", help="A user of X, with or without @.")]


@x.callback()
def _group(context: typer.Context) -> None:
    """Follow users of X, and see how scraping goes; without a command, that is shown.

    Example: catchment x
    """
    if context.invoked_subcommand is None:
        status()


@x.command()
def status(*, as_json: AsJson = False) -> None:
    """Show the scrapes of the last day, their failures, and the pages spent.

    Example: catchment x status --json
    """
    found = with_system(read_numbers)
    if as_json:
        print_json(found)
    else:
        print_numbers(found)


async def read_numbers(system: System) -> XNumbers:
    from catchment.monitor.alerting import read_x

    return await system.store.read(read_x, system.settings, now=system.clock.now())


def print_numbers(found: XNumbers) -> None:
    tasks = ", ".join(f"{count} {status}" for status, count in found.tasks_24h.items() if count)
    facts = {
        "scrapes in 24 hours": tasks or None,
        "users that failed": found.failed_users_24h,
        "last failure": found.last_failure,
        "pages spent today": _of(found.pages_today, found.daily_cap),
        "pages spent this month": _of(found.pages_this_month, found.monthly_cap),
    }
    print_facts(facts, title="X")


def _of(pages: int, cap: int) -> str:
    return f"{pages} of {cap}" if cap else str(pages)


@x.command()
def follow(
    username: Username,
    *,
    reason: Annotated[str, typer.Option(help="Why, for whoever looks at the list later.")] = "by command",
    as_json: AsJson = False,
) -> None:
    """Follow a user: the scraper fetches their tweets from now on.

    Example: catchment x follow @openai --reason "model news"
    """
    added = with_new_store(lambda system: system.follows.add(username, reason=reason, added_by="operator"))
    print_result(added, f"Following @{added.username}.", as_json=as_json)


@x.command()
def unfollow(username: Username, *, as_json: AsJson = False) -> None:
    """Give a user up. Their tweets stay.

    Example: catchment x unfollow @openai
    """
    removed = with_system(lambda system: system.follows.remove(username))
    print_result(removed, f"No longer following @{removed.username}.", as_json=as_json)


@x.command()
def follows(
    *,
    everybody: Annotated[
        bool, typer.Option("--all", help="Everybody, also those who were given up; else the first 50.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List whom the scraper follows.

    Example: catchment x follows --json
    """
    found = with_system(lambda system: system.follows.list(include_inactive=everybody))
    rows = [(one.username, one.reason, one.added_by, one.added_at, one.is_active) for one in found]
    print_list(found, ("user", "reason", "added by", "since", "active"), rows, as_json=as_json, show_all=everybody)


x.command()(scrape)
x.command()(schedule)
