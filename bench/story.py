"""A world whose truth is known on both sides of a process: the same arguments make the same world in each.

As a module it serves that world: `python -m bench.story '{"sites": 10000, …}'`.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from catchment.simulator.faults import SiteTrouble, scattered
from catchment.simulator.server import Addresses, Catalogue, SimulatedWeb
from catchment.simulator.world import World

SEED = 7
#: Short feeds, so that the server keeps ten thousand of them ready and leaves the processors to the collector.
WINDOW = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    sites: int
    #: Share of the sites in trouble.
    faulty: float
    #: How much faster than the clock posts appear.
    speed: float
    started_at: str

    def world(self) -> World:
        started_at = datetime.fromisoformat(self.started_at)
        return World(seed=SEED, sites=self.sites, started_at=started_at, speed=self.speed, window=WINDOW)

    def as_word(self) -> str:
        return json.dumps(asdict(self))


class Truth:
    """What a collector should find, and where."""

    def __init__(self, story: Story, addresses: Addresses) -> None:
        self._world = story.world()
        self._catalogue = Catalogue(world=self._world, addresses=addresses)
        self._troubles: Mapping[int, Sequence[SiteTrouble]] = scattered(self._world, story.faulty)
        self._sites = {url: number for number, url in enumerate(self._catalogue.feed_urls())}

    def feed_urls(self) -> list[str]:
        return list(self._sites)

    def is_healthy(self, url: str) -> bool:
        return self._number(url) not in self._troubles

    def listed_throughout(self, url: str, since: datetime, until: datetime) -> set[str]:
        """What a visit between two moments cannot but see."""
        return self._ids(url, since) & self._ids(url, until)

    def listed_ever(self, url: str, since: datetime, until: datetime) -> set[str]:
        """What visits between two moments may have seen."""
        site = self._world.sites[self._number(url)]
        return site.ids_since(since, until, home=self._catalogue.addresses.home(site.number))

    def _number(self, url: str) -> int:
        """The site of an address; one that redirected for good has got a query."""
        return self._sites[url.partition("?")[0]]

    def _ids(self, url: str, at: datetime) -> set[str]:
        site = self._world.sites[self._number(url)]
        return site.ids(at, home=self._catalogue.addresses.home(site.number))


async def serve(story: Story) -> None:
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    world = story.world()
    async with SimulatedWeb(world, hosts=story.sites, troubles=scattered(world, story.faulty)) as web:
        web.warm()
        print(json.dumps({"port": web.port, "feeds": story.sites}), flush=True)
        await stopped.wait()


if __name__ == "__main__":
    asyncio.run(serve(Story(**json.loads(sys.argv[1]))))
