"""`catchment feishu`: the table of Feishu Bitable that notes are copied to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import AsJson, print_json, print_table, say
from catchment.cli.session import FAILED, with_system

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.platforms.feishu.fields import FieldCheck

feishu = typer.Typer(name="feishu", help="The table of Feishu Bitable that notes are copied to.", no_args_is_help=True)


@feishu.callback()
def _group() -> None:
    """The table of Feishu Bitable that notes are copied to."""


@feishu.command()
def check(
    *,
    create: Annotated[bool, typer.Option("--create", help="Make the fields that are missing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Check that the table can be reached and has the fields of a note; if so, copying goes on at once.

    Example: catchment feishu check --create
    """
    from catchment.platforms.feishu.copy import set_up
    from catchment.platforms.feishu.fields import faults_told

    async def work(system: System) -> list[FieldCheck]:
        return await set_up(system.copier, system.settings).check(create=create)

    checks = with_system(work)
    if as_json:
        print_json(checks)
    else:
        print_table(("field", "type", "verdict"), ((one.name, one.wanted, one.verdict) for one in checks))
    if faults := faults_told(checks):
        say(f"Error: {faults}")
        raise typer.Exit(FAILED)
