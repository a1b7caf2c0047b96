from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import aiohttp
import feedparser
import pytest

from catchment.clock import ManualClock
from catchment.simulator.formats import Abilities, Style
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_web(clock: ManualClock, abilities: Abilities | None = None, *, sites: int = 3, **options) -> SimulatedWeb:
    world = World(seed=1, sites=sites, started_at=START, period=HOUR, styles=[Style()], abilities=abilities)
    return SimulatedWeb(world, now=clock.now, **options)


async def get(visitor: aiohttp.ClientSession, url: str, **headers: str) -> tuple[aiohttp.ClientResponse, bytes]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    async with visitor.get(url, headers={"Accept-Encoding": "identity", **sent}) as answer:
        return answer, await answer.read()


async def test_a_feed_served_lists_what_the_world_says(visitor, clock) -> None:
    async with a_web(clock) as web:
        for url, expected in web.expected_items().items():
            _, body = await get(visitor, url)
            assert {entry.id for entry in feedparser.parse(body).entries} == expected


async def test_each_site_has_a_loopback_address_of_its_own(visitor, clock) -> None:
    async with a_web(clock, sites=300) as web:
        hosts = {url.split("/")[2] for url in web.feed_urls()}
        assert len(hosts) == 300
        answer, _ = await get(visitor, web.feed_url(299))
        assert answer.status == 200


async def test_sites_share_the_root_address_when_there_are_no_hosts(visitor, clock) -> None:
    async with a_web(clock, hosts=0) as web:
        assert web.feed_url(2) == f"http://127.0.0.1:{web.port}/s/2/feed.xml"
        answer, _ = await get(visitor, web.feed_url(2))
        assert answer.status == 200


async def test_a_known_etag_is_answered_with_304_until_something_changes(visitor, clock) -> None:
    async with a_web(clock, Abilities(etag=True)) as web:
        first, body = await get(visitor, web.feed_url(0))
        known = first.headers["ETag"]
        again, nothing = await get(visitor, web.feed_url(0), If_None_Match=f'W/"other", {known}')
        assert (again.status, nothing, again.headers["ETag"]) == (304, b"", known)
        clock.advance(2 * HOUR)
        changed, new_body = await get(visitor, web.feed_url(0), If_None_Match=known)
        assert changed.status == 200
        assert changed.headers["ETag"] != known
        assert new_body != body


async def test_a_known_date_is_answered_with_304_until_something_changes(visitor, clock) -> None:
    async with a_web(clock, Abilities(last_modified=True)) as web:
        first, _ = await get(visitor, web.feed_url(0))
        known = first.headers["Last-Modified"]
        assert (await get(visitor, web.feed_url(0), If_Modified_Since=known))[0].status == 304
        assert (await get(visitor, web.feed_url(0), If_Modified_Since="yesterday"))[0].status == 200
        clock.advance(2 * HOUR)
        assert (await get(visitor, web.feed_url(0), If_Modified_Since=known))[0].status == 200


async def test_no_date_is_given_within_the_second_of_a_change(visitor, clock) -> None:
    async with a_web(clock, Abilities(last_modified=True)) as web:
        edition_ends = datetime.fromtimestamp(web.world.sites[0].edition(clock.now()).until, UTC)
        clock.advance(edition_ends - clock.now() + timedelta(milliseconds=1))
        assert "Last-Modified" not in (await get(visitor, web.feed_url(0)))[0].headers
        clock.advance(timedelta(seconds=1))
        assert "Last-Modified" in (await get(visitor, web.feed_url(0)))[0].headers


async def test_without_validators_the_bytes_are_the_same_until_something_changes(visitor, clock) -> None:
    async with a_web(clock, Abilities()) as web:
        answer, body = await get(visitor, web.feed_url(0))
        assert not {"ETag", "Last-Modified", "Cache-Control"} & set(answer.headers)
        assert (await get(visitor, web.feed_url(0)))[1] == body
        clock.advance(2 * HOUR)
        assert (await get(visitor, web.feed_url(0)))[1] != body


async def test_gzip_is_sent_to_those_who_accept_it(visitor, clock) -> None:
    async with a_web(clock, Abilities(gzip=True, max_age_seconds=300)) as web:
        plain, body = await get(visitor, web.feed_url(0))
        packed, packed_body = await get(visitor, web.feed_url(0), Accept_Encoding="gzip, br")
        assert "Content-Encoding" not in plain.headers
        assert packed.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(packed_body) == body
        assert plain.headers["Cache-Control"] == "max-age=300"


async def test_a_small_cache_still_serves_every_feed_right(visitor, clock) -> None:
    async with a_web(clock, Abilities(etag=True), sites=5) as web:
        web._sites._cache_bytes = 50_000
        once = [(await get(visitor, url))[0].headers["ETag"] for url in web.feed_urls()]
        twice = [(await get(visitor, url))[0].headers["ETag"] for url in web.feed_urls()]
        assert once == twice
        assert len(web._sites._cached) == 1


async def test_home_and_post_pages_can_be_read_and_the_future_cannot(visitor, clock) -> None:
    async with a_web(clock) as web:
        home = web.feed_url(0).removesuffix("feed.xml")
        _, page = await get(visitor, home)
        assert web.feed_url(0).encode() in page
        newest = web.world.sites[0].posts(clock.now())[0]
        _, article = await get(visitor, f"{home}posts/{newest.number}")
        assert newest.body.encode() in article
        for path in (f"posts/{newest.number + 50}", "posts/x", "elsewhere"):
            assert (await get(visitor, home + path))[0].status == 404


@pytest.mark.parametrize("path", ["/s/999/feed.xml", "/s/x/feed.xml", "/s", "/", "/nowhere"])
async def test_what_is_not_there_is_not_found(visitor, clock, path) -> None:
    async with a_web(clock) as web:
        assert (await get(visitor, web.url(path)))[0].status == 404


async def test_every_visit_is_counted_by_path_and_status(visitor, clock) -> None:
    async with a_web(clock, Abilities(etag=True)) as web:
        answer, _ = await get(visitor, web.feed_url(0))
        await get(visitor, web.feed_url(0), If_None_Match=answer.headers["ETag"])
        await get(visitor, web.feed_url(1))
        assert web.hits.statuses("/s/0/") == {200: 1, 304: 1}
        assert web.hits.of("/s/0/posts/") == 0
        assert web.hits.of() == 3


async def test_the_web_lists_its_feeds_and_tells_what_they_hold(visitor, clock) -> None:
    async with a_web(clock) as web:
        _, opml = await get(visitor, web.url("/opml"))
        outlines = ET.fromstring(opml).iter("outline")
        assert [outline.get("xmlUrl") for outline in outlines] == web.feed_urls()
        clock.advance(5 * HOUR)
        _, told = await get(visitor, web.url("/world.json"))
        feeds = json.loads(told)["feeds"]
        assert {url: set(feed["expected"]) for url, feed in feeds.items()} == web.expected_items()
        assert all(set(feed["visible"]) < set(feed["expected"]) for feed in feeds.values())
        since = clock.now().isoformat().replace("+", "%2B")
        _, told = await get(visitor, web.url(f"/world.json?since={since}"))
        assert all(feed["visible"] == feed["expected"] for feed in json.loads(told)["feeds"].values())
        assert (await get(visitor, web.url("/world.json?since=once")))[0].status == 400
