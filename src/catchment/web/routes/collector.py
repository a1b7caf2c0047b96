"""How collecting goes."""

from __future__ import annotations

from fastapi import APIRouter
from pydantic import Field

from catchment.domain.source import PausedBy, SourceStatus
from catchment.monitor.status import Mark, StatusSnapshot, View, snapshot
from catchment.store.writability import WriteTrouble
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import problems
from catchment.web.outputs import BacklogOut, ErrorOut, Moment, Out
from catchment.web.routes.alerts import AlertOut
from catchment.web.translations import TheLanguage

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

    @classmethod
    def of(cls, taken: StatusSnapshot) -> StatusOut:
        return cls(
            at=taken.at,
            store=StoreOut.model_validate(taken.store),
            sources=[SourceHealthOut.model_validate(source) for source in taken.sources],
            stats=StatsOut.model_validate(taken.stats),
            collector=CollectorOut.model_validate(taken.collector),
            alerts=[AlertOut.of(alert) for alert in taken.alerts],
        )


@router.get("/status", responses=problems(401))
async def collector_status(system: TheSystem, caller: Known, language: TheLanguage) -> StatusOut:
    """Every source you may see with its health and next check, counts of the last 24 hours, the collector itself."""
    taken = await snapshot(
        store=system.store,
        registry=system.registry,
        intervals=await system.cadences.load(),
        view=View(caller=caller, language=language),
        now=system.clock.now(),
    )
    return StatusOut.of(taken)
