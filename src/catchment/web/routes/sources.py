"""Sources: list, show, add, change, remove."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter
from pydantic import AliasChoices, BaseModel, Field, StrictInt, StrictStr

from catchment.bootstrap import System
from catchment.domain.caller import Caller
from catchment.domain.candidate import Backlog
from catchment.domain.confidential import masked
from catchment.domain.source import Source, SourceStatus
from catchment.manage.catalog import Change, Draft
from catchment.monitor.status import Mark, SourceHealth, View, describe, read_backlogs
from catchment.redact import redact_url
from catchment.schedule.intervals import Intervals
from catchment.store import subscriptions, users
from catchment.web.auth import Anyone, Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import Config, PathId, Text
from catchment.web.outputs import BacklogOut, ErrorOut, Moment, Ok, Out

router = APIRouter(prefix="/api/sources", tags=["sources"])


class SourceIn(BaseModel):
    type: Text
    config: Config
    name: Text = ""
    is_public: bool = Field(default=False, validation_alias=AliasChoices("is_public", "isPublic"))
    tags: list[Text] = []
    fetch_interval_minutes: StrictInt | StrictStr | None = None


class SourceChange(BaseModel):
    name: Text | None = None
    type: Text | None = None
    config: Config | None = None
    is_active: bool | None = Field(default=None, validation_alias=AliasChoices("is_active", "isActive"))
    is_public: bool | None = Field(default=None, validation_alias=AliasChoices("is_public", "isPublic"))
    tags: list[Text] | None = None
    fetch_interval_minutes: StrictInt | StrictStr | None = Field(
        default=None, description="0 goes back to the interval of the type."
    )


class SourceOut(Out):
    """A source. Fields that a caller may not see are left out."""

    id: int
    name: str
    type: str
    is_active: bool
    is_public: bool
    tags: list[str]
    status: SourceStatus
    created_by: int | None
    creator_name: str | None
    created_at: Moment
    updated_at: Moment
    last_fetched_at: Moment | None
    fetch_count: int
    fetch_error_count: int
    config: dict[str, Any] = Field(
        description="All of it for those who may change the source, for others its address at most."
    )
    #: The rest only for known callers.
    subscribed: bool = False
    last_error: ErrorOut | None = None
    fetch_interval_minutes: int = 0
    next_fetch_at: Moment | None = None
    next_check_at: Moment | None = None
    next_check_reason: str = ""
    marks: list[Mark] = Field(default=[])
    gap_at: Moment | None = None
    quiet_since: Moment | None = None
    pages: BacklogOut | None = None


@router.get("", response_model_exclude_unset=True, responses=problems(401))
async def list_sources(system: TheSystem, caller: Anyone) -> list[SourceOut]:
    """Public sources; with a key also your own, with the service's or an admin's all."""
    sources = await system.catalog.list(caller)
    surroundings = await _look_around(system, caller, sources)
    return [surroundings.show(source) for source in sources]


@router.post("", status_code=201, response_model_exclude_unset=True, responses=problems(401, 403, 409, *OF_A_BODY))
async def add_source(body: SourceIn, system: TheSystem, caller: Known) -> SourceOut:
    """Add a source; it is collected at the next tick. One that exists already is a conflict that names it."""
    draft = Draft(
        type=body.type,
        config=body.config,
        name=body.name,
        is_public=body.is_public,
        tags=tuple(body.tags),
        fetch_interval_minutes=body.fetch_interval_minutes,
    )
    return await _show(system, caller, await system.catalog.add(draft, caller))


@router.get("/{source_id}", response_model_exclude_unset=True, responses=problems(401, 404, 422))
async def show_source(source_id: PathId, system: TheSystem, caller: Anyone) -> SourceOut:
    return await _show(system, caller, await system.catalog.get(source_id, caller))


@router.put("/{source_id}", response_model_exclude_unset=True, responses=problems(401, 403, 404, 409, *OF_A_BODY))
async def change_source(source_id: PathId, body: SourceChange, system: TheSystem, caller: Known) -> SourceOut:
    """Change what is named and leave the rest. Resuming clears the error count."""
    change = Change(
        name=body.name,
        type=body.type,
        config=body.config,
        is_active=body.is_active,
        is_public=body.is_public,
        tags=tuple(body.tags) if body.tags is not None else None,
        fetch_interval_minutes=body.fetch_interval_minutes,
    )
    return await _show(system, caller, await system.catalog.change(source_id, change, caller))


@router.delete("/{source_id}", responses=problems(401, 403, 404, 422))
async def remove_source(source_id: PathId, system: TheSystem, caller: Known) -> Ok:
    """Remove a source from every list. Those who subscribed are still told of it."""
    await system.catalog.remove(source_id, caller)
    return Ok()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Surroundings:
    """What is needed beside a source to show it to a caller."""

    system: System
    caller: Caller
    intervals: Intervals
    names: Mapping[int, str]
    subscribed: set[int]
    pages: Mapping[int, Backlog]

    def show(self, source: Source) -> SourceOut:
        view, now = View(caller=self.caller), self.system.clock.now()
        health = describe(source, registry=self.system.registry, intervals=self.intervals, view=view, now=now)
        shown = self._common(source, health)
        return SourceOut(**shown, **self._for_known(source, health)) if self.caller.is_known else SourceOut(**shown)

    def _common(self, source: Source, health: SourceHealth) -> dict[str, Any]:
        return {
            "id": source.id,
            "name": source.name,
            "type": source.type,
            "is_active": source.is_active,
            "is_public": source.is_public,
            "tags": list(source.tags),
            "status": health.status,
            "created_by": source.created_by,
            "creator_name": self.names.get(source.created_by) if source.created_by is not None else None,
            "created_at": source.created_at,
            "updated_at": source.updated_at,
            "last_fetched_at": source.last_fetched_at,
            "fetch_count": source.fetch_count,
            "fetch_error_count": source.fetch_error_count,
            "config": masked(source.config) if self.caller.may_change(source) else _address_of(source),
        }

    def _for_known(self, source: Source, health: SourceHealth) -> dict[str, Any]:
        return {
            "subscribed": source.id in self.subscribed,
            "last_error": ErrorOut.of(health.last_error),
            "fetch_interval_minutes": health.interval_minutes,
            "next_fetch_at": health.next_fetch_at,
            "next_check_at": health.next_check_at,
            "next_check_reason": health.next_check_reason,
            "marks": list(health.marks),
            "gap_at": health.gap_at,
            "quiet_since": health.quiet_since,
            "pages": BacklogOut.of(self.pages.get(source.id)),
        }


async def _show(system: System, caller: Caller, source: Source) -> SourceOut:
    return (await _look_around(system, caller, [source])).show(source)


async def _look_around(system: System, caller: Caller, sources: list[Source]) -> _Surroundings:
    creators = {source.created_by for source in sources if source.created_by is not None}
    subscribed = set[int]()
    if caller.user_id is not None:
        subscribed = await system.store.read(subscriptions.source_ids, caller.user_id)
    return _Surroundings(
        system=system,
        caller=caller,
        intervals=await system.cadences.load(),
        names=await system.store.read(users.names, creators),
        subscribed=subscribed,
        pages=await system.store.read(read_backlogs, sources, registry=system.registry) if caller.is_known else {},
    )


def _address_of(source: Source) -> dict[str, Any]:
    url = source.config.get("url")
    return {"url": redact_url(url)} if isinstance(url, str) else {}
