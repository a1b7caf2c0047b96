"""Subscriptions in the store: which sources a user follows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Select, delete, select

from catchment.store.tables import sources, subscriptions
from catchment.store.types import among, read_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    source_id: int
    name: str
    type: str
    is_active: bool
    #: The source is gone; the subscription tells of it until it is given up.
    source_deleted: bool
    subscribed_at: datetime


def list_of(conn: Connection, user_id: int) -> list[Subscription]:
    columns = (
        sources.c.id.label("source_id"),
        *(sources.c.name, sources.c.type, sources.c.is_active),
        sources.c.is_deleted.label("source_deleted"),
        subscriptions.c.created_at.label("subscribed_at"),
    )
    statement: Select[Any] = (
        select(*columns)
        .join(sources, sources.c.id == subscriptions.c.source_id)
        .where(subscriptions.c.user_id == user_id)
        .order_by(subscriptions.c.id)
    )
    return [read_row(Subscription, row) for row in conn.execute(statement)]


def followed_of(conn: Connection, user_id: int, source_ids: Sequence[int]) -> set[int]:
    """Those of the sources that somebody subscribed to."""
    mine = (subscriptions.c.user_id == user_id, among(subscriptions.c.source_id, source_ids))
    return set(conn.execute(select(subscriptions.c.source_id).where(*mine)).scalars())


def remove(conn: Connection, user_id: int, source_id: int) -> bool:
    """True if there was such a subscription. What was read of it goes along."""
    # Here, as most who ask for subscriptions read nothing.
    from catchment.store import reading

    reading.forget_source(conn, user_id, source_id)
    mine = (subscriptions.c.user_id == user_id) & (subscriptions.c.source_id == source_id)
    return conn.execute(delete(subscriptions).where(mine)).rowcount > 0
