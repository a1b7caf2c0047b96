"""Politeness towards each host: how many requests at once, how far apart, how many a minute.

Over budget means later, never failed. `HostPace` decides when the next request may start and knows no
loop; `Pacer` makes requests wait for it, first come first served, or sends them away with `Deferred`
when the wait would be longer than they have patience for.
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final, Protocol

from yarl import URL

from catchment.domain.source import Why
from catchment.errors import CatchmentError

_WINDOW_SECONDS: Final = 60.0
_FORGOTTEN_AT_ONCE: Final = 4
#: When to come back to a host whose requests in flight take long, which nobody can foresee.
_BUSY_SECONDS: Final = 1.0
#: Moments are stored in thousandths of a second: what is closer is the same.
_SAME_SECONDS: Final = 0.01
#: No host has us wait for longer between two requests, whatever its robots.txt says.
MAX_CRAWL_DELAY: Final = 30.0
#: Turns that a request waits for in place where a host wants long pauses: to come back costs it a request or two.
_TURNS_OF_PATIENCE: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class PacePolicy:
    concurrency: int = 4
    spacing_seconds: float = 0.25
    budget_per_minute: int = 60


class Deferred(CatchmentError):
    """Not now: come back in `seconds`. Nothing failed; `message` tells what stands in the way, if not the pace."""

    def __init__(self, key: str, *, seconds: float, why: Why = Why.HOST_BUDGET, message: str | None = None) -> None:
        super().__init__(message or f"{key} has had its share of requests; the next one may start in {seconds:.1f} s")
        self.seconds = seconds
        self.why = why


class HostPace:
    """When the requests to one host started, and so when the next may."""

    def __init__(self, policy: PacePolicy) -> None:
        self._policy = policy
        self._starts: deque[float] = deque(maxlen=policy.budget_per_minute)
        #: The seconds between requests that the host asks for itself, where that is known.
        self.crawl_delay: float | None = None

    @property
    def spacing(self) -> float:
        return max(self._policy.spacing_seconds, self.crawl_delay or 0.0)

    @property
    def step(self) -> float:
        """The seconds between requests that go on and on."""
        return max(self.spacing, _WINDOW_SECONDS / self._policy.budget_per_minute)

    def next_starts(self, now: float, count: int, *, ahead: int = 0) -> list[float]:
        """When the next so many requests could start, after `ahead` others."""
        starts, found = deque(self._starts, maxlen=self._starts.maxlen), []
        for _ in range(ahead + count):
            found.append(self._next_after(starts, now))
            starts.append(found[-1])
        return found[ahead:]

    def recent(self, now: float) -> list[float]:
        """The starts that still count."""
        return [at for at in self._starts if at + max(_WINDOW_SECONDS, self.spacing) > now]

    def recall(self, starts: Iterable[float]) -> None:
        """Count these starts and no others."""
        self._starts.clear()
        self._starts.extend(sorted(starts))

    def earliest(self, now: float, *, ahead: int = 0) -> float:
        """The earliest start for a request that lets `ahead` others go first."""
        return self.next_starts(now, 1, ahead=ahead)[0] if ahead else self._next_after(self._starts, now)

    def started(self, at: float) -> None:
        self._starts.append(at)

    def is_forgettable(self, now: float) -> bool:
        """Whether nothing that happened can delay a request any more."""
        return not self._starts or self._starts[-1] + max(_WINDOW_SECONDS, self.spacing) <= now

    def _next_after(self, starts: deque[float], now: float) -> float:
        if not starts:
            return now
        spaced = starts[-1] + self.spacing
        if len(starts) < self._policy.budget_per_minute:
            return max(now, spaced)
        return max(now, spaced, starts[0] + _WINDOW_SECONDS)


class HostTimeline(Protocol):
    """The part of an event loop that tells time and wakes up; tests move their own."""

    def time(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], None], /) -> asyncio.TimerHandle: ...


@dataclass(slots=True)
class _Queue:
    """One host: its pace, how many requests are in flight, and who waits in which order."""

    pace: HostPace
    in_flight: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)
    alarm: asyncio.TimerHandle | None = None

    def is_idle(self) -> bool:
        return not self.in_flight and not self.waiting


class Pacer:
    def __init__(self, policy: PacePolicy, *, timeline: Callable[[], HostTimeline] = asyncio.get_running_loop) -> None:
        self._policy = policy
        self._timeline = timeline
        self._queues: OrderedDict[str, _Queue] = OrderedDict()

    def __len__(self) -> int:
        """How many hosts are remembered."""
        return len(self._queues)

    @property
    def concurrency(self) -> int:
        """How many requests a host is asked at once."""
        return self._policy.concurrency

    def waits(self, key: str, count: int) -> list[float]:
        """The seconds until each of the next so many requests to a host could start."""
        now = self._timeline().time()
        queue = self._queue(key)
        return [at - now for at in queue.pace.next_starts(now, count, ahead=len(queue.waiting))]

    def step(self, key: str) -> float:
        """The seconds between requests to a host that go on and on."""
        return self._queue(key).pace.step

    def slow_down(self, key: str, seconds: float) -> None:
        """Ask a host no more often than this from now on, as it wishes; 0 for the usual pace."""
        self._queue(key).pace.crawl_delay = seconds

    def usage(self, key: str) -> tuple[list[float], float | None]:
        """How many seconds ago the requests to a host started that still count, and the delay that it asks for."""
        now = self._timeline().time()
        pace = self._queue(key).pace
        return [now - at for at in pace.recent(now)], pace.crawl_delay

    def recall(self, key: str, ages: Iterable[float], *, crawl_delay: float | None) -> None:
        """Take over a host, with what others asked it before, in seconds ago, beside what was asked here since."""
        queue = self._queue(key)
        if crawl_delay is not None:
            queue.pace.crawl_delay = crawl_delay
        if queue.is_idle():
            now = self._timeline().time()
            known = [now - age for age in ages]
            latest = max(known, default=-math.inf) + _SAME_SECONDS
            queue.pace.recall([*known, *(at for at in queue.pace.recent(now) if at > latest)])

    @asynccontextmanager
    async def slot(self, key: str, *, patience: float | None = None) -> AsyncIterator[None]:
        """Hold one request's place at a host or group of hosts.

        Waits its turn; with `patience` at most that many seconds, or raises Deferred.
        """
        queue = self._queue(key)
        await self._take_turn(key, queue, _patience(patience, queue.pace.crawl_delay))
        try:
            yield
        finally:
            queue.in_flight -= 1
            self._advance(queue)

    def _queue(self, key: str) -> _Queue:
        queue = self._queues.get(key)
        if queue is None:
            self._forget_idle()
            queue = self._queues[key] = _Queue(HostPace(self._policy))
        self._queues.move_to_end(key)
        return queue

    def _forget_idle(self) -> None:
        """Drop a few for the one that comes: memory follows the hosts of the last minute."""
        now = self._timeline().time()
        for key in self._oldest():
            queue = self._queues[key]
            if queue.is_idle() and queue.pace.is_forgettable(now):
                del self._queues[key]
            else:
                self._queues.move_to_end(key)

    def _oldest(self) -> list[str]:
        return [key for key, _ in zip(self._queues, range(_FORGOTTEN_AT_ONCE), strict=False)]

    async def _take_turn(self, key: str, queue: _Queue, patience: float | None) -> None:
        if patience is not None:
            self._send_away_the_impatient(key, queue, patience)
        turn = asyncio.get_running_loop().create_future()
        queue.waiting.append(turn)
        self._advance(queue)
        try:
            async with asyncio.timeout(patience):
                await turn
        except TimeoutError:
            self._give_up(queue, turn)
            raise Deferred(key, seconds=self._wait(queue) or _BUSY_SECONDS) from None
        except asyncio.CancelledError:
            self._give_up(queue, turn)
            raise

    def _send_away_the_impatient(self, key: str, queue: _Queue, patience: float) -> None:
        wait = self._wait(queue)
        if wait > patience:
            raise Deferred(key, seconds=wait)

    def _wait(self, queue: _Queue) -> float:
        """How long a newcomer waits at least: requests in flight may make it longer."""
        now = self._timeline().time()
        return queue.pace.earliest(now, ahead=len(queue.waiting)) - now

    def _give_up(self, queue: _Queue, turn: asyncio.Future[None]) -> None:
        if not turn.cancelled():
            queue.in_flight -= 1
        elif turn in queue.waiting:
            queue.waiting.remove(turn)
        self._advance(queue)

    def _advance(self, queue: _Queue) -> None:
        """Start whoever may start now, and set the alarm for whoever may start later."""
        timeline = self._timeline()
        while queue.waiting and queue.in_flight < self._policy.concurrency:
            now = timeline.time()
            earliest = queue.pace.earliest(now)
            if earliest > now:
                self._set_timer(queue, timeline, earliest)
                return
            turn = queue.waiting.popleft()
            if not turn.cancelled():
                queue.pace.started(now)
                queue.in_flight += 1
                turn.set_result(None)

    def _set_timer(self, queue: _Queue, timeline: HostTimeline, when: float) -> None:
        if queue.alarm is not None:
            queue.alarm.cancel()
        queue.alarm = timeline.call_at(when, lambda: self._advance(queue))


def _patience(seconds: float | None, crawl_delay: float | None) -> float | None:
    return None if seconds is None else max(seconds, _TURNS_OF_PATIENCE * (crawl_delay or 0.0))


def host_of(url: str) -> str | None:
    """The name under which requests to this address are paced."""
    try:
        return URL(url).raw_host or None
    except ValueError:
        return None
