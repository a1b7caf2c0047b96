"""Alerts in the store, a row for each turn, with what became of the news, and the incidents that some are about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Row,
    and_,
    case,
    cast,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
    true,
    tuple_,
    update,
)

from catchment.domain.alert import Alert
from catchment.domain.alert_rules import AlertRule, Key, Severity
from catchment.domain.caller import Caller
from catchment.store.bulk import insert_into
from catchment.store.sources import seen_by
from catchment.store.tables import alerts, outbox, sources, webhooks
from catchment.store.types import read_row

_ABOUT_SOURCES = [rule for rule in AlertRule if rule.is_about_source]
#: Of an alert that comes and goes all the time, so many turns are kept.
MAX_TURNS = 100
_IS_FIRING = and_(alerts.c.fired_at.is_not(None), alerts.c.resolved_at.is_(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heard:
    """What became of the deliveries of one event."""

    first_at: datetime | None
    waiting: int


def list_known(conn: Connection) -> list[Alert]:
    """The latest turn of each, with whether the news reached somebody."""
    latest = select(func.max(alerts.c.id)).group_by(alerts.c.rule, alerts.c.subject)
    rows = conn.execute(select(alerts).where(alerts.c.id.in_(latest))).all()
    heard = _heard(conn, {row.event_id for row in rows if row.event_id})
    return [_alert(row, heard.get(row.event_id)) for row in rows]


def list_shown(conn: Connection, caller: Caller, *, ended_since: datetime, limit: int) -> list[Alert]:
    """What fires, the most severe first, then each turn that ended of late; of sources only what may be seen."""
    shown = and_(
        alerts.c.fired_at.is_not(None),
        or_(alerts.c.resolved_at.is_(None), alerts.c.resolved_at >= ended_since),
        _is_visible_to(caller),
    )
    order = (alerts.c.resolved_at.is_not(None), alerts.c.resolved_at.desc(), alerts.c.severity, alerts.c.fired_at)
    return [_alert(row, None) for row in conn.execute(select(alerts).where(shown).order_by(*order).limit(limit))]


def count_open(conn: Connection, caller: Caller, *, limit: int) -> int:
    """How many fire, counted up to `limit`; of sources only what may be seen."""
    some = select(alerts.c.id).where(_IS_FIRING, _is_visible_to(caller)).limit(limit)
    return conn.execute(select(func.count()).select_from(some.subquery())).scalar_one()


def count_firing(conn: Connection) -> Mapping[Severity, int]:
    counts = select(alerts.c.severity, func.count()).where(_IS_FIRING).group_by(alerts.c.severity)
    return {Severity(severity): count for severity, count in conn.execute(counts)}


def get_shown(conn: Connection, alert_id: int, caller: Caller) -> Alert | None:
    shown = and_(alerts.c.id == alert_id, alerts.c.fired_at.is_not(None), _is_visible_to(caller))
    row = conn.execute(select(alerts).where(shown)).one_or_none()
    return _alert(row, None) if row else None


def acknowledge(conn: Connection, alert_id: int, *, by: str | None, at: datetime | None) -> bool:
    """Somebody looks after it; None takes that back."""
    values = {"acknowledged_at": at, "acknowledged_by": by}
    return conn.execute(update(alerts).where(alerts.c.id == alert_id).values(values)).rowcount > 0


def mute(conn: Connection, alert_id: int, *, until: datetime | None) -> bool:
    """All turns of it, so that it counts for one that has begun and does not fire yet."""
    key = select(alerts.c.rule, alerts.c.subject).where(alerts.c.id == alert_id)
    same = tuple_(alerts.c.rule, alerts.c.subject).in_(key)
    return conn.execute(update(alerts).where(same).values(muted_until=until)).rowcount > 0


def save(conn: Connection, changed: Iterable[Alert], *, events: Mapping[Key, str | None]) -> None:
    """`events` names the event that tells of each alert of which there is news. What people said of it stays."""
    for alert in changed:
        row = _row(alert)
        if alert.key in events:
            row["event_id"] = events[alert.key]
        fresh = insert_into(conn, alerts).values(row)
        conn.execute(fresh.on_conflict_do_update(index_elements=["rule", "subject", "since"], set_=row))
        if not alert.id:
            _drop_turns(conn, alert.key)


def _drop_turns(conn: Connection, key: Key) -> None:
    """The oldest, where there are too many."""
    turns = select(alerts.c.id).where(_is_of(key)).order_by(alerts.c.id.desc())
    conn.execute(delete(alerts).where(alerts.c.id.in_(turns.offset(MAX_TURNS).limit(MAX_TURNS))))


def forget(conn: Connection, keys: Iterable[Key]) -> None:
    """The turn of each that has begun and did not fire."""
    for key in keys:
        conn.execute(delete(alerts).where(_is_of(key), alerts.c.fired_at.is_(None), alerts.c.resolved_at.is_(None)))


def _is_of(key: Key) -> ColumnElement[bool]:
    rule, subject = key
    return and_(alerts.c.rule == rule, alerts.c.subject == subject)


def delete_old(conn: Connection, *, before: datetime) -> int:
    """Forget what ended long ago."""
    return conn.execute(delete(alerts).where(alerts.c.resolved_at < before)).rowcount


def _heard(conn: Connection, event_ids: Collection[str]) -> Mapping[str, _Heard]:
    """By event. Found by way of the webhooks, as the index of deliveries has them first."""
    if not event_ids:
        return {}
    deliveries = (
        select(
            outbox.c.event_id,
            func.min(outbox.c.delivered_at, type_=outbox.c.delivered_at.type),
            func.count(outbox.c.next_try_at),
        )
        .select_from(webhooks.join(outbox, outbox.c.webhook_id == webhooks.c.id))
        .where(outbox.c.event_id.in_(event_ids))
        .group_by(outbox.c.event_id)
    )
    return {event_id: _Heard(first_at=first, waiting=waiting) for event_id, first, waiting in conn.execute(deliveries)}


def _is_visible_to(caller: Caller) -> ColumnElement[bool]:
    if caller.sees_all:
        return true()
    is_of_source = alerts.c.rule.in_(_ABOUT_SOURCES)
    # The subjects of other rules are no numbers.
    source_id = case((is_of_source, cast(alerts.c.subject, BigInteger)))
    return or_(not_(is_of_source), exists().where(sources.c.id == source_id, seen_by(caller)))


def _row(alert: Alert) -> dict[str, Any]:
    return {name: getattr(alert, name) for name in {*alerts.c.keys()} - {"id"}}


def _alert(row: Row[Any], heard: _Heard | None) -> Alert:
    """Where nobody listens, or the delivery is long forgotten, the log is all that was to be told."""
    return read_row(
        Alert,
        row,
        rule=AlertRule[row.rule],
        severity=Severity(row.severity),
        heard_at=heard.first_at if heard else row.told_at,
        is_on_its_way=heard is not None and heard.first_at is None and heard.waiting > 0,
        acknowledged_by=row.acknowledged_by or "",
    )
