"""What people say of alerts: that they look after one, and that they want to hear nothing of it for a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.alert import Alert
from catchment.domain.audit_trail import AuditEntry, deed
from catchment.domain.caller import Caller
from catchment.errors import Conflict, Forbidden, InvalidInput, or_not_found
from catchment.store import alerts, sources
from catchment.store.audit_trail import recorded
from catchment.store.database import Store

MAX_MUTE = timedelta(days=30)
MAX_NAME = 200


def list_changeable(conn: Connection, shown: Sequence[Alert], caller: Caller) -> list[Alert]:
    """Those of which what the caller says counts."""
    if caller.is_admin:
        return list(shown)
    of_sources = [(int(alert.subject), alert) for alert in shown if alert.rule.is_about_source]
    known = sources.get_many(conn, [source_id for source_id, _ in of_sources])
    own = {source.id for source in known if caller.may_change(source)}
    return [alert for source_id, alert in of_sources if source_id in own]


class Alerts:
    """One rule for all of it: an admin may, and for an alert about a source whoever may change the source."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def acknowledge(self, alert_id: int, caller: Caller) -> Alert:
        """Nothing more is told of it until it ends."""
        alert = await self._changeable(alert_id, caller)
        if not alert.is_open:
            raise Conflict(f"The alert {alert.rule} ended already; there is nothing to acknowledge.")
        by = (caller.name or caller.role)[:MAX_NAME]
        entry = self._deed("alert.acknowledge", alert, caller)
        await self._store.write(recorded, entry, alerts.acknowledge, alert_id, by=by, at=self._clock.now())
        return await self._get(alert_id, caller)

    async def withdraw(self, alert_id: int, caller: Caller) -> Alert:
        """Nobody looks after it any more: it is told again as if nobody ever had."""
        entry = self._deed("alert.withdraw", await self._changeable(alert_id, caller), caller)
        await self._store.write(recorded, entry, alerts.acknowledge, alert_id, by=None, at=None)
        return await self._get(alert_id, caller)

    async def mute(self, alert_id: int, minutes: int, caller: Caller) -> Alert:
        """Nothing is told of it for that long, however often it comes back."""
        alert = await self._changeable(alert_id, caller)
        most = int(MAX_MUTE.total_seconds() // 60)
        if not 0 < minutes <= most:
            raise InvalidInput(f"An alert is muted for 1 to {most} minutes.", field="minutes")
        until = self._clock.now() + timedelta(minutes=minutes)
        entry = self._deed("alert.mute", alert, caller, f"{minutes} minutes")
        await self._store.write(recorded, entry, alerts.mute, alert_id, until=until)
        return await self._get(alert_id, caller)

    async def unmute(self, alert_id: int, caller: Caller) -> Alert:
        entry = self._deed("alert.unmute", await self._changeable(alert_id, caller), caller)
        await self._store.write(recorded, entry, alerts.mute, alert_id, until=None)
        return await self._get(alert_id, caller)

    def _deed(self, action: str, alert: Alert, caller: Caller, summary: str = "") -> AuditEntry:
        return deed(action, f"alert {alert.rule} {alert.subject}", summary, now=self._clock.now(), caller=caller)

    async def _changeable(self, alert_id: int, caller: Caller) -> Alert:
        alert = await self._get(alert_id, caller)
        if not await self._store.read(list_changeable, [alert], caller):
            raise Forbidden("Only an admin, and whoever may change the source that it is about, may do that.")
        return alert

    async def _get(self, alert_id: int, caller: Caller) -> Alert:
        alert = await self._store.read(alerts.get_shown, alert_id, caller)
        return or_not_found(alert, f"There is no alert {alert_id}.")
