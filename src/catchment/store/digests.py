"""Digests in the store."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, insert, or_, select, true

from catchment.domain.caller import Caller
from catchment.domain.feed import Digest, DigestType, NewDigest
from catchment.errors import InvalidInput
from catchment.store import users
from catchment.store.tables import digests
from catchment.store.tables import users as users_table
from catchment.store.types import as_row, read_one, read_row


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestQuery:
    """Which digests to list, newest first: those that a caller may see, or of those everybody's and one user's."""

    #: Who asks.
    caller: Caller
    shelf_of: int | None = None
    type: DigestType | None = None
    since: datetime | None = None
    limit: int = 20
    offset: int = 0


def add(conn: Connection, new: NewDigest) -> int:
    if new.user_id is not None and users.get(conn, new.user_id) is None:
        raise InvalidInput(f"There is no user {new.user_id}.", field="user_id")
    values = {**as_row(new), "metadata": dict(new.metadata)}
    return int(conn.execute(insert(digests).returning(digests.c.id), values).scalar_one())


def get(conn: Connection, digest_id: int, caller: Caller) -> Digest | None:
    """The digest, if it is there and theirs to see."""
    statement = select(digests).where(digests.c.id == digest_id, _visible_to(caller))
    return read_one(conn, statement, _digest)


def list_digests(conn: Connection, query: DigestQuery) -> list[Digest]:
    statement = (
        select(digests)
        .where(*_conditions(query))
        .order_by(digests.c.created_at.desc(), digests.c.id.desc())
        .limit(query.limit)
        .offset(query.offset)
    )
    return [_digest(row) for row in conn.execute(statement)]


def count(conn: Connection, query: DigestQuery) -> int:
    """How many there are in all, whatever the page."""
    return conn.execute(select(func.count()).select_from(digests).where(*_conditions(query))).scalar_one()


def _conditions(query: DigestQuery) -> list[ColumnElement[bool]]:
    conditions = [_visible_to(query.caller)]
    if query.shelf_of is not None:
        conditions.append(or_(digests.c.user_id.is_(None), digests.c.user_id == query.shelf_of))
    if query.type is not None:
        conditions.append(digests.c.type == query.type)
    if query.since is not None:
        conditions.append(digests.c.created_at >= query.since)
    return conditions


def _visible_to(caller: Caller) -> ColumnElement[bool]:
    """The one rule: everybody's, those of whoever shows theirs, and one's own; the service and admins see all."""
    if caller.sees_all:
        return true()
    shown_by = select(users_table.c.id).where(users_table.c.digests_public.is_(True), users_table.c.is_active.is_(True))
    seen = or_(digests.c.user_id.is_(None), digests.c.user_id.in_(shown_by))
    return seen if caller.user_id is None else or_(seen, digests.c.user_id == caller.user_id)


def _digest(row: Row[Any]) -> Digest:
    return read_row(Digest, row, type=DigestType(row.type))
