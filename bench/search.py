"""Search: how long it takes, how large its index is, and what it costs to store items beside it.

    python -m bench.search --items 100000 [--url postgresql://…]

The texts are made of a vocabulary in which words are as unequally common as in any language. The machine may be busy
with other things: beside the time on the wall, the time of this process's CPU is shown.
"""

# proves: G-06

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from statistics import quantiles

from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, text

from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.domain.item import Item, make_item
from catchment.domain.source import NewSource
from catchment.manage.items import Items
from catchment.store import items, sources
from catchment.store.database import Store, open_store
from catchment.store.migrate import migrate
from catchment.store.search import ItemFilter

START = datetime(2026, 1, 1, tzinfo=UTC)
SOURCES, WORDS, CHARACTERS, AT_ONCE = 1_000, 50_000, 3_000, 1_000
MAX_P95_SECONDS = 0.1
ROUNDS = 20
STRANGER = Caller(role=Role.USER, user_id=None)


class Vocabulary:
    """Words by Zipf's law: the n-th is n times rarer than the first."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = ["".join(self._random.choices(letters, k=self._random.randint(3, 10))) for _ in range(WORDS)]
        self.characters = [chr(0x4E00 + number) for number in range(CHARACTERS)]
        self._by_word = list(accumulate(1 / (rank + 10) for rank in range(WORDS)))
        self._by_character = list(accumulate(1 / (rank + 10) for rank in range(CHARACTERS)))

    def text(self, words: int = 150) -> str:
        """In English or Chinese, of about so many words."""
        if self._random.random() < 0.5:
            return " ".join(self._random.choices(self.words, cum_weights=self._by_word, k=words))
        return "，".join(
            "".join(self._random.choices(self.characters, cum_weights=self._by_character, k=12))
            for _ in range(words // 6)
        )

    def items(self, count: int) -> Iterator[Item]:
        for number in range(count):
            words = self.text()
            title = words[:40]
            yield make_item(
                native_id=str(number), url=f"https://x.example/{number}", title=title, content=f"<p>{words}</p>"
            )


async def fill(store: Store, vocabulary: Vocabulary, count: int) -> float:
    """Seconds of CPU and waiting that storing alone took."""
    new = [
        NewSource(
            name=f"s{number}",
            type="rss",
            config={},
            identity=f"s{number}",
            is_public=number % 100 == 0,
            created_by=None,
            tags=("tenth",) if number % 10 == 0 else (),
            host=None,
        )
        for number in range(SOURCES)
    ]
    known = await store.write(sources.add_all, new, now=START)
    found, took, now = vocabulary.items(count), 0.0, START
    for start in range(0, count, AT_ONCE):
        made = [next(found) for _ in range(min(AT_ONCE, count - start))]
        owned = [(known[random.randrange(SOURCES)].id, item) for item in made]
        began = time.perf_counter()
        await store.write(items.insert_new, owned, now=now)
        took += time.perf_counter() - began
        now += timedelta(minutes=1)
    return took


async def measure(service: Items, q: str, caller: Caller, wanted: ItemFilter) -> tuple[float, float, float, int]:
    """Median and 95th percentile on the wall, the CPU of one search, and how many were on the page."""
    walls, cpus, count = [], [], 0
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), time.process_time()
        page = await service.find(caller, wanted, q=q, limit=50)
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        count = len(page.items)
    cuts = quantiles(walls, n=20)
    return cuts[9], cuts[18], sum(cpus) / len(cpus), count


def questions(vocabulary: Vocabulary, count: int) -> dict[str, tuple[str, Caller, ItemFilter]]:
    words, characters = vocabulary.words, vocabulary.characters
    everything = ItemFilter()
    middle = START + timedelta(minutes=count // AT_ONCE // 2)
    pair = characters[0] + characters[1]
    return {
        "no search": ("", OPERATOR, everything),
        "no search, 10 sources": ("", STRANGER, everything),
        "common word": (words[0], OPERATOR, everything),
        "rare word": (words[-1], OPERATOR, everything),
        "two common words": (f"{words[0]} {words[1]}", OPERATOR, everything),
        "common without common": (f"{words[0]} -{words[1]}", OPERATOR, everything),
        "phrase of common words": (f'"{words[0]} {words[1]}"', OPERATOR, everything),
        "common pair": (pair, OPERATOR, everything),
        "four characters": (pair + characters[2] + characters[3], OPERATOR, everything),
        "rare pair": (characters[-1] + characters[-2], OPERATOR, everything),
        "nothing": ("neverneverthere", OPERATOR, everything),
        "beginning": (f"{words[100][:3]}*", OPERATOR, everything),
        "common, one source": (words[0], OPERATOR, replace(everything, source_id=7)),
        "common, a tag": (words[0], OPERATOR, replace(everything, tag="tenth")),
        "common, 10 sources seen": (words[0], STRANGER, everything),
        "common, up to the middle": (words[0], OPERATOR, replace(everything, until=middle)),
        "rare, up to the middle": (words[-1], OPERATOR, replace(everything, until=middle)),
    }


async def run(url: str, count: int) -> bool:
    console, vocabulary, store = Console(), Vocabulary(7), open_store(url)
    await migrate(store)
    service = Items(store=store)
    stored = await fill(store, vocabulary, count)
    began, cpu = time.perf_counter(), time.process_time()
    await service.take_in()
    taken, taken_cpu = time.perf_counter() - began, time.process_time() - cpu
    if store.url.get_backend_name() != "sqlite":
        await store.write(lambda conn: conn.execute(text("ANALYZE search_index")))
    size, whole = await service.index_bytes(), await store.read(_bytes_of_items)
    console.print(f"{store.url.get_backend_name()}, {count:,} items: stored in {stored:.1f} s;")
    console.print(
        f"taken into the index in {taken:.1f} s ({taken_cpu:.1f} s of our CPU, {taken / count * 1e6:.0f} µs each);"
    )
    console.print(f"the index {size / 1e6:,.0f} MB, the items' texts {whole / 1e6:,.0f} MB")
    table = Table("search", "found", "median ms", "p95 ms", "our CPU ms")
    slowest = 0.0
    for name, (q, caller, wanted) in questions(vocabulary, count).items():
        median, p95, own, found = await measure(service, q, caller, wanted)
        slowest = max(slowest, p95)
        table.add_row(name, str(found), *(f"{1000 * value:.1f}" for value in (median, p95, own)))
    console.print(table)
    await store.close()
    return slowest <= MAX_P95_SECONDS


def _bytes_of_items(conn: Connection) -> int:
    length = "octet_length" if conn.dialect.name == "postgresql" else "length"
    cast = "(title || content)" if conn.dialect.name == "postgresql" else "CAST(title || content AS BLOB)"
    return int(conn.execute(text(f"SELECT sum({length}({cast})) FROM raw_items")).scalar_one())


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--url", default="")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = given.url or f"sqlite:///{Path(folder) / 'search.sqlite3'}"
        return 0 if asyncio.run(run(url, given.items)) else 1


if __name__ == "__main__":
    raise SystemExit(main())
