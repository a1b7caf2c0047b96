"""Copies of notes in tables outside: which notes are still to be copied, and what became of each attempt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, and_, exists, func, or_, select

from catchment.domain.note import DueNote
from catchment.store.bulk import insert_into
from catchment.store.platform_tables import note_copies, notes
from catchment.store.tables import candidates

_PLAIN = (
    "id", "platform", "idempotency_key", "note_id", "url", "published_at", "title", "content", "note_type", "images",
    "video_url", "likes", "collects", "comments", "shares", "author_id", "author_name", "tags", "extracted_at",
    "exec_meta",
)  # fmt: skip


def due(conn: Connection, sink: str, *, now: datetime, limit: int) -> list[DueNote]:
    """The oldest notes that are not there yet and whose time has come."""
    ids = list(conn.scalars(_waiting(sink, now).limit(limit)))
    copy = and_(note_copies.c.note_id == notes.c.id, note_copies.c.sink == sink)
    found = and_(candidates.c.platform == notes.c.platform, candidates.c.native_id == notes.c.note_id)
    statement = (
        select(
            *(notes.c[name] for name in _PLAIN),
            notes.c.source_id.label("topic_id"),
            func.coalesce(candidates.c.attempts, 0).label("retry_count"),
            candidates.c.last_error_code,
            func.coalesce(note_copies.c.attempts, 0).label("attempts"),
        )
        .select_from(notes.outerjoin(note_copies, copy).outerjoin(candidates, found))
        .where(notes.c.id.in_(ids))
        .order_by(notes.c.id)
    )
    return [_due(dict(row)) for row in conn.execute(statement).mappings()]


def _waiting(sink: str, now: datetime) -> Select[tuple[int]]:
    """Numbers alone, which an index holds. A sum to order by, or SQLite would go through the notes themselves."""
    settled = exists().where(
        note_copies.c.note_id == notes.c.id,
        note_copies.c.sink == sink,
        or_(note_copies.c.copied_at.is_not(None), note_copies.c.next_try_at > now),
    )
    return select(notes.c.id).where(~settled).order_by(notes.c.id + 0)


def record_copied(conn: Connection, sink: str, records: Mapping[int, str], *, now: datetime) -> None:
    """By note, the id of the record that holds it."""
    rows = [
        {"note_id": note_id, "record_id": record_id, "copied_at": now, "next_try_at": None, "last_error": None}
        for note_id, record_id in records.items()
    ]
    _upsert(conn, sink, rows)


def record_failed(conn: Connection, sink: str, note_ids: Iterable[int], *, error: str, next_try_at: datetime) -> None:
    rows = [
        {"note_id": note_id, "record_id": None, "copied_at": None, "next_try_at": next_try_at, "last_error": error}
        for note_id in note_ids
    ]
    _upsert(conn, sink, rows)


def _upsert(conn: Connection, sink: str, rows: list[dict[str, Any]]) -> None:
    """One more attempt of each; what was copied stays so."""
    statement = insert_into(conn, note_copies)
    changed = {name: statement.excluded[name] for name in ("record_id", "copied_at", "next_try_at", "last_error")}
    statement = statement.on_conflict_do_update(
        index_elements=[note_copies.c.note_id, note_copies.c.sink],
        set_={**changed, "attempts": note_copies.c.attempts + 1},
        where=note_copies.c.copied_at.is_(None),
    )
    conn.execute(statement, [{"sink": sink, "attempts": 1, **row} for row in rows])


def _due(row: Mapping[str, Any]) -> DueNote:
    return DueNote(**{**row, "images": tuple(row["images"]), "tags": tuple(row["tags"])})
