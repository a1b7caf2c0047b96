"""What happens at a service: numbered things at a steady beat, told in the same words whenever they are asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from catchment.simulator.prose import Writer
from catchment.simulator.timeline import Timeline
from catchment.simulator.words import LANGUAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    timeline: Timeline
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
