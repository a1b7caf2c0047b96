"""`catchment sources`: what is collected, and how it fares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import AsJson, print_facts, print_json, print_table, storable
from catchment.cli.session import read_settings, say_empty, with_system
from catchment.domain.caller import OPERATOR
from catchment.domain.confidential import masked
from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.candidate import Outstanding
    from catchment.domain.source import Source
    from catchment.manage.catalog import Change

sources = typer.Typer(
    name="sources", help="List, show, pause, resume, change and remove sources.", no_args_is_help=True
)

SourceId = Annotated[
    int, typer.Argument(metavar="ID", help="The source's number, as `sources list` shows it.", callback=storable)
]


@sources.command("list")
def list_(*, as_json: AsJson = False) -> None:
    """List every source.

    Example: catchment sources list --json
    """

    async def work(system: System) -> list[dict[str, Any]]:
        return await source_shapes(system, await system.catalog.list(OPERATOR))

    settings = read_settings()
    shapes = with_system(work, settings)
    if not shapes:
        say_empty(settings, "sources")
    if as_json:
        print_json(shapes)
        return
    columns = ("id", "name", "type", "status", "marks", "tags", "last_fetched_at", "next_check_at", "next_check_reason")
    print_table([column.replace("_", " ") for column in columns], ([one[key] for key in columns] for one in shapes))


@sources.command()
def show(source_id: SourceId, *, as_json: AsJson = False) -> None:
    """Show everything about one source.

    Example: catchment sources show 5
    """

    async def work(system: System) -> dict[str, Any]:
        return await source_shape(system, await system.catalog.get(source_id, OPERATOR))

    _print(with_system(work), as_json=as_json)


@sources.command()
def pause(source_id: SourceId, *, as_json: AsJson = False) -> None:
    """Pause a source until it is resumed by hand.

    Example: catchment sources pause 5
    """
    from catchment.manage.catalog import Change

    _change(source_id, Change(is_active=False), as_json=as_json)


@sources.command()
def resume(source_id: SourceId, *, as_json: AsJson = False) -> None:
    """Resume a source; its errors are forgotten, and it is due at once.

    Example: catchment sources resume 5
    """
    from catchment.manage.catalog import Change

    _change(source_id, Change(is_active=True), as_json=as_json)


@sources.command()
def remove(source_id: SourceId, *, as_json: AsJson = False) -> None:
    """Remove a source from every list.

    Example: catchment sources remove 5
    """
    with_system(lambda system: system.catalog.remove(source_id, OPERATOR))
    if as_json:
        print_json({"id": source_id, "removed": True})
    else:
        typer.echo(f"Removed source {source_id}.")


@sources.command("set")
def set_(
    source_id: SourceId,
    *,
    name: Annotated[str | None, typer.Option(help="A new name.")] = None,
    interval: Annotated[
        int | None, typer.Option(metavar="MINUTES", help="How often it is looked at; 0 for its type's interval.")
    ] = None,
    public: Annotated[bool | None, typer.Option("--public/--private", help="Who sees it.")] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Its tags from now on; '' for none.")] = None,
    config: Annotated[str | None, typer.Option(metavar="JSON", help="Its config from now on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Change a source; what is not named stays.

    Example: catchment sources set 5 --name "Morning paper" --interval 30 --tag news
    """
    from catchment.cli.add import read_config
    from catchment.manage.catalog import Change

    change = Change(
        name=name,
        fetch_interval_minutes=interval,
        is_public=public,
        tags=None if tag is None else tuple(filter(None, tag)),
        config=None if config is None else read_config(config),
    )
    if change == Change():
        raise InvalidInput("Nothing to change: name at least one of --name, --interval, --public, --tag, --config.")
    _change(source_id, change, as_json=as_json)


async def source_shape(system: System, source: Source) -> dict[str, Any]:
    return (await source_shapes(system, [source]))[0]


async def source_shapes(system: System, found: Sequence[Source]) -> list[dict[str, Any]]:
    """Sources as JSON shows them, by the names that the API uses."""
    from catchment.monitor.status import View, describe, read_backlogs

    intervals, view = await system.cadences.load(), View(caller=OPERATOR)
    pages = await system.store.read(read_backlogs, found, registry=system.registry)
    shapes = []
    for source in found:
        health = describe(source, registry=system.registry, intervals=intervals, view=view, now=system.clock.now())
        shapes.append(
            {
                "id": source.id,
                "name": source.name,
                "type": source.type,
                "status": health.status,
                "is_active": source.is_active,
                "paused_by": source.paused_by,
                "is_public": source.is_public,
                "tags": list(source.tags),
                "config": masked(source.config),
                "created_by": source.created_by,
                "created_at": source.created_at,
                "updated_at": source.updated_at,
                "fetch_interval_minutes": health.interval_minutes,
                "last_fetched_at": source.last_fetched_at,
                "next_fetch_at": health.next_fetch_at,
                "next_check_at": health.next_check_at,
                "next_check_reason": health.next_check_reason,
                "fetch_count": source.fetch_count,
                "fetch_error_count": source.fetch_error_count,
                "last_error": health.last_error,
                "marks": list(health.marks),
                "gap_at": health.gap_at,
                "quiet_since": health.quiet_since,
                "pages": pages.get(source.id),
            }
        )
    return shapes


def _change(source_id: int, change: Change, *, as_json: bool) -> None:
    async def work(system: System) -> dict[str, Any]:
        return await source_shape(system, await system.catalog.change(source_id, change, OPERATOR))

    _print(with_system(work), as_json=as_json)


def _print(shape: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(shape)
        return
    error, pages = shape["last_error"], shape["pages"]
    shown = {**shape, "last_error": f"{error.message} ({error.at:%Y-%m-%d %H:%M} UTC)" if error else None}
    shown["pages"] = f"{pages.pending} pending, {pages.failed} failed" if pages else None
    print_facts({key.replace("_", " "): value for key, value in shown.items()})
    if pages and pages.listed:
        rows = [(one.url, _worded(one), one.attempts, one.error or "") for one in pages.listed]
        print_table(("page", "state", "tries", "reason"), rows, title="Pages that were not collected")


def _worded(page: Outstanding) -> str:
    return "given up" if page.is_given_up else page.state
