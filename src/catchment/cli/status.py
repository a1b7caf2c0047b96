"""`catchment status`: how everything is."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from catchment.cli.alerts import print_alerts
from catchment.cli.console import AsJson, print_facts, print_json, print_table, say
from catchment.cli.session import read_settings, say_empty, with_system
from catchment.cli.x import print_numbers, read_numbers
from catchment.domain.caller import OPERATOR

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.monitor.scraped import XNumbers
    from catchment.monitor.status import StatusSnapshot


def status(*, as_json: AsJson = False) -> None:
    """Show how the collector and every source are.

    Example: catchment status --json
    """
    from catchment.monitor.status import View, snapshot

    async def work(system: System) -> tuple[StatusSnapshot, XNumbers]:
        found = await snapshot(
            store=system.store,
            registry=system.registry,
            intervals=await system.cadences.load(),
            view=View(caller=OPERATOR),
            now=system.clock.now(),
        )
        return found, await read_numbers(system)

    settings = read_settings()
    found, of_x = with_system(work, settings)
    print_json({**asdict(found), "x": of_x}) if as_json else _print(found, of_x)
    if not found.sources:
        say_empty(settings, "sources")


def _print(found: StatusSnapshot, of_x: XNumbers) -> None:
    if found.collector.network_away:
        say("The network is away: nothing outside can be reached. No source is to blame; all are tried again soon.")
    if not found.store.writable:
        print_facts(_worded(asdict(found.store)), title="Store")
    print_facts(_worded(asdict(found.collector)), title="Collector")
    print_facts(_worded(asdict(found.stats)), title="Sources")
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
    print_table(("id", "name", "type", "status", "last fetched", "next check", "why then", "error"), rows)


def _worded(facts: dict[str, object]) -> dict[str, object]:
    return {name.replace("_", " "): value for name, value in facts.items()}
