"""Source packs in the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from catchment.domain.feed import free_slug
from catchment.domain.listing import Pack
from catchment.errors import Conflict
from catchment.store.tables import source_packs, sources
from catchment.store.types import read_one, read_row


def add(
    conn: Connection,
    *,
    slug: str,
    name: str,
    description: str,
    entries: Sequence[Mapping[str, Any]],
    is_public: bool,
    created_by: int | None,
    now: datetime,
) -> Pack:
    """Store a pack; a taken slug gets a number."""
    alike = select(source_packs.c.slug).where(source_packs.c.slug.startswith(slug, autoescape=True))
    values = {
        "slug": free_slug(slug, set(conn.execute(alike).scalars())),
        "name": name,
        "description": description,
        "sources_json": [dict(entry) for entry in entries],
        "is_public": is_public,
        "created_by": created_by,
        "install_count": 0,
        "created_at": now,
    }
    try:
        with conn.begin_nested():
            return _pack(conn.execute(insert(source_packs).returning(*source_packs.c), values).one())
    except IntegrityError as error:
        raise Conflict(f"The short name {values['slug']!r} was taken at this very moment; try again.") from error


def list_all(conn: Connection) -> list[Pack]:
    return [_pack(row) for row in conn.execute(select(source_packs).order_by(source_packs.c.id))]


def find(conn: Connection, slug: str) -> Pack | None:
    return read_one(conn, select(source_packs).where(source_packs.c.slug == slug), _pack)


def get(conn: Connection, pack_id: int) -> Pack | None:
    return read_one(conn, select(source_packs).where(source_packs.c.id == pack_id), _pack)


def count_install(conn: Connection, pack_id: int) -> None:
    more = source_packs.c.install_count + 1
    conn.execute(update(source_packs).where(source_packs.c.id == pack_id).values(install_count=more))


def remove(conn: Connection, pack_id: int) -> bool:
    return conn.execute(delete(source_packs).where(source_packs.c.id == pack_id)).rowcount > 0


def removed_by(conn: Connection, owner: int | None, hashes: Sequence[str]) -> set[str]:
    """Which of these sources their owner had and removed, and does not have again, by identity hash."""
    mine = select(sources.c.identity, sources.c.is_deleted).where(
        sources.c.identity.in_(hashes), sources.c.created_by.is_not_distinct_from(owner)
    )
    rows = conn.execute(mine).all()
    return {row.identity for row in rows if row.is_deleted} - {row.identity for row in rows if not row.is_deleted}


def _pack(row: Row[Any]) -> Pack:
    return read_row(Pack, row, sources=tuple(row.sources_json))
