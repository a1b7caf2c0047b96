"""Comments page by page, until there are enough."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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
) -> tuple[Comment, ...]:
    """The first `limit` comments, each once."""
    found: dict[str, Comment] = {}
    place: Place | None = start
    while place is not None and len(found) < limit:
        page = await read_page(place)
        fresh = {comment.id: comment for comment in page.comments if comment.id not in found}
        found |= fresh
        # A place to go on from that brings nothing new would be asked for without an end.
        place = page.next if fresh else None
    return tuple(found.values())[:limit]
