"""Douyin as a browser sees it: search, works and comments, signed by what the operator supplies."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from yarl import URL

from catchment.domain.cookie import parts_of
from catchment.domain.crawling import Code, CrawlError
from catchment.domain.note import Comment, Note, NoteRef, Platform, Search, SearchPage, Sort
from catchment.fetch.client import Request, Response
from catchment.parse.html import storable
from catchment.parse.json_values import object_at
from catchment.sources.platforms.answers import CommentPage, Patience, ask, first_comments, is_signed_out
from catchment.sources.platforms.base import Sender
from catchment.sources.platforms.douyin_parser import (
    has_more,
    missing_work,
    note_url,
    read_answer,
    read_cards,
    read_comments,
    read_note,
)
from catchment.sources.platforms.signer import Signer, ToSign

_CHROME: Final = "125.0.0.0"
USER_AGENT: Final = (
    f"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) "
    f"Chrome/{_CHROME} Safari/537.36"
)
#: What a browser of that kind says of itself with every request.
_BROWSER: Final[Mapping[str, str]] = {
    "device_platform": "webapp",
    "aid": "6383",
    "channel": "channel_pc_web",
    "update_version_code": "170400",
    "pc_client_type": "1",
    "version_code": "190600",
    "version_name": "19.6.0",
    "cookie_enabled": "true",
    "screen_width": "1920",
    "screen_height": "1080",
    "browser_language": "zh-CN",
    "browser_platform": "MacIntel",
    "browser_name": "Chrome",
    "browser_version": _CHROME,
    "browser_online": "true",
    "engine_name": "Blink",
    "engine_version": _CHROME,
    "os_name": "Mac OS",
    "os_version": "10.15.7",
    "cpu_core_num": "8",
    "device_memory": "8",
    "platform": "PC",
    "downlink": "10",
    "effective_type": "4g",
    "round_trip_time": "50",
}
_API: Final = "/aweme/v1/web"
_RESULTS: Final = 15
_COMMENTS: Final = 20
_SORTS: Final[Mapping[Sort, str]] = {Sort.POPULAR: "1", Sort.NEWEST: "2"}

_ID: Final = re.compile(r"[0-9]{19}")
_ADDRESS: Final = re.compile(
    r"(?:https?://)?(?:www\.|m\.)?(?:ies)?douyin\.com/(?:share/)?(?:video|note)/([0-9]{19})/?(?:[?#].*)?",
    re.IGNORECASE | re.ASCII,
)


class Douyin:
    name = Platform.DOUYIN
    needs_token = False

    def __init__(
        self,
        *,
        base_url: str = "https://www.douyin.com",
        signer: Signer | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._base_url = base_url.rstrip("/")
        self._signer = signer
        self._patience = patience or Patience()
        # One browser, as long as we run.
        self._web_id = str(7 * 10**18 + secrets.randbelow(10**17))

    def ref_of(self, given: str) -> NoteRef | None:
        note_id = id_of(given.strip())
        return None if note_id is None else NoteRef(platform=self.name, note_id=note_id)

    def url_of(self, ref: NoteRef) -> str:
        return note_url(ref.note_id)

    async def search(self, http: Sender, cookie: str, search: Search) -> SearchPage:
        """Pages are as long as Douyin makes them: cut to another length, what is cut would be on no page.

        Searching needs no signature. It is refused without a signer all the same: it would only find works that
        nothing could then read.
        """
        self._needed_signer()
        query = self._query(cookie, search_query(search))
        url = URL(f"{self._base_url}{_API}/general/search/single/").with_query(query)
        answer = read_answer(await self._get(http, cookie, str(url), seconds=self._patience.search), cookie=cookie)
        cards = tuple(card for card in read_cards(answer) if search.type in {None, card.type})
        return SearchPage(cards=cards, has_more=has_more(answer))

    async def detail(self, http: Sender, cookie: str, ref: NoteRef) -> Note:
        asked = {"aweme_id": ref.note_id}
        answer = await self._signed(http, cookie, "/aweme/detail/", asked, seconds=self._patience.detail)
        work = object_at(answer, "aweme_detail")
        if not work:
            raise missing_work(answer)
        return read_note(work)

    def comments(self, http: Sender, cookie: str, ref: NoteRef, *, limit: int) -> AsyncIterator[tuple[Comment, ...]]:
        async def read_page(cursor: str) -> CommentPage[str]:
            asked = {"aweme_id": ref.note_id, "cursor": cursor, "count": str(_COMMENTS), "item_type": "0"}
            seconds = self._patience.detail
            return read_comments(await self._signed(http, cookie, "/comment/list/", asked, seconds=seconds))

        return first_comments(read_page, start="0", limit=limit)

    async def is_valid(self, http: Sender, cookie: str) -> bool:
        """The cookie says so itself, and Douyin shows whose it is."""
        if _value_in(cookie, "LOGIN_STATUS") != "1":
            return False
        try:
            await self._signed(http, cookie, "/user/profile/self/", {}, seconds=self._patience.validate)
        except CrawlError as error:
            if is_signed_out(error):
                return False
            raise
        return True

    async def _signed(
        self, http: Sender, cookie: str, path: str, asked: Mapping[str, str], *, seconds: float
    ) -> Mapping[str, Any]:
        signer = self._needed_signer()
        url = URL(f"{self._base_url}{_API}{path}").with_query(self._query(cookie, asked))
        # What is signed is what is sent: the query as it will stand in the request line.
        wanted = ToSign(url=str(url.with_query(None)), query=url.raw_query_string, user_agent=USER_AGENT)
        signature = quote(await signer.sign(http, wanted), safe="")
        response = await self._get(http, cookie, f"{url}&a_bogus={signature}", seconds=seconds)
        return read_answer(response, cookie=cookie)

    def _needed_signer(self) -> Signer:
        if self._signer is None:
            raise CrawlError(
                Code.PLATFORM_ERROR,
                "Douyin is unsupported until CATCHMENT_DOUYIN_SIGNER names a service or a command that signs requests",
                details={"cause": "unsupported"},
            )
        return self._signer

    def _query(self, cookie: str, asked: Mapping[str, str]) -> dict[str, str]:
        return {**asked, **_BROWSER, "webid": self._web_id, "msToken": _value_in(cookie, "msToken")}

    async def _get(self, http: Sender, cookie: str, url: str, *, seconds: float) -> Response:
        headers = {
            "Accept": "application/json, text/plain, */*",
            "Cookie": cookie,
            "Origin": self._base_url,
            "Referer": f"{self._base_url}/",
            "User-Agent": USER_AGENT,
        }
        return await ask(http, Request(url=url, headers=headers, timeout_seconds=seconds))


def id_of(given: str) -> str | None:
    """The id of a work, by itself or in the address of the work's page."""
    if _ID.fullmatch(given):
        return given
    found = _ADDRESS.fullmatch(given)
    return None if found is None else found[1]


def search_query(search: Search) -> dict[str, str]:
    sort = _SORTS.get(search.sort)
    chosen = {"filter_selected": json.dumps({"sort_type": sort, "publish_time": "0"})} if sort else {}
    return {
        "search_channel": "aweme_general",
        "enable_history": "1",
        "keyword": storable(search.keyword),
        "search_source": "tab_search" if sort else "normal_search",
        "query_correct_type": "1",
        "is_filter_search": "1" if sort else "0",
        "offset": str((search.page - 1) * _RESULTS),
        "count": str(_RESULTS),
        "need_filter_settings": "1",
        "list_type": "multi",
        **chosen,
    }


def _value_in(cookie: str, name: str) -> str:
    return parts_of(cookie).get(name, "")
