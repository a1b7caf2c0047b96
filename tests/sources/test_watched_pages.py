"""Watched pages on a real socket: what is no change, what is damped, and where a page or a feed is really found."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from itertools import count

import pytest
from aiohttp import web

from catchment.domain.caller import OPERATOR
from catchment.errors import BadConfig
from catchment.manage.resolve import Pasted
from catchment.monitor.status import Mark, View
from collecting import add, collect_one, get, stored
from feed_site import FeedSite, rss

pytestmark = pytest.mark.proves("R-47")


@pytest.fixture
def store_url(sqlite_url: str) -> str:
    """SQLite alone: these are about what is read."""
    return sqlite_url


HOUR = timedelta(hours=1)


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


def put(site, body, *, path="/page", head="<title>The mill</title>"):
    async def answer(_):
        text = body() if callable(body) else body
        return web.Response(
            text=f"<!doctype html><html><head>{head}</head><body>{text}</body></html>", content_type="text/html"
        )

    return site.script(answer, path=path)


async def watch(system, url, **config):
    return await add(system, url, type="website", config={"url": url, **config})


@pytest.mark.parametrize(
    "noise",
    [
        "<p>Updated {} minutes ago</p>",
        "<p>Last updated: 2026-03-01 12:{}</p>",
        "<p>Time now: 12:{}</p>",
        "<span>09:14:{}</span>",
        "<p>{},231 views</p>",
        "<p>Visitors: {}</p>",
        "<p>阅读 {}</p>",
        "<p>更新于 {} 分钟前</p>",
        "<p>vor {} Minuten aktualisiert</p>",
        "<ins class='adsbygoogle'>Buy {} oars</ins>",
        "<div class='ad-slot'>Buy {} oars</div>",
        "<relative-time>{} hours</relative-time>",
    ],
)
async def test_what_changes_by_itself_makes_no_item(system, site, clock, noise):
    number = count(11)
    url = put(site, lambda: f"<main><h1>Rules</h1><p>Mind the step.</p>{noise.format(next(number))}</main>")
    source = await watch(system, url)
    results = []
    for _ in range(3):
        results.append((await collect_one(system, source.id)).inserted)
        clock.advance(HOUR)
    assert results == [1, 0, 0]
    assert [item.revision for item in await stored(system)] == [0]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Open until 21:00", "Open until 22:00"),
        ("5 rooms are free", "6 rooms are free"),
        ("The deadline is 3 March 2026", "The deadline is 5 March 2026"),
    ],
)
async def test_what_somebody_wrote_is_a_change(system, site, clock, before, after):
    texts = iter([before, after])
    source = await watch(system, put(site, lambda: f"<main><h1>Rules</h1><p>{next(texts)}</p></main>"))
    for _ in range(2):
        assert (await collect_one(system, source.id)).inserted == 1
        clock.advance(HOUR)


async def test_what_fits_a_pattern_to_ignore_makes_no_item(system, site, clock):
    number = count()
    url = put(site, lambda: f"<main><h1>Rules</h1><p>Mind the step.</p><p>Draw no. {next(number)}</p></main>")
    source = await watch(system, url, ignore_patterns=[r"draw no\. \d+"])
    results = []
    for _ in range(3):
        results.append((await collect_one(system, source.id)).inserted)
        clock.advance(HOUR)
    assert results == [1, 0, 0]


@pytest.mark.parametrize("patterns", [["("], "x", [""], ["(?=x)"]])
async def test_a_pattern_that_is_none_is_refused_when_it_is_added(system, site, patterns):
    with pytest.raises(BadConfig):
        await watch(system, site.url("/page"), ignore_patterns=patterns)


async def mark_of(system, source):
    return (await system.viewer(View(caller=OPERATOR))).describe(await get(system, source)).marks


async def test_a_page_that_changes_at_every_visit_is_marked_and_told_of_once_a_day(system, site, clock):
    number = count()
    texts = lambda: f"<main><h1>Numbers</h1><p>The number is {next(number)}, they say.</p></main>"  # noqa: E731
    source = await watch(system, put(site, texts))
    for _ in range(48):
        await collect_one(system, source.id)
        clock.advance(HOUR)
    assert await mark_of(system, source) == (Mark.NOISY,)
    assert len(await stored(system)) <= 9
    put(site, "<main><h1>Numbers</h1><p>No more numbers.</p></main>")
    clock.advance(24 * HOUR)
    before = len(await stored(system))
    await collect_one(system, source.id)
    await collect_one(system, source.id)
    assert await mark_of(system, source) == ()
    assert len(await stored(system)) == before + 1


async def test_what_a_page_that_always_changed_settles_on_is_kept(system, site, clock):
    number = count()
    source = await watch(
        system, put(site, lambda: f"<main><h1>Numbers</h1><p>It is {next(number)}, they say.</p></main>")
    )
    for _ in range(9):
        await collect_one(system, source.id)
        clock.advance(HOUR)
    put(site, "<main><h1>Numbers</h1><p>No more numbers.</p></main>")
    results = []
    for _ in range(3):
        results.append((await collect_one(system, source.id)).inserted)
        clock.advance(HOUR)
    assert results == [0, 1, 0]
    assert any("No more numbers" in item.content for item in await stored(system))


async def test_a_list_with_something_new_at_every_visit_loses_nothing(system, site, clock):
    number = count()
    source = await watch(
        system, put(site, lambda: f"<ul><li><a href='/{next(number)}'>News</a></li></ul>"), item_selector="li"
    )
    for _ in range(9):
        assert (await collect_one(system, source.id)).inserted == 1
        clock.advance(HOUR)
    assert await mark_of(system, source) == ()


async def test_a_meta_refresh_is_followed(system, site, clock):
    url = put(site, "Moved", path="/old", head="<meta http-equiv='refresh' content='0; URL=/page'>")
    put(site, "<main><h1>Rules</h1><p>Mind the step.</p></main>")
    source = await watch(system, url)
    assert (await collect_one(system, source.id)).inserted == 1
    [item] = await stored(system)
    assert (item.title, "Mind the step" in item.content) == ("The mill", True)
    clock.advance(HOUR)
    assert (await collect_one(system, source.id)).inserted == 0
    put(site, "<main><h1>Rules</h1><p>Mind the head.</p></main>")
    clock.advance(HOUR)
    assert (await collect_one(system, source.id)).inserted == 1


async def test_a_meta_refresh_to_a_private_address_is_refused(system, site):
    head = "<meta http-equiv='refresh' content='0; url=http://169.254.169.254/latest/'>"
    source = await watch(system, put(site, "Moved", head=head))
    assert "169.254" in (await collect_one(system, source.id)).error


async def test_refreshes_that_go_round_in_a_circle_end(system, site):
    url = put(site, "a", path="/a", head="<meta http-equiv='refresh' content='0; url=/b'>")
    put(site, "b", path="/b", head="<meta http-equiv='refresh' content='0; url=/a'>")
    source = await watch(system, url)
    result = await collect_one(system, source.id)
    assert (result.error, result.inserted) == (None, 1)
    assert (site.hits["/a"], site.hits["/b"]) == (1, 1)


async def test_a_page_that_loads_itself_by_another_spelling_is_watched(system, site):
    source = await watch(
        system,
        put(
            site,
            "<main>Mind the step.</main>",
            path="/",
            head=f"<meta http-equiv='refresh' content='5; url={site.url('')}'>",
        ),
    )
    assert (await collect_one(system, source.id)).inserted == 1
    assert site.hits["/"] == 1


async def test_a_page_that_loads_the_address_it_was_redirected_from_is_watched(system, site):
    async def redirect(_):
        return web.Response(status=302, headers={"Location": "/page"})

    put(site, "<main>Mind the step.</main>", head="<meta http-equiv='refresh' content='5; url=/start'>")
    source = await watch(system, site.script(redirect, path="/start"))
    assert (await collect_one(system, source.id)).inserted == 1
    assert (site.hits["/start"], site.hits["/page"]) == (1, 1)


@pytest.mark.parametrize(("pages", "is_read"), [(4, True), (5, False)])
async def test_only_so_many_refreshes_are_followed(system, site, pages, is_read):
    for n in range(1, pages):
        put(site, "On", path=f"/{n}", head=f"<meta http-equiv='refresh' content='0; url=/{n + 1}'>")
    put(site, "<main>Mind the step.</main>", path=f"/{pages}")
    source = await watch(system, site.url("/1"))
    assert ((await collect_one(system, source.id)).error is None) is is_read


@pytest.mark.parametrize(
    "head",
    [
        "<meta http-equiv='refresh' content='300'>",
        "<meta http-equiv='refresh' content='300; url=/other'>",
        "<noscript><meta http-equiv='refresh' content='0; url=/other'></noscript>",
        "<meta http-equiv='refresh' content='0; url=/page'>",
    ],
)
async def test_a_page_that_only_loads_itself_anew_is_watched(system, site, head):
    source = await watch(system, put(site, "<main>Mind the step.</main>", head=head))
    assert (await collect_one(system, source.id)).inserted == 1
    assert site.hits["/other"] == 0


@pytest.mark.parametrize(
    "link",
    [
        "<link rel=alternate type=application/rss+xml title='Comments' href=/comments.xml>",
        "<link rel=alternate type=application/rss+xml title='RSS' href=/feed.xml>",
    ],
)
async def test_a_feed_of_comments_is_not_taken_for_the_sites(system, site, link):
    for path in ("/comments.xml", "/feed.xml"):
        site.serve(rss("1", "2", title="Comments on: The mill"), path=path)
    url = put(site, "<main>Mind the step.</main>", head=f"<title>The mill</title>{link}")
    source = await watch(system, url)
    assert (await collect_one(system, source.id)).inserted == 1
    resolved = await system.resolver.resolve(Pasted(text=url), OPERATOR)
    assert resolved.type != "rss"


@pytest.mark.parametrize("link", ["<a href=/feed.xml>Subscribe</a>", "<a href='/news?x=1'>RSS feed</a>"])
async def test_a_feed_behind_a_plain_link_is_found(system, site, link):
    for path in ("/feed.xml", "/news"):
        site.serve(rss("1", "2", "3"), path=path)
    url = put(site, f"<main>Mind the step.</main><footer>{link}</footer>")
    source = await watch(system, url)
    assert (await collect_one(system, source.id)).inserted == 3
    assert (await system.resolver.resolve(Pasted(text=url), OPERATOR)).type == "rss"


async def test_a_plain_link_that_leads_to_no_feed_costs_nothing(system, site):
    site.serve("no", path="/feed.xml", status=500)
    url = put(site, "<main>Mind the step.</main><a href=/feed.xml>Feed</a>")
    source = await watch(system, url)
    result = await collect_one(system, source.id)
    assert (result.error, result.inserted) == (None, 1)


async def test_with_a_text_selector_the_heading_stays_the_title(system, site):
    items = "".join(
        f"<li><h2><a href='/{n}'>Heading {n}</a></h2><p class=text>The words of {n}.</p></li>" for n in range(2)
    )
    source = await watch(system, put(site, f"<ul>{items}</ul>"), item_selector="li", text_selector=".text")
    await collect_one(system, source.id)
    found = sorted((item.title, item.content) for item in await stored(system))
    assert [title for title, _ in found] == ["Heading 0", "Heading 1"]
    assert all("The words" in content and "Heading" not in content for _, content in found)
