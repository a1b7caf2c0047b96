"""`catchment x`: whom the scraper of X follows, and how scraping goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.printing import AsJson, print_facts, print_json, print_table
from catchment.cli.session import with_system

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.monitor.scraped import XNumbers

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
    from catchment.monitor.scraped import read_x

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
    added = with_system(
        lambda system: system.follows.add(username, reason=reason, added_by="operator"), makes_store=True
    )
    if as_json:
        print_json(added)
    else:
        typer.echo(f"Following @{added.username}.")


@x.command()
def unfollow(username: Username, *, as_json: AsJson = False) -> None:
    """Give a user up. Their tweets stay.

    Example: catchment x unfollow @openai
    """
    removed = with_system(lambda system: system.follows.remove(username))
    if as_json:
        print_json(removed)
    else:
        typer.echo(f"No longer following @{removed.username}.")


@x.command()
def follows(
    *,
    everybody: Annotated[bool, typer.Option("--all", help="Those who were given up too.")] = False,
    as_json: AsJson = False,
) -> None:
    """List whom the scraper follows.

    Example: catchment x follows --json
    """
    found = with_system(lambda system: system.follows.list(include_inactive=everybody))
    if as_json:
        print_json(found)
        return
    rows = ((one.username, one.reason, one.added_by, one.added_at, one.is_active) for one in found)
    print_table(("user", "reason", "added by", "since", "active"), rows)
