"""What is printed: tables for people or JSON for machines on stdout, and all that is said besides on stderr."""

from __future__ import annotations

import asyncio
import codecs
import io
import json
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from catchment.clock import iso
from catchment.errors import CatchmentError, InvalidInput

if TYPE_CHECKING:
    from rich.table import Table

    from catchment.bootstrap import System


#: More than this is in no column of either store.
MOST = 2**63 - 1


def storable(number: int | None) -> int | None:
    """Lets pass what can be looked for in a store."""
    if number is not None and not -MOST <= number <= MOST:
        raise typer.BadParameter(f"{number} is more than any number here; at most {MOST}.")
    return number


def open_what_is_closed() -> None:
    """Whoever closed stdin, stdout or stderr wants nothing of it: the next file to be opened must not pass for it."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - it stays open


class ReaderGone(CatchmentError):
    """Whoever read stdout has seen enough, as `head` does."""


class _Stdout(io.FileIO):
    """Stdout, which says in a sentence that it cannot be written; what is left for it then goes nowhere."""

    def write(self, written: Any, /) -> int:
        try:
            return super().write(written)
        except BrokenPipeError as error:
            self._discard()
            raise ReaderGone("nobody reads stdout any more") from error
        except OSError as error:
            self._discard()
            raise InvalidInput(f"Standard output cannot be written: {error.strerror}.") from error

    def _discard(self) -> None:
        """It is flushed once more when the interpreter ends."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def watch_stdout() -> None:
    """Ours: a program that calls our commands may have put something in its place, and minds it by itself."""
    old = sys.__stdout__
    if old is None or old is not sys.stdout:
        return
    raw = _Stdout(old.fileno(), "w", closefd=False)
    # What others wrote has signs that a terminal may know nothing of: the rest of it is shown all the same.
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=old.encoding, errors="replace", line_buffering=old.isatty()
    )


STANDARD_INPUT = "-"
WEB = ("http://", "https://")


class FileOnce:
    """A file, an address or standard input, read once however often it is asked for."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._body: bytes | None = None

    async def read(self, system: System) -> bytes:
        if self._body is None:
            if self._file.lower().startswith(WEB):
                self._body = (await system.http.get(self._file)).body
            else:
                self._body = await asyncio.to_thread(read_file, self._file)
        return self._body


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


def read_json_object(text: str, option: str, *, example: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{option} is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidInput(f"{option} is a JSON object, such as {example}.")
    return value


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


@contextmanager
def file_or_stdout(path: Path | None) -> Iterator[BinaryIO]:
    """For what is written piece by piece. The file has its name once it is whole; stdout where none is named."""
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.flush()
        return
    part = path.with_name(f"{path.name}.part")
    try:
        if path.exists() and not path.is_file():
            # A pipe or a device, which nothing can take the place of.
            with path.open("wb") as file:
                yield file
            return
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror}.") from error
    finally:
        with suppress(OSError):
            part.unlink()


#: Wide enough for a table in a file or a pipe, where nobody sees a line break coming.
PIPED_WIDTH = 200

#: How often a bar is drawn anew.
REFRESH_SECONDS = 0.1
#: Rows of a list that are shown unless all are asked for.
MAX_ROWS = 50

ShowAll = Annotated[bool, typer.Option("--all", help=f"Show all; without it the first {MAX_ROWS}.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, and nothing else there.")]


def say(message: str) -> None:
    typer.echo(printable(message, keep="\n"), err=True)


def say_changes(changes: str) -> None:
    say(f"Changed {changes}." if changes else "Nothing is different from what it was.")


def confirm(question: str) -> None:
    """Ask whoever sits at it; a program that calls this has nobody to ask. "No" ends the command."""
    if sys.stdin.isatty():
        typer.confirm(question, abort=True, err=True)


def print_json(value: object) -> None:
    typer.echo(_json(value, indent=2))


def print_line(value: object) -> None:
    """JSON in one line, for whoever reads line by line."""
    typer.echo(_json(value))


def _json(value: object, indent: int | None = None) -> str:
    """In signs that the encoding of stdout has: JSON is UTF-8, and what is ASCII alone is that in any of them."""
    is_utf8 = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name == "utf-8"
    return json.dumps(value, ensure_ascii=not is_utf8, indent=indent, default=_as_json)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str | None = None) -> None:
    from rich.console import Console

    # What is shown comes from strangers: it must not be read as markup.
    console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, markup=False, highlight=False, emoji=False)
    shown = [tuple(row) for row in rows]
    columns = tuple(with_zone(name, values) for name, *values in zip(columns, *shown, strict=True))
    cells = [[cell(value) for value in row] for row in shown]
    # Who reads it by program, or in a file, wants every line alike.
    whole = [TableLayout(columns, cells, [None] * len(columns))]
    for part in laid_out(columns, cells, console.width) if sys.stdout.isatty() else whole:
        console.print(drawn_table(part, title=title))
        title = None


def with_zone(heading: str, values: Iterable[object]) -> str:
    """The heading of a column, which says in which zone its times are."""
    return f"{heading} (UTC)" if heading and any(isinstance(value, datetime) for value in values) else heading


#: What stands between two columns, and at both ends of a line.
_GAP, _ENDS = 3, 4
#: A column is at least as wide as its longest word; what is longer than this is an address and may be folded.
_LONGEST_WORD = 20
_WIDE = 4
#: The headings of a fact, its name and its value: none.
_FACT = ("", "")


@dataclass(frozen=True, slots=True)
class TableLayout:
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: None where there is room for everything.
    widths: Sequence[int | None]


def laid_out(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[TableLayout]:
    """A table as it can be read in a terminal so wide, without anything cut off.

    Where there is no room for all of it, columns that say nothing are left out and what is longest is wrapped; where
    words would be torn apart, each row is a list of its own.
    """
    most = [_longest(column) for column in _columns(columns, rows)]
    if not rows or sum(most) + _taken(columns) <= width:
        return [TableLayout(columns, rows, [None] * len(columns))]
    said = [at for at in range(len(columns)) if any(row[at] not in {"", "-"} for row in rows)]
    shown, cells = [columns[at] for at in said], [[row[at] for at in said] for row in rows]
    # Between wide characters, as Chinese has them, a line may end anywhere.
    words = [
        [word[:_WIDE] if _longest([word]) > len(word) else word for text in column for word in text.split()]
        for column in _columns(shown, cells)
    ]
    least = [min(_longest(column), _LONGEST_WORD) for column in words]
    if columns == _FACT:
        # The name of a fact stays in one line.
        least[0] = most[0]
    room = width - _taken(shown)
    if sum(least) <= room:
        return [TableLayout(shown, cells, _shared(least, [most[at] for at in said], room))]
    if len(columns) <= len(_FACT):
        return [TableLayout(columns, rows, [None] * len(columns))]
    each = ([(name, text) for name, text in zip(columns, row, strict=True) if text not in {"", "-"}] for row in rows)
    return [part for facts in each for part in laid_out(_FACT, facts, width)]


def _shared(least: Sequence[int], most: Sequence[int], room: int) -> list[int]:
    """The room that is left goes, one by one, to whichever column would take the most lines."""
    widths = [*least]
    for _ in range(room - sum(least)):
        lines, at = max((-(-most[at] // widths[at]), at) for at in range(len(widths)))
        if lines == 1:
            break
        widths[at] += 1
    return widths


def _columns(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    return list(zip(columns, *rows, strict=True))


def _longest(texts: Iterable[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0) or 1


def _taken(columns: Sequence[str]) -> int:
    return _GAP * (len(columns) - 1) + _ENDS


def drawn_table(part: TableLayout, *, title: str | None) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, show_header=any(part.columns))
    for heading, width in zip(part.columns, part.widths, strict=True):
        table.add_column(heading, width=width, overflow="fold")
    for row in part.rows:
        table.add_row(*row)
    return table


def print_page(
    columns: Sequence[str], rows: Sequence[Sequence[object]], *, show_all: bool, total: int | None = None
) -> None:
    """The first rows of a list, or all, and how many more there are; `total` counts those that were not even read."""
    shown = rows if show_all else rows[:MAX_ROWS]
    print_table(columns, shown)
    if more := (len(rows) if total is None else total) - len(shown):
        say(f"{more} more: --all shows all.")


def print_facts(facts: Mapping[str, object], *, title: str | None = None) -> None:
    """One thing, a fact a line."""
    print_table(_FACT, ((with_zone(_heading(name), [value]), value) for name, value in facts.items()), title=title)


def print_result(value: object, sentence: str, *, as_json: bool) -> None:
    """What was done: the value for machines, a sentence for people."""
    print_json(value) if as_json else typer.echo(sentence)


def print_one(facts: Mapping[str, object], *, as_json: bool) -> None:
    print_json(facts) if as_json else print_facts(facts)


def print_list(
    value: object,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    as_json: bool,
    show_all: bool = True,
    total: int | None = None,
) -> None:
    """A list: the value for machines, a table for people."""
    print_json(value) if as_json else print_page(columns, [*rows], show_all=show_all, total=total)


def columns_of(names: Sequence[str], found: Iterable[Any]) -> tuple[list[str], list[list[object]]]:
    """The headings and the rows of a table of these fields, of objects or of JSON."""
    rows = [[one[name] if isinstance(one, Mapping) else getattr(one, name) for name in names] for one in found]
    return [_heading(name) for name in names], rows


def _heading(name: str) -> str:
    return name.replace("_", " ")


@contextmanager
def progress_bar(what: str = "", *, is_kept: bool = True) -> Iterator[Callable[[int, int | None], None] | None]:
    """How many of how many are done, on stderr, where a person sits at it."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    words = (TextColumn("{task.description}", markup=False),) if what else ()
    columns = (*words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=not is_kept) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@asynccontextmanager
async def watched_progress(what: str, count: Callable[[], tuple[int, int | None]]) -> AsyncIterator[None]:
    """The same for work that counts by itself: it is looked at again and again, and nothing of the bar is left."""

    async def draw(show: Callable[[int, int | None], None]) -> None:
        while True:
            show(*count())
            await asyncio.sleep(REFRESH_SECONDS)

    with progress_bar(what, is_kept=False) as show:
        drawing = asyncio.create_task(draw(show)) if show else None
        try:
            yield
        finally:
            if drawing is not None:
                drawing.cancel()


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
    return printable(text)


def _as_json(value: Any) -> object:
    if isinstance(value, datetime):
        return iso(value)
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def printable(text: str, *, keep: str = "") -> str:
    """Without what could steer a terminal."""
    return "".join(char if char.isprintable() or char in keep else " " for char in text)
