"""`catchment import` and `catchment export`: lists of sources, as OPML, YAML or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.console import AsJson, FileOnce, file_or_stdout, print_json, print_table, progress_bar, say
from catchment.cli.session import with_new_store, with_system
from catchment.domain.caller import OPERATOR
from catchment.domain.listing import ListFormat

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.import_export import ImportedLine

#: Lines of each kind in the table of what was not added.
MAX_REFUSED, MAX_DUPLICATE = 1000, 20

Output = Annotated[Path | None, typer.Option("--output", "-o", help="The file to write; stdout without.")]


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE|URL|-", help="A file, its address, or - for stdin.")],
    *,
    trust: Annotated[
        bool, typer.Option("--trust", help="Take allow_private and verify_tls from it too: you know who wrote it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import the sources of an OPML, YAML or JSON file; OPML folders become tags.

    What is there already stays as it is, and a bad line spoils no other.

    Example: catchment import subscriptions.opml
    """
    from catchment.manage.import_export import count_results, import_sources

    body = FileOnce(file)

    async def work(system: System) -> list[ImportedLine]:
        read = await body.read(system)
        with progress_bar() as progress:
            return await import_sources(
                system.catalog, system.parsers, read, OPERATOR, trusted=trust, progress=progress
            )

    lines = with_new_store(work)
    counts = count_results(lines)
    if as_json:
        print_json({"results": lines, "totals": counts})
        return
    print_lines(lines)
    typer.echo("{added} added, {duplicate} there already, {refused} refused.".format(**counts))


def export(
    *,
    output: Output = None,
    form: Annotated[
        ListFormat, typer.Option("--format", help="opml for other readers, yaml for `apply`.")
    ] = ListFormat.OPML,
) -> None:
    """Export all sources: as OPML for any other reader, as YAML for `catchment apply`, or as JSON.

    Passwords and the like stay here.

    Example: catchment export --output subscriptions.opml
    """
    from catchment.manage.import_export import export_sources

    async def work(system: System) -> list[str]:
        notes: list[str] = []
        with file_or_stdout(output) as file:
            async for part in export_sources(system.catalog, OPERATOR, form, now=system.clock.now()):
                file.write(part.body)
                notes += part.notes
        return notes

    for note in with_system(work):
        say(note)


def print_lines(lines: Sequence[ImportedLine]) -> None:
    """What a person should look at: refusals, what was taken only in part, and some of the duplicates."""
    from catchment.manage.import_export import LineResult

    duplicates = [one for one in lines if one.result is LineResult.DUPLICATE]
    trouble = [one for one in lines if one.reason and one.result is not LineResult.DUPLICATE]
    shown = [*trouble[:MAX_REFUSED], *duplicates[:MAX_DUPLICATE]]
    if not shown:
        return
    rows = ((one.line, one.result, one.name, one.url, one.reason) for one in shown)
    print_table(("line", "result", "name", "address", "why"), rows)
    if left := len(trouble) + len(duplicates) - len(shown):
        say(f"… and {left:,} more; --json lists them all.")
