"""An alert: something that a person should look after. It begins, lasts, is told of, and ends. Pure.

Each time that it comes is a turn, which stays as it was when the next begins.

What holds at a moment are findings; `step` compares them with the alerts that are known and decides which begin, fire,
are told of and end. A finding must last as long as its rule says before it fires. One that fired is told of at once,
and again after the cool-down as long as it lasts; its end is told if its beginning was. The cool-down counts from when
the news reached somebody, and goes on when the alert ends, so that one that comes and goes is not told of each time.
One that somebody acknowledged is not told again in this turn, one that is muted not before that is over; that it ended
is told all the same where its beginning was, so that whoever waits for the end hears of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any

from catchment.domain.alert_rules import AlertRule, Finding, Key, Severity, Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One turn of it."""

    #: 0 until it is stored.
    id: int = 0
    rule: AlertRule
    subject: str
    severity: Severity
    message: str
    since: datetime
    #: When it had lasted long enough.
    fired_at: datetime | None = None
    resolved_at: datetime | None = None
    #: When it was last told of, in this turn or an earlier one.
    told_at: datetime | None = None
    #: When that reached the first who listens; None while it has not.
    heard_at: datetime | None = None
    #: It is told of, and may still reach somebody.
    is_on_its_way: bool = False
    #: The event that told of it then; None where nobody listened.
    event_id: str | None = None
    #: When somebody said that they look after it, in this turn, and who.
    acknowledged_at: datetime | None = None
    acknowledged_by: str = ""
    #: Said of all its turns, those to come among them.
    muted_until: datetime | None = None

    @property
    def key(self) -> Key:
        return self.rule, self.subject

    @property
    def is_open(self) -> bool:
        return self.resolved_at is None

    @property
    def is_firing(self) -> bool:
        return self.is_open and self.fired_at is not None

    @property
    def is_told(self) -> bool:
        """Whether it was told of since it fired."""
        return self.fired_at is not None and self.told_at is not None and self.told_at >= self.fired_at

    def is_muted(self, now: datetime) -> bool:
        return self.muted_until is not None and now < self.muted_until

    def is_cooling(self, cool_down: timedelta, now: datetime) -> bool:
        """Whether nothing more should be said yet. News that reached nobody cool nothing down."""
        return self.is_on_its_way or (self.heard_at is not None and now - self.heard_at < cool_down)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    #: Those that changed, as they are from now on.
    alerts: tuple[Alert, ...]
    #: Those of them to be told of: that they fire, or that they ended.
    told: tuple[Alert, ...]
    #: Those whose turn came to nothing.
    forgotten: tuple[Key, ...]


def step(
    known: Iterable[Alert], findings: Iterable[Finding], terms: Mapping[AlertRule, Terms], now: datetime
) -> Decisions:
    """`known` has the latest turn of each."""
    before = {alert.key: alert for alert in known}
    found = {finding.key: finding for finding in findings}
    lasting = [_lasting(finding, before.get(key), terms[finding.rule], now) for key, finding in found.items()]
    over = [replace(alert, resolved_at=now) for key, alert in before.items() if alert.is_open and key not in found]
    begins = [replace(alert, told_at=now) for alert in lasting if _is_news(alert, terms[alert.rule], now)]
    told = {alert.key: alert for alert in begins}
    after = [told.get(alert.key, alert) for alert in [*lasting, *over]]
    return Decisions(
        alerts=tuple(alert for alert in after if alert != before.get(alert.key) and not _is_nothing(alert)),
        told=(*begins, *(alert for alert in over if alert.is_told)),
        forgotten=tuple(alert.key for alert in over if _is_nothing(alert)),
    )


def _lasting(finding: Finding, known: Alert | None, terms: Terms, now: datetime) -> Alert:
    alert = known if known is not None and known.is_open else _begun(finding, known, now)
    has_lasted = now - alert.since >= terms.lasting
    return replace(
        alert,
        severity=finding.severity,
        message=finding.message,
        fired_at=alert.fired_at or (now if has_lasted else None),
    )


def _begun(finding: Finding, known: Alert | None, now: datetime) -> Alert:
    """A new turn. What was told in the last one, and that it is muted, still counts; who acknowledged that does not."""
    begun = Alert(
        rule=finding.rule, subject=finding.subject, severity=finding.severity, message=finding.message, since=now
    )
    if known is None:
        return begun
    lasting = ("told_at", "heard_at", "is_on_its_way", "event_id", "muted_until")
    return replace(begun, **{name: getattr(known, name) for name in lasting})


def _is_news(alert: Alert, terms: Terms, now: datetime) -> bool:
    is_wanted = alert.acknowledged_at is None and not alert.is_muted(now)
    return alert.is_firing and is_wanted and not alert.is_cooling(terms.cool_down, now)


def _is_nothing(alert: Alert) -> bool:
    """Its turn ended before it fired."""
    return not alert.is_open and alert.fired_at is None


#: Of many alerts the first are told in full.
MAX_ALERTS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertNews:
    rule: AlertRule
    #: Whether they fire; else they ended.
    is_firing: bool
    #: One at least, the most severe first.
    alerts: tuple[Alert, ...]

    @property
    def message(self) -> str:
        others = len(self.alerts) - 1
        first = self.alerts[0].message
        return f"{first.removesuffix('.')}. And {others} more." if others else first

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
            "alerts": [_line(alert) for alert in self.alerts[:MAX_ALERTS]],
        }


def news_of(told: Iterable[Alert]) -> list[AlertNews]:
    return [
        AlertNews(rule=rule, is_firing=is_firing, alerts=tuple(alerts))
        for (rule, is_firing), alerts in groupby(sorted(told, key=_rank), key=_kind)
    ]


def _kind(alert: Alert) -> tuple[AlertRule, bool]:
    return alert.rule, alert.is_open


def _rank(alert: Alert) -> tuple[AlertRule, bool, str, str]:
    return alert.rule, alert.is_open, alert.severity, alert.subject


def _line(alert: Alert) -> dict[str, Any]:
    return {
        "subject": alert.subject,
        "severity": alert.severity,
        "message": alert.message,
        "since": alert.since.isoformat(),
        "resolved_at": alert.resolved_at.isoformat() if alert.resolved_at else None,
    }
