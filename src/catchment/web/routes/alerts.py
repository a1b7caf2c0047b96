"""Alerts: what somebody should look after, and what was of late."""

from __future__ import annotations

from fastapi import APIRouter

from catchment.domain.alert import Alert, AlertRule, Severity
from catchment.monitor.alerting import list_alerts
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import problems
from catchment.web.outputs import Moment, Out

router = APIRouter(prefix="/api/alerts", tags=["alerts"])


class AlertOut(Out):
    rule: AlertRule
    #: What it is about: a platform, a source's id.
    subject: str
    severity: Severity
    message: str
    since: Moment
    fired_at: Moment
    #: When it was last told of; null where it came back before its cool-down was over.
    told_at: Moment | None
    resolved_at: Moment | None
    runbook: str

    @classmethod
    def of(cls, alert: Alert) -> AlertOut:
        assert alert.fired_at is not None, "only those that fired are shown"
        return cls(
            rule=alert.rule,
            subject=alert.subject,
            severity=alert.severity,
            message=alert.message,
            since=alert.since,
            fired_at=alert.fired_at,
            told_at=alert.told_at,
            resolved_at=alert.resolved_at,
            runbook=alert.rule.runbook,
        )


class AlertsOut(Out):
    #: The most severe first.
    open: list[AlertOut]
    #: Those that ended within a day, the latest first.
    recent: list[AlertOut]


@router.get("", responses=problems(401))
async def alerts(system: TheSystem, caller: Known) -> AlertsOut:
    """What fires and what ended within a day; of sources, only of those that you may see."""
    found = await system.store.read(list_alerts, caller, now=system.clock.now())
    return AlertsOut(
        open=[AlertOut.of(alert) for alert in found if alert.is_open],
        recent=[AlertOut.of(alert) for alert in found if not alert.is_open],
    )
