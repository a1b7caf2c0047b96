"""How a page is made: its template, the words of its language, and the token that its forms carry."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import RedirectResponse, Response
from fastapi.templating import Jinja2Templates

from catchment.manage.authentication import SESSION_LIFE
from catchment.monitor.reason import Language
from catchment.web.csrf import SESSION_COOKIE, TOKEN_FIELD, token_of
from catchment.web.outputs import iso
from catchment.web.translations import words_in

_templates = Jinja2Templates(directory=Path(__file__).parent / "templates")
_templates.env.filters["iso"] = iso
#: A page among the answers of a route that OpenAPI describes.
PAGE = {"text/html": {"schema": {"type": "string"}}}


def render(
    request: Request, language: Language, template: str, context: Mapping[str, Any], *, status: int = 200
) -> Response:
    session = request.cookies.get(SESSION_COOKIE)
    common = {
        "language": language.value,
        "words": words_in(language),
        "token_field": TOKEN_FIELD,
        "token": token_of(session) if session else "",
    }
    response = _templates.TemplateResponse(request, template, {**common, **context}, status_code=status)
    # What is shown depends on who looks, and in which language.
    response.headers["Cache-Control"] = "no-store"
    return response


def form_fields(*names: str) -> dict[str, Any]:
    """A form as OpenAPI describes it."""
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
    return {"requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": schema}}}}


def begin_session(request: Request, session: str | None, *, then: str) -> Response:
    """On to the next page, with the session; without one, to where it begins."""
    if session is None:
        return RedirectResponse("/signin", status_code=303)
    response = RedirectResponse(then, status_code=303)
    response.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=int(SESSION_LIFE.total_seconds()),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response
