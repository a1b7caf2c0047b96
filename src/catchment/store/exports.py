"""Whole tables on their way out, a page after another by their numbers: no page costs more than the first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Table, func, or_, select, true

from catchment.domain.export import COLUMNS, ExportKind, ExportQuery, ExportRow, comment_rows
from catchment.store.platform_tables import notes, tweets
from catchment.store.sources import seen_by
from catchment.store.tables import raw_items, sources

_TABLES = {
    ExportKind.ITEMS: (raw_items, raw_items.c.fetched_at),
    ExportKind.NOTES: (notes, notes.c.extracted_at),
    ExportKind.COMMENTS: (notes, notes.c.extracted_at),
    ExportKind.TWEETS: (tweets, tweets.c.db_created_at),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPage:
    rows: Sequence[ExportRow]
    #: How many of the table were read for it, and the number of the last; 0 at the end.
    read: int
    last_id: int


def count(conn: Connection, query: ExportQuery) -> int:
    """How many rows of the table are to be read."""
    found: int = conn.execute(_wanted(query, select(func.count()))).scalar_one()
    return found


def read_page(conn: Connection, query: ExportQuery, *, after_id: int, limit: int) -> ExportPage:
    table = _TABLES[query.what][0]
    columns = [table.c[name] for name in _stored_columns(query.what, table)]
    beside = (
        [sources.c.name.label("source_name"), sources.c.type.label("source_type")]
        if query.what is ExportKind.ITEMS
        else []
    )
    statement = _wanted(query, select(table.c.id.label("export_id"), *columns, *beside))
    page = conn.execute(statement.where(table.c.id > after_id).order_by(table.c.id).limit(limit))
    found = rows = [row._asdict() for row in page]
    last_id = found[-1]["export_id"] if found else 0
    if query.what is ExportKind.COMMENTS:
        rows = [row for note in found for row in comment_rows(_of_note(note), note["comment_list"])]
    return ExportPage(rows=rows, read=len(found), last_id=last_id)


def _stored_columns(what: ExportKind, table: Table) -> list[str]:
    if what is ExportKind.COMMENTS:
        return ["platform", "note_id", "source_id", "comment_list"]
    return [name for name in COLUMNS[what] if name in table.c]


def _of_note(row: ExportRow) -> ExportRow:
    return {name: row[name] for name in ("platform", "note_id", "source_id")}


def _wanted(query: ExportQuery, statement: Select[Any]) -> Select[Any]:
    table, at = _TABLES[query.what]
    joined = statement.select_from(table)
    if table is not tweets:
        # A note may have outlived its source; whoever sees all sees it.
        joined = statement.select_from(table.outerjoin(sources, sources.c.id == table.c.source_id))
        joined = joined.where(_seen(query, table))
    return joined.where(*_bounds(query, table, at))


def _seen(query: ExportQuery, table: Table) -> ColumnElement[bool]:
    seen = seen_by(query.caller)
    return or_(seen, table.c.source_id.is_(None)) if query.caller.sees_all else seen


def _bounds(query: ExportQuery, table: Table, at: ColumnElement[object]) -> Iterator[ColumnElement[bool]]:
    yield true()
    if query.source_id is not None:
        yield table.c.source_id == query.source_id
    if query.since is not None:
        yield at >= query.since
    if query.until is not None:
        yield at < query.until
