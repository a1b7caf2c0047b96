"""A store with rows in every table there is, made from what its columns are: a new table is in it by itself."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Date,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
    insert,
    select,
)
from sqlalchemy.engine import URL

from catchment.store.copy import migration_engine
from catchment.store.tables import metadata
from catchment.store.types import UtcDateTime

ROWS = (1, 2)
#: What a column must be, where its type alone does not say it.
RULES: dict[tuple[str, str], dict[int, Any]] = {
    ("digests", "type"): {1: "4h", 2: "daily"},
    ("scraper_fetch_stats", "avg_new_rate"): {1: 0.25, 2: 1.0},
    ("cookies", "status"): {1: "active", 2: "banned"},
    ("cookies", "cooling_until"): {1: None, 2: None},
}
ONLY_ONE = {"scraper_schedule_config"}

#: The first whose type a column is of says what stands in it.
MAKERS: list[tuple[type, Callable[[int, Column[Any]], Any]]] = [
    (Boolean, lambda number, _: number == 1),
    (Integer, lambda number, _: number),
    (Float, lambda number, _: number / 4),
    (UtcDateTime, lambda number, _: datetime(2026, 3, number, 12, 30, 15, 123_456, tzinfo=UTC)),
    (Date, lambda number, _: date(2026, 3, number)),
    (LargeBinary, lambda number, _: bytes([number]) * 16),
    (String, lambda number, column: f"{number} {column.name} ü漢🙂"[: column.type.length]),
    (JSON, lambda number, _: {"number": number, "list": [1, None, "ü"], "none": None}),
]

Rows = dict[str, list[dict[str, Any]]]


def fill(url: URL) -> Rows:
    """Put rows into every table of a migrated store, and return them."""
    engine = migration_engine(url)
    with engine.begin() as conn:
        for table in metadata.sorted_tables:
            numbers = ROWS[:1] if table.name in ONLY_ONE else ROWS
            conn.execute(insert(table), [_row(table, number) for number in numbers])
        rows = _rows(conn)
    engine.dispose()
    assert all(rows.values()), "no table was left out"
    return rows


def rows_in(url: URL) -> Rows:
    engine = migration_engine(url)
    with engine.begin() as conn:
        rows = _rows(conn)
    engine.dispose()
    return rows


def _rows(conn: Connection) -> Rows:
    return {
        table.name: [dict(row._mapping) for row in conn.execute(select(table).order_by(*table.primary_key))]
        for table in metadata.sorted_tables
    }


def _row(table: Table, number: int) -> dict[str, Any]:
    return {column.name: _value(table, column, number) for column in table.c}


def _value(table: Table, column: Column[Any], number: int) -> Any:
    rule = RULES.get((table.name, column.name))
    if rule is not None:
        return rule[number]
    if column.nullable and number == ROWS[-1] and not column.foreign_keys:
        return None
    return next(make(number, column) for kind, make in MAKERS if isinstance(column.type, kind))
