"""What the platforms that are searched by keyword have in common: troubles that strike whoever, or whatever, one says.

A test or a demo tells a service whose session, or which note, is in trouble and how often; each service says in its own
words what that looks like.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from random import Random
from typing import Final
from zlib import crc32

from catchment.simulator.messages import Answer, IncomingRequest, Silence, Whole
from catchment.simulator.words import LANGUAGES, WorldTime, Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class EventStream:
    timeline: WorldTime
    #: Another name tells another story.
    name: str
    period: timedelta
    #: How many there are when the world starts.
    backlog: int

    def latest(self, at: datetime, most: int) -> Sequence[int]:
        """The numbers of the newest things, the newest first."""
        beats = (self.timeline.story(at) - self.timeline.start) / self.period.total_seconds()
        last = math.floor(beats) + self.backlog - 1
        return range(last, max(-1, last - most), -1)

    def has(self, number: int, at: datetime) -> bool:
        return 0 <= number <= self.latest(at, 1)[0]

    def minutes_old(self, number: int, at: datetime) -> int:
        return int((self.timeline.story(at) - self._moment(number)) // 60)

    def posted(self, number: int) -> int:
        """When it was posted, in seconds since 1970."""
        return int(self.timeline.clock(self._moment(number)).timestamp())

    def writer(self, number: int) -> Writer:
        return Writer(LANGUAGES["en"], Random(f"{self.name}/{number}"))

    def _moment(self, number: int) -> float:
        return self.timeline.start + (number + 1 - self.backlog) * self.period.total_seconds()


PERIOD = timedelta(minutes=20)
BACKLOG = 60
#: Each topic has room for so many ids.
ROOM = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NotePost:
    """One note, wherever it is shown."""

    topic: EventStream
    number: int
    id: str

    @property
    def posted(self) -> int:
        return self.topic.posted(self.number)

    def writer(self, part: str = "") -> Writer:
        """Tells this note, or a part of it, in the same words each time."""
        return Writer(LANGUAGES["zh"], Random(f"{self.topic.name}/{self.number}/{part}"))


class Topics:
    """Every keyword is a topic. Nothing is remembered: an id says by itself which topic it is of."""

    def __init__(self, timeline: WorldTime, *, name: str, first_id: int) -> None:
        self._timeline = timeline
        self._name = name
        self._first_id = first_id

    def latest(self, keyword: str, at: datetime, most: int) -> list[NotePost]:
        topic = crc32(keyword.encode())
        return [self._post(topic, number) for number in self._stream(topic).latest(at, most)]

    def find(self, note_id: str, at: datetime) -> NotePost | None:
        if not note_id.isdigit() or int(note_id) < self._first_id:
            return None
        topic, number = divmod(int(note_id) - self._first_id, ROOM)
        return self._post(topic, number) if self._stream(topic).has(number, at) else None

    def _post(self, topic: int, number: int) -> NotePost:
        return NotePost(topic=self._stream(topic), number=number, id=str(self._first_id + topic * ROOM + number))

    def _stream(self, topic: int) -> EventStream:
        return EventStream(timeline=self._timeline, name=f"{self._name}/{topic}", period=PERIOD, backlog=BACKLOG)


Play = Callable[[], Answer]


class TroubleKind(StrEnum):
    CAPTCHA = "captcha"
    LOGIN_EXPIRED = "login expired"
    STALE = "stale cookie"
    ACCESS = "access restricted"
    IP_BLOCKED = "ip blocked"
    BANNED = "banned"
    GONE = "gone"
    SIGNATURE = "signature refused"
    #: A success that brings nothing.
    EMPTY = "empty"
    #: What nobody has a name for yet.
    ODD = "odd"
    SERVER_ERROR = "server error"
    MALFORMED = "malformed"
    SLOW = "slow"
    SILENT = "silent"


#: Those that look alike everywhere.
_COMMON: Final[Mapping[TroubleKind, Answer]] = {
    TroubleKind.SERVER_ERROR: Answer(
        status=502, headers=(("Content-Type", "text/html"),), body=b"<h1>502 Bad Gateway</h1>"
    ),
    TroubleKind.MALFORMED: Answer(
        headers=(("Content-Type", "application/json"),), body=b'{"success": true, "data": {"ite'
    ),
    TroubleKind.SILENT: Answer(delivery=Silence()),
}


@dataclass(slots=True, kw_only=True)
class _Scripted:
    kind: TroubleKind
    #: None is until it is lifted.
    times: int | None

    def strike(self) -> bool:
        if self.times is None:
            return True
        self.times -= 1
        return self.times >= 0


class Script:
    """Which troubles are up, by session and by note. A session's come before a note's, and those before everybody's."""

    def __init__(self, words: Mapping[TroubleKind, Answer], *, slow_seconds: float = 2.0) -> None:
        self._words = {**_COMMON, **words}
        self._slow = Whole(wait_seconds=slow_seconds)
        self._troubles: dict[tuple[str | None, str | None], list[_Scripted]] = {}

    def trouble(
        self, kind: TroubleKind, *, cookie: str | None = None, note: str | None = None, times: int | None = None
    ) -> None:
        """Strike this session, this note, this session at this note, or everybody: so many times, one after another."""
        self._troubles.setdefault((cookie, note), []).append(_Scripted(kind=kind, times=times))

    def lift(self, *, cookie: str | None = None, note: str | None = None) -> None:
        self._troubles.pop((cookie, note), None)

    def answer(self, *, cookie: str, note: str | None, play: Play) -> Answer:
        """What `play` answers, unless a trouble strikes."""
        kind = self._strike(cookie, note)
        if kind is None:
            return play()
        return replace(play(), delivery=self._slow) if kind is TroubleKind.SLOW else self._words[kind]

    def _strike(self, cookie: str, note: str | None) -> TroubleKind | None:
        for key in dict.fromkeys([(cookie, note), (cookie, None), (None, note), (None, None)]):
            for scripted in self._troubles.get(key, ()):
                if scripted.strike():
                    return scripted.kind
        return None


def cookies_of(request: IncomingRequest) -> dict[str, str]:
    pairs = (part.strip().partition("=") for part in request.headers.get("cookie", "").split(";"))
    return {name: value for name, _, value in pairs if name}
