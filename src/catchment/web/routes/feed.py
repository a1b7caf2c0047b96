"""Everybody's digests and a user's, as far as whoever asks may see them: as JSON, JSON Feed and RSS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy import Connection

from catchment.domain.account import User
from catchment.domain.caller import Caller
from catchment.domain.feed import Digest, DigestType
from catchment.errors import NotFound
from catchment.publish.feed import JSON_TYPE, RSS_TYPE, Feed, write_json_feed, write_rss
from catchment.publish.views import digest_feed
from catchment.store import digests, users
from catchment.store.digests import DigestQuery
from catchment.web.auth import Anyone, TheSystem
from catchment.web.errors import problems
from catchment.web.inputs import Limit, Since, base_url
from catchment.web.outputs import Out
from catchment.web.routes.digests import DigestOut, DigestTypeAsked

MAX_LISTED = 50
router = APIRouter(prefix="/feed", tags=["feeds"], responses=problems(401, 404, 422))


class FeedUser(Out):
    name: str
    slug: str


class DigestsOut(Out):
    user: FeedUser
    digests: list[DigestOut]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which digests the caller wants."""

    type: DigestType | None
    limit: int
    since: Since


async def _choice(type_: DigestTypeAsked = None, limit: Limit = 10, since: Since = None) -> Choice:
    return Choice(type=type_, limit=min(limit, MAX_LISTED), since=since)


Chosen = Annotated[Choice, Depends(_choice)]


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestRenderer:
    user: User
    digests: Sequence[Digest]
    total: int

    def feed(self, request: Request) -> Feed:
        return digest_feed(self.user, self.digests, base_url=base_url(request), path=request.url.path)


# The suffixed ones come first, or the bare one would take them for part of the name.
@router.get(
    "/{slug}.json",
    response_class=Response,
    responses={200: {"content": {JSON_TYPE: {"schema": {}}}}},
)
async def json_feed(slug: str, request: Request, system: TheSystem, caller: Anyone, choice: Chosen) -> Response:
    shelf = await system.store.read(_read_shelf, slug, choice, caller)
    return Response(write_json_feed(shelf.feed(request)), media_type=JSON_TYPE)


@router.get(
    "/{slug}.rss",
    response_class=Response,
    responses={200: {"content": {RSS_TYPE: {"schema": {"type": "string"}}}}},
)
async def rss_feed(slug: str, request: Request, system: TheSystem, caller: Anyone, choice: Chosen) -> Response:
    shelf = await system.store.read(_read_shelf, slug, choice, caller)
    return Response(write_rss(shelf.feed(request)), media_type=RSS_TYPE)


@router.get("/{slug}")
async def plain_feed(slug: str, system: TheSystem, caller: Anyone, choice: Chosen) -> DigestsOut:
    shelf = await system.store.read(_read_shelf, slug, choice, caller)
    return DigestsOut(
        user=FeedUser(name=shelf.user.name, slug=shelf.user.slug),
        digests=[DigestOut.model_validate(digest) for digest in shelf.digests],
        total=shelf.total,
    )


def _read_shelf(conn: Connection, slug: str, choice: Choice, caller: Caller) -> DigestRenderer:
    # Short names are plain ASCII; anything else names nobody, and might be more than a store can compare.
    user = users.find_by_slug(conn, slug) if slug.isascii() and slug.isprintable() else None
    if user is None or not user.is_active:
        raise NotFound("user not found")
    query = DigestQuery(
        user_id=caller.user_id,
        all_users=caller.sees_all,
        shelf_of=user.id,
        type=choice.type,
        since=choice.since,
        limit=choice.limit,
    )
    return DigestRenderer(user=user, digests=digests.list_digests(conn, query), total=digests.count(conn, query))
