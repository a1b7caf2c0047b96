"""What cannot be looked at, what leads on, and what leads nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiohttp import web as http

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.errors import Forbidden, InvalidInput, ParseError, RefusedAddress
from catchment.manage.catalog import Draft
from catchment.manage.resolve import Pasted, Resolved
from catchment.settings import Settings
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from catchment.web.translations import in_chinese
from feed_site import FeedSite, rss
from simulated_websites import PODCAST_ID, YOUTUBE_CHANNEL, websites

SOMEBODY = Caller(role=Role.USER, user_id=1)
HEAD = "<!doctype html><title>Quay</title>"


@pytest.fixture
async def site() -> AsyncIterator[FeedSite]:
    async with FeedSite() as site:
        yield site


@pytest.fixture
async def web(clock: ManualClock) -> AsyncIterator[SimulatedWeb]:
    async with SimulatedWeb(World(seed=1, sites=0, started_at=clock.now()), places=websites()) as web:
        yield web


@pytest.fixture
async def system(sqlite_url: str, clock: ManualClock, web: SimulatedWeb) -> AsyncIterator[System]:
    settings = Settings(
        database_url=sqlite_url,
        allow_networks="127.0.0.1",
        timeout_seconds=2.0,
        youtube_base_url=web.url("/youtube"),
        apple_podcasts_base_url=web.url("/podcasts"),
    )
    async with open_system(settings, clock=clock) as system:
        yield system


async def resolve(system: System, text: str, **said: object) -> Resolved:
    return await system.resolver.resolve(Pasted(text=text, **said), OPERATOR)  # type: ignore[arg-type]


@pytest.mark.proves("A-32")
async def test_a_podcast_is_found_in_the_directory(system: System, web: SimulatedWeb) -> None:
    resolved = await resolve(system, f"https://podcasts.apple.com/us/podcast/fog-signals/id{PODCAST_ID}")
    assert (resolved.type, resolved.name) == ("rss", "Fog Signals")
    assert resolved.config == {"url": web.url("/podcasts/feed.xml")}
    assert len(resolved.preview or ()) == 5


async def test_a_podcast_that_the_directory_does_not_know_is_a_doubt(system: System) -> None:
    resolved = await resolve(system, "https://podcasts.apple.com/us/podcast/x/id1")
    assert (resolved.type, resolved.preview) == ("website", None)
    assert "no feed for 1" in str(resolved.doubt)


@pytest.mark.proves("A-32")
async def test_a_channel_is_previewed_from_its_feed(system: System) -> None:
    resolved = await resolve(system, f"youtube.com/channel/{YOUTUBE_CHANNEL}")
    assert (resolved.name, resolved.doubt) == ("Harbour Lights", None)


@pytest.mark.proves("A-32")
@pytest.mark.parametrize("status", [401, 403, 404, 410, 429, 500, 503])
async def test_an_address_that_fails_is_a_doubt_and_no_error(system: System, site: FeedSite, status: int) -> None:
    resolved = await resolve(system, site.serve("no", status=status, path="/blog"))
    assert (resolved.type, resolved.preview) == ("website", None)
    assert str(status) in str(resolved.doubt)


@pytest.mark.proves("A-32")
async def test_a_feed_that_is_out_of_order_is_still_the_feed_of_the_page(system: System, site: FeedSite) -> None:
    feed = site.serve("busy", status=503, path="/f")
    resolved = await resolve(
        system, site.serve(f"{HEAD}<link rel=alternate type=application/rss+xml href=/f>", path="/")
    )
    assert (resolved.type, resolved.config, resolved.name) == ("rss", {"url": feed}, "Quay")
    assert "503" in str(resolved.doubt)


@pytest.mark.proves("A-32")
@pytest.mark.parametrize("has_sitemap", [False, True])
async def test_a_page_whose_feed_is_gone_says_so_where_something_else_is_followed(
    system: System, site: FeedSite, has_sitemap: bool
) -> None:
    feed = site.serve("gone", status=404, path="/f")
    page = site.serve(f"{HEAD}<link rel=alternate type=application/rss+xml href=/f><main>Hello</main>", path="/")
    if has_sitemap:
        site.serve(f"<urlset><url><loc>{page}a</loc></url></urlset>", path="/sitemap.xml")
    resolved = await resolve(system, page)
    assert resolved.type == ("sitemap" if has_sitemap else "website")
    what, worded = (
        ("its sitemap is followed", "改用站点地图")
        if has_sitemap
        else ("the page itself is watched", "改为监视页面变化")
    )
    assert resolved.why.startswith(f"The page names a feed at {feed}, but {what} instead: ")
    assert "HTTP 404" in resolved.why
    chinese = in_chinese(resolved.why)
    assert chinese.startswith(f"页面声明了订阅源 {feed}，但无法读取，因此{worded}：127.0.0.1 对 {feed} 返回 HTTP 404")


@pytest.mark.proves("A-32")
async def test_a_page_may_not_lead_to_a_private_address(system: System, site: FeedSite) -> None:
    links = "".join(
        f"<link rel=alternate type=application/rss+xml href='http://{host}/feed'>" for host in ("10.0.0.1", "[::1]:22")
    )
    page = site.serve(f"{HEAD}{links}<main>Hello</main>", path="/")
    assert (await resolve(system, page)).config == {"url": page}


@pytest.mark.proves("A-32")
async def test_feeds_are_tried_until_one_can_be_read(system: System, site: FeedSite) -> None:
    site.serve(f"{HEAD}not a feed", path="/one")
    good = site.serve(rss("a"), path="/three")
    links = "".join(f"<link rel=alternate type=application/rss+xml href=/{name}>" for name in ("one", "two", "three"))
    assert (await resolve(system, site.serve(HEAD + links, path="/"))).config == {"url": good}


async def test_what_is_neither_page_nor_feed_is_refused(system: System, site: FeedSite) -> None:
    from aiohttp import web

    async def picture(_: http.Request) -> http.StreamResponse:
        return web.Response(body=b"\x89PNG\r\n", content_type="image/png")

    with pytest.raises(InvalidInput, match="image/png"):
        await resolve(system, site.script(picture, path="/i.png"))


async def test_with_a_type_nothing_is_guessed(system: System, site: FeedSite) -> None:
    page = site.serve(f"{HEAD}<link rel=alternate type=application/rss+xml href=/f>", path="/")
    assert (await resolve(system, page, type="website")).type == "website"
    with pytest.raises(ParseError):
        await resolve(system, page, type="rss")


async def test_only_an_administrator_may_have_private_addresses_looked_at(system: System) -> None:
    pasted = Pasted(text="http://10.255.255.1:8080/", config={"allow_private": True})
    with pytest.raises(Forbidden):
        await system.resolver.resolve(pasted, SOMEBODY)
    with pytest.raises(RefusedAddress):
        await system.resolver.resolve(Pasted(text=pasted.text), OPERATOR)
    assert system.resolver.guess(pasted, OPERATOR).config["allow_private"]


async def test_a_redirect_to_a_private_address_is_refused(system: System, site: FeedSite) -> None:
    page = site.serve("", status=302, path="/", headers={"Location": "http://10.0.0.1/"})
    with pytest.raises(RefusedAddress):
        await resolve(system, page)


async def test_a_service_without_its_key_says_which_setting_is_missing(system):
    resolved = await system.resolver.resolve(Pasted(text="@openai"), OPERATOR)
    assert resolved.preview is None
    assert "TWITTER_API_KEY" in resolved.doubt


@pytest.mark.proves("A-32", "R-47")
@pytest.mark.parametrize(
    ("kind", "url", "name"),
    [
        ("website", "https://example.org/login?next=/#top", "example.org/login"),
        ("website", "https://example.org/a/b/", "example.org/a/b"),
        ("website", "https://example.org/%E7%99%BB%E5%BD%95", "example.org/登录"),
        ("website", "https://example.org/", "example.org"),
        ("website", "https://example.org/a%0Ab", "example.org"),
        ("website", f"https://example.org/{'x' * 500}", "example.org"),
        ("rss", "https://example.org/feed", "example.org"),
    ],
)
async def test_watched_pages_of_one_host_that_call_themselves_nothing_are_told_apart_by_their_path(
    system: System, kind: str, url: str, name: str
) -> None:
    assert system.catalog.check(Draft(type=kind, config={"url": url}), OPERATOR).name == name


@pytest.mark.proves("A-32")
@pytest.mark.parametrize(
    ("kind", "config", "name"),
    [
        ("twitter_feed", {"handle": "@ada"}, "@ada"),
        ("twitter_feed", {"handle": "ada"}, "@ada"),
        ("reddit", {"subreddit": "python"}, "r/python"),
        ("xhs_search", {"keyword": "露营"}, "露营"),
        ("hackernews", {}, "hackernews"),
    ],
)
async def test_what_is_added_without_a_name_or_an_address_is_called_by_what_it_follows(
    system: System, kind: str, config: dict[str, str], name: str
) -> None:
    assert system.catalog.check(Draft(type=kind, config=config), OPERATOR).name == name


@pytest.mark.proves("A-32")
@pytest.mark.parametrize("body", ['{"data": {"posts": [{"id": 1, "title": "a"}]}}', "\n[1]"])
@pytest.mark.parametrize("content_type", ["application/json", "text/html"])
async def test_json_is_no_page_unless_somebody_says_so(
    system: System, site: FeedSite, body: str, content_type: str
) -> None:
    async def answer(_: http.Request) -> http.StreamResponse:
        return http.Response(text=body, content_type=content_type)

    url = site.script(answer, path="/api/posts")
    with pytest.raises(InvalidInput, match=r"answers in JSON.*--type custom_api.*catchment docs sources") as refusal:
        await resolve(system, url)
    assert "返回 JSON" in in_chinese(str(refusal.value))
    said = await resolve(system, url, type="website")
    assert (said.type, said.config, said.doubt) == ("website", {"url": url}, None)


@pytest.mark.proves("A-32")
@pytest.mark.parametrize("body", ['{"state": "open"}', "[draft", "<!doctype html><title>Quay</title><p>[1]"])
async def test_what_lists_nothing_in_json_is_a_page_as_ever(system: System, site: FeedSite, body: str) -> None:
    assert (await resolve(system, site.serve(body, path="/x"))).type == "website"
