"""`catchment alerts`: what somebody should look after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from catchment.cli.console import AsJson, print_json, print_table, say
from catchment.cli.session import with_system
from catchment.domain.caller import OPERATOR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from catchment.bootstrap import System
    from catchment.domain.alert import Alert

COLUMNS = ("severity", "rule", "subject", "since", "resolved_at", "message", "runbook")


def alerts(*, as_json: AsJson = False) -> None:
    """Show what fires, and what ended within a day.

    Example: catchment alerts --json
    """
    from catchment.monitor.alerting import list_alerts

    async def work(system: System) -> list[Alert]:
        return await system.store.read(list_alerts, OPERATOR, now=system.clock.now())

    found = with_system(work)
    if as_json:
        print_json([as_row(alert) for alert in found])
    else:
        print_alerts(found)
        say(f"{sum(alert.is_open for alert in found)} open.")


def as_row(alert: Alert) -> dict[str, Any]:
    return {name: getattr(alert, name, None) for name in COLUMNS} | {
        "fired_at": alert.fired_at,
        "runbook": alert.rule.runbook,
    }


def print_alerts(found: Iterable[Alert], *, title: str | None = None) -> None:
    rows = [as_row(alert) for alert in found]
    print_table(
        [name.replace("_", " ") for name in COLUMNS], ([row[name] for name in COLUMNS] for row in rows), title=title
    )
