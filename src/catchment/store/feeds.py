"""Saved feeds in the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, delete, insert, or_, select, true, update
from sqlalchemy.exc import IntegrityError

from catchment.domain.caller import Caller
from catchment.domain.feed import NewFeed, SavedFeed, read_feed_filter
from catchment.errors import Conflict
from catchment.store.tables import feeds, users
from catchment.store.types import as_row, read_one, read_row


def add(conn: Connection, new: NewFeed, *, now: datetime) -> SavedFeed:
    """Store a feed; a taken short name is a Conflict."""
    values = {**as_row(new), "filter": dict(new.filter), "version": 0, "created_at": now, "updated_at": now}
    try:
        with conn.begin_nested():
            conn.execute(insert(feeds), values)
    except IntegrityError as error:
        raise _taken(new.slug, find(conn, new.slug)) from error
    found = find(conn, new.slug)
    assert found is not None
    return found


def check_free(conn: Connection, slug: str) -> str:
    """The short name itself; one that is taken is a Conflict."""
    if twin := find(conn, slug):
        raise _taken(slug, twin)
    return slug


def _taken(slug: str, twin: SavedFeed | None) -> Conflict:
    return Conflict(f"There is a feed {slug} already.", existing_id=twin.id if twin else None)


def find(conn: Connection, slug: str, *, for_change: bool = False) -> SavedFeed | None:
    statement = _feeds().where(feeds.c.slug == slug)
    return read_one(conn, statement.with_for_update(of=feeds) if for_change else statement, saved_feed)


def slugs_like(conn: Connection, slug: str) -> set[str]:
    """Which of it and its numbered namesakes are taken."""
    alike = or_(feeds.c.slug == slug, feeds.c.slug.startswith(f"{slug}-", autoescape=True))
    return set(conn.execute(select(feeds.c.slug).where(alike)).scalars())


def list_visible(conn: Connection, caller: Caller) -> list[SavedFeed]:
    rows = conn.execute(_feeds().where(_visible_to(caller)).order_by(feeds.c.slug))
    return [saved_feed(row) for row in rows]


def list_owned(conn: Connection, owner_id: int | None) -> list[SavedFeed]:
    rows = conn.execute(_feeds().where(feeds.c.owner_id.is_not_distinct_from(owner_id)).order_by(feeds.c.id))
    return [saved_feed(row) for row in rows]


def change(conn: Connection, feed_id: int, values: Mapping[str, Any], *, now: datetime) -> None:
    conn.execute(
        update(feeds).where(feeds.c.id == feed_id).values(**values, version=feeds.c.version + 1, updated_at=now)
    )


def remove(conn: Connection, feed_id: int) -> None:
    conn.execute(delete(feeds).where(feeds.c.id == feed_id))


def saved_feed(row: Row[Any]) -> SavedFeed:
    is_owned = row.owner_id is not None
    return read_row(
        SavedFeed,
        row,
        filter=read_feed_filter(row.filter),
        sees_all=not is_owned or bool(row.owner_is_admin),
        is_stopped=is_owned and not row.owner_is_active,
    )


def _feeds() -> Select[Any]:
    owner = (users.c.is_admin.label("owner_is_admin"), users.c.is_active.label("owner_is_active"))
    return select(*feeds.c, *owner).outerjoin(users, users.c.id == feeds.c.owner_id)


def owner_is_active() -> ColumnElement[bool]:
    """Of a feed whose owner is joined to it; that of nobody has none who could be disabled."""
    return or_(feeds.c.owner_id.is_(None), users.c.is_active.is_(True))


def _visible_to(caller: Caller) -> ColumnElement[bool]:
    """`SavedFeed.may_be_seen_by` is the same rule."""
    if caller.sees_all:
        return true()
    public = and_(feeds.c.is_public.is_(True), owner_is_active())
    return public if caller.user_id is None else or_(public, feeds.c.owner_id == caller.user_id)
