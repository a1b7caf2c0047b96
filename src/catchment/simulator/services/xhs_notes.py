"""The notes of the simulated Xiaohongshu, and the shapes in which its API and its pages tell of them."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from random import Random
from typing import Any, Final
from zlib import crc32

from catchment.simulator.prose import WorldTime, Writer
from catchment.simulator.services.stream import EventStream
from catchment.simulator.words import LANGUAGES

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
