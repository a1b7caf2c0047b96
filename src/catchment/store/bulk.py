"""Many rows into one table, at the speed of the driver.

SQLAlchemy works out the parameters of every row anew, which costs more than storing it. Here the statement and the
conversion of each column are worked out once per store, and the rows go to the driver's `executemany` as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from sqlalchemy import Connection, Dialect, Table, insert
from sqlalchemy.sql.compiler import SQLCompiler

Row = tuple[Any, ...]
Converter = Callable[[Any], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    sql: str
    #: The columns in the order of the statement.
    order: Sequence[str]
    is_positional: bool
    #: By column, where the driver does not take the value as it is.
    converters: dict[str, Converter]


class BulkInsert:
    def __init__(self, table: Table, *, varying: Sequence[str], same: Sequence[str] = ()) -> None:
        self._table = table
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
        columns = self._converted(plan, rows, same)
        parameters = zip(*(columns[name] for name in plan.order), strict=False)
        if plan.is_positional:
            conn.exec_driver_sql(plan.sql, list(parameters))
        else:
            conn.exec_driver_sql(plan.sql, [dict(zip(plan.order, row, strict=True)) for row in parameters])

    def _converted(self, plan: _Plan, rows: Sequence[Row], same: dict[str, Any]) -> dict[str, Iterable[Any]]:
        """Column by column, so that a converter is looked up once for all rows."""
        columns: dict[str, Iterable[Any]] = dict(zip(self._varying, zip(*rows, strict=True), strict=True))
        columns |= {name: (same[name],) for name in self._same}
        columns |= {name: map(convert, columns[name]) for name, convert in plan.converters.items()}
        return columns | {name: repeat(*columns[name]) for name in self._same}

    def _plan(self, dialect: Dialect) -> _Plan:
        names = [*self._varying, *self._same]
        compiled = insert(self._table).compile(dialect=dialect, column_keys=names)
        assert isinstance(compiled, SQLCompiler)
        found = {name: self._table.c[name].type.dialect_impl(dialect).bind_processor(dialect) for name in names}
        return _Plan(
            sql=str(compiled),
            order=compiled.positiontup or names,
            is_positional=bool(compiled.positional),
            converters={name: convert for name, convert in found.items() if convert is not None},
        )
