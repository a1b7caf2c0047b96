"""How collecting goes, and the alerts: what somebody should look after, and what was of late."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from fastapi import APIRouter, Request, Response
from pydantic import AliasPath, Field

from catchment.bootstrap import System
from catchment.domain.alert_rules import AlertRule, Severity
from catchment.domain.source import PausedBy, SourceStatus
from catchment.manage.alerts import MAX_MUTE
from catchment.monitor.alerting import list_alerts
from catchment.monitor.status import Mark, SourceViewer, View
from catchment.store.database import WriteTrouble
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import In, PathId
from catchment.web.middleware import only_looks
from catchment.web.outputs import BacklogOut, ErrorOut, Moment, Out, stream_list
from catchment.web.translations import TheLanguage

SOURCES_AT_ONCE = 50
_SOURCES, _NO_SOURCES = b'"sources":', b'"sources":[]'
alerts_router = APIRouter(prefix="/api/alerts", tags=["alerts"])


class AlertOut(Out):
    id: int
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
    #: When somebody said that they look after it, and who; in this turn of it.
    acknowledged_at: Moment | None
    acknowledged_by: str
    #: Until when nobody is told of it, in whatever turn.
    muted_until: Moment | None
    runbook: str = Field(validation_alias=AliasPath("rule", "runbook"))


class AlertsOut(Out):
    #: The most severe first.
    open: list[AlertOut]
    #: Each turn that ended within a day, the latest first: one that came and went twice is there twice.
    recent: list[AlertOut]


@alerts_router.get("", responses=problems(401))
async def alerts(system: TheSystem, caller: Known) -> AlertsOut:
    """What fires and what ended within a day; of sources, only of those that you may see."""
    found = await system.store.read(list_alerts, caller, now=system.clock.now())
    return AlertsOut(
        open=[AlertOut.model_validate(alert) for alert in found if alert.is_open],
        recent=[AlertOut.model_validate(alert) for alert in found if not alert.is_open],
    )


class MuteIn(In):
    minutes: int = Field(ge=1, le=MAX_MUTE // timedelta(minutes=1), examples=[60])


@alerts_router.post("/{alert_id}/acknowledge", responses=problems(401, 403, 404, 409, 422))
async def acknowledge_alert(alert_id: PathId, system: TheSystem, caller: Known) -> AlertOut:
    """Say that you look after it: nothing more is told of it until it ends."""
    return AlertOut.model_validate(await system.alerts.acknowledge(alert_id, caller))


@alerts_router.delete("/{alert_id}/acknowledge", responses=problems(401, 403, 404, 422))
async def withdraw_alert(alert_id: PathId, system: TheSystem, caller: Known) -> AlertOut:
    """Take that back."""
    return AlertOut.model_validate(await system.alerts.withdraw(alert_id, caller))


@alerts_router.post("/{alert_id}/mute", responses=problems(401, 403, 404, *OF_A_BODY))
async def mute_alert(alert_id: PathId, body: MuteIn, system: TheSystem, caller: Known) -> AlertOut:
    """Have nothing told of it for a time, however often it comes back; that it ended is told if its beginning was."""
    return AlertOut.model_validate(await system.alerts.mute(alert_id, body.minutes, caller))


@alerts_router.delete("/{alert_id}/mute", responses=problems(401, 403, 404, 422))
async def unmute_alert(alert_id: PathId, system: TheSystem, caller: Known) -> AlertOut:
    return AlertOut.model_validate(await system.alerts.unmute(alert_id, caller))


router = APIRouter(prefix="/api/collector", tags=["collector"])


class SourceHealthOut(Out):
    id: int
    name: str
    type: str
    status: SourceStatus
    is_active: bool
    paused_by: PausedBy | None
    interval_minutes: int
    last_fetched_at: Moment | None
    next_fetch_at: Moment | None
    next_check_at: Moment | None
    next_check_reason: str
    fetch_count: int
    fetch_error_count: int
    last_error: ErrorOut | None
    marks: list[Mark]
    gap_at: Moment | None
    quiet_since: Moment | None
    pages: BacklogOut | None


class StatsOut(Out):
    total_sources: int
    active_sources: int
    paused_sources: int
    paused_by_error: int
    gone_sources: int
    failing_sources: int
    fetches_24h: int
    errors_24h: int
    excused_24h: int = Field(
        description="Visits that failed while the network was away, or by another fault on our side; not in the others."
    )
    raw_items_24h: int
    items_24h: int
    success_rate_24h: float | None


class CollectorOut(Out):
    running: bool
    last_tick_at: Moment | None
    next_tick_at: Moment | None
    queue: int
    in_flight: int
    network_away: bool


class StoreOut(Out):
    writable: bool
    trouble: WriteTrouble | None


class StatusOut(Out):
    at: Moment
    store: StoreOut
    sources: list[SourceHealthOut]
    stats: StatsOut
    collector: CollectorOut
    alerts: list[AlertOut] = Field(description="Those that fire.")


@router.get("/status", response_model=StatusOut, responses=problems(401))
async def collector_status(request: Request, system: TheSystem, caller: Known, language: TheLanguage) -> Response:
    """Every source you may see with its health and next check, counts of the last 24 hours, the collector itself.

    The sources are streamed.
    """
    if only_looks(request):
        return Response(media_type="application/json")
    viewer = await system.viewer(View(caller=caller, language=language, most=0))
    taken = await viewer.snapshot()
    before, after = StatusOut.model_validate(taken).model_dump_json().encode().split(_NO_SOURCES, 1)
    return await stream_list(_health(system, viewer), before=before + _SOURCES, after=after)


async def _health(system: System, viewer: SourceViewer) -> AsyncIterator[Sequence[SourceHealthOut]]:
    async for found in system.catalog.pages(viewer.view.caller, most=SOURCES_AT_ONCE):
        yield [SourceHealthOut.model_validate(one) for one in await viewer.describe_some(found)]
