"""Who asks by the Google Reader API, and how it says no: in plain text, as its clients expect.

They sign in by `ClientLogin` and come back with `Authorization: GoogleLogin auth=…`; a key in the usual headers is as
good. No browser sends either by itself, so that a change needs no token against forgery; one that comes must be ours.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import PlainTextResponse, Response
from starlette.exceptions import HTTPException

from catchment.domain.caller import ANONYMOUS, Caller, Scope
from catchment.errors import (
    Forbidden,
    InvalidInput,
    TooManyAttempts,
    Unauthenticated,
    VisitError,
)
from catchment.manage.accounts import user_of
from catchment.web.auth import resolve_caller, system_of
from catchment.web.errors import ErrorHandlingRoute, message_of, status_of
from catchment.web.greader.protocol import TheParameters

BAD_AUTHENTICATION = "Error=BadAuthentication\n"
_SCHEME = "googlelogin auth="


class BadPostToken(Unauthenticated):
    """The token of a change is not ours, or too old: the client fetches another and asks again."""


def token_in(request: Request) -> str | None:
    """What an app was given when it signed in, if that is how it comes."""
    given = request.headers.get("authorization", "").strip()
    return given[len(_SCHEME) :].strip().strip('"') if given.lower().startswith(_SCHEME) else None


async def reader(request: Request) -> Caller:
    """A user: reading is somebody's."""
    token = token_in(request)
    if token is not None:
        caller = await system_of(request).authenticator.identify_reader(token) or ANONYMOUS
    elif "x-api-key" in request.headers or "authorization" in request.headers:
        caller = await resolve_caller(request)
    else:
        caller = ANONYMOUS
    if not caller.is_known:
        raise Unauthenticated("Sign in by ClientLogin first.")
    user_of(caller)
    return caller


async def reading_writer(request: Request, given: TheParameters, caller: Annotated[Caller, Depends(reader)]) -> Caller:
    """The same with a key that may write, and no wrong token."""
    if not caller.scope.holds(Scope.WRITE):
        raise Forbidden("This key may only read.")
    token, sent = token_in(request), given.first("T")
    if token and sent and not system_of(request).authenticator.is_reader_post_token(sent, token):
        raise BadPostToken("The token is not good any more.")
    return caller


TheReader = Annotated[Caller, Depends(reader)]
TheWriter = Annotated[Caller, Depends(reading_writer)]


class ReaderRoute(ErrorHandlingRoute):
    def told(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - its base class names it
        if isinstance(error, Unauthenticated):
            headers = {"X-Reader-Google-Bad-Token": "true"} if isinstance(error, BadPostToken) else {}
            return PlainTextResponse(BAD_AUTHENTICATION, HTTPStatus.UNAUTHORIZED, headers=headers)
        if isinstance(error, HTTPException):
            return _said(error.status_code, str(error.detail))
        if isinstance(error, RequestValidationError):
            return _said(HTTPStatus.BAD_REQUEST, "The request cannot be read.")
        if isinstance(error, (InvalidInput, VisitError)):
            return _said(HTTPStatus.BAD_REQUEST, str(error))
        answer = _said(status_of(error), message_of(error))
        if isinstance(error, TooManyAttempts):
            answer.headers["Retry-After"] = str(error.retry_after)
        return answer


def _said(status: int, message: str) -> Response:
    # The message may quote what no encoding can hold.
    return PlainTextResponse(f"Error={message}\n".encode("utf-8", "replace"), status)
