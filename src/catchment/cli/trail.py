"""`catchment trail`: who changed what."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from catchment.cli.console import AsJson, print_json, print_table
from catchment.cli.session import with_system
from catchment.domain.caller import OPERATOR


def trail(
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many changes at most.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show who changed what, the newest first, through the API, pages and commands.

    Example: catchment trail --limit 20
    """
    lines = with_system(lambda system: system.history.trail(OPERATOR, limit=limit))
    if as_json:
        print_json([asdict(line) for line in lines])
        return
    rows = [(line.at, line.actor, line.action, line.object, line.summary) for line in lines]
    print_table(("when", "who", "did", "to", "what"), rows)
