"""Counts of what changed, so that a reader can be told that nothing did without a look at a single item.

Counting happens in the transaction of the change itself. A maximum of ids or times would be cheaper still, but it lies
where writers overlap: what gets the lower number may be seen later, and what is cleaned away has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, Connection, Select, String, bindparam, cast, func, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite

from catchment.store.tables import changes, sources
from catchment.store.types import Json, UtcDateTime

#: Stands for the catalogue as a whole: which sources there are, and what people say of them.
CATALOGUE = 0


class Cause(StrEnum):
    """Each has a row of its own, or a collector and a cleaner, who hold different locks already, could wait for each
    other for ever. Two collectors never meet: a source is collected by one at a time.
    """

    COLLECTED = "collected"
    CLEANED = "cleaned"
    EDITED = "edited"


def record(conn: Connection, source_ids: Iterable[int], cause: Cause, *, now: datetime) -> None:
    """Count one change for each of these sources."""
    record_items(conn, dict.fromkeys(source_ids, 0), cause, now=now)


def record_items(conn: Connection, more: Mapping[int, int], cause: Cause, *, now: datetime) -> None:
    """Count one change for each of these sources, and how many items more (or less) it has."""
    if more:
        conn.execute(_NOTE[conn.dialect.name], {"more": more, "cause": cause, "now": now})


def item_counts(conn: Connection, source_ids: Sequence[int]) -> dict[int, int]:
    """How many items these sources have, as it was counted when they came and went."""
    if not source_ids:
        return {}
    return {row.source_id: int(row.items) for row in conn.execute(_COUNTS, {"ids": source_ids})}


def count_items(conn: Connection) -> int:
    return int(conn.execute(select(func.coalesce(func.sum(changes.c.item_count), 0))).scalar_one())


def edits(conn: Connection) -> int:
    """How often the catalogue changed: while this stays the same, so does who sees which source."""
    counted = select(changes.c.times).where(changes.c.source_id == CATALOGUE, changes.c.cause == Cause.EDITED)
    return conn.execute(counted).scalar() or 0


def record_edit(conn: Connection, *, now: datetime) -> None:
    """Count a change of the catalogue: whoever sees what may be another now."""
    row = {"source_id": CATALOGUE, "cause": Cause.EDITED, "times": 1, "item_count": 0, "changed_at": now}
    conn.execute(_NOTE_EDIT[conn.dialect.name], row)


def _once_more(statement: Any) -> Any:
    """The statement with what is to be done where a row is there already."""
    return statement.on_conflict_do_update(
        index_elements=[changes.c.source_id, changes.c.cause],
        set_={
            "times": changes.c.times + 1,
            "item_count": changes.c.item_count + statement.excluded.item_count,
            "changed_at": statement.excluded.changed_at,
        },
    )


def _first_times(unpack: Any) -> Select[Any]:
    """All in one statement, and in one order: two who clean at once wait for each other at most once."""
    given = unpack(bindparam("more", type_=Json)).table_valued("key", "value").alias("given")
    return (
        select(
            sources.c.id,
            bindparam("cause", type_=String),
            literal_column("1"),
            cast(given.c.value, BigInteger),
            bindparam("now", type_=UtcDateTime),
        )
        .where(sources.c.id == cast(given.c.key, BigInteger))
        .order_by(sources.c.id)
    )


_COLUMNS = ["source_id", "cause", "times", "item_count", "changed_at"]
_INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_UNPACK = {"sqlite": func.json_each, "postgresql": func.jsonb_each_text}
_NOTE = {
    name: _once_more(insert(changes).from_select(_COLUMNS, _first_times(_UNPACK[name])))
    for name, insert in _INSERTS.items()
}
_NOTE_EDIT = {name: _once_more(insert(changes)) for name, insert in _INSERTS.items()}
_COUNTS = (
    select(changes.c.source_id, func.sum(changes.c.item_count).label("items"))
    .where(changes.c.source_id.in_(bindparam("ids", expanding=True)))
    .group_by(changes.c.source_id)
)
