"""Xiaohongshu as its web pages see it: a signed API for searches, notes and comments, and the pages themselves.

Every keyword has notes, and new ones as time goes by. Who asks without a signature, or without a session, is refused;
and so is whoever a test or a demo says: `XhsService(world).trouble(Kind.CAPTCHA, cookie="session", times=1)`, where
`cookie` is the value of `web_session`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import parse_qs

from catchment.simulator.messages import Answer, IncomingRequest, Place, json_answer, not_found, page
from catchment.simulator.services.crawl import Script, TroubleKind, cookies_of
from catchment.simulator.services.xhs_notes import Shape, XhsNote, XhsNotes, humped, suggestion
from catchment.simulator.world import World

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
