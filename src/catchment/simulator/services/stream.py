"""What happens at a service: numbered things at a steady beat, told in the same words whenever they are asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from zlib import crc32

from catchment.simulator.prose import WorldTime, Writer
from catchment.simulator.words import CHINESE, LANGUAGES


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
        return Writer(CHINESE, Random(f"{self.topic.name}/{self.number}/{part}"))


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
