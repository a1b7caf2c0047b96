"""What a saved feed shows: its mark, which tells whether anything changed, and its items."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Row,
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal,
    or_,
    select,
    true,
)
from sqlalchemy.sql.compiler import SQLCompiler

from catchment.domain.feed import SavedFeed, ShownItem
from catchment.domain.search import read_query
from catchment.domain.source import Source
from catchment.store import feeds, sources
from catchment.store.changes import CATALOGUE
from catchment.store.items import MAX_BY_SOURCE, is_tagged, item_of, newest_of
from catchment.store.search import candidates
from catchment.store.sources import visible_to
from catchment.store.tables import changes, raw_items, users
from catchment.store.tables import feeds as feed_table
from catchment.store.tables import sources as source_table
from catchment.store.types import UtcDateTime

#: Of a feed that looks inside items, these many of the newest are looked at.
MAX_LOOKED_AT = 2_000
BATCH = 250


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedVersion:
    """Two counts that only rise. While nobody edits the catalogue, a feed's sources stay the same ones, and then the
    second rises with every change of their items: no two states of a feed have the same mark.
    """

    edits: int
    changes: int
    #: When the last change was.
    changed_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedStateQuery:
    """What to ask to know whether a feed changed. It is worked out once: that takes longer than asking."""

    feed: SavedFeed
    sql: str
    parameters: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedState:
    #: Whose feed is as it is now.
    query: FeedStateQuery
    mark: FeedVersion


def look(conn: Connection, slug: str, query: FeedStateQuery | None) -> FeedState | None:
    """The feed as it is now, without its items; `query` is that of the last look, if there was one."""
    mark = _ask(conn, query) if query else None
    if query and mark:
        return FeedState(query=query, mark=mark)
    feed = feeds.find(conn, slug)
    if feed is None:
        return None
    query = _state_query(feed, conn.dialect)
    mark = _ask(conn, query)
    return FeedState(query=query, mark=mark) if mark else None


def _ask(conn: Connection, query: FeedStateQuery) -> FeedVersion | None:
    """The mark; None if the feed is not what the query takes it for any more."""
    row = conn.exec_driver_sql(query.sql, query.parameters).one_or_none()
    if row is None:
        return None
    version, is_admin, edits, edited_at, times, changed_at = row
    feed = query.feed
    if (version, bool(is_admin)) != (feed.version, feed.sees_all and feed.owner_id is not None):
        return None
    read = UtcDateTime().result_processor(conn.dialect, None)
    moments = [moment for moment in map(read, (edited_at, changed_at)) if moment is not None]
    return FeedVersion(edits=edits or 0, changes=int(times), changed_at=max(moments, default=None))


def _state_query(feed: SavedFeed, dialect: Dialect) -> FeedStateQuery:
    counted = _counting(feed, dialect).subquery()
    edits = changes.alias()
    statement = (
        select(
            feed_table.c.version,
            users.c.is_admin,
            edits.c.times,
            edits.c.changed_at,
            counted.c.times,
            counted.c.changed_at,
        )
        .select_from(feed_table.join(counted, true()))
        .outerjoin(users, users.c.id == feed_table.c.owner_id)
        .outerjoin(edits, edits.c.source_id == CATALOGUE)
        .where(feed_table.c.id == feed.id, feeds.owner_is_active())
    )
    compiled = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    assert isinstance(compiled, SQLCompiler)
    given = compiled.params
    order = compiled.positiontup
    return FeedStateQuery(
        feed=feed, sql=str(compiled), parameters=tuple(given[name] for name in order) if order else given
    )


def only_source(conn: Connection, feed: SavedFeed) -> Source | None:
    """The source of a feed that shows exactly one, if its owner may see it."""
    if len(set(feed.filter.sources)) != 1:
        return None
    seen = _seen_by(feed)
    source_id = conn.execute(
        select(source_table.c.id).where(source_table.c.id == feed.filter.sources[0], seen)
    ).scalar()
    return sources.get(conn, source_id) if source_id is not None else None


def read_items(
    conn: Connection, feed: SavedFeed, keeps: Callable[[ShownItem], bool], *, since: datetime | None
) -> tuple[Source | None, list[ShownItem]]:
    """The feed's one source, if that is all it shows, and its items: the newest change first."""
    most = MAX_LOOKED_AT if feed.filter.looks_inside() else feed.filter.limit
    found: list[ShownItem] = []
    for shown in _load(conn, _candidates(conn, feed, since=since, most=most)):
        if keeps(shown):
            found.append(shown)
        if len(found) == feed.filter.limit:
            break
    return only_source(conn, feed), found


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """The beginning of what a feed shows."""

    items: Sequence[ShownItem]
    #: Of the newest that were looked at, so many belong to it.
    count: int
    #: Whether there are more that were not looked at.
    is_more: bool


def glance(
    conn: Connection,
    feed: SavedFeed,
    keeps: Callable[[ShownItem], bool],
    *,
    since: datetime | None,
    look_at: int,
    show: int,
) -> Glance:
    """What the newest items say of a feed: only so many are looked at, and read only where that tells something."""
    ids = _candidates(conn, feed, since=since, most=look_at + 1)
    newest, is_more = ids[:look_at], len(ids) > look_at
    if not feed.filter.looks_inside():
        return Glance(items=list(_load(conn, newest[:show])), count=len(newest), is_more=is_more)
    kept = [shown for shown in _load(conn, newest) if keeps(shown)]
    return Glance(items=kept[:show], count=len(kept), is_more=is_more)


def _candidates(conn: Connection, feed: SavedFeed, *, since: datetime | None, most: int) -> Sequence[int]:
    return (_found if feed.filter.q else _newest)(conn, feed, since=since, most=most)


def keys_in_feed(
    conn: Connection, feed: SavedFeed, source_id: int, keys: Sequence[str], keeps: Callable[[ShownItem], bool]
) -> set[str]:
    """Which of these items of a source belong to the feed, however many it shows and of how many days."""
    if not conn.execute(select(_exists(source_table.c.id == source_id, *_sources_of(feed, conn.dialect)))).scalar():
        return set()
    if not feed.filter.looks_inside():
        return set(keys)
    found: set[str] = set()
    for start in range(0, len(keys), BATCH):
        of_source = (raw_items.c.source_id == source_id, raw_items.c.dedup_key.in_(keys[start : start + BATCH]))
        ids = conn.execute(select(raw_items.c.id).where(*of_source)).scalars().all()
        found |= {shown.item.key for shown in _load(conn, ids) if keeps(shown)}
    return found


def newest_by_date(conn: Connection, source_id: int, limit: int) -> list[ShownItem]:
    """The items of one source by their own dates, or else by when they came."""
    date = func.coalesce(raw_items.c.published_at, raw_items.c.fetched_at)
    newest = select(raw_items.c.id).where(raw_items.c.source_id == source_id).order_by(date.desc(), raw_items.c.id)
    return list(_load(conn, conn.execute(newest.limit(limit)).scalars().all()))


def _counting(feed: SavedFeed, dialect: Dialect) -> Select[Any]:
    statement = select(
        func.coalesce(func.sum(changes.c.times), 0).label("times"),
        func.max(changes.c.changed_at, type_=changes.c.changed_at.type).label("changed_at"),
    )
    if _takes_every_source(feed):
        return statement.where(changes.c.source_id != CATALOGUE)
    return statement.where(*_of_feed(changes.c.source_id, feed, dialect))


def _newest(conn: Connection, feed: SavedFeed, *, since: datetime | None, most: int) -> list[int]:
    """Ids, the newest change first. What was updated and what never was are taken apart, as each has its indexes."""
    ids: list[int] = []
    updated = raw_items.c.updated_at
    for at, known, wanted in (
        (raw_items.c.fetched_at, [], [updated.is_(None)]),
        (updated, [updated.is_not(None)], []),
    ):
        order = (at.desc(), raw_items.c.published_at.desc().nulls_last(), raw_items.c.id.desc())
        bounds = [*known, at >= since] if since else known
        if _takes_every_source(feed) or most > MAX_BY_SOURCE:
            of_feed = _of_feed(raw_items.c.source_id, feed, conn.dialect)
            found = select(raw_items.c.id).where(*bounds, *wanted, *of_feed).order_by(*order).limit(most)
            ids += conn.execute(found).scalars()
        else:
            of_sources, of_few = _sources_of(feed, conn.dialect), bool(feed.filter.sources)
            rows = newest_of(conn, of_sources, bounds, limit=most, order=order, wanted=wanted, at=at, of_few=of_few)
            ids += [row.id for row in rows]
    return _in_order(conn, ids)[:most]


def _in_order(conn: Connection, ids: Sequence[int]) -> list[int]:
    """By the latest change, then by their own dates."""
    changed_at = func.coalesce(raw_items.c.updated_at, raw_items.c.fetched_at, type_=UtcDateTime)
    order = (changed_at.desc(), raw_items.c.published_at.desc().nulls_last(), raw_items.c.id.desc())
    return list(conn.execute(select(raw_items.c.id).where(raw_items.c.id.in_(ids)).order_by(*order)).scalars())


def _found(conn: Connection, feed: SavedFeed, *, since: datetime | None, most: int) -> list[int]:
    """Ids of what the feed's search may find, the newest change first, then by their own dates."""
    changed_at = func.coalesce(raw_items.c.updated_at, raw_items.c.fetched_at, type_=UtcDateTime)
    ids = candidates(conn, read_query(feed.filter.q), feed.filter.sources, most=most)
    places: list[tuple[datetime, bool, datetime, int]] = []
    for start in range(0, len(ids), BATCH):
        statement = select(changed_at, raw_items.c.published_at, raw_items.c.id).where(
            raw_items.c.id.in_(ids[start : start + BATCH]), *_of_feed(raw_items.c.source_id, feed, conn.dialect)
        )
        rows = conn.execute(statement.where(changed_at >= since) if since else statement)
        places += [(at, date is not None, date or at, item_id) for at, date, item_id in rows]
    return [item_id for *_, item_id in sorted(places, reverse=True)]


def _load(conn: Connection, ids: Any) -> Iterator[ShownItem]:
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
        rows = {row.id: row for row in conn.execute(_BY_IDS, {"ids": some})}
        # One that was cleaned away in this very moment is not there any more.
        yield from (shown_item(rows[item_id]) for item_id in some if item_id in rows)


def shown_item(row: Row[Any]) -> ShownItem:
    return ShownItem(
        item=item_of(row),
        source_id=row.source_id,
        source_type=row.source_type,
        fetched_at=row.fetched_at,
        updated_at=row.updated_at,
    )


def _takes_every_source(feed: SavedFeed) -> bool:
    wanted = feed.filter
    return feed.sees_all and not feed.is_public and not (wanted.sources or wanted.types or wanted.tags)


def _of_feed(source_id: Column[Any], feed: SavedFeed, dialect: Dialect) -> list[ColumnElement[bool]]:
    """The source is one that the feed takes, and one that its owner may see."""
    fits = _exists(source_table.c.id == source_id, *_sources_of(feed, dialect))
    named = feed.filter.sources
    # Named on both sides, so that either may be the one to begin with.
    return [source_id.in_(named), fits] if named else [fits]


def _sources_of(feed: SavedFeed, dialect: Dialect) -> list[ColumnElement[bool]]:
    wanted, fits = feed.filter, [_seen_by(feed)]
    if wanted.types:
        fits.append(source_table.c.type.in_(wanted.types))
    if wanted.tags:
        fits.append(is_tagged(wanted.tags, dialect))
    if wanted.sources:
        fits.append(source_table.c.id.in_(wanted.sources))
    return fits


def _seen_by(feed: SavedFeed) -> ColumnElement[bool]:
    """What the feed may show: what its owner sees, but to the public nothing private of somebody else."""
    if not (feed.is_public and feed.sees_all):
        return visible_to(feed.owner_id, all_sources=feed.sees_all)
    # What belongs to nobody is the installation's own, and whoever sees everything speaks for that.
    return or_(visible_to(feed.owner_id, all_sources=False), _is_nobodys())


def _is_nobodys() -> ColumnElement[bool]:
    return and_(source_table.c.is_deleted.is_(False), source_table.c.created_by.is_(None))


def _exists(*conditions: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists(select(literal(1)).where(*conditions))


_BY_IDS: Select[Any] = (
    select(*raw_items.c, source_table.c.type.label("source_type"))
    .join(source_table, source_table.c.id == raw_items.c.source_id)
    .where(raw_items.c.id.in_(bindparam("ids", expanding=True)))
)
