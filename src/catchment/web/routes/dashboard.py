"""The pages: the dashboard, and how a browser signs in and out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qs

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from catchment.manage.accounts import SESSION_LIFE
from catchment.monitor.reason import Language
from catchment.monitor.status import View
from catchment.web.auth import OPEN, SESSION_COOKIE, Anyone, TheSystem
from catchment.web.board import MOST_SOURCES, read_board
from catchment.web.errors import OF_A_BODY, problems_of_page
from catchment.web.outputs import iso
from catchment.web.words import TheLanguage, words_in

router = APIRouter(tags=["dashboard"], default_response_class=HTMLResponse, responses=problems_of_page(401, 403))
_templates = Jinja2Templates(directory=Path(__file__).parent.parent / "templates")
_templates.env.filters["iso"] = iso
_PAGE = {"text/html": {"schema": {"type": "string"}}}
#: In, or the form once more with what was wrong; a wrong key in a header is told as everywhere.
_SIGN_IN_ANSWERS: dict[int | str, dict[str, Any]] = {
    303: {"description": "Signed in: on to the dashboard.", "content": {}},
    401: {"description": "Not signed in.", "content": {**_PAGE, **problems_of_page(401)[401]["content"]}},
}


@router.get("/")
async def dashboard(request: Request, system: TheSystem, caller: Anyone, language: TheLanguage) -> Response:
    view = View(caller=caller, language=language, most=MOST_SOURCES)
    board = await read_board(system, view)
    return _page(request, language, "dashboard.html", {"board": board, "caller": caller})


@router.get("/signin", dependencies=[OPEN], responses=_SIGN_IN_ANSWERS)
async def sign_in_page(
    request: Request,
    system: TheSystem,
    language: TheLanguage,
    token: Annotated[str | None, Query(description="Of a one-time link.")] = None,
) -> Response:
    """The form; or, with the token of a one-time link, straight in."""
    if token is None:
        return _page(request, language, "signin.html", {})
    session = await system.accounts.sign_in_by_link(token)
    if session is None:
        return _page(request, language, "signin.html", {"problem": "spent_link"}, status=401)
    return _signed_in(request, session)


@router.post(
    "/signin",
    dependencies=[OPEN],
    responses={**_SIGN_IN_ANSWERS, **problems_of_page(*OF_A_BODY)},
    openapi_extra={
        "requestBody": {
            "content": {
                "application/x-www-form-urlencoded": {
                    "schema": {"type": "object", "properties": {"key": {"type": "string"}}}
                }
            }
        }
    },
)
async def sign_in(request: Request, system: TheSystem, language: TheLanguage) -> Response:
    """Open a session with a key from the form."""
    form = parse_qs((await request.body()).decode("utf-8", "replace"))
    session = await system.accounts.sign_in(form.get("key", [""])[0].strip())
    if session is None:
        return _page(request, language, "signin.html", {"problem": "wrong_key"}, status=401)
    return _signed_in(request, session)


@router.post("/signout", dependencies=[OPEN], response_class=RedirectResponse, status_code=303)
async def sign_out(request: Request, system: TheSystem) -> Response:
    token = request.cookies.get(SESSION_COOKIE)
    if token:
        await system.accounts.sign_out(token)
    response = RedirectResponse("/", status_code=303)
    response.delete_cookie(SESSION_COOKIE)
    return response


def _page(
    request: Request, language: Language, template: str, context: Mapping[str, Any], *, status: int = 200
) -> Response:
    response = _templates.TemplateResponse(
        request,
        template,
        {"language": language.value, "words": words_in(language), **context},
        status_code=status,
    )
    # What is shown depends on who looks, and in which language.
    response.headers["Cache-Control"] = "no-store"
    return response


def _signed_in(request: Request, session: str) -> Response:
    response = RedirectResponse("/", status_code=303)
    response.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=int(SESSION_LIFE.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response
