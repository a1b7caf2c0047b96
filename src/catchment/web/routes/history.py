"""What happened and how to take it back: visits of a source, fetch now, undo, many sources at once, the audit trail."""

from __future__ import annotations

from datetime import date
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field, StrictInt, StrictStr

from catchment.domain.visit import VisitOutcome
from catchment.errors import InvalidInput
from catchment.manage.catalog import BATCH, Change
from catchment.manage.history import DAYS
from catchment.web.auth import AdminOnly, Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import MAX_ID, Cursor, In, Limit, PathId, Text, read_cursor, write_cursor
from catchment.web.outputs import Moment, Out
from catchment.web.routes.sources import SourceOut, show_sources_to

MAX_LISTED = 200
router = APIRouter(prefix="/api", responses=problems(401, 422))


class VisitOut(Out):
    id: int
    started_at: Moment
    finished_at: Moment
    ok: bool
    items: int
    inserted: int
    error: str | None
    outcome: VisitOutcome = Field(description="`network_away` and `our_fault` are no failures of the source.")


class DayOut(Out):
    day: date
    visits: int = Field(description="Without those that are excused.")
    failed: int
    excused: int = Field(description="The network was away, or another fault was on our side.")
    items: int = Field(description="How many were new.")


class HistoryOut(Out):
    visits: list[VisitOut]
    next_cursor: str | None
    days: list[DayOut] = Field(description="The last 30 days in UTC, the oldest first; on the first page only.")


class FetchOut(Out):
    ok: bool = True
    started: bool = Field(
        examples=[True], description="False where this process does not collect: then the next tick of one that does."
    )


class RemovedOut(Out):
    id: int
    name: str
    type: str
    removed_at: Moment
    #: Until then it can be had back.
    until: Moment


class BulkAction(StrEnum):
    PAUSE = "pause"
    RESUME = "resume"
    CHANGE = "change"
    REMOVE = "remove"
    RESTORE = "restore"


class BulkIn(In):
    """`change` sets the tags, the interval or both; the other actions take neither."""

    action: BulkAction
    ids: list[Annotated[int, Field(ge=1, le=MAX_ID)]] = Field(min_length=1, max_length=BATCH)
    tags: list[Text] | None = None
    fetch_interval_minutes: StrictInt | StrictStr | None = None


class BulkOut(Out):
    ok: bool = True
    ids: list[int] = Field(examples=[[3, 5]])


class AuditLineOut(Out):
    id: int
    at: Moment
    actor_id: int | None
    actor: str
    action: str
    object: str
    summary: str


class AuditTrailOut(Out):
    entries: list[AuditLineOut]
    next_cursor: str | None


@router.get("/sources/removed", tags=["sources"])
async def list_removed(system: TheSystem, caller: Known) -> list[RemovedOut]:
    """Sources that were removed within the last day and that you can have back, the last first."""
    return [
        RemovedOut(id=one.source.id, name=one.source.name, type=one.source.type, removed_at=one.at, until=one.until)
        for one in await system.catalog.list_removed(caller)
    ]


@router.post("/sources/bulk", tags=["sources"], responses=problems(403, 404, 409, *OF_A_BODY))
async def change_many(body: BulkIn, system: TheSystem, caller: Known) -> BulkOut:
    """Do one thing to many sources: to all of them, or to none where one of them cannot be changed by you."""
    if body.action is BulkAction.REMOVE:
        await system.catalog.remove_many(body.ids, caller)
    elif body.action is BulkAction.RESTORE:
        await system.catalog.restore_many(body.ids, caller)
    else:
        await system.catalog.change_many(body.ids, _change_of(body), caller)
    return BulkOut(ids=sorted(set(body.ids)))


@router.post(
    "/sources/{source_id}/restore",
    tags=["sources"],
    response_model_exclude_unset=True,
    responses=problems(403, 404, 409),
)
async def restore_source(source_id: PathId, system: TheSystem, caller: Known) -> SourceOut:
    """Have a source back that was removed within the last day, with its items and all it remembers."""
    return (await show_sources_to(system, caller, [await system.catalog.restore(source_id, caller)]))[0]


@router.post("/sources/{source_id}/fetch", tags=["sources"], status_code=202, responses=problems(403, 404, 409))
async def fetch_source(source_id: PathId, system: TheSystem, caller: Known) -> FetchOut:
    """Look at a source now, whatever its schedule says."""
    await system.visits.start(source_id, caller)
    return FetchOut(started=system.visits.are_made_here)


@router.get("/sources/{source_id}/history", tags=["sources"], responses=problems(404))
async def source_history(
    source_id: PathId, system: TheSystem, caller: Known, *, limit: Limit = 50, cursor: Cursor = None
) -> HistoryOut:
    """The visits of a source, the newest first, at most 200 at once, and what came of each of the last 30 days."""
    before, most = read_cursor(cursor) if cursor is not None else None, min(limit, MAX_LISTED)
    visits = await system.history.visits(source_id, caller, before=before, limit=most + 1)
    days = await system.history.days(source_id, caller, days=DAYS) if before is None else []
    shown = visits[:most]
    return HistoryOut(
        visits=[VisitOut.model_validate(one) for one in shown],
        next_cursor=write_cursor(shown[-1].id) if len(visits) > most else None,
        days=[DayOut.model_validate(one) for one in days],
    )


@router.get("/admin/audit-trail", tags=["admin"], responses=problems(403))
async def read_audit_trail(
    system: TheSystem, caller: AdminOnly, *, limit: Limit = 50, cursor: Cursor = None
) -> AuditTrailOut:
    """Who changed what, the newest first, at most 200 at once, for `CATCHMENT_AUDIT_DAYS`."""
    before, most = read_cursor(cursor) if cursor is not None else None, min(limit, MAX_LISTED)
    lines = await system.history.trail(caller, before=before, limit=most + 1)
    shown = lines[:most]
    return AuditTrailOut(
        entries=[AuditLineOut.model_validate(one) for one in shown],
        next_cursor=write_cursor(shown[-1].id) if len(lines) > most else None,
    )


def _change_of(body: BulkIn) -> Change:
    match body.action:
        case BulkAction.PAUSE:
            return Change(is_active=False)
        case BulkAction.RESUME:
            return Change(is_active=True)
    if body.tags is None and body.fetch_interval_minutes is None:
        raise InvalidInput("Nothing to change: name tags or fetch_interval_minutes.", field="action")
    tags = None if body.tags is None else tuple(body.tags)
    return Change(tags=tags, fetch_interval_minutes=body.fetch_interval_minutes)
