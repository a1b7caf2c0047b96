"""The history of visits, and of requests to crawled platforms by the minute, from which rates are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from functools import reduce
from operator import add, attrgetter
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    and_,
    case,
    delete,
    func,
    literal_column,
    or_,
    select,
    true,
)

from catchment.clock import Day
from catchment.domain.caller import Caller
from catchment.domain.visit import VisitOutcome
from catchment.store.bulk import BulkInsert, insert_into, insert_or_ignore
from catchment.store.platform_tables import crawl_minutes
from catchment.store.sources import is_among, seen_by
from catchment.store.tables import fetch_log, raw_items, sources, visit_hours
from catchment.store.types import read_row

HOUR = timedelta(hours=1)
#: So long after its end an hour is counted: until then somebody may still be storing what belongs to it.
SETTLED = timedelta(minutes=10)
HOURS_KEPT = 25
#: Has no number, and stands for everybody where what is public is counted.
NOBODY = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    source_id: int
    started_at: datetime
    finished_at: datetime
    ok: bool
    items: int = 0
    inserted: int = 0
    error: str | None = None
    #: Only of one that failed by no fault of its source.
    excuse: VisitOutcome | None = None

    @property
    def outcome(self) -> VisitOutcome:
        return VisitOutcome.of(ok=self.ok, excuse=self.excuse)


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitCounts:
    """What some time brought. Visits that are excused are counted apart, and in no rate."""

    fetches: int = 0
    errors: int = 0
    excused: int = 0
    items: int = 0

    @classmethod
    def of(cls, *, visits: int, failed: int, excused: int, items: int) -> VisitCounts:
        """By what is stored, where a visit that is excused is one of those that failed."""
        return cls(fetches=visits - excused, errors=failed - excused, excused=excused, items=items)

    def __add__(self, other: VisitCounts) -> VisitCounts:
        return VisitCounts(
            fetches=self.fetches + other.fetches,
            errors=self.errors + other.errors,
            excused=self.excused + other.excused,
            items=self.items + other.items,
        )

    @property
    def success_rate(self) -> float | None:
        return round((self.fetches - self.errors) / self.fetches, 4) if self.fetches else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedVisit(LogLine):
    id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DayOfVisits:
    day: date
    #: Without those that are excused.
    visits: int = 0
    failed: int = 0
    excused: int = 0
    #: How many were new.
    items: int = 0


T = TypeVar("T", bound=LogLine)
_NAMES = [field.name for field in fields(LogLine)]
_values = attrgetter(*_NAMES)
_write = BulkInsert(fetch_log, varying=_NAMES)
# Indexes tell what failed, so that of all visits in them only these are looked up.
_IS_EXCUSED = and_(fetch_log.c.ok.is_(False), fetch_log.c.excuse.is_not(None))
_KEPT = ("visits", "failed", "excused", "items")
#: By what they are counted: a table, the moment that counts, what is counted, and of which rows.
_COUNTED = (
    (
        *(fetch_log, fetch_log.c.finished_at),
        (func.count(fetch_log.c.ok).label("visits"), func.count().filter(fetch_log.c.ok.is_(False)).label("failed")),
        true(),
    ),
    (fetch_log, fetch_log.c.finished_at, (func.count(fetch_log.c.ok).label("excused"),), _IS_EXCUSED),
    (raw_items, raw_items.c.fetched_at, (func.count(raw_items.c.source_id).label("items"),), true()),
)


def write(conn: Connection, lines: Sequence[LogLine]) -> None:
    _write(conn, [_values(line) for line in lines])


def count_since(conn: Connection, since: datetime, caller: Caller, *, now: datetime) -> VisitCounts:
    """Visits and new items of the sources that somebody may see: by the hours that were counted, and what is left."""
    # Nobody has the number of none, by which every hour that was counted is known.
    mine = or_(visit_hours.c.is_public.is_(True), visit_hours.c.owner_id == (caller.user_id or -1))
    shown = true() if caller.sees_all else mine
    sums = (func.sum(case((shown, visit_hours.c[name]), else_=0)).label(name) for name in _KEPT)
    needed = (visit_hours.c.hour >= since, or_(shown, visit_hours.c.owner_id == NOBODY))
    hours = select(visit_hours.c.hour, *sums).where(*needed).group_by(visit_hours.c.hour)
    kept = {row.hour: row for row in conn.execute(hours)}
    counted, left = uncounted(since, now, kept.keys())
    seen = [] if caller.sees_all else [seen_by(caller)]
    found = [VisitCounts.of(**{name: int(getattr(kept[hour], name)) for name in _KEPT}) for hour in counted]
    return sum(found, start=_count_in(conn, left, seen))


def uncounted(
    since: datetime, now: datetime, kept: Collection[datetime]
) -> tuple[list[datetime], list[tuple[datetime, datetime | None]]]:
    """Which of the kept hours tell of the time since then, and the stretches that they leave out; the last is open."""
    counted: list[datetime] = []
    left: list[tuple[datetime, datetime | None]] = []
    begin, hour = since, hour_of(since)
    if hour < since:
        hour += HOUR
    while hour + HOUR <= now:
        if hour in kept:
            counted.append(hour)
            if begin < hour:
                left.append((begin, hour))
            begin = hour + HOUR
        hour += HOUR
    return counted, [*left, (begin, None)]


def _count_in(
    conn: Connection, stretches: Sequence[tuple[datetime, datetime | None]], seen: Sequence[ColumnElement[bool]]
) -> VisitCounts:
    """By one statement: each part of it takes less time than to ask for it."""
    parts = []
    mine = select(sources.c.id).where(*seen).cte()
    for begin, end in stretches:
        for table, at, counts, only in _COUNTED:
            wanted = select(*counts).where(at >= begin, *([at < end] if end else []), only)
            if seen:
                wanted = wanted.where(is_among(table.c.source_id, select(mine.c.id)))
            parts.append(wanted.subquery())
    together: FromClause = parts[0]
    for part in parts[1:]:
        together = together.join(part, true())
    sums = (reduce(add, (part.c[name] for part in parts if name in part.c)).label(name) for name in _KEPT)
    return VisitCounts.of(**conn.execute(select(*sums).select_from(together)).mappings().one())


def hour_of(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0)


def count_an_hour(conn: Connection, *, now: datetime) -> int:
    """Count an hour of the last day that is over and was not counted yet; 0 where there is none.

    What was counted is forgotten once nobody asks for it any more.
    """
    end = hour_of(now - SETTLED)
    wanted = [end - HOUR * ago for ago in range(1, HOURS_KEPT + 1)]
    conn.execute(delete(visit_hours).where(visit_hours.c.hour < wanted[-1]))
    known = set(conn.execute(select(visit_hours.c.hour).distinct()).scalars())
    hour = next((one for one in wanted if one not in known), None)
    if hour is None:
        return 0
    rows: dict[tuple[int, bool], Counter[str]] = {(NOBODY, False): Counter()}
    # What is public is for everybody to see, whosever it is.
    owner = case((sources.c.is_public.is_(True), NOBODY), else_=func.coalesce(sources.c.created_by, NOBODY)).label(
        "owner_id"
    )
    whose = (owner, sources.c.is_public)
    for table, at, counts, only in _COUNTED:
        of_hour = select(*whose, *counts).join_from(table, sources, sources.c.id == table.c.source_id)
        for row in conn.execute(of_hour.where(at >= hour, at < hour + HOUR, only).group_by(*whose)):
            found = rows.setdefault((row.owner_id, row.is_public), Counter())
            found.update({one.name: getattr(row, one.name) for one in counts})
    values = [
        {"hour": hour, "owner_id": owner_id, "is_public": public} | {name: found[name] for name in _KEPT}
        for (owner_id, public), found in rows.items()
    ]
    conn.execute(insert_or_ignore(conn, visit_hours), values)
    return 1


def page(conn: Connection, source_id: int, *, before: int | None, limit: int) -> list[LoggedVisit]:
    """The visits of one source, the last first."""
    statement = select(fetch_log).where(fetch_log.c.source_id == source_id)
    if before is not None:
        then = select(fetch_log.c.finished_at).where(fetch_log.c.id == before).scalar_subquery()
        statement = statement.where(fetch_log.c.finished_at <= then, fetch_log.c.id < before)
    rows = conn.execute(statement.order_by(fetch_log.c.finished_at.desc(), fetch_log.c.id.desc()).limit(limit))
    return [read_visit(LoggedVisit, row) for row in rows]


def read_visit(kind: type[T], row: Row[Any]) -> T:
    return read_row(kind, row, excuse=VisitOutcome(row.excuse) if row.excuse else None)


def by_day(conn: Connection, source_id: int, days: Sequence[Day]) -> dict[date, DayOfVisits]:
    """What came of the visits of each of these days that had some."""
    statement = (
        select(
            place_among(days, fetch_log.c.finished_at),
            func.count().filter(fetch_log.c.excuse.is_(None)).label("visits"),
            func.count().filter(fetch_log.c.ok.is_(False), fetch_log.c.excuse.is_(None)).label("failed"),
            func.count(fetch_log.c.excuse).label("excused"),
            func.sum(fetch_log.c.inserted).label("items"),
        )
        .where(fetch_log.c.source_id == source_id, fetch_log.c.finished_at >= days[0].begins)
        .group_by(literal_column("place"))
    )
    found = (
        read_row(DayOfVisits, row, day=days[row.place].day, items=int(row.items or 0))
        for row in conn.execute(statement)
    )
    return {one.day: one for one in found}


def place_among(days: Sequence[Day], moment: ColumnElement[datetime]) -> ColumnElement[int]:
    """On which of these days that follow one another it was, by their moments: no store need know of zones."""
    latest_first = reversed(list(enumerate(days)))
    return case(*((moment >= one.begins, literal_column(str(place))) for place, one in latest_first)).label("place")


def delete_old(conn: Connection, *, finished_before: datetime, limit: int) -> int:
    old = select(fetch_log.c.id).where(fetch_log.c.finished_at < finished_before).limit(limit)
    return conn.execute(delete(fetch_log).where(fetch_log.c.id.in_(old.scalar_subquery()))).rowcount


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    ok: int = 0
    failed: int = 0


def record_request(conn: Connection, platform: str, *, ok: bool, now: datetime) -> None:
    one_more = insert_into(conn, crawl_minutes).values(
        minute=now.replace(second=0, microsecond=0), platform=platform, ok=int(ok), failed=int(not ok)
    )
    counted = {
        "ok": crawl_minutes.c.ok + one_more.excluded.ok,
        "failed": crawl_minutes.c.failed + one_more.excluded.failed,
    }
    conn.execute(one_more.on_conflict_do_update(index_elements=["minute", "platform"], set_=counted))


def count_requests(conn: Connection, moment: datetime) -> Mapping[str, Requests]:
    """By platform, from the minute of `moment` on."""
    counts = (
        select(crawl_minutes.c.platform, func.sum(crawl_minutes.c.ok), func.sum(crawl_minutes.c.failed))
        .where(crawl_minutes.c.minute >= moment.replace(second=0, microsecond=0))
        .group_by(crawl_minutes.c.platform)
    )
    return {platform: Requests(ok=int(ok), failed=int(failed)) for platform, ok, failed in conn.execute(counts)}


def delete_old_requests(conn: Connection, *, before: datetime) -> int:
    return conn.execute(delete(crawl_minutes).where(crawl_minutes.c.minute < before)).rowcount
