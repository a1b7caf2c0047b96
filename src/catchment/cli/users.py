"""`catchment keys` and `catchment users`: who may do what."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from catchment.cli.console import AsJson, ShowAll, print_json, print_list, print_result, storable
from catchment.cli.session import with_new_store, with_system
from catchment.domain.caller import OPERATOR, Role, Scope
from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from catchment.bootstrap import System
    from catchment.domain.account import ApiKey
    from catchment.manage.accounts import Accounts, NewKey

T = TypeVar("T")
keys = typer.Typer(name="keys", help="Create, list and revoke API keys.", no_args_is_help=True)
users = typer.Typer(name="users", help="Add, list and disable users; what they follow.", no_args_is_help=True)

Who = Annotated[str, typer.Argument(metavar="USER", help="The user's number or e-mail address.")]


class KeyRole(StrEnum):
    SERVICE = "service"
    ADMIN = "admin"


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    *,
    user: Annotated[str | None, typer.Option(help="The user it acts for: number or e-mail address.")] = None,
    role: Annotated[KeyRole | None, typer.Option(help="Or the role it has by itself.")] = None,
    scope: Annotated[Scope, typer.Option(help="How much it may of what the user or role may.")] = Scope.ADMIN,
    as_json: AsJson = False,
) -> None:
    """Create a key. It is shown this once; only its hash is kept.

    Example: catchment keys create "my script" --user ada@example.org --scope read
    """

    async def work(system: System) -> NewKey:
        user_id = (await system.accounts.find_user(user)).id if user else None
        own_role = Role(role) if role else None
        return await system.accounts.create_key(name, user_id=user_id, role=own_role, scope=scope)

    made = with_new_store(work)
    if as_json:
        print_json({"key": made.key, "api_key": made.secret})
    else:
        typer.echo(f"Made key {made.key.id} ({made.key.name}).")
        _show_key(made.secret)


@keys.command("list")
def list_keys(
    *,
    user: Annotated[str | None, typer.Option(help="Only those of this user: number or e-mail address.")] = None,
    show_all: ShowAll = False,
    as_json: AsJson = False,
) -> None:
    """List the keys, without their secrets.

    Example: catchment keys list
    """

    async def work(system: System) -> list[ApiKey]:
        if user is None:
            return await system.accounts.list_keys()
        return await system.accounts.list_keys_of((await system.accounts.find_user(user)).id)

    found = with_system(work)
    rows = [
        (one.id, one.prefix + "…", one.name, one.role, one.scope, one.user_id, one.is_active, one.last_used_at)
        for one in found
    ]
    print_list(
        found,
        ("id", "key", "name", "role", "scope", "user", "active", "last used"),
        rows,
        as_json=as_json,
        show_all=show_all,
    )


@keys.command()
def revoke(
    key_id: Annotated[
        int, typer.Argument(metavar="ID", help="The key's number, as `keys list` shows it.", callback=storable)
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Revoke a key: from now on it is refused.

    Example: catchment keys revoke 3
    """
    key = with_system(lambda system: system.accounts.revoke_key(key_id))
    print_result(key, f"Revoked key {key.id} ({key.name}).", as_json=as_json)


@users.command("add")
def add_user(
    email: Annotated[str, typer.Argument(help="The user's e-mail address.")],
    *,
    name: Annotated[str, typer.Option(help="The user's name.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="May do everything.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a user, with a password to begin with and a key, both shown this once.

    Example: catchment users add ada@example.org --name "Ada" --json
    """
    made = with_new_store(lambda system: system.accounts.enrol(email, name=name, is_admin=admin))
    if as_json:
        print_json(made)
        return
    typer.echo(f"Added user {made.user.id}: {made.user.name} <{made.user.email}>")
    typer.echo(_worded_password(made.temp_password))
    _show_key(made.api_key)


@users.command("list")
def list_users(*, show_all: ShowAll = False, as_json: AsJson = False) -> None:
    """List the users.

    Example: catchment users list
    """
    found = with_system(lambda system: system.accounts.list_users())
    rows = [(one.id, one.email, one.name, one.slug, one.is_admin, one.is_active, one.created_at) for one in found]
    print_list(
        found, ("id", "e-mail", "name", "slug", "admin", "active", "since"), rows, as_json=as_json, show_all=show_all
    )


@users.command()
def disable(who: Who, *, as_json: AsJson = False) -> None:
    """Refuse somebody from now on, by whatever key, token or session.

    Example: catchment users disable ada@example.org
    """
    _switch(who, is_active=False, as_json=as_json)


@users.command()
def enable(who: Who, *, as_json: AsJson = False) -> None:
    """Let somebody in again.

    Example: catchment users enable ada@example.org
    """
    _switch(who, is_active=True, as_json=as_json)


@users.command()
def digests(
    who: Who,
    *,
    public: Annotated[bool, typer.Option("--public/--private", help="Who may see them.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Show somebody's digests to everybody, or to them alone.

    Example: catchment users digests ada@example.org --public
    """
    user = _with_user(who, lambda accounts, user_id: accounts.set_digests_public(user_id, is_public=public))
    told = f"The digests of {user.name} <{user.email}> are {'public' if public else 'private'}."
    print_result(user, told, as_json=as_json)


@users.command()
def subscribe(
    who: Who,
    source_ids: Annotated[
        list[int] | None,
        typer.Argument(metavar="ID", help="Sources, by number; without one, all that they may follow."),
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Have somebody follow sources in their reading app: public ones, and their own.

    Example: catchment users subscribe ada@example.org 5 7
    """
    numbers = [storable(one) or 0 for one in source_ids or ()]

    async def work(system: System) -> int:
        caller = (await system.accounts.find_user(who)).caller()
        if not numbers:
            return await system.subscriptions.add_all(caller)
        for one in numbers:
            if not caller.may_see(await system.catalog.get(one, OPERATOR)):
                raise InvalidInput(f"Source {one} is private: `catchment sources set {one} --public` opens it.")
        return sum([await system.subscriptions.add(one, caller) for one in numbers])

    added = with_system(work)
    print_result({"added": added}, f"{who} follows {added} more source(s).", as_json=as_json)


@users.command("reset-password")
def reset_password(who: Who, *, as_json: AsJson = False) -> None:
    """Give somebody a new password to begin with, shown this once; the old one's sign-ins end.

    Example: catchment users reset-password ada@example.org
    """
    password = _with_user(who, lambda accounts, user_id: accounts.reset_password(user_id))
    print_result({"temp_password": password}, _worded_password(password), as_json=as_json)


def _with_user(who: str, work: Callable[[Accounts, int], Awaitable[T]]) -> T:
    async def find_and_work(system: System) -> T:
        return await work(system.accounts, (await system.accounts.find_user(who)).id)

    return with_system(find_and_work)


def _switch(who: str, *, is_active: bool, as_json: bool) -> None:
    user = _with_user(who, lambda accounts, user_id: accounts.set_active(user_id, is_active=is_active))
    told = f"{'Enabled' if is_active else 'Disabled'} user {user.id}: {user.name} <{user.email}>"
    print_result(user, told, as_json=as_json)


def _show_key(secret: str) -> None:
    typer.echo(f"Key (shown only now): {secret}")


def _worded_password(password: str) -> str:
    return f"Password to begin with (shown only now): {password}"
