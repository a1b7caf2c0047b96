"""Captured feeds that break for a while and are whole again: nothing stored is lost, doubled or harmed by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple

import pytest
from aiohttp import web

from broken_feeds import BREAKS, captured_feeds, groups, is_utf8
from catchment.bootstrap import System
from catchment.clock import ManualClock
from catchment.parse.entry import MAX_ENTRIES
from collecting import add, collect, stored
from feed_site import FeedSite
from stores import on_sqlite_alone

pytestmark = [pytest.mark.proves("R-01", "R-02")]
FIVE_HOURS = timedelta(hours=5)
#: `make test-captures` takes them all, on SQLite, and the sample on PostgreSQL: what is broken is read, or not, before
#: any store sees it.
SAMPLED = 5


class Kept(NamedTuple):
    """What is compared of a stored item."""

    url: str
    title: str
    author: str
    content: str
    published_at: object
    revision: int


class Captures:
    """A source for each captured feed, on one site."""

    def __init__(self, system: System, site: FeedSite, clock: ManualClock, bodies: Mapping[str, bytes]) -> None:
        self._system = system
        self._site = site
        self._clock = clock
        self._bodies = bodies

    async def add(self) -> None:
        for place, name in enumerate(self._bodies):
            await add(self._system, self._site.url(f"/{place}"), name=name)

    async def collect(self, bodies: Mapping[str, bytes]) -> None:
        for place, name in enumerate(self._bodies):
            self._site.script(_answer(bodies[name]), path=f"/{place}")
        self._clock.advance(FIVE_HOURS)
        await collect(self._system)

    async def stored(self) -> dict[str, dict[int, Kept]]:
        found: dict[str, dict[int, Kept]] = {}
        for item in await stored(self._system):
            kept = Kept(item.url, item.title, item.author, item.content, item.published_at, item.revision)
            found.setdefault(item.source_name, {})[item.id] = kept
        return found


def _answer(body: bytes):
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type="application/xml")

    return answer


def differences(before: Mapping[str, dict[int, Kept]], after: Mapping[str, dict[int, Kept]]) -> list[str]:
    """What was lost, doubled or harmed, each in a line."""
    found = []
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name, {}), after.get(name, {})
        found += [f"{name}: lost {old[key].title!r}" for key in old.keys() - new.keys()]
        found += [f"{name}: doubled {new[key].title!r}" for key in new.keys() - old.keys()]
        found += [
            f"{name}: harmed {_changed(old[key], new[key])}" for key in old.keys() & new.keys() if old[key] != new[key]
        ]
    return found


def _changed(old: Kept, new: Kept) -> str:
    return ", ".join(
        f"{name} {before!r:.200} -> {after!r:.200}"
        for name, before, after in zip(Kept._fields, old, new, strict=True)
        if before != after
    )


async def break_and_heal(
    system: System, site: FeedSite, clock: ManualClock, bodies: Mapping[str, bytes], breaks: Sequence[str]
) -> list[str]:
    captures = Captures(system, site, clock, bodies)
    await captures.add()
    await captures.collect(bodies)
    whole = await captures.stored()
    assert sum(map(len, whole.values())) > 5 * SAMPLED
    found = []
    for way in breaks:
        broken = {name: BREAKS[way](body) for name, body in bodies.items()}
        await captures.collect(broken)
        excused = {name for name, body in bodies.items() if is_excused(way, body)}
        seen = await captures.stored()
        found += [f"{way}: {line}" for line in differences(_without(whole, excused), _without(seen, excused))]
        await captures.collect(bodies)
        healed = await captures.stored()
        # What was wrongly declared was edited there and back; what came of a long feed that was cut has come.
        compare = _without if way.startswith("cut") else _without_revisions
        found += [
            f"{way}, then whole: {line}" for line in differences(compare(whole, excused), compare(healed, excused))
        ]
        whole = await captures.stored()
    return found


def is_excused(way: str, body: bytes) -> bool:
    """Whether what is seen meanwhile may be otherwise."""
    if way.startswith("declared"):
        return not is_utf8(body)
    # Cut, a feed that is longer than what is taken at once lists others as its newest.
    return way.startswith("cut") and body.count(b"<item") > MAX_ENTRIES


def _without(found: Mapping[str, dict[int, Kept]], names: set[str]) -> dict[str, dict[int, Kept]]:
    return {name: items for name, items in found.items() if name not in names}


def _without_revisions(found: Mapping[str, dict[int, Kept]], names: set[str]) -> dict[str, dict[int, Kept]]:
    return {
        name: {key: kept._replace(revision=0) for key, kept in items.items()} if name in names else items
        for name, items in found.items()
    }


async def assert_a_sample_survives(system: System, site: FeedSite, clock: ManualClock) -> None:
    feeds = captured_feeds()
    sample = dict(list(feeds.items())[:: max(len(feeds) // SAMPLED, 1)])
    found = await break_and_heal(system, site, clock, sample, list(BREAKS))
    assert not found, "\n".join(found)


@on_sqlite_alone
async def test_a_sample_of_captured_feeds_survives_breaking_in_every_way(system, site, clock):
    await assert_a_sample_survives(system, site, clock)


@pytest.mark.captures
@pytest.mark.stores("postgres")
async def test_a_sample_of_captured_feeds_survives_on_postgresql(system, site, clock):
    await assert_a_sample_survives(system, site, clock)


@on_sqlite_alone
@pytest.mark.captures
@pytest.mark.timeout(600)
@pytest.mark.parametrize("breaks", groups(6), ids=lambda names: names[0].replace(" ", "-"))
async def test_every_captured_feed_survives_breaking(system, site, clock, breaks):
    found = await break_and_heal(system, site, clock, captured_feeds(), breaks)
    assert not found, "\n".join(found)
