"""What it takes to scrape a hundred users of X whose provider takes a fifth of a second to answer, and to save tweets.

The provider is the simulated one, on loopback; pace and users side by side are those of the default settings, so that
most of the time of the scrape is waiting for the provider.
"""

# proves: D-04, D-11

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.bars import Bar, all_met, bars_table
from bench.gauge import Stopwatch
from bench.simulated_x import XProvider, timeline
from bench.stores import TEMPORARY
from catchment.bootstrap import System, open_system
from catchment.domain.scrape_task import ScrapeOrder
from catchment.domain.tweet import Tweet
from catchment.logs import set_up_logs
from catchment.settings import Settings
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from catchment.store import tweets
from catchment.store.database import Store, open_store
from catchment.store.migrate import migrate

#: What the document allows: a hundred users in five minutes, a thousand tweets in ten seconds.
SCRAPE_SECONDS, SAVE_SECONDS = 300.0, 10.0
BARRED_TWEETS = 1000
KEY = "bench"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    what: str
    store: str
    tweets: int
    seconds: float
    processor_seconds: float
    #: What the document allows for it, where it says anything.
    allowed_seconds: float | None = None

    @property
    def per_second(self) -> float:
        return self.tweets / self.seconds


@asynccontextmanager
async def opened(store_kind: str) -> AsyncIterator[Store]:
    with TEMPORARY[store_kind]() as url:
        store = open_store(url)
        try:
            await migrate(store)
            yield store
        finally:
            await store.close()


async def saving(store_kind: str, count: int) -> Figure:
    found = [_tweet(number) for number in range(count)]
    async with opened(store_kind) as store:
        with Stopwatch() as watch:
            saved = await store.write(tweets.save_tweets, found, now=NOW)
    if saved.success != count:
        raise RuntimeError(f"{saved.success} tweets were saved, not {count}")
    return Figure(
        what="save",
        store=store_kind,
        tweets=count,
        seconds=watch.seconds,
        processor_seconds=watch.processor_seconds,
        allowed_seconds=SAVE_SECONDS if count == BARRED_TWEETS else None,
    )


def _tweet(number: int) -> Tweet:
    return Tweet(
        tweet_id=str(number),
        text=f"Tweet {number}, which is about as long as tweets are, with a few words more to make it so",
        created_at=NOW - timedelta(seconds=number),
        author_username=f"user_{number % 100}",
        author_display_name="Somebody",
        media=({"media_key": "1", "type": "photo", "url": "https://img.example/1.jpg"},) if number % 3 == 0 else (),
    )


async def scraping(store_kind: str, given: argparse.Namespace) -> Figure:
    """A task of the scraping service, as the API begins it."""
    names = tuple(f"user_{number}" for number in range(given.users))
    users = {name: timeline(name, given.tweets, at=NOW) for name in names}
    provider = XProvider(key=KEY, users=users, delay_seconds=given.delay)
    with TEMPORARY[store_kind]() as url:
        async with _system(url, provider, given.at_once) as system:
            with Stopwatch() as watch:
                task = await system.scraping.scrape(ScrapeOrder(usernames=names, limit=given.tweets))
    stored = sum(one.new for one in task.outcomes)
    if stored != given.users * given.tweets:
        raise RuntimeError(f"{stored} tweets were stored, not {given.users * given.tweets}: {task.report}")
    return Figure(
        what=f"scrape {given.users} users",
        store=store_kind,
        tweets=stored,
        seconds=watch.seconds,
        processor_seconds=watch.processor_seconds,
        allowed_seconds=SCRAPE_SECONDS,
    )


@asynccontextmanager
async def _system(url: str, provider: XProvider, at_once: int) -> AsyncIterator[System]:
    world = World(seed=1, sites=1, started_at=NOW)
    async with SimulatedWeb(world, hosts=0, places={"/twitter": provider}) as web:
        settings = Settings(
            database_url=url,
            allow_networks="127.0.0.1",
            twitter_api_key=KEY,
            twitter_base_url=web.url("/twitter"),
            scraper_concurrency=at_once,
        )
        async with open_system(settings) as system:
            yield system


def bars(figures: Sequence[Figure]) -> list[Bar]:
    """How many times over the document's time would have done."""
    return [
        Bar(
            name=f"{one.store}: {one.what}, {one.tweets:,} tweets, against {one.allowed_seconds:.0f} s",
            measured=one.allowed_seconds / one.seconds,
            least=1.0,
            unit="×",
        )
        for one in figures
        if one.allowed_seconds
    ]


def figures_table(figures: Sequence[Figure]) -> Table:
    table = Table(title="X", box=SIMPLE_HEAD)
    for name in ("what", "store", "tweets", "seconds", "processor s", "tweets/s"):
        table.add_column(name, justify="left" if name in {"what", "store"} else "right")
    for one in figures:
        numbers = (f"{one.seconds:,.2f}", f"{one.processor_seconds:,.2f}", f"{one.per_second:,.0f}")
        table.add_row(one.what, one.store, f"{one.tweets:,}", *numbers)
    return table


async def measure(given: argparse.Namespace, emit_events: Callable[[str], None]) -> list[Figure]:
    found = []
    for store in given.stores:
        for count in given.saved:
            emit_events(f"{store}: saving {count:,} tweets")
            found.append(await saving(store, count))
        emit_events(f"{store}: scraping {given.users} users")
        found.append(await scraping(store, given))
    return found


def run(words: Sequence[str]) -> list[Bar]:
    given = _arguments(words)
    set_up_logs(level="ERROR", form="text")
    console = Console(stderr=given.json)
    with console.status("starting") as status:
        figures = asyncio.run(measure(given, status.update))
    found = bars(figures)
    if given.json:
        shown = {"figures": [asdict(one) for one in figures], "bars": [bar.as_json() for bar in found]}
        print(json.dumps(shown, indent=2))
    else:
        console.print(figures_table(figures), bars_table(found))
    return found


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.x", description="Scraping X and saving tweets.")
    parser.add_argument("--users", type=int, default=100, help="users to scrape (%(default)s)")
    parser.add_argument("--tweets", type=int, default=100, help="tweets of each (%(default)s)")
    parser.add_argument("--delay", type=float, default=0.2, help="seconds that an answer takes (%(default)s)")
    parser.add_argument(
        "--at-once", type=int, default=Settings().scraper_concurrency, help="users side by side (%(default)s)"
    )
    parser.add_argument("--saved", type=int, nargs="+", default=[1000, 100_000], help="tweets to save (%(default)s)")
    parser.add_argument("--stores", nargs="+", choices=list(TEMPORARY), default=list(TEMPORARY))
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
