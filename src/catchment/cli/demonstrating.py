"""`catchment demo`: the whole product against a simulated web, offline."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from catchment.cli.demo_cookies import give_cookies
from catchment.cli.demo_settings import demo_settings, pointed_at
from catchment.cli.failing import FAILED
from catchment.cli.scenarios import CookieTrouble, Scenario
from catchment.cli.serving import Host, Port, listening_on, serve_and_collect
from catchment.cli.session import command_for, read_settings, run_async
from catchment.cli.stopping import stop_on_signals
from catchment.domain.caller import OPERATOR
from catchment.domain.note import Platform
from catchment.errors import InvalidInput

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.catalog import Draft
    from catchment.settings import Settings
    from catchment.simulator.server import SimulatedWeb
    from catchment.simulator.services.xhs import XhsService
    from catchment.simulator.world import World

TAG = "demo"
SEED = 1
INTERVAL_MINUTES = 1
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

    The environment counts as it does for `up`, but for what is real: no backup is made, neither X nor Feishu is asked.
    Without CATCHMENT_HOME or DATABASE_URL the data is in a temporary folder and gone afterwards; with them, the store
    has to be empty or an earlier demo's.

    What has to last for minutes before it is an alert lasts as the time of the simulated web runs: `--speed 60` makes
    half an hour of half a minute.

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
            open_system(pointed_at(web, settings)) as system,
            stop_on_signals() as stop,
        ):
            await _follow(system, web, scenario)
            _show_the_way(system.settings, web, sites)
            async with _playing(scenario, system, xhs, stop, inbox=web.url("/inbox")):
                return await serve_and_collect(system, stop)

    wanted = _on_a_free_port(listening_on(read_settings(), host, port), is_chosen=port is not None)
    _quieten(wanted)
    with TemporaryDirectory(prefix="catchment-demo-") as folder:
        if not run_async(session(demo_settings(wanted, folder=Path(folder), speed=speed))):
            raise typer.Exit(FAILED)


def _on_a_free_port(settings: Settings, *, is_chosen: bool) -> Settings:
    """Unless one is asked for: the usual one may be that of a real server."""
    from catchment.settings import Settings

    return settings if is_chosen or settings.port != Settings().port else replace(settings, port=0)


def _show_the_way(settings: Settings, web: SimulatedWeb, sites: int) -> None:
    """Commands to be pasted into another terminal: the demo's store and its web are not where commands look."""
    command = command_for(settings, CATCHMENT_ALLOW_NETWORKS=settings.allow_networks)
    typer.echo(f"The simulated web is at {web.url('/opml')}: {sites} sites, some of them in trouble, and services.")
    if not settings.database_url:
        typer.echo(f"The data is in {settings.home}")
    typer.echo("Commands for another terminal:")
    for words in ("status", "items list --limit 5", f"add {web.url('/blog/')}"):
        typer.echo(f"  {command} {words}")


def _quieten(settings: Settings) -> None:
    """Unless another level is asked for, log nothing: a demo is full of troubles, and the page shows them."""
    from catchment.logs import set_up_logs
    from catchment.settings import Settings

    if settings.log_level == Settings().log_level:
        set_up_logs(level="ERROR", form=settings.log_format)


def _world(sites: int, *, speed: float) -> World:
    from catchment.simulator.server import wall_clock
    from catchment.simulator.world import World

    return World(seed=SEED, sites=sites, started_at=wall_clock(), speed=speed)


def _simulated_web(world: World, xhs: XhsService, *, faulty: float) -> SimulatedWeb:
    from catchment.simulator.server import SimulatedWeb
    from catchment.simulator.services.places import service_places
    from catchment.simulator.troubles import scattered
    from catchment.simulator.websites import blog

    # A site that is not followed yet, for whoever wants to add one.
    places = {**service_places(world), **xhs.places(), "/blog": blog}
    return SimulatedWeb(world, troubles=scattered(world, faulty), places=places)


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
    known = await system.catalog.list(OPERATOR)
    ours = [source for source in known if TAG in source.tags]
    if known and not ours:
        raise InvalidInput(
            "This store has sources, and none of a demo: unset CATCHMENT_HOME and DATABASE_URL, or name another place."
        )
    for source in ours:
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
