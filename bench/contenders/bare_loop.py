"""The bare loop: what a competent person writes in an hour, without schedule, leases, memory or limits.

One process: aiohttp, fastfeedparser, one sanitiser, SQLite. It looks up which entries it has before it sanitises, so
that its second round is as fast as such a loop can be; it still has to fetch and parse everything again.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from typing import Any

import aiohttp
import fastfeedparser
import nh3

from bench.contest import KINDS_OF_ROUND, Plan, Round, compete, round_of
from bench.gauge import Stopwatch

FEEDS_PER_COMMIT = 50
SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
CREATE TABLE items (feed TEXT, key TEXT, link TEXT, title TEXT, author TEXT, published TEXT, content TEXT,
                    PRIMARY KEY (feed, key)) WITHOUT ROWID;
"""


class BareLoop:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._cleaner = nh3.Cleaner()
        self._db = sqlite3.connect(plan.store)
        self._db.executescript(SCHEMA)
        self._uncommitted = 0

    async def compete(self) -> list[Round]:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            for _ in range(KINDS_OF_ROUND):
                await self._collect(session, self._plan.warm_up)
            already = self._count()
            rounds = []
            for _ in range(self._plan.rounds):
                with Stopwatch() as watch:
                    await self._collect(session, self._plan.urls)
                rounds.append(round_of(watch, feeds=len(self._plan.urls), items=self._count() - already))
        return rounds

    async def _collect(self, session: aiohttp.ClientSession, urls: Any) -> None:
        waiting = iter(urls)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._plan.at_once):
                tasks.create_task(self._work(session, waiting))
        self._db.commit()

    async def _work(self, session: aiohttp.ClientSession, waiting: Iterator[str]) -> None:
        for url in waiting:
            async with session.get(url) as answer:
                body = await answer.read()
            self._keep(url, fastfeedparser.parse(body, include_media=False)["entries"])

    def _keep(self, url: str, entries: list[dict[str, Any]]) -> None:
        known = {key for (key,) in self._db.execute("SELECT key FROM items WHERE feed = ?", (url,))}
        rows = [self._row(url, entry) for entry in entries if entry["id"] not in known]
        self._db.executemany("INSERT OR IGNORE INTO items VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        self._uncommitted += 1
        if self._uncommitted >= FEEDS_PER_COMMIT:
            self._db.commit()
            self._uncommitted = 0

    def _row(self, url: str, entry: dict[str, Any]) -> tuple[str, ...]:
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

    def _count(self) -> int:
        count: int = self._db.execute("SELECT count(*) FROM items").fetchone()[0]
        return count


if __name__ == "__main__":
    compete(lambda plan: asyncio.run(BareLoop(plan).compete()))
