"""Sources in the store."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Row,
    Select,
    String,
    and_,
    bindparam,
    cast,
    false,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from catchment.domain.caller import Caller
from catchment.domain.confidential import BODY_KEY
from catchment.domain.host import DueSource
from catchment.domain.options import SEALED_KEY
from catchment.domain.rhythm import from_json, to_json
from catchment.domain.source import LastError, Moved, NewSource, NextCheck, PausedBy, Source, Why
from catchment.domain.visit import SourceState
from catchment.errors import Conflict
from catchment.store.bulk import BulkUpdate
from catchment.store.changes import record_edit
from catchment.store.hosts import IS_FREE, record_shared
from catchment.store.runs import BY_URGENCY, running_on
from catchment.store.tables import hosts, sources, subscriptions
from catchment.store.types import UtcDateTime, among, read_one

#: As many hosts as are looked at to tell whether anybody can be reached.
MANY_HOSTS = 1000


def add(conn: Connection, new: NewSource, *, now: datetime) -> Source:
    """Store a new source, due at once. The same one in the same hands is a Conflict that names it."""
    try:
        return add_all(conn, [new], now=now)[0]
    except Conflict:
        twin = find_twin(conn, new.type, new.identity, owner=new.created_by)
        if twin is None:
            raise
        raise Conflict(f"This source exists already: {twin.name!r} (id {twin.id}).", existing_id=twin.id) from None


def add_all(conn: Connection, new: Sequence[NewSource], *, now: datetime) -> list[Source]:
    """Store new sources, due at once, all or none: one that exists already in the same hands is a Conflict."""
    rows = [_new_row(one, now) for one in new]
    if not rows:
        return []
    try:
        with conn.begin_nested():
            stored = conn.execute(_ADD, rows).all()
    except IntegrityError as error:
        raise Conflict("One of these sources exists already.") from error
    if any(one.host for one in new):
        record_shared(conn, [row.id for row in stored])
    record_edit(conn, now=now)
    return [_source(row) for row in stored]


def identity_hash(source_type: str, identity: str) -> str:
    return hashlib.sha256(f"{source_type}\0{identity}".encode()).hexdigest()


def find_twin(
    conn: Connection, source_type: str, identity: str, *, owner: int | None, anybodys: bool = False
) -> Source | None:
    """The same source where `owner` may know of it: their own first, else a public one, or anybody's."""
    wanted = identity_hash(source_type, identity)
    return find_twins(conn, [wanted], owner=owner, anybodys=anybodys).get(wanted)


def find_twins(
    conn: Connection, hashes: Sequence[str], *, owner: int | None, anybodys: bool = False
) -> dict[str, Source]:
    """The twins of many at once, by identity hash."""
    mine = sources.c.identity_scope == (owner or 0)
    alike = select(sources).where(sources.c.identity.in_(hashes), sources.c.is_deleted.is_(False))
    if not anybodys:
        alike = alike.where(or_(mine, sources.c.is_public.is_(True)))
    # Of several the last stays in the dictionary, so the best come last.
    return {row.identity: _source(row) for row in conn.execute(alike.order_by(mine.asc(), sources.c.id.desc()))}


def get(conn: Connection, source_id: int) -> Source | None:
    return read_one(conn, select(sources).where(sources.c.id == source_id), _source)


def get_many(conn: Connection, ids: Sequence[int]) -> list[Source]:
    """Those that are there, in the order given."""
    if not ids:
        return []
    found = {row.id: row for row in conn.execute(_BY_IDS, {"ids": ids})}
    return [_source(found[one]) for one in dict.fromkeys(ids) if one in found]


def get_for_change(conn: Connection, ids: Sequence[int]) -> dict[int, Source]:
    """As they are now, held until the transaction ends, so that what a person changes meanwhile is not overwritten."""
    return {row.id: _source(row) for row in conn.execute(_BY_IDS_FOR_UPDATE, {"ids": ids})}


def get_for_commit(conn: Connection, known: Iterable[Source]) -> dict[int, Source]:
    """As they are now, like `get_for_change`, but read again only if a person changed one of them since then."""
    by_id = {source.id: source for source in known}
    versions = dict(conn.execute(_VERSIONS_FOR_UPDATE, {"ids": list(by_id)}).all())
    is_same = all(versions.get(source.id) == source.version for source in by_id.values())
    return by_id if is_same else get_for_change(conn, list(by_id))


def latest_success(conn: Connection) -> datetime | None:
    """When any source was collected last."""
    latest: datetime | None = conn.execute(select(func.max(sources.c.last_fetched_at))).scalar_one()
    return latest


def successes_since(conn: Connection, moment: datetime) -> dict[str | None, datetime]:
    """When sources were collected last since then, by their hosts; of very many some."""
    latest = select(sources.c.host, func.max(sources.c.last_fetched_at)).where(sources.c.last_fetched_at >= moment)
    return dict(conn.execute(latest.group_by(sources.c.host).limit(MANY_HOSTS)).all())


def visible_to(user_id: int | None, *, all_sources: bool) -> ColumnElement[bool]:
    """What a caller may see: everything, or their own and what is public. `Caller.may_see` is the same rule."""
    alive = sources.c.is_deleted.is_(False)
    if all_sources:
        return alive
    if user_id is None:
        return and_(alive, sources.c.is_public.is_(True))
    return and_(alive, or_(sources.c.created_by == user_id, sources.c.is_public.is_(True)))


def seen_by(caller: Caller) -> ColumnElement[bool]:
    return visible_to(caller.user_id, all_sources=caller.sees_all)


def is_among(source_id: ColumnElement[int], ids: Select[Any]) -> ColumnElement[bool]:
    """Whether it is one of these sources, of which a list is made once. No condition that an index could serve: a store
    might begin with all that these sources ever had.
    """
    return func.coalesce(source_id.in_(ids), false())


def list_visible(conn: Connection, caller: Caller, *, limit: int | None = None, after_id: int = 0) -> list[Source]:
    seen = (seen_by(caller), sources.c.id > after_id)
    return [_source(row) for row in conn.execute(select(sources).where(*seen).order_by(sources.c.id).limit(limit))]


def change(conn: Connection, source_id: int, values: Mapping[str, Any], *, now: datetime) -> Source:
    """Change the columns that a person may change; the twin of another source is a Conflict."""
    try:
        with conn.begin_nested():
            row = conn.execute(
                update(sources)
                .where(sources.c.id == source_id)
                .values(**values, updated_at=now, version=sources.c.version + 1)
                .returning(*sources.c)
            ).one()
    except IntegrityError as error:
        raise Conflict("Another source is the same one already.") from error
    if values.get("host"):
        record_shared(conn, [source_id])
    record_edit(conn, now=now)
    return _source(row)


def schedule_columns(check: NextCheck) -> dict[str, Any]:
    return {"next_check_at": check.at, "next_check_why": check.why}


def resumed(now: datetime) -> dict[str, Any]:
    """What makes a paused source start again: its failures are forgotten, and it is due at once."""
    return {
        "is_active": True,
        "paused_by": None,
        "fetch_error_count": 0,
        "last_error": None,
        "last_error_at": None,
        **schedule_columns(NextCheck(at=now, why=Why.NEW)),
    }


def delete(conn: Connection, source_id: int, *, now: datetime) -> None:
    """Soft: the row stays for those who subscribed; its identity is free again."""
    conn.execute(
        update(sources)
        .where(sources.c.id == source_id)
        .values(
            is_deleted=True,
            deleted_at=now,
            identity_scope=None,
            updated_at=now,
            version=sources.c.version + 1,
            **schedule_columns(NextCheck(at=None, why=None)),
        )
    )
    record_edit(conn, now=now)


def restore(conn: Connection, source: Source, check: NextCheck, *, now: datetime) -> Source:
    """Take a removal back: all that belongs to the source is still there. A twin that came since is a Conflict."""
    values = {"is_deleted": False, "deleted_at": None, "identity_scope": source.created_by or 0}
    return change(conn, source.id, {**values, **schedule_columns(check)}, now=now)


def list_removed(conn: Connection, *, since: datetime, limit: int) -> list[tuple[Source, datetime]]:
    """What was removed since then, the last first, and when."""
    statement = (
        select(*sources.c)
        .where(sources.c.is_deleted.is_(True), sources.c.deleted_at >= since)
        .order_by(sources.c.deleted_at.desc(), sources.c.id)
        .limit(limit)
    )
    return [(_source(row), row.deleted_at) for row in conn.execute(statement)]


def removed_at(conn: Connection, source_id: int) -> datetime | None:
    return conn.execute(select(sources.c.deleted_at).where(sources.c.id == source_id)).scalar()


def due(conn: Connection, *, now: datetime, limit: int, owner: str) -> list[DueSource]:
    """What is due, not being worked on and at no host that others look after, the most urgent first."""
    return [DueSource._make(row) for row in conn.execute(_DUE, {"now": now, "most": limit, "owner": owner})]


def are_many_due(conn: Connection, *, types: Collection[str], now: datetime, many: int) -> bool:
    """Whether so many of these types are due, near enough: some may be worked on, or be at a host of somebody else."""
    some = select(sources.c.id).where(sources.c.next_check_at <= now, sources.c.type.in_(types)).limit(many).subquery()
    return conn.execute(select(func.count()).select_from(some)).scalar_one() == many


def save_states(conn: Connection, states: Iterable[tuple[Source, SourceState]]) -> None:
    """Store what visits made of these sources; most learn nothing, and of those only the course is written."""
    courses, wholes = [], []
    for source, state in states:
        course = _course_row(source.id, state)
        if (state.memory, state.rhythm, state.moved) == (source.memory, source.rhythm, source.moved):
            courses.append(course)
        else:
            wholes.append(course + _learnt_row(state))
    _save_course(conn, courses)
    _save_whole(conn, wholes)


def reschedule(conn: Connection, checks: Iterable[tuple[int, NextCheck]]) -> None:
    rows = [{"b_id": source_id, "b_at": check.at, "b_why": check.why} for source_id, check in checks]
    if rows:
        conn.execute(_RESCHEDULE, rows)


def page_of_type(conn: Connection, source_type: str, *, after_id: int, limit: int) -> list[Source]:
    statement = (
        select(sources)
        .where(sources.c.type == source_type, sources.c.id > after_id, sources.c.next_check_at.is_not(None))
        .order_by(sources.c.id)
        .limit(limit)
        # What is put off, paused or removed meanwhile is not to be made due again.
        .with_for_update(key_share=True)
    )
    return [_source(row) for row in conn.execute(statement)]


def list_active_of_types(conn: Connection, types: Sequence[str]) -> list[Source]:
    statement = select(sources).where(sources.c.type.in_(types), sources.c.is_active.is_(True), ~sources.c.is_deleted)
    return [_source(row) for row in conn.execute(statement.order_by(sources.c.id))]


def page_with_doubtful_config(conn: Connection, *, after_id: int, limit: int) -> list[Source]:
    """Those whose config may hold a secret that is not sealed, by its text alone: most need not be read."""
    written = cast(sources.c.config, String)
    doubtful = or_(*(written.like(pattern) for pattern in ("%{%{%", "%@%", "%?%")))
    is_sealed = written.like(f'%"{SEALED_KEY}"%')
    # What is secret in a body was not always sealed with the rest.
    may_be_plain = or_(and_(doubtful, ~is_sealed), written.like(f'%"{BODY_KEY}"%'))
    statement = select(sources).where(sources.c.id > after_id, may_be_plain).order_by(sources.c.id)
    return [_source(row) for row in conn.execute(statement.limit(limit))]


def set_config(conn: Connection, source: Source, config: Mapping[str, Any]) -> bool:
    """Write the same config in another form, unless somebody changed it meanwhile."""
    unchanged = (sources.c.id == source.id, sources.c.version == source.version)
    return conn.execute(update(sources).where(*unchanged).values(config=dict(config))).rowcount > 0


def rest_private_of(conn: Connection, owner_id: int, *, now: datetime) -> None:
    """Let somebody's private sources rest, but for those that a person paused or that are gone anyway."""
    theirs = (sources.c.created_by == owner_id, sources.c.is_public.is_(False), sources.c.next_check_at.is_not(None))
    resting = {"is_active": False, "paused_by": PausedBy.OWNER, **schedule_columns(NextCheck(at=None, why=None))}
    _change_all(conn, theirs, resting, now=now)


def wake_private_of(conn: Connection, owner_id: int, values: Mapping[str, Any], *, now: datetime) -> None:
    _change_all(conn, (sources.c.created_by == owner_id, sources.c.paused_by == PausedBy.OWNER), values, now=now)


def wake_types(conn: Connection, can_fetch: Callable[[str], bool], *, now: datetime) -> None:
    """Make due at once what was put off because its type had no fetcher, now that it has one."""
    waiting = select(sources.c.type).where(sources.c.next_check_why == Why.NO_FETCHER).distinct()
    types = [name for name in conn.execute(waiting).scalars() if can_fetch(name)]
    if not types:
        return
    conn.execute(
        update(sources)
        .where(sources.c.next_check_why == Why.NO_FETCHER, sources.c.type.in_(types))
        .values(next_check_at=now, next_check_why=Why.NEW)
    )


def drop_probes(conn: Connection) -> None:
    """What errors paused is not looked at again: nobody probes any more."""
    never = schedule_columns(NextCheck(at=None, why=None))
    conn.execute(update(sources).where(sources.c.next_check_why == Why.PROBE).values(never))


def subscribe(conn: Connection, user_id: int, source_id: int, *, now: datetime) -> bool:
    """True if the subscription is new."""
    known = select(subscriptions.c.id).where(subscriptions.c.user_id == user_id, subscriptions.c.source_id == source_id)
    if conn.execute(known).one_or_none():
        return False
    conn.execute(insert(subscriptions), {"user_id": user_id, "source_id": source_id, "created_at": now})
    return True


def _change_all(
    conn: Connection, which: Iterable[ColumnElement[bool]], values: Mapping[str, Any], *, now: datetime
) -> None:
    changed = update(sources).where(*which).values(**values, updated_at=now, version=sources.c.version + 1)
    if conn.execute(changed).rowcount:
        record_edit(conn, now=now)


# Sorted, so that what comes back is in the order of what was given.
_ADD = insert(sources).returning(*sources.c, sort_by_parameter_order=True)
_BY_IDS = select(sources).where(among(sources.c.id, "ids"))
# Not the keys, which are never changed: what refers to a source may be stored meanwhile.
_BY_IDS_FOR_UPDATE = _BY_IDS.order_by(sources.c.id).with_for_update(key_share=True)

_VERSIONS_FOR_UPDATE = (
    select(sources.c.id, sources.c.version)
    .where(among(sources.c.id, "ids"))
    .order_by(sources.c.id)
    .with_for_update(key_share=True)
)

_DUE = (
    select(
        sources.c.id,
        sources.c.next_check_why == Why.HOST_BUDGET,
        hosts.c.host,
        hosts.c.held_until,
        hosts.c.booked_until,
        sources.c.type,
    )
    .select_from(sources.outerjoin(hosts, hosts.c.host == sources.c.host))
    .where(
        sources.c.next_check_at <= bindparam("now", type_=UtcDateTime),
        ~running_on(sources.c.id),
        or_(hosts.c.host.is_(None), IS_FREE),
    )
    .order_by(*BY_URGENCY)
    .limit(bindparam("most", type_=Integer))
)

_COURSE = (
    "last_fetched_at",
    "last_attempt_at",
    "fetch_count",
    "fetch_error_count",
    "last_error",
    "last_error_at",
    "is_active",
    "paused_by",
    "next_check_at",
    "next_check_why",
)
_LEARNT = ("memory", "rhythm", "quiet_at", "gap_at", "moved")
_save_course = BulkUpdate(sources, *_COURSE)
_save_whole = BulkUpdate(sources, *_COURSE, *_LEARNT)

_RESCHEDULE = (
    update(sources)
    .where(sources.c.id == bindparam("b_id"))
    .values(next_check_at=bindparam("b_at"), next_check_why=bindparam("b_why"))
)


_COLUMNS = [column.name for column in sources.c]
#: Columns that are as they are in a new source, and in one that is stored.
_GIVEN = [one.name for one in fields(NewSource) if one.name in sources.c]
_PLAIN = [one.name for one in fields(Source) if one.name in sources.c]


def _new_row(new: NewSource, now: datetime) -> dict[str, Any]:
    return {
        **{name: getattr(new, name) for name in _GIVEN},
        "config": dict(new.config),
        "identity": identity_hash(new.type, new.identity),
        "identity_scope": new.created_by or 0,
        "tags": list(new.tags),
        "is_active": True,
        "is_deleted": False,
        "created_at": now,
        "updated_at": now,
        "fetch_count": 0,
        "fetch_error_count": 0,
        "next_check_at": now,
        "next_check_why": Why.NEW,
        "memory": {},
        "rhythm": {},
        "keep_days": new.keep_days,
        "version": 0,
    }


def _course_row(source_id: int, state: SourceState) -> tuple[Any, ...]:
    """The id, and what `_COURSE` names."""
    return (
        source_id,
        state.last_fetched_at,
        state.last_attempt_at,
        state.fetch_count,
        state.fetch_error_count,
        state.last_error.message if state.last_error else None,
        state.last_error.at if state.last_error else None,
        state.is_active,
        state.paused_by,
        state.next_check.at,
        state.next_check.why,
    )


def _learnt_row(state: SourceState) -> tuple[Any, ...]:
    """What `_LEARNT` names."""
    return (
        state.memory,
        to_json(state.rhythm),
        state.rhythm.quiet_at(),
        state.rhythm.gap_at,
        {"to": state.moved.to, "times": state.moved.times} if state.moved else None,
    )


def _source(row: Row[Any]) -> Source:
    # By a dictionary: to ask a row for a name costs four times as much, and there are many.
    at = dict(zip(_COLUMNS, row, strict=True))
    values = {name: at[name] for name in _PLAIN}
    values["paused_by"] = PausedBy(at["paused_by"]) if at["paused_by"] else None
    values["tags"] = tuple(at["tags"])
    values["last_error"] = LastError(message=at["last_error"], at=at["last_error_at"]) if at["last_error_at"] else None
    why = Why(at["next_check_why"]) if at["next_check_why"] else None
    values["next_check"] = NextCheck(at=at["next_check_at"], why=why)
    values["rhythm"] = from_json(at["rhythm"])
    values["moved"] = Moved(**at["moved"]) if at["moved"] else None
    return Source(**values)
