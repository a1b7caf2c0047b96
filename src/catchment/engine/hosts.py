"""The hosts that this process looks after for all: what is under way at each, and what the next one must know of it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from loguru import logger

from catchment.clock import Clock
from catchment.domain.host import DueSource, HostUse, Seating, seat
from catchment.engine.leases import LeasePolicy
from catchment.errors import StoreError
from catchment.fetch.client import HttpClient
from catchment.store import hosts
from catchment.store.database import Store

#: Hosts that have nothing more to do here are given back together.
GATHER_SECONDS = 0.5


class HostRegistry:
    def __init__(self, *, store: Store, http: HttpClient, clock: Clock, leases: LeasePolicy) -> None:
        self._store = store
        self._http = http
        self._pacer = http.pacer
        self._clock = clock
        self._owner = leases.owner
        self._until = leases.until
        #: Sources that are queued, claimed, under way or waiting to be stored.
        self._expected: Counter[str] = Counter()
        #: Visits that are claimed or under way.
        self._visits: Counter[str] = Counter()
        self._ours: set[str] = set()
        self._has_idle = asyncio.Event()
        #: Held while hosts are taken and while they are given back, of which only one can be true.
        self.lock = asyncio.Lock()

    async def seat(self, due: Iterable[DueSource], now: datetime) -> Seating:
        """Which of these sources can be visited now; the others are put off, once and together."""
        minded = [one if one.host is None or self._is_minded(one, now) else one._replace(host=None) for one in due]
        seating = seat(minded, now=now, waits=self._waits, step=self._pacer.step)
        return await self._put_off(seating, now) if seating.later else seating

    async def _put_off(self, seating: Seating, now: datetime) -> Seating:
        """Only whoever looks after a host gives its turns away."""
        async with self.lock:
            taken = await self._store.write(hosts.put_off, seating, owner=self._owner, now=now, until=self._until(now))
            self.took(taken)
            self._has_idle.set()
        lost = seating.booked.keys() - {use.host for use in taken}
        left = seating.without(lost) if lost else seating
        if left.later:
            logger.info("{} source(s) wait for their hosts", len(left.later))
        return left

    def has_room(self, host: str, *, chosen: int) -> bool:
        """Whether the host takes one more visit at once, beside those that are about to begin."""
        return self._visits[host] + chosen < self._pacer.concurrency

    def took(self, taken: Iterable[HostUse]) -> None:
        """These hosts are ours: go on where whoever had them before left off."""
        now = self._clock.now().timestamp()
        for use in taken:
            if use.host not in self._ours:
                self._ours.add(use.host)
                ages = [max(0.0, now - start) for start in use.starts]
                self._pacer.recall(use.host, ages, crawl_delay=use.crawl_delay)

    def expect(self, host: str) -> None:
        """A source of this host is queued."""
        self._expected[host] += 1

    def done_with(self, host: str) -> None:
        """It is stored, or somebody else's."""
        self._expected[host] -= 1
        if self._expected[host] <= 0:
            del self._expected[host]
            self._has_idle.set()

    def enter(self, host: str) -> None:
        self._visits[host] += 1

    def leave(self, host: str) -> None:
        self._visits[host] -= 1

    async def run(self) -> None:
        """Give back what has nothing more to do here, until cancelled."""
        while True:
            await self._has_idle.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._has_idle.clear()
            try:
                await self._give_back()
            except StoreError as error:
                self._has_idle.set()
                logger.error("hosts cannot be given back: {}", error)

    async def give_back_all(self) -> None:
        self._visits.clear()
        self._expected.clear()
        # Among them those that came to be shared while their only source was visited here.
        self._ours.update(await self._store.read(hosts.list_owned, owner=self._owner))
        await self._give_back()

    async def _give_back(self) -> None:
        async with self.lock:
            idle = [host for host in self._ours if host not in self._expected]
            if idle:
                await self._store.write(hosts.give_back, self._uses_of(idle), owner=self._owner)
                self._ours.difference_update(idle)

    def _uses_of(self, idle: Sequence[str]) -> list[HostUse]:
        now = self._clock.now().timestamp()
        uses = ((host, *self._pacer.usage(host)) for host in idle)
        return [
            HostUse(host=host, starts=[round(now - age, 3) for age in ages], crawl_delay=delay)
            for host, ages, delay in uses
        ]

    def _waits(self, host: str, count: int) -> list[float]:
        """Behind those that are queued here already."""
        ahead = self._expected[host]
        return self._pacer.waits(host, ahead + count)[ahead:]

    def _is_minded(self, due: DueSource, now: datetime) -> bool:
        """The user's own hosts are not paced; what they ask for is heeded all the same."""
        assert due.host is not None
        return self._http.paces(due.host) or (due.held_until is not None and due.held_until > now)
