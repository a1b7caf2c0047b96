"""Douyin's web API: search for anybody who is logged in; works and comments only for requests that are signed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs

from catchment.simulator.messages import Answer, IncomingRequest, Place, json_answer, not_found
from catchment.simulator.services.keyword_platforms import NotePost, Script, Topics, TroubleKind, cookies_of
from catchment.simulator.world import World

FIRST_ID = 7_300_000_000_000_000_000
MAX_FOUND = 40
#: How many comments the works have, in turn.
COMMENTS = (3, 0, 45, 20)
SESSION = "sessionid"
API = "/aweme/v1/web"
SEARCH = "/general/search/single/"

VERIFY = {"status_code": 0, "data": [], "has_more": 0, "search_nil_info": {"search_nil_type": "verify_check"}}
NOT_LOGGED_IN = {"status_code": 8, "status_msg": "用户未登录"}
GONE = {
    "status_code": 0,
    "aweme_detail": None,
    "filter_detail": {"filter_reason": "core_dep", "detail_msg": "因作品权限或已被删除，无法观看"},
}
NOTHING = Answer(headers=(("Content-Type", "text/plain"),))
WORDS: Mapping[TroubleKind, Answer] = {
    TroubleKind.CAPTCHA: json_answer(VERIFY),
    TroubleKind.LOGIN_EXPIRED: json_answer({"status_code": 2483, "status_msg": "请先登录"}),
    TroubleKind.ACCESS: json_answer({"status_code": 7, "status_msg": "操作太频繁，请稍后再试"}),
    TroubleKind.IP_BLOCKED: Answer(status=403),
    TroubleKind.BANNED: Answer(body=b"blocked"),
    TroubleKind.GONE: json_answer(GONE),
    TroubleKind.SIGNATURE: NOTHING,
    TroubleKind.EMPTY: json_answer({"status_code": 0}),
    TroubleKind.ODD: json_answer({"status_code": 5, "status_msg": "参数不合法"}),
}
Work = dict[str, Any]


def signature_of(query: str) -> str:
    """What this Douyin takes for a signature of a query. It has the letters of real ones, some of which need care."""
    return f"{sha256(query.encode()).hexdigest()}/+=="


class DouyinService:
    """For the `places` of a simulated web: `places=DouyinService(world).places()`. Any session is a login."""

    def __init__(self, world: World, *, slow_seconds: float = 2.0) -> None:
        self.requests: list[IncomingRequest] = []
        self._topics = Topics(world.timeline, name="douyin", first_id=FIRST_ID)
        self._script = Script(WORDS, slow_seconds=slow_seconds)
        self.trouble = self._script.trouble
        self.lift = self._script.lift

    def places(self) -> Mapping[str, Place]:
        return {"/aweme/v1": self}

    def __call__(self, request: IncomingRequest) -> Answer:
        self.requests.append(request)
        session = cookies_of(request).get(SESSION, "")
        asked = {name: values[0] for name, values in parse_qs(request.query).items()}
        note = asked.get("aweme_id")
        return self._script.answer(cookie=session, note=note, play=lambda: self._play(request, session, asked))

    def _play(self, request: IncomingRequest, session: str, asked: Mapping[str, str]) -> Answer:
        path = request.path.removeprefix(API)
        if path != SEARCH and not _is_signed(request.query, asked):
            return NOTHING
        call = self._calls().get(path)
        if call is None:
            return not_found(request)
        return call(asked, request.at) if session else json_answer(NOT_LOGGED_IN)

    def _calls(self) -> Mapping[str, Callable[[Mapping[str, str], datetime], Answer]]:
        return {
            SEARCH: self._search,
            "/aweme/detail/": self._detail,
            "/comment/list/": self._comments,
            "/user/profile/self/": _whose,
        }

    def _search(self, asked: Mapping[str, str], at: datetime) -> Answer:
        posts = self._topics.latest(asked.get("keyword", ""), at, MAX_FOUND)
        if '"sort_type": "1"' in asked.get("filter_selected", ""):
            posts.sort(key=lambda post: -_likes(post.number))
        first, count = int(asked.get("offset", "0")), int(asked.get("count", "15"))
        shown = [_result(post) for post in posts[first : first + count]]
        more = int(first + count < len(posts))
        extra = {"logid": f"search-{first}"}
        return json_answer({"status_code": 0, "data": [{"type": 999}, *shown], "has_more": more, "extra": extra})

    def _detail(self, asked: Mapping[str, str], at: datetime) -> Answer:
        post = self._topics.find(asked.get("aweme_id", ""), at)
        return json_answer(GONE if post is None else {"status_code": 0, "aweme_detail": work(post)})

    def _comments(self, asked: Mapping[str, str], at: datetime) -> Answer:
        post = self._topics.find(asked.get("aweme_id", ""), at)
        if post is None:
            return json_answer({"status_code": 2053, "status_msg": "作品不存在"})
        first, count = int(asked.get("cursor", "0")), int(asked.get("count", "20"))
        total = comment_count(post)
        shown = [_comment(post, number) for number in range(total)][first : first + count]
        more = int(first + count < total)
        paging = {"has_more": more, "cursor": first + count, "total": total}
        return json_answer({"status_code": 0, "comments": shown or None, **paging})


def comment_count(post: NotePost) -> int:
    return COMMENTS[post.number % len(COMMENTS)]


def work(post: NotePost) -> Work:
    writer = post.writer()
    plain = {
        "aweme_id": post.id,
        "desc": f"{writer.title()}\n第二行 #手艺 #散步",
        "create_time": post.posted,
        "author": {"uid": str(100 + post.number % 97), "nickname": writer.author()},
        "statistics": {
            "digg_count": _likes(post.number),
            "collect_count": post.number % 50,
            "comment_count": comment_count(post),
            "share_count": post.number % 7,
        },
        "text_extra": [{"hashtag_name": "手艺"}, {"hashtag_name": "散步"}, {"hashtag_name": ""}],
        "video": {"play_addr": {"url_list": [f"https://v3-web.douyinvod.com/{post.id}/video.mp4"]}},
        "images": None,
    }
    return plain | _FORMS[post.number % len(_FORMS)](post)


def _whose(_asked: Mapping[str, str], _at: datetime) -> Answer:
    return json_answer({"status_code": 0, "user": {"uid": "100", "nickname": "白鹭"}})


def _is_signed(query: str, asked: Mapping[str, str]) -> bool:
    signed, _, _ = query.partition("&a_bogus=")
    return asked.get("a_bogus") == signature_of(signed)


def _likes(number: int) -> int:
    return number * 7919 % 5000


def _result(post: NotePost) -> dict[str, Any]:
    """Some works are shown as a part of a series."""
    if post.number % 5 == 0:
        return {"type": 1, "aweme_mix_info": {"mix_items": [work(post)]}}
    return {"type": 1, "aweme_info": work(post)}


def _film(_post: NotePost) -> Work:
    return {}


def _pictures(post: NotePost) -> Work:
    return {"images": [{"url_list": [f"https://p3-pc-sign.douyinpic.com/{post.id}-{n}.jpeg"]} for n in range(3)]}


_FORMS: tuple[Callable[[NotePost], Work], ...] = (_film, _pictures)


def _comment(post: NotePost, number: int) -> dict[str, Any]:
    writer = post.writer(f"comment {number}")
    picture = {"origin_url": {"url_list": ["https://p3-pc-sign.douyinpic.com/c.jpeg"]}}
    return {
        "cid": f"{post.id}{number:04}",
        "text": writer.title(),
        "create_time": post.posted + 60 * number,
        "digg_count": number * 3,
        "reply_comment_total": 12 if number % 3 == 0 else 0,
        "user": {"uid": str(number), "nickname": writer.author()},
        "image_list": [picture] if number % 4 == 0 else None,
    }
