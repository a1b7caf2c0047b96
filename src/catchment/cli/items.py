"""`catchment items`: what was collected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import AsJson, print_json, print_table, storable
from catchment.cli.session import read_settings, say_empty, with_system
from catchment.domain.caller import OPERATOR

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.item import StoredItem

items = typer.Typer(name="items", help="Read what was collected.", no_args_is_help=True)


@items.callback()
def _group() -> None:
    """Read what was collected."""


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
        return await system.store.read(list_items, ItemQuery(all_sources=True, source_id=source, limit=limit))

    settings = read_settings()
    found = with_system(work, settings)
    if not found:
        say_empty(settings, "such items" if source is not None else "items")
    if as_json:
        print_json([item_shape(item) for item in found])
        return
    rows = ((item.id, item.source_name, item.title or item.url, item.published_at, item.fetched_at) for item in found)
    print_table(("id", "source", "title", "published", "fetched"), rows)


def item_shape(item: StoredItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "source_id": item.source_id,
        "source_name": item.source_name,
        "type": item.type,
        "title": item.title,
        "url": item.url,
        "author": item.author,
        "content": item.content,
        "published_at": item.published_at,
        "fetched_at": item.fetched_at,
        "metadata": dict(item.metadata),
    }
