"""Items as they were collected."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query

from catchment.bootstrap import System
from catchment.domain.item import StoredItem
from catchment.monitor.status import DAY
from catchment.store import items
from catchment.store.items import ItemQuery
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import problems
from catchment.web.inputs import MAX_ID, Limit, Offset, Since
from catchment.web.outputs import Moment, Out

MAX_LISTED, MAX_FOR_DIGEST = 200, 500
router = APIRouter(prefix="/api/raw-items", tags=["items"], responses=problems(401, 422))


class ItemOut(Out):
    id: int
    source_id: int
    source_name: str
    source_type: str
    type: str
    title: str
    url: str
    author: str
    content: str
    published_at: Moment | None
    fetched_at: Moment
    updated_at: Moment | None
    revision: int
    metadata: dict[str, Any]

    @classmethod
    def of(cls, item: StoredItem) -> ItemOut:
        return cls(
            id=item.id,
            source_id=item.source_id,
            source_name=item.source_name,
            source_type=item.type,
            type=item.type,
            title=item.title,
            url=item.url,
            author=item.author,
            content=item.content,
            published_at=item.published_at,
            fetched_at=item.fetched_at,
            updated_at=item.updated_at,
            revision=item.revision,
            metadata=dict(item.metadata),
        )


class ItemStats(Out):
    source_id: int
    name: str
    type: str
    total_items: int
    last_item_at: Moment | None
    items_24h: int


@router.get("")
async def list_items(
    system: TheSystem,
    caller: Known,
    *,
    source_id: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    since: Since = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> list[ItemOut]:
    """What was collected from the sources you may see, newest first; at most 200 at once."""
    query = ItemQuery(
        user_id=caller.user_id,
        all_sources=caller.sees_all,
        source_id=source_id,
        since=since,
        limit=min(limit, MAX_LISTED),
        offset=offset,
    )
    return await _list(system, query)


@router.get("/stats")
async def item_stats(system: TheSystem, caller: Known) -> list[ItemStats]:
    """How much each active source brought."""
    since = system.clock.now() - DAY
    rows = await system.store.read(items.stats_by_source, caller.user_id, all_sources=caller.sees_all, since=since)
    return [ItemStats(**row) for row in rows]


@router.get("/for-digest")
async def items_for_digest(system: TheSystem, caller: Known, since: Since = None, limit: Limit = 200) -> list[ItemOut]:
    """What came from the sources you subscribed to; for a key that acts for no user, from all. At most 500."""
    query = ItemQuery(
        user_id=caller.user_id,
        all_sources=caller.sees_all,
        since=since,
        limit=min(limit, MAX_FOR_DIGEST),
    )
    return await _list(system, replace(query, subscribed_by=caller.user_id))


async def _list(system: System, query: ItemQuery) -> list[ItemOut]:
    return [ItemOut.of(item) for item in await system.store.read(items.list_items, query)]
