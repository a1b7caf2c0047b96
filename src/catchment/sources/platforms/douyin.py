"""Douyin as a browser sees it: search, works and comments, signed by what the operator supplies."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from yarl import URL

from catchment.domain.cookie import parts_of
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import (
    Author,
    Comment,
    Counts,
    Note,
    NoteCard,
    NoteRef,
    NoteSort,
    NoteType,
    Platform,
    Search,
    SearchPage,
    read_count,
)
from catchment.fetch.client import Request, Response
from catchment.parse.dates import from_epoch
from catchment.parse.entry import absolute
from catchment.parse.html import storable
from catchment.parse.json_values import list_at, object_at, objects_at, text_at
from catchment.sources.platforms.answers import (
    ACCESS,
    BANNED,
    BLOCKED,
    CAPTCHA,
    GONE,
    LOGIN_EXPIRED,
    CommentPage,
    Patience,
    Refusals,
    Sender,
    ask,
    first_comments,
    is_signed_out,
    read_json,
    unexpected,
)
from catchment.sources.platforms.signer import Signer, ToSign

_DOUYIN: Final = Refusals(
    platform="Douyin",
    statuses={403: ACCESS, 404: GONE, 429: ACCESS},
    words=(
        # Of an author who is banned only the works are gone.
        (("不存在", "已删除", "已被删除", "无法观看", "该作者", "该用户"), GONE),
        # Who is banned is asked to log in as well, so this comes first.
        (("封禁", "冻结", "账号异常"), BANNED),
        (("频繁", "稍后再试"), ACCESS),
        (("登录",), LOGIN_EXPIRED),
    ),
)
_LOGIN_NUMBERS: Final = frozenset({8, 2483})
_CAPTCHA_MARKS: Final = (b"captcha", "验证码".encode())


def read_answer(response: Response, *, cookie: str) -> Mapping[str, Any]:
    """The answer as JSON, if it says yes."""
    _check_head(response)
    answer = read_json(response)
    number = answer.get("status_code")
    if not isinstance(number, int):
        raise unexpected("Douyin answered without a status")
    if number:
        raise _refusal(number, text_at(answer, "status_msg"), cookie)
    if text_at(object_at(answer, "search_nil_info"), "search_nil_type") == "verify_check":
        raise _DOUYIN.error(CAPTCHA)
    return answer


def missing_work(answer: Mapping[str, Any]) -> CrawlError:
    """Why there is no work where one was asked for."""
    if object_at(answer, "filter_detail"):
        return _DOUYIN.error(GONE)
    return unexpected("Douyin gave no work, and did not say why")


def _check_head(response: Response) -> None:
    _DOUYIN.check_status(response)
    body = response.body.strip()
    if body in {b"", b"blocked"}:
        raise _DOUYIN.error(BLOCKED)
    if body.startswith(b"<") and any(mark in body for mark in _CAPTCHA_MARKS):
        raise _DOUYIN.error(CAPTCHA)


def _refusal(number: int, said: str, cookie: str) -> CrawlError:
    reason = LOGIN_EXPIRED if number in _LOGIN_NUMBERS else _DOUYIN.by_words(said)
    return _DOUYIN.error(reason) if reason else _DOUYIN.unknown(said or f"status {number}", cookie=cookie)


SITE: Final = "https://www.douyin.com"
_MAX_TITLE: Final = 80
_MAX_NAME: Final = 200


def read_cards(answer: Mapping[str, Any]) -> tuple[NoteCard, ...]:
    """The works among the results; users, topics and live rooms stand between them."""
    return tuple(_card(work) for work in _works(answer) if _note_id(work))


def read_note(work: Mapping[str, Any]) -> Note:
    note_id = _note_id(work)
    if not note_id:
        raise unexpected("Douyin gave a work without an id")
    content = storable(text_at(work, "desc")).strip()
    images = _images(work)
    return Note(
        ref=_ref(note_id),
        url=note_url(note_id),
        title=_title(content),
        content=content,
        type=_type(work),
        author=_author(object_at(work, "author")),
        published_at=from_epoch(work.get("create_time")),
        updated_at=None,
        counts=_counts(work),
        images=images,
        # Pictures come with a film of themselves to music, which nobody would miss.
        video_url=None if images else _first(object_at(object_at(work, "video"), "play_addr")) or None,
        tags=_tags(work),
    )


def read_comments(answer: Mapping[str, Any]) -> CommentPage[str]:
    comments = tuple(_comment(comment) for comment in objects_at(answer, "comments"))
    cursor = text_at(answer, "cursor")
    return CommentPage(comments=comments, next=cursor if has_more(answer) and cursor else None)


def has_more(answer: Mapping[str, Any]) -> bool:
    """Both `1` and `true` are in use."""
    return answer.get("has_more") in (1, True)


def note_url(note_id: str) -> str:
    """Pictures are shown there too: Douyin leads on to them."""
    return f"{SITE}/video/{note_id}"


def _works(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for result in objects_at(answer, "data"):
        mixed = objects_at(object_at(result, "aweme_mix_info"), "mix_items")[:1]
        yield object_at(result, "aweme_info") or (mixed[0] if mixed else {})


def _card(work: Mapping[str, Any]) -> NoteCard:
    note_id = _note_id(work)
    return NoteCard(
        ref=_ref(note_id),
        url=note_url(note_id),
        title=_title(storable(text_at(work, "desc")).strip()),
        type=_type(work),
        author=_author(object_at(work, "author")),
        counts=_counts(work),
        published_at=from_epoch(work.get("create_time")),
    )


def _comment(comment: Mapping[str, Any], *, deep: bool = True) -> Comment:
    replies = objects_at(comment, "reply_comment") if deep else []
    pictures = (object_at(picture, "origin_url") for picture in objects_at(comment, "image_list"))
    return Comment(
        id=storable(text_at(comment, "cid")),
        content=storable(text_at(comment, "text")).strip(),
        author=_author(object_at(comment, "user")),
        created_at=from_epoch(comment.get("create_time")),
        likes=read_count(comment.get("digg_count")),
        reply_count=read_count(comment.get("reply_comment_total")) or len(replies),
        # Douyin shows replies beside each other; what claims to stand deeper is not looked at.
        replies=tuple(_comment(reply, deep=False) for reply in replies),
        images=tuple(url for picture in pictures if (url := _first(picture))),
    )


def _note_id(work: Mapping[str, Any]) -> str:
    note_id = text_at(work, "aweme_id")
    return note_id if note_id.isascii() and note_id.isdigit() else ""


def _ref(note_id: str) -> NoteRef:
    return NoteRef(platform=Platform.DOUYIN, note_id=note_id)


def _title(content: str) -> str:
    """Works have no titles: the first line stands for one."""
    return content.partition("\n")[0].strip()[:_MAX_TITLE]


def _type(work: Mapping[str, Any]) -> NoteType:
    return NoteType.NORMAL if list_at(work, "images") else NoteType.VIDEO


def _author(user: Mapping[str, Any]) -> Author:
    return Author(id=storable(text_at(user, "uid")), name=storable(text_at(user, "nickname")).strip()[:_MAX_NAME])


def _counts(work: Mapping[str, Any]) -> Counts:
    shown = object_at(work, "statistics")
    return Counts(
        likes=read_count(shown.get("digg_count")),
        collects=read_count(shown.get("collect_count")),
        comments=read_count(shown.get("comment_count")),
        shares=read_count(shown.get("share_count")),
    )


def _images(work: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(url for image in objects_at(work, "images") if (url := _first(image)))


def _first(holder: Mapping[str, Any]) -> str:
    """The first address of those that lead to one and the same file, or none."""
    given = (url for url in list_at(holder, "url_list") if isinstance(url, str))
    return next((address for url in given if (address := absolute(url, SITE))), "")


def _tags(work: Mapping[str, Any]) -> tuple[str, ...]:
    named = (storable(text_at(extra, "hashtag_name")).strip() for extra in objects_at(work, "text_extra"))
    return tuple(dict.fromkeys(name for name in named if name))


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
_SORTS: Final[Mapping[NoteSort, str]] = {NoteSort.POPULAR: "1", NoteSort.NEWEST: "2"}

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

    def require_signer(self) -> None:
        self._needed_signer()

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
