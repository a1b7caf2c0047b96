"""One read under way: its time, its cookies, and its way out at the platform's pace."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from time import monotonic
from typing import Final, Generic, Protocol, TypeVar

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Platform
from catchment.fetch.client import Request, Response
from catchment.fetch.options import LentCookie
from catchment.fetch.pacing import Pacer
from catchment.sources.platforms.answers import PlatformClient, Sender

T = TypeVar("T")

#: The platform answered as it should; that there is nothing to see is not its failure.
_ANSWERS = frozenset({Code.NOT_FOUND, Code.INVALID_INPUT})


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOutcome(Generic[T]):
    """Either a value or the error that was left in the end; of comments both, where only some of them came."""

    value: T | None = None
    error: CrawlError | None = None
    #: The name of the last one that was tried; None when there was none to try.
    cookie_used: str | None = None
    #: How many cookies were found dead before that.
    retry_count: int = 0
    latency: timedelta = timedelta()
    #: Why a note came without its comments, or with some of them only.
    comments_error: CrawlError | None = None

    def result(self) -> T:
        """The value, or the error raised."""
        if self.error is not None:
            raise self.error
        assert self.value is not None, "there is one or the other"
        return self.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One read of a platform with one cookie."""

    platform: Platform
    #: Such as `search '手冲咖啡' page 1`.
    what: str
    cookie: str
    took: timedelta
    error: CrawlError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None or self.error.code in _ANSWERS


class Journal(Protocol):
    async def record(self, asked: Asked) -> None:
        """Take down how the platform fares."""
        ...


class Allowance:
    """The seconds that a platform has to answer one read, over all its requests. Waiting for a turn takes none."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds
        self._timeout: asyncio.Timeout | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Within it the seconds pass, and end in TIMEOUT_ERROR."""
        try:
            async with asyncio.timeout(self._left) as self._timeout:
                try:
                    yield
                finally:
                    self._left = self._seconds_left(self._timeout)
        except TimeoutError as error:
            raise timed_out(self._seconds, "the platform took too long") from error

    def pause(self) -> None:
        assert self._timeout is not None, "it is the read that is running that waits"
        self._left = self._seconds_left(self._timeout)
        self._timeout.reschedule(None)

    def resume(self) -> float:
        """Gives the seconds that are left."""
        assert self._timeout is not None, "it was paused before"
        self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
        return self._left

    def _seconds_left(self, timeout: asyncio.Timeout) -> float:
        when = timeout.when()
        # Paused, and broken off while it was.
        return self._left if when is None else max(0.0, when - asyncio.get_running_loop().time())


class Waiting:
    """How long the caller waits, from now on; one without an end to it waits as long as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._ends = None if seconds is None else asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def ends_in_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout_at(self._ends):
                yield
        except TimeoutError as error:
            raise timed_out(self._seconds or 0.0, "there was not enough time for everything") from error


def timed_out(seconds: float, why: str) -> CrawlError:
    return CrawlError(
        Code.TIMEOUT_ERROR, f"No answer within {seconds:g} s: {why}.", details={"timeout_seconds": seconds}
    )


#: So many times a dead cookie is replaced in one read.
MAX_SWITCHES: Final = 3
#: The cookie is at fault, so that another one may fare better.
_DEAD_COOKIE: Final = frozenset({Code.COOKIE_INVALID, Code.ACCOUNT_BANNED})
#: By so much our own deadline comes before that of the connection, so that it is ours that tells.
_AHEAD_SECONDS: Final = 1.0


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the reads of one batch find out about cookies, so that one cause counts once and costs one try."""

    blamed: set[tuple[str, str]] = field(default_factory=set)
    dead: dict[str, CrawlError] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class PlatformRequest:
    platform: PlatformClient
    allowance: Allowance
    waiting: Waiting
    #: The one that was asked for by name, which nothing replaces.
    cookie_name: str | None = None
    findings: Findings = field(default_factory=Findings)
    began: float = field(default_factory=monotonic)
    cookie_used: str | None = None
    retry_count: int = 0

    def takes(self, cookie: LentCookie) -> None:
        self.retry_count += self.cookie_used in self.findings.dead
        self.cookie_used = cookie.name

    def may_switch(self, error: CrawlError) -> bool:
        """Whether the cookie was at fault and another one may be tried."""
        if error.code not in _DEAD_COOKIE or self.cookie_used is None or self.cookie_name is not None:
            return False
        self.findings.dead[self.cookie_used] = error
        return self.retry_count < MAX_SWITCHES

    def verdict(self, error: CrawlError) -> CrawlError:
        """Where no cookie is left to try, it is the last dead one that is the news."""
        if error.code is Code.COOKIE_EXHAUSTED and self.findings.dead:
            return [*self.findings.dead.values()][-1]
        return error

    def succeeded(self, value: T, *, comments_error: CrawlError | None = None) -> RequestOutcome[T]:
        return self._outcome(value, None, comments_error)

    def failed(self, error: CrawlError) -> RequestOutcome[T]:
        return self._outcome(None, error, None)

    def brought(self, part: T, error: CrawlError | None) -> RequestOutcome[T]:
        """As much as came, and what kept the rest away."""
        return self._outcome(part, error, None)

    def _outcome(
        self, value: T | None, error: CrawlError | None, comments_error: CrawlError | None
    ) -> RequestOutcome[T]:
        return RequestOutcome(
            value=value,
            error=error,
            cookie_used=self.cookie_used,
            retry_count=self.retry_count,
            latency=timedelta(seconds=monotonic() - self.began),
            comments_error=comments_error,
        )


class PacedSender:
    """The way out for one read: each of its requests waits for a turn at the platform, on nobody's time."""

    def __init__(self, http: Sender, pacer: Pacer, read: PlatformRequest) -> None:
        self._http = http
        self._pacer = pacer
        self._read = read

    async def send(self, request: Request) -> Response:
        if request.own_pace:
            # Not the platform's, such as a service that signs.
            return await self._http.send(request)
        allowance = self._read.allowance
        allowance.pause()
        async with self._pacer.slot(self._read.platform.name):
            seconds = _limit(request.timeout_seconds, left=allowance.resume())
            return await self._http.send(replace(request, own_pace=True, timeout_seconds=seconds))


def _limit(own: float | None, *, left: float) -> float:
    """A request's own limit holds where it is the shorter one."""
    return own if own is not None and own < left else left + _AHEAD_SECONDS
