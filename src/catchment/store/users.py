"""Users in the store."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, insert, select
from sqlalchemy.exc import IntegrityError

from catchment.domain.account import User
from catchment.errors import Conflict
from catchment.store.tables import users


def add(conn: Connection, *, email: str, name: str, slug: str, is_admin: bool, now: datetime) -> User:
    """Store a user; a taken slug gets a number. A known address is a Conflict."""
    twin = find_by_email(conn, email)
    if twin is not None:
        raise Conflict(f"{email} is a user already (id {twin.id}).", existing_id=twin.id)
    values = {"email": email, "name": name, "slug": _free_slug(conn, slug), "is_admin": is_admin, "created_at": now}
    try:
        with conn.begin_nested():
            return _user(conn.execute(insert(users).returning(*users.c), values).one())
    except IntegrityError as error:
        raise Conflict(f"{email} or its short name was taken at this very moment; try again.") from error


def get(conn: Connection, user_id: int) -> User | None:
    return _one(conn.execute(select(users).where(users.c.id == user_id)).one_or_none())


def find_by_email(conn: Connection, email: str) -> User | None:
    return _one(conn.execute(select(users).where(users.c.email == email)).one_or_none())


def find_by_slug(conn: Connection, slug: str) -> User | None:
    return _one(conn.execute(select(users).where(users.c.slug == slug)).one_or_none())


def list_all(conn: Connection) -> list[User]:
    return [_user(row) for row in conn.execute(select(users).order_by(users.c.id))]


def names(conn: Connection, ids: Collection[int]) -> dict[int, str]:
    rows = conn.execute(select(users.c.id, users.c.name).where(users.c.id.in_(ids)))
    return {row.id: row.name for row in rows}


def _free_slug(conn: Connection, wanted: str) -> str:
    alike = select(users.c.slug).where(users.c.slug.startswith(wanted, autoescape=True))
    taken = set(conn.execute(alike).scalars())
    slug, number = wanted, 0
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug


def _one(row: Row[Any] | None) -> User | None:
    return _user(row) if row else None


def _user(row: Row[Any]) -> User:
    return User(
        id=row.id, email=row.email, name=row.name, slug=row.slug, is_admin=row.is_admin, created_at=row.created_at
    )
