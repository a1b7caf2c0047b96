"""The envelope of the crawler's answers: `success, data, error, meta` in every one of them, whatever became of it.

Its routes are of `EnvelopeRoute`, which puts errors into the envelope as well, with the status of the table of errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from time import perf_counter
from typing import Annotated, Any, Final, Generic, TypeVar

from fastapi import Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from catchment.domain.crawl_errors import HANDLING, Code, CrawlError
from catchment.errors import (
    CatchmentError,
    Conflict,
    Forbidden,
    InvalidInput,
    LeaseLost,
    NotFound,
    SettingsError,
    StoreError,
    Unauthenticated,
)
from catchment.web.auth import system_of
from catchment.web.errors import ErrorHandlingRoute, ProblemResponse, message_of
from catchment.web.outputs import Moment

D = TypeVar("D")

#: What is not about a platform, and so has codes beside the table. The first that fits holds.
_CODES: Final[tuple[tuple[type[CatchmentError], HTTPStatus, str], ...]] = (
    (Unauthenticated, HTTPStatus.UNAUTHORIZED, "UNAUTHENTICATED"),
    (Forbidden, HTTPStatus.FORBIDDEN, "FORBIDDEN"),
    (NotFound, HTTPStatus.NOT_FOUND, Code.NOT_FOUND),
    (Conflict, HTTPStatus.CONFLICT, "CONFLICT"),
    (LeaseLost, HTTPStatus.CONFLICT, "LOCK_LOST"),
    (InvalidInput, HTTPStatus.BAD_REQUEST, Code.INVALID_INPUT),
    (StoreError, HTTPStatus.SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE"),
    (SettingsError, HTTPStatus.SERVICE_UNAVAILABLE, "NOT_CONFIGURED"),
)
#: What a read of a platform may end in.
OF_A_READ: Final = (400, 401, 403, 404, 413, 429, 500, 502, 503, 504)


class ErrorBody(BaseModel):
    code: str
    message: str
    retryable: bool
    details: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def of(cls, error: CrawlError) -> ErrorBody:
        details = {**error.details}
        if error.retry_after is not None:
            details["retry_after"] = error.retry_after
        return cls(code=error.code, message=str(error), retryable=error.handling.retryable, details=details)


class Meta(BaseModel):
    request_id: str
    timestamp: Moment
    latency_ms: int
    cookie_used: str | None = Field(default=None, description="The cookie's name, never its value.")
    retry_count: int = 0


class Envelope(BaseModel, Generic[D]):
    success: bool = True
    data: D | None
    error: ErrorBody | None = None
    meta: Meta


class EnvelopeFailure(Envelope[None]):
    success: bool = False
    data: None = None
    error: ErrorBody


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """The request that is being answered."""

    id: str
    at: datetime
    started: float

    def meta(self, *, cookie_used: str | None = None, retry_count: int = 0) -> Meta:
        return Meta(
            request_id=self.id,
            timestamp=self.at,
            latency_ms=round((perf_counter() - self.started) * 1000),
            cookie_used=cookie_used,
            retry_count=retry_count,
        )

    def answer(self, data: D) -> Envelope[D]:
        """What there is to say where no platform was asked."""
        return Envelope(data=data, meta=self.meta())


def asking(request: Request) -> Asking:
    state = request.state
    return Asking(id=state.request_id, at=system_of(request).clock.now(), started=state.started)


TheAsking = Annotated[Asking, Depends(asking)]


class ReadFailed(CatchmentError):
    """A read that came to nothing, with what its answer tells besides."""

    def __init__(self, error: CrawlError, *, cookie_used: str | None, retry_count: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.cookie_used = cookie_used
        self.retry_count = retry_count


class EnvelopeRoute(ErrorHandlingRoute):
    def told(self, request: Request, error: Exception) -> Response:
        return _failure(request, error)


def failures(*statuses: int, or_else: type[BaseModel] | None = None) -> dict[int | str, dict[str, Any]]:
    """The errors that a route declares in OpenAPI; `or_else` where it may tell them in another form."""
    model = EnvelopeFailure | or_else if or_else else EnvelopeFailure
    return {status: {"model": model, "description": HTTPStatus(status).phrase} for status in sorted(statuses)}


def _failure(request: Request, error: Exception) -> Response:
    told = _told(error)
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthenticated) else None
    meta = asking(request).meta()
    if isinstance(error, ReadFailed):
        meta = meta.model_copy(update={"cookie_used": error.cookie_used, "retry_count": error.retry_count})
    body = {"success": False, "data": None, "error": told.body.model_dump(), "meta": meta.model_dump(mode="json")}
    return ProblemResponse(body, status_code=told.status, headers=headers)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    status: int
    body: ErrorBody


def _told(error: Exception) -> _Told:
    if isinstance(error, ReadFailed):
        error = error.error
    if isinstance(error, CrawlError):
        return _Told(status=error.handling.status, body=ErrorBody.of(error))
    if isinstance(error, RequestValidationError):
        return _unfit(error)
    if isinstance(error, HTTPException):
        return _refused_body(error)
    return _our_error(error)


def _our_error(error: Exception) -> _Told:
    found = next(((status, code) for kind, status, code in _CODES if isinstance(error, kind)), None)
    if found is None:
        raise error
    status, code = found
    details = {"field": error.field} if isinstance(error, InvalidInput) and error.field else {}
    is_passing = isinstance(error, StoreError)
    body = ErrorBody(code=code, message=message_of(error), retryable=is_passing, details=details)
    return _Told(status=status, body=body)


def _unfit(error: RequestValidationError) -> _Told:
    # The input itself is left out: it may hold a cookie.
    parts = [{"field": ".".join(str(step) for step in part["loc"]), "message": part["msg"]} for part in error.errors()]
    first: Mapping[str, str] = parts[0] if parts else {"field": "request", "message": "invalid"}
    body = ErrorBody(
        code=Code.INVALID_INPUT,
        message=f"{first['field']}: {first['message']}",
        retryable=False,
        details={"field": first["field"], "invalid": parts},
    )
    return _Told(status=HANDLING[Code.INVALID_INPUT].status, body=body)


def _refused_body(error: HTTPException) -> _Told:
    """It could not be read at all, or is too large."""
    body = ErrorBody(code=Code.INVALID_INPUT, message=str(error.detail), retryable=False)
    return _Told(status=error.status_code, body=body)
