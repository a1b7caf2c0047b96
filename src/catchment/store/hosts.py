"""Hosts that several sources share. One process at a time looks after such a host, so that its pace is kept by one.

Nothing is stored of hosts that have a single source: whoever claims that has its host as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from sqlalchemy import (
    BigInteger,
    Connection,
    Float,
    String,
    bindparam,
    case,
    cast,
    delete,
    exists,
    func,
    or_,
    select,
    update,
)

from catchment.domain.host import HostUse, Seating
from catchment.domain.run import RunKind
from catchment.domain.source import Why
from catchment.store.bulk import insert_into
from catchment.store.runs import IS_RUNNING
from catchment.store.tables import hosts, runs, sources
from catchment.store.types import UtcDateTime

_NOW = bindparam("now", type_=UtcDateTime)
_OWNER = bindparam("owner", type_=String)
#: Nobody else looks after the host.
IS_FREE = or_(hosts.c.owner.is_(None), hosts.c.owner == _OWNER, hosts.c.owner_until <= _NOW)


def record_shared(conn: Connection, ids: Sequence[int]) -> None:
    """Have a row for each host that one of these sources shares with any other.

    Whoever visits what was its only source until now looks after it.
    """
    other = sources.alias()
    is_shared = exists().where(other.c.host == sources.c.host, other.c.id != sources.c.id)
    shared = (
        select(sources.c.host, _VISITED.c.owner, _VISITED.c.until)
        .outerjoin(_VISITED, _VISITED.c.host == sources.c.host)
        .where(sources.c.id.in_(ids), sources.c.host.is_not(None), is_shared)
        .distinct()
    )
    columns = ["host", "owner", "owner_until"]
    noted = insert_into(conn, hosts).from_select(columns, shared.order_by(sources.c.host))
    # Also locks those that are there, so that none goes at this moment: see `forget_unshared`.
    conn.execute(noted.on_conflict_do_update(index_elements=["host"], set_={"host": noted.excluded.host}))


def forget_unshared(conn: Connection, *, before: datetime, limit: int) -> int:
    """Remove some of the hosts that no two sources share any more and that nobody needed since; says how many."""
    found = conn.execute(_UNSHARED, {"b_before": before, "b_limit": limit}).scalars().all()
    # Locked now: whoever comes to share one waits until it is gone, and whoever just did is seen by this second look.
    return conn.execute(delete(hosts).where(hosts.c.host.in_(found), ~_IS_SHARED)).rowcount


def take(conn: Connection, wanted: Collection[str], *, owner: str, now: datetime, until: datetime) -> list[HostUse]:
    """Look after those hosts that nobody else does and that did not ask to be left alone, in one statement."""
    taken = conn.execute(_TAKE, {"wanted": sorted(wanted), "owner": owner, "now": now, "until": until})
    return [HostUse(host=row.host, starts=row.starts, crawl_delay=row.crawl_delay) for row in taken]


def list_owned(conn: Connection, *, owner: str) -> Sequence[str]:
    return conn.execute(select(hosts.c.host).where(hosts.c.owner == owner)).scalars().all()


def give_back(conn: Connection, used: Iterable[HostUse], *, owner: str) -> None:
    """Leave hosts to whoever comes next, with what they must know."""
    rows = [{"b_host": one.host, "b_starts": list(one.starts), "b_delay": one.crawl_delay} for one in used]
    if rows:
        conn.execute(_GIVE_BACK, [{**row, "b_owner": owner} for row in rows])


def keep(conn: Connection, *, owner: str, until: datetime) -> None:
    """Go on looking after those at which the owner has something under way."""
    conn.execute(_KEEP, {"b_owner": owner, "b_until": until})


def release_owners(conn: Connection, owners: Collection[str]) -> None:
    """Free the hosts of owners that are known to be dead, without waiting for their leases."""
    if owners:
        conn.execute(update(hosts).where(hosts.c.owner.in_(owners)).values(owner=None, owner_until=None))


def hold(conn: Connection, host: str, *, until: datetime) -> None:
    """Leave a host alone until then: what is due there before that is put off, all in one statement."""
    held = conn.execute(_HOLD, {"b_host": host, "b_until": until}).scalar_one_or_none()
    if held is not None:
        conn.execute(_PUT_OFF_ALL, {"b_host": host, "b_until": until, "b_why": Why.HOST_WAIT})


def put_off(conn: Connection, seating: Seating, *, owner: str, now: datetime, until: datetime) -> list[HostUse]:
    """Put off what has to wait, unless it was changed meanwhile, and look after the hosts whose turns are given away.

    Nothing is done for those that somebody else looks after.
    """
    taken = take(conn, seating.booked, owner=owner, now=now, until=until) if seating.booked else []
    left = seating.without(seating.booked.keys() - {use.host for use in taken})
    if left.later:
        rows = [{"b_id": one.id, "b_at": check.at, "b_why": check.why, "b_now": now} for one, check in left.later]
        conn.execute(_PUT_OFF, rows)
    if left.booked:
        conn.execute(_BOOK, [{"b_host": host, "b_until": end} for host, end in left.booked.items()])
    return taken


_BEFORE = bindparam("b_before", type_=UtcDateTime)
_IS_SHARED = (
    select(sources.c.id)
    .where(sources.c.host == hosts.c.host, sources.c.is_deleted.is_(False))
    .limit(1)
    .offset(1)
    .correlate(hosts)
    .exists()
)
_UNSHARED = (
    select(hosts.c.host)
    .where(
        *(
            or_(needed_until.is_(None), needed_until < _BEFORE)
            for needed_until in (hosts.c.owner_until, hosts.c.held_until, hosts.c.booked_until)
        ),
        ~_IS_SHARED,
    )
    .limit(bindparam("b_limit"))
    .with_for_update(skip_locked=True)
)
_AVAILABLE = (
    select(hosts.c.host)
    .where(
        hosts.c.host.in_(bindparam("wanted", expanding=True)),
        IS_FREE,
        or_(hosts.c.held_until.is_(None), hosts.c.held_until <= _NOW),
    )
    # Whoever takes it at the same time has it.
    .with_for_update(skip_locked=True)
)
_TAKE = (
    update(hosts)
    .where(hosts.c.host.in_(_AVAILABLE.scalar_subquery()))
    .values(owner=_OWNER, owner_until=bindparam("until", type_=UtcDateTime))
    .returning(hosts.c.host, hosts.c.starts, hosts.c.crawl_delay)
)
_GIVE_BACK = (
    update(hosts)
    .where(hosts.c.host == bindparam("b_host"), hosts.c.owner == bindparam("b_owner"))
    .values(
        owner=None,
        owner_until=None,
        starts=bindparam("b_starts"),
        # Most sources never ask for robots.txt: what others found there stands.
        crawl_delay=func.coalesce(bindparam("b_delay", type_=Float), hosts.c.crawl_delay),
    )
)
# Subjects of other kinds are no numbers.
_SOURCE_ID = cast(case((runs.c.kind == RunKind.SOURCE, runs.c.subject)), BigInteger)
_BUSY = select(sources.c.host).join(runs, sources.c.id == _SOURCE_ID).where(IS_RUNNING)
_VISITED = (
    select(sources.c.host, func.max(runs.c.owner).label("owner"), func.max(runs.c.lease_until).label("until"))
    .join(runs, sources.c.id == _SOURCE_ID)
    .where(IS_RUNNING)
    .group_by(sources.c.host)
    .subquery()
)
_KEEP = (
    update(hosts)
    .where(
        hosts.c.owner == bindparam("b_owner"),
        hosts.c.host.in_(_BUSY.where(runs.c.owner == bindparam("b_owner")).scalar_subquery()),
    )
    .values(owner_until=bindparam("b_until"))
)
_HOLD = (
    update(hosts)
    .where(
        hosts.c.host == bindparam("b_host"),
        or_(hosts.c.held_until.is_(None), hosts.c.held_until < bindparam("b_until", type_=UtcDateTime)),
    )
    .values(held_until=bindparam("b_until"))
    .returning(hosts.c.host)
)
_DUE_THERE = (
    select(sources.c.id)
    .where(sources.c.host == bindparam("b_host"), sources.c.next_check_at < bindparam("b_until", type_=UtcDateTime))
    # What is locked is being visited, or is put off when it is looked at next.
    .with_for_update(key_share=True, skip_locked=True)
)
_PUT_OFF_ALL = (
    update(sources)
    .where(sources.c.id.in_(_DUE_THERE.scalar_subquery()))
    .values(next_check_at=bindparam("b_until"), next_check_why=bindparam("b_why"))
)
_PUT_OFF = (
    update(sources)
    .where(sources.c.id == bindparam("b_id"), sources.c.next_check_at <= bindparam("b_now", type_=UtcDateTime))
    .values(next_check_at=bindparam("b_at"), next_check_why=bindparam("b_why"))
)
_BOOK = update(hosts).where(hosts.c.host == bindparam("b_host")).values(booked_until=bindparam("b_until"))
