"""Counts of what changed, so that a reader can be told that nothing did without a look at a single item.

Counting happens in the transaction of the change itself. A maximum of ids or times would be cheaper still, but it lies
where writers overlap: what gets the lower number may be seen later, and what is cleaned away has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, String, bindparam, literal_column, select
from sqlalchemy.dialects import postgresql, sqlite

from catchment.store.tables import changes, sources
from catchment.store.types import UtcDateTime

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
    ids = set(source_ids)
    if ids:
        conn.execute(_NOTE[conn.dialect.name], {"ids": list(ids), "cause": cause, "now": now})


def record_edit(conn: Connection, *, now: datetime) -> None:
    """Count a change of the catalogue: whoever sees what may be another now."""
    row = {"source_id": CATALOGUE, "cause": Cause.EDITED, "times": 1, "changed_at": now}
    conn.execute(_NOTE_EDIT[conn.dialect.name], row)


def _once_more(statement: Any) -> Any:
    """The statement with what is to be done where a row is there already."""
    return statement.on_conflict_do_update(
        index_elements=[changes.c.source_id, changes.c.cause],
        set_={"times": changes.c.times + 1, "changed_at": statement.excluded.changed_at},
    )


# All in one statement, and in one order: two who clean at once wait for each other at most once.
_FIRST_TIMES = (
    select(
        sources.c.id,
        bindparam("cause", type_=String),
        literal_column("1"),
        bindparam("now", type_=UtcDateTime),
    )
    .where(sources.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(sources.c.id)
)
_COLUMNS = ["source_id", "cause", "times", "changed_at"]
_INSERTS = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}
_NOTE = {name: _once_more(insert(changes).from_select(_COLUMNS, _FIRST_TIMES)) for name, insert in _INSERTS.items()}
_NOTE_EDIT = {name: _once_more(insert(changes)) for name, insert in _INSERTS.items()}
