"""`catchment demo`: the whole product against a simulated web, offline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.failing import FAILED
from catchment.cli.printing import say
from catchment.cli.serving import Host, Port, listening_on, serve_and_collect
from catchment.cli.session import read_settings, run_async
from catchment.cli.stopping import stop_on_signals
from catchment.domain.caller import OPERATOR

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.manage.catalog import Draft
    from catchment.settings import Settings
    from catchment.simulator.server import SimulatedWeb

TAG = "demo"
SEED = 1
#: Eager enough that one sees it live.
CONCURRENCY = 20
TICK_SECONDS = 1.0
INTERVAL_MINUTES = 1


def demo(
    *,
    host: Host = None,
    port: Port = None,
    sites: Annotated[int, typer.Option(min=1, max=10_000, help="How many sites the simulated web has.")] = 24,
    faulty: Annotated[float, typer.Option(min=0, max=1, help="Which share of them has troubles.")] = 0.2,
    speed: Annotated[float, typer.Option(min=0, help="How fast its time runs: 60 is an hour a minute.")] = 60.0,
) -> None:
    """Run everything against a simulated web on this machine, offline, until stopped.

    The environment counts as it does for `up`. Without CATCHMENT_HOME or DATABASE_URL the data is in a temporary
    folder and gone afterwards.

    Example: catchment demo --port 8800 --sites 100 --faulty 0.3
    """

    async def session(settings: Settings) -> bool:
        from catchment.bootstrap import open_system

        async with (
            _simulated_web(sites, faulty=faulty, speed=speed) as web,
            open_system(_pointed_at(web, settings)) as system,
            stop_on_signals() as stop,
        ):
            await _follow(system, web)
            say(f"The simulated web is at {web.url('/opml')}: {sites} sites, some of them in trouble, and services.")
            return await serve_and_collect(system, stop)

    with _demo_settings(listening_on(read_settings(), host, port)) as settings:
        if not run_async(session(settings)):
            raise typer.Exit(FAILED)


@contextmanager
def _demo_settings(settings: Settings) -> Iterator[Settings]:
    """What the environment says, made eager, and let into the simulated web."""
    from catchment.settings import Settings
    from catchment.simulator.addresses import NETWORKS

    eager = replace(
        settings,
        allow_networks=",".join(filter(None, (settings.allow_networks, *NETWORKS))),
        concurrency=max(settings.concurrency, CONCURRENCY),
        tick_seconds=min(settings.tick_seconds, TICK_SECONDS),
        processes=1,  # the store of the demo is known to this process alone
    )
    if settings.store_url() != Settings().store_url():
        yield eager
        return
    with TemporaryDirectory(prefix="catchment-demo-") as folder:
        yield replace(eager, home=Path(folder))


def _simulated_web(sites: int, *, faulty: float, speed: float) -> SimulatedWeb:
    from catchment.simulator.server import SimulatedWeb, wall_clock
    from catchment.simulator.services.places import service_places
    from catchment.simulator.troubles import scattered
    from catchment.simulator.world import World

    world = World(seed=SEED, sites=sites, started_at=wall_clock(), speed=speed)
    return SimulatedWeb(world, troubles=scattered(world, faulty), places=service_places(world))


def _pointed_at(web: SimulatedWeb, settings: Settings) -> Settings:
    """The services of the outside are asked for in the simulated web."""
    root = web.url("")
    return replace(settings, hackernews_base_url=root, reddit_base_url=root, github_base_url=root)


async def _follow(system: System, web: SimulatedWeb) -> None:
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
    await system.catalog.add_many([*feeds, *services], OPERATOR)


def _draft(source_type: str, name: str, config: Mapping[str, str], tag: str) -> Draft:
    from catchment.manage.catalog import Draft

    return Draft(
        type=source_type,
        name=name,
        config=config,
        tags=(TAG, tag),
        fetch_interval_minutes=INTERVAL_MINUTES,
        is_public=True,
    )
