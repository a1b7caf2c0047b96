"""X as its provider gives it out: timelines of users and lists, paged, in two envelopes, and with every way to fail.

Tweets come in the forms that the provider's captured answers show, chosen by their number, so that a timeline of a few
dozen holds them all.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from urllib.parse import parse_qs
from zlib import crc32

from catchment.simulator.messages import Answer, Cut, IncomingRequest, Silence, Whole

PAGE = 20
DATE = "%a %b %d %H:%M:%S +0000 %Y"
#: Where tweet ids begin; each handle has room for a million.
FIRST_ID = 1_840_000_000_000_000
Tweet = dict[str, Any]


class TweetEnvelope(StrEnum):
    #: `{"status", "code", "msg", "data": {"pin_tweet", "tweets"}, "has_next_page", "next_cursor"}`
    DATA = "data"
    #: `{"tweets", "has_next_page", "next_cursor", "status", "message"}`
    TOP = "top"


class XProvider:
    """A place: `SimulatedWeb(world, places={"/twitter": XProvider(...)})`."""

    def __init__(
        self,
        *,
        key: str,
        users: Mapping[str, Sequence[Tweet]],
        lists: Mapping[str, Sequence[Tweet]] | None = None,
        pinned: Mapping[str, Tweet] | None = None,
        envelope: TweetEnvelope = TweetEnvelope.DATA,
        delay_seconds: float = 0.0,
    ) -> None:
        self.users = {handle.lower(): list(tweets) for handle, tweets in users.items()}
        self.lists = {number: list(tweets) for number, tweets in (lists or {}).items()}
        self.requests: list[IncomingRequest] = []
        self._key = key
        self._pinned = pinned or {}
        self._envelope = envelope
        self._delay = Whole(wait_seconds=delay_seconds)
        self._mishaps: defaultdict[str, deque[Answer]] = defaultdict(deque)

    def fail(self, handle: str, *answers: Answer) -> None:
        """Answer the next requests for this handle or list like this, one after the other."""
        self._mishaps[handle.lower()].extend(answers)

    def __call__(self, request: IncomingRequest) -> Answer:
        self.requests.append(request)
        query = {name: values[0] for name, values in parse_qs(request.query).items()}
        if "x-api-key" not in request.headers:
            return missing_key()
        if request.headers["x-api-key"] != self._key:
            return wrong_key()
        name = (query.get("userName") or query.get("listId") or "").lower()
        if self._mishaps[name]:
            return self._mishaps[name].popleft()
        return self._page(request.path, name, query.get("cursor", ""))

    def _page(self, path: str, name: str, cursor: str) -> Answer:
        known = self.lists if "/list/" in path else self.users
        if not name:
            return reply(400, {"detail": "userName or userId is required"})
        # A user whom nobody knows may look like one who never wrote.
        tweets = known.get(name, [])
        start = int(cursor.removeprefix("page-") or 0) if cursor.startswith("page-") else 0
        more = start + PAGE < len(tweets)
        paging = {"has_next_page": more, "next_cursor": f"page-{start + PAGE}" if more else ""}
        shown = tweets[start : start + PAGE]
        return reply(200, self._wrapped(name, shown, paging, first=not start), delivery=self._delay)

    def _wrapped(self, name: str, tweets: Sequence[Tweet], paging: Mapping[str, Any], *, first: bool) -> dict[str, Any]:
        if self._envelope is TweetEnvelope.TOP:
            return {"tweets": tweets, **paging, "status": "success", "message": ""}
        data = {"pin_tweet": self._pinned.get(name) if first else None, "tweets": tweets}
        return {"status": "success", "code": 0, "msg": "success", "data": data, **paging}


def timeline(handle: str, count: int, *, at: datetime, apart: timedelta = timedelta(minutes=30)) -> list[Tweet]:
    """Tweets of one user, the newest first, in every form there is."""
    return [tweet(handle, number, at - apart * (count - 1 - number)) for number in reversed(range(count))]


def tweet(handle: str, number: int, at: datetime) -> Tweet:
    """The same for the same handle and number."""
    return _plain(handle, number, at) | _FORMS[number % len(_FORMS)](number, at)


def tweet_id(handle: str, number: int) -> str:
    return str(FIRST_ID + crc32(handle.lower().encode()) * 1_000_000 + number)


def author(handle: str) -> dict[str, Any]:
    return {"id": str(1000 + sum(map(ord, handle))), "userName": handle, "name": handle.title(), "followers": 4821}


def reply(status: int, body: object, *, delivery: Whole | Silence | Cut | None = None) -> Answer:
    return Answer(
        status=status,
        headers=(("Content-Type", "application/json"),),
        body=json.dumps(body).encode(),
        delivery=delivery or Whole(),
    )


# What goes wrong, in the provider's own words.


def missing_key() -> Answer:
    message = "API key required. Please include x-api-key in your request header."
    return reply(403, {"error": "Forbidden", "message": message, "code": -1})


def wrong_key() -> Answer:
    return reply(401, {"error": "Unauthorized", "message": "Invalid API key"})


def out_of_credit() -> Answer:
    return reply(402, {"error": "Payment Required", "message": "Credits is not enough. Please recharge"})


def too_fast() -> Answer:
    message = "For free-tier users, the QPS limit is one request every 5 seconds."
    return reply(429, {"error": "Too Many Requests", "message": message})


def broken() -> Answer:
    return reply(502, {"error": "Bad Gateway"})


def user_not_found() -> Answer:
    """A success that is none."""
    return reply(200, {"status": "error", "code": 404, "msg": "User not found", "data": None})


def silent() -> Answer:
    return Answer(delivery=Silence())


def not_json() -> Answer:
    return Answer(headers=(("Content-Type", "text/html"),), body=b"<html>We are tuning our engines</html>")


# The forms of tweets.


def _plain(handle: str, number: int, at: datetime) -> Tweet:
    identity = tweet_id(handle, number)
    return {
        "type": "tweet",
        "id": identity,
        "url": f"https://x.com/{handle}/status/{identity}",
        "twitterUrl": f"https://twitter.com/{handle}/status/{identity}",
        "text": f"Note {number} of {handle}: rain & <b>bold</b> claims\nover two lines",
        "source": "Twitter Web App",
        "lang": "en",
        "createdAt": at.strftime(DATE),
        "retweetCount": number % 7,
        "replyCount": number % 3,
        "likeCount": number % 31,
        "quoteCount": 0,
        "bookmarkCount": 0,
        "viewCount": 100 + number,
        "isReply": False,
        "isLimitedReply": False,
        "inReplyToId": None,
        "inReplyToUserId": None,
        "inReplyToUsername": None,
        "conversationId": identity,
        "quoted_tweet": None,
        "retweeted_tweet": None,
        "author": author(handle),
        "entities": {},
        "displayTextRange": [0, 40],
    }


def _as_it_is(_number: int, _at: datetime) -> Tweet:
    return {}


def _with_link(number: int, _at: datetime) -> Tweet:
    url = {"display_url": "example.org/…", "expanded_url": f"https://example.org/{number}", "url": "https://t.co/x"}
    return {"text": "Read this https://t.co/x", "entities": {"urls": [url | {"indices": [10, 24]}]}}


def _retweet(number: int, at: datetime) -> Tweet:
    original = _plain("origin", number, at) | {"text": "What the original says " + "at length " * 40}
    cut = {"text": "RT @origin: What the original says at length at le…"}
    return cut | {"retweeted_tweet": original | _with_media_list(number, at), "quoted_tweet": {"id": "1"}}


def _quote(number: int, at: datetime) -> Tweet:
    return {"text": "So true", "quoted_tweet": _plain("quoted", number, at) | {"text": "A thought that was cut of…"}}


def _reply_to(number: int, _at: datetime) -> Tweet:
    return {"text": "@other yes", "isReply": True, "inReplyToId": str(number + 1), "inReplyToUsername": "other"}


def _long_note(number: int, _at: datetime) -> Tweet:
    whole = f"The first words of note {number}, " + "on and on " * 60
    return {"text": "The first words …", "note_tweet": {"text": whole}}


def _with_media_list(number: int, _at: datetime) -> Tweet:
    return {
        "media": [{"media_key": f"3_{number}", "type": "photo", "media_url_https": f"https://img.example/{number}"}]
    }


def _with_media_by_kind(number: int, _at: datetime) -> Tweet:
    photo = {"id_str": f"4_{number}", "url": f"https://img.example/{number}.jpg", "width": 800, "height": 600}
    video = {"id": 5_000_000 + number, "type": "video", "preview_image_url": "https://img.example/still.jpg"}
    return {"media": {"photos": [photo], "videos": [video]}}


def _with_extended_media(number: int, _at: datetime) -> Tweet:
    media = {"type": "animated_gif", "media_url_https": f"https://img.example/{number}.gif"}
    return {"extendedEntities": {"media": [media | {"sizes": {"large": {"w": 640, "h": 480}}}]}}


def _without_author(_number: int, _at: datetime) -> Tweet:
    return {"author": None}


_FORMS: tuple[Callable[[int, datetime], Tweet], ...] = (
    _as_it_is,
    _with_link,
    _retweet,
    _with_media_list,
    _reply_to,
    _with_media_by_kind,
    _quote,
    _with_extended_media,
    _long_note,
    _without_author,
)
