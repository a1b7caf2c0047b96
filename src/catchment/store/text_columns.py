"""Every text in the database, whatever table it is in: for those who look for what should not be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnClause,
    Connection,
    Select,
    String,
    Text,
    cast,
    column,
    func,
    inspect,
    select,
    table,
    tuple_,
)

#: What identifies a row in its table.
Key = tuple[Any, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table as the database has it, which may be of another release."""

    name: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class TextRow:
    key: Key
    texts: Mapping[str, str]


def text_tables(conn: Connection) -> list[TextTable]:
    """Those that hold text and have a key to read them by; JSON counts as text."""
    inspector = inspect(conn)
    found = []
    for name in sorted(inspector.get_table_names()):
        columns = [one["name"] for one in inspector.get_columns(name) if isinstance(one["type"], String | JSON)]
        keys = inspector.get_pk_constraint(name)["constrained_columns"]
        if columns and keys:
            rows = conn.execute(select(func.count()).select_from(table(name))).scalar_one()
            found.append(TextTable(name=name, keys=tuple(keys), columns=tuple(columns), rows=rows))
    return found


def read_texts(conn: Connection, of: TextTable, *, after: Key | None, limit: int) -> Sequence[TextRow]:
    """The next rows in the order of their keys."""
    width = len(of.keys)
    return [
        TextRow(
            key=tuple(row[:width]),
            texts={name: text for name, text in zip(of.columns, row[width:], strict=True) if text},
        )
        for row in conn.execute(_page(of, after).limit(limit))
    ]


def _page(of: TextTable, after: Key | None) -> Select[Any]:
    keys: list[ColumnClause[Any]] = [column(name) for name in of.keys]
    # A key may be text as well, and would then be asked for twice under one name.
    texts = [cast(column(name), Text).label(f"text_{number}") for number, name in enumerate(of.columns)]
    statement = select(*keys, *texts).select_from(table(of.name)).order_by(*keys)
    return statement if after is None else statement.where(tuple_(*keys) > tuple_(*after))
