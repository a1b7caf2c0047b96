"""Xiaohongshu over its web API: search, notes, comments, and whether a cookie is still signed in.

A note is shown to whoever brings the token of the listing that named it. When the API refuses a signature or gives no
note, the note's own page is read instead, which needs no signature.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol
from urllib.parse import quote
from zlib import crc32

from catchment.clock import Clock
from catchment.domain.cookie import missing_parts, parts_of
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Comment, Note, NoteRef, NoteSort, NoteType, Platform, Search, SearchPage
from catchment.domain.note import Platform as PlatformName
from catchment.fetch.client import Request
from catchment.parse.json_values import object_at
from catchment.sources.platforms.answers import CommentPage, Patience, Sender, ask, first_comments, is_signed_out
from catchment.sources.platforms.xhs_parser import (
    SEARCH_SOURCE,
    is_signature,
    read_comments,
    read_data,
    read_feed,
    read_html,
    read_page,
    read_search,
    ref_of,
    url_of,
)

if TYPE_CHECKING:
    from xhshow import Xhshow


#: What a cookie cannot do without.


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the API, by its path."""

    method: Literal["GET", "POST"]
    path: str
    #: The query of a GET, the body of a POST.
    values: Mapping[str, Any]
    #: Calls that bring notes carry one header more.
    guarded: bool = False

    @property
    def target(self) -> str:
        if self.method == "POST" or not self.values:
            return self.path
        pairs = (f"{name}={quote(str(value), safe=',')}" for name, value in self.values.items())
        return f"{self.path}?{'&'.join(pairs)}"

    @property
    def body(self) -> bytes | None:
        if self.method == "GET":
            return None
        text = json.dumps(self.values, separators=(",", ":"), ensure_ascii=False)
        try:
            return text.encode()
        except UnicodeEncodeError as error:
            raise CrawlError(Code.INVALID_INPUT, "what was asked for holds characters that cannot be sent") from error


class XhsSigner(Protocol):
    @property
    def user_agent(self) -> str:
        """The browser that signatures claim to be made in."""
        ...

    def headers(self, call: Call, cookies: Mapping[str, str], *, at: datetime) -> dict[str, str]: ...


class XhshowSigner:
    @property
    def user_agent(self) -> str:
        return self._library.config.PUBLIC_USERAGENT

    def headers(self, call: Call, cookies: Mapping[str, str], *, at: datetime) -> dict[str, str]:
        values = dict(call.values)
        return self._library.sign_headers(
            call.method,
            call.path,
            dict(cookies),
            params=values if call.method == "GET" else None,
            payload=values if call.method == "POST" else None,
            timestamp=at.timestamp(),
            x_rap=call.guarded,
        )

    @cached_property
    def _library(self) -> Xhshow:
        try:
            from xhshow import Xhshow
        except ImportError as error:
            raise CrawlError(
                Code.PLATFORM_ERROR,
                "Xiaohongshu wants signed requests, and what signs them is not installed: pip install 'catchment[xhs]'",
                details={"cause": "signer_missing", "extra": "xhs"},
            ) from error
        return Xhshow()


def read_cookie(cookie: str) -> dict[str, str]:
    """The parts of a cookie; CrawlError, with names and no values, when it cannot be sent or lacks what it needs."""
    if not cookie.isprintable():
        raise _useless("the cookie holds characters that cannot be sent", cause="malformed")
    if missing := missing_parts(cookie, Platform.XHS):
        raise _useless(f"the cookie lacks {', '.join(missing)}", cause="incomplete", missing=missing)
    return parts_of(cookie)


def _useless(fault: str, **details: Any) -> CrawlError:
    advice = "copy it anew from a browser that is signed in to Xiaohongshu"
    return CrawlError(Code.COOKIE_INVALID, f"{fault}; {advice}", details=details)


_FORMATS: Final = ("jpg", "webp", "avif")
_SORTS: Final = {
    NoteSort.GENERAL: "general",
    NoteSort.NEWEST: "time_descending",
    NoteSort.POPULAR: "popularity_descending",
}
_TYPES: Final = {None: 0, NoteType.VIDEO: 1, NoteType.NORMAL: 2}
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_SEARCH: Final = "/api/sns/web/v1/search/notes"
_FEED: Final = "/api/sns/web/v1/feed"
_COMMENTS: Final = "/api/sns/web/v2/comment/page"
_SELF: Final = "/api/sns/web/v1/user/selfinfo"

_API_HEADERS: Final = {
    "Accept": "application/json, text/plain, */*",
    "Content-Type": "application/json;charset=UTF-8",
    "Sec-Fetch-Dest": "empty",
    "Sec-Fetch-Mode": "cors",
    "Sec-Fetch-Site": "same-site",
}
_PAGE_HEADERS: Final = {
    "Accept": "text/html",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "same-origin",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Xhs:
    name: ClassVar[PlatformName] = PlatformName.XHS
    needs_token: ClassVar[bool] = True

    base_url: str
    site_url: str
    signer: XhsSigner
    clock: Clock
    patience: Patience = Patience()

    def require_signer(self) -> None:
        # It loads what signs.
        _ = self.signer.user_agent

    def ref_of(self, given: str) -> NoteRef | None:
        return ref_of(given, site_url=self.site_url)

    def url_of(self, ref: NoteRef) -> str:
        return url_of(ref, site_url=self.site_url)

    async def search(self, http: Sender, cookie: str, search: Search) -> SearchPage:
        cookies = read_cookie(cookie)
        values = {
            "keyword": search.keyword,
            "page": search.page,
            "page_size": search.page_size,
            "search_id": search_id(search, at=self.clock.now(), whose=cookies["a1"]),
            "sort": _SORTS[search.sort],
            "note_type": _TYPES[search.type],
        }
        call = Call(method="POST", path=_SEARCH, values=values, guarded=True)
        return read_search(await self._data(http, cookie, call, seconds=self.patience.search), self.url_of)

    async def detail(self, http: Sender, cookie: str, ref: NoteRef) -> Note:
        values = {
            "source_note_id": ref.note_id,
            "image_formats": list(_FORMATS),
            "extra": {"need_body_topic": 1},
            "xsec_source": ref.token_source or SEARCH_SOURCE,
            "xsec_token": _token_of(ref),
        }
        call = Call(method="POST", path=_FEED, values=values, guarded=True)
        try:
            data = await self._data(http, cookie, call, seconds=self.patience.detail)
        except CrawlError as error:
            if not is_signature(error):
                raise
            return await self._from_page(http, cookie, ref)
        return read_feed(data, ref, self.url_of) or await self._from_page(http, cookie, ref)

    def comments(self, http: Sender, cookie: str, ref: NoteRef, *, limit: int) -> AsyncIterator[tuple[Comment, ...]]:
        async def read_page(cursor: str) -> CommentPage[str]:
            return read_comments(await self._comment_page(http, cookie, ref, cursor))

        return first_comments(read_page, start="", limit=limit)

    async def is_valid(self, http: Sender, cookie: str) -> bool:
        call = Call(method="GET", path=_SELF, values={})
        try:
            data = await self._data(http, cookie, call, seconds=self.patience.validate)
        except CrawlError as error:
            if is_signed_out(error):
                return False
            raise
        return object_at(data, "result").get("success") is True

    async def _comment_page(self, http: Sender, cookie: str, ref: NoteRef, cursor: str) -> dict[str, Any]:
        values = {
            "note_id": ref.note_id,
            "cursor": cursor,
            "top_comment_id": "",
            "image_formats": ",".join(_FORMATS),
            "xsec_token": _token_of(ref),
        }
        call = Call(method="GET", path=_COMMENTS, values=values)
        return await self._data(http, cookie, call, seconds=self.patience.detail)

    async def _data(self, http: Sender, cookie: str, call: Call, *, seconds: float) -> dict[str, Any]:
        """What a call of the API brings, or a CrawlError that says why it brings nothing."""
        cookies, body = read_cookie(cookie), call.body
        signed = self.signer.headers(call, cookies, at=self.clock.now())
        request = Request(
            url=self.base_url + call.target,
            method=call.method,
            headers={**self._headers(cookie), **_API_HEADERS, "Origin": self.site_url, **signed},
            body=body,
            timeout_seconds=seconds,
        )
        response = await ask(http, request)
        return read_data(response, cookie=cookie, token=str(call.values.get("xsec_token", "")))

    async def _from_page(self, http: Sender, cookie: str, ref: NoteRef) -> Note:
        headers = {**self._headers(cookie), **_PAGE_HEADERS}
        request = Request(url=self.url_of(ref), headers=headers, timeout_seconds=self.patience.detail)
        return read_page(read_html(await ask(http, request)), ref, self.url_of)

    def _headers(self, cookie: str) -> dict[str, str]:
        return {"Cookie": cookie, "Referer": f"{self.site_url}/", "User-Agent": self.signer.user_agent}


def search_id(search: Search, *, at: datetime, whose: str) -> str:
    """One for all pages of a search by one visitor within the hour, so that its pages do not overlap."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    asked = f"{whose}/{search.keyword}/{search.sort}/{search.type}"
    number = (int(hour.timestamp() * 1000) << 64) + crc32(asked.encode(errors="replace"))
    digits = ""
    while number:
        number, digit = divmod(number, len(_DIGITS))
        digits = _DIGITS[digit] + digits
    return digits


def _token_of(ref: NoteRef) -> str:
    if ref.token is None:
        raise CrawlError(
            Code.INVALID_INPUT,
            f"Xiaohongshu shows {ref.note_id} only with its token; give the note's address with its xsec_token",
            details={"cause": "token_missing", "note_id": ref.note_id},
        )
    return ref.token
