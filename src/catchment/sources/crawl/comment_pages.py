"""Comments page by page, until there are enough."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from catchment.domain.note import Comment

Place = TypeVar("Place")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentPage(Generic[Place]):
    comments: tuple[Comment, ...]
    #: Where the next page begins; None at the end.
    next: Place | None


async def first_comments(
    read_page: Callable[[Place], Awaitable[CommentPage[Place]]], *, start: Place, limit: int
) -> AsyncIterator[tuple[Comment, ...]]:
    """The first `limit` comments, each once. They come as they are read, so that none is lost with those behind it."""
    seen = set[str]()
    place: Place | None = start
    while place is not None and len(seen) < limit:
        page = await read_page(place)
        fresh = {comment.id: comment for comment in page.comments if comment.id not in seen}
        yield tuple(fresh.values())[: limit - len(seen)]
        seen |= fresh.keys()
        # A place to go on from that brings nothing new would be asked for without an end.
        place = page.next if fresh else None
