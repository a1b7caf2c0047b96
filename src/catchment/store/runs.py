"""Runs and their leases. A claim is one statement; a run that lost its lease can no longer finish.

A run is eligible to be claimed when nobody runs the same subject. A claim holds until `lease_until`, which heartbeats
move on; after that `expire` ends it as timed out, and the subject is free for the next claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    String,
    and_,
    bindparam,
    cast,
    delete,
    exists,
    func,
    literal,
    select,
    text,
    true,
    update,
)

from catchment.domain.run import Run, RunKind, RunStatus
from catchment.store.bulk import insert_or_ignore
from catchment.store.tables import runs, sources
from catchment.store.types import Json, UtcDateTime, among, read_row

TABLE_NAME = runs.name
# Spelled out rather than bound, so that both planners see that the partial index serves.
IS_RUNNING: ColumnElement[bool] = runs.c.status == text("'running'")
#: A process of ours runs it and extends its lease; a workflow may be driven from elsewhere.
_IS_OURS: ColumnElement[bool] = runs.c.kind != text("'workflow'")


#: Never fetched first, then the longest unfetched.
BY_URGENCY = (sources.c.last_fetched_at.asc().nulls_first(), sources.c.id)


def running_on(source_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Somebody works on this source."""
    return exists().where(runs.c.kind == RunKind.SOURCE, runs.c.subject == cast(source_id, String), IS_RUNNING)


def claim_due(
    conn: Connection, ids: Sequence[int], *, owner: str, now: datetime, until: datetime, most: int | None = None
) -> list[Run]:
    """Claim those of `ids` that are still due and free, or the `most` urgent of them, in one statement."""
    which = {"ids": ids, "most": len(ids) if most is None else most}
    return _claim(conn, _DUE, which, owner=owner, now=now, until=until)


def claim_now(conn: Connection, source_id: int, *, owner: str, now: datetime, until: datetime) -> Run | None:
    """Claim a source whatever its schedule says, unless it is deleted or being worked on."""
    claimed = _claim(conn, _NOT_DELETED, {"ids": [source_id]}, owner=owner, now=now, until=until)
    return claimed[0] if claimed else None


def start(
    conn: Connection,
    kind: RunKind,
    subject: str,
    *,
    owner: str,
    now: datetime,
    until: datetime,
    progress: Mapping[str, Any] | None = None,
) -> Run | None:
    """Claim any other subject; None when somebody runs it."""
    statement = insert_or_ignore(conn, runs).values(
        kind=kind,
        subject=subject,
        owner=owner,
        status=RunStatus.RUNNING,
        started_at=now,
        heartbeat_at=now,
        lease_until=until,
        progress=dict(progress or {}),
    )
    row = conn.execute(statement.returning(*runs.c)).one_or_none()
    return _run(row) if row else None


def heartbeat(conn: Connection, *, owner: str, now: datetime, until: datetime) -> int:
    """Extend every lease of `owner` that still holds; says how many."""
    held = update(runs).where(IS_RUNNING, runs.c.owner == owner, runs.c.lease_until > now)
    return conn.execute(held.values(heartbeat_at=now, lease_until=until)).rowcount


def finish(conn: Connection, ids: Sequence[int], *, status: RunStatus, now: datetime) -> set[int]:
    """End these runs and return those that still held their lease; the others were taken over."""
    # Nearly always all of them do, and to count is cheaper than to be told each.
    all_held = conn.execute(_COUNT_HELD, {"ids": ids}).scalar_one() == len(ids)
    held = set(ids) if all_held else set(conn.execute(_HELD, {"ids": ids}).scalars())
    conn.execute(_FINISH, {"ids": list(held), "new_status": status, "finished_at": now})
    return held


def holds(conn: Connection, run_id: int) -> bool:
    """Whether a run still holds its lease; if so, it keeps it until the transaction ends."""
    return conn.execute(_HOLDS, {"run": run_id}).scalar_one_or_none() is not None


def running_of(conn: Connection, kind: RunKind, owner: str) -> Run | None:
    """What this owner runs, of a kind of which it runs one at a time."""
    statement = select(runs).where(IS_RUNNING, runs.c.kind == kind, runs.c.owner == owner)
    row = conn.execute(statement).one_or_none()
    return _run(row) if row else None


def has_expired(conn: Connection, *, now: datetime) -> bool:
    return conn.execute(select(exists().where(IS_RUNNING, _IS_OURS, runs.c.lease_until <= now))).scalar_one()


def expire(conn: Connection, *, now: datetime) -> list[Run]:
    """End every run of ours whose lease has run out, so that its subject can be claimed again."""
    return _time_out(conn, and_(_IS_OURS, runs.c.lease_until <= now), now=now)


def expire_owners(conn: Connection, owners: Iterable[str], *, now: datetime) -> list[Run]:
    """End the runs of owners that are known to be dead, without waiting for their leases."""
    return _time_out(conn, runs.c.owner.in_(list(owners)), now=now)


def expire_workflows(conn: Connection, *, now: datetime, name: str | None = None) -> list[Run]:
    """The same for executions of workflows, or of this one, whose leases nobody but they themselves extend."""
    named = true() if name is None else runs.c.subject == name
    return _time_out(conn, and_(~_IS_OURS, named, runs.c.lease_until <= now), now=now)


def running_owners(conn: Connection) -> set[str]:
    """The processes of ours that run something."""
    return set(conn.execute(select(runs.c.owner).where(IS_RUNNING, _IS_OURS).distinct()).scalars())


def release_owner(conn: Connection, owner: str, *, now: datetime) -> None:
    """Give back everything `owner` holds, unfinished."""
    conn.execute(update(runs).where(IS_RUNNING, runs.c.owner == owner).values(status=RunStatus.FAILED, finished_at=now))


def lapse(conn: Connection) -> None:
    """Let every lease of ours end with the last sign of life: nobody who had it knows of this store."""
    conn.execute(update(runs).where(IS_RUNNING, _IS_OURS).values(lease_until=runs.c.heartbeat_at))


def set_progress(conn: Connection, kind: RunKind, subject: str, progress: Mapping[str, Any]) -> None:
    running = update(runs).where(runs.c.kind == kind, runs.c.subject == subject, IS_RUNNING)
    conn.execute(running.values(progress=dict(progress)))


def being_visited(conn: Connection, source_ids: Sequence[int]) -> set[int]:
    """Those of the sources that somebody works on."""
    return set(conn.execute(_VISITED, {"ids": source_ids}).scalars())


def list_running(conn: Connection, kind: RunKind) -> list[Run]:
    statement = select(runs).where(IS_RUNNING, runs.c.kind == kind).order_by(runs.c.id)
    return [_run(row) for row in conn.execute(statement)]


def list_held(conn: Connection, *, now: datetime) -> list[Run]:
    """Everything that somebody works on, of whatever kind, as far as leases tell."""
    held = select(runs).where(IS_RUNNING, runs.c.lease_until > now).order_by(runs.c.id)
    return [_run(row) for row in conn.execute(held)]


def purge(conn: Connection, *, finished_before: datetime, limit: int) -> int:
    old = select(runs.c.id).where(runs.c.finished_at < finished_before).limit(limit)
    return conn.execute(delete(runs).where(runs.c.id.in_(old.scalar_subquery()))).rowcount


_VISITED = select(sources.c.id).where(among(sources.c.id, "ids"), running_on(sources.c.id))
_HOLDS = select(runs.c.id).where(runs.c.id == bindparam("run"), IS_RUNNING).with_for_update(read=True)
_HELD = select(runs.c.id).where(among(runs.c.id, "ids"), IS_RUNNING).with_for_update()
_COUNT_HELD = select(func.count()).select_from(_HELD.subquery())
_FINISH = (
    update(runs)
    .where(among(runs.c.id, "ids"), IS_RUNNING)
    .values(status=bindparam("new_status"), finished_at=bindparam("finished_at"))
)


def _claimable(eligible: ColumnElement[bool]) -> Any:
    """The runs to be: one for each of the sources `:ids` that is eligible and free."""
    moment = bindparam("now", type_=UtcDateTime)
    return select(
        literal(RunKind.SOURCE.value, String),
        cast(sources.c.id, String),
        bindparam("owner", type_=String),
        literal(RunStatus.RUNNING.value, String),
        moment,
        moment,
        bindparam("until", type_=UtcDateTime),
        literal({}, Json),
    ).where(among(sources.c.id, "ids"), eligible, ~running_on(sources.c.id))


_DUE = (
    _claimable(sources.c.next_check_at <= bindparam("now", type_=UtcDateTime))
    .order_by(*BY_URGENCY)
    .limit(bindparam("most", type_=Integer))
    # Whoever claims at the same time takes others.
    .with_for_update(of=sources, key_share=True, skip_locked=True)
)
_NOT_DELETED = _claimable(sources.c.is_deleted.is_(False))
_CLAIMED = ["kind", "subject", "owner", "status", "started_at", "heartbeat_at", "lease_until", "progress"]


def _claim(
    conn: Connection, claimable: Any, which: Mapping[str, Any], *, owner: str, now: datetime, until: datetime
) -> list[Run]:
    # Whoever came first holds the partial unique index: the loser of a race inserts nothing.
    statement = insert_or_ignore(conn, runs).from_select(_CLAIMED, claimable).returning(runs.c.id, runs.c.subject)
    claimed = conn.execute(statement, {**which, "owner": owner, "now": now, "until": until}).all()
    return [
        Run(id=run_id, kind=RunKind.SOURCE, subject=subject, owner=owner, started_at=now, lease_until=until)
        for run_id, subject in claimed
    ]


def _time_out(conn: Connection, which: ColumnElement[bool], *, now: datetime) -> list[Run]:
    statement = (
        update(runs).where(IS_RUNNING, which).values(status=RunStatus.TIMEOUT, finished_at=now).returning(*runs.c)
    )
    return [_run(row) for row in conn.execute(statement)]


def _run(row: Row[Any]) -> Run:
    return read_row(Run, row, kind=RunKind(row.kind), status=RunStatus(row.status))
