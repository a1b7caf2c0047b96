"""Many rows into one table, or changed in it, at the speed of the driver.

SQLAlchemy works out the parameters of every row anew, which costs more than storing it. Here the statement and the
conversion of each column are worked out once per store. A hundred rows go in one statement: on PostgreSQL each
statement is a journey there and back, and on SQLite it is where threads take turns. Below: single rows that may be
there already, as both dialects know ON CONFLICT, each under its own name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from sqlalchemy import Connection, Dialect, LargeBinary, String, Table, insert
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[Any, ...]
Converter = Callable[[Any], Any]
ROWS_A_STATEMENT = 100
_NAMED = re.compile(r"%\(\w+\)s")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """A statement with a list of rows in it."""

    #: What comes before the list, how one row of it looks, and what comes after it.
    head: str
    row: str
    tail: str
    #: The columns in the order of a row.
    order: Sequence[str]
    #: By column, where the driver does not take the value as it is.
    converters: dict[str, Converter]

    def run(self, conn: Connection, columns: dict[str, Row]) -> None:
        converted = columns | {name: _convert_all(convert, columns[name]) for name, convert in self.converters.items()}
        values = tuple(chain.from_iterable(zip(*(converted[name] for name in self.order), strict=True)))
        width = len(self.order)
        for start in range(0, len(values), ROWS_A_STATEMENT * width):
            some = values[start : start + ROWS_A_STATEMENT * width]
            conn.exec_driver_sql(self._statement(len(some) // width), some)

    def _statement(self, rows: int) -> str:
        return f"{self.head}VALUES {', '.join(repeat(self.row, rows))}{self.tail}"


class BulkInsert:
    """`or_ignore` leaves rows out that would break a unique index, rather than failing on them."""

    def __init__(
        self, table: Table, *, varying: Sequence[str], same: Sequence[str] = (), or_ignore: bool = False
    ) -> None:
        self._table = table
        self._tail = " ON CONFLICT DO NOTHING" if or_ignore else ""
        self._varying = varying
        self._same = same
        self._plans: dict[str, _Plan] = {}

    def __call__(self, conn: Connection, rows: Sequence[Row], **same: Any) -> None:
        """Insert rows whose values are in the order of the varying columns; the others are the same for all."""
        if not rows:
            return
        plan = self._plans.get(conn.dialect.name)
        if plan is None:
            plan = self._plans[conn.dialect.name] = self._plan(conn.dialect)
        columns = dict(zip(self._varying, zip(*rows, strict=True), strict=True))
        plan.run(conn, columns | {name: (same[name],) * len(rows) for name in self._same})

    def _plan(self, dialect: Dialect) -> _Plan:
        names = [*self._varying, *self._same]
        compiled = insert(self._table).inline().compile(dialect=dialect, column_keys=names)
        assert isinstance(compiled, SQLCompiler)
        head, _, row = _NAMED.sub("%s", str(compiled)).partition("VALUES ")
        return _Plan(
            head=head,
            row=row,
            order=compiled.positiontup or [column.name for column in self._table.c if column.name in names],
            converters=_converters(self._table, names, dialect),
            tail=self._tail,
        )


class BulkUpdate:
    """Changes columns of many rows, each found by its id."""

    def __init__(self, table: Table, *columns: str) -> None:
        self._table = table
        self._names = ("id", *columns)
        self._plans: dict[str, _Plan] = {}

    def __call__(self, conn: Connection, rows: Sequence[Row]) -> None:
        """Update from rows that begin with the id and go on in the order of the columns."""
        if not rows:
            return
        plan = self._plans.get(conn.dialect.name)
        if plan is None:
            plan = self._plans[conn.dialect.name] = self._plan(conn.dialect)
        plan.run(conn, dict(zip(self._names, zip(*rows, strict=True), strict=True)))

    def _plan(self, dialect: Dialect) -> _Plan:
        table = self._table
        # Both stores call the columns of a list of values by their place.
        sets = [f"{name} = {_assigned(table, name, dialect, place)}" for place, name in enumerate(self._names, 1)]
        mark = "?" if dialect.paramstyle == "qmark" else "%s"
        return _Plan(
            head=f"UPDATE {table.name} SET {', '.join(sets[1:])} FROM (",  # noqa: S608 - the names are our own
            row=f"({', '.join(repeat(mark, len(self._names)))})",
            tail=f") AS given WHERE {table.name}.id = given.column1",
            order=self._names,
            converters=_converters(table, self._names, dialect),
        )


def _assigned(table: Table, name: str, dialect: Dialect, place: int) -> str:
    """A value of the list, as its column takes it: what is null in every row has no type of its own for PostgreSQL."""
    given, kind = f"given.column{place}", table.c[name].type.dialect_impl(dialect)
    if dialect.name == "sqlite" or isinstance(kind, String):
        return given
    return f"CAST({given} AS {kind.compile(dialect)})"


def _converters(table: Table, names: Iterable[str], dialect: Dialect) -> dict[str, Converter]:
    # Bytes are bytes to both drivers.
    kinds = {name: kind for name in names if not isinstance(kind := table.c[name].type, LargeBinary)}
    found = {name: kind.dialect_impl(dialect).bind_processor(dialect) for name, kind in kinds.items()}
    return {name: convert for name, convert in found.items() if convert is not None}


def _convert_all(convert: Converter, values: Row) -> Row:
    """Once where all are one and the same, such as the moment of a transaction."""
    first = values[0]
    if all(value is first for value in values):
        return (convert(first),) * len(values)
    return tuple(map(convert, values))


def insert_into(conn: Connection, table: Table) -> Any:
    """An insert of the store's own dialect, which knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return (sqlite.insert if conn.dialect.name == "sqlite" else postgresql.insert)(table)


def insert_or_ignore(conn: Connection, table: Table) -> Any:
    return insert_into(conn, table).on_conflict_do_nothing()
