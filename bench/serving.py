"""The simulated web as a process: `python -m bench.serving --sites 1000 --faulty 0.33 --speed 60`.

It prints one line of JSON when it is ready, and serves until it is told to stop; on the product's event loop, as the
less its server takes of the machine, the more is measured.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import signal
import sys
from collections.abc import Sequence
from datetime import timedelta

from catchment.eventloop import run
from catchment.simulator.faults import scattered
from catchment.simulator.formats import Abilities, Dialect, Style
from catchment.simulator.server import SimulatedWeb, wall_clock
from catchment.simulator.world import World

ABILITIES = {
    "mixed": None,
    "none": Abilities(),
    "etag": Abilities(etag=True),
    "last-modified": Abilities(last_modified=True),
    "both": Abilities(etag=True, last_modified=True),
    "gzip": Abilities(etag=True, last_modified=True, gzip=True),
}


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.serving", description="An offline web on loopback.")
    parser.add_argument("--sites", type=int, default=100, help="how many feed sites (%(default)s)")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one (%(default)s)")
    parser.add_argument("--hosts", type=int, help="addresses the sites share; as many as sites unless given")
    parser.add_argument("--faulty", type=float, default=0.0, help="share of sites in trouble (%(default)s)")
    parser.add_argument("--speed", type=float, default=1.0, help="60 is an hour per minute, 0 stands still")
    parser.add_argument("--seed", type=int, default=1, help="another seed is another world (%(default)s)")
    parser.add_argument("--window", type=int, default=30, help="posts in a feed (%(default)s)")
    parser.add_argument("--period", type=float, help="minutes between posts, the same for every site")
    parser.add_argument("--abilities", choices=ABILITIES, default="mixed", help="what servers can do")
    parser.add_argument("--format", choices=["mixed", *Dialect], default="mixed", help="one format, in UTF-8")
    parser.add_argument("--warm", action="store_true", help="write all feeds before being ready, for a bench")
    return parser.parse_args(words)


def world_of(wanted: argparse.Namespace) -> World:
    return World(
        seed=wanted.seed,
        sites=wanted.sites,
        started_at=wall_clock(),
        speed=wanted.speed,
        window=wanted.window,
        period=None if wanted.period is None else timedelta(minutes=wanted.period),
        styles=None if wanted.format == "mixed" else [Style(format=Dialect(wanted.format))],
        abilities=ABILITIES[wanted.abilities],
    )


async def serve(wanted: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    world = world_of(wanted)
    troubles = scattered(world, wanted.faulty)
    async with SimulatedWeb(world, port=wanted.port, hosts=wanted.hosts, troubles=troubles) as web:
        if wanted.warm:
            web.warm()
        ready = {"port": web.port, "feeds": len(world.sites), "opml": web.url("/opml")}
        sys.stdout.write(json.dumps(ready) + "\n")
        sys.stdout.flush()
        await stopped.wait()


def main() -> None:
    _, most_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most_files, most_files))
    run(serve(arguments(sys.argv[1:])))


if __name__ == "__main__":
    main()
