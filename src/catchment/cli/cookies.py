"""`catchment cookies`: the cookies that platforms are read with. Values are taken in and never shown."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import (
    STANDARD_INPUT,
    AsJson,
    print_json,
    print_list,
    print_result,
    read_file,
    say,
)
from catchment.cli.session import FAILED, with_new_store, with_system
from catchment.domain.note import Platform
from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from catchment.domain.cookie import Cookie
    from catchment.manage.cookies import CookieChanges, Cookies

cookies = typer.Typer(name="cookies", help="Cookies of platforms: add, watch, rotate.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The cookie, as `cookies list` shows it.")]
Priority = Annotated[int | None, typer.Option(min=0, max=100, help="Those of a higher one are used first.")]
DailyLimit = Annotated[
    int | None,
    typer.Option(min=1, max=10_000, help="Reads a day at most: a search, a note, or its comments are one each."),
]
Description = Annotated[str | None, typer.Option(help="For whoever looks at the list later.")]
#: The fields of the list, each by its heading.
COLUMNS = {
    "name": "name",
    "platform": "platform",
    "status": "status",
    "enabled": "is_enabled",
    "priority": "priority",
    "today": "daily_used",
    "limit": "daily_limit",
    "errors": "total_errors",
    "cooling until": "cooling_until",
    "last used": "last_used_at",
}


@cookies.command()
def add(
    *,
    platform: Annotated[Platform, typer.Option(help="Where it is from.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="How it is called here, 1 to 50 characters.")],
    file: Annotated[str, typer.Option(metavar="FILE|-", help="Holds the value; - for stdin.")] = STANDARD_INPUT,
    priority: Priority = None,
    daily_limit: DailyLimit = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Add a cookie, or give the one of that name a new value. The value comes from stdin or a file, never by argument.

    Example: catchment cookies add --platform xhs --name account_01 --file cookie.txt
    """
    from catchment.manage.cookies import CookieChanges

    value = _value(file)
    settings = CookieChanges(priority=priority, daily_limit=daily_limit, description=description)
    _tell(lambda all_: all_.add(name, platform, value, settings=settings), as_json=as_json, makes_store=True)


@cookies.command("list")
def list_(
    *,
    platform: Annotated[Platform | None, typer.Option(help="Only of this one.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the cookies, without their values.

    Example: catchment cookies list --platform xhs
    """
    from catchment.manage.cookies import shown

    found = with_system(lambda system: system.cookies.list(platform))
    rows = ([getattr(one, field) for field in COLUMNS.values()] for one in found)
    print_list([shown(one) for one in found], list(COLUMNS), rows, as_json=as_json)


@cookies.command()
def enable(name: Name, *, as_json: AsJson = False) -> None:
    """Let a cookie be used again.

    Example: catchment cookies enable account_01
    """
    from catchment.manage.cookies import CookieChanges

    _change(name, CookieChanges(is_enabled=True), as_json=as_json)


@cookies.command()
def disable(name: Name, *, as_json: AsJson = False) -> None:
    """Use a cookie no more until it is enabled; the request it is in is finished.

    Example: catchment cookies disable account_01
    """
    from catchment.manage.cookies import CookieChanges

    _change(name, CookieChanges(is_enabled=False), as_json=as_json)


@cookies.command("set")
def set_(
    name: Name,
    *,
    priority: Priority = None,
    daily_limit: DailyLimit = None,
    description: Description = None,
    as_json: AsJson = False,
) -> None:
    """Change how much and when a cookie is used.

    Example: catchment cookies set account_01 --priority 5 --daily-limit 50
    """
    from catchment.manage.cookies import CookieChanges

    changes = CookieChanges(priority=priority, daily_limit=daily_limit, description=description)
    if not changes.given():
        raise typer.BadParameter("Say what to change: --priority, --daily-limit or --description.")
    _change(name, changes, as_json=as_json)


@cookies.command()
def reset(name: Name, *, as_json: AsJson = False) -> None:
    """Make a cookie active again, whatever its state, and forget its errors.

    Example: catchment cookies reset account_01
    """
    _tell(lambda all_: all_.reset(name), as_json=as_json)


@cookies.command()
def remove(name: Name) -> None:
    """Remove a cookie for good.

    Example: catchment cookies remove account_01
    """
    with_system(lambda system: system.cookies.remove(name))
    say(f"The cookie {name} is removed.")


@cookies.command()
def validate(name: Name, *, as_json: AsJson = False) -> None:
    """Ask the platform whether it knows the cookie; if not, the cookie is invalid and the exit code 1.

    Example: catchment cookies validate account_01
    """
    found = with_system(lambda system: system.cookies.check(name))
    print_result(found, f"{name}: {'valid' if found.is_valid else 'not valid'}, {found.status}.", as_json=as_json)
    if not found.is_valid:
        raise typer.Exit(FAILED)


@cookies.command()
def rotate(*, as_json: AsJson = False) -> None:
    """Seal every cookie with the present key (COOKIE_KEY_ID, COOKIE_MASTER_KEY), while others go on using them.

    Example: catchment cookies rotate
    """
    found = with_system(lambda system: system.cookies.rotate(lambda done, total: say(f"{done} of {total}")))
    print_result(found, f"{found.resealed} sealed anew.", as_json=as_json)
    if found.unreadable:
        say(f"Their key is not at hand, so they stay as they are: {', '.join(found.unreadable)}.")
        raise typer.Exit(FAILED)


@cookies.command()
def forecast(*, as_json: AsJson = False) -> None:
    """Say how long the cookies will last, at the rate of the last hour.

    Example: catchment cookies forecast
    """
    found = with_system(lambda system: system.cookies.forecast())
    if as_json:
        print_json(list(found))
        return
    for one in found:
        typer.echo(one.sentence)
        for worn in one.wearing_out:
            typer.echo(f"  {worn.name} will be worn out by errors around {worn.at:%Y-%m-%d %H:%M} UTC.")


def _value(file: str) -> str:
    if file == STANDARD_INPUT and sys.stdin.isatty():
        value: str = typer.prompt("Value of the cookie (not shown)", hide_input=True, err=True)
        return value
    try:
        return read_file(file).decode()
    except UnicodeDecodeError as error:
        raise InvalidInput("The value of a cookie is plain text.", field="value") from error


def _change(name: str, changes: CookieChanges, *, as_json: bool) -> None:
    _tell(lambda all_: all_.change(name, changes), as_json=as_json)


def _tell(work: Callable[[Cookies], Coroutine[Any, Any, Cookie]], *, as_json: bool, makes_store: bool = False) -> None:
    """Do it, and say what became of the cookie."""
    from catchment.manage.cookies import shown

    cookie = (with_new_store if makes_store else with_system)(lambda system: work(system.cookies))
    if as_json:
        print_json(shown(cookie))
    else:
        enabled = "enabled" if cookie.is_enabled else "disabled"
        limits = f"{cookie.daily_used} of {cookie.daily_limit} reads used today"
        typer.echo(f"{cookie.name} ({cookie.platform}): {cookie.status}, {enabled}, {limits}.")
