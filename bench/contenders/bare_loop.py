"""The bare loop: what a competent person writes in an afternoon, without schedule, leases, manners or limits.

One process: aiohttp, fastfeedparser, one sanitiser, SQLite written by a thread in groups. It remembers the hash of each
body, so that one that did not change is not parsed again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import aiohttp
import fastfeedparser
import nh3

from bench.contest import PYTHON, Command, Plan

FEEDS_PER_COMMIT = 200
SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE IF NOT EXISTS bodies (feed TEXT PRIMARY KEY, hash BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS items (feed TEXT, key TEXT, link TEXT, title TEXT, author TEXT, published TEXT, content TEXT,
                                  PRIMARY KEY (feed, key)) WITHOUT ROWID;
"""
_Row = tuple[str, ...]
_Found = tuple[str, bytes, list[_Row]]


class Writer(threading.Thread):
    """Stores what is found, as much at a time as there is."""

    def __init__(self, db: sqlite3.Connection) -> None:
        super().__init__()
        self._db = db
        self.found: SimpleQueue[_Found | None] = SimpleQueue()

    def run(self) -> None:
        while (first := self.found.get()) is not None:
            group = [first]
            while len(group) < FEEDS_PER_COMMIT and not self.found.empty():
                one = self.found.get()
                if one is None:
                    self._store(group)
                    return
                group.append(one)
            self._store(group)

    def _store(self, group: list[_Found]) -> None:
        rows = [row for _, _, rows in group for row in rows]
        self._db.executemany("INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._db.executemany("INSERT OR REPLACE INTO bodies VALUES (?, ?)", [(url, body) for url, body, _ in group])
        self._db.commit()


class BareLoop:
    def __init__(self, store: str) -> None:
        self._cleaner = nh3.Cleaner()
        self._db = sqlite3.connect(store, check_same_thread=False)
        self._db.executescript(SCHEMA)
        self._bodies = dict(self._db.execute("SELECT feed, hash FROM bodies"))
        self._writer = Writer(self._db)

    async def collect(self, urls: list[str], at_once: int) -> None:
        self._writer.start()
        waiting = iter(urls)
        try:
            async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
                await asyncio.gather(*(self._work(session, waiting) for _ in range(at_once)))
        finally:
            self._writer.found.put(None)
            self._writer.join()

    async def _work(self, session: aiohttp.ClientSession, waiting: Iterator[str]) -> None:
        for url in waiting:
            async with session.get(url) as answer:
                answer.raise_for_status()
                body = await answer.read()
            known = hashlib.sha256(body).digest()
            if self._bodies.get(url) != known:
                entries = fastfeedparser.parse(body, include_media=False)["entries"]
                self._writer.found.put((url, known, [self._row(url, entry) for entry in entries]))

    def _row(self, url: str, entry: dict[str, Any]) -> _Row:
        content = entry["content"][0]["value"] if entry.get("content") else entry.get("description", "")
        return (
            url,
            entry["id"],
            entry.get("link", ""),
            entry.get("title", ""),
            entry.get("author", ""),
            entry.get("published", ""),
            self._cleaner.clean(content),
        )


class BareLoopContender:
    title = "bare loop"
    goes_again = True

    def make_store(self, plan: Plan) -> None:
        self._write(plan, [])

    def add_feeds(self, plan: Plan) -> None:
        self._write(plan, plan.urls)

    def make_due(self, plan: Plan) -> None:
        """It goes over everything at every run."""

    def command(self, plan: Plan) -> Command:
        words = [
            PYTHON,
            "-m",
            "bench.contenders.bare_loop",
            str(plan.store),
            str(plan.folder / "urls"),
            str(plan.at_once),
        ]
        return Command(words=words)

    def count(self, plan: Plan) -> int:
        with sqlite3.connect(plan.store) as db:
            count: int = db.execute("SELECT count(*) FROM items").fetchone()[0]
        return count

    def _write(self, plan: Plan, urls: Any) -> None:
        (plan.folder / "urls").write_text(json.dumps(list(urls)), encoding="utf-8")


if __name__ == "__main__":
    store_, urls_, at_once_ = sys.argv[1:]
    asyncio.run(BareLoop(store_).collect(json.loads(Path(urls_).read_text(encoding="utf-8")), int(at_once_)))
