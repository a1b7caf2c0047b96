"""Published feeds, as readers fetch them, and the page that lists them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute

from catchment.domain.caller import Caller
from catchment.domain.feed import SavedFeed
from catchment.errors import NotFound
from catchment.manage.feeds import opens
from catchment.publish.feed import FeedFormat
from catchment.web.auth import OPEN, Anyone, TheSystem, resolve_caller, system_of
from catchment.web.errors import problems, problems_of_page
from catchment.web.inputs import base_url
from catchment.web.outputs import is_unchanged, validators
from catchment.web.pages import render
from catchment.web.translations import TheLanguage

router = APIRouter(prefix="/feeds", tags=["feeds"])
#: A minute is the time between two looks of the collector.
_CACHING = {True: "public, max-age=60", False: "private, no-cache"}
Token = Annotated[str, Query(description="Of a feed that is not public.")]


@router.get("", response_class=HTMLResponse, responses=problems_of_page(401, 403))
async def list_page(request: Request, system: TheSystem, caller: Anyone, language: TheLanguage) -> Response:
    """The feeds that the caller may see, with their addresses."""
    feeds = await system.feeds.list(caller)
    return render(request, language, "feeds.html", {"feeds": feeds, "formats": list(FeedFormat), "caller": caller})


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
        press = system_of(request).press
        # Short names are plain ASCII; anything else names nothing, and might be more than a store can compare.
        asked = slug if slug.isascii() and slug.isprintable() else ""
        edition = await press.look(asked, format_, folder_url=folder_url(request))
        if edition is None or not _may_read(edition.feed, caller, token):
            raise NotFound("There is no such feed, or not for whoever asks like this.")
        headers = {
            **validators(edition.tag, edition.changed_at),
            "Cache-Control": _CACHING[edition.feed.is_public],
        }
        if is_unchanged(request.headers, edition.tag, edition.changed_at):
            return Response(status_code=304, headers=headers)
        return Response(await press.printed(edition), media_type=format_.media_type, headers=headers)

    serve.__doc__ = f"A saved view as {format_.value.upper()}; 304 when it is as the reader knows it."
    return serve


def _may_read(feed: SavedFeed, caller: Caller, token: str) -> bool:
    return feed.may_be_seen_by(caller) or opens(feed, token)


def _answers(format_: FeedFormat) -> dict[int | str, dict[str, Any]]:
    schema: dict[str, Any] = {} if format_ is FeedFormat.JSON else {"type": "string"}
    return {200: {"content": {format_.media_type: {"schema": schema}}}, 304: {"description": "Nothing changed."}}


for _format in FeedFormat:
    router.add_api_route(
        f"/{{slug}}.{_format}",
        _serving(_format),
        name=f"published_{_format}",
        dependencies=[OPEN],
        route_class_override=_Direct,
        response_class=Response,
        responses={**problems(401, 404, 422), **_answers(_format)},
    )
