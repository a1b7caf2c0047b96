"""Everybody's digests and a user's, as far as whoever asks may see them: as JSON, JSON Feed and RSS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field
from sqlalchemy import Connection

from catchment import __version__
from catchment.domain.account import User
from catchment.domain.caller import Caller
from catchment.domain.feed import Digest, DigestType, NewDigest
from catchment.errors import NotFound, or_not_found
from catchment.parse.html import markdown_as_html
from catchment.publish.feed import JSON_TYPE, RSS_TYPE, Feed, write_json_feed, write_rss
from catchment.publish.views import digest_feed
from catchment.store import digests, users
from catchment.store.digests import DigestQuery
from catchment.web.auth import SERVICE_ONLY, Anyone, TheSystem
from catchment.web.errors import OF_A_BODY, problems, problems_of_page
from catchment.web.inputs import MAX_ID, In, Instant, JsonObject, Limit, Offset, PathId, Since, Text, base_url, own_path
from catchment.web.outputs import JSON_FEED, RSS_FEED, Moment, Out, is_same_document, validators
from catchment.web.pages import OpenPage
from catchment.web.routes.item_pages import readable

MAX_DIGESTS = 200
digests_router = APIRouter(prefix="/api/digests", tags=["digests"], responses=problems(401, 422))


class DigestIn(In):
    type: DigestType
    content: Text = Field(examples=["# Today\n\n- What happened"])
    metadata: JsonObject = Field(default_factory=dict)
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
    id: int = Field(examples=[4])


@digests_router.get("")
async def list_digests(
    system: TheSystem, caller: Anyone, type_: DigestTypeAsked = None, limit: Limit = 20, offset: Offset = 0
) -> list[DigestOut]:
    """Everybody's digests, those of users who show theirs, and your own, newest first; at most 200 at once."""
    query = DigestQuery(
        caller=caller,
        type=type_,
        limit=min(limit, MAX_DIGESTS),
        offset=offset,
    )
    return [DigestOut.model_validate(one) for one in await system.store.read(digests.list_digests, query)]


@digests_router.get("/{digest_id}", responses=problems(404))
async def show_digest(digest_id: PathId, system: TheSystem, caller: Anyone) -> DigestOut:
    return DigestOut.model_validate(await system.store.read(_digest, digest_id, caller))


def _digest(conn: Connection, digest_id: int, caller: Caller) -> Digest:
    return or_not_found(digests.get(conn, digest_id, caller), f"There is no digest {digest_id}.")


@digests_router.post("", dependencies=[SERVICE_ONLY], status_code=201, responses=problems(403, *OF_A_BODY))
async def add_digest(body: DigestIn, system: TheSystem) -> Created:
    new = NewDigest(**{**dict(body), "created_at": body.created_at or system.clock.now()})
    return Created(id=await system.store.write(digests.add, new))


pages_router = APIRouter(
    prefix="/digests",
    tags=["pages"],
    default_response_class=HTMLResponse,
    responses=problems_of_page(401, 404, 422),
)
#: Items that a digest names and that are shown beside it.
MAX_NAMED_ITEMS = 100


@pages_router.get("/{digest_id}")
async def digest_page(page: OpenPage, digest_id: PathId) -> Response:
    caller, system = page.caller, page.system
    found = await system.store.read(_digest, digest_id, caller)
    # Items are for those who say who they are, here as everywhere.
    items = await system.items.get_some(_items_of(found), caller) if caller.is_known else []
    content = readable(page, markdown_as_html(found.content))
    return await page.show("digest.html", digest=found, items=items, content=content)


def _items_of(digest: Digest) -> list[int]:
    """The numbers of items that it says it is made of; whatever else stands there is passed over."""
    named = digest.metadata.get("items")
    numbers = [one for one in named if type(one) is int and 0 < one <= MAX_ID] if isinstance(named, list) else []
    return numbers[:MAX_NAMED_ITEMS]


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
        return digest_feed(self.user, self.digests, base_url=base_url(request), path=own_path(request.scope))


# The suffixed ones come first, or the bare one would take them for part of the name.
@router.get(
    "/{slug}.json",
    response_class=Response,
    responses={200: {"content": {JSON_TYPE: {"schema": {}, "example": JSON_FEED}}}},
)
async def json_feed(slug: str, request: Request, system: TheSystem, caller: Anyone, choice: Chosen) -> Response:
    shelf = await system.store.read(_read_shelf, slug, choice, caller)
    return _answer(request, shelf, lambda: write_json_feed(shelf.feed(request)), JSON_TYPE)


@router.get(
    "/{slug}.rss",
    response_class=Response,
    responses={200: {"content": {RSS_TYPE: {"schema": {"type": "string"}, "example": RSS_FEED}}}},
)
async def rss_feed(slug: str, request: Request, system: TheSystem, caller: Anyone, choice: Chosen) -> Response:
    shelf = await system.store.read(_read_shelf, slug, choice, caller)
    return _answer(request, shelf, lambda: write_rss(shelf.feed(request)), RSS_TYPE)


@router.get("/{slug}", response_model=DigestsOut)
async def plain_feed(slug: str, request: Request, system: TheSystem, caller: Anyone, choice: Chosen) -> Response:
    shelf = await system.store.read(_read_shelf, slug, choice, caller)

    def written() -> bytes:
        shown = DigestsOut(
            user=FeedUser(name=shelf.user.name, slug=shelf.user.slug),
            digests=[DigestOut.model_validate(digest) for digest in shelf.digests],
            total=shelf.total,
        )
        return shown.model_dump_json().encode()

    return _answer(request, shelf, written, "application/json")


def _answer(request: Request, shelf: DigestRenderer, write: Callable[[], bytes], media_type: str) -> Response:
    """The document, or that it is the one that the reader has: a digest is never changed once it is there."""
    grounds = (__version__, str(request.url), base_url(request), shelf.user.name, shelf.total)
    tag = blake2b(repr((*grounds, [one.id for one in shelf.digests])).encode(), digest_size=16).hexdigest()
    changed_at = max((one.created_at for one in shelf.digests), default=shelf.user.created_at)
    # Whoever asks may see more than others do, or less.
    headers = {**validators(tag, changed_at), "Cache-Control": "private, no-cache", "Vary": "Authorization, Cookie"}
    if is_same_document(request.headers, tag):
        return Response(status_code=304, headers=headers)
    return Response(write(), media_type=media_type, headers=headers)


def _read_shelf(conn: Connection, slug: str, choice: Choice, caller: Caller) -> DigestRenderer:
    # Short names are plain ASCII; anything else names nobody, and might be more than a store can compare.
    user = users.find_by_slug(conn, slug) if slug.isascii() and slug.isprintable() else None
    if user is None or not user.is_active:
        raise NotFound("user not found")
    query = DigestQuery(
        caller=caller,
        shelf_of=user.id,
        type=choice.type,
        since=choice.since,
        limit=choice.limit,
    )
    return DigestRenderer(user=user, digests=digests.list_digests(conn, query), total=digests.count(conn, query))
