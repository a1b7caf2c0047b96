"""`catchment demo`: the whole product against a simulated web, offline."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.demo_cookies import give_cookies
from catchment.cli.failing import FAILED
from catchment.cli.printing import say
from catchment.cli.scenarios import CookieTrouble, Scenario
from catchment.cli.serving import Host, Port, listening_on, serve_and_collect
from catchment.cli.session import read_settings, run_async
from catchment.cli.stopping import stop_on_signals
from catchment.domain.caller import OPERATOR
from catchment.domain.note import Platform

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.catalog import Draft
    from catchment.settings import Settings
    from catchment.simulator.server import SimulatedWeb
    from catchment.simulator.services.xhs import XhsService
    from catchment.simulator.world import World

TAG = "demo"
SEED = 1
#: Eager enough that one sees it live.
CONCURRENCY = 20
TICK_SECONDS = 1.0
INTERVAL_MINUTES = 1
CRAWL_SPACING_SECONDS = 0.02
#: What a demo takes for a backlog of notes.
MOST_PENDING = 20
PLATFORM_NAMES = {Platform.XHS: "小红书", Platform.WEIBO: "微博"}
KEYWORD, PAGES, COMMENTS = "手冲咖啡", 5, 3


def demo(
    *,
    host: Host = None,
    port: Port = None,
    sites: Annotated[int, typer.Option(min=1, max=10_000, help="How many sites the simulated web has.")] = 24,
    faulty: Annotated[float, typer.Option(min=0, max=1, help="Which share of them has troubles.")] = 0.2,
    speed: Annotated[float, typer.Option(min=0, help="How fast its time runs: 60 is an hour a minute.")] = 60.0,
    scenario: Annotated[Scenario | None, typer.Option(help="Have something go wrong, and put right again.")] = None,
) -> None:
    """Run everything against a simulated web on this machine, offline, until stopped.

    The environment counts as it does for `up`. Without CATCHMENT_HOME or DATABASE_URL the data is in a temporary
    folder and gone afterwards. What has to last for minutes before it is an alert lasts as the time of the simulated
    web runs: `--speed 60` makes half an hour of half a minute.

    `--scenario cookies`: the cookies of a platform die, alerts fire, new cookies come, and the alerts resolve.

    Example: catchment demo --port 8800 --sites 100 --faulty 0.3
    """

    async def session(settings: Settings) -> bool:
        from catchment.bootstrap import open_system
        from catchment.simulator.services.xhs import XhsService

        world = _world(sites, speed=speed)
        xhs = XhsService(world)
        async with (
            _simulated_web(world, xhs, faulty=faulty) as web,
            open_system(_pointed_at(web, settings)) as system,
            stop_on_signals() as stop,
        ):
            await _follow(system, web, scenario)
            say(f"The simulated web is at {web.url('/opml')}: {sites} sites, some of them in trouble, and services.")
            async with _playing(scenario, system, xhs, stop, inbox=web.url("/inbox")):
                return await serve_and_collect(system, stop)

    wanted = listening_on(read_settings(), host, port)
    if scenario is not None:
        _quieten(wanted)
    with _demo_settings(wanted, speed) as settings:
        if not run_async(session(settings)):
            raise typer.Exit(FAILED)


def _quieten(settings: Settings) -> None:
    """Unless another level is asked for, log only what is amiss: what the scenario says would drown in the rest."""
    from catchment.logs import set_up_logs
    from catchment.settings import Settings

    if settings.log_level == Settings().log_level:
        set_up_logs(level="WARNING", form=settings.log_format)


@contextmanager
def _demo_settings(settings: Settings, speed: float) -> Iterator[Settings]:
    """What the environment says, made eager, and let into the simulated web."""
    from catchment.settings import Settings
    from catchment.simulator.addresses import NETWORKS

    eager = replace(
        settings,
        allow_networks=",".join(filter(None, (settings.allow_networks, *NETWORKS))),
        concurrency=max(settings.concurrency, CONCURRENCY),
        tick_seconds=min(settings.tick_seconds, TICK_SECONDS),
        processes=1,  # the store of the demo is known to this process alone
        cookie_master_key=settings.cookie_master_key or secrets.token_urlsafe(32),
        crawl_spacing_seconds=min(settings.crawl_spacing_seconds, CRAWL_SPACING_SECONDS),
        alert_pending_notes=min(settings.alert_pending_notes, MOST_PENDING),
        alert_success_minutes=settings.alert_success_minutes / max(speed, 1),
        alert_pending_minutes=settings.alert_pending_minutes / max(speed, 1),
    )
    if settings.store_url() != Settings().store_url():
        yield eager
        return
    with TemporaryDirectory(prefix="catchment-demo-") as folder:
        yield replace(eager, home=Path(folder))


def _world(sites: int, *, speed: float) -> World:
    from catchment.simulator.server import wall_clock
    from catchment.simulator.world import World

    return World(seed=SEED, sites=sites, started_at=wall_clock(), speed=speed)


def _simulated_web(world: World, xhs: XhsService, *, faulty: float) -> SimulatedWeb:
    from catchment.simulator.server import SimulatedWeb
    from catchment.simulator.services.places import service_places
    from catchment.simulator.troubles import scattered

    places = {**service_places(world), **xhs.places()}
    return SimulatedWeb(world, troubles=scattered(world, faulty), places=places)


def _pointed_at(web: SimulatedWeb, settings: Settings) -> Settings:
    """The services of the outside are asked for in the simulated web, and nobody outside is told of alerts."""
    root = web.url("")
    return replace(
        settings,
        hackernews_base_url=root,
        reddit_base_url=root,
        github_base_url=root,
        xhs_base_url=root,
        xhs_site_url=root,
        weibo_base_url=root,
        alert_webhook_url=web.url("/inbox"),
        alert_webhook_format="json",
    )


def _playing(
    scenario: Scenario | None, system: System, xhs: XhsService, stop: asyncio.Event, *, inbox: str
) -> AbstractAsyncContextManager[None]:
    from catchment.collect.beside import beside

    if scenario is None:
        return nullcontext()

    async def play() -> None:
        async with beside(CookieTrouble(system=system, xhs=xhs, inbox=inbox).play()):
            await stop.wait()

    return beside(play())


async def _follow(system: System, web: SimulatedWeb, scenario: Scenario | None) -> None:
    """Add the sites and services of the simulated web, instead of those of an earlier demo on the same store."""
    for source in await system.catalog.list(OPERATOR):
        if TAG in source.tags:
            await system.catalog.remove(source.id, OPERATOR)
    feeds = [
        _draft("rss", site.title, {"url": web.feed_url(site.number)}, site.vocabulary.code) for site in web.world.sites
    ]
    services = [
        _draft("hackernews", "Hacker News: top", {"filter": "top"}, "services"),
        _draft("reddit", "r/sailing", {"subreddit": "sailing", "sort": "new"}, "services"),
        _draft("github_trending", "GitHub Trending", {"since": "daily"}, "services"),
    ]
    await give_cookies(system)
    await system.catalog.add_many([*feeds, *services, *_keywords(scenario)], OPERATOR)


def _keywords(scenario: Scenario | None) -> list[Draft]:
    """More is found for a scenario, as it needs a backlog."""
    pages = 1 if scenario is None else PAGES
    return [_search(Platform.XHS, KEYWORD, pages), _search(Platform.WEIBO, KEYWORD, 1)]


def _search(platform: Platform, keyword: str, pages: int) -> Draft:
    from catchment.sources.crawl.search import SOURCE_TYPES

    config = {"keyword": keyword, "pages": pages, "comments_limit": COMMENTS}
    return _draft(SOURCE_TYPES[platform], f"{PLATFORM_NAMES[platform]}：{keyword}", config, "keywords")


def _draft(source_type: str, name: str, config: Mapping[str, Any], tag: str) -> Draft:
    from catchment.manage.catalog import Draft

    return Draft(
        type=source_type,
        name=name,
        config=config,
        tags=(TAG, tag),
        fetch_interval_minutes=INTERVAL_MINUTES,
        is_public=True,
    )
