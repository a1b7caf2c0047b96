"""Subscriptions in the store: which sources a user follows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, select

from catchment.store.tables import sources, subscriptions


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
    statement = (
        select(
            sources.c.id,
            sources.c.name,
            sources.c.type,
            sources.c.is_active,
            sources.c.is_deleted,
            subscriptions.c.created_at,
        )
        .join(sources, sources.c.id == subscriptions.c.source_id)
        .where(subscriptions.c.user_id == user_id)
        .order_by(subscriptions.c.id)
    )
    return [
        Subscription(
            source_id=row.id,
            name=row.name,
            type=row.type,
            is_active=row.is_active,
            source_deleted=row.is_deleted,
            subscribed_at=row.created_at,
        )
        for row in conn.execute(statement)
    ]


def source_ids(conn: Connection, user_id: int) -> set[int]:
    statement = select(subscriptions.c.source_id).where(subscriptions.c.user_id == user_id)
    return set(conn.execute(statement).scalars())


def remove(conn: Connection, user_id: int, source_id: int) -> bool:
    """True if there was such a subscription. What was read of it goes along."""
    # Here, as most who ask for subscriptions read nothing.
    from catchment.store import reading

    reading.forget_source(conn, user_id, source_id)
    mine = (subscriptions.c.user_id == user_id) & (subscriptions.c.source_id == source_id)
    return conn.execute(delete(subscriptions).where(mine)).rowcount > 0
