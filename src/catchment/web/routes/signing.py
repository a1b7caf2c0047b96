"""How a browser signs in and out: with e-mail and password, with a key, or by a one-time link."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from catchment.errors import TooBusy, TooManyAttempts
from catchment.web.auth import DOOR, OPEN, TheSystem, address_of
from catchment.web.csrf import SESSION_COOKIE, check_origin, form_of
from catchment.web.errors import OF_A_BODY, problems_of_page
from catchment.web.inputs import link, way_back
from catchment.web.middleware import only_looks
from catchment.web.pages import PAGE, begin_session, form_fields, render
from catchment.web.translations import TheLanguage

router = APIRouter(tags=["dashboard"], default_response_class=HTMLResponse, responses=problems_of_page(401, 403))
#: In, or the form once more with what was wrong; a wrong key in a header is told as everywhere.
_ANSWERS: dict[int | str, dict[str, Any]] = {
    303: {"description": "Signed in: on to the dashboard.", "content": {}},
    401: {"description": "Not signed in.", "content": {**PAGE, **problems_of_page(401)[401]["content"]}},
    429: {"description": "Wrong too often.", "content": PAGE},
    503: {"description": "Too many passwords are being checked.", "content": PAGE},
}
_Then = Annotated[str, Query(description="The page of ours to go on with.")]


@router.get("/signin", dependencies=[OPEN], responses=_ANSWERS)
async def sign_in_page(
    request: Request,
    system: TheSystem,
    language: TheLanguage,
    token: Annotated[str | None, Query(description="Of a one-time link.")] = None,
    then: _Then = "",
) -> Response:
    """The form; or, with the token of a one-time link, straight in."""
    # Mail filters and chat programs look at every link before the one it was sent to does.
    if token is None or only_looks(request):
        return render(request, language, "signin.html", {})
    session = await system.authenticator.sign_in_by_link(token)
    if session is None:
        return render(request, language, "signin.html", {"problem": "spent_link"}, status=401)
    return begin_session(request, session, then=way_back(then, "/"))


@router.post(
    "/signin",
    dependencies=[DOOR],
    responses={**_ANSWERS, **problems_of_page(*OF_A_BODY)},
    openapi_extra=form_fields("email", "password", "key"),
)
async def sign_in(request: Request, system: TheSystem, language: TheLanguage, then: _Then = "") -> Response:
    """Open a session with what the form holds: a key, or e-mail and password."""
    check_origin(request)
    form = await form_of(request)
    key, email, password = form.get("key", "").strip(), form.get("email", ""), form.get("password", "")
    try:
        if key:
            session = await system.authenticator.sign_in(key)
        else:
            session = await system.authenticator.sign_in_by_password(email, password, address=address_of(request))
    except TooManyAttempts as error:
        problem, status = ("busy", 503) if isinstance(error, TooBusy) else ("too_often", 429)
        page = render(request, language, "signin.html", {"problem": problem, "email": email}, status=status)
        page.headers["Retry-After"] = str(error.retry_after)
        return page
    if session is None:
        problem = "wrong_key" if key else "wrong_password"
        return render(request, language, "signin.html", {"problem": problem, "email": email}, status=401)
    return begin_session(request, session, then=way_back(then, "/"))


@router.post("/signout", dependencies=[OPEN], response_class=RedirectResponse, status_code=303)
async def sign_out(request: Request, system: TheSystem) -> Response:
    session = request.cookies.get(SESSION_COOKIE)
    if session:
        await system.authenticator.sign_out(session)
    response = RedirectResponse(link(request, "/"), status_code=303)
    response.delete_cookie(SESSION_COOKIE)
    return response
