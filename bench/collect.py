"""How fast feeds are collected: by `catchment collect` as a user types it, a bare loop, lemon24/reader and newsboat.

One machine, one server and the same feeds for all, RSS 2.0 of 30 items with relative and absolute links. Each contender
is a command that is timed from its start to its end, alone beside the server; what starting takes with nothing to
collect is taken off. In a world without validators a cold round is followed by rounds of unchanged bodies, in one with
them by rounds of 304s. Processor time is that of all processes of a contender. `catchment up` is measured once it is at
work.
"""

# proves: S-01

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.bars import Bar, all_met, bars_table
from bench.contenders import newsboat
from bench.contenders.bare_loop import BareLoopContender
from bench.contenders.lemon24_reader import ReaderContender
from bench.contenders.product import ProductContender
from bench.contest import Contender, Cost, Plan, timed
from bench.static import ITEMS_PER_FEED, Feeds, Server, served, write_feeds

PRODUCT, UP, BARE_LOOP, READER, NEWSBOAT = "product", "up", "bare_loop", "lemon24_reader", "newsboat"
CONTENDERS: dict[str, Contender] = {
    PRODUCT: ProductContender(),
    BARE_LOOP: BareLoopContender(),
    READER: ReaderContender(),
    NEWSBOAT: newsboat.NewsboatContender(),
}
TITLES = {**{name: one.title for name, one in CONTENDERS.items()}, PRODUCT: "catchment collect", UP: "catchment up"}
STARTING, COLD, UNCHANGED, NOT_MODIFIED = "start", "cold", "unchanged", "304"
KINDS = (COLD, UNCHANGED, NOT_MODIFIED)
STARTS = 3
SERVER = "server"
NOTHING = Cost(seconds=0, processor_seconds=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    feeds: int
    hosts: int
    at_once: int
    repeat: int
    later_rounds: int
    only: Sequence[str]

    def wants(self, name: str) -> bool:
        return (not self.only or name in self.only) and (name != NEWSBOAT or newsboat.is_installed())

    def turns(self, *, validators: bool) -> Iterator[str]:
        """Those that are compared most closely take turns, so that a busy moment hits both."""
        for number in range(self.repeat):
            yield from (name for name in (BARE_LOOP, PRODUCT, UP) if self.wants(name))
            if number == 0 and not validators:
                yield from (name for name in (READER, NEWSBOAT) if self.wants(name))


class Scores:
    """What each round of each contender cost."""

    def __init__(self) -> None:
        self._found: defaultdict[tuple[str, str], list[tuple[Cost, int]]] = defaultdict(list)

    def add(self, name: str, kind: str, cost: Cost, feeds: int = 1) -> None:
        self._found[name, kind].append((cost, feeds))

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self._found))

    def rate(self, name: str, kind: str) -> float:
        return median(feeds / cost.seconds for cost, feeds in self._without_start(name, kind))

    def processor_ms(self, name: str, kind: str) -> float:
        return median(1000 * cost.processor_seconds / feeds for cost, feeds in self._without_start(name, kind))

    def start_seconds(self, name: str) -> float:
        return median(cost.seconds for cost, _ in self._found[name, STARTING])

    def _without_start(self, name: str, kind: str) -> list[tuple[Cost, int]]:
        starts = [cost for cost, _ in self._found.get((name, STARTING), ())]
        start = min(starts, key=lambda cost: cost.seconds, default=NOTHING)
        return [(cost - start, feeds) for cost, feeds in self._found[name, kind]]

    def has(self, name: str, kind: str) -> bool:
        return (name, kind) in self._found

    def as_json(self) -> dict[str, object]:
        return {
            name: {
                kind: {"feeds_per_second": self.rate(name, kind), "cpu_ms_per_feed": self.processor_ms(name, kind)}
                for kind in KINDS
                if self.has(name, kind)
            }
            for name in self.names()
        }


def measure(wish: Wish, tell: Callable[[str], None]) -> tuple[Scores, str]:
    scores, server_name = Scores(), ""
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        tell(f"writing {wish.feeds:,} feeds")
        feeds = write_feeds(Path(folder) / "feeds", wish.feeds, hosts=wish.hosts)
        for validators in (False, True):
            with served(feeds, validators=validators) as server:
                server_name = server.name
                for name in wish.turns(validators=validators):
                    tell(f"{TITLES[name]}, {'with' if validators else 'without'} validators")
                    _play(name, wish, feeds, server, scores, validators=validators)
    return scores, server_name


def _play(name: str, wish: Wish, feeds: Feeds, server: Server, scores: Scores, *, validators: bool) -> None:
    later = NOT_MODIFIED if validators else UNCHANGED
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        plan = Plan(urls=feeds.urls, folder=Path(folder), at_once=wish.at_once)
        rounds = _rounds_of_up(plan, wish) if name == UP else _rounds(CONTENDERS[name], plan, wish)
        served_before = server.processor_seconds()
        for number, cost in enumerate(rounds):
            served_now = server.processor_seconds()
            kind = later if number else COLD
            scores.add(name, kind, cost, len(plan.urls))
            scores.add(SERVER, kind, Cost(seconds=1, processor_seconds=served_now - served_before), len(plan.urls))
            served_before = served_now
        if name != UP:
            scores.add(name, STARTING, _start(CONTENDERS[name], plan))


def _rounds(contender: Contender, plan: Plan, wish: Wish) -> Iterator[Cost]:
    contender.make_store(plan)
    contender.add_feeds(plan)
    for _ in range(1 + (wish.later_rounds if contender.goes_again else 0)):
        contender.make_due(plan)
        yield timed(contender.command(plan))
        _check(contender, plan)


def _start(contender: Contender, plan: Plan) -> Cost:
    """What it takes with nothing to collect."""
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        empty = replace(plan, urls=[], folder=Path(folder))
        contender.make_store(empty)
        return min((timed(contender.command(empty)) for _ in range(STARTS)), key=lambda cost: cost.seconds)


def _rounds_of_up(plan: Plan, wish: Wish) -> Iterator[Cost]:
    product = ProductContender()
    product.make_store(plan)
    with product.up(plan) as head:
        product.add_feeds(plan)
        for number in range(1 + wish.later_rounds):
            yield product.steady_round(plan, head, is_due=number == 0)
            _check(product, plan)


def _check(contender: Contender, plan: Plan) -> None:
    """A contender that does less than the others would be compared in vain."""
    found, expected = contender.count(plan), len(plan.urls) * ITEMS_PER_FEED
    if found != expected:
        raise RuntimeError(f"{contender.title}: {found} items in the store, expected {expected}")


def bars(scores: Scores) -> list[Bar]:
    found = []
    for peer, least in ((BARE_LOOP, 1.2), (READER, 20.0), (NEWSBOAT, 10.0)):
        if scores.has(PRODUCT, COLD) and scores.has(peer, COLD):
            ratio = scores.rate(PRODUCT, COLD) / scores.rate(peer, COLD)
            found.append(Bar(name=f"cold, against {TITLES[peer]}", measured=ratio, least=least, unit="×"))
    if not (scores.has(PRODUCT, COLD) and scores.has(BARE_LOOP, COLD)):
        return found
    for kind in (UNCHANGED, NOT_MODIFIED):
        ratio = scores.rate(PRODUCT, kind) / scores.rate(BARE_LOOP, kind)
        found.append(Bar(name=f"{kind}, against bare loop's later rounds", measured=ratio, least=1.5, unit="×"))
    spent = scores.processor_ms(PRODUCT, COLD) / scores.processor_ms(BARE_LOOP, COLD)
    return [*found, Bar(name="processor of a cold feed, against bare loop", measured=spent, most=1.6, unit="×")]


def scores_table(scores: Scores) -> Table:
    table = Table(title="Feeds a second, and milliseconds of processor a feed", box=SIMPLE_HEAD, collapse_padding=True)
    for name in ("", "start s", "cold", "ms", "unchanged", "ms", "304", "ms"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for name in (PRODUCT, UP, BARE_LOOP, READER, NEWSBOAT):
        if scores.has(name, COLD):
            cells = [TITLES[name], f"{scores.start_seconds(name):.2f}" if name != UP else ""]
            table.add_row(*cells, *(cell for kind in KINDS for cell in _cells(scores, name, kind)))
    table.add_row("the server", "", *(cell for kind in KINDS for cell in ("", _cells(scores, SERVER, kind)[1])))
    return table


def _cells(scores: Scores, name: str, kind: str) -> tuple[str, str]:
    if not scores.has(name, kind):
        return "", ""
    return f"{scores.rate(name, kind):,.0f}", f"{scores.processor_ms(name, kind):.2f}"


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.collect", description="Feeds a second, against others.")
    parser.add_argument("--feeds", type=int, default=3000, help="for each contender (%(default)s)")
    parser.add_argument("--hosts", type=int, help="that the feeds are at; one each unless given")
    parser.add_argument("--at-once", type=int, default=50, help="requests in flight (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="times over, of which the median counts (%(default)s)")
    parser.add_argument("--later-rounds", type=int, default=2, help="after each cold one (%(default)s)")
    parser.add_argument("--only", nargs="+", choices=list(TITLES), default=[], help="leave the others out")
    parser.add_argument("--quick", action="store_true", help="a smoke run over 60 feeds: figures mean nothing")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


def run(words: Sequence[str]) -> list[Bar]:
    given = arguments(words)
    feeds, repeat = (60, 1) if given.quick else (given.feeds, given.repeat)
    wish = Wish(
        feeds=feeds,
        hosts=min(given.hosts or feeds, feeds),
        at_once=given.at_once,
        repeat=repeat,
        later_rounds=given.later_rounds,
        only=given.only,
    )
    console = Console(stderr=given.json)
    with console.status("starting") as status:
        scores, server = measure(wish, status.update)
    found = bars(scores)
    if given.json:
        print(json.dumps({"contenders": scores.as_json(), "bars": [bar.as_json() for bar in found]}, indent=2))
    else:
        console.print(scores_table(scores), bars_table(found), _note(wish, server))
    return found


def _note(wish: Wish, server: str) -> str:
    return (
        f"{wish.feeds:,} feeds of {ITEMS_PER_FEED} items at {wish.hosts:,} hosts, {wish.at_once} requests in flight, "
        f"{wish.repeat} times over with {wish.later_rounds} later rounds each, of which the median counts (reader and "
        f"newsboat once). Served by {server} on the same {os.cpu_count()} cores. The start is taken off; of `up` it is "
        "the time from the first claim to the last commit. The bare loop sends no validators: both kinds of its later "
        f"rounds are the same. Python {platform.python_version()} at {sys.base_prefix}: without its optimisations one "
        "is a third slower."
    )


if __name__ == "__main__":
    sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
