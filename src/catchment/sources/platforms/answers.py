"""The contract of a platform: what one cookie can read there, what comes back, or why nothing does.

Everything that goes wrong is a CrawlError: our own client's errors as the codes the crawler acts on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Protocol, TypeVar
from urllib.parse import quote

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Comment, Note, NoteRef, Search, SearchPage
from catchment.domain.note import Platform as PlatformName
from catchment.errors import BadConfig, Blocked, ParseError, TimedOut, VisitError
from catchment.fetch.client import Request, Response
from catchment.parse.json_values import read_object
from catchment.redact import MASK, redact_text


class Sender(Protocol):
    """The way out: the one HTTP client, or a source's own manner of using it."""

    async def send(self, request: Request) -> Response: ...


class PlatformClient(Protocol):
    @property
    def name(self) -> PlatformName: ...

    @property
    def needs_token(self) -> bool:
        """Whether a note is shown only to whoever brings the token of the listing that named it."""
        ...

    def require_signer(self) -> None:
        """CrawlError where its requests have to be signed, and what signs them is not there."""
        ...

    def ref_of(self, given: str) -> NoteRef | None:
        """The note that an id or an address of a note's page stands for; None when it is neither."""
        ...

    async def search(self, http: Sender, cookie: str, search: Search) -> SearchPage: ...

    async def detail(self, http: Sender, cookie: str, ref: NoteRef) -> Note:
        """The note without its comments."""
        ...

    def comments(self, http: Sender, cookie: str, ref: NoteRef, *, limit: int) -> AsyncIterator[tuple[Comment, ...]]:
        """The first comments, each once and with the replies that came along; page by page until there are `limit`."""
        ...

    async def is_valid(self, http: Sender, cookie: str) -> bool:
        """Whether the platform takes the cookie for somebody who is logged in."""
        ...


Platforms = Mapping[PlatformName, PlatformClient]


Cursor = TypeVar("Cursor")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentPage(Generic[Cursor]):
    comments: tuple[Comment, ...]
    #: Where the next page begins; None at the end.
    next: Cursor | None


async def first_comments(
    read_page: Callable[[Cursor], Awaitable[CommentPage[Cursor]]], *, start: Cursor, limit: int
) -> AsyncIterator[tuple[Comment, ...]]:
    """The first `limit` comments, each once. They come as they are read, so that none is lost with those behind it."""
    seen = set[str]()
    cursor: Cursor | None = start
    while cursor is not None and len(seen) < limit:
        page = await read_page(cursor)
        fresh = {comment.id: comment for comment in page.comments if comment.id not in seen}
        yield tuple(fresh.values())[: limit - len(seen)]
        seen |= fresh.keys()
        # A place to go on from that brings nothing new would be asked for without an end.
        cursor = page.next if fresh else None


#: Of what a platform said, this much is for people to read.
_MAX_SHOWN: Final = 200
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
    return redact_text(said)[:_MAX_SHOWN]


def _values(cookie: str) -> Iterator[str]:
    return (part.partition("=")[2].strip() for part in cookie.split(";"))


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
