"""What is said of alerts: those of one rule that fire or end together make one piece of news. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from catchment.domain.alert import Alert, Rule

#: Of many alerts the first are told in full.
MOST_ALERTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    rule: Rule
    #: Whether they fire; else they ended.
    is_firing: bool
    #: One at least, the most severe first.
    alerts: tuple[Alert, ...]

    @property
    def message(self) -> str:
        others = len(self.alerts) - 1
        return self.alerts[0].message + (f" And {others} more." if others else "")

    def payload(self) -> dict[str, Any]:
        first = self.alerts[0]
        return {
            "alert": self.rule,
            "state": "firing" if self.is_firing else "resolved",
            "severity": first.severity,
            "subject": first.subject if len(self.alerts) == 1 else None,
            "message": self.message,
            "since": min(alert.since for alert in self.alerts).isoformat(),
            "runbook": self.rule.runbook,
            "alerts": [_line(alert) for alert in self.alerts[:MOST_ALERTS]],
        }


def news_of(told: Iterable[Alert]) -> list[News]:
    return [
        News(rule=rule, is_firing=is_firing, alerts=tuple(alerts))
        for (rule, is_firing), alerts in groupby(sorted(told, key=_rank), key=_kind)
    ]


def _kind(alert: Alert) -> tuple[Rule, bool]:
    return alert.rule, alert.is_open


def _rank(alert: Alert) -> tuple[Rule, bool, str, str]:
    return alert.rule, alert.is_open, alert.severity, alert.subject


def _line(alert: Alert) -> dict[str, Any]:
    return {
        "subject": alert.subject,
        "severity": alert.severity,
        "message": alert.message,
        "since": alert.since.isoformat(),
        "resolved_at": alert.resolved_at.isoformat() if alert.resolved_at else None,
    }
