"""Asking the provider of X: pages of a timeline, paced by key, paid for by page, tried again where that may help."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from http import HTTPStatus
from typing import Any, Final, Protocol
from urllib.parse import urlencode

from catchment.errors import InvalidInput, ParseError, TimedOut, Unreachable, VisitError
from catchment.fetch.client import Request, Response
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.parse.json_values import objects_at, read_object
from catchment.redact import MASK, redact_text

FIRST_WAIT_SECONDS, MAX_WAIT_SECONDS = 1.0, 60.0
#: Of what the provider said, this much is for people to read.
MAX_SHOWN: Final = 500
#: Requests in flight at once: enough to keep the pace at answers of a few seconds.
CONCURRENCY: Final = 64
_PACE_KEY: Final = "x"

Sleep = Callable[[float], Awaitable[None]]


class XTrouble(StrEnum):
    """What kind of no the provider gave."""

    KEY_REFUSED = "key_refused"
    NO_CREDIT = "no_credit"
    RATE_LIMITED = "rate_limited"
    PROVIDER_DOWN = "provider_down"
    USER_NOT_FOUND = "user_not_found"
    REFUSED = "refused"
    UNREADABLE = "unreadable"
    CAP_REACHED = "cap_reached"


#: What befalls whoever asks, and stays until it is mended.
TROUBLES_OF_ALL: Final = frozenset({XTrouble.KEY_REFUSED, XTrouble.NO_CREDIT, XTrouble.RATE_LIMITED})


class XError(VisitError):
    """`response` is what the provider said, without secrets and cut to a readable length."""

    def __init__(
        self,
        message: str,
        *,
        trouble: XTrouble,
        status: int | None = None,
        response: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.trouble = trouble
        self.status = status
        self.response = response

    @property
    def stops_everything(self) -> bool:
        """No other timeline would fare better, and each attempt might cost."""
        return self.trouble in {XTrouble.KEY_REFUSED, XTrouble.CAP_REACHED}


class SendRequest(Protocol):
    """The way out: the one HTTP client, or a source's own manner of using it."""

    async def send(self, request: Request) -> Response: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CapReached:
    #: Which, and what to do about it.
    message: str
    #: Until it holds no longer.
    seconds: float


class Quota(Protocol):
    async def take_page(self) -> CapReached | None:
        """Count one page as spent, or nothing where a cap is reached."""
        ...


class Previews(Protocol):
    """First pages that were paid for to be looked at, kept for a while for whoever collects them."""

    async def previewed(self, timeline: str) -> Mapping[str, Any] | None: ...

    async def keep_previewed(self, timeline: str, body: Mapping[str, Any]) -> None: ...

    async def take_previewed(self, timeline: str) -> Mapping[str, Any] | None:
        """The page, which nobody else gets any more."""
        ...


class SpendingLog(Quota, Previews, Protocol):
    """What was paid for, and what went wrong with it."""

    async def record_trouble(self, error: XError) -> None:
        """The provider said no to whoever asked, in a way that a person may have to mend."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class TweetTimeline:
    """What to ask for, newest first."""

    path: str
    query: Mapping[str, str]
    #: By what its statistics are known: the username, or `list:<id>`.
    subject: str
    #: Whose it is, where it is one user's.
    author: str | None = None

    @property
    def address(self) -> str:
        return f"{self.path}?{urlencode(self.query)}"


def user_timeline(username: str) -> TweetTimeline:
    query = {"userName": username, "includeReplies": "false"}
    return TweetTimeline(path="user/last_tweets", query=query, subject=username, author=username)


def list_timeline(list_id: str, *, path: str) -> TweetTimeline:
    return TweetTimeline(path=path, query={"listId": list_id, "includeReplies": "false"}, subject=f"list:{list_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderPage:
    body: Mapping[str, Any]
    #: How many tweets it holds.
    count: int
    next_cursor: str | None


class XClient:
    def __init__(
        self,
        *,
        key: str,
        base_url: str,
        spending: SpendingLog,
        requests_per_second: float = 20.0,
        max_retries: int = 3,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._key = key
        self._base_url = base_url
        self._spending = spending
        self._pacer = Pacer(key_pace(requests_per_second))
        self._max_retries = max_retries
        self._sleep = sleep

    async def preview(self, http: SendRequest, timeline: TweetTimeline) -> ProviderPage:
        """The first page, which is kept for the collection that may follow."""
        if body := await self._spending.previewed(timeline.address):
            return page_of(body)
        page = await self._page(http, timeline, "")
        await self._spending.keep_previewed(timeline.address, page.body)
        return page

    async def pages(
        self, http: SendRequest, timeline: TweetTimeline, *, limit: int, is_first: bool = False
    ) -> AsyncIterator[ProviderPage]:
        """Pages until `limit` tweets have come, there are no more, or the caller has seen enough. The first visit to a
        timeline begins with the page that was previewed.
        """
        if limit < 1:
            raise InvalidInput("The limit is at least 1.", field="limit")
        count, cursor, seen = 0, "", set[str]()
        body = await self._spending.take_previewed(timeline.address) if is_first else None
        while count < limit:
            page = page_of(body) if body and not cursor else await self._page(http, timeline, cursor)
            yield page
            count += page.count
            # A cursor that comes again, or leads on from an empty page, would be paid for without an end.
            if not page.count or page.next_cursor is None or page.next_cursor in seen:
                return
            cursor = page.next_cursor
            seen.add(cursor)

    async def _page(self, http: SendRequest, timeline: TweetTimeline, cursor: str) -> ProviderPage:
        if cap := await self._spending.take_page():
            raise XError(cap.message, trouble=XTrouble.CAP_REACHED, retry_after=cap.seconds)
        response = await self._ask(http, timeline, cursor)
        # Whatever is said of the answer later on, the key is not in it.
        masked = replace(response, body=response.body.replace(self._key.encode(), MASK.encode()))
        try:
            return read_page(masked)
        except XError as error:
            if error.trouble in TROUBLES_OF_ALL:
                await self._spending.record_trouble(error)
            raise

    async def _ask(self, http: SendRequest, timeline: TweetTimeline, cursor: str) -> Response:
        """One answer, for which up to `max_retries` more attempts are made."""
        query = {**timeline.query, "cursor": cursor} if cursor else timeline.query
        request = Request(
            url=f"{self._base_url}/{timeline.path}?{urlencode(query)}",
            headers={"X-API-Key": self._key},
            keep_failures=True,
            own_pace=True,
        )
        for attempt in range(self._max_retries):
            asked = 0.0
            try:
                response = await self._send(http, request)
            except (TimedOut, Unreachable):
                pass
            else:
                asked = response.retry_after or 0.0
                # Whoever is told to come back much later does not wait at the door.
                if not _may_pass(response.status) or asked > MAX_WAIT_SECONDS:
                    return response
            await self._sleep(max(wait_seconds(attempt), asked))
        return await self._send(http, request)

    async def _send(self, http: SendRequest, request: Request) -> Response:
        async with self._pacer.slot(_PACE_KEY):
            return await http.send(request)


def key_pace(requests_per_second: float) -> PacePolicy:
    spacing = 1 / requests_per_second
    return PacePolicy(
        concurrency=CONCURRENCY, spacing_seconds=spacing, budget_per_minute=max(1, round(60 * requests_per_second))
    )


def wait_seconds(attempt: int) -> float:
    """1, 2, 4 … seconds, at most a minute."""
    return min(FIRST_WAIT_SECONDS * (1 << attempt), MAX_WAIT_SECONDS)


def read_page(response: Response) -> ProviderPage:
    """The page in an answer, or an XError that says what the provider said instead."""
    body = _read_json(response)
    if response.status != HTTPStatus.OK or _tells_of_error(body):
        raise _refusal(response, body)
    if body is None:
        raise _unreadable(response, "something that is not JSON")
    if not _MAY_HOLD_TWEETS & body.keys():
        raise _unreadable(response, "without any list of tweets")
    return page_of(body)


def _unreadable(response: Response, what: str) -> XError:
    return XError(
        f"X's provider answered {what}; tried again later",
        trouble=XTrouble.UNREADABLE,
        status=response.status,
        response=_shown(response),
    )


def page_of(body: Mapping[str, Any]) -> ProviderPage:
    cursor = body.get("next_cursor")
    more = body.get("has_next_page") is True and isinstance(cursor, str) and bool(cursor)
    return ProviderPage(body=body, count=_count(body), next_cursor=str(cursor) if more else None)


def _read_json(response: Response) -> Mapping[str, Any] | None:
    try:
        return read_object(response.body)
    except ParseError:
        return None


def _may_pass(status: int) -> bool:
    """Whether another attempt could end differently."""
    return status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _tells_of_error(body: Mapping[str, Any] | None) -> bool:
    """An answer of 200 may still be a no."""
    if body is None:
        return False
    is_success = str(body.get("status") or "success").lower() in {"success", "ok"}
    # X itself lists what it could not find beside what it could.
    is_all_wrong = bool(body.get("errors")) and not (body.get("data") or body.get("tweets"))
    return not is_success or bool(body.get("error")) or is_all_wrong


def _count(body: Mapping[str, Any]) -> int:
    data = body.get("data")
    listed = data.get("tweets", body.get("tweets")) if isinstance(data, dict) else data or body.get("tweets")
    return len(listed) if isinstance(listed, list) else 0


#: One of them is in every page, also in an empty one, of which X itself says no more than `meta`.
_MAY_HOLD_TWEETS: Final = frozenset({"tweets", "data", "meta"})
_NO_CREDIT: Final = (XTrouble.NO_CREDIT, "the account with X's provider is out of credit; top it up")
#: How the provider tells it where the status does not.
_OF_CREDIT: Final = re.compile(r"\b(credits?|recharge)\b", re.IGNORECASE)
_MEANINGS: Final[Mapping[int, tuple[XTrouble, str]]] = {
    401: (XTrouble.KEY_REFUSED, "X's provider refuses the key; check TWITTER_API_KEY"),
    402: _NO_CREDIT,
    429: (XTrouble.RATE_LIMITED, "X's provider asks for fewer requests; lower TWITTER_REQUESTS_PER_SECOND"),
}


def _refusal(response: Response, body: Mapping[str, Any] | None) -> XError:
    status, said = response.status, _said(body)
    if known := _MEANINGS.get(status) or _MEANINGS.get(_code(body)):
        trouble, meaning = known
    elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        trouble, meaning = XTrouble.PROVIDER_DOWN, f"X's provider is in trouble (HTTP {status}); tried again later"
    elif "not found" in said.lower() and status in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
        trouble, meaning = XTrouble.USER_NOT_FOUND, "there is no such timeline on X"
    elif _OF_CREDIT.search(said):
        trouble, meaning = _NO_CREDIT
    else:
        trouble, meaning = XTrouble.REFUSED, f"X's provider refused (HTTP {status})"
    # After a colon it would be taken for the value of the setting that the meaning names, and be struck out.
    message = f"{meaning} ({said})" if said else meaning
    return XError(message, trouble=trouble, status=status, response=_shown(response), retry_after=response.retry_after)


def _code(body: Mapping[str, Any] | None) -> int:
    """The status that an answer of 200 gives itself."""
    code = (body or {}).get("code")
    return code if isinstance(code, int) else 0


def _shown(response: Response) -> str:
    return redact_text(response.body.decode(errors="replace"))[:MAX_SHOWN]


def _said(body: Mapping[str, Any] | None) -> str:
    """What the provider has to say, wherever it says it."""
    listed = objects_at(body or {}, "errors")
    found = (place.get(name) for place in (body or {}, *listed) for name in ("msg", "message", "detail", "error"))
    return redact_text(next((one for one in found if isinstance(one, str) and one), ""))[:MAX_SHOWN]
