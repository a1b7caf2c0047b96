"""`catchment keys` and `catchment users`: who may do what."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.printing import AsJson, print_json, print_table
from catchment.cli.session import with_system

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.account import User
    from catchment.manage.accounts import NewKey

keys = typer.Typer(name="keys", help="Create, list and revoke API keys.", no_args_is_help=True)
users = typer.Typer(name="users", help="Add and list users.", no_args_is_help=True)


class KeyRole(StrEnum):
    SERVICE = "service"
    ADMIN = "admin"


@keys.command()
def create(
    name: Annotated[str, typer.Argument(help="What the key is for.")],
    *,
    user: Annotated[int | None, typer.Option(metavar="ID", help="The user it acts for.")] = None,
    role: Annotated[KeyRole | None, typer.Option(help="Or the role it has by itself.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key. It is shown this once; only its hash is kept.

    Example: catchment keys create "my script" --role service
    """
    from catchment.domain.caller import Role

    own_role = Role(role) if role else None
    made = with_system(lambda system: system.accounts.create_key(name, user_id=user, role=own_role))
    if as_json:
        print_json({"key": made.key, "api_key": made.secret})
    else:
        _show_secret(made.secret)


@keys.command("list")
def list_keys(*, as_json: AsJson = False) -> None:
    """List the keys, without their secrets.

    Example: catchment keys list
    """
    found = with_system(lambda system: system.accounts.list_keys())
    if as_json:
        print_json(found)
        return
    rows = (
        (one.id, one.prefix + "…", one.name, one.role, one.user_id, one.is_active, one.last_used_at) for one in found
    )
    print_table(("id", "key", "name", "role", "user", "active", "last used"), rows)


@keys.command()
def revoke(
    key_id: Annotated[int, typer.Argument(metavar="ID", help="The key's number, as `keys list` shows it.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Revoke a key: from now on it is refused.

    Example: catchment keys revoke 3
    """
    key = with_system(lambda system: system.accounts.revoke_key(key_id))
    if as_json:
        print_json(key)
    else:
        typer.echo(f"Revoked key {key.id} ({key.name}).")


@users.command("add")
def add_user(
    email: Annotated[str, typer.Argument(help="The user's e-mail address.")],
    *,
    name: Annotated[str, typer.Option(help="The user's name.")] = "",
    admin: Annotated[bool, typer.Option("--admin", help="May do everything.")] = False,
    as_json: AsJson = False,
) -> None:
    """Add a user, with a key that is shown this once.

    Example: catchment users add ada@example.org --name "Ada" --json
    """

    async def work(system: System) -> tuple[User, NewKey]:
        user = await system.accounts.add_user(email, name=name, is_admin=admin)
        return user, await system.accounts.create_key("first key", user_id=user.id)

    user, made = with_system(work)
    if as_json:
        print_json({"user": user, "api_key": made.secret})
        return
    typer.echo(f"Added user {user.id}: {user.name} <{user.email}>")
    _show_secret(made.secret)


@users.command("list")
def list_users(*, as_json: AsJson = False) -> None:
    """List the users.

    Example: catchment users list
    """
    found = with_system(lambda system: system.accounts.list_users())
    if as_json:
        print_json(found)
        return
    rows = ((one.id, one.email, one.name, one.slug, one.is_admin, one.created_at) for one in found)
    print_table(("id", "e-mail", "name", "slug", "admin", "since"), rows)


def _show_secret(secret: str) -> None:
    typer.echo(f"Key (shown only now): {secret}")
