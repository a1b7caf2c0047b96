"""The simulated web, running: places behind real sockets on loopback, and what they tell about themselves."""

from __future__ import annotations

import asyncio
import errno
import resource
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs
from xml.sax.saxutils import quoteattr

from catchment.simulator.faults import SiteTrouble, Troubled
from catchment.simulator.feeds import FeedSites
from catchment.simulator.messages import Answer, Connection, Hits, IncomingRequest, Place, json_answer, not_found, page
from catchment.simulator.world import World

ROOT = "127.0.0.1"
#: What a guard against private addresses has to let through.
NETWORKS = (ROOT, "127.77.0.0/16")
PER_BLOCK = 250
MAX_HOSTS = 256 * PER_BLOCK
BACKLOG = 256
PORT_ATTEMPTS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    port: int
    #: How many hosts the sites share; with none, all live at the root.
    hosts: int

    @property
    def root(self) -> str:
        return f"http://{ROOT}:{self.port}"

    def home(self, site: int) -> str:
        host = host_address(site % self.hosts) if self.hosts else ROOT
        return f"http://{host}:{self.port}/s/{site}/"


def host_address(host: int) -> str:
    block, place = divmod(host, PER_BLOCK)
    return f"127.77.{block}.{place + 1}"


def affordable_hosts(sites: int) -> int:
    """One for each site, but at most half of the files that may be open, and none where 127/8 is not ours."""
    if sys.platform != "linux":
        return 0
    open_files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(sites, open_files // 2, MAX_HOSTS)


async def listen(
    visitor: Callable[[], asyncio.BaseProtocol], *, port: int, hosts: int
) -> tuple[Addresses, list[asyncio.Server]]:
    """Opens the same port on every address; port 0 means any that is free everywhere."""
    for attempts_left in reversed(range(PORT_ATTEMPTS)):
        servers = [await _open(visitor, [ROOT], port)]
        chosen = servers[0].sockets[0].getsockname()[1]
        try:
            if hosts:
                servers.append(await _open(visitor, [host_address(host) for host in range(hosts)], chosen))
        except OSError as error:
            servers[0].close()
            if port or not attempts_left or error.errno != errno.EADDRINUSE:
                raise
        else:
            return Addresses(port=chosen, hosts=hosts), servers
    raise AssertionError("the last attempt returns or raises")


async def _open(visitor: Callable[[], asyncio.BaseProtocol], hosts: list[str], port: int) -> asyncio.Server:
    return await asyncio.get_running_loop().create_server(visitor, hosts, port, backlog=BACKLOG)


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    world: World
    addresses: Addresses

    def feed_url(self, site: int) -> str:
        return self.addresses.home(site) + self.world.sites[site].style.file_name

    def feed_urls(self) -> list[str]:
        return [self.feed_url(site.number) for site in self.world.sites]

    def visible_items(self, at: datetime) -> dict[str, set[str]]:
        """By feed, the ids that it lists at a moment."""
        return {
            self.feed_url(site.number): site.ids(at, home=self.addresses.home(site.number)) for site in self.world.sites
        }

    def expected_items(self, at: datetime, *, since: datetime | None = None) -> dict[str, set[str]]:
        """By feed, the ids that it has listed between a moment (the start, unless given) and another."""
        first = since or self.world.timeline.started_at
        return {
            self.feed_url(site.number): site.ids_since(first, at, home=self.addresses.home(site.number))
            for site in self.world.sites
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Directory:
    catalogue: Catalogue
    hits: Hits
    #: The names of the faults that a site suffers from.
    faults_of: Callable[[int], Sequence[str]]

    def places(self) -> Mapping[str, Place]:
        return {"/opml": self.opml, "/world.json": self.world, "/hits.json": self.visits}

    def opml(self, _request: IncomingRequest) -> Answer:
        outlines = "\n".join(
            f"<outline type='rss' text={quoteattr(site.title)} "
            f"xmlUrl={quoteattr(self.catalogue.feed_url(site.number))} "
            f"htmlUrl={quoteattr(self.catalogue.addresses.home(site.number))}/>"
            for site in self.catalogue.world.sites
        )
        text = f"""<?xml version="1.0" encoding="utf-8"?>
<opml version="2.0"><head><title>The simulated web</title></head><body>
{outlines}
</body></opml>"""
        return Answer(headers=(("Content-Type", "text/x-opml; charset=utf-8"),), body=text.encode())

    def world(self, request: IncomingRequest) -> Answer:
        """Per feed: what it lists now, all it has listed since the start or `?since=`, and its faults."""
        asked = parse_qs(request.query).get("since")
        try:
            since = datetime.fromisoformat(asked[0]) if asked else None
        except ValueError:
            return page("<p>since= takes a date and time in ISO 8601.", status=HTTPStatus.BAD_REQUEST)
        expected = self.catalogue.expected_items(request.at, since=since)
        visible = self.catalogue.visible_items(request.at)
        feeds = {
            url: {
                "site": site.number,
                "title": site.title,
                "visible": sorted(visible[url]),
                "expected": sorted(expected[url]),
                "faults": self.faults_of(site.number),
            }
            for url, site in zip(self.catalogue.feed_urls(), self.catalogue.world.sites, strict=True)
        }
        return json_answer({"at": request.at.isoformat(), "feeds": feeds})

    def visits(self, _request: IncomingRequest) -> Answer:
        found: dict[str, dict[int, int]] = {}
        for (path, status), count in self.hits.counts.items():
            found.setdefault(path, {})[status] = count
        return json_answer(found)
