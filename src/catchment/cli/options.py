"""`catchment config`: settings in the store, which take effect at the next tick."""

from __future__ import annotations

from typing import Annotated

import typer

from catchment.cli.console import AsJson, print_json, print_table
from catchment.cli.session import with_system

config = typer.Typer(
    name="config", help="Settings kept in the store, such as FETCH_INTERVAL_RSS.", no_args_is_help=True
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Such as FETCH_INTERVAL_RSS; upper or lower case.")]


@config.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List what is set in the store.

    Example: catchment config list
    """
    _print(with_system(lambda system: system.options.read()), as_json=as_json)


@config.command("set")
def set_(name: Name, value: Annotated[str, typer.Argument(help="Its value.")], *, as_json: AsJson = False) -> None:
    """Set a value; it wins over the environment.

    Example: catchment config set FETCH_INTERVAL_RSS 60
    """
    _print(with_system(lambda system: system.options.change({name: value}), makes_store=True), as_json=as_json)


@config.command()
def unset(name: Name, *, as_json: AsJson = False) -> None:
    """Remove a value; the environment's or the default holds again.

    Example: catchment config unset FETCH_INTERVAL_RSS
    """
    _print(with_system(lambda system: system.options.change({name: None})), as_json=as_json)


def _print(values: dict[str, str], *, as_json: bool) -> None:
    print_json(values) if as_json else print_table(("name", "value"), values.items())
