"""The simulated web, running: places behind real sockets on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from catchment.simulator.addresses import affordable_hosts, listen
from catchment.simulator.directory import Catalogue, Directory
from catchment.simulator.feeds import FeedSites
from catchment.simulator.messages import Answer, Hits, IncomingRequest, Place, not_found
from catchment.simulator.troubles import SiteTrouble, Troubled
from catchment.simulator.wire import Connection
from catchment.simulator.world import World


def wall_clock() -> datetime:
    return datetime.now(UTC)


class SimulatedWeb:
    """Serves a world, and any further places by the prefix of their paths, while its context is open."""

    def __init__(
        self,
        world: World,
        *,
        port: int = 0,
        hosts: int | None = None,
        now: Callable[[], datetime] = wall_clock,
        troubles: Mapping[int, Sequence[SiteTrouble]] | None = None,
        places: Mapping[str, Place] | None = None,
    ) -> None:
        self.world = world
        self.hits = Hits()
        #: Known once the web is open.
        self.catalogue: Catalogue
        self._port = port
        self._hosts = affordable_hosts(len(world.sites)) if hosts is None else hosts
        self._now = now
        self._troubles = troubles or {}
        self._places = dict(places or {})
        self._sites: FeedSites
        self._servers: list[asyncio.Server] = []
        self._guests: set[Connection] = set()

    async def __aenter__(self) -> Self:
        addresses, self._servers = await listen(self._visitor, port=self._port, hosts=self._hosts)
        self.catalogue = Catalogue(world=self.world, addresses=addresses)
        directory = Directory(catalogue=self.catalogue, hits=self.hits, faults_of=self._faults_of)
        self._sites = FeedSites(self.world, addresses.home)
        self._places |= {"/s": self._sites, **directory.places()}
        for site, troubles in self._troubles.items():
            self.trouble(f"/s/{site}", *troubles)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for guest in tuple(self._guests):
            guest.hang_up()
        for server in self._servers:
            await server.wait_closed()

    @property
    def port(self) -> int:
        return self.catalogue.addresses.port

    def url(self, path: str) -> str:
        """Where a place outside the feed sites is found."""
        return self.catalogue.addresses.root + path

    def feed_url(self, site: int) -> str:
        return self.catalogue.feed_url(site)

    def feed_urls(self) -> list[str]:
        return self.catalogue.feed_urls()

    def expected_items(self) -> dict[str, set[str]]:
        """By feed, every id that it has listed from the start until now."""
        return self.catalogue.expected_items(self._now())

    def warm(self) -> None:
        """Writes every feed beforehand, so that a measurement does not pay for it."""
        self._sites.warm(self._now())

    def trouble(self, prefix: str, *troubles: SiteTrouble) -> Troubled:
        """Wraps what is at a prefix, such as `/s/17`; what troubled it before no longer does."""
        troubled = Troubled(self._sound_place(prefix), troubles)
        self._places[prefix] = troubled
        return troubled

    def answer(self, request: IncomingRequest) -> Answer:
        answer = self._place_at(request.path)(request)
        self.hits.counts[request.path, answer.status] += 1
        return answer

    def _visitor(self) -> Connection:
        return Connection(self.answer, self._now, self._guests)

    def _sound_place(self, prefix: str) -> Place:
        place = self._place_at(prefix)
        return place.place if isinstance(place, Troubled) else place

    def _faults_of(self, site: int) -> list[str]:
        place = self._place_at(f"/s/{site}/")
        return [trouble.fault.name for trouble in place.troubles] if isinstance(place, Troubled) else []

    def _place_at(self, path: str) -> Place:
        """The place of the first two parts of the path, or else of the first."""
        parts = path.split("/", 3)
        return self._places.get("/".join(parts[:3])) or self._places.get("/".join(parts[:2]), not_found)
