"""What comes back from a platform, or why nothing does: our own client's errors as the codes the crawler acts on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from catchment.domain.crawling import Code, CrawlError
from catchment.errors import BadConfig, Blocked, ParseError, TimedOut, VisitError
from catchment.fetch.client import Request, Response
from catchment.parse.json_values import read_object
from catchment.redact import MASK, redact_text
from catchment.sources.crawl.platform import Sender

#: Of what a platform said, this much is for people to read.
_MOST_SHOWN: Final = 200
#: The first that fits counts; everything else is the network's doing.
_MEANINGS: Final[tuple[tuple[type[VisitError], Code, str], ...]] = (
    (TimedOut, Code.TIMEOUT_ERROR, "timeout"),
    (ParseError, Code.PARSE_ERROR, "unreadable"),
    (Blocked, Code.RATE_LIMITED, "captcha"),
    # Of all that is sent, only a cookie is written by hand.
    (BadConfig, Code.COOKIE_INVALID, "malformed"),
)
#: Causes that make it certain that nobody is signed in. An access that is restricted may be so for a while only.
_SIGNED_OUT: Final = frozenset({"login_expired", "incomplete", "malformed", "stale"})
#: What is shorter stands in other words as well, and opens nothing.
_LEAST_SECRET: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """Seconds that a request of each kind may take."""

    search: float = 30.0
    detail: float = 15.0
    validate: float = 10.0


async def ask(http: Sender, request: Request) -> Response:
    """The answer, whatever its status: platforms say more in the body. Who calls keeps the pace."""
    try:
        return await http.send(replace(request, keep_failures=True))
    except VisitError as error:
        raise translated(error) from error


def read_json(response: Response) -> dict[str, Any]:
    try:
        return read_object(response.body)
    except ParseError as error:
        raise translated(error) from error


def translated(error: VisitError) -> CrawlError:
    for kind, code, cause in _MEANINGS:
        if isinstance(error, kind):
            return CrawlError(code, str(error), details={"cause": cause}, retry_after=error.retry_after)
    return CrawlError(Code.NETWORK_ERROR, str(error), details={"cause": "network"}, retry_after=error.retry_after)


def unexpected(what: str) -> CrawlError:
    """For an answer that can be read, but is not what it used to be."""
    message = f"{what}; the platform may have changed what it answers"
    return CrawlError(Code.PARSE_ERROR, message, details={"cause": "shape"})


def is_signed_out(error: CrawlError) -> bool:
    """Whether it says of the cookie that nobody is logged in by it, for good."""
    return error.code is Code.COOKIE_INVALID and error.details.get("cause") in _SIGNED_OUT


def quoted(said: str, *, cookie: str, secrets: Iterable[str] = ()) -> str:
    """What a platform said, short, and without what it was asked with: the cookie, its values, and other secrets."""
    hidden = {cookie, *_values(cookie), *secrets}
    # The longest first: a value may be a part of another one.
    for secret in sorted((one for one in hidden if len(one) >= _LEAST_SECRET), key=len, reverse=True):
        said = said.replace(secret, MASK).replace(quote(secret, safe="", errors="replace"), MASK)
    return redact_text(said)[:_MOST_SHOWN]


def _values(cookie: str) -> Iterator[str]:
    return (part.partition("=")[2].strip() for part in cookie.split(";"))
