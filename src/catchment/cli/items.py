"""`catchment items`: what was collected."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import (
    AsJson,
    file_or_stdout,
    print_facts,
    print_json,
    print_list,
    print_table,
    printable,
    progress_bar,
    say,
    storable,
)
from catchment.cli.session import read_settings, say_empty, with_system
from catchment.domain.caller import OPERATOR
from catchment.domain.export import ExportFormat, ExportKind, ExportQuery
from catchment.errors import FullStore, InvalidInput, ReadOnlyStore

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.item import StoredItem

items = typer.Typer(name="items", help="Read and search what was collected.", no_args_is_help=True)


@items.callback()
def _group() -> None:
    """Read and search what was collected."""


@items.command("list")
def list_(
    *,
    source: Annotated[
        int | None, typer.Option(metavar="ID", help="Only items of this source.", callback=storable)
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many at most; 0 is all.", callback=storable)] = 50,
    as_json: AsJson = False,
) -> None:
    """List items, the newest first.

    Example: catchment items list --source 5 --limit 10 --json
    """
    from catchment.store.items import ItemQuery, list_items

    async def work(system: System) -> list[StoredItem]:
        if source is not None:
            await system.catalog.get(source, OPERATOR)
        return await system.store.read(list_items, ItemQuery(caller=OPERATOR, source_id=source, limit=limit))

    settings = read_settings()
    found = with_system(work, settings)
    if not found:
        say_empty(settings, "such items" if source is not None else "items")
    _print(found, as_json=as_json)


@items.command()
def search(
    words: Annotated[
        list[str], typer.Argument(metavar="WORDS…", help='Words that all occur; "a phrase", -without, begin*.')
    ],
    *,
    source: Annotated[
        int | None, typer.Option(metavar="ID", help="Only items of this source.", callback=storable)
    ] = None,
    tag: Annotated[str | None, typer.Option(help="Only of sources with this tag.")] = None,
    type_: Annotated[str | None, typer.Option("--type", help="Only of sources of this type.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Only what was collected from then on, in UTC.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Only what was collected before, in UTC.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Search what was collected, the newest first. What is to be left out goes behind a double hyphen.

    Example: catchment items search 人工智能 --tag news -- -advertisement
    """
    from catchment.store.search import ItemFilter

    wanted = ItemFilter(source_id=source, tag=tag, type=type_, since=_in_utc(since), until=_in_utc(until))

    async def work(system: System) -> Sequence[StoredItem]:
        # A shell has taken the quotes of a phrase away already.
        q = " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)
        try:
            await system.items.take_in()
        except (FullStore, ReadOnlyStore) as error:
            say(f"What came last may not be found: {error}")
        page = await system.items.find(OPERATOR, wanted, q=q, limit=limit)
        return page.items

    settings = read_settings()
    found = with_system(work, settings)
    if not found:
        say_empty(settings, "such items")
    _print(found, as_json=as_json)


@items.command()
def show(
    item_id: Annotated[
        int, typer.Argument(metavar="ID", help="The item's number, as the lists show it.", callback=storable)
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Show one item: its text, the links in it, and what its last edits changed.

    Example: catchment items show 12
    """
    from catchment.domain.search import text_of_html

    view = with_system(lambda system: system.items.get(item_id, OPERATOR))
    if as_json:
        edits = [asdict(edit) for edit in view.edits]
        print_json({**item_shape(view.item), "links": list(view.links), "edits": edits})
        return
    item = view.item
    facts = {"source": item.source_name, "url": item.url, "author": item.author, "published": item.published_at}
    print_facts({**facts, "fetched": item.fetched_at, "edited": item.updated_at}, title=item.title)
    typer.echo(printable(text_of_html(item.content).strip(), keep="\n"))
    if view.links:
        print_table(("links",), [(link,) for link in view.links])
    for edit in view.edits:
        print_table(
            (f"edit {edit.revision}", f"{edit.at:%Y-%m-%d %H:%M} UTC"),
            [(part.kind, part.text) for part in (*edit.title, *edit.text) if part.kind != "same"],
        )


@items.command()
def export(
    *,
    form: Annotated[ExportFormat, typer.Option("--format", help="How it is written.")] = ExportFormat.CSV,
    what: Annotated[ExportKind, typer.Option(help="What is exported.")] = ExportKind.ITEMS,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; standard output without it.")
    ] = None,
    source: Annotated[
        int | None, typer.Option(metavar="ID", help="Only what is of this source.", callback=storable)
    ] = None,
    since: Annotated[datetime | None, typer.Option(help="Only what was collected from then on, in UTC.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Only what was collected before, in UTC.")] = None,
) -> None:
    """Export items, or notes, comments and tweets, the oldest first. It is written as it is read.

    In CSV, what a spreadsheet would take for a formula has an apostrophe before it.

    Example: catchment items export --format jsonl --output items.jsonl
    """
    query = ExportQuery(what=what, caller=OPERATOR, source_id=source, since=_in_utc(since), until=_in_utc(until))
    if form is ExportFormat.PARQUET and output is None and sys.stdout.isatty():
        raise InvalidInput("Parquet is nothing for a terminal: name a file by --output, or a pipe.")

    async def work(system: System) -> int:
        total = 0

        def told(done: int, of: int) -> None:
            nonlocal total
            total = done
            if progress:
                progress(done, of)

        with progress_bar() as progress, file_or_stdout(output) as file:
            async for written in await system.exports.start(query, form, told):
                file.write(written)
        return total

    total = with_system(work)
    say(f"Exported the {what} of {total} note(s)." if what is ExportKind.COMMENTS else f"Exported {total} {what}.")


@items.command()
def reindex(*, as_json: AsJson = False) -> None:
    """Make the index of the search anew; meanwhile what is not in it again yet is not found.

    Example: catchment items reindex
    """

    async def work(system: System) -> tuple[int, int]:
        with progress_bar() as progress:
            count = await system.items.reindex(progress or (lambda *_: None))
        return count, await system.items.index_bytes()

    count, size = with_system(work)
    if as_json:
        print_json({"items": count, "size_bytes": size})
    else:
        typer.echo(f"{count} item(s) can be searched; the index takes {size:,} bytes.")


def _in_utc(moment: datetime | None) -> datetime | None:
    return moment.replace(tzinfo=UTC) if moment else None


def _print(found: Sequence[StoredItem], *, as_json: bool) -> None:
    rows = ((item.id, item.source_name, item.title or item.url, item.published_at, item.fetched_at) for item in found)
    print_list(
        [item_shape(item) for item in found], ("id", "source", "title", "published", "fetched"), rows, as_json=as_json
    )


def item_shape(item: StoredItem) -> dict[str, Any]:
    """All that the API tells, but for its edits."""
    facts = {field.name: getattr(item, field.name) for field in fields(item)}
    return {name: value for name, value in facts.items() if name not in {"updated_at", "revision"}}
