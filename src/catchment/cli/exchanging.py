"""`catchment import` and `catchment export`: lists of feeds, as OPML."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.printing import AsJson, print_json, print_table, say
from catchment.cli.session import with_system
from catchment.domain.caller import OPERATOR
from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.source import Source
    from catchment.manage.importing import ImportedLine

STANDARD_INPUT = "-"
#: Lines in the table of what was not added.
MOST_SHOWN = 100
WEB = ("http://", "https://")


def import_feeds(
    file: Annotated[str, typer.Argument(metavar="FILE|URL|-", help="An OPML file, its address, or - for stdin.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Import the feeds of an OPML file; folders become tags.

    What is there already stays as it is, and a bad line spoils no other.

    Example: catchment import subscriptions.opml
    """
    from catchment.manage.importing import count_results, import_opml

    async def work(system: System) -> list[ImportedLine]:
        return await import_opml(system.catalog, await _read(system, file), OPERATOR)

    lines = with_system(work)
    counts = count_results(lines)
    if as_json:
        print_json({"results": lines, "totals": counts})
        return
    _print_trouble([one for one in lines if one.reason])
    typer.echo("{added} added, {duplicate} there already, {refused} refused.".format(**counts))


def export_feeds(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file to write; stdout without.")] = None,
) -> None:
    """Export all feeds as OPML, for any other reader.

    Example: catchment export --output subscriptions.opml
    """
    from catchment.manage.importing import export_opml

    async def work(system: System) -> tuple[bytes, list[Source]]:
        return await export_opml(system.catalog, OPERATOR, now=system.clock.now())

    written, left_out = with_system(work)
    if output is None:
        sys.stdout.buffer.write(written)
        sys.stdout.flush()
    else:
        _write(output, written)
    if left_out:
        say(f"Left out, because they are no feeds: {', '.join(source.name for source in left_out)}.")


def _print_trouble(lines: list[ImportedLine]) -> None:
    if not lines:
        return
    rows = ((one.line, one.result, one.name, one.url, one.reason) for one in lines[:MOST_SHOWN])
    print_table(("line", "result", "name", "address", "why"), rows)
    if len(lines) > MOST_SHOWN:
        say(f"… and {len(lines) - MOST_SHOWN:,} more; --json lists them all.")


async def _read(system: System, file: str) -> bytes:
    if file.lower().startswith(WEB):
        return (await system.http.get(file)).body
    return await asyncio.to_thread(_read_local, file)


def _read_local(file: str) -> bytes:
    from catchment.parse.opml import MAX_BYTES

    # One byte more than is allowed is enough to know that it is too much.
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


def _write(path: Path, written: bytes) -> None:
    try:
        path.write_bytes(written)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
