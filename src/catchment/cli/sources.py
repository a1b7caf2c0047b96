"""`catchment sources`: what is collected, and how it fares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import (
    MAX_ROWS,
    AsJson,
    ShowAll,
    Yes,
    columns_of,
    confirm,
    print_facts,
    print_json,
    print_list,
    print_table,
    printable,
    say,
    say_changes,
    storable,
)
from catchment.cli.session import read_settings, say_empty, with_system
from catchment.domain.caller import OPERATOR
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
def list_(*, show_all: ShowAll = False, as_json: AsJson = False) -> None:
    """List the sources.

    Example: catchment sources list --json
    """
    most = None if show_all or as_json else MAX_ROWS

    async def work(system: System) -> tuple[list[dict[str, Any]], int]:
        found = await system.catalog.list(OPERATOR, most=most)
        total = len(found) if most is None else await system.catalog.count(OPERATOR)
        return await system.show_sources(found, OPERATOR), total

    settings = read_settings()
    shapes, total = with_system(work, settings)
    if not shapes:
        say_empty(settings, "sources")
    columns = ("id", "name", "type", "status", "marks", "tags", "last_fetched_at", "next_check_at", "next_check_reason")
    print_list(shapes, *columns_of(columns, shapes), as_json=as_json, show_all=show_all, total=total)


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
def remove(
    source_ids: Annotated[
        list[int], typer.Argument(metavar="ID…", help="The numbers of the sources, as `sources list` shows them.")
    ],
    *,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Remove sources from every list. For a day `catchment undo` brings them back, with their items.

    Example: catchment sources remove 5
    """
    for source_id in source_ids:
        storable(source_id)
    if not (yes or as_json):
        confirm(f"Remove {_counted(source_ids)}?")
    with_system(lambda system: system.catalog.remove_many(source_ids, OPERATOR))
    if as_json:
        shapes = [{"id": source_id, "removed": True} for source_id in source_ids]
        print_json(shapes[0] if len(shapes) == 1 else shapes)
        return
    typer.echo(f"Removed {_counted(source_ids)}.")
    say(f"For 24 hours this takes it back: catchment undo {' '.join(map(str, source_ids))}")


def undo(
    source_ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID…]", help="The sources to have back; without, they are listed.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Have sources back that were removed within the last day, with their items and all they remember.

    Example: catchment undo 5
    """
    if source_ids:
        for source_id in source_ids:
            storable(source_id)
        restored = with_system(lambda system: system.catalog.restore_many(source_ids, OPERATOR))
        if as_json:
            print_json([{"id": source.id, "name": source.name, "restored": True} for source in restored])
        for source in () if as_json else restored:
            typer.echo(printable(f"Source {source.id} ({source.name}) is back."))
        return
    removed = with_system(lambda system: system.catalog.list_removed(OPERATOR))
    if as_json:
        print_json(
            [{"id": one.source.id, "name": one.source.name, "at": one.at, "until": one.until} for one in removed]
        )
        return
    print_table(
        ("id", "name", "removed", "can be had back until"),
        [(one.source.id, one.source.name, one.at, one.until) for one in removed],
    )


@sources.command()
def history(
    source_id: SourceId,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many visits at most.")] = 20,
    days: Annotated[bool, typer.Option("--days", help="What came of each of the last 30 days instead.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the visits of a source, the newest first.

    Example: catchment sources history 5 --limit 10
    """
    if days:
        each = with_system(lambda system: system.history.days(source_id, OPERATOR))
        if as_json:
            print_json([{**asdict(one), "day": one.day.isoformat()} for one in each])
        else:
            counts = [(one.day.isoformat(), one.visits, one.failed, one.excused, one.items) for one in each]
            print_table(("day", "visits", "failed", "not counted", "new items"), counts)
        return
    visits = with_system(lambda system: system.history.visits(source_id, OPERATOR, limit=limit))
    if as_json:
        print_json([{**asdict(one), "outcome": one.outcome} for one in visits])
        return
    took = [f"{(one.finished_at - one.started_at).total_seconds():.1f} s" for one in visits]
    rows = [
        (one.started_at, time, one.outcome.replace("_", " "), one.items, one.inserted, one.error)
        for one, time in zip(visits, took, strict=True)
    ]
    print_table(("started", "took", "result", "items", "new", "error"), rows)


def _counted(source_ids: Sequence[int]) -> str:
    return f"source {source_ids[0]}" if len(source_ids) == 1 else f"{len(source_ids)} sources"


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
    url: Annotated[str | None, typer.Option(help="A new address; the rest of its config stays.")] = None,
    config: Annotated[str | None, typer.Option(metavar="JSON", help="Its whole config from now on.")] = None,
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
    if change == Change() and url is None:
        known = "--name, --interval, --public, --tag, --url, --config"
        raise InvalidInput(f"Nothing to change: name at least one of {known}.")
    if None not in {url, config}:
        raise InvalidInput("--config says the address as well: leave --url out.")
    _change(source_id, change, url=url, as_json=as_json)


async def source_shape(system: System, source: Source) -> dict[str, Any]:
    """As JSON shows it, by the names that the API uses."""
    return (await system.show_sources([source], OPERATOR))[0]


def _change(source_id: int, change: Change, *, url: str | None = None, as_json: bool) -> None:
    from catchment.domain.confidential import masked
    from catchment.manage.catalog import what_changed

    async def work(system: System) -> tuple[dict[str, Any], str]:
        before = await system.catalog.get(source_id, OPERATOR)
        wanted = change if url is None else replace(change, config={**masked(before.config), "url": url})
        after = await system.catalog.change(source_id, wanted, OPERATOR)
        return await source_shape(system, after), what_changed(before, after)

    shape, changes = with_system(work)
    say_changes(changes)
    _print(shape, as_json=as_json)


def _print(shape: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(shape)
        return
    error, pages = shape["last_error"], shape["pages"]
    shown = {**shape, "last_error": f"{error.message} ({error.at:%Y-%m-%d %H:%M} UTC)" if error else None}
    shown["pages"] = f"{pages.pending} pending, {pages.failed} failed" if pages else None
    print_facts(shown)
    if pages and pages.listed:
        rows = [(one.url, _worded(one), one.attempts, one.error or "") for one in pages.listed]
        print_table(("page", "state", "tries", "reason"), rows, title="Pages that were not collected")


def _worded(page: Outstanding) -> str:
    return "given up" if page.is_given_up else page.state
