"""API keys in the store: only their hashes."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, exists, func, insert, or_, select, text, update

from catchment.domain.account import ApiKey, KeyHolder
from catchment.domain.caller import Role, Scope
from catchment.store import users
from catchment.store.tables import api_keys
from catchment.store.tables import users as users_table
from catchment.store.types import read_one, read_row

#: What is told of the beginning of a key that nobody knows.
NEVER_SHOWN = ""
#: How often the time of last use is written down: a busy key is not a reason to write at every request.
TOUCH_EVERY = timedelta(minutes=1)


def add(
    conn: Connection,
    *,
    user_id: int | None,
    role: Role,
    scope: Scope,
    name: str,
    prefix: str,
    key_hash: str,
    now: datetime,
) -> ApiKey:
    values = {
        "user_id": user_id,
        "role": role,
        "scope": scope,
        "name": name,
        "prefix": prefix,
        "key_hash": key_hash,
        "is_active": True,
        "created_at": now,
    }
    return _key(conn.execute(insert(api_keys).returning(*api_keys.c), values).one())


def list_all(conn: Connection) -> list[ApiKey]:
    return [_key(row) for row in conn.execute(select(api_keys).order_by(api_keys.c.id))]


def list_of(conn: Connection, user_id: int) -> list[ApiKey]:
    rows = conn.execute(select(api_keys).where(api_keys.c.user_id == user_id).order_by(api_keys.c.id))
    return [_key(row) for row in rows]


def list_roles(conn: Connection) -> list[ApiKey]:
    """The active ones that act for nobody in particular."""
    which = (api_keys.c.user_id.is_(None), api_keys.c.is_active.is_(True))
    return [_key(row) for row in conn.execute(select(api_keys).where(*which).order_by(api_keys.c.id))]


def count_active(conn: Connection, user_ids: Collection[int]) -> dict[int, int]:
    """By user; who has none is not in it."""
    which = (api_keys.c.user_id.in_(user_ids), api_keys.c.is_active.is_(True))
    rows = conn.execute(select(api_keys.c.user_id, func.count()).where(*which).group_by(api_keys.c.user_id))
    return {row[0]: row[1] for row in rows}


def revoke(conn: Connection, key_id: int, *, owner_id: int | None = None) -> ApiKey | None:
    """Refuse the key from now on; None if there is no such key, or if it is not this owner's."""
    which = [api_keys.c.id == key_id]
    if owner_id is not None:
        which.append(api_keys.c.user_id == owner_id)
    return read_one(conn, update(api_keys).where(*which).values(is_active=False).returning(*api_keys.c), _key)


def find_holder(conn: Connection, key_hash: str) -> KeyHolder | None:
    """The active key of this hash, with its user."""
    return _holder(conn, api_keys.c.key_hash == key_hash)


def get_holder(conn: Connection, key_id: int) -> KeyHolder | None:
    """The key of this id if it is active, with its user."""
    return _holder(conn, api_keys.c.id == key_id)


def find_admin(conn: Connection) -> ApiKey | None:
    """The oldest active key that may do everything and acts for nobody in particular."""
    which = (api_keys.c.is_active.is_(True), api_keys.c.user_id.is_(None))
    rights = (api_keys.c.role == Role.ADMIN, api_keys.c.scope == Scope.ADMIN)
    return read_one(conn, select(api_keys).where(*which, *rights).order_by(api_keys.c.id).limit(1), _key)


def needs_touch(key: ApiKey, *, now: datetime) -> bool:
    return key.last_used_at is None or key.last_used_at <= now - TOUCH_EVERY


def touch(conn: Connection, key_id: int, *, now: datetime) -> None:
    stale = or_(api_keys.c.last_used_at.is_(None), api_keys.c.last_used_at <= now - TOUCH_EVERY)
    conn.execute(update(api_keys).where(api_keys.c.id == key_id, stale).values(last_used_at=now))


def nobody_exists(conn: Connection) -> bool:
    """Neither user nor key that was ever shown. Whoever asks in a write keeps others from adding until it ends."""
    if conn.dialect.name == "postgresql":
        # Two first starts at the same moment must not both find nobody.
        conn.execute(text("LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE"))
    found = select(
        or_(exists(select(users_table.c.id)), exists(select(api_keys.c.id).where(api_keys.c.prefix != NEVER_SHOWN)))
    )
    return not conn.execute(found).scalar_one()


def _holder(conn: Connection, which: ColumnElement[bool]) -> KeyHolder | None:
    row = conn.execute(select(api_keys).where(which, api_keys.c.is_active.is_(True))).one_or_none()
    if row is None:
        return None
    user = users.get(conn, row.user_id) if row.user_id is not None else None
    if user is not None and not user.is_active:
        return None
    return KeyHolder(key=_key(row), user=user)


def _key(row: Row[Any]) -> ApiKey:
    return read_row(ApiKey, row, role=Role(row.role), scope=Scope(row.scope))
