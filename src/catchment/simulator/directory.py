"""What the simulated web tells about itself, so that other processes can use and check it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from urllib.parse import parse_qs
from xml.sax.saxutils import quoteattr

from catchment.simulator.addresses import Addresses
from catchment.simulator.messages import Answer, Hits, IncomingRequest, Place, json_answer, page
from catchment.simulator.world import World


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
