"""Notes in the store: written once on their platform, whoever writes them and how often."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, select

from catchment.domain.note import Action, Crawled, NoteRef, Written, idempotency_key
from catchment.domain.note_json import note_to_json
from catchment.store.bulk import insert_or_ignore
from catchment.store.platform_tables import notes


def write(conn: Connection, crawled: Crawled, *, source_id: int, now: datetime) -> Written:
    """One statement decides: of two writes of one note the second is skipped, and names what the first one made."""
    row = _row(crawled, source_id=source_id, now=now)
    statement = insert_or_ignore(conn, notes).values(**row).returning(notes.c.id)
    created: int | None = conn.execute(statement).scalar_one_or_none()
    if created is not None:
        return Written(id=created, action=Action.CREATED)
    existing = find(conn, crawled.note.ref)
    assert existing is not None, "it stood in the way"
    return Written(id=existing, action=Action.SKIPPED)


def find(conn: Connection, ref: NoteRef) -> int | None:
    same = (notes.c.platform == ref.platform, notes.c.idempotency_key == idempotency_key(ref.note_id))
    return conn.execute(select(notes.c.id).where(*same)).scalar_one_or_none()


def _row(crawled: Crawled, *, source_id: int, now: datetime) -> dict[str, Any]:
    note = crawled.note
    shown = note_to_json(note)
    same = ("title", "content", "note_type", "images", "video_url", "likes", "collects", "comments", "shares")
    named = {name: shown[name] for name in (*same, "author_id", "author_name", "tags", "comment_list")}
    return named | {
        "platform": note.ref.platform,
        "note_id": note.ref.note_id,
        "idempotency_key": idempotency_key(note.ref.note_id),
        "source_id": source_id,
        "url": note.url,
        "published_at": note.published_at,
        "extracted_at": now,
        "exec_meta": dict(crawled.how),
    }
