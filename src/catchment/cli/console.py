"""What is printed: tables for people or JSON for machines on stdout, and all that is said besides on stderr."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from catchment.bootstrap import System


#: More than this is in no column of either store.
MOST = 2**63 - 1


def storable(number: int | None) -> int | None:
    """Lets pass what can be looked for in a store."""
    if number is not None and not -MOST <= number <= MOST:
        raise typer.BadParameter(f"{number} is more than any number here; at most {MOST}.")
    return number


STANDARD_INPUT = "-"
WEB = ("http://", "https://")


async def read_file_or_url(system: System, file: str) -> bytes:
    if file.lower().startswith(WEB):
        return (await system.http.get(file)).body
    return await asyncio.to_thread(read_file, file)


def read_file(file: str) -> bytes:
    from catchment.parse.opml import MAX_BYTES

    # One byte more than is allowed is enough to know that it is too much.
    if file == STANDARD_INPUT:
        return sys.stdin.buffer.read(MAX_BYTES + 1)
    try:
        with Path(file).open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


def write_file(path: Path | None, written: bytes) -> None:
    """To stdout where no file is named."""
    if path is None:
        sys.stdout.buffer.write(written)
        sys.stdout.flush()
        return
    try:
        path.write_bytes(written)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error


#: Wide enough for a table in a file or a pipe, where nobody sees a line break coming.
PIPED_WIDTH = 200

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")]


def say(message: str) -> None:
    typer.echo(_printable(message, keep="\n"), err=True)


def print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=_as_json))


def print_line(value: object) -> None:
    """JSON in one line, for whoever reads line by line."""
    typer.echo(json.dumps(value, ensure_ascii=False, default=_as_json))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=any(columns))
    for row in rows:
        table.add_row(*(cell(value) for value in row))
    # What is shown comes from strangers: it must not be read as markup.
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, markup=False, highlight=False, emoji=False).print(table)


def print_facts(facts: Mapping[str, object], *, title: str | None = None) -> None:
    """One thing, a fact a line."""
    print_table(("", ""), facts.items(), title=title)


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int], None] | None]:
    """How many of how many are done, on stderr, where a person sits at it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    with Progress(BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def cell(value: object) -> str:
    """A value as a person reads it in a table."""
    match value:
        case None | () | []:
            text = "-"
        case bool():
            text = "yes" if value else "no"
        case datetime():
            text = f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
        case float():
            text = f"{value:.3g}"
        case tuple() | list():
            text = ", ".join(map(cell, value))
        case dict():
            text = json.dumps(value, ensure_ascii=False)
        case _:
            text = str(value)
    return _printable(text)


def iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _as_json(value: Any) -> object:
    if isinstance(value, datetime):
        return iso(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _printable(text: str, *, keep: str = "") -> str:
    """Without what could steer a terminal."""
    return "".join(char if char.isprintable() or char in keep else " " for char in text)
