"""Weibo as its mobile site shows it: search, posts and comments, with a cookie and without a signature."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

from catchment.domain.crawling import CrawlError
from catchment.domain.note import Comment, Note, NoteRef, NoteType, Platform, Search, SearchPage, Sort
from catchment.fetch.client import Request, Response
from catchment.parse.html import storable
from catchment.parse.json_values import object_at
from catchment.sources.platforms.answers import CommentPage, Patience, ask, first_comments, is_signed_out
from catchment.sources.platforms.base import Sender
from catchment.sources.platforms.weibo_parser import (
    Place,
    note_url,
    page_refusal,
    read_cards,
    read_comments,
    read_envelope,
    read_note,
    read_page,
    read_state,
)

USER_AGENT: Final = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/16.6 Mobile/15E148 Safari/604.1"
)
_LISTS: Final[Mapping[Sort, str]] = {Sort.GENERAL: "1", Sort.NEWEST: "61", Sort.POPULAR: "60"}
_VIDEOS: Final = "64"

_ID: Final = re.compile(r"[0-9]{6,20}")
#: `/detail/…`, `/status/…`, or the post below its author.
_ADDRESS: Final = re.compile(
    r"(?:https?://)?(?:m\.|www\.)?weibo\.(?:cn|com)/(?:detail|status|[0-9]{4,20})/([0-9A-Za-z]{6,20})/?(?:[?#].*)?",
    re.IGNORECASE | re.ASCII,
)
_DIGITS: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#: Four letters of a short name are seven digits of the id, from the right.
_LETTERS_AT_ONCE: Final = 4
_DIGITS_AT_ONCE: Final = 7


class Weibo:
    name = Platform.WEIBO
    needs_token = False

    def __init__(self, *, base_url: str = "https://m.weibo.cn", patience: Patience | None = None) -> None:
        self._base_url = base_url.rstrip("/")
        self._patience = patience or Patience()

    def ref_of(self, given: str) -> NoteRef | None:
        note_id = id_of(given.strip())
        return None if note_id is None else NoteRef(platform=self.name, note_id=note_id)

    def url_of(self, ref: NoteRef) -> str:
        return note_url(ref.note_id)

    async def search(self, http: Sender, cookie: str, search: Search) -> SearchPage:
        """Pages are as long as Weibo makes them: cut to another length, what is cut would be on no page."""
        kind = _VIDEOS if search.type is NoteType.VIDEO else _LISTS[search.sort]
        query = {
            "containerid": f"100103type={kind}&q={storable(search.keyword)}",
            "page_type": "searchall",
            "page": str(search.page),
        }
        response = await self._get(
            http, cookie, f"/api/container/getIndex?{urlencode(query)}", seconds=self._patience.search
        )
        cards = read_cards(object_at(read_envelope(response, cookie=cookie), "data"))
        wanted = tuple(card for card in cards if search.type in {None, card.type})
        return SearchPage(cards=wanted, has_more=bool(cards))

    async def detail(self, http: Sender, cookie: str, ref: NoteRef) -> Note:
        response = await self._get(http, cookie, f"/detail/{ref.note_id}", seconds=self._patience.detail)
        html = read_page(response, cookie=cookie)
        state = read_state(html)
        if state is None:
            raise page_refusal(html)
        return read_note(state)

    def comments(self, http: Sender, cookie: str, ref: NoteRef, *, limit: int) -> AsyncIterator[tuple[Comment, ...]]:
        async def read_page(place: Place) -> CommentPage[Place]:
            return read_comments(await self._comments(http, cookie, ref, *place))

        return first_comments(read_page, start=("", "0"), limit=limit)

    async def is_valid(self, http: Sender, cookie: str) -> bool:
        try:
            response = await self._get(http, cookie, "/api/config", seconds=self._patience.validate)
            return object_at(read_envelope(response, cookie=cookie), "data").get("login") is True
        except CrawlError as error:
            if is_signed_out(error):
                return False
            raise

    async def _comments(
        self, http: Sender, cookie: str, ref: NoteRef, max_id: str, max_id_type: str
    ) -> Mapping[str, Any]:
        query = {"id": ref.note_id, "mid": ref.note_id, "max_id_type": max_id_type}
        if max_id:
            query["max_id"] = max_id
        path = f"/comments/hotflow?{urlencode(query)}"
        referer = f"{self._base_url}/detail/{ref.note_id}"
        response = await self._get(http, cookie, path, seconds=self._patience.detail, referer=referer)
        return read_envelope(response, cookie=cookie)

    async def _get(
        self, http: Sender, cookie: str, path: str, *, seconds: float, referer: str | None = None
    ) -> Response:
        headers = {
            "Accept": "application/json, text/plain, */*",
            "Cookie": cookie,
            "Origin": self._base_url,
            "Referer": referer or f"{self._base_url}/",
            "User-Agent": USER_AGENT,
        }
        return await ask(http, Request(url=f"{self._base_url}{path}", headers=headers, timeout_seconds=seconds))


def id_of(given: str) -> str | None:
    """The id of a post, by itself or in the address of the post's page, where it may be written short."""
    if _ID.fullmatch(given):
        return given
    found = _ADDRESS.fullmatch(given)
    if found is None:
        return None
    return found[1] if found[1].isdigit() else _long_id(found[1])


def _long_id(short: str) -> str | None:
    """Short names are the id in base 62, seven digits at a time: `M1VT3jzNX` is 4804608494665869."""
    places = range(len(short), 0, -_LETTERS_AT_ONCE)
    groups = [short[max(0, end - _LETTERS_AT_ONCE) : end] for end in places]
    numbers = [str(_from_base_62(group)).zfill(_DIGITS_AT_ONCE) for group in reversed(groups)]
    return "".join(numbers).lstrip("0") or None


def _from_base_62(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * len(_DIGITS) + _DIGITS.index(letter)
    return number
