"""Items as they were collected."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import Field

from catchment.bootstrap import System
from catchment.domain.caller import Caller
from catchment.errors import InvalidInput
from catchment.monitor.status import DAY
from catchment.store import items
from catchment.store.items import ItemQuery
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import problems
from catchment.web.inputs import (
    MAX_ID,
    Limit,
    ListCursor,
    Offset,
    Since,
    next_link,
    read_timed_cursor,
    write_cursor,
)
from catchment.web.middleware import only_looks
from catchment.web.outputs import Moment, Out, stream_list

MAX_LISTED, MAX_FOR_DIGEST, MAX_OFFSET = 200, 500, 10_000
SOURCES_AT_ONCE = 500
_TOO_FAR = f"An offset goes up to {MAX_OFFSET:,}: from there on, follow the Link header of each page."
router = APIRouter(prefix="/api/raw-items", tags=["items"], responses=problems(401, 422))


class ItemOut(Out):
    id: int
    source_id: int
    source_name: str
    source_type: str = Field(validation_alias="type")
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


class ItemStatsOut(Out):
    source_id: int
    name: str
    type: str
    total_items: int
    last_item_at: Moment | None
    items_24h: int


@router.get("")
async def list_items(
    request: Request,
    response: Response,
    system: TheSystem,
    caller: Known,
    *,
    source_id: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    since: Since = None,
    limit: Limit = 50,
    offset: Offset = 0,
    cursor: ListCursor = None,
) -> list[ItemOut]:
    """What was collected from the sources you may see, newest first; at most 200 at once.

    The `Link` header leads to the next page, by a `cursor`. An `offset` goes up to 10,000.
    """
    query = ItemQuery(
        caller=caller,
        source_id=source_id,
        since=since,
        limit=min(limit, MAX_LISTED),
        offset=offset,
        after=read_timed_cursor(cursor) if cursor else None,
    )
    if offset > MAX_OFFSET:
        if offset < await system.store.read(items.count_kept, query):
            raise InvalidInput(_TOO_FAR, field="offset")
        return []
    listed = await _list(system, query)
    if len(listed) == query.limit:
        response.headers.update(next_link(request, write_cursor(listed[-1].id, listed[-1].fetched_at)))
    return listed


@router.get("/stats", response_model=list[ItemStatsOut])
async def item_stats(request: Request, system: TheSystem, caller: Known) -> Response:
    """How much each active source brought. The list is streamed."""
    if only_looks(request):
        return Response(media_type="application/json")
    return await stream_list(_stats(system, caller))


async def _stats(system: System, caller: Caller) -> AsyncIterator[Sequence[ItemStatsOut]]:
    after_id, since = 0, system.clock.now() - DAY
    while rows := await system.store.read(
        items.stats_by_source,
        caller,
        since=since,
        after_id=after_id,
        limit=SOURCES_AT_ONCE,
    ):
        yield [ItemStatsOut.model_validate(row) for row in rows]
        after_id = rows[-1].source_id


@router.get("/for-digest")
async def items_for_digest(system: TheSystem, caller: Known, since: Since = None, limit: Limit = 200) -> list[ItemOut]:
    """What came from the sources you subscribed to; for a key that acts for no user, from all. At most 500."""
    query = ItemQuery(
        caller=caller,
        since=since,
        limit=min(limit, MAX_FOR_DIGEST),
    )
    return await _list(system, replace(query, subscribed_by=caller.user_id))


async def _list(system: System, query: ItemQuery) -> list[ItemOut]:
    return [ItemOut.model_validate(item) for item in await system.store.read(items.list_items, query)]
