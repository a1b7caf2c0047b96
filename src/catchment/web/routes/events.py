"""News for open dashboards, as server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from catchment.domain.caller import Caller
from catchment.errors import Unauthenticated
from catchment.monitor.status import View
from catchment.web.auth import Anyone, resolve_caller
from catchment.web.dashboard import MAX_SOURCES
from catchment.web.errors import problems
from catchment.web.live import Live
from catchment.web.translations import TheLanguage

router = APIRouter(tags=["dashboard"])
#: A comment, which browsers pass over.
HEARTBEAT = ": \n\n"


@router.get(
    "/api/events",
    response_class=StreamingResponse,
    responses={**problems(401), 200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(request: Request, caller: Anyone, language: TheLanguage) -> StreamingResponse:
    """The board as JSON, at once and whenever it changes. Without a key: public sources only."""
    view = View(caller=caller, language=language, most=MAX_SOURCES)
    return StreamingResponse(
        _stream(request, view),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _stream(request: Request, view: View) -> AsyncIterator[str]:
    live: Live = request.app.state.live
    async with aclosing(live.listen(view)) as boards:
        async for board in boards:
            if not await _is_still(request, view.caller):
                return
            yield HEARTBEAT if board is None else f"data: {board}\n\n"


async def _is_still(request: Request, caller: Caller) -> bool:
    """A key that was revoked, or a session that ended, hears no more."""
    try:
        return await resolve_caller(request) == caller
    except Unauthenticated:
        return False
