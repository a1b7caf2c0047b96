"""`catchment demo`: the whole product against a simulated web, offline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from catchment.cli.failing import FAILED
from catchment.cli.printing import say
from catchment.cli.serving import Host, Port, listening_on, serve_and_collect
from catchment.cli.session import read_settings, with_system
from catchment.cli.stopping import stop_on_signals
from catchment.domain.caller import OPERATOR

if TYPE_CHECKING:
    from catchment.bootstrap import System
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

    async def work(system: System) -> bool:
        async with stop_on_signals() as stop, _simulated_web(sites, faulty=faulty, speed=speed) as web:
            await _follow(system, web)
            say(f"The simulated web is at {web.url('/opml')}: {sites} sites, some of them in trouble.")
            return await serve_and_collect(system, stop)

    with _demo_settings(listening_on(read_settings(), host, port)) as settings:
        if not with_system(work, settings):
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
    from catchment.simulator.troubles import scattered
    from catchment.simulator.world import World

    world = World(seed=SEED, sites=sites, started_at=wall_clock(), speed=speed)
    return SimulatedWeb(world, troubles=scattered(world, faulty))


async def _follow(system: System, web: SimulatedWeb) -> None:
    """Add the sites of the simulated web, instead of those of an earlier demo on the same store."""
    from catchment.manage.catalog import Draft

    for source in await system.catalog.list(OPERATOR):
        if TAG in source.tags:
            await system.catalog.remove(source.id, OPERATOR)
    drafts = [
        Draft(
            type="rss",
            name=site.title,
            config={"url": web.feed_url(site.number)},
            tags=(TAG, site.vocabulary.code),
            fetch_interval_minutes=INTERVAL_MINUTES,
            is_public=True,
        )
        for site in web.world.sites
    ]
    await system.catalog.add_many(drafts, OPERATOR)
