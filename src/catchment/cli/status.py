"""`catchment status`, `why`, `alerts`, `trail` and `doctor`: how everything is, and how it came to be so."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.console import (
    MAX_ROWS,
    MOST,
    AsJson,
    ShowAll,
    columns_of,
    print_facts,
    print_json,
    print_list,
    print_page,
    print_table,
    printable,
    say,
)
from catchment.cli.session import FAILED, read_settings, run_async, say_empty, with_system
from catchment.domain.caller import OPERATOR
from catchment.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catchment.bootstrap import System
    from catchment.domain.alert import Alert
    from catchment.domain.source import Source
    from catchment.monitor.alerting import XNumbers
    from catchment.monitor.status import StatusSnapshot


def status(
    *,
    watch: Annotated[bool, typer.Option("--watch", help="Show it again every few seconds, until Ctrl-C.")] = False,
    show_all: ShowAll = False,
    as_json: AsJson = False,
) -> None:
    """Show how the collector and the sources are, those that need you first.

    Example: catchment status --watch
    """
    settings = read_settings()
    if watch:
        with_system(partial(_watch, show_all=show_all, as_json=as_json), settings)
    found, of_x = with_system(partial(_read, show_all=show_all or as_json), settings)
    _show(found, of_x, show_all=show_all, as_json=as_json)
    if not found.sources:
        say_empty(settings, "sources")


#: How often `--watch` looks again, and how many sources are named at most where several are meant.
WATCH_SECONDS, MAX_NAMED = 2.0, 5
#: Empties a terminal, and goes to its first line.
CLEARED = "\x1b[2J\x1b[H"


def why(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="The source's number, or a part of its name.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Say why a source brought nothing: what its last visits came to, and when the next one is.

    Example: catchment why 5
    """
    from catchment.monitor.status import View, read_collector
    from catchment.monitor.why import explain

    async def work(system: System) -> tuple[Source, list[str]]:
        viewer = await system.viewer(View(caller=OPERATOR))
        wanted = await _meant(source, system)
        [health] = await viewer.describe_some([wanted])
        visits = await system.history.visits(wanted.id, OPERATOR, limit=200)
        collector = await system.store.read(read_collector, OPERATOR, now=viewer.now)
        failed = health.pages.failed if health.pages else 0
        away = collector.network_away
        return wanted, explain(wanted, health, visits, now=viewer.now, network_away=away, failed_pages=failed)

    wanted, sentences = with_system(work)
    if as_json:
        print_json({"id": wanted.id, "name": wanted.name, "why": sentences})
        return
    typer.echo(printable(f"{wanted.name} (source {wanted.id}):"))
    for sentence in sentences:
        typer.echo(printable(f"- {sentence}"))


async def _meant(text: str, system: System) -> Source:
    """By number, else by the one name that this is a part of."""
    if text.isdecimal() and int(text) <= MOST:
        with suppress(NotFound):
            return await system.catalog.get(int(text), OPERATOR)
    known = await system.catalog.list(OPERATOR)
    fits = [one for one in known if text.casefold() in one.name.casefold()]
    if len(fits) == 1:
        return fits[0]
    if not fits:
        raise NotFound(f"There is no source {text}. `catchment sources list` shows those there are.")
    some = ", ".join(f"{one.id} ({one.name})" for one in fits[:MAX_NAMED])
    raise InvalidInput(f"Several sources are called like that: {some}. Name one by its number.")


async def _watch(system: System, *, show_all: bool, as_json: bool) -> None:
    while True:
        found, of_x = await _read(system, show_all=show_all or as_json)
        if not as_json and sys.stdout.isatty():
            typer.echo(CLEARED, nl=False)
        _show(found, of_x, show_all=show_all, as_json=as_json)
        sys.stdout.flush()
        await asyncio.sleep(WATCH_SECONDS)


async def _read(system: System, *, show_all: bool) -> tuple[StatusSnapshot, XNumbers]:
    from catchment.cli.x import read_numbers
    from catchment.monitor.status import View

    found = await system.snapshot(View(caller=OPERATOR, most=None if show_all else MAX_ROWS))
    return found, await read_numbers(system)


def _show(found: StatusSnapshot, of_x: XNumbers, *, show_all: bool, as_json: bool) -> None:
    if as_json:
        print_json({**asdict(found), "x": of_x})
    else:
        _print(found, of_x, show_all=show_all)


def _print(found: StatusSnapshot, of_x: XNumbers, *, show_all: bool) -> None:
    from catchment.cli.x import print_numbers

    if found.collector.network_away:
        say("The network is away: nothing outside can be reached. No source is to blame; all are tried again soon.")
    if not found.store.writable:
        print_facts(asdict(found.store), title="Store")
    print_facts(asdict(found.collector), title="Collector")
    print_facts(asdict(found.stats), title="Sources")
    print_numbers(of_x)
    if found.alerts:
        print_alerts(found.alerts, title="Alerts")
    rows = [
        (
            one.id,
            one.name,
            one.type,
            ", ".join([one.status, *one.marks]),
            one.last_fetched_at,
            one.next_check_at,
            one.next_check_reason,
            one.last_error.message if one.last_error else "",
        )
        for one in found.sources
    ]
    columns = ("id", "name", "type", "status", "last fetched", "next check", "why then", "error")
    print_page(columns, rows, show_all=show_all, total=found.stats.total_sources)


ALERT_COLUMNS = ("severity", "rule", "subject", "since", "resolved_at", "message", "runbook")


def alerts(*, as_json: AsJson = False) -> None:
    """Show what fires, and what ended within a day.

    Example: catchment alerts --json
    """
    from catchment.monitor.alerting import list_alerts

    found = with_system(lambda system: system.store.read(list_alerts, OPERATOR, now=system.clock.now()))
    if as_json:
        print_json([as_row(alert) for alert in found])
    else:
        print_alerts(found)
        say(f"{sum(alert.is_open for alert in found)} open.")


def as_row(alert: Alert) -> dict[str, Any]:
    return {name: getattr(alert, name, None) for name in ALERT_COLUMNS} | {
        "fired_at": alert.fired_at,
        "runbook": alert.rule.runbook,
    }


def print_alerts(found: Iterable[Alert], *, title: str | None = None) -> None:
    print_table(*columns_of(ALERT_COLUMNS, map(as_row, found)), title=title)


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


def doctor(*, as_json: AsJson = False) -> None:
    """Check what Catchment stands on: Python, settings, data folder, store, network and clock.

    Example: catchment doctor
    """
    from catchment.manage.doctor import CheckVerdict, examine

    findings = run_async(examine())
    print_list(
        findings,
        ("check", "result", "found", "what to do"),
        ((one.name, one.verdict, one.found, one.advice) for one in findings),
        as_json=as_json,
    )
    if any(one.verdict is CheckVerdict.FAIL for one in findings):
        raise typer.Exit(FAILED)
