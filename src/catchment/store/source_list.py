"""Lists of sources as people look through them: searched, filtered, sorted, a page at a time, with their history."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cache, partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Integer,
    Select,
    String,
    and_,
    bindparam,
    cast,
    func,
    literal_column,
    or_,
    select,
    true,
)

from catchment.clock import Day
from catchment.domain.caller import Caller
from catchment.domain.source import PausedBy, Source
from catchment.domain.visit import VisitOutcome
from catchment.store.fetch_log import LogLine, place_among, read_visit
from catchment.store.sources import get_many, seen_by
from catchment.store.tables import fetch_log, raw_items, sources
from catchment.store.types import among, dumps, loads

#: So many visits of each source are shown in a row.
LAST_VISITS = 20
V = TypeVar("V")
_finished_at = attrgetter("finished_at")


class Health(StrEnum):
    """By what is to be done: nothing, wait, look, or act."""

    NEEDS_YOU = "needs_you"
    OK = "ok"
    FAILING = "failing"
    BROKEN = "broken"
    PAUSED = "paused"
    WAITING = "waiting"


class Sort(StrEnum):
    ATTENTION = "attention"
    NAME = "name"
    NEXT = "next"
    LAST = "last"
    ADDED = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceQuery:
    """Which sources to list, as far as the caller may see them."""

    caller: Caller
    #: Looked for in names, tags and hosts.
    text: str = ""
    type: str = ""
    tag: str = ""
    health: Health | None = None
    sort: Sort = Sort.ATTENTION
    limit: int = 100
    offset: int = 0

    @property
    def is_narrowed(self) -> bool:
        return bool(self.text or self.type or self.tag or self.health)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenCounts:
    """How many sources there are for a caller to see."""

    total: int
    #: Of these, so many need somebody.
    needy: int


_BROKEN = sources.c.paused_by.in_([PausedBy.ERROR, PausedBy.GONE])
_FAILING = and_(sources.c.is_active.is_(True), sources.c.fetch_error_count > 0)
_IS: Mapping[Health, ColumnElement[bool]] = {
    Health.NEEDS_YOU: or_(_BROKEN, _FAILING),
    Health.OK: and_(
        sources.c.is_active.is_(True), sources.c.fetch_error_count == 0, sources.c.last_fetched_at.is_not(None)
    ),
    Health.FAILING: _FAILING,
    Health.BROKEN: _BROKEN,
    Health.PAUSED: sources.c.is_active.is_(False),
    Health.WAITING: and_(
        sources.c.is_active.is_(True), sources.c.fetch_error_count == 0, sources.c.last_fetched_at.is_(None)
    ),
}
_LATEST_FIRST = sources.c.last_attempt_at.desc().nulls_last()
_ORDERS: Mapping[Sort, Sequence[ColumnElement[Any]]] = {
    Sort.ATTENTION: (_BROKEN.is_(True).desc(), _FAILING.desc(), _LATEST_FIRST),
    Sort.NAME: (func.lower(sources.c.name),),
    Sort.NEXT: (sources.c.next_check_at.asc().nulls_last(),),
    Sort.LAST: (_LATEST_FIRST,),
    Sort.ADDED: (sources.c.created_at.desc(),),
}


def list_page(conn: Connection, query: SourceQuery) -> list[Source]:
    return get_many(conn, list(conn.execute(_page(conn, query)).scalars()))


def list_counted(conn: Connection, query: SourceQuery) -> tuple[list[Source], int]:
    """A page, and of how many: by the same look, as whatever orders them has seen them all."""
    rows = conn.execute(_page(conn, query).add_columns(func.count().over())).all()
    # Behind the last page there is nobody to tell.
    counted = rows[0][1] if rows else count(conn, query) if query.offset else 0
    return get_many(conn, [row.id for row in rows]), counted


def _page(conn: Connection, query: SourceQuery) -> Select[Any]:
    found: Select[Any] = select(sources.c.id).where(_wanted(conn, query))
    return found.order_by(*_ORDERS[query.sort], sources.c.id).limit(query.limit).offset(query.offset)


def list_called(conn: Connection, query: SourceQuery) -> list[Source]:
    """Those whose whole name is what is looked for."""
    is_called = func.lower(sources.c.name) == func.lower(query.text)
    seen = seen_by(query.caller)
    ids = conn.execute(select(sources.c.id).where(seen, is_called).order_by(sources.c.id).limit(query.limit)).scalars()
    return get_many(conn, list(ids))


def list_names(conn: Connection, query: SourceQuery) -> list[str]:
    """What the sources are called, in the order of the alphabet."""
    names = select(sources.c.name).where(_wanted(conn, query)).order_by(*_ORDERS[Sort.NAME], sources.c.id)
    return list(conn.execute(names.limit(query.limit)).scalars())


class SourceOutline(NamedTuple):
    """Of a source, what its place in a file of all depends on."""

    id: int
    identity: str
    created_by: int | None
    tags: Sequence[str]


def list_outlines(conn: Connection, query: SourceQuery) -> list[SourceOutline]:
    """Of all that the caller may see, the oldest first. Most share a few sets of tags, each of which is read once."""
    columns = (sources.c.id, sources.c.identity, sources.c.created_by, cast(sources.c.tags, String))
    rows = conn.execute(select(*columns).where(_wanted(conn, query)).order_by(sources.c.id)).all()
    tags_of = cache(loads)
    return [SourceOutline(source_id, identity, owner, tags_of(tags)) for source_id, identity, owner, tags in rows]


def count(conn: Connection, query: SourceQuery) -> int:
    return conn.execute(select(func.count()).select_from(sources).where(_wanted(conn, query))).scalar_one()


def count_seen(conn: Connection, caller: Caller) -> SeenCounts:
    """By one look at them all."""
    needy = func.count().filter(_IS[Health.NEEDS_YOU])
    total, in_need = conn.execute(select(func.count(), needy).select_from(sources).where(seen_by(caller))).one()
    return SeenCounts(total=total, needy=in_need)


def list_types(conn: Connection, caller: Caller) -> list[str]:
    """Of what the caller may see, in the order of the alphabet."""
    return sorted(conn.execute(select(sources.c.type).where(seen_by(caller)).distinct()).scalars())


def count_tags(conn: Connection, caller: Caller) -> Counter[str]:
    """How many of what the caller may see have each tag: by sets of tags, as most share a few."""
    sets = conn.execute(select(sources.c.tags, func.count()).where(seen_by(caller)).group_by(sources.c.tags))
    tags: Counter[str] = Counter()
    for names, times in sets:
        tags.update(dict.fromkeys(names, times))
    return tags


class VisitMark(NamedTuple):
    """Of a visit, what a row shows. A tuple: of these a page reads a thousand, and to read them is most of its work."""

    source_id: int
    started_at: datetime
    finished_at: datetime
    ok: bool
    inserted: int
    excuse: str | None

    @property
    def outcome(self) -> VisitOutcome:
        return VisitOutcome.of(ok=self.ok, excuse=self.excuse)


def last_visits(conn: Connection, ids: Sequence[int], *, most: int = LAST_VISITS) -> dict[int, list[VisitMark]]:
    """The last visits of each, the latest last; read by index, so many of each and no more."""
    return _last_of_each(conn, _LAST_MARKS, ids, most, VisitMark._make)


def last_lines(conn: Connection, ids: Sequence[int]) -> dict[int, LogLine]:
    """The last visit of each, with all that is known of it."""
    found = _last_of_each(conn, _LAST_LINES, ids, 1, partial(read_visit, LogLine))
    return {source_id: line for source_id, (line,) in found.items()}


def _last_of_each(
    conn: Connection, by_store: Mapping[str, Select[Any]], ids: Sequence[int], most: int, read: Callable[[Any], V]
) -> dict[int, list[V]]:
    found: dict[int, list[V]] = defaultdict(list)
    for row in conn.execute(by_store[conn.dialect.name], {"ids": ids, "most": most}).all():
        found[row.source_id].append(read(row))
    return {source_id: sorted(visits, key=_finished_at) for source_id, visits in found.items()}


def visits_of(conn: Connection, source_id: int, *, limit: int) -> list[LogLine]:
    """The latest first."""
    return [read_visit(LogLine, row) for row in conn.execute(_latest(source_id, limit))]


def items_since(conn: Connection, ids: Sequence[int], since: datetime) -> dict[int, int]:
    wanted = and_(among(raw_items.c.source_id, ids), raw_items.c.fetched_at >= since)
    rows = conn.execute(select(raw_items.c.source_id, func.count()).where(wanted).group_by(raw_items.c.source_id))
    return {row[0]: row[1] for row in rows}


def items_by_day(conn: Connection, source_id: int, days: Sequence[Day]) -> dict[date, int]:
    wanted = and_(raw_items.c.source_id == source_id, raw_items.c.fetched_at >= days[0].begins)
    counts = select(place_among(days, raw_items.c.fetched_at), func.count()).where(wanted)
    return {days[place].day: count for place, count in conn.execute(counts.group_by(literal_column("place")))}


def _wanted(conn: Connection, query: SourceQuery) -> ColumnElement[bool]:
    return and_(
        seen_by(query.caller),
        _finds(conn, query.text) if query.text else true(),
        sources.c.type == query.type if query.type else true(),
        cast(sources.c.tags, String).contains(dumps(query.tag), autoescape=True) if query.tag else true(),
        _IS[query.health] if query.health else true(),
    )


def _finds(conn: Connection, text: str) -> ColumnElement[bool]:
    """Not in the config: it may hold what others are not to know, and whoever searches could guess it."""
    places = (sources.c.name, sources.c.host, cast(sources.c.tags, String))
    if conn.dialect.name == "sqlite":
        # Its LIKE takes no notice of case; to write everything small first takes twice as long as the whole search.
        return or_(*(place.contains(text, autoescape=True) for place in places))
    return or_(*(place.icontains(text, autoescape=True) for place in places))


def _latest(source_id: int, most: int) -> Any:
    return (
        select(fetch_log)
        .where(fetch_log.c.source_id == source_id)
        .order_by(fetch_log.c.finished_at.desc(), fetch_log.c.id.desc())
        .limit(most)
    )


def _statements(columns: Sequence[Column[Any]]) -> Mapping[str, Select[Any]]:
    """So many visits of each of these sources; the stores have different words for it."""
    of_each = (
        select(*columns)
        .where(fetch_log.c.source_id == sources.c.id)
        .order_by(fetch_log.c.finished_at.desc(), fetch_log.c.id.desc())
        .limit(bindparam("most", type_=Integer))
        .correlate(sources)
    )
    some, part = of_each.with_only_columns(fetch_log.c.id).subquery(), of_each.lateral()
    is_named = among(sources.c.id, "ids")
    return {
        "sqlite": select(*columns).join_from(sources, fetch_log, fetch_log.c.id.in_(select(some.c.id))).where(is_named),
        "postgresql": select(*part.c).join_from(sources, part, true()).where(is_named),
    }


_LAST_MARKS = _statements([fetch_log.c[name] for name in VisitMark._fields])
_LAST_LINES = _statements(list(fetch_log.c))
