"""Web sites, collected from the simulated web and stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta

import pytest

from catchment.bootstrap import System
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.source import Source
from catchment.errors import BadConfig, Conflict
from catchment.manage.catalog import Draft
from catchment.manage.resolve import Pasted
from catchment.simulator.messages import Answer, IncomingRequest, not_found, page
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from collecting import add, collect_one, get, stored
from simulated_websites import CHANNEL, MESSAGES, NOTICE_SECONDS, blog, websites


@pytest.fixture
def store_url(sqlite_url: str) -> str:
    """SQLite alone: these are about what is read."""
    return sqlite_url


class Blog:
    """The blog of the simulated web, which a test moves, breaks and repairs."""

    def __init__(self) -> None:
        self.feed_status = 200
        self.feed = "feed.xml"
        self.names_feed = True
        #: Where the page says that the feed is, when that is not where it is.
        self.href = ""

    def __call__(self, request: IncomingRequest) -> Answer:
        if request.path in {"/blog", "/blog/"}:
            href = self.href or f"/blog/{self.feed}"
            link = f"<link rel=alternate type=application/rss+xml href={href}>" if self.names_feed else ""
            return page(f"<!doctype html><title>Blog</title>{link}<main>Welcome</main>")
        if request.path == f"/blog/{self.feed}":
            return (
                blog(IncomingRequest(**{**_fields(request), "path": "/blog/feed.xml"}))
                if self.feed_status == 200
                else (page("busy", status=self.feed_status))
            )
        return not_found(request)


def _fields(request: IncomingRequest) -> dict[str, object]:
    return {name: getattr(request, name) for name in ("method", "path", "query", "headers", "body", "at")}


@pytest.fixture
def moving_blog() -> Blog:
    return Blog()


@pytest.fixture
async def web(clock: ManualClock, moving_blog: Blog) -> AsyncIterator[SimulatedWeb]:
    world = World(seed=1, sites=0, started_at=clock.now() - timedelta(days=1))
    async with SimulatedWeb(world, now=clock.now, places={**websites(), "/blog": moving_blog}) as web:
        yield web


@pytest.fixture
async def system(
    open_test_system: Callable[..., AbstractAsyncContextManager[System]], web: SimulatedWeb
) -> AsyncIterator[System]:
    async with open_test_system(telegram_base_url=web.url("/telegram")) as system:
        yield system


async def watch(system: System, web: SimulatedWeb, path: str, **config: str) -> Source:
    return await add(system, web.url(path), type="website", config={"url": web.url(path), **config})


@pytest.mark.proves("A-31")
async def test_a_site_with_a_feed_is_followed_by_its_feed(system: System, web: SimulatedWeb) -> None:
    source = await watch(system, web, "/blog/")
    assert (await collect_one(system, source.id)).inserted == 5
    assert {item.title for item in await stored(system)} >= {"Fog until noon", "The ferry is late"}
    # The page is not asked again: the feed's address is remembered.
    assert (await collect_one(system, source.id)).inserted == 0
    assert (web.hits.counts["/blog/", 200], web.hits.counts["/blog/feed.xml", 200]) == (1, 2)


@pytest.mark.proves("A-31")
async def test_a_feed_that_moved_is_looked_for_again(system: System, web: SimulatedWeb, moving_blog: Blog) -> None:
    source = await watch(system, web, "/blog/")
    await collect_one(system, source.id)
    moving_blog.feed = "new.xml"
    result = await collect_one(system, source.id)
    assert (result.error, result.inserted) == (None, 0)
    assert (await get(system, source)).memory["feed"] == web.url("/blog/new.xml")


@pytest.mark.proves("A-31")
async def test_a_feed_that_is_only_out_of_order_is_not_given_up(
    system: System, web: SimulatedWeb, moving_blog: Blog
) -> None:
    source = await watch(system, web, "/blog/")
    await collect_one(system, source.id)
    moving_blog.feed_status = 503
    assert "503" in str((await collect_one(system, source.id)).error)
    assert len(await stored(system)) == 5


async def test_a_site_that_still_names_a_feed_that_is_gone_is_watched_itself(
    system: System, web: SimulatedWeb, moving_blog: Blog
) -> None:
    source = await watch(system, web, "/blog/")
    await collect_one(system, source.id)
    moving_blog.feed_status = 404
    result = await collect_one(system, source.id)
    assert (result.error, result.inserted) == (None, 1)
    assert "feed" not in (await get(system, source)).memory


async def test_a_site_whose_feed_is_gone_for_good_is_watched_itself(
    system: System, web: SimulatedWeb, moving_blog: Blog
) -> None:
    source = await watch(system, web, "/blog/")
    await collect_one(system, source.id)
    moving_blog.names_feed, moving_blog.feed = False, "elsewhere.xml"
    assert (await collect_one(system, source.id)).inserted == 1
    assert "feed" not in (await get(system, source)).memory


async def test_a_named_feed_that_is_not_there_leaves_the_page_to_be_watched(system: System, web: SimulatedWeb) -> None:
    source = await watch(system, web, "/broken/")
    assert (await collect_one(system, source.id)).inserted == 1
    [item] = await stored(system)
    assert (item.title, item.url) == ("An old page", web.url("/broken/"))
    assert "Nobody has looked after this page" in item.content


@pytest.mark.proves("A-31")
@pytest.mark.parametrize("feed", ["http://10.0.0.5/feed", "https://user:secret@blog.example/feed"])
async def test_a_named_feed_at_a_refused_address_leaves_the_page_to_be_watched(
    system: System, web: SimulatedWeb, moving_blog: Blog, feed: str
) -> None:
    moving_blog.href = feed
    source = await watch(system, web, "/blog/")
    for inserted in (1, 0):
        result = await collect_one(system, source.id)
        assert (result.error, result.inserted) == (None, inserted)
    assert [item.url for item in await stored(system)] == [web.url("/blog/")]


@pytest.mark.proves("A-31")
async def test_an_address_that_is_a_feed_after_all_is_read_as_one(system: System, web: SimulatedWeb) -> None:
    source = await watch(system, web, "/blog/feed.xml")
    assert (await collect_one(system, source.id)).inserted == 5


@pytest.mark.proves("A-31")
async def test_a_changed_page_is_a_new_item(system: System, web: SimulatedWeb, clock: ManualClock) -> None:
    source = await watch(system, web, "/notice")
    for _ in range(3):
        assert (await collect_one(system, source.id)).inserted == 1
        assert (await collect_one(system, source.id)).inserted == 0
        clock.advance(timedelta(seconds=NOTICE_SECONDS))
    assert len({item.content for item in await stored(system)}) == 3


@pytest.mark.proves("A-31")
async def test_clocks_advertisements_and_white_space_make_no_change(
    system: System, web: SimulatedWeb, clock: ManualClock
) -> None:
    source = await watch(system, web, "/clock")
    results = []
    for _ in range(4):
        results.append(await collect_one(system, source.id))
        clock.advance(timedelta(seconds=7, microseconds=3))
    assert [(result.fetched, result.inserted) for result in results] == [(1, 1), (1, 0), (1, 0), (1, 0)]
    assert [item.revision for item in await stored(system)] == [0]


@pytest.mark.proves("A-31")
async def test_with_a_selector_only_the_chosen_element_counts(
    system: System, web: SimulatedWeb, clock: ManualClock
) -> None:
    source = await watch(system, web, "/notice", selector="main h1")
    assert (await collect_one(system, source.id)).inserted == 1
    clock.advance(timedelta(seconds=NOTICE_SECONDS))
    assert (await collect_one(system, source.id)).inserted == 0


@pytest.mark.proves("A-31", "A-32")
async def test_the_messages_of_a_public_channel_are_items(
    system: System, web: SimulatedWeb, clock: ManualClock
) -> None:
    resolved = await system.resolver.resolve(Pasted(text=f"t.me/{CHANNEL}"), OPERATOR)
    assert [one.url for one in resolved.preview or ()] == [f"https://t.me/{CHANNEL}/{n}" for n in range(1, 6)]
    source = await system.catalog.add(Draft(type=resolved.type, config=resolved.config), OPERATOR)
    assert (await collect_one(system, source.id)).inserted == MESSAGES
    clock.advance(timedelta(minutes=5))
    again = await collect_one(system, source.id)
    assert (again.inserted, again.updated) == (0, 0), "a counter of views is no edit"
    newest = next(item for item in await stored(system) if item.url.endswith(f"/{MESSAGES}"))
    assert newest.title.endswith(f"Message {MESSAGES}")
    assert newest.published_at is not None


async def test_a_selector_that_fits_nothing_is_a_failure_and_no_silence(system: System, web: SimulatedWeb) -> None:
    source = await watch(system, web, "/notice", item_selector="li.gone")
    assert "nothing on the page fits" in str((await collect_one(system, source.id)).error)


@pytest.mark.parametrize(
    "config",
    [{"selector": "a["}, {"selector": "a", "item_selector": "b"}, {"link_selector": "a"}, {"item_selector": ["a"]}],
)
async def test_bad_selectors_are_refused_when_they_are_added(system: System, web: SimulatedWeb, config: dict) -> None:
    with pytest.raises(BadConfig):
        await watch(system, web, "/notice", **config)


@pytest.mark.proves("A-32")
async def test_one_page_may_be_watched_in_several_ways_but_not_twice_in_one(system: System, web: SimulatedWeb) -> None:
    await watch(system, web, "/notice")
    await watch(system, web, "/notice", selector="h1")
    with pytest.raises(Conflict):
        await watch(system, web, "/notice#top", selector="h1")
