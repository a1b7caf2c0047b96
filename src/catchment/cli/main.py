"""The command line: `catchment`. Exit codes: 0 done, 1 failed, 2 wrong usage."""

from __future__ import annotations

import gc
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command as as_command

from catchment import __version__
from catchment.cli.console import ReaderGone, open_what_is_closed, say, watch_stdout
from catchment.cli.session import DONE, FAILED, INTERRUPTED, WRONG_USAGE
from catchment.errors import CatchmentError, InvalidInput, SettingsError

OBJECTS_BETWEEN_LOOKS = 50_000
_SHOWN_CHARS = 200
#: The commands in the order of the help, each with where it is: its module, and its name there if that is another.
COMMANDS = {
    "up": "up",
    "signin": "up",
    "demo": "demo",
    "collect": "collect",
    "worker": "collect",
    "add": "add",
    "sources": "sources",
    "items": "items",
    "feeds": "feeds",
    "sitemap": "sitemap",
    "import": "import_export:import_",
    "export": "import_export",
    "apply": "apply",
    "packs": "packs",
    "undo": "sources",
    "status": "status",
    "why": "status",
    "trail": "status",
    "alerts": "status",
    "config": "jobs",
    "x": "x",
    "cookies": "cookies",
    "crawl": "crawl",
    "jobs": "jobs",
    "mcp": "mcp",
    "hooks": "webhooks",
    "feishu": "crawl",
    "keys": "users",
    "users": "users",
    "doctor": "status",
    "docs": "docs",
    "audit": "audit",
    "backup": "backup",
    "restore": "backup",
    "migrate-store": "backup:migrate_store",
}


class Commands(TyperGroup):
    """The commands, each imported when it is called. Errors that were raised on purpose are told as they should be."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - its base class names it
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - as above
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _imported(cmd_name)
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in COMMANDS:
            # Of those that were imported, the likely ones are named.
            for likely in get_close_matches(args[0], COMMANDS):
                self.get_command(ctx, likely)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CatchmentError as error:
            raise _told(error) from error
        except OSError as error:
            if error.filename is None:
                raise
            raise _told(InvalidInput(f"{error.filename} cannot be used: {error.strerror}.")) from error
        except UnicodeEncodeError as error:
            # Only of what the shell hands over: what others write is cleaned before it is looked up or kept.
            raise _told(
                InvalidInput(f"{error.object[:_SHOWN_CHARS]!r} is not text in UTF-8; write it as such.")
            ) from error
        except ExceptionGroup as group:
            # Work that is done side by side fails in groups. What was not raised on purpose is a mistake of ours.
            meant, other = group.split(CatchmentError)
            if meant is None or other is not None:
                raise
            raise _told(_first(meant)) from group


def _imported(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(f"catchment.cli.{module}"), attribute or name)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name)(found)
        found = alone
    return as_command(found)


def _told(error: BaseException) -> typer.Exit:
    if isinstance(error, ReaderGone):
        return typer.Exit(DONE)
    say(f"Error: {error}")
    return typer.Exit(WRONG_USAGE if isinstance(error, SettingsError) else FAILED)


def _first(group: BaseExceptionGroup[CatchmentError]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


app = typer.Typer(
    name="catchment",
    help="Everything you follow, collected on time, exactly once, and given back anywhere.",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"catchment {__version__}")
        raise typer.Exit


@app.callback()
def catchment(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Say which version this is.", is_eager=True, callback=_say_version)
    ] = False,
) -> None:
    pass


def run() -> None:
    open_what_is_closed()
    watch_stdout()
    # While a command starts, much is made and little dropped: to look for cycles took an eighth of it.
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS)
    try:
        app()
    except KeyboardInterrupt:
        # Before there was anything to finish.
        sys.exit(INTERRUPTED)
    except CatchmentError as error:
        # Help and the version are printed before there is a command.
        sys.exit(_told(error).exit_code)
