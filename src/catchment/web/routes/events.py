"""News for open dashboards, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from catchment.domain.caller import Caller
from catchment.errors import NotFound, Unauthenticated
from catchment.monitor.status import Language, View
from catchment.web.auth import Anyone, resolve_caller
from catchment.web.csrf import SESSION_COOKIE
from catchment.web.dashboard import MAX_SOURCES
from catchment.web.errors import problems
from catchment.web.live import Live
from catchment.web.pages import Watch, digest_of, is_live, zone_of
from catchment.web.translations import TheLanguage

router = APIRouter(tags=["dashboard"])
#: A comment, which browsers pass over.
HEARTBEAT = ": \n\n"
_EVENTS = {"schema": {"type": "string"}, "example": 'data: {"tiles": [{"key": "sources", "value": "30"}]}\n\n'}


@router.get(
    "/api/events",
    response_class=StreamingResponse,
    responses={**problems(401, 404, 422), 200: {"content": {"text/event-stream": _EVENTS}}},
)
async def events(
    request: Request,
    caller: Anyone,
    language: TheLanguage,
    page: Annotated[str, Query(max_length=2000, description="The address of a page: only its parts that change.")] = "",
    seen: Annotated[str, Query(max_length=100, description="The page's state that is known already.")] = "",
) -> StreamingResponse:
    """The board as JSON, at once and whenever it changes; or the parts of a page. Without a key: what is public."""
    if page and not is_live(page, caller):
        raise NotFound("There is no such page to listen to.")
    stream = _parts(request, caller, language, page, seen) if page else _boards(request, caller, language)
    return StreamingResponse(
        stream,
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _boards(request: Request, caller: Caller, language: Language) -> AsyncIterator[str]:
    async for board in _news(request, View(caller=caller, language=language, most=MAX_SOURCES), caller):
        yield HEARTBEAT if board is None else f"data: {board}\n\n"


async def _parts(request: Request, caller: Caller, language: Language, page: str, seen: str) -> AsyncIterator[str]:
    """Only what changed since the page was made, and since then."""
    session, root_path = request.cookies.get(SESSION_COOKIE, ""), request.scope.get("root_path", "")
    zone = str(zone_of(request))
    watch = Watch(caller=caller, language=language, page=page, root_path=root_path, zone=zone, session=session)
    known: dict[str, Any] = {"parts": {}, "lists": {}}
    async for told in _news(request, watch, caller):
        now = known if told is None else json.loads(told)
        is_known = told is not None and digest_of(told) == seen
        news = {"changed": _changed(known["parts"], now["parts"]), "lists": _changed(known["lists"], now["lists"])}
        known = now
        yield HEARTBEAT if is_known or not any(news.values()) else f"data: {json.dumps(news)}\n\n"


def _changed(known: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in now.items() if known.get(name) != value}


async def _news(request: Request, view: View | Watch, caller: Caller) -> AsyncIterator[str | None]:
    live: Live = request.app.state.live
    async with aclosing(live.listen(view)) as told:
        async for one in told:
            if not await _is_still(request, caller):
                return
            yield one


async def _is_still(request: Request, caller: Caller) -> bool:
    """A key that was revoked, or a session that ended, hears no more."""
    try:
        return await resolve_caller(request) == caller
    except Unauthenticated:
        return False
