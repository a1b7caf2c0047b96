"""`catchment x`: whom the scraper of X follows."""

from __future__ import annotations

from typing import Annotated

import typer

from catchment.cli.printing import AsJson, print_json, print_table
from catchment.cli.session import with_system

x = typer.Typer(name="x", help="Follow users of X.", no_args_is_help=True)

Username = Annotated[str, typer.Argument(metavar="NAME", help="A user of X, with or without @.")]


@x.callback()
def _group() -> None:
    """Follow users of X."""


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
