"""Users in the store."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from catchment.domain.account import Login, User
from catchment.errors import Conflict
from catchment.store.tables import users
from catchment.store.types import read_one, read_row


def add(
    conn: Connection,
    *,
    email: str,
    name: str,
    slug: str,
    is_admin: bool,
    password_hash: str | None = None,
    now: datetime,
) -> User:
    """Store a user; a taken slug gets a number. A known address is a Conflict."""
    # Here, as who only asks for names publishes nothing.
    from catchment.domain.feed import free_slug

    twin = find_by_email(conn, email)
    if twin is not None:
        raise Conflict(f"{email} is a user already (id {twin.id}).", existing_id=twin.id)
    values = {
        "email": email,
        "name": name,
        "slug": free_slug(slug, _taken(conn, slug)),
        "is_admin": is_admin,
        "password_hash": password_hash,
        "created_at": now,
    }
    try:
        with conn.begin_nested():
            return _user(conn.execute(insert(users).returning(*users.c), values).one())
    except IntegrityError as error:
        raise Conflict(f"{email} or its short name was taken at this very moment; try again.") from error


def get(conn: Connection, user_id: int) -> User | None:
    return read_one(conn, select(users).where(users.c.id == user_id), _user)


def find_by_email(conn: Connection, email: str) -> User | None:
    return read_one(conn, select(users).where(users.c.email == email), _user)


def find_by_slug(conn: Connection, slug: str) -> User | None:
    return read_one(conn, select(users).where(users.c.slug == slug), _user)


def find_login(conn: Connection, email: str) -> Login | None:
    row = conn.execute(select(users).where(users.c.email == email)).one_or_none()
    return Login(user=_user(row), password_hash=row.password_hash, version=row.login_version) if row else None


def get_at_version(conn: Connection, user_id: int, version: int) -> User | None:
    """The user, if active and unchanged since a token or session of this version was handed out."""
    which = (users.c.id == user_id, users.c.is_active.is_(True), users.c.login_version == version)
    return read_one(conn, select(users).where(*which), _user)


def set_password(conn: Connection, user_id: int, password_hash: str, *, from_version: int | None = None) -> User | None:
    """Sign-ins of before are void. None if there is no such user, or not at that version any more."""
    which = [users.c.id == user_id]
    if from_version is not None:
        which.append(users.c.login_version == from_version)
    return _change(conn, *which, password_hash=password_hash)


def set_active(conn: Connection, user_id: int, *, is_active: bool) -> User | None:
    """Sign-ins of before are void, also when the user is let in again. None if there is no such user."""
    return _change(conn, users.c.id == user_id, is_active=is_active)


def void_logins(conn: Connection, user_id: int) -> User | None:
    """Sign-ins of before are void, those of reader apps too. None if there is no such user."""
    return _change(conn, users.c.id == user_id)


def set_digests_public(conn: Connection, user_id: int, *, is_public: bool) -> User | None:
    statement = update(users).where(users.c.id == user_id).values(digests_public=is_public)
    return read_one(conn, statement.returning(*users.c), _user)


def list_all(conn: Connection, *, limit: int | None = None, offset: int = 0) -> list[User]:
    return [_user(row) for row in conn.execute(select(users).order_by(users.c.id).limit(limit).offset(offset))]


def has_admin_with_password(conn: Connection) -> bool:
    """Whether anybody who may do everything can sign in by a password."""
    which = (users.c.is_admin.is_(True), users.c.is_active.is_(True), users.c.password_hash.is_not(None))
    return conn.execute(select(users.c.id).where(*which).limit(1)).first() is not None


def count(conn: Connection) -> int:
    return conn.execute(select(func.count()).select_from(users)).scalar_one()


def names(conn: Connection, ids: Collection[int]) -> dict[int, str]:
    rows = conn.execute(select(users.c.id, users.c.name).where(users.c.id.in_(ids)))
    return {row.id: row.name for row in rows}


def _change(conn: Connection, *which: ColumnElement[bool], **values: Any) -> User | None:
    statement = update(users).where(*which).values(login_version=users.c.login_version + 1, **values)
    return read_one(conn, statement.returning(*users.c), _user)


def _taken(conn: Connection, wanted: str) -> set[str]:
    alike = select(users.c.slug).where(users.c.slug.startswith(wanted, autoescape=True))
    return set(conn.execute(alike).scalars())


def _user(row: Row[Any]) -> User:
    return read_row(User, row)
