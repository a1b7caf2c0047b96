"""Cookies in the store. Lending one chooses and claims it in one statement; a late report of a lost lease is dropped.

A cookie may be lent when it is enabled, active or done with cooling down, below its daily limit, not used within the
spacing, and lent to nobody: that last is the partial unique index of `runs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    String,
    and_,
    case,
    delete,
    exists,
    func,
    inspect,
    literal,
    or_,
    select,
    text,
    update,
)

from catchment.domain.cookie import Cookie, CookiePolicy, CookieStatus, used
from catchment.domain.cookie_pool import Want
from catchment.domain.note import Platform
from catchment.domain.run import Run, RunKind, RunStatus
from catchment.store import runs as leases
from catchment.store.bulk import insert_or_ignore
from catchment.store.platform_tables import cookies
from catchment.store.tables import runs
from catchment.store.types import Json, UtcDateTime, as_row, read_one, read_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    run: Run
    cookie: Cookie


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieChange:
    before: Cookie
    after: Cookie


def lend(
    conn: Connection, want: Want, *, owner: str, now: datetime, until: datetime, policy: CookiePolicy
) -> Lease | None:
    """Lend the best of those wanted and count its use; None when none is free, or somebody was faster."""
    run = _claim(conn, want, owner=owner, now=now, until=until, policy=policy)
    if run is None:
        return None
    before = _locked(conn, run.subject, _lendable(want, now, policy))
    if before is None:
        # Since it was chosen somebody else had it and gave it back, and now its day is over or it cools down.
        _drop(conn, run)
        return None
    return Lease(run=run, cookie=_put(conn, used(before, now, policy)))


def borrow(conn: Connection, name: str, *, owner: str, now: datetime, until: datetime) -> Lease | None:
    """Lend this one to look at it, whatever its state and without counting it; None while another has it, or if it is
    not there.
    """
    run = leases.start(conn, RunKind.COOKIE, name, owner=owner, now=now, until=until)
    if run is None:
        return None
    cookie = _locked(conn, name)
    if cookie is None:
        _drop(conn, run)
        return None
    return Lease(run=run, cookie=cookie)


def give_back(conn: Connection, run: Run, judge: Callable[[Cookie], Cookie], *, now: datetime) -> CookieChange | None:
    """End a lease, with what it says about the cookie; None when the lease was lost, or the cookie is gone."""
    if not leases.finish(conn, [run.id], status=RunStatus.COMPLETED, now=now):
        return None
    conn.execute(update(cookies).where(cookies.c.name == run.subject).values(last_used_at=now))
    return change(conn, run.subject, judge)


def change(conn: Connection, name: str, judge: Callable[[Cookie], Cookie]) -> CookieChange | None:
    """Nobody else changes the cookie between what is read and what is written."""
    before = _locked(conn, name)
    return CookieChange(before=before, after=_put(conn, judge(before))) if before is not None else None


def add(conn: Connection, cookie: Cookie) -> bool:
    """False when there is one of this name."""
    added = insert_or_ignore(conn, cookies).values(**as_row(cookie)).returning(cookies.c.id)
    return conn.execute(added).one_or_none() is not None


def reseal(conn: Connection, before: Cookie, *, sealed: str, key_id: str) -> bool:
    """Put the value under another key; False when it was replaced or removed meanwhile."""
    same = and_(cookies.c.name == before.name, cookies.c.sealed == before.sealed)
    return conn.execute(update(cookies).where(same).values(sealed=sealed, key_id=key_id)).rowcount > 0


def remove(conn: Connection, name: str) -> bool:
    return conn.execute(delete(cookies).where(cookies.c.name == name)).rowcount > 0


def get(conn: Connection, name: str) -> Cookie | None:
    return read_one(conn, select(cookies).where(cookies.c.name == name), _cookie)


def list_all(conn: Connection, platform: Platform | None = None) -> list[Cookie]:
    statement = select(cookies).order_by(cookies.c.platform, cookies.c.priority.desc(), cookies.c.name)
    if platform is not None:
        statement = statement.where(cookies.c.platform == platform)
    return [_cookie(row) for row in conn.execute(statement)]


def has_any(conn: Connection) -> bool:
    """Also of a store that is older than cookies."""
    return inspect(conn).has_table(cookies.name) and conn.execute(select(exists(select(cookies)))).scalar_one()


def lent_names(conn: Connection) -> set[str]:
    return {run.subject for run in leases.list_running(conn, RunKind.COOKIE)}


def uses_since(conn: Connection, since: datetime) -> Mapping[Platform, int]:
    """How often cookies were lent since then; the leases tell, which are kept for a day."""
    statement = (
        select(cookies.c.platform, func.count())
        .join(runs, and_(runs.c.kind == RunKind.COOKIE, runs.c.subject == cookies.c.name))
        .where(or_(runs.c.finished_at >= since, runs.c.finished_at.is_(None)), runs.c.started_at >= since)
        .group_by(cookies.c.platform)
    )
    return {Platform(platform): count for platform, count in conn.execute(statement)}


def _claim(
    conn: Connection, want: Want, *, owner: str, now: datetime, until: datetime, policy: CookiePolicy
) -> Run | None:
    moment, lease = literal(now, UtcDateTime), literal(until, UtcDateTime)
    is_lent = select(runs.c.id).where(
        runs.c.kind == RunKind.COOKIE, runs.c.subject == cookies.c.name, runs.c.status == text("'running'")
    )
    used_today = case((cookies.c.used_on == policy.today(now), cookies.c.daily_used), else_=0)
    best = (
        select(
            literal(RunKind.COOKIE.value, String),
            cookies.c.name,
            literal(owner, String),
            literal(RunStatus.RUNNING.value, String),
            moment,
            moment,
            lease,
            literal({}, Json),
        )
        .where(_lendable(want, now, policy), ~is_lent.exists())
        .order_by(cookies.c.priority.desc(), used_today, cookies.c.name)
        .limit(1)
    )
    columns = ["kind", "subject", "owner", "status", "started_at", "heartbeat_at", "lease_until", "progress"]
    statement = insert_or_ignore(conn, runs).from_select(columns, best).returning(runs.c.id, runs.c.subject)
    row = conn.execute(statement).one_or_none()
    if row is None:
        return None
    return Run(id=row.id, kind=RunKind.COOKIE, subject=row.subject, owner=owner, started_at=now, lease_until=until)


def _lendable(want: Want, now: datetime, policy: CookiePolicy) -> ColumnElement[bool]:
    columns, today = cookies.c, policy.today(now)
    conditions = [
        columns.platform == want.platform,
        columns.is_enabled.is_(True),
        or_(columns.status == CookieStatus.ACTIVE, columns.cooling_until <= now),
        case((columns.used_on == today, columns.daily_used), else_=0) < columns.daily_limit,
        or_(columns.last_used_at.is_(None), columns.last_used_at <= now - policy.spacing),
        columns.name.not_in(want.excluded),
    ]
    return and_(*conditions, *([columns.name == want.name] if want.name is not None else []))


def _drop(conn: Connection, run: Run) -> None:
    """As if it had never been begun."""
    conn.execute(delete(runs).where(runs.c.id == run.id))


def _locked(conn: Connection, name: str, *conditions: ColumnElement[bool]) -> Cookie | None:
    return read_one(conn, select(cookies).where(cookies.c.name == name, *conditions).with_for_update(), _cookie)


def _put(conn: Connection, cookie: Cookie) -> Cookie:
    conn.execute(update(cookies).where(cookies.c.name == cookie.name).values(**as_row(cookie)))
    return cookie


def _cookie(row: Row[Any]) -> Cookie:
    return read_row(Cookie, row, platform=Platform(row.platform), status=CookieStatus(row.status))
