"""The dashboard."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from catchment.monitor.status import View
from catchment.web.auth import Anyone, TheSystem
from catchment.web.dashboard import MAX_SOURCES, read_board
from catchment.web.errors import problems_of_page
from catchment.web.pages import render
from catchment.web.translations import TheLanguage

router = APIRouter(tags=["dashboard"], default_response_class=HTMLResponse, responses=problems_of_page(401, 403))


@router.get("/")
async def dashboard(request: Request, system: TheSystem, caller: Anyone, language: TheLanguage) -> Response:
    view = View(caller=caller, language=language, most=MAX_SOURCES)
    board = await read_board(system, view)
    return render(request, language, "dashboard.html", {"board": board, "caller": caller})
