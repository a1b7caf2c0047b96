"""How the story of the simulated world runs against the clock.

Everything that happens is written in story time. Up to the start, story and clock agree, so that a site's
history has believable dates; from then on the story runs `speed` times as fast. At speed zero it stands
still.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    started_at: datetime
    speed: float

    @property
    def start(self) -> float:
        return self.started_at.timestamp()

    def story(self, at: datetime) -> float:
        moment = at.timestamp()
        return moment if moment <= self.start else self.start + (moment - self.start) * self.speed

    def clock(self, moment: float) -> datetime:
        """When the clock shows a moment of the story that has happened."""
        if moment > self.start:
            moment = self.start + (moment - self.start) / self.speed
        return datetime.fromtimestamp(moment, UTC)
