"""How fast feeds are collected: by the product, by a bare loop, by lemon24/reader and by newsboat.

One run, one machine, one simulated server for all: RSS 2.0 feeds of 30 items. Each contender goes over its feeds again
and again in a process of its own, in a world without validators (cold, then unchanged) and in one with ETags (cold,
then 304). Starting up and a warm-up of a few feeds are not timed. All get the same feeds: newsboat and reader
slow down as their stores grow, and a store is not small for long. They take the most of the minutes that this takes.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.bars import Bar, all_met, bars_table
from bench.contenders import newsboat
from bench.contest import WARM_UP, Plan, Round, play
from bench.gauge import MEGABYTE
from bench.world import RunningWorld, running_world

ITEMS_PER_FEED = 30
PRODUCT, BARE_LOOP, READER, NEWSBOAT = "product", "bare_loop", "lemon24_reader", "newsboat"
TITLES = {PRODUCT: "Catchment", BARE_LOOP: "bare loop", READER: "lemon24/reader", NEWSBOAT: "newsboat"}
NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One contender's three kinds of round, each in the median of all there were."""

    contender: str
    cold: Round
    unchanged: Round
    not_modified: Round

    @property
    def peak_bytes(self) -> int:
        return max(one.peak_bytes for one in (self.cold, self.unchanged, self.not_modified))

    def as_json(self) -> dict[str, object]:
        kinds = {"cold": self.cold, "unchanged": self.unchanged, "304": self.not_modified}
        return {
            "feeds": self.cold.feeds,
            "peak_mb": round(self.peak_bytes / MEGABYTE, 1),
            **{
                kind: {
                    "feeds_per_second": round(one.feeds_per_second, 1),
                    "cpu_ms_per_feed": round(one.processor_ms_per_feed, 3),
                }
                for kind, one in kinds.items()
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked for on the command line."""

    feeds: int
    peer_feeds: int
    at_once: int
    repeat: int
    later_rounds: int
    processes: int
    only: Sequence[str]

    def contenders(self) -> list[str]:
        present = [PRODUCT, BARE_LOOP, READER, *([NEWSBOAT] if newsboat.is_installed() else [])]
        return [one for one in present if not self.only or one in self.only]

    def is_peer(self, contender: str) -> bool:
        return contender in {READER, NEWSBOAT}

    def feeds_of(self, contender: str) -> int:
        return min(self.feeds, self.peer_feeds) if self.is_peer(contender) else self.feeds

    def later_rounds_of(self, contender: str) -> int:
        return 1 if self.is_peer(contender) else self.later_rounds

    def turns(self) -> Iterator[str]:
        """The two that are compared most closely take turns, so that a busy moment hits both."""
        for number in range(self.repeat):
            yield from (one for one in self.contenders() if number == 0 or not self.is_peer(one))


def wish(words: Sequence[str]) -> tuple[Wish, argparse.Namespace]:
    parser = argparse.ArgumentParser(prog="python -m bench.collect", description="Feeds per second, against others.")
    parser.add_argument("--feeds", type=int, default=1000, help="feeds for Catchment and the bare loop (%(default)s)")
    parser.add_argument("--peer-feeds", type=int, default=1000, help="feeds for the slow ones (%(default)s)")
    parser.add_argument("--at-once", type=int, default=50, help="requests in flight (%(default)s)")
    parser.add_argument("--repeat", type=int, default=3, help="times over, of which the median counts (%(default)s)")
    parser.add_argument("--later-rounds", type=int, default=5, help="of Catchment and the bare loop (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="collectors of Catchment on one store (%(default)s)")
    parser.add_argument("--only", nargs="+", choices=list(TITLES), default=[], help="leave the others out")
    parser.add_argument("--quick", action="store_true", help="a smoke run over 50 feeds: figures mean little")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    given = parser.parse_args(words)
    feeds, peers, repeat = (50, 20, 1) if given.quick else (given.feeds, given.peer_feeds, given.repeat)
    chosen = Wish(
        feeds=feeds,
        peer_feeds=peers,
        at_once=given.at_once,
        repeat=repeat,
        later_rounds=given.later_rounds,
        processes=given.processes,
        only=given.only,
    )
    return chosen, given


def measure(chosen: Wish, emit_events: Callable[[str], None]) -> dict[str, Score]:
    plain = _rounds_in_world(chosen, "none", emit_events)
    tagged = _rounds_in_world(chosen, "etag", emit_events)
    return {
        one: Score(
            contender=one,
            cold=_median([rounds[0] for rounds in (*plain[one], *tagged[one])]),
            unchanged=_median([later for rounds in plain[one] for later in rounds[1:]]),
            not_modified=_median([later for rounds in tagged[one] for later in rounds[1:]]),
        )
        for one in chosen.contenders()
    }


def _rounds_in_world(chosen: Wish, abilities: str, emit_events: Callable[[str], None]) -> dict[str, list[list[Round]]]:
    sites = chosen.feeds + WARM_UP
    words = ["--sites", str(sites), "--speed", "0", "--format", "rss20", "--abilities", abilities, "--warm"]
    found: dict[str, list[list[Round]]] = {one: [] for one in chosen.contenders()}
    emit_events(f"writing {sites} feeds ({'with' if abilities == 'etag' else 'without'} ETags)")
    with running_world(words) as world:
        for contender in chosen.turns():
            emit_events(f"{TITLES[contender]} in the world {'with' if abilities == 'etag' else 'without'} ETags")
            found[contender].append(_play(contender, chosen, world, expects_304=abilities == "etag"))
    return found


def _play(contender: str, chosen: Wish, world: RunningWorld, *, expects_304: bool) -> list[Round]:
    every = world.rss_urls(chosen.feeds + WARM_UP)
    urls = every[: chosen.feeds_of(contender)]
    before = world.statuses(urls)[NOT_MODIFIED]
    with tempfile.TemporaryDirectory(prefix="catchment-bench-") as folder:
        plan = Plan(
            urls=urls,
            warm_up=every[chosen.feeds :],
            folder=folder,
            at_once=chosen.at_once,
            later_rounds=chosen.later_rounds_of(contender),
            processes=chosen.processes,
        )
        rounds = play(contender, plan)
    if contender != BARE_LOOP and expects_304:
        expected = len(urls) * plan.later_rounds
        _check(contender, "answers 304", world.statuses(urls)[NOT_MODIFIED] - before, expected)
    for one in rounds:
        _check(contender, "items in the store", one.items, len(urls) * ITEMS_PER_FEED)
    return rounds


def _check(contender: str, what: str, found: int, expected: int) -> None:
    """A contender that does less than the others would be compared in vain."""
    if found != expected:
        raise RuntimeError(f"{TITLES[contender]}: {what}: {found}, expected {expected}")


def _median(rounds: Sequence[Round]) -> Round:
    return Round(
        feeds=rounds[0].feeds,
        items=rounds[0].items,
        seconds=median(one.seconds for one in rounds),
        processor_seconds=median(one.processor_seconds for one in rounds),
        peak_bytes=max(one.peak_bytes for one in rounds),
    )


def bars(scores: dict[str, Score]) -> list[Bar]:
    ours = scores.get(PRODUCT)
    if ours is None:
        return []
    found: list[Bar] = []
    for peer, least in ((BARE_LOOP, 0.9), (READER, 15.0), (NEWSBOAT, 8.0)):
        if peer in scores:
            found.append(_ratio(f"cold, against {TITLES[peer]}", ours.cold, scores[peer].cold, least))
    if bare := scores.get(BARE_LOOP):
        found.append(_ratio("unchanged, against bare loop's later rounds", ours.unchanged, bare.unchanged, 1.5))
        found.append(_ratio("304, against bare loop's later rounds", ours.not_modified, bare.not_modified, 2.0))
    return found


def _ratio(name: str, ours: Round, theirs: Round, least: float) -> Bar:
    return Bar(name=name, measured=ours.feeds_per_second / theirs.feeds_per_second, least=least, unit="×")


def scores_table(scores: dict[str, Score]) -> Table:
    table = Table(
        title="Feeds per second, and milliseconds of processor per feed", box=SIMPLE_HEAD, collapse_padding=True
    )
    for name in ("", "feeds", "cold", "ms", "unchanged", "ms", "304", "ms", "peak MB"):
        table.add_column(name, justify="right" if name else "left", no_wrap=True)
    for score in scores.values():
        cells = [TITLES[score.contender], f"{score.cold.feeds:,}"]
        for one in (score.cold, score.unchanged, score.not_modified):
            cells += [f"{one.feeds_per_second:,.0f}", f"{one.processor_ms_per_feed:.2f}"]
        table.add_row(*cells, f"{score.peak_bytes / MEGABYTE:,.0f}")
    return table


def run(words: Sequence[str]) -> list[Bar]:
    chosen, given = wish(words)
    console = Console(stderr=given.json)
    with console.status("starting") as status:
        scores = measure(chosen, status.update)
    found = bars(scores)
    if given.json:
        named = {one: score.as_json() for one, score in scores.items()}
        print(json.dumps({"contenders": named, "bars": [bar.as_json() for bar in found]}, indent=2))
    else:
        console.print(scores_table(scores), bars_table(found), _note(chosen))
    return found


def _note(chosen: Wish) -> str:
    return (
        f"{chosen.at_once} requests in flight, {WARM_UP} feeds of warm-up untimed, {chosen.repeat} times over with "
        f"{chosen.later_rounds} later rounds each, of which the median counts. The bare loop has no memory: its later "
        "rounds fetch and parse everything again, in both worlds. newsboat's start is "
        "part of its rounds. The server ran on the same machine. Peak memory adds up the processes of a contender. "
        f"Python {platform.python_version()} at {sys.base_prefix}: without its optimisations one is a third slower."
    )


if __name__ == "__main__":
    sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
