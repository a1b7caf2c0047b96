"""newsboat, the feed reader for terminals, told to reload and quit."""

from __future__ import annotations

import shutil
import sqlite3

from bench.contest import Command, Plan

CONFIG = "auto-reload no\ncleanup-on-quit no\nreload-threads {threads}\nshow-read-feeds yes\n"
#: It refuses to start without any feed; this one is empty.
NOTHING = "file:///dev/null"


def is_installed() -> bool:
    return shutil.which("newsboat") is not None


class NewsboatContender:
    title = "newsboat"
    goes_again = False

    def make_store(self, plan: Plan) -> None:
        (plan.folder / "config").write_text(CONFIG.format(threads=plan.at_once), encoding="utf-8")
        (plan.folder / "urls").write_text(f"{NOTHING}\n", encoding="utf-8")

    def add_feeds(self, plan: Plan) -> None:
        (plan.folder / "urls").write_text("\n".join(plan.urls) + "\n", encoding="utf-8")

    def make_due(self, plan: Plan) -> None:
        """It goes over everything at every run."""

    def command(self, plan: Plan) -> Command:
        words = ["newsboat", "-u", "urls", "-C", "config", "-c", str(plan.store), "-x", "reload"]
        return Command(words=words, environment={"HOME": str(plan.folder)}, folder=plan.folder)

    def count(self, plan: Plan) -> int:
        with sqlite3.connect(plan.store) as db:
            count: int = db.execute("SELECT count(*) FROM rss_item").fetchone()[0]
        return count
