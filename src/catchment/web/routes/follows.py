"""Whom the scraper follows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field

from catchment.domain.tweet import Follow
from catchment.manage.follows import MAX_ADDED_BY, MAX_REASON
from catchment.web.auth import AdminOnly, Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import Text
from catchment.web.outputs import Moment, Out

router = APIRouter(tags=["follows"], responses=problems(401))
ADMIN = "/api/admin/scraping/follows"

MAX_USERNAME = 50
Username = Annotated[Text, Path(max_length=MAX_USERNAME, description="With or without @, in any case.")]


class FollowIn(BaseModel):
    username: Text = Field(max_length=MAX_USERNAME, examples=["@openai"])
    reason: Text = Field(min_length=1, max_length=MAX_REASON)
    added_by: Text = Field(min_length=1, max_length=MAX_ADDED_BY)


class FollowChange(BaseModel):
    reason: Text | None = Field(None, min_length=1, max_length=MAX_REASON)
    is_active: bool | None = None


class FollowOut(Out):
    id: int
    username: str
    added_at: Moment
    reason: str
    added_by: str
    is_active: bool


@router.get("/api/scraping/follows")
async def list_follows(system: TheSystem, _caller: Known) -> list[FollowOut]:
    """Whom the scraper follows now."""
    return _shown(await system.follows.list())


@router.get(ADMIN, responses=problems(403, 422))
async def list_all_follows(
    system: TheSystem, _caller: AdminOnly, *, include_inactive: Annotated[bool, Query()] = False
) -> list[FollowOut]:
    """Whom the scraper follows, and whom it once did."""
    return _shown(await system.follows.list(include_inactive=include_inactive))


@router.post(ADMIN, status_code=201, responses=problems(403, 409, *OF_A_BODY))
async def add_follow(system: TheSystem, _caller: AdminOnly, body: FollowIn) -> FollowOut:
    """Follow somebody. One who was given up is followed again."""
    added = await system.follows.add(body.username, reason=body.reason, added_by=body.added_by)
    return FollowOut.model_validate(added)


@router.put(ADMIN + "/{username}", responses=problems(403, 404, *OF_A_BODY))
async def change_follow(system: TheSystem, _caller: AdminOnly, username: Username, body: FollowChange) -> FollowOut:
    changed = await system.follows.change(username, reason=body.reason, is_active=body.is_active)
    return FollowOut.model_validate(changed)


@router.delete(ADMIN + "/{username}", status_code=204, responses=problems(403, 404, 422))
async def remove_follow(system: TheSystem, _caller: AdminOnly, username: Username) -> None:
    """Give somebody up. What was collected stays, and so does the entry, inactive."""
    await system.follows.remove(username)


def _shown(follows: list[Follow]) -> list[FollowOut]:
    return [FollowOut.model_validate(follow) for follow in follows]
