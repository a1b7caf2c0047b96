"""Items, found by what they say and read one by one."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from catchment.domain.differences import ChangeKind
from catchment.domain.search import MAX_QUERY
from catchment.manage.items import ItemView
from catchment.store.search import ItemFilter, Place
from catchment.web.auth import Known, TheSystem
from catchment.web.errors import problems
from catchment.web.inputs import (
    MAX_ID,
    Cursor,
    Instant,
    Limit,
    PathId,
    Since,
    Text,
    check_window,
    read_cursor,
    read_timed_cursor,
    write_cursor,
)
from catchment.web.outputs import Moment, Out
from catchment.web.routes.raw_items import ItemOut

MAX_FOUND = 100
router = APIRouter(prefix="/api/items", tags=["items"], responses=problems(401, 422))

Words = Annotated[
    Text,
    Query(
        max_length=MAX_QUERY,
        description='Words that all occur, "a phrase", -without, begin*; Chinese words of two characters or more.',
        examples=['人工智能 "open source" -advertisement'],
    ),
]
Until = Annotated[Instant | None, Query(description="Only what was collected before; a time without zone is UTC.")]


class ItemsOut(Out):
    items: list[ItemOut]
    #: Null at the end. A page may be short and have more after it, where few of the finds may be seen.
    next_cursor: str | None


class DifferenceOut(Out):
    kind: ChangeKind
    text: str


class EditOut(Out):
    revision: int
    at: Moment
    title: list[DifferenceOut]
    text: list[DifferenceOut]


class ItemSourceOut(Out):
    id: int
    name: str
    type: str
    tags: list[str]
    is_public: bool


class ItemViewOut(ItemOut):
    """An item to read. `content` is HTML that is safe to show."""

    source: ItemSourceOut
    links: list[str] = Field(description="Addresses in its text, each once.")
    edits: list[EditOut] = Field(description="The last five, the newest first.")

    @classmethod
    def of_view(cls, view: ItemView) -> ItemViewOut:
        return cls(
            **ItemOut.model_validate(view.item).model_dump(),
            source=ItemSourceOut.model_validate(view.source),
            links=list(view.links),
            edits=[EditOut.model_validate(edit) for edit in view.edits],
        )


@router.get("")
async def find_items(
    system: TheSystem,
    caller: Known,
    *,
    q: Words = "",
    source_id: Annotated[int | None, Query(ge=1, le=MAX_ID)] = None,
    tag: Annotated[Text | None, Query(max_length=100, description="Of its source.")] = None,
    type: Annotated[Text | None, Query(max_length=50, description="Of its source.")] = None,  # noqa: A002
    since: Since = None,
    until: Until = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> ItemsOut:
    """Search the items of the sources you may see, the newest first; without `q` all of them. At most 100 at once."""
    check_window(since, until)
    wanted = ItemFilter(source_id=source_id, tag=tag, type=type, since=since, until=until)
    after = place_of(cursor, is_search=bool(q.strip()))
    page = await system.items.find(caller, wanted, q=q, after=after, limit=min(limit, MAX_FOUND))
    next_cursor = write_cursor(page.next.item_id, page.next.fetched_at) if page.next else None
    return ItemsOut(items=[ItemOut.model_validate(item) for item in page.items], next_cursor=next_cursor)


@router.get("/{item_id}", responses=problems(404))
async def show_item(item_id: PathId, system: TheSystem, caller: Known) -> ItemViewOut:
    """One item with its source, the links in it, and what its last edits changed."""
    return ItemViewOut.of_view(await system.items.get(item_id, caller))


def place_of(cursor: str | None, *, is_search: bool) -> Place | None:
    if cursor is None:
        return None
    if is_search:
        return Place(item_id=read_cursor(cursor))
    moment, item_id = read_timed_cursor(cursor)
    return Place(item_id=item_id, fetched_at=moment)
