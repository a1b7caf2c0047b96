"""A round: what was due at one tick, how it went, and whether the network was there at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from datetime import datetime

from catchment.domain.host import is_at_home, shows_the_way
from catchment.domain.source import Why
from catchment.domain.visit import Collected, Failed, Visit, VisitResult, network_is_down


class Round:
    """The sources of one tick. It is over when each of them is stored, or turned out to be somebody else's.

    Some may be given to `others`, who say what became of them: then it is not over before they are gone.

    Visits that could not reach their host are held back until it is known whether anybody could be reached, so that
    nobody is blamed for a network of ours that is down.
    """

    def __init__(self, ids: Iterable[int], *, others: Collection[int] = (), follows: Round | None = None) -> None:
        own = tuple(ids)
        self.ids = (*own, *others)
        self._others = set(others)
        self.results: list[VisitResult] = []
        #: How many turned out to be somebody else's, or were left by one of the others that was lost.
        self.dropped = 0
        #: How many were put off at once because of their hosts.
        self.put_off = 0
        self._unvisited = set(own)
        self._unsettled = set(self.ids)
        self._held: list[Visit] = []
        #: The hosts of those sources that were reached, here or in the round that it follows.
        self.reached: set[str | None] = set(follows.reached) if follows else set()
        self._over = asyncio.Event()
        self._then: list[Callable[[Round], None]] = []
        self._check_over()

    def admit(self, visit: Visit) -> list[Visit]:
        """Take in a visit; give out those that can be stored now."""
        self._unvisited.discard(visit.source.id)
        if _has_reached(visit):
            self.reached.add(visit.source.host)
        if _is_unreachable(visit):
            self._held.append(visit)
            return self._release()
        return [*self._release(), visit]

    def drop(self, source_id: int) -> list[Visit]:
        """It was taken by another worker, or is no longer due. Gives out what can be stored now."""
        self.dropped += 1
        self._unvisited.discard(source_id)
        self._settle(source_id)
        return self._release()

    def record(self, result: VisitResult) -> None:
        self.results.append(result)
        self._settle(result.source_id)

    def record_of_others(self, result: VisitResult) -> None:
        """What became of a source that others collected: those share no host, so all are outside."""
        if result.was_collected:
            self.reached.add(None)
        self.record(result)

    @property
    def left(self) -> int:
        """Of how many it is not known yet what becomes of them."""
        return len(self._unsettled)

    @property
    def left_to_others(self) -> int:
        """Of how many it was not told yet what became of them."""
        return len(self._others & self._unsettled)

    def close_others(self) -> None:
        """There is nothing more to be told: what is left may be due again."""
        left = self._others & self._unsettled
        self.dropped += len(left)
        self._unsettled -= left
        self._others.clear()
        self._check_over()

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    async def wait(self) -> None:
        await self._over.wait()

    def when_over(self, then: Callable[[Round], None]) -> None:
        """Have `then` told once the round is over."""
        self._then.append(then)

    def summary(self) -> dict[str, int]:
        """Counts for people and logs. What somebody else took, before a visit or during it, is counted there."""
        done = [result for result in self.results if not result.fenced]
        return {
            "due": len(self.ids),
            "collected": sum(r.was_collected for r in done),
            "failed": sum(r.error is not None and r.excuse is None for r in done),
            "excused": sum(r.excuse is not None for r in done),
            "skipped": sum(r.skipped is not None for r in done),
            "postponed": self.put_off + sum(r.postponed_until is not None for r in done),
            "fetched": sum(r.fetched for r in done),
            "inserted": sum(r.inserted for r in done),
            "updated": sum(r.updated for r in done),
            "elsewhere": self.dropped + len(self.results) - len(done),
        }

    def postponed_until(self) -> datetime | None:
        """When the first of the sources may be tried again that wait for nothing but their host's pace."""
        paced = [result for result in self.results if result.postponed_why is Why.HOST_BUDGET]
        return min((result.postponed_until for result in paced if result.postponed_until), default=None)

    def _release(self) -> list[Visit]:
        """Judge what is held once somebody was reached who shows the way there, or nobody is left to try."""
        if not self._held:
            return []
        blamed = [visit for visit in self._held if self._is_reachable(visit)]
        excused = [] if self._unvisited else [visit for visit in self._held if not self._is_reachable(visit)]
        self._held = [visit for visit in self._held if self._unvisited and not self._is_reachable(visit)]
        return [*_judged(blamed, reached=True), *_judged(excused, reached=False)]

    def _is_reachable(self, visit: Visit) -> bool:
        return any(shows_the_way(host, visit.source.host) for host in self.reached)

    def _settle(self, source_id: int) -> None:
        self._unsettled.discard(source_id)
        self._check_over()

    def _check_over(self) -> None:
        if not (self._unsettled or self._others or self._over.is_set()):
            self._over.set()
            for then in self._then:
                then(self)


def _judged(held: list[Visit], *, reached: bool) -> list[Visit]:
    failures = [visit.ending for visit in held if isinstance(visit.ending, Failed)]
    down = network_is_down(
        reached=reached,
        unreachable_hosts={failure.unreachable_host for failure in failures},
        surely_ours=any(failure.ours for failure in failures),
    )
    alone = not (reached or down) and not any(is_at_home(visit.source.host) for visit in held)
    return [
        replace(visit, ending=replace(failure, ours=down or alone, alone=alone))
        for visit, failure in zip(held, failures, strict=True)
    ]


def _is_unreachable(visit: Visit) -> bool:
    return isinstance(visit.ending, Failed) and visit.ending.unreachable_host is not None


def _has_reached(visit: Visit) -> bool:
    return isinstance(visit.ending, Collected) or (isinstance(visit.ending, Failed) and visit.ending.answered)
