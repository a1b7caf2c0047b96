"""The outbox in the store: events written in the transaction of what they tell of, and what became of each delivery."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, case, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from catchment.domain.outbox import Delivery, Event, Topic, Webhook, WebhookFormat
from catchment.errors import Conflict
from catchment.store.tables import outbox, webhooks
from catchment.store.types import read_one, read_row

# As the partial index of what waits says it, so that both planners see that it serves.
_WAITING = outbox.c.next_try_at.is_not(None)


def emit(conn: Connection, topic: Topic, payloads: Iterable[Mapping[str, Any]], *, now: datetime) -> list[str]:
    """Put down each event once for everybody who listens, and return the ids of the events.

    Where nobody listens there are none, and the payloads are not even made.
    """
    listening = [hook.id for hook in list_webhooks(conn) if hook.is_active and topic in hook.topics]
    if not listening:
        return []
    events = {str(uuid.uuid4()): Event(topic=topic, payload=payload) for payload in payloads}
    deliveries = [_delivery_row(event, hook_id, key, now) for key, event in events.items() for hook_id in listening]
    if deliveries:
        conn.execute(insert(outbox), deliveries)
    return list(events)


def send_to(conn: Connection, webhook_id: int, event: Event, *, now: datetime) -> Delivery:
    """An event to one webhook alone, whatever it listens to."""
    row = _delivery_row(event, webhook_id, str(uuid.uuid4()), now)
    return _delivery(conn.execute(insert(outbox).returning(*outbox.c), row).one())


def oldest_due(conn: Connection, *, now: datetime) -> list[Delivery]:
    """The oldest delivery that waits for each active webhook, where its time has come: later ones wait for it."""
    first = (
        select(func.min(outbox.c.id))
        .join(webhooks, webhooks.c.id == outbox.c.webhook_id)
        .where(_WAITING, webhooks.c.is_active.is_(True))
        .group_by(outbox.c.webhook_id)
    )
    statement = select(outbox).where(outbox.c.id.in_(first), outbox.c.next_try_at <= now).order_by(outbox.c.id)
    return [_delivery(row) for row in conn.execute(statement)]


def next_for(conn: Connection, webhook_id: int, *, now: datetime) -> Delivery | None:
    """The next delivery to a webhook, if its time has come."""
    statement = select(outbox).where(_WAITING, outbox.c.webhook_id == webhook_id).order_by(outbox.c.id).limit(1)
    row = conn.execute(statement).one_or_none()
    return _delivery(row) if row is not None and row.next_try_at <= now else None


def record_delivered(
    conn: Connection, delivery_id: int, *, now: datetime, payload: Mapping[str, Any] | None = None
) -> None:
    """`payload` is what was sent, where that is less than what was put down."""
    values = {"attempts": outbox.c.attempts + 1, "delivered_at": now, "next_try_at": None, "last_error": None}
    _change(conn, delivery_id, **values, **({} if payload is None else {"payload": dict(payload)}))


def drop(conn: Connection, delivery_id: int) -> None:
    """Nothing in it was for the webhook. It was not delivered, and does not count as if the webhook took it in."""
    conn.execute(delete(outbox).where(outbox.c.id == delivery_id))


def record_failed(
    conn: Connection, delivery_id: int, *, error: str, next_try_at: datetime | None, now: datetime
) -> None:
    dead_at = now if next_try_at is None else None
    _change(
        conn, delivery_id, attempts=outbox.c.attempts + 1, last_error=error, next_try_at=next_try_at, dead_at=dead_at
    )


def put_off(conn: Connection, delivery_id: int, *, until: datetime) -> None:
    """Nothing was sent, so this was no attempt."""
    _change(conn, delivery_id, next_try_at=until)


def redeliver(conn: Connection, delivery_id: int, *, now: datetime) -> Delivery | None:
    """Send an event again, dead or delivered, under the same event id."""
    values = {"next_try_at": now, "delivered_at": None, "dead_at": None, "attempts": 0, "last_error": None}
    again = update(outbox).where(outbox.c.id == delivery_id).values(**values).returning(*outbox.c)
    return read_one(conn, again, _delivery)


def list_deliveries(conn: Connection, *, webhook_id: int | None, limit: int) -> list[Delivery]:
    statement = select(outbox).order_by(outbox.c.id.desc()).limit(limit)
    if webhook_id is not None:
        statement = statement.where(outbox.c.webhook_id == webhook_id)
    return [_delivery(row) for row in conn.execute(statement)]


def telling_deliveries(conn: Connection) -> dict[int, Delivery]:
    """By webhook, what tells how it is: the first that waits if it failed, as all others wait for it, else the newest.

    One seek each for any webhook, however many were sent to it.
    """
    of_hook = outbox.c.webhook_id == webhooks.c.id
    failed = case((outbox.c.attempts > 0, outbox.c.id))
    first = select(failed).where(_WAITING, of_hook).order_by(outbox.c.id).limit(1)
    newest = select(outbox.c.id).where(of_hook).order_by(outbox.c.id.desc()).limit(1)
    told = select(
        func.coalesce(first.correlate(webhooks).scalar_subquery(), newest.correlate(webhooks).scalar_subquery())
    )
    statement = select(outbox).where(outbox.c.id.in_(told.select_from(webhooks)))
    return {row.webhook_id: _delivery(row) for row in conn.execute(statement)}


def delete_old(conn: Connection, *, before: datetime, limit: int) -> int:
    """Forget what was delivered or given up long ago."""
    old = select(outbox.c.id).where(outbox.c.next_try_at.is_(None), outbox.c.created_at < before).limit(limit)
    return conn.execute(delete(outbox).where(outbox.c.id.in_(old.scalar_subquery()))).rowcount


def add_webhook(conn: Connection, values: Mapping[str, Any], *, now: datetime) -> Webhook:
    row = {**values, "topics": list(values["topics"]), "is_active": True, "created_at": now}
    try:
        with conn.begin_nested():
            return _webhook(conn.execute(insert(webhooks).returning(*webhooks.c), row).one())
    except IntegrityError as error:
        raise Conflict(f"There is a webhook named {values['name']!r} already.") from error


def change_webhook(conn: Connection, webhook_id: int, values: Mapping[str, Any]) -> Webhook | None:
    changed = update(webhooks).where(webhooks.c.id == webhook_id).values(**values).returning(*webhooks.c)
    try:
        with conn.begin_nested():
            row = conn.execute(changed).one_or_none()
    except IntegrityError as error:
        raise Conflict(f"There is a webhook named {values['name']!r} already.") from error
    return _webhook(row) if row else None


def remove_webhook(conn: Connection, webhook_id: int) -> bool:
    return conn.execute(delete(webhooks).where(webhooks.c.id == webhook_id)).rowcount > 0


def get_webhook(conn: Connection, webhook_id: int) -> Webhook | None:
    return read_one(conn, select(webhooks).where(webhooks.c.id == webhook_id), _webhook)


def list_webhooks(conn: Connection) -> list[Webhook]:
    return [_webhook(row) for row in conn.execute(select(webhooks).order_by(webhooks.c.id))]


def _delivery_row(event: Event, webhook_id: int, event_id: str, now: datetime) -> dict[str, Any]:
    return {
        "event_id": event_id,
        "topic": event.topic,
        "webhook_id": webhook_id,
        "payload": dict(event.payload),
        "created_at": now,
        "attempts": 0,
        "next_try_at": now,
    }


def _change(conn: Connection, delivery_id: int, **values: Any) -> None:
    conn.execute(update(outbox).where(outbox.c.id == delivery_id).values(**values))


def _delivery(row: Row[Any]) -> Delivery:
    return read_row(Delivery, row)


def _webhook(row: Row[Any]) -> Webhook:
    return read_row(Webhook, row, topics=tuple(row.topics), format=WebhookFormat(row.format))
