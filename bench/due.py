"""What it costs to pick 500 due sources out of few and out of many, on both stores.

Selecting and claiming may depend on how much is due, not on how many sources there are.
"""

# proves: A-28

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from sqlalchemy import (
    Connection,
    Select,
    String,
    case,
    cast,
    delete,
    event,
    insert,
    literal,
    select,
    text,
    union_all,
    update,
)

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.bars import Bar, all_met, bars_table
from bench.stores import TEMPORARY
from catchment.store import runs, sources, tables
from catchment.store.database import Store, open_store
from catchment.store.migrate import migrate
from catchment.store.types import Json, UtcDateTime

DUE = 500
MAX_RATIO = 3.0
#: As many as the collector reads at one look.
LOOK_LIMIT = 10_000
LEASE = timedelta(minutes=1)
OWNER = "bench:1:0"
#: Checks of what is not due are spread over these many moments, a minute apart.
MOMENTS = 240
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Milliseconds, each in the median of its repetitions."""

    store: str
    sources: int
    look_ms: float
    claim_ms: float
    #: A look when every source is due and none was ever fetched.
    flood_look_ms: float
    plan: str


async def cost_of(store_kind: str, count: int, *, repeat: int) -> Cost:
    with TEMPORARY[store_kind]() as url:
        store = open_store(url)
        try:
            await migrate(store)
            await store.write(fill, count)
            return await _measure(store, store_kind, count, repeat=repeat)
        finally:
            await store.close()


async def _measure(store: Store, store_kind: str, count: int, *, repeat: int) -> Cost:
    await store.write(learn)
    looks = [await store.read(timed_look, expected=DUE) for _ in range(repeat)]
    claims = [await store.write(timed_claim) for _ in range(repeat)]
    plan = await store.read(plan_of_look)
    await store.write(flood)
    await store.write(learn)
    floods = [await store.read(timed_look, expected=min(LOOK_LIMIT, count)) for _ in range(repeat)]
    return Cost(
        store=store_kind,
        sources=count,
        look_ms=median(looks) * 1000,
        claim_ms=median(claims) * 1000,
        flood_look_ms=median(floods) * 1000,
        plan=plan,
    )


def fill(conn: Connection, count: int) -> None:
    """Make sources inside the database: `DUE` of them are due, spread over all, and the others later."""
    numbers = select(literal(0).label("n")).cte("numbers", recursive=True)
    numbers = numbers.union_all(select(numbers.c.n + 1).where(numbers.c.n < count - 1))
    moments = union_all(*map(_moment, range(MOMENTS))).cte("moments")
    is_due = numbers.c.n % (count // DUE) == 0
    values: dict[str, Any] = {
        "name": cast(numbers.c.n, String),
        "type": literal("rss"),
        "config": literal({}, Json),
        "identity": cast(numbers.c.n, String),
        "identity_scope": literal(0),
        "tags": literal([], Json),
        "is_active": literal(True),
        "is_public": literal(False),
        "is_deleted": literal(False),
        "created_at": literal(NOW, UtcDateTime),
        "updated_at": literal(NOW, UtcDateTime),
        "fetch_count": literal(1),
        "fetch_error_count": literal(0),
        "last_fetched_at": literal(NOW - timedelta(hours=4), UtcDateTime),
        "next_check_at": case((is_due, literal(NOW, UtcDateTime)), else_=moments.c.at),
        "next_check_why": literal("interval"),
        "memory": literal({}, Json),
        "version": literal(0),
    }
    rows = select(*values.values()).join_from(numbers, moments, moments.c.k == numbers.c.n % MOMENTS)
    conn.execute(insert(tables.sources).from_select(list(values), rows))


def _moment(number: int) -> Select[int, datetime]:
    at = NOW + timedelta(minutes=number + 1)
    return select(literal(number).label("k"), literal(at, UtcDateTime).label("at"))


def flood(conn: Connection) -> None:
    """Everything is due at once, and nothing was ever fetched."""
    conn.execute(update(tables.sources).values(next_check_at=NOW, last_fetched_at=None))


def learn(conn: Connection) -> None:
    """What autovacuum does within a minute of such a change. SQLite has no such thing, and gets none here."""
    if conn.dialect.name == "postgresql":
        conn.execute(text("ANALYZE sources"))


def timed_look(conn: Connection, *, expected: int) -> float:
    started = perf_counter()
    found = sources.due(conn, now=NOW, limit=LOOK_LIMIT, owner=OWNER)
    seconds = perf_counter() - started
    if len(found) != expected:
        raise RuntimeError(f"{len(found)} sources are due, not {expected}")
    return seconds


def timed_claim(conn: Connection) -> float:
    """Claim all that is due, and take it back again outside of the timing."""
    ids = [one.id for one in sources.due(conn, now=NOW, limit=LOOK_LIMIT, owner=OWNER)]
    started = perf_counter()
    claimed = runs.claim_due(conn, ids, owner=OWNER, now=NOW, until=NOW + LEASE)
    seconds = perf_counter() - started
    if len(claimed) != DUE:
        raise RuntimeError(f"{len(claimed)} sources were claimed, not {DUE}")
    conn.execute(delete(tables.runs))
    return seconds


def plan_of_look(conn: Connection) -> str:
    """How the database goes about the very statement that a look sends."""
    sent: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        sent.append((statement, parameters))

    event.listen(conn, "before_cursor_execute", note)
    sources.due(conn, now=NOW, limit=LOOK_LIMIT, owner=OWNER)
    event.remove(conn, "before_cursor_execute", note)
    statement, parameters = sent[0]
    explain = "EXPLAIN QUERY PLAN" if conn.dialect.name == "sqlite" else "EXPLAIN"
    return "\n".join(str(row[-1]) for row in conn.exec_driver_sql(f"{explain} {statement}", parameters))


def bars(costs: Sequence[Cost]) -> list[Bar]:
    """For each store, many against few."""
    found = []
    for store in dict.fromkeys(cost.store for cost in costs):
        few, many = (cost for cost in costs if cost.store == store)
        for what, ratio in (("look", many.look_ms / few.look_ms), ("claim", many.claim_ms / few.claim_ms)):
            name = f"{store}: {what} among {many.sources:,} against {few.sources:,}"
            found.append(Bar(name=name, measured=ratio, most=MAX_RATIO, unit="×"))
    return found


def costs_table(costs: Sequence[Cost]) -> Table:
    table = Table(title=f"Milliseconds to pick {DUE} due sources", box=SIMPLE_HEAD)
    for name in ("store", "sources", "look", "claim", f"look, all due (first {LOOK_LIMIT:,})"):
        table.add_column(name, justify="left" if name == "store" else "right")
    for cost in costs:
        figures = (cost.look_ms, cost.claim_ms, cost.flood_look_ms)
        table.add_row(cost.store, f"{cost.sources:,}", *(f"{figure:,.2f}" for figure in figures))
    return table


async def measure(given: argparse.Namespace, emit_events: Callable[[str], None]) -> list[Cost]:
    found = []
    for store in given.stores:
        for count in (given.few, given.many):
            emit_events(f"{store}: {count:,} sources")
            found.append(await cost_of(store, count, repeat=given.repeat))
    return found


def run(words: Sequence[str]) -> list[Bar]:
    given = _arguments(words)
    console = Console(stderr=given.json)
    with console.status("starting") as status:
        costs = asyncio.run(measure(given, status.update))
    found = bars(costs)
    if given.json:
        print(
            json.dumps({"costs": [asdict(cost) for cost in costs], "bars": [bar.as_json() for bar in found]}, indent=2)
        )
    else:
        console.print(costs_table(costs), bars_table(found))
        for cost in costs:
            console.print(f"[bold]{cost.store}, {cost.sources:,}:[/bold]\n{cost.plan}", highlight=False, soft_wrap=True)
    return found


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.due", description="The cost of picking what is due.")
    parser.add_argument("--few", type=int, default=10_000, help="sources in the small store (%(default)s)")
    parser.add_argument("--many", type=int, default=1_000_000, help="sources in the large store (%(default)s)")
    parser.add_argument("--repeat", type=int, default=9, help="times over, of which the median counts (%(default)s)")
    parser.add_argument("--stores", nargs="+", choices=list(TEMPORARY), default=list(TEMPORARY))
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(0 if all_met(run(sys.argv[1:])) else 1)
