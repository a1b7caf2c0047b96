"""Many rows into one table, or changed in it, at the speed of the driver.

SQLAlchemy works out the parameters of every row anew, which costs more than storing it. Here the statement and the
conversion of each column are worked out once per store. A hundred rows go in one statement: on PostgreSQL each
statement is a journey, and on SQLite it is where threads take turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from sqlalchemy import Connection, Dialect, Table, bindparam, insert, update
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[Any, ...]
Converter = Callable[[Any], Any]
ROWS_A_STATEMENT = 100
_NAMED = re.compile(r"%\(\w+\)s")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    #: The statement up to VALUES, and what follows it for one row.
    head: str
    row: str
    #: The columns in the order of the statement.
    order: Sequence[str]
    #: By column, where the driver does not take the value as it is.
    converters: dict[str, Converter]
    #: What ends the statement.
    tail: str

    def statement(self, rows: int) -> str:
        return f"{self.head} VALUES {', '.join(repeat(self.row, rows))}{self.tail}"


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
        given = dict(zip(self._varying, zip(*rows, strict=True), strict=True))
        given |= {name: (same[name],) * len(rows) for name in self._same}
        columns = _converted(given, plan.converters)
        parameters = list(zip(*(columns[name] for name in plan.order), strict=True))
        for start in range(0, len(parameters), ROWS_A_STATEMENT):
            some = parameters[start : start + ROWS_A_STATEMENT]
            conn.exec_driver_sql(plan.statement(len(some)), tuple(chain.from_iterable(some)))

    def _plan(self, dialect: Dialect) -> _Plan:
        names = [*self._varying, *self._same]
        compiled = insert(self._table).inline().compile(dialect=dialect, column_keys=names)
        assert isinstance(compiled, SQLCompiler)
        head, _, row = _NAMED.sub("%s", str(compiled)).partition(" VALUES ")
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
        # A parameter must not be called like a column that is set.
        self._statement = (
            update(table)
            .where(table.c.id == bindparam("_id"))
            .values({name: bindparam(f"_{name}") for name in columns})
        )
        self._plans: dict[str, tuple[SQLCompiler, dict[str, Converter]]] = {}

    def __call__(self, conn: Connection, rows: Sequence[Row]) -> None:
        """Update from rows that begin with the id and go on in the order of the columns."""
        if not rows:
            return
        if conn.dialect.name not in self._plans:
            self._plans[conn.dialect.name] = self._plan(conn.dialect)
        compiled, converters = self._plans[conn.dialect.name]
        columns = _converted(dict(zip(self._names, zip(*rows, strict=True), strict=True)), converters)
        if compiled.positiontup:
            ordered = [columns[name.removeprefix("_")] for name in compiled.positiontup]
            conn.exec_driver_sql(str(compiled), list(zip(*ordered, strict=True)))
        else:
            names = [f"_{name}" for name in columns]
            values = zip(*columns.values(), strict=True)
            conn.exec_driver_sql(str(compiled), [dict(zip(names, row, strict=True)) for row in values])

    def _plan(self, dialect: Dialect) -> tuple[SQLCompiler, dict[str, Converter]]:
        compiled = self._statement.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)
        return compiled, _converters(self._table, self._names, dialect)


def _converters(table: Table, names: Iterable[str], dialect: Dialect) -> dict[str, Converter]:
    found = {name: table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names}
    return {name: convert for name, convert in found.items() if convert is not None}


def _converted(columns: dict[str, Row], converters: dict[str, Converter]) -> dict[str, Row]:
    """Column by column, so that a converter is looked up once for all rows."""
    return columns | {name: _convert_all(convert, columns[name]) for name, convert in converters.items()}


def _convert_all(convert: Converter, values: Row) -> Row:
    """Once where all are one and the same, such as the moment of a transaction."""
    first = values[0]
    if all(value is first for value in values):
        return (convert(first),) * len(values)
    return tuple(map(convert, values))
