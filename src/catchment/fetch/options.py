"""How one source wants to be asked for: its user agent, headers and credentials, and what its user vouches for."""

from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from yarl import URL

from catchment.domain.options import BasicAuth, Options
from catchment.errors import BadConfig
from catchment.fetch.body import StreamedResponse
from catchment.fetch.client import HttpClient, Request, Response
from catchment.fetch.freshness import Validators
from catchment.fetch.pacing import host_of

if TYPE_CHECKING:
    from catchment.domain.note import Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class LentCookie:
    """A cookie that is ours alone until it is given back."""

    name: str
    platform: Platform
    value: str = field(repr=False)


class CookiePool(Protocol):
    def lend(
        self,
        platform: Platform,
        *,
        name: str | None = None,
        excluded: frozenset[str] = frozenset(),
        blamed: set[tuple[str, str]] | None = None,
    ) -> AbstractAsyncContextManager[LentCookie]:
        """Lend the best cookie that is free, or the one of this name; wait while all that may be used are lent out.

        How the block ends is how the request went: without an exception it succeeded; a CrawlError counts against the
        cookie if its code says that the cookie is at fault. `blamed` is shared by the requests of one batch, so that
        one cause counts once. CrawlError(COOKIE_EXHAUSTED) when there is none to wait for, COOKIE_COOLING when the one
        asked for rests.
        """
        ...


USER_AGENT = "User-Agent"

#: From a header as it is written to the one that is sent.
Fill = Callable[[str], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    headers: dict[str, str] = field(default_factory=dict)
    #: The only origin that is told the headers: any of them may be a secret. None when the source has no address.
    own_origin: URL | None = None
    verify_tls: bool = True
    allow_private: bool = False

    def dress(self, request: Request) -> Request:
        """The request as this source sends it. What the request says itself wins."""
        return replace(
            request,
            headers={**self._headers_for(request.url), **request.headers},
            verify_tls=self.verify_tls and request.verify_tls,
            allow_private=self.allow_private or request.allow_private,
        )

    def _headers_for(self, url: str) -> dict[str, str]:
        if self.own_origin is None or _origin(url) == self.own_origin:
            return self.headers
        return {name: value for name, value in self.headers.items() if name == USER_AGENT}


PLAIN = RequestOptions()


def request_options(options: Options, *, address: str | None, fill: Fill) -> RequestOptions:
    headers = {name: fill(value) for name, value in options.headers.items()}
    if options.user_agent:
        headers[USER_AGENT] = options.user_agent
    if options.basic_auth:
        headers["Authorization"] = _basic(options.basic_auth)
    return RequestOptions(
        headers=headers,
        own_origin=_origin(address) if address else None,
        verify_tls=options.verify_tls,
        allow_private=options.allow_private,
    )


def _origin(url: str) -> URL:
    try:
        return URL(url).origin()
    except ValueError as error:
        raise BadConfig("The address of the source is no web address; it starts with https:// or http://.") from error


def _basic(auth: BasicAuth) -> str:
    pair = f"{auth.username}:{auth.password}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


class SourceClient:
    """The one client, asking in the manner of one source."""

    def __init__(self, http: HttpClient, manner: RequestOptions = PLAIN) -> None:
        self._http = http
        self._manner = manner

    async def get(self, url: str, *, validators: Validators | None = None) -> Response:
        return await self.send(Request(url=url, validators=validators))

    async def send(self, request: Request) -> Response:
        return await self._http.send(self._dressed(request))

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamedResponse]:
        return self._http.stream(self._dressed(request))

    def slow_down(self, url: str, seconds: float) -> None:
        """Ask the host of this address no more often than this, as its robots.txt wishes."""
        if host := host_of(url):
            self._http.slow_down(host, seconds)

    def _dressed(self, request: Request) -> Request:
        return request if self._manner is PLAIN else self._manner.dress(request)
