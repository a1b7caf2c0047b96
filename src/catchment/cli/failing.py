"""How commands fail: in a sentence on stderr and with an exit code, never with a trace."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from catchment.cli.printing import say
from catchment.errors import CatchmentError, SettingsError

FAILED = 1
WRONG_USAGE = 2


class Commands(TyperGroup):
    """The commands, with every error that was raised on purpose told as it should be."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except CatchmentError as error:
            raise _told(error) from error
        except ExceptionGroup as group:
            # Work that is done side by side fails in groups. What was not raised on purpose is a mistake of ours.
            meant, other = group.split(CatchmentError)
            if meant is None or other is not None:
                raise
            raise _told(_first(meant)) from group


def _told(error: BaseException) -> typer.Exit:
    say(f"Error: {error}")
    return typer.Exit(WRONG_USAGE if isinstance(error, SettingsError) else FAILED)


def _first(group: BaseExceptionGroup[CatchmentError]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
