"""Where each feed of a world is found, and which items it holds: the truth that collectors are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from catchment.simulator.addresses import Addresses
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
