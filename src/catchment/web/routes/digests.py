"""Digests: written by the service, read by those they are for."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from catchment.domain.feed import DigestType, NewDigest
from catchment.errors import NotFound
from catchment.store import digests
from catchment.store.digests import DigestQuery
from catchment.web.auth import SERVICE_ONLY, Anyone, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import MAX_ID, Instant, JsonObject, Limit, Offset, PathId, Text
from catchment.web.outputs import Moment, Out

MAX_LISTED = 200
router = APIRouter(prefix="/api/digests", tags=["digests"], responses=problems(401, 422))


class DigestIn(BaseModel):
    type: DigestType
    content: Text
    metadata: JsonObject = {}
    user_id: Annotated[int, Field(ge=1, le=MAX_ID)] | None = Field(
        default=None, description="Whose it is; left out, it is everybody's."
    )
    created_at: Instant | None = None


class DigestOut(Out):
    id: int
    type: DigestType
    content: str
    metadata: dict[str, Any]
    user_id: int | None
    created_at: Moment


DigestTypeAsked = Annotated[DigestType | None, Query(alias="type")]


class Created(Out):
    id: int


@router.get("")
async def list_digests(
    system: TheSystem, caller: Anyone, type_: DigestTypeAsked = None, limit: Limit = 20, offset: Offset = 0
) -> list[DigestOut]:
    """Everybody's digests, those of users who show theirs, and your own, newest first; at most 200 at once."""
    query = DigestQuery(
        user_id=caller.user_id,
        all_users=caller.sees_all,
        type=type_,
        limit=min(limit, MAX_LISTED),
        offset=offset,
    )
    return [DigestOut.model_validate(one) for one in await system.store.read(digests.list_digests, query)]


@router.get("/{digest_id}", responses=problems(404))
async def show_digest(digest_id: PathId, system: TheSystem, caller: Anyone) -> DigestOut:
    found = await system.store.read(digests.get, digest_id, user_id=caller.user_id, all_users=caller.sees_all)
    if found is None:
        raise NotFound(f"There is no digest {digest_id}.")
    return DigestOut.model_validate(found)


@router.post("", dependencies=[SERVICE_ONLY], status_code=201, responses=problems(403, *OF_A_BODY))
async def add_digest(body: DigestIn, system: TheSystem) -> Created:
    new = NewDigest(
        type=body.type,
        content=body.content,
        metadata=body.metadata,
        user_id=body.user_id,
        created_at=body.created_at or system.clock.now(),
    )
    return Created(id=await system.store.write(digests.add, new))
