"""Reasons to say no that platforms share, and the tables by which one of them shows which it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from catchment.domain.crawling import Code, CrawlError
from catchment.fetch.client import Response
from catchment.sources.crawl.answers import quoted

_FAILURE: Final = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    code: Code
    cause: str
    #: What happened and what to do about it.
    meaning: str


GONE: Final = Reason(code=Code.NOT_FOUND, cause="gone", meaning="the note is gone, or only its author may see it")
BANNED: Final = Reason(code=Code.ACCOUNT_BANNED, cause="banned", meaning="the account is banned; use another")
BLOCKED: Final = Reason(
    code=Code.ACCOUNT_BANNED, cause="blocked", meaning="the account is blocked; let it rest, or use another"
)
ACCESS: Final = Reason(
    code=Code.RATE_LIMITED, cause="access", meaning="it wants fewer requests; raise CRAWL_SPACING_SECONDS"
)
CAPTCHA: Final = Reason(
    code=Code.RATE_LIMITED,
    cause="captcha",
    meaning="it asks whether the visitor is human; answer in the browser that the cookie is from, or let it rest",
)
STALE: Final = Reason(
    code=Code.COOKIE_INVALID, cause="stale", meaning="the cookie is stale; copy it anew from the browser"
)
LOGIN_EXPIRED: Final = Reason(
    code=Code.COOKIE_INVALID,
    cause="login_expired",
    meaning="the login has expired; sign in and replace the cookie",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusals:
    """How one platform shows its reasons."""

    platform: str
    statuses: Mapping[int, Reason]
    #: Words by which people are told. The first that fit count.
    words: tuple[tuple[tuple[str, ...], Reason], ...]

    def error(self, reason: Reason, *, retry_after: float | None = None) -> CrawlError:
        message = f"{self.platform} refused: {reason.meaning}"
        return CrawlError(reason.code, message, details={"cause": reason.cause}, retry_after=retry_after)

    def check_status(self, response: Response) -> None:
        if reason := self.statuses.get(response.status):
            # What is gone, or a cookie that is dead, gets no better by waiting.
            raise self.error(reason, retry_after=response.retry_after if reason is ACCESS else None)
        if response.status >= _FAILURE:
            raise CrawlError(
                Code.PLATFORM_ERROR,
                f"{self.platform} answered HTTP {response.status}; tried again later",
                details={"cause": "status", "status": response.status},
                retry_after=response.retry_after,
            )

    def by_words(self, said: str) -> Reason | None:
        return next((reason for words, reason in self.words if any(word in said for word in words)), None)

    def unknown(self, said: str, *, cookie: str) -> CrawlError:
        told = quoted(said, cookie=cookie) or "it gave no reason"
        message = f"{self.platform} refused: {told}; tried again later"
        return CrawlError(Code.PLATFORM_ERROR, message, details={"cause": "refused"})
