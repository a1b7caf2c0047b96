"""From our errors to HTTP: one table, one body `{error, detail}`, and never a trace."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.routing import APIRoute
from loguru import logger
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from catchment.domain.caller import ANONYMOUS
from catchment.errors import (
    BadConfig,
    CatchmentError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    RefusedAddress,
    SchedulerFailed,
    StoreError,
    TooBusy,
    TooManyAttempts,
    Unauthenticated,
)
from catchment.monitor.status import Language
from catchment.web.auth import system_of
from catchment.web.csrf import SESSION_COOKIE
from catchment.web.inputs import own_path, own_referer
from catchment.web.pages import FlashMessage, Page, redirect_with, render
from catchment.web.translations import LANGUAGE_COOKIE, choose_language

#: The first that fits holds.
STATUS_OF: tuple[tuple[type[CatchmentError], HTTPStatus], ...] = (
    (Unauthenticated, HTTPStatus.UNAUTHORIZED),
    (Forbidden, HTTPStatus.FORBIDDEN),
    (NotFound, HTTPStatus.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT),
    (TooBusy, HTTPStatus.SERVICE_UNAVAILABLE),
    (TooManyAttempts, HTTPStatus.TOO_MANY_REQUESTS),
    (InvalidInput, HTTPStatus.UNPROCESSABLE_ENTITY),
    (RefusedAddress, HTTPStatus.UNPROCESSABLE_ENTITY),
    (BadConfig, HTTPStatus.UNPROCESSABLE_ENTITY),
    (StoreError, HTTPStatus.SERVICE_UNAVAILABLE),
    (SchedulerFailed, HTTPStatus.INTERNAL_SERVER_ERROR),
)


FIRST_ERROR = 400
#: What the framework says of an address that leads nowhere.
_NO_PAGE = HTTPStatus.NOT_FOUND.phrase
#: Whoever asks here wants no page, a browser neither.
_OF_PROGRAMS = ("/api/", "/feed/", "/static/", "/health", "/live", "/ready", "/metrics")
#: What may be wrong with any body: unreadable, too large, or not what was asked for.
OF_A_BODY = (400, 413, 422)


class Problem(BaseModel):
    error: str = Field(examples=["There is no source 7."])
    detail: str = Field(examples=["There is no source 7."])


class ConflictProblem(Problem):
    existing_id: int | None = None


class InvalidPart(BaseModel):
    loc: list[str | int] = Field(examples=[["body", "url"]])
    msg: str = Field(examples=["Field required"])
    type: str = Field(examples=["missing"])


class InvalidProblem(BaseModel):
    """`detail` is a sentence, or the list of what is wrong where the request does not fit its schema."""

    error: str = Field(examples=["url: Field required"])
    detail: str | list[InvalidPart]
    field: str | None = Field(default=None, examples=["url"])


_MODELS: dict[int, type[BaseModel]] = {409: ConflictProblem, 422: InvalidProblem}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that a route declares in OpenAPI."""
    return {status: {"model": _model(status), "description": HTTPStatus(status).phrase} for status in sorted(statuses)}


def problems_of_page(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The same for a page, which shows its errors as pages where it can. The models are there by other routes."""
    return {
        status: {
            "content": {
                "application/json": {"schema": {"$ref": f"#/components/schemas/{_model(status).__name__}"}},
                "text/html": {"schema": {"type": "string"}},
            },
            "description": HTTPStatus(status).phrase,
        }
        for status in sorted(statuses)
    }


def _model(status: int) -> type[BaseModel]:
    return _MODELS.get(status, Problem)


#: What a form may be answered besides what every page may.
OF_FORMS = problems_of_page(409, *OF_A_BODY)


def page_router(prefix: str) -> APIRouter:
    """For pages and their forms, which lead on to the next page."""
    led_on: dict[int | str, dict[str, Any]] = {303: {"description": "On to the next page.", "content": {}}}
    answers = {**problems_of_page(401, 403, 404, 422), **led_on}
    return APIRouter(prefix=prefix, tags=["dashboard"], default_response_class=HTMLResponse, responses=answers)


class ProblemResponse(JSONResponse):
    """Escapes everything beyond ASCII: the error may quote what no encoding can hold."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content).encode("ascii")


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(CatchmentError, _our_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)


def problem(status: int, message: str, **more: Any) -> ProblemResponse:
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else None
    return ProblemResponse({"error": message, "detail": message, **more}, status_code=status, headers=headers)


class ErrorHandlingRoute(APIRoute):
    """A route that tells what went wrong in a form of its own."""

    def told(self, request: Request, error: Exception) -> Response:
        raise NotImplementedError

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except (CatchmentError, RequestValidationError, HTTPException) as error:
                return self.told(request, error)

        return answer


def status_of(error: Exception) -> HTTPStatus:
    """The status of an error that has one; any other is raised."""
    for kind, status in STATUS_OF:
        if isinstance(error, kind):
            return status
    raise error


def message_of(error: Exception) -> str:
    """What others are told of it."""
    if not isinstance(error, StoreError):
        return str(error)
    # What the database said may name hosts and paths: it is for the log.
    logger.error("{}", error)
    return "The store cannot be used at this moment; try again."


async def _our_error(request: Request, error: Exception) -> Response:
    status, message = status_of(error), message_of(error)
    more: dict[str, Any] = {}
    if isinstance(error, Conflict):
        more["existing_id"] = error.existing_id
    if isinstance(error, InvalidInput) and error.field:
        more["field"] = error.field
    answer = problem(status, message, **more)
    if isinstance(error, TooManyAttempts):
        answer.headers["Retry-After"] = str(error.retry_after)
    return await for_reader(request, answer, message)


async def _invalid_request(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    # The input itself is left out: it may hold a secret, or what JSON cannot.
    parts = [{"loc": list(part["loc"]), "msg": part["msg"], "type": part["type"]} for part in error.errors()]
    first = parts[0] if parts else {"loc": ["request"], "msg": "invalid"}
    place = ".".join(str(step) for step in first["loc"])
    message = f"{place}: {first['msg']}"
    if first["loc"][0] == "path" and not _asks_as_program(request):
        # Nobody who mistyped an address knows the parts of ours.
        return await for_reader(request, problem(HTTPStatus.NOT_FOUND, _NO_PAGE), _NO_PAGE)
    answer = ProblemResponse({"error": message, "detail": parts}, status_code=HTTPStatus.UNPROCESSABLE_ENTITY)
    return await for_reader(request, answer, message)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    answer = problem(error.status_code, str(error.detail))
    answer.headers.update(error.headers or {})
    return await for_reader(request, answer, str(error.detail)) if error.status_code >= FIRST_ERROR else answer


async def for_reader(request: Request, answer: Response, message: str) -> Response:
    """A browser is led back to the form with what was wrong, or shown it as a page; a program gets the body."""
    if _asks_as_program(request):
        return answer
    is_ours = answer.status_code == HTTPStatus.INTERNAL_SERVER_ERROR
    back = own_referer(request) if request.method == "POST" and not is_ours else None
    if back is not None:
        return redirect_with(request, back, FlashMessage(problem=message))
    chosen = request.query_params.get("lang") or request.cookies.get(LANGUAGE_COOKIE, "")
    language = choose_language(chosen, request.headers.get("accept-language", ""))
    status = answer.status_code
    shown = {"code": status, "message": message, "request_id": getattr(request.state, "request_id", "")}
    try:
        return await (await _page_by_session(request, language)).show("error.html", status=status, **shown)
    except StoreError:
        return render(request, language, "error.html", shown, status=status)


def _asks_as_program(request: Request) -> bool:
    return own_path(request.scope).startswith(_OF_PROGRAMS) or "text/html" not in request.headers.get("accept", "")


async def _page_by_session(request: Request, language: Language) -> Page:
    """Whoever is signed in stays so in the bar, whatever went wrong with the page."""
    system, session = system_of(request), request.cookies.get(SESSION_COOKIE)
    caller = await system.authenticator.caller_of_session(session) if session else None
    return Page(request, system, caller or ANONYMOUS, language)
