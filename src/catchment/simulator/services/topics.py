"""What people post about a keyword: notes that appear with time, with ids that tell which topic they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from zlib import crc32

from catchment.simulator.prose import Writer
from catchment.simulator.services.stream import Stream
from catchment.simulator.timeline import Timeline
from catchment.simulator.words import CHINESE

PERIOD = timedelta(minutes=20)
BACKLOG = 60
#: Each topic has room for so many ids.
ROOM = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One note, wherever it is shown."""

    topic: Stream
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

    def __init__(self, timeline: Timeline, *, name: str, first_id: int) -> None:
        self._timeline = timeline
        self._name = name
        self._first_id = first_id

    def latest(self, keyword: str, at: datetime, most: int) -> list[Post]:
        topic = crc32(keyword.encode())
        return [self._post(topic, number) for number in self._stream(topic).latest(at, most)]

    def find(self, note_id: str, at: datetime) -> Post | None:
        if not note_id.isdigit() or int(note_id) < self._first_id:
            return None
        topic, number = divmod(int(note_id) - self._first_id, ROOM)
        return self._post(topic, number) if self._stream(topic).has(number, at) else None

    def _post(self, topic: int, number: int) -> Post:
        return Post(topic=self._stream(topic), number=number, id=str(self._first_id + topic * ROOM + number))

    def _stream(self, topic: int) -> Stream:
        return Stream(timeline=self._timeline, name=f"{self._name}/{topic}", period=PERIOD, backlog=BACKLOG)
