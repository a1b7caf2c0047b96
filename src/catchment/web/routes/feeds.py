"""Saved feeds: list, show, publish, change, remove; and as readers fetch them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from pydantic import AliasChoices, Field

from catchment.domain.caller import Caller
from catchment.domain.feed import SavedFeed
from catchment.errors import NotFound
from catchment.manage.feeds import FeedChange, FeedDraft, Published, opens
from catchment.publish.feed import FeedFormat
from catchment.web.auth import OPEN, Anyone, Known, TheSystem, resolve_caller, system_of
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import In, JsonObject, Text, base_url
from catchment.web.outputs import ATOM_FEED, JSON_FEED, RSS_FEED, Moment, Ok, Out, is_unchanged, validators

published_router = APIRouter(prefix="/feeds", tags=["feeds"])
#: A minute is the time between two looks of the collector.
_CACHING = {True: "public, max-age=60", False: "private, no-cache"}
Token = Annotated[str, Query(description="Of a feed that is not public.")]


def folder_url(request: Request) -> str:
    return f"{base_url(request)}/feeds"


class _Direct(APIRoute):
    """Answers straight from the request. Readers ask all day long, and solving for parameters that are known by name
    would take longer than the answer itself.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        async def handle(request: Request) -> Response:
            asked = request.path_params["slug"], request.query_params.get("token", "")
            answer: Response = await self.endpoint(request, *asked)
            return answer

        return handle


def _serving(format_: FeedFormat) -> Callable[..., Awaitable[Response]]:
    async def serve(request: Request, slug: str, token: Token = "") -> Response:
        caller = await resolve_caller(request)
        renderer = system_of(request).renderer
        # Short names are plain ASCII; anything else names nothing, and might be more than a store can compare.
        asked = slug if slug.isascii() and slug.isprintable() else ""
        rendered = await renderer.look(asked, format_, folder_url=folder_url(request))
        if rendered is None or not _may_read(rendered.feed, caller, token):
            raise NotFound("There is no such feed, or not for whoever asks like this.")
        headers = {
            **validators(rendered.tag, rendered.changed_at),
            "Cache-Control": _CACHING[rendered.feed.is_public],
        }
        if is_unchanged(request.headers, rendered.tag, rendered.changed_at):
            return Response(status_code=304, headers=headers)
        return Response(await renderer.document(rendered), media_type=format_.media_type, headers=headers)

    serve.__doc__ = f"A saved view as {format_.value.upper()}; 304 when it is as the reader knows it."
    return serve


def _may_read(feed: SavedFeed, caller: Caller, token: str) -> bool:
    return feed.may_be_seen_by(caller) or opens(feed, token)


def _answers(format_: FeedFormat) -> dict[int | str, dict[str, Any]]:
    schema: dict[str, Any] = {} if format_ is FeedFormat.JSON else {"type": "string"}
    example = {FeedFormat.JSON: JSON_FEED, FeedFormat.RSS: RSS_FEED, FeedFormat.ATOM: ATOM_FEED}[format_]
    shown = {"schema": schema, "example": example}
    return {200: {"content": {format_.media_type: shown}}, 304: {"description": "Nothing changed."}}


for _format in FeedFormat:
    published_router.add_api_route(
        f"/{{slug}}.{_format}",
        _serving(_format),
        name=f"published_{_format}",
        dependencies=[OPEN],
        route_class_override=_Direct,
        response_class=Response,
        responses={**problems(401, 404, 422), **_answers(_format)},
    )


router = APIRouter(prefix="/api/feeds", tags=["feeds"])
_PUBLIC = AliasChoices("public", "is_public", "isPublic")


class FeedOut(Out):
    """A feed. Fields that a caller may not see are left out."""

    id: int
    slug: str
    title: str
    description: str
    link: str
    language: str
    public: bool
    owner_id: int | None
    created_at: Moment
    updated_at: Moment
    urls: dict[str, str]
    filter: dict[str, Any] = Field(default_factory=dict, description="Only for those who may change the feed.")
    token: str = Field(default="", description="Shown only when it was just made.")


class FeedIn(In):
    slug: Text = Field(examples=["news"])
    title: Text = ""
    description: Text = ""
    link: Text = ""
    language: Text = ""
    filter: JsonObject = Field(default_factory=dict, examples=[{"tags": ["news"]}])
    is_public: bool = Field(default=False, validation_alias=_PUBLIC)


class FeedChangeIn(In):
    answer = FeedOut

    title: Text | None = None
    description: Text | None = None
    link: Text | None = None
    language: Text | None = None
    filter: JsonObject | None = None
    is_public: bool | None = Field(default=None, validation_alias=_PUBLIC)
    new_token: bool = Field(default=False, description="Make another token; the old one is void.")


@router.get("", response_model_exclude_unset=True, responses=problems(401))
async def list_feeds(request: Request, system: TheSystem, caller: Anyone) -> list[FeedOut]:
    """Public feeds; with a key also your own, with the service's or an admin's all."""
    return [_shown(request, feed, caller) for feed in await system.feeds.list(caller)]


@router.post("", status_code=201, response_model_exclude_unset=True, responses=problems(401, 403, 409, *OF_A_BODY))
async def add_feed(request: Request, body: FeedIn, system: TheSystem, caller: Known) -> FeedOut:
    """Publish a view. It shows what you may see; a private one comes with a token that is shown this once."""
    return _just_made(request, await system.feeds.add(FeedDraft(**dict(body)), caller), caller)


@router.get("/{slug}", response_model_exclude_unset=True, responses=problems(401, 404))
async def show_feed(request: Request, slug: str, system: TheSystem, caller: Anyone) -> FeedOut:
    return _shown(request, await system.feeds.get(slug, caller), caller)


@router.put("/{slug}", response_model_exclude_unset=True, responses=problems(401, 403, 404, *OF_A_BODY))
async def change_feed(request: Request, slug: str, body: FeedChangeIn, system: TheSystem, caller: Known) -> FeedOut:
    """Change what is named and leave the rest."""
    return _just_made(request, await system.feeds.change(slug, FeedChange(**dict(body)), caller), caller)


@router.delete("/{slug}", responses=problems(401, 403, 404))
async def remove_feed(slug: str, system: TheSystem, caller: Known) -> Ok:
    await system.feeds.remove(slug, caller)
    return Ok()


def _just_made(request: Request, published: Published, caller: Caller) -> FeedOut:
    shown = _shown(request, published.feed, caller)
    return shown.model_copy(update={"token": published.token}) if published.token else shown


def _shown(request: Request, feed: SavedFeed, caller: Caller) -> FeedOut:
    folder = folder_url(request)
    facts = feed.shown()
    if not feed.may_be_changed_by(caller):
        del facts["filter"]
    return FeedOut(**facts, urls={format_.value: f"{folder}/{feed.slug}.{format_}" for format_ in FeedFormat})
