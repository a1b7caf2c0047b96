"""One read under way: its time, its cookies, and its way out at the platform's pace."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from time import monotonic
from typing import Final, TypeVar

from catchment.domain.crawling import Code, CrawlError
from catchment.fetch.client import Request, Response
from catchment.fetch.credentials import LentCookie
from catchment.fetch.pacing import Pacer
from catchment.sources.crawl.allowance import Allowance, Waiting
from catchment.sources.crawl.outcome import Outcome
from catchment.sources.crawl.platform import Platform, Sender

#: So many times a dead cookie is replaced in one read.
MOST_SWITCHES: Final = 3
#: The cookie is at fault, so that another one may fare better.
_DEAD_COOKIE: Final = frozenset({Code.COOKIE_INVALID, Code.ACCOUNT_BANNED})
#: By so much our own deadline comes before that of the connection, so that it is ours that tells.
_AHEAD_SECONDS: Final = 1.0

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Findings:
    """What the reads of one batch find out about cookies, so that one cause counts once and costs one try."""

    blamed: set[tuple[str, str]] = field(default_factory=set)
    dead: dict[str, CrawlError] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Read:
    platform: Platform
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
        return self.retry_count < MOST_SWITCHES

    def verdict(self, error: CrawlError) -> CrawlError:
        """Where no cookie is left to try, it is the last dead one that is the news."""
        if error.code is Code.COOKIE_EXHAUSTED and self.findings.dead:
            return [*self.findings.dead.values()][-1]
        return error

    def succeeded(self, value: T, *, comments_error: CrawlError | None = None) -> Outcome[T]:
        return self._outcome(value, None, comments_error)

    def failed(self, error: CrawlError) -> Outcome[T]:
        return self._outcome(None, error, None)

    def brought(self, part: T, error: CrawlError | None) -> Outcome[T]:
        """As much as came, and what kept the rest away."""
        return self._outcome(part, error, None)

    def _outcome(self, value: T | None, error: CrawlError | None, comments_error: CrawlError | None) -> Outcome[T]:
        return Outcome(
            value=value,
            error=error,
            cookie_used=self.cookie_used,
            retry_count=self.retry_count,
            latency=timedelta(seconds=monotonic() - self.began),
            comments_error=comments_error,
        )


class PacedSender:
    """The way out for one read: each of its requests waits for a turn at the platform, on nobody's time."""

    def __init__(self, http: Sender, pacer: Pacer, read: Read) -> None:
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
