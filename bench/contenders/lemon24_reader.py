"""lemon24/reader, the feed library for Python, with its threads."""

from __future__ import annotations

import sys

import feedparser_sgmllib
from reader import make_reader

from bench.contest import PYTHON, Command, Plan

#: More threads than this make it slower, as each waits for the same interpreter.
WORKERS = 4

# It brings its own feedparser along but not the `sgmllib` which that needs; ours comes with the same under this name.
sys.modules.setdefault("sgmllib", feedparser_sgmllib)


class ReaderContender:
    title = "lemon24/reader"
    goes_again = False

    def make_store(self, plan: Plan) -> None:
        make_reader(str(plan.store)).close()

    def add_feeds(self, plan: Plan) -> None:
        with make_reader(str(plan.store)) as reader:
            for url in plan.urls:
                reader.add_feed(url)

    def make_due(self, plan: Plan) -> None:
        """It goes over everything at every run."""

    def command(self, plan: Plan) -> Command:
        return Command(words=[PYTHON, "-m", "bench.contenders.lemon24_reader", str(plan.store)])

    def count(self, plan: Plan) -> int:
        with make_reader(str(plan.store)) as reader:
            return reader.get_entry_counts().total or 0


if __name__ == "__main__":
    with make_reader(sys.argv[1]) as reader_:
        reader_.update_feeds(scheduled=False, workers=WORKERS)
