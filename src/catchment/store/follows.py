"""Whom the scraper follows, in the store. One that is given up stays, inactive, with its history."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from catchment.domain.tweet import Follow
from catchment.store.platform_tables import scraper_follows
from catchment.store.types import read_one, read_row


def list_all(conn: Connection, *, include_inactive: bool = False) -> list[Follow]:
    statement = select(scraper_follows).order_by(scraper_follows.c.username)
    if not include_inactive:
        statement = statement.where(scraper_follows.c.is_active.is_(True))
    return [_follow(row) for row in conn.execute(statement)]


def get(conn: Connection, username: str) -> Follow | None:
    return read_one(conn, select(scraper_follows).where(scraper_follows.c.username == username), _follow)


def add(conn: Connection, username: str, *, reason: str, added_by: str, now: datetime) -> Follow:
    values = {"username": username, "reason": reason, "added_by": added_by, "added_at": now, "is_active": True}
    return _follow(conn.execute(insert(scraper_follows).returning(*scraper_follows.c), values).one())


def change(conn: Connection, username: str, values: Mapping[str, Any]) -> Follow | None:
    """None if nobody of that name was ever followed."""
    there = scraper_follows.c.username == username
    statement = update(scraper_follows).where(there).values(**values).returning(*scraper_follows.c)
    return read_one(conn, statement, _follow)


def _follow(row: Row[Any]) -> Follow:
    return read_row(Follow, row)
