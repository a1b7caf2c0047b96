"""What was put down by a clock that was ahead, brought back to the present: it would wait until that moment comes."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, Connection, case, delete, or_, select, text, update

from catchment.domain.source import Why
from catchment.store.tables import hosts, incidents, outbox, runs, sources

#: Nothing but an interval has a source wait for longer, and those count from its last visit.
MAX_WAIT = timedelta(hours=25)
_BY_INTERVAL = (Why.INTERVAL, Why.ADAPTED, Why.GAP, Why.NO_FETCHER, Why.PROBE)


def pull_back_sources(conn: Connection, *, now: datetime, latest: datetime) -> int:
    """Make due at once what was visited later than `latest`, or waits for longer than anything has it wait."""
    waits_too_long = sources.c.next_check_why.not_in(_BY_INTERVAL) & (sources.c.next_check_at > now + MAX_WAIT)
    is_ahead = or_(sources.c.last_fetched_at > latest, sources.c.last_attempt_at > latest, waits_too_long)
    is_scheduled = sources.c.next_check_at.is_not(None)
    values = {
        sources.c.last_fetched_at: _at_most(sources.c.last_fetched_at, now),
        sources.c.last_attempt_at: _at_most(sources.c.last_attempt_at, now),
        sources.c.next_check_at: _at_most(sources.c.next_check_at, now),
        sources.c.next_check_why: case((is_scheduled, Why.NEW.value), else_=sources.c.next_check_why),
    }
    return conn.execute(update(sources).where(is_ahead).values(values)).rowcount


def pull_back_hosts(conn: Connection, *, now: datetime, latest: datetime, lease: timedelta, is_jump: bool) -> None:
    """None is looked after, left alone or given away for longer than can be; after a jump its turns are given anew."""
    held, booked, owned = hosts.c.held_until, hosts.c.booked_until, hosts.c.owner_until
    conn.execute(update(hosts).where(held > now + MAX_WAIT).values(held_until=None))
    conn.execute(update(hosts).where(booked > (now if is_jump else now + MAX_WAIT)).values(booked_until=None))
    # Who lives extends it, who is dead loses it.
    conn.execute(update(hosts).where(owned > latest + lease).values(owner_until=now + lease))


def pull_back_deliveries(conn: Connection, *, now: datetime, latest: datetime) -> int:
    waits = outbox.c.next_try_at.is_not(None) & (outbox.c.created_at > latest)
    return conn.execute(update(outbox).where(waits).values(next_try_at=now, created_at=now)).rowcount


def pull_back_leases(conn: Connection, *, now: datetime, latest: datetime) -> int:
    """Each holds for as long as it would have, from now on: who lives extends it, who is dead loses it."""
    ahead = conn.execute(select(runs.c.id, runs.c.heartbeat_at, runs.c.lease_until).where(_is_held_ahead(latest))).all()
    for row in ahead:
        until = now + (row.lease_until - row.heartbeat_at)
        conn.execute(update(runs).where(runs.c.id == row.id).values(heartbeat_at=now, lease_until=until))
    return len(ahead)


def has_leases_ahead(conn: Connection, *, latest: datetime) -> bool:
    return conn.execute(select(runs.c.id).where(_is_held_ahead(latest)).limit(1)).one_or_none() is not None


def forget_incidents_ahead(conn: Connection, *, latest: datetime) -> None:
    """They would be the last ones until their moment comes."""
    conn.execute(delete(incidents).where(incidents.c.at > latest))


def _is_held_ahead(latest: datetime) -> ColumnElement[bool]:
    # Spelled out, so that the partial index of what runs serves.
    return (runs.c.status == text("'running'")) & (runs.c.heartbeat_at > latest)


def _at_most(column: ColumnElement[datetime], now: datetime) -> ColumnElement[datetime]:
    return case((column > now, now), else_=column)
