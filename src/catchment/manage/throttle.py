"""How often somebody may try: a bounded memory of attempts, within a window that moves with the clock."""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime, timedelta

#: Who tried longest ago is forgotten first, so that made-up names cannot fill the memory.
REMEMBERED = 10_000


class Throttle:
    def __init__(self, *, most: int, window: timedelta, remembered: int = REMEMBERED) -> None:
        self._most = most
        self._window = window
        self._remembered = remembered
        self._attempts: OrderedDict[str, list[datetime]] = OrderedDict()

    def wait(self, who: str, *, now: datetime) -> timedelta:
        """How long until the next attempt is allowed; zero for at once."""
        recent = self._recent(who, now)
        if len(recent) < self._most:
            return timedelta(0)
        return recent[-self._most] + self._window - now

    def note(self, who: str, *, now: datetime) -> None:
        self._attempts[who] = [*self._recent(who, now), now]
        self._attempts.move_to_end(who)
        while len(self._attempts) > self._remembered:
            self._attempts.popitem(last=False)

    def take_back(self, who: str, *, at: datetime) -> None:
        """An attempt that was noted at this moment turned out to be a good one."""
        attempts = self._attempts.get(who, [])
        if at in attempts:
            attempts.remove(at)

    def forget(self, who: str) -> None:
        self._attempts.pop(who, None)

    def _recent(self, who: str, now: datetime) -> list[datetime]:
        return [at for at in self._attempts.get(who, []) if at > now - self._window]
