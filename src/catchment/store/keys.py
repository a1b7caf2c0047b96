"""API keys in the store: only their hashes."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, exists, insert, or_, select, text, update

from catchment.domain.account import ApiKey, KeyHolder, User
from catchment.domain.caller import Role
from catchment.store.tables import api_keys, users

#: How often the time of last use is written down: a busy key is not a reason to write at every request.
TOUCH_EVERY = timedelta(minutes=1)


def add(
    conn: Connection, *, user_id: int | None, role: Role, name: str, prefix: str, key_hash: str, now: datetime
) -> ApiKey:
    values = {
        "user_id": user_id,
        "role": role,
        "name": name,
        "prefix": prefix,
        "key_hash": key_hash,
        "is_active": True,
        "created_at": now,
    }
    return _key(conn.execute(insert(api_keys).returning(*api_keys.c), values).one())


def list_all(conn: Connection) -> list[ApiKey]:
    return [_key(row) for row in conn.execute(select(api_keys).order_by(api_keys.c.id))]


def revoke(conn: Connection, key_id: int) -> ApiKey | None:
    """Refuse the key from now on; None if there is no such key."""
    statement = update(api_keys).where(api_keys.c.id == key_id).values(is_active=False).returning(*api_keys.c)
    row = conn.execute(statement).one_or_none()
    return _key(row) if row else None


def find_holder(conn: Connection, key_hash: str) -> KeyHolder | None:
    """The active key of this hash, with its user."""
    return _holder(conn, api_keys.c.key_hash == key_hash)


def get_holder(conn: Connection, key_id: int) -> KeyHolder | None:
    """The key of this id if it is active, with its user."""
    return _holder(conn, api_keys.c.id == key_id)


def needs_touch(key: ApiKey, *, now: datetime) -> bool:
    return key.last_used_at is None or key.last_used_at <= now - TOUCH_EVERY


def touch(conn: Connection, key_id: int, *, now: datetime) -> None:
    stale = or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at <= now - TOUCH_EVERY)
    conn.execute(update(api_keys).where(api_keys.c.id == key_id, stale).values(last_used_at=now))


def nobody_exists(conn: Connection) -> bool:
    """Neither user nor key. Whoever asks in a write keeps others from adding until it ends."""
    if conn.dialect.name == "postgresql":
        # Two first starts at the same moment must not both find nobody.
        conn.execute(text("LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE"))
    found = select(or_(exists(select(users.c.id)), exists(select(api_keys.c.id))))
    return not conn.execute(found).scalar_one()


def _holder(conn: Connection, which: ColumnElement[bool]) -> KeyHolder | None:
    columns = [
        *api_keys.c,
        users.c.email,
        users.c.name.label("user_name"),
        users.c.slug,
        users.c.is_admin,
        users.c.created_at.label("user_created_at"),
    ]
    statement = (
        select(*columns).outerjoin(users, users.c.id == api_keys.c.user_id).where(which, api_keys.c.is_active.is_(True))
    )
    row = conn.execute(statement).one_or_none()
    return KeyHolder(key=_key(row), user=_user(row)) if row else None


def _key(row: Row[Any]) -> ApiKey:
    return ApiKey(
        id=row.id,
        user_id=row.user_id,
        role=Role(row.role),
        name=row.name,
        prefix=row.prefix,
        is_active=row.is_active,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
    )


def _user(row: Row[Any]) -> User | None:
    if row.user_id is None:
        return None
    return User(
        id=row.user_id,
        email=row.email,
        name=row.user_name,
        slug=row.slug,
        is_admin=row.is_admin,
        created_at=row.user_created_at,
    )
