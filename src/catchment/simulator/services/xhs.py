"""Xiaohongshu as its web pages see it: a signed API for searches, notes and comments, and the pages themselves.

Every keyword has notes, and new ones as time goes by. Who asks without a signature, or without a session, is refused;
and so is whoever a test or a demo says: `XhsService(world).trouble(Kind.CAPTCHA, cookie="session", times=1)`, where
`cookie` is the value of `web_session`.
"""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from random import Random
from typing import Any, Final
from urllib.parse import parse_qs
from zlib import crc32

from catchment.simulator.messages import Answer, IncomingRequest, Place, json_answer, not_found, page
from catchment.simulator.services.keyword_platforms import EventStream, Script, TroubleKind, cookies_of
from catchment.simulator.words import LANGUAGES, WorldTime, Writer
from catchment.simulator.world import World

PERIOD: Final = timedelta(minutes=10)
BACKLOG: Final = 60
#: Nobody is shown more than this many results of a search.
MAX_FOUND: Final = 220
#: One note in so many is a video, one comment in so many has replies.
VIDEOS, REPLIED_TO = 3, 4
#: Of which so many come along.
REPLIES, REPLIES_SHOWN = 3, 1
_MYRIAD: Final = 10_000
_TAG: Final = re.compile(r"<[^>]+>")
_JOINT: Final = re.compile(r"_([a-z])")
Shape = dict[str, Any]


@dataclass(frozen=True)
class XhsNote:
    """A note by its keyword and number; the same words whenever it is told."""

    stream: EventStream
    keyword: str
    number: int

    @cached_property
    def id(self) -> str:
        return f"{self.stream.posted(self.number):08x}{crc32(self.keyword.encode()):08x}{self.number:08x}"

    @cached_property
    def token(self) -> str:
        """Belongs to the listing that named the note."""
        mark = crc32(f"{self.stream.name}/{self.id}".encode()).to_bytes(4, "big")
        return "AB" + urlsafe_b64encode(mark + self.keyword.encode()).decode()

    @property
    def kind(self) -> str:
        return "video" if self.number % VIDEOS == 0 else "normal"

    @property
    def likes(self) -> int:
        return self.number * 7919 % 25_000

    @property
    def comments(self) -> int:
        return self.number * 7 % 35

    def listed(self) -> Shape:
        """As a search lists it."""
        writer = self._writer()
        card = {
            "type": self.kind,
            "display_title": self._title(writer),
            "user": self._user(writer),
            "interact_info": self._interactions(shares="shared_count"),
            "cover": {"width": 1080, "height": 1440, "url_default": self._picture(0)},
            "image_list": [{"width": 1080, "height": 1440, "info_list": self._forms(0)}],
        }
        return {"id": self.id, "model_type": "note", "xsec_token": self.token, "note_card": card}

    def told(self) -> Shape:
        """As its own page tells it."""
        writer = self._writer()
        posted = self.stream.posted(self.number) * 1000
        title, user = self._title(writer), self._user(writer)
        topics = [{"id": f"{number:024x}", "name": tag, "type": "topic"} for number, tag in enumerate(writer.tags())]
        return {
            "note_id": self.id,
            "type": self.kind,
            "title": title,
            "desc": _TAG.sub("", writer.body("")),
            "time": posted,
            "last_update_time": posted + 1000,
            "user": user,
            "interact_info": self._interactions(shares="share_count"),
            "image_list": [{"url_default": self._picture(n), "url": ""} for n in range(1 + self.number % 4)],
            "tag_list": [*topics, {"id": "0", "name": "山雀", "type": "user"}],
            "at_user_list": [],
            "ip_location": "上海",
        } | ({"video": self._video()} if self.kind == "video" else {})

    def comment(self, number: int) -> Shape:
        replied_to = number % REPLIED_TO == 0
        shown = [self._comment(f"{number}/{reply}") for reply in range(REPLIES_SHOWN)] if replied_to else []
        return self._comment(str(number)) | {
            "sub_comment_count": str(REPLIES) if replied_to else "0",
            "sub_comment_cursor": shown[-1]["id"] if shown else "",
            "sub_comment_has_more": replied_to,
            "sub_comments": shown,
        }

    def _comment(self, place: str) -> Shape:
        random = Random(f"{self.id}/{place}")
        writer = Writer(LANGUAGES["zh"], random)
        picture = {"url_default": f"http://sns-webpic-qc.xhscdn.example/{self.id}/{place}.jpg"}
        return {
            "id": f"{random.getrandbits(96):024x}",
            "note_id": self.id,
            "content": writer.title(),
            "create_time": self.stream.posted(self.number) * 1000 + int(place.partition("/")[0]) * 60_000,
            "like_count": str(random.randrange(30)),
            "liked": False,
            "status": 0,
            "pictures": [picture] if random.randrange(5) == 0 else [],
            "user_info": self._user(writer),
        }

    def _writer(self) -> Writer:
        return Writer(LANGUAGES["zh"], Random(f"{self.stream.name}/{self.number}"))

    def _title(self, writer: Writer) -> str:
        return f"{self.keyword}｜{writer.title()}"

    def _user(self, writer: Writer) -> Shape:
        name = writer.author()
        return {
            "user_id": f"{crc32(name.encode()):024x}",
            "nickname": name,
            "avatar": "https://sns-avatar.example/a.jpg",
        }

    def _interactions(self, *, shares: str) -> Shape:
        return {
            "liked": False,
            "liked_count": shown_count(self.likes),
            "collected": False,
            "collected_count": shown_count(self.likes // 3),
            "comment_count": str(self.comments),
            shares: "10+" if self.number % 2 else "",
        }

    def _picture(self, number: int) -> str:
        return f"http://sns-webpic-qc.xhscdn.example/{self.id}/{number}.jpg"

    def _forms(self, number: int) -> list[Shape]:
        return [{"image_scene": scene, "url": f"{self._picture(number)}!{scene}"} for scene in ("WB_PRV", "WB_DFT")]

    def _video(self) -> Shape:
        stream = {"h264": [{"master_url": f"http://sns-video-bd.xhscdn.example/{self.id}.mp4", "stream_type": 259}]}
        key = f"pre_post/{self.id}" if self.number % 2 else ""
        return {"consumer": {"origin_video_key": key}, "media": {"stream": stream}}


class XhsNotes:
    def __init__(self, timeline: WorldTime, *, seed: int) -> None:
        self._timeline = timeline
        self._seed = seed

    def about(self, keyword: str, at: datetime) -> Iterator[XhsNote]:
        """The newest first."""
        stream = self._stream(keyword)
        return (XhsNote(stream, keyword, number) for number in stream.latest(at, MAX_FOUND))

    def find(self, note_id: str, token: str, at: datetime) -> XhsNote | None:
        """The note, for whoever brings the token of its listing."""
        try:
            keyword, number = urlsafe_b64decode(token[2:])[4:].decode(), int(note_id[16:], 16)
        except ValueError:
            return None
        note = XhsNote(self._stream(keyword), keyword, number)
        return note if note.stream.has(number, at) and (note.id, note.token) == (note_id, token) else None

    def _stream(self, keyword: str) -> EventStream:
        return EventStream(timeline=self._timeline, name=f"xhs/{self._seed}/{keyword}", period=PERIOD, backlog=BACKLOG)


def shown_count(number: int) -> str:
    """As people are shown it."""
    return f"{number / _MYRIAD:.1f}万" if number >= _MYRIAD else str(number)


def suggestion(keyword: str) -> Shape:
    """What a search puts between its results."""
    queries = [{"id": keyword, "name": f"{keyword}推荐", "search_word": f"{keyword}推荐"}]
    return {
        "id": "rec#0",
        "model_type": "rec_query",
        "rec_query": {"title": "相关搜索", "source": 1, "queries": queries},
    }


def humped(shape: Any) -> Any:
    """Pages name things in camel case."""
    if isinstance(shape, Mapping):
        return {_JOINT.sub(lambda joint: joint[1].upper(), name): humped(inner) for name, inner in shape.items()}
    return [humped(inner) for inner in shape] if isinstance(shape, list) else shape


COMMENTS_A_PAGE: Final = 10
SIGNATURE: Final = ("x-s", "x-t", "x-s-common")
COOKIES: Final = ("a1", "web_session", "webId")
VERIFY: Final = (("Verifytype", "102"), ("Verifyuuid", "shared-5e8d0000"))
_KINDS: Final = {1: "video", 2: "normal"}
_API: Final = "/api/sns/web"


def refusal(code: int, said: str) -> Answer:
    return json_answer({"code": code, "success": False, "msg": said, "data": {}})


def success(data: Shape) -> Answer:
    return json_answer({"code": 0, "success": True, "msg": "成功", "data": data})


def drawn(note_state: str) -> Answer:
    """A page whose script starts from this state. Like the real one, it holds what is no JSON."""
    state = f'{{"global":{{"appSettings":undefined}},"note":{note_state},"user":{{"loggedIn":undefined}}}}'
    return page(
        "<!doctype html><html><head><title>小红书 - 你的生活兴趣社区</title></head><body><div id=app></div>"
        f"<script>window.__INITIAL_STATE__={state}</script></body></html>"
    )


UNSIGNED: Final = refusal(-104, "您当前登录的账号没有权限访问")
GONE: Final = refusal(-510001, "笔记状态异常，请稍后查看")
LOGGED_OUT: Final = refusal(-100, "登录已过期")
CAPTCHA_PAGE: Final = "/website-login/captcha"

_WORDS: Final = {
    TroubleKind.CAPTCHA: json_answer({"code": 0, "success": False, "msg": ""}, status=461, headers=VERIFY),
    TroubleKind.LOGIN_EXPIRED: LOGGED_OUT,
    TroubleKind.ACCESS: refusal(300011, "当前账号存在异常，请切换账号后重试"),
    TroubleKind.IP_BLOCKED: refusal(300012, "网络连接异常，请检查网络设置后重试"),
    TroubleKind.BANNED: refusal(-1, "账号因违反社区规范已被封禁"),
    TroubleKind.GONE: GONE,
    TroubleKind.SIGNATURE: UNSIGNED,
    TroubleKind.EMPTY: success({"items": [], "has_more": False}),
    TroubleKind.ODD: refusal(-9999, "系统繁忙"),
}
_PAGE_WORDS: Final = {
    TroubleKind.CAPTCHA: Answer(status=302, headers=(("Location", f"{CAPTCHA_PAGE}?redirectPath=explore"),)),
    TroubleKind.GONE: drawn('{"noteDetailMap":{}}'),
    TroubleKind.EMPTY: drawn('{"serverRequestInfo":undefined}'),
    TroubleKind.ODD: page("<!doctype html><title>小红书</title><p>请稍候"),
    TroubleKind.ACCESS: page("<!doctype html><title>403</title>", status=403),
    TroubleKind.MALFORMED: page('<script>window.__INITIAL_STATE__={"note":{"noteDetailMap":</script>'),
}


class XhsService:
    """For the `places` of a simulated web: `places=XhsService(world).places()`."""

    def __init__(self, world: World, *, slow_seconds: float = 2.0) -> None:
        self.requests: list[IncomingRequest] = []
        self.notes = XhsNotes(world.timeline, seed=world.seed)
        self._api = Script(_WORDS, slow_seconds=slow_seconds)
        self._pages = Script(_PAGE_WORDS, slow_seconds=slow_seconds)
        self.trouble = self._api.trouble
        self.lift = self._api.lift
        #: The same for the pages, which have troubles of their own.
        self.trouble_page = self._pages.trouble

    def places(self) -> Mapping[str, Place]:
        return dict.fromkeys(("/api/sns", "/explore", "/website-login"), self)

    def __call__(self, request: IncomingRequest) -> Answer:
        self.requests.append(request)
        session = cookies_of(request).get("web_session", "")
        match request.path.split("/"):
            case ["", "explore", note_id]:
                return self._pages.answer(cookie=session, note=note_id, play=lambda: self._page(request, note_id))
            case ["", "website-login", *_]:
                return page("<!doctype html><title>安全验证</title><p>请完成验证")
        asked = _asked(request)
        note = asked.get("source_note_id") or asked.get("note_id")
        return self._api.answer(cookie=session, note=note, play=lambda: self._admitted(request, asked))

    def _admitted(self, request: IncomingRequest, asked: Shape) -> Answer:
        if not all(request.headers.get(name) for name in SIGNATURE):
            return UNSIGNED
        if not all(cookies_of(request).get(name) for name in COOKIES):
            return LOGGED_OUT
        return self._call(request, asked)

    def _call(self, request: IncomingRequest, asked: Shape) -> Answer:
        match request.method, request.path.removeprefix(_API):
            case "POST", "/v1/search/notes":
                return success(self._search(asked, request.at))
            case "POST", "/v1/feed":
                return self._feed(asked, request.at)
            case "GET", "/v2/comment/page":
                return self._comments(asked, request.at)
            case "GET", "/v1/user/selfinfo":
                return success({"result": {"success": True, "code": 0, "message": "success"}})
        return not_found(request)

    def _search(self, asked: Shape, at: datetime) -> Shape:
        keyword, wanted = asked["keyword"], _KINDS.get(asked["note_type"])
        found = [note for note in self.notes.about(keyword, at) if wanted in {None, note.kind}]
        if asked["sort"] == "popularity_descending":
            found.sort(key=lambda note: -note.likes)
        start = (asked["page"] - 1) * asked["page_size"]
        shown = [note.listed() for note in found[start : start + asked["page_size"]]]
        extra = [] if start else [suggestion(keyword)]
        return {"has_more": start + asked["page_size"] < len(found), "items": [*shown[:3], *extra, *shown[3:]]}

    def _feed(self, asked: Shape, at: datetime) -> Answer:
        note = self.notes.find(asked["source_note_id"], asked["xsec_token"], at)
        # Without the right token there is no note, and no complaint either.
        items = [] if note is None else [{"id": note.id, "model_type": "note", "note_card": note.told()}]
        return success({"cursor_score": "", "items": items, "current_time": int(at.timestamp() * 1000)})

    def _comments(self, asked: Shape, at: datetime) -> Answer:
        note = self.notes.find(asked["note_id"], asked["xsec_token"], at)
        return GONE if note is None else success(_comment_page(note, asked["cursor"]))

    def _page(self, request: IncomingRequest, note_id: str) -> Answer:
        asked = _asked(request)
        note = self.notes.find(note_id, asked.get("xsec_token", ""), request.at)
        if note is None:
            return drawn('{"noteDetailMap":{}}')
        told = json.dumps({"noteDetailMap": {note.id: {"note": humped(note.told())}}}, ensure_ascii=False)
        return drawn(told)


def _asked(request: IncomingRequest) -> dict[str, Any]:
    if request.method == "POST":
        asked: dict[str, Any] = json.loads(request.body)
        return asked
    return {name: values[0] for name, values in parse_qs(request.query, keep_blank_values=True).items()}


def _comment_page(note: XhsNote, cursor: str) -> Shape:
    comments = [note.comment(number) for number in range(note.comments)]
    start = next((place for place, comment in enumerate(comments, 1) if comment["id"] == cursor), 0)
    shown = comments[start : start + COMMENTS_A_PAGE]
    more = start + COMMENTS_A_PAGE < len(comments)
    return {"comments": shown, "cursor": shown[-1]["id"] if shown else "", "has_more": more}
