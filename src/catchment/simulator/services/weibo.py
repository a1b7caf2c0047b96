"""Weibo's mobile site: search, pages of posts with their state inside, and comments, for whoever is logged in."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs

from catchment.simulator.messages import Answer, IncomingRequest, Place, json_answer, not_found, page
from catchment.simulator.services.keyword_platforms import NotePost, Script, Topics, TroubleKind, cookies_of
from catchment.simulator.world import World

FIRST_ID = 5_000_000_000_000_000
PER_PAGE = 10
MAX_FOUND = 50
COMMENTS_PER_PAGE = 20
#: How many comments the posts have, in turn.
COMMENTS = (3, 0, 45, 20)
SESSION = "WBPSESS"
DATE = "%a %b %d %H:%M:%S +0800 %Y"
CHINA = timezone(timedelta(hours=8))

GONE_PAGE = '<!doctype html><title>微博-出错了</title><p class="h5-4con">微博不存在或暂无查看权限!</p>'
STALE_PAGE = "<!doctype html><title>432</title><script>location.reload()</script>"
LOGIN = {"ok": -100, "errno": "100005", "url": "https://passport.weibo.com/sso/signin?entry=wapsso"}
NOTHING = {"ok": 0, "msg": "这里还没有内容", "data": {"cards": []}}
NO_COMMENTS = {"ok": 0, "msg": "快来发表你的评论吧"}
WORDS: Mapping[TroubleKind, Answer] = {
    TroubleKind.LOGIN_EXPIRED: json_answer(LOGIN),
    TroubleKind.STALE: page(STALE_PAGE, status=432),
    TroubleKind.ACCESS: page("<h1>418</h1>", status=418),
    TroubleKind.BANNED: json_answer({"ok": 0, "errno": "20003", "msg": "您的帐号异常，暂时被冻结，请登录后申诉"}),
    TroubleKind.GONE: page(GONE_PAGE),
    TroubleKind.EMPTY: json_answer({"ok": 1, "data": {}}),
    TroubleKind.ODD: json_answer({"ok": 0, "errno": "100001", "msg": "系统繁忙"}),
}
Mblog = dict[str, Any]


class WeiboService:
    """For the `places` of a simulated web: `places=WeiboService(world).places()`. Any session is a login."""

    def __init__(self, world: World, *, slow_seconds: float = 2.0) -> None:
        self.requests: list[IncomingRequest] = []
        self._topics = Topics(world.timeline, name="weibo", first_id=FIRST_ID)
        self._script = Script(WORDS, slow_seconds=slow_seconds)
        self.trouble = self._script.trouble
        self.lift = self._script.lift

    def places(self) -> Mapping[str, Place]:
        return dict.fromkeys(("/api/container", "/api/config", "/detail", "/comments"), self)

    def __call__(self, request: IncomingRequest) -> Answer:
        self.requests.append(request)
        session = cookies_of(request).get(SESSION, "")
        asked = {name: values[0] for name, values in parse_qs(request.query).items()}
        note = request.path.removeprefix("/detail/") if "/detail/" in request.path else asked.get("id")
        return self._script.answer(cookie=session, note=note, play=lambda: self._play(request, session, asked))

    def _play(self, request: IncomingRequest, session: str, asked: Mapping[str, str]) -> Answer:
        known = bool(session)
        if request.path == "/api/config":
            return json_answer({"ok": 1, "data": {"login": known, "st": "1f2a3b"}})
        if not known:
            return json_answer(LOGIN)
        match request.path.split("/"):
            case ["", "api", "container", "getIndex"]:
                return self._search(asked, request.at)
            case ["", "detail", note_id]:
                return self._detail(note_id, request.at)
            case ["", "comments", "hotflow"]:
                return self._comments(request, asked)
        return not_found(request)

    def _search(self, asked: Mapping[str, str], at: datetime) -> Answer:
        kind, _, keyword = asked.get("containerid", "").partition("&q=")
        posts = self._topics.latest(keyword, at, MAX_FOUND)
        if kind == "100103type=64":
            posts = [post for post in posts if "page_info" in mblog(post)]
        if kind == "100103type=60":
            posts.sort(key=lambda post: -_likes(post.number))
        first = (int(asked.get("page", "1")) - 1) * PER_PAGE
        shown = posts[first : first + PER_PAGE]
        return json_answer({"ok": 1, "data": {"cards": _cards(shown)}} if shown else NOTHING)

    def _detail(self, note_id: str, at: datetime) -> Answer:
        post = self._topics.find(note_id, at)
        if post is None:
            return page(GONE_PAGE)
        state = json.dumps([{"status": mblog(post, whole=True), "hotScheme": ""}], ensure_ascii=False, indent=1)
        script = f"<script>var config = {{}};\nvar $render_data = {state}[0] || {{}};\nvar __wb = 1;</script>"
        return page(f"<!doctype html><html><head><title>微博</title></head><body>{script}</body></html>")

    def _comments(self, request: IncomingRequest, asked: Mapping[str, str]) -> Answer:
        post = self._topics.find(asked.get("id", ""), request.at)
        if post is None:
            return json_answer({"ok": 0, "errno": "20101", "msg": "微博不存在或暂无查看权限"})
        if not request.headers.get("referer", "").endswith(f"/detail/{post.id}"):
            return WORDS[TroubleKind.STALE]
        first = int(asked.get("max_id", "0"))
        shown = [_comment(post, number) for number in range(comment_count(post))][first : first + COMMENTS_PER_PAGE]
        if not shown:
            return json_answer(NO_COMMENTS)
        following = first + COMMENTS_PER_PAGE
        paging = {"max_id": following if following < comment_count(post) else 0, "max_id_type": 0}
        return json_answer({"ok": 1, "data": {"data": shown, "total_number": comment_count(post), **paging}})


def comment_count(post: NotePost) -> int:
    return COMMENTS[post.number % len(COMMENTS)]


def mblog(post: NotePost, *, whole: bool = False) -> Mblog:
    """A post in one of the forms there are; only its own page shows a long one whole."""
    return _plain(post) | _FORMS[post.number % len(_FORMS)](post, whole)


def _cards(posts: list[NotePost]) -> list[dict[str, Any]]:
    """Some by themselves, some in a group, and cards between them that are none."""
    found = [{"card_type": 9, "itemid": post.id, "mblog": mblog(post)} for post in posts]
    topics = {"card_type": 11, "card_group": [{"card_type": 42, "desc": "相关话题"}]}
    return [topics, *found[:3], {"card_type": 11, "card_group": [{"card_type": 42}, *found[3:]]}]


def _likes(number: int) -> int:
    return number * 7919 % 5000


def _plain(post: NotePost) -> Mblog:
    writer = post.writer()
    emoticon = "<span class=\"url-icon\"><img alt=[哈哈] src='https://h5.sinaimg.cn/haha.png'></span>"
    topic = '<a href="https://m.weibo.cn/search?q=1"><span class="surl-text">#手艺#</span></a>'
    return {
        "id": post.id,
        "mid": post.id,
        "created_at": datetime.fromtimestamp(post.posted, UTC).astimezone(CHINA).strftime(DATE),
        "text": f"{topic} {writer.title()}{emoticon}<br />{writer.body('/about')}",
        "isLongText": False,
        "user": _user(post, writer.author()),
        "attitudes_count": _likes(post.number),
        "comments_count": comment_count(post),
        "reposts_count": "100万+" if post.number % 11 == 0 else post.number % 90,
        "pics": [],
    }


def _user(post: NotePost, name: str) -> dict[str, Any]:
    return {"id": 1_000_000_000 + post.number % 97, "screen_name": name, "followers_count": "7164.8万"}


def _as_it_is(_post: NotePost, _whole: bool) -> Mblog:
    return {}


def _with_pictures(post: NotePost, _whole: bool) -> Mblog:
    return {
        "pics": [
            {"url": f"https://wx1.sinaimg.cn/orj360/{post.id}{n}.jpg", "large": {"url": f"//wx1.sinaimg.cn/{n}.jpg"}}
            for n in range(3)
        ]
    }


def _with_video(post: NotePost, _whole: bool) -> Mblog:
    video = f"https://f.video.weibocdn.com/{post.id}.mp4?label=mp4_720p"
    return {"page_info": {"type": "video", "urls": {"mp4_720p_mp4": video}, "media_info": {"stream_url": video}}}


def _long(post: NotePost, whole: bool) -> Mblog:
    text = "<br />".join(post.writer(str(part)).title() for part in range(20))
    return {"isLongText": True, "text": text if whole else f'{text[:60]}...<a href="/status/{post.id}">全文</a>'}


def _repost(post: NotePost, _whole: bool) -> Mblog:
    original = {**_plain(post), "id": str(FIRST_ID - 1), "text": f"原文：{post.writer('original').title()}"}
    return {"text": "转发微博", "retweeted_status": original | _with_pictures(post, True), "user": None}


_FORMS: tuple[Callable[[NotePost, bool], Mblog], ...] = (_as_it_is, _with_pictures, _with_video, _long, _repost)


def _comment(post: NotePost, number: int) -> dict[str, Any]:
    writer = post.writer(f"comment {number}")
    replies = [{**_said(post, number, writer.author(), "回复 <a href='/n/x'>@x</a>：好"), "comments": False}]
    return {
        **_said(post, number, writer.author(), writer.title()),
        "total_number": 12 if number % 3 == 0 else 0,
        "comments": replies if number % 3 == 0 else False,
        **({"pic": {"url": "https://wx1.sinaimg.cn/s.jpg"}} if number % 4 == 0 else {}),
    }


def _said(post: NotePost, number: int, name: str, text: str) -> dict[str, Any]:
    return {
        "id": f"{post.id}{number:04}",
        "text": text,
        "created_at": datetime.fromtimestamp(post.posted + 60 * number, UTC).astimezone(CHINA).strftime(DATE),
        "like_count": number * 3,
        "user": _user(post, name),
    }
