"""Pages and API over a large store: every GET route, as a stranger, a user and an administrator.

    python -m bench.pages --store sqlite --items 1000000 [--keep /tmp/pages]

The real server runs in a process of its own, as `catchment up --no-collect` starts it, on 10,000 sources and 1,000,000
items (`bench/million.py`). Each request is made some twenty times, one after the other, or a hundred times where that
is over the bar, and timed from sending it to the last byte; beside that stands the least CPU that server and store took
for one, whoever else uses the machine. What is a list asked for whole by its contract (`WHOLE`) is a class of its own,
as it takes what it takes to send: there the first byte counts, and how long somebody else waits for `/health` until the
last was read. With `--keep` a store that was made is used again.
"""

# proves: S-03, G-11, H-01

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection, func, select, text

from bench.bars import Bar, all_met, bars_table
from bench.million import FEEDS, RARE, People, Size, fill, index
from bench.search import Vocabulary
from bench.stores import kept_or_temporary, postgres_in
from catchment.bootstrap import open_system
from catchment.settings import Settings
from catchment.store import tables
from catchment.store.platform_tables import notes, tweets

MAX_P95_MS, MAX_PAGE_BYTES = 100.0, 200_000
ROUNDS = 21
#: Of twenty requests the slowest alone is the p95, whatever the machine did then. What is over the bar by them is asked
#: so many times as often again, and all of it counts.
MORE = 4
#: Never ends; what it says is read by the pages' own tests.
ENDLESS = {"/api/events"}
#: Lists that are whole by their contract, with no pages: streamed, so that the first byte and the others' wait count.
WHOLE = {
    "/api/sources",
    "/api/collector/status",
    "/api/raw-items/stats",
    "/api/sources/export",
    "/api/items/export",
    "/greader/reader/api/0/subscription/export",
}
#: And so is what reader apps ask for at once: more than a page of 100, and streamed as well.
MANY_REFS, MANY_ITEMS = 10_000, 1_000
#: Starts a look at the outside, or makes a password's hash: not about what is stored.
LEFT_OUT = {"/sources/look", "/api/cookie/validate"}
BESIDE = "/health beside "
STRANGER, USER, ADMIN = "stranger", "user", "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    who: str
    #: As OpenAPI has it, and as it is asked for.
    route: str
    path: str

    @property
    def is_whole(self) -> bool:
        return self.path in WHOLE or self.path.endswith((f"n={MANY_REFS}", f"n={MANY_ITEMS}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    who: str
    path: str
    status: int
    bytes: int
    p50: float
    p95: float
    #: Of the server and, on PostgreSQL, of its backends: the least of all rounds.
    cpu: float
    is_page: bool
    is_whole: bool

    @property
    def is_met(self) -> bool:
        return self.p95 <= MAX_P95_MS and not (self.is_page and self.bytes > MAX_PAGE_BYTES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ids:
    """What stands in for the parameters of a path."""

    public_source: int
    own_source: int
    public_item: int
    own_item: int
    old_moment: str
    others: dict[str, str]


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.pages", description=__doc__)
    parser.add_argument("--store", choices=["sqlite", "postgresql"], help="one kind alone; both unless given")
    parser.add_argument("--items", type=int, default=1_000_000, help="how many items (%(default)s)")
    parser.add_argument("--sources", type=int, default=10_000, help="how many sources (%(default)s)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each is asked (%(default)s)")
    parser.add_argument("--keep", type=Path, help="folder in which the stores stay, to be used again")
    parser.add_argument("--fill", action="store_true", help="make the stores and stop there")
    parser.add_argument("--only", default="", help="only paths with this in them")
    parser.add_argument("--most", type=int, default=40, help="rows of the table, the slowest first (%(default)s)")
    parser.add_argument("--json", action="store_true", help="every figure, for programs")
    return parser.parse_args(words)


def run(words: Sequence[str]) -> list[Bar]:
    wanted, console = arguments(words), Console(stderr="--json" in words)
    kinds = [wanted.store] if wanted.store else ["sqlite", "postgresql"]
    found = {kind: _measure_store(kind, wanted, console) for kind in kinds}
    if wanted.json:
        print(json.dumps({kind: [asdict(one) for one in answers] for kind, answers in found.items()}))
    bars = [bar for kind, answers in found.items() if answers for bar in _bars(kind, answers)]
    console.print(bars_table(bars))
    return bars


def _measure_store(kind: str, wanted: argparse.Namespace, console: Console) -> list[Answer]:
    with kept_or_temporary(wanted.keep, f"{kind}-{wanted.sources}-{wanted.items}") as folder, _url(kind, folder) as url:
        size = Size(sources=wanted.sources, items=wanted.items)
        people, ids = asyncio.run(_prepare(url, folder, size, console))
        if wanted.fill:
            return []
        with _serving(url, folder) as (address, process):
            asker = Asker(address, people, wanted.rounds, partial(_cpu_ms, process, folder / "postgres", {}))
            questions = [one for one in _questions(address, ids) if wanted.only in one.path]
            answers = [asker.ask(one) for one in questions]
            answers += [asker.wait_beside(one.path) for one in questions if one.who == ADMIN and one.is_whole]
    console.print(_table(kind, answers, wanted.most))
    return answers


@contextmanager
def _url(kind: str, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'store.sqlite3'}"
    else:
        with postgres_in(folder / "postgres") as url:
            yield url


async def _prepare(url: str, folder: Path, size: Size, console: Console) -> tuple[People, Ids]:
    """The store, made unless it is there already, and what to ask it for."""
    keys = folder / "people.json"
    async with open_system(Settings(database_url=url, home=folder)) as system:
        if not keys.exists():
            began = time.perf_counter()
            people = await fill(system, size)
            console.print(f"{size.items:,} items stored in {time.perf_counter() - began:.0f} s")
            began = time.perf_counter()
            await index(system)
            console.print(f"and indexed in {time.perf_counter() - began:.0f} s")
            keys.write_text(json.dumps(asdict(people)))
        people = People(**json.loads(keys.read_text()))
        if system.store.url.get_backend_name() != "sqlite":
            # As its autovacuum does within minutes.
            await system.store.write(lambda conn: conn.execute(text("ANALYZE")))
        return people, await system.store.read(_ids, people)


def _ids(conn: Connection, people: People) -> Ids:
    source, item = tables.sources.c, tables.raw_items.c

    def busiest(*which: Any) -> int:
        counted = select(item.source_id).join(tables.sources, source.id == item.source_id).where(*which)
        return int(conn.execute(counted.group_by(item.source_id).order_by(func.count().desc()).limit(1)).scalar_one())

    public, own = busiest(source.is_public), busiest(source.created_by == people.user_id)
    newest = [
        conn.execute(select(item.id).where(item.source_id == one).order_by(item.id.desc()).limit(1)).scalar_one()
        for one in (public, own)
    ]
    middle = select(item.fetched_at).order_by(item.id).offset(select(func.max(item.id)).scalar_subquery() / 2).limit(1)
    return Ids(
        public_source=public,
        own_source=own,
        public_item=newest[0],
        own_item=newest[1],
        old_moment=conn.execute(middle).scalar_one().isoformat(),
        others={
            "digest_id": str(conn.execute(select(func.max(tables.digests.c.id))).scalar_one()),
            "user_id": str(people.user_id),
            "tweet_id": conn.execute(select(func.max(tweets.c.tweet_id))).scalar_one(),
            "note_id": conn.execute(select(func.max(notes.c.note_id))).scalar_one(),
            "name": "SOURCE_BROKEN",
            "stream_id": f"feed/{own}",
        },
    )


@contextmanager
def _serving(url: str, folder: Path) -> Iterator[tuple[str, int]]:
    """The product's own server, until the block ends."""
    program = Path(sys.executable).with_name("catchment")
    words = [str(program), "up", "--no-collect", "--no-starter", "--port", "0"]
    environment = {**os.environ, "DATABASE_URL": url, "CATCHMENT_HOME": str(folder), "LOG_LEVEL": "WARNING"}
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            line = next(said for said in server.stdout if "http://" in said)
            yield line.split()[-1], server.pid
        finally:
            server.terminate()


def _cpu_ms(process: int, postgres: Path, known: dict[str, float]) -> float:
    """What the server has used so far, with all that its PostgreSQL runs and, as far as it is known, that ended."""
    wanted = {str(process)}
    if (postgres / "postmaster.pid").exists():
        parent = (postgres / "postmaster.pid").read_text().split()[0]
        wanted |= set(Path(f"/proc/{parent}/task/{parent}/children").read_text().split())
    for one in wanted:
        # Linux's number of the clock of another process (clock_getcpuclockid), which `time` has no name for.
        with suppress(OSError):
            known[one] = time.clock_gettime_ns((~int(one) << 3) | 2) / 1e6
    return sum(known.values())


def _questions(address: str, ids: Ids) -> Iterator[Question]:
    described = httpx.get(f"{address}/openapi.json", timeout=60).json()["paths"]
    routes = [path for path, methods in described.items() if "get" in methods and path not in ENDLESS | LEFT_OUT]
    for who in (STRANGER, USER, ADMIN):
        for route in routes:
            for path in _paths(route, who, ids):
                yield Question(who=who, route=route, path=path)


def _paths(route: str, who: str, ids: Ids) -> Iterator[str]:
    """The route as it is, and with what makes it hard."""
    if "{slug}" in route:
        yield from (route.replace("{slug}", slug) for slug in FEEDS if "/feed/" not in route and "packs" not in route)
        return
    source, item = (ids.public_source, ids.public_item) if who == STRANGER else (ids.own_source, ids.own_item)
    values = {**ids.others, "source_id": str(source), "item_id": str(item), "webhook_id": "1", "task_id": "1"}
    path = route
    for name, value in values.items():
        path = path.replace(f"{{{name}}}", value)
    yield path
    yield from (f"{path}?{more}" for more in _harder(route, source, ids) if more)


def _harder(route: str, source: int, ids: Ids) -> Iterator[str]:
    of_source = {"/items": "source"}.get(route, "source_id")
    if route in {"/items", "/api/items"}:
        yield from (_query(**asked) for asked in _searches())
        yield from (_query(**{**asked, of_source: source}) for asked in ({}, {"q": Vocabulary(7).words[0]}))
    if route.startswith("/greader/reader/api/0/stream/") and route.endswith(("ids", "/contents")):
        yield from (_query(**asked) for asked in _streams(source))
    if route == "/greader/reader/api/0/stream/items/ids":
        yield _query(s=_STATE + "reading-list", n=MANY_REFS)
        yield _query(s=_STATE + "reading-list", xt=_STATE + "read", n=MANY_REFS)
    yield from (_query(**asked) for asked in _HARDER.get(route, ()))
    if route in {"/api/items", "/api/raw-items", "/api/raw-items/for-digest"}:
        yield _query(since=ids.old_moment, limit=100)
    if route == "/api/items":
        yield _query(until=ids.old_moment)
        yield _query(until=ids.old_moment, q=Vocabulary(7).words[0])


_STATE = "user/-/state/com.google/"
_HARDER: dict[str, list[dict[str, Any]]] = {
    "/api/items": [{"limit": 100}],
    "/api/raw-items": [
        {"limit": 200},
        {"offset": 10_000},
        {"offset": 100_000},
        {"offset": 900_000},
        {"offset": 5_000, "source_id": 2},
    ],
    "/api/raw-items/for-digest": [{"limit": 500}],
    "/api/sources": [{"limit": 100}, {"limit": 100, "cursor": "WzUwMDAsIG51bGxd"}],
    "/sources": [
        *({"q": "news"}, {"tag": "news"}, {"health": "failing"}, {"sort": "name"}, {"sort": "next"}, {"page": 50}),
        {"q": "nothing like it"},
    ],
    "/api/feed": [{"limit": 100}],
}


def _searches() -> Iterator[dict[str, Any]]:
    """Words that are common, rare or nowhere, in every combination that is hard in its own way."""
    vocabulary = Vocabulary(7)
    words, pair = vocabulary.words, "".join(vocabulary.characters[:2])
    yield from ({"q": q} for q in (pair, words[0], RARE, words[-1], "neverneverthere", f"{words[100][:3]}*"))
    yield from ({"q": f"{words[0]} {other}"} for other in (words[1], pair, words[-1], f"-{words[1]}"))
    yield from ({"q": f'"{words[one]} {words[other]}"'} for one, other in ((0, 1), (20, 30)))
    yield {"q": "".join(vocabulary.characters[:4])}
    yield from ({"q": words[0], name: value} for name, value in (("tag", "news"), ("type", "reddit")))
    yield from ({"tag": "news"}, {"tag": "none"}, {"type": "reddit"})


def _streams(source: int) -> Iterator[dict[str, Any]]:
    yield from ({"s": _STATE + name, "n": 100} for name in ("reading-list", "starred", "read"))
    yield {"s": _STATE + "reading-list", "xt": _STATE + "read", "n": 100}
    yield {"s": "user/-/label/news", "xt": _STATE + "read", "n": 100}
    yield {"s": "user/-/label/later", "n": 100}
    yield from ({"s": f"feed/{source}", "n": most} for most in (100, MANY_ITEMS))


def _query(**asked: Any) -> str:
    return str(httpx.QueryParams(asked))


class Asker:
    def __init__(self, address: str, people: People, rounds: int, cpu_ms: Callable[[], float]) -> None:
        self._address = address
        self._cpu_ms = cpu_ms
        self._keys = {USER: people.user_key, ADMIN: people.admin_key}
        self._rounds = rounds

    def ask(self, one: Question) -> Answer:
        with self._client(one.who) as client:
            first = client.get(one.path) if not one.is_whole else self._first_byte(client, one.path)[1]
            times, cpu = list[float](), list[float]()
            for rounds in (self._rounds, MORE * self._rounds):
                for _ in range(rounds):
                    began = self._cpu_ms()
                    took = self._first_byte(client, one.path)[0] if one.is_whole else self._timed(client, one.path)
                    times.append(took)
                    cpu.append(self._cpu_ms() - began)
                cuts = quantiles(times, n=20)
                if cuts[18] <= MAX_P95_MS:
                    break
        return Answer(
            who=one.who,
            path=one.path,
            status=first.status_code,
            bytes=0 if one.is_whole else len(first.content),
            p50=cuts[9],
            p95=cuts[18],
            cpu=min(cpu),
            is_page="text/html" in first.headers.get("content-type", "") and one.route != "/docs",
            is_whole=one.is_whole,
        )

    def wait_beside(self, path: str) -> Answer:
        """How long somebody waits for `/health` while another reads a list whole, as fast as it comes."""
        with self._client(STRANGER) as other, ThreadPoolExecutor(1) as aside:
            began, times = self._cpu_ms(), list[float]()
            reading = aside.submit(self._read_whole, path)
            while not reading.done() or len(times) < 2:
                times.append(self._timed(other, "/health"))
            status, size = reading.result()
        cuts = quantiles(times, n=20)
        return Answer(
            who=STRANGER,
            path=f"{BESIDE}{path}",
            status=status,
            bytes=size,
            p50=cuts[9],
            p95=cuts[18],
            cpu=self._cpu_ms() - began,
            is_page=False,
            is_whole=True,
        )

    def _read_whole(self, path: str) -> tuple[int, int]:
        with self._client(ADMIN) as reader, reader.stream("GET", path) as whole:
            return whole.status_code, sum(map(len, whole.iter_raw(65_536)))

    def _client(self, who: str) -> httpx.Client:
        headers = {"X-API-Key": self._keys[who]} if who in self._keys else {}
        return httpx.Client(base_url=self._address, headers=headers, timeout=300)

    @staticmethod
    def _timed(client: httpx.Client, path: str) -> float:
        began = time.perf_counter()
        client.get(path)
        return 1000 * (time.perf_counter() - began)

    @staticmethod
    def _first_byte(client: httpx.Client, path: str) -> tuple[float, httpx.Response]:
        began = time.perf_counter()
        with client.stream("GET", path) as answer:
            for _ in answer.iter_raw(1):
                break
            took = 1000 * (time.perf_counter() - began)
        return took, answer


def _table(kind: str, answers: Sequence[Answer], most: int) -> Table:
    title = f"Pages and API, {kind}; a list asked for whole by its first byte"
    table = Table("who", "path", "status", "kB", "p50 ms", "p95 ms", "CPU ms", "", title=title, box=SIMPLE_HEAD)
    for one in sorted(answers, key=lambda one: -one.p95)[:most]:
        size = "whole" if one.is_whole and not one.bytes else f"{one.bytes / 1000:,.0f}"
        figures = (size, *(f"{figure:.0f}" for figure in (one.p50, one.p95, one.cpu)))
        table.add_row(one.who, one.path, str(one.status), *figures, "[green]met" if one.is_met else "[bold red]not met")
    return table


def _bars(kind: str, answers: Sequence[Answer]) -> Iterator[Bar]:
    in_full = [one for one in answers if not one.is_whole]
    beside = [one for one in answers if one.is_whole and one.path.startswith(BESIDE)]
    begun = [one for one in answers if one.is_whole and one not in beside]
    for what, some in (("", in_full), ("whole, first byte of ", begun), ("whole, ", beside)):
        if some:
            slowest = max(some, key=lambda one: one.p95)
            name = f"S-03 {kind}: {what}{slowest.who} {slowest.path}, p95"
            yield Bar(name=name, measured=slowest.p95, most=MAX_P95_MS, unit="ms")
            slow = sum(one.p95 > MAX_P95_MS for one in some)
            yield Bar(name=f"S-03 {kind}: {what}{len(some)} requests, over {MAX_P95_MS:.0f} ms", measured=slow, most=0)
    pages = [one for one in answers if one.is_page]
    if pages:
        largest = max(pages, key=lambda one: one.bytes)
        name = f"G-11 {kind}: {largest.who} {largest.path}, size"
        yield Bar(name=name, measured=largest.bytes / 1000, most=MAX_PAGE_BYTES / 1000, unit="kB")


def main() -> int:
    return 0 if all_met(run(sys.argv[1:])) else 1


if __name__ == "__main__":
    sys.exit(main())
