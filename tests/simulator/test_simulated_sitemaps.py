from __future__ import annotations

import gzip
import re
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from bench.simulated_sitemap import SitemapSite

from catchment.clock import ManualClock
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def a_web(site: SitemapSite, clock: ManualClock) -> SimulatedWeb:
    world = World(seed=1, sites=1, started_at=START, period=HOUR)
    return SimulatedWeb(world, now=clock.now, hosts=0, places=site.places())


async def get(visitor: aiohttp.ClientSession, url: str, **headers: str) -> tuple[aiohttp.ClientResponse, bytes]:
    async with visitor.get(url, headers=headers) as answer:
        body = await answer.read()
    return answer, gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def locs(body: bytes) -> list[str]:
    return re.findall(r"<loc>([^<]+)</loc>", body.decode())


def lastmods(body: bytes) -> list[str]:
    return re.findall(r"<lastmod>([^<]+)</lastmod>", body.decode())


async def test_robots_names_the_index_and_the_index_the_sitemaps_with_all_pages(visitor, clock):
    site = SitemapSite(pages=25, started_at=START, pages_a_sitemap=10, forbidden=["/paper/pages/3"])
    async with a_web(site, clock) as web:
        _, robots = await get(visitor, web.url("/robots.txt"))
        assert b"Disallow: /paper/pages/3" in robots
        index = re.search(rb"Sitemap: (\S+)", robots)[1].decode()
        assert index == web.url(site.sitemap_path)
        children = locs((await get(visitor, index))[1])
        pages = [page for child in children for page in locs((await get(visitor, child))[1])]
        assert len(children) == 3
        assert pages == [web.url(site.path(number)) for number in range(25)]
        answer, page = await get(visitor, pages[7])
    assert answer.status == 200
    assert b"<article><h1>" in page
    assert web.hits.of(site.path(7)) == 1
    assert web.hits.of("/paper/maps/") == 3


async def test_only_the_sitemap_that_changed_has_another_etag_and_lastmod(visitor, clock):
    site = SitemapSite(pages=30, started_at=START, pages_a_sitemap=10)
    async with a_web(site, clock) as web:
        children = [web.url(site.sitemap_path_of(place)) for place in range(3)]
        tags = [(await get(visitor, child))[0].headers["ETag"] for child in children]
        before = lastmods((await get(visitor, web.url(site.sitemap_path)))[1])
        site.change(12, at=clock.now())
        again = [
            (await get(visitor, child, **{"If-None-Match": tag}))[0].status
            for child, tag in zip(children, tags, strict=True)
        ]
        after = lastmods((await get(visitor, web.url(site.sitemap_path)))[1])
    assert again == [304, 200, 304]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, False, True]
    assert after[1] == clock.now().isoformat()


async def test_pages_are_added_changed_removed_and_brought_back(visitor, clock):
    site = SitemapSite(pages=3, started_at=START)
    async with a_web(site, clock) as web:
        _, before = await get(visitor, web.url(site.path(1)))
        assert list(site.add(2, clock.now())) == [3, 4]
        site.remove(0)
        site.change(1, at=clock.now())
        _, body = await get(visitor, web.url(site.sitemap_path_of(0)))
        assert (
            locs(body)
            == [web.url(site.path(number)) for number in site.numbers()]
            == [web.url(site.path(n)) for n in (1, 2, 3, 4)]
        )
        assert (await get(visitor, web.url(site.path(0))))[0].status == 404
        assert (await get(visitor, web.url(site.path(1))))[1] != before
        site.bring_back(0)
        assert (await get(visitor, web.url(site.path(0))))[0].status == 200


async def test_pages_fail_until_they_are_mended(visitor, clock):
    site = SitemapSite(pages=3, started_at=START)
    async with a_web(site, clock) as web:
        site.fail(1)
        assert [(await get(visitor, web.url(site.path(number))))[0].status for number in range(3)] == [200, 500, 200]
        site.mend()
        assert (await get(visitor, web.url(site.path(1))))[0].status == 200


async def test_a_lying_site_says_that_everything_changed_just_now(visitor, clock):
    site = SitemapSite(pages=3, started_at=START, lying=True, packed=False)
    async with a_web(site, clock) as web:
        answer, body = await get(visitor, web.url(site.sitemap_path_of(0)))
    assert set(lastmods(body)) == {clock.now().isoformat()}
    assert "ETag" not in answer.headers


@pytest.mark.parametrize(
    "path", ["/paper", "/paper/maps/9.xml.gz", "/paper/maps/x", "/paper/pages/77.html", "/paper/pages/x"]
)
async def test_there_is_nothing_elsewhere(visitor, clock, path: str):
    async with a_web(SitemapSite(pages=3, started_at=START), clock) as web:
        assert (await get(visitor, web.url(path)))[0].status == 404


async def test_half_a_million_pages_are_written_only_where_they_are_read(visitor, clock):
    site = SitemapSite(pages=500_000, started_at=START, pages_a_sitemap=50_000)
    async with a_web(site, clock) as web:
        assert len(locs((await get(visitor, web.url(site.sitemap_path)))[1])) == 10
        assert (await get(visitor, web.url(site.path(499_999))))[0].status == 200
