"""lemon24/reader, the feed library for Python, with its threads."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import feedparser_sgmllib
from reader import Reader, make_reader

from bench.contest import KINDS_OF_ROUND, Plan, Round, compete, round_of
from bench.gauge import Stopwatch

#: More threads than this make it slower, as each waits for the same interpreter.
WORKERS = 4

# It brings its own feedparser along but not the `sgmllib` which that needs; ours comes with the same under this name.
sys.modules.setdefault("sgmllib", feedparser_sgmllib)


def rounds(plan: Plan) -> list[Round]:
    with make_reader(str(plan.store)) as reader:
        _add(reader, plan.warm_up)
        for _ in range(KINDS_OF_ROUND):
            _update(reader)
        already = _count(reader)
        for url in plan.warm_up:
            reader.disable_feed_updates(url)
        _add(reader, plan.urls)
        return [_round(reader, len(plan.urls), already) for _ in range(plan.rounds)]


def _round(reader: Reader, feeds: int, already: int) -> Round:
    with Stopwatch() as watch:
        _update(reader)
    return round_of(watch, feeds=feeds, items=_count(reader) - already)


def _add(reader: Reader, urls: Sequence[str]) -> None:
    for url in urls:
        reader.add_feed(url)


def _update(reader: Reader) -> None:
    reader.update_feeds(scheduled=False, workers=WORKERS)


def _count(reader: Reader) -> int:
    return reader.get_entry_counts().total or 0


if __name__ == "__main__":
    compete(rounds)
