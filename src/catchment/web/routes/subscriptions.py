"""Which sources a user follows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import AliasChoices, BaseModel, Field

from catchment.store.subscriptions import Subscription
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import MAX_ID, PathId
from catchment.web.outputs import Moment, Ok, Out

MAX_AT_ONCE = 1000
router = APIRouter(prefix="/api/subscriptions", tags=["subscriptions"], responses=problems(401, 403))

Id = Annotated[int, Field(ge=1, le=MAX_ID)]


class SubscribeIn(BaseModel):
    source_id: Id = Field(validation_alias=AliasChoices("sourceId", "source_id"))


class SubscribeManyIn(BaseModel):
    source_ids: list[Id] = Field(validation_alias=AliasChoices("sourceIds", "source_ids"), max_length=MAX_AT_ONCE)


class SubscriptionOut(Out):
    id: int
    name: str
    type: str
    is_active: bool
    sourceDeleted: bool  # noqa: N815 (the interface's own spelling)
    subscribed_at: Moment

    @classmethod
    def of(cls, one: Subscription) -> SubscriptionOut:
        return cls(
            id=one.source_id,
            name=one.name,
            type=one.type,
            is_active=one.is_active,
            sourceDeleted=one.source_deleted,
            subscribed_at=one.subscribed_at,
        )


class SubscribedOut(Ok):
    added: int


@router.get("")
async def list_subscriptions(system: TheSystem, caller: Known) -> list[SubscriptionOut]:
    """What you follow; a source that was removed is marked `sourceDeleted`."""
    return [SubscriptionOut.of(one) for one in await system.subscriptions.list(caller)]


@router.post("", responses=problems(404, *OF_A_BODY))
async def subscribe(body: SubscribeIn, system: TheSystem, caller: Known) -> SubscribedOut:
    """Follow one of your own sources or a public one. Twice is the same as once."""
    return SubscribedOut(added=await system.subscriptions.add(body.source_id, caller))


@router.post("/bulk", responses=problems(*OF_A_BODY))
async def subscribe_many(body: SubscribeManyIn, system: TheSystem, caller: Known) -> SubscribedOut:
    """Follow many; what cannot be followed is passed over."""
    return SubscribedOut(added=await system.subscriptions.add_many(body.source_ids, caller))


@router.delete("/{source_id}", responses=problems(404, 422))
async def unsubscribe(source_id: PathId, system: TheSystem, caller: Known) -> Ok:
    await system.subscriptions.remove(source_id, caller)
    return Ok()
