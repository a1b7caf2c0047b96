"""What can go wrong between us and a platform, and what follows from it: one table for all who act on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from catchment.errors import VisitError


class Code(StrEnum):
    COOKIE_EXHAUSTED = "COOKIE_EXHAUSTED"
    COOKIE_INVALID = "COOKIE_INVALID"
    COOKIE_COOLING = "COOKIE_COOLING"
    ACCOUNT_BANNED = "ACCOUNT_BANNED"
    PLATFORM_ERROR = "PLATFORM_ERROR"
    PARSE_ERROR = "PARSE_ERROR"
    NETWORK_ERROR = "NETWORK_ERROR"
    TIMEOUT_ERROR = "TIMEOUT_ERROR"
    PARTIAL_FAIL = "PARTIAL_FAIL"
    INVALID_INPUT = "INVALID_INPUT"
    NOT_FOUND = "NOT_FOUND"
    RATE_LIMITED = "RATE_LIMITED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handling:
    status: HTTPStatus
    #: Waits before the first, second, … try again; none where another try would not help. A cookie that cools down
    #: says itself how long to wait.
    waits: tuple[timedelta, ...] = ()
    #: The other notes would fare no better at this moment, and this one is not to blame.
    halts: bool = False
    #: It is about the note, and will be so at any other time.
    is_final: bool = False

    @property
    def retryable(self) -> bool:
        return bool(self.waits)


def _after(*seconds: int) -> tuple[timedelta, ...]:
    return tuple(timedelta(seconds=number) for number in seconds)


HANDLING: Mapping[Code, Handling] = MappingProxyType(
    {
        Code.COOKIE_EXHAUSTED: Handling(status=HTTPStatus.SERVICE_UNAVAILABLE, halts=True),
        Code.COOKIE_INVALID: Handling(status=HTTPStatus.UNAUTHORIZED, waits=_after(0, 0, 0), halts=True),
        Code.COOKIE_COOLING: Handling(status=HTTPStatus.TOO_MANY_REQUESTS, waits=_after(0, 0, 0), halts=True),
        Code.ACCOUNT_BANNED: Handling(status=HTTPStatus.FORBIDDEN, halts=True),
        Code.PLATFORM_ERROR: Handling(status=HTTPStatus.BAD_GATEWAY, waits=_after(5, 15)),
        Code.PARSE_ERROR: Handling(status=HTTPStatus.INTERNAL_SERVER_ERROR, waits=_after(5, 15)),
        Code.NETWORK_ERROR: Handling(status=HTTPStatus.SERVICE_UNAVAILABLE, waits=_after(5, 15, 45)),
        Code.TIMEOUT_ERROR: Handling(status=HTTPStatus.GATEWAY_TIMEOUT, waits=_after(10, 30)),
        Code.PARTIAL_FAIL: Handling(status=HTTPStatus.MULTI_STATUS, waits=_after(10, 10)),
        Code.INVALID_INPUT: Handling(status=HTTPStatus.BAD_REQUEST, is_final=True),
        Code.NOT_FOUND: Handling(status=HTTPStatus.NOT_FOUND, is_final=True),
        Code.RATE_LIMITED: Handling(status=HTTPStatus.TOO_MANY_REQUESTS, waits=_after(10, 30), halts=True),
    }
)


class CrawlError(VisitError):
    """A platform, or our way to it, said no. `details` are for whoever acts on the code."""

    def __init__(
        self, code: Code, message: str, *, details: Mapping[str, Any] | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.code = code
        self.details = dict(details or {})

    @property
    def handling(self) -> Handling:
        return HANDLING[self.code]


def wait_before_retry(error: CrawlError, tried_again: int) -> timedelta | None:
    """How long to wait before the next try, after so many tries again; None when it is enough."""
    waits = error.handling.waits
    if tried_again >= len(waits):
        return None
    asked_for = timedelta(seconds=error.retry_after) if error.retry_after is not None else timedelta()
    return max(waits[tried_again], asked_for)
