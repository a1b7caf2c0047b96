"""Items in the store, and the memory of those that were cleaned away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Integer,
    Row,
    Select,
    UnaryExpression,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.sql.operators import asc_op

from catchment.domain.caller import ANONYMOUS, Caller
from catchment.domain.item import (
    MAX_VERSION_CHARS,
    MAX_VERSIONS,
    Item,
    ItemVersion,
    Said,
    StoredItem,
    page_of,
    short_hash,
)
from catchment.store import changes
from catchment.store.bulk import BulkInsert
from catchment.store.changes import Cause
from catchment.store.sources import is_among, seen_by
from catchment.store.tables import changes as change_table
from catchment.store.tables import item_versions, raw_items, seen_items, sources, subscriptions
from catchment.store.types import UtcDateTime

#: A source's id and an item of it.
Owned = tuple[int, Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemQuery:
    """Which items to list, newest first."""

    caller: Caller = ANONYMOUS
    source_id: int | None = None
    since: datetime | None = None
    subscribed_by: int | None = None
    #: 0 is all.
    limit: int = 50
    offset: int = 0
    #: When the last item of the page before was collected, and its number.
    after: tuple[datetime, int] | None = None


#: The newest visit first, and what came by it by its own date.
NEWEST_FIRST = (raw_items.c.fetched_at.desc(), raw_items.c.published_at.desc().nulls_last(), raw_items.c.id.desc())
#: Beyond so many, items are not sought source by source.
MAX_BY_SOURCE = 1_000
#: Whoever sees a tenth of what comes, and has read half of that, finds a page among so many times as much.
AMONG = 20


def remembered(conn: Connection, source_id: int, keys: Sequence[str]) -> dict[str, bytes]:
    """The fingerprints of those keys that were stored before, whether they are still there or were cleaned away."""
    stored = conn.execute(_STORED, {"source_id": source_id, "keys": keys})
    known = {row.dedup_key: bytes(row.fingerprint) for row in stored}
    by_hash = {short_hash(key): key for key in keys if key not in known}
    if by_hash:
        cleaned = conn.execute(_CLEANED, {"source_id": source_id, "keys": list(by_hash)})
        known |= {by_hash[bytes(row.key)]: bytes(row.fingerprint) for row in cleaned}
    return known


def said(conn: Connection, source_id: int, items: Sequence[Item]) -> set[Said]:
    """What was stored of a source of late and says what one of these items says, of those with a date or a page."""
    prints = [item.fingerprint for item in items if item.published_at or item.url]
    if not prints:
        return set()
    rows = conn.execute(_SAID, {"source_id": source_id, "prints": prints})
    return {(bytes(row.fingerprint), page_of(row.url), row.published_at) for row in rows}


def alike(conn: Connection, source_id: int, *, new: Sequence[Item], changed: Sequence[Item]) -> list[Item]:
    """What is stored of those that changed, and of whatever has a title or an address of the new ones."""
    if not (new or changed):
        return []
    values = {
        "source_id": source_id,
        "keys": [item.key for item in changed],
        "urls": [item.url for item in new],
        "titles": [item.title for item in new],
    }
    return [item_of(row) for row in conn.execute(_ALIKE, values)]


def item_of(row: Row[Any]) -> Item:
    """The item that was stored in a row."""
    return Item(
        row.dedup_key,
        bytes(row.fingerprint),
        row.title,
        row.url,
        row.author,
        row.content,
        row.published_at,
        row.metadata,
    )


def insert_new(conn: Connection, items: Sequence[Owned], *, now: datetime) -> None:
    _insert(conn, [(source_id, *item) for source_id, item in items], fetched_at=now, revision=0)
    changes.record_items(conn, Counter(source_id for source_id, _ in items), Cause.COLLECTED, now=now)


def update_changed(conn: Connection, items: Sequence[Owned], *, now: datetime) -> None:
    """Bring known items up to date in place. One that was cleaned away stays away, but its new face is remembered."""
    if items:
        named = [{"b_source": source_id, "b_key": item.key} for source_id, item in items]
        conn.execute(_KEEP_VERSION, named)
        conn.execute(_UPDATE, [_update_row(source_id, item, now) for source_id, item in items])
        conn.execute(
            _UPDATE_CLEANED,
            [{"b_source": owner, "b_key": short_hash(item.key), "b_print": item.fingerprint} for owner, item in items],
        )
        conn.execute(_FORGET_VERSIONS, named)
        changes.record(conn, (source_id for source_id, _ in items), Cause.COLLECTED, now=now)


def versions(conn: Connection, item_id: int) -> list[ItemVersion]:
    """What the item said before it was edited, the newest first, as far as it is kept."""
    statement = select(item_versions).where(item_versions.c.item_id == item_id)
    rows = conn.execute(statement.order_by(item_versions.c.revision.desc()))
    return [
        ItemVersion(revision=row.revision, title=row.title, content=row.content, seen_at=row.seen_at) for row in rows
    ]


def list_items(conn: Connection, query: ItemQuery) -> list[StoredItem]:
    if not query.limit:
        return [
            stored_item(row)
            for row in conn.execute(_whole().where(*_of_sources(query)).order_by(*NEWEST_FIRST).offset(query.offset))
        ]
    ids = _newest_ids(conn, query)
    # By their numbers alone: who may see them was asked, and to ask again would begin with all that they may see.
    rows = {row.id: stored_item(row) for row in conn.execute(_whole().where(raw_items.c.id.in_(ids)))}
    # One that was cleaned away in this very moment is not there any more.
    return [rows[item_id] for item_id in ids if item_id in rows]


def newest_of(
    conn: Connection,
    which: Sequence[ColumnElement[bool]],
    bounds: Sequence[ColumnElement[bool]],
    *,
    limit: int,
    order: Sequence[UnaryExpression[Any]],
    wanted: Sequence[ColumnElement[bool]] = (),
    at: Column[Any] = raw_items.c.fetched_at,
    of_few: bool = False,
) -> Sequence[Row[Any]]:
    """The newest items of some sources, without a look at all that the others brought: these may be a million.

    By when they came, or by another moment, with which `order` begins; the oldest where it rises. An index knows the
    `bounds`, and what is `wanted` besides is asked of each item. Often enough of them are among the newest of all,
    unless the sources are few; else they are sought source by source.
    """
    columns = (raw_items.c.id, raw_items.c.source_id, raw_items.c.fetched_at, at.label("moment"))
    if not of_few:
        end = conn.execute(select(at).where(*bounds).order_by(order[0]).offset(AMONG * limit).limit(1)).scalar()
        until = [] if end is None else [at <= end if _rises(order) else at >= end]
        of_these = is_among(raw_items.c.source_id, select(sources.c.id).where(*which))
        among: Select[Any] = select(*columns).where(*bounds, *until, of_these, *wanted).order_by(*order)
        rows = conn.execute(among.limit(limit)).all()
        if len(rows) == limit or end is None:
            return rows
    return _by_source(conn, columns, which, [*bounds, *wanted], limit=limit, order=order, at=at)


def _rises(order: Sequence[UnaryExpression[Any]]) -> bool:
    return order[0].modifier is asc_op


def _by_source(
    conn: Connection,
    columns: Sequence[ColumnElement[Any]],
    which: Sequence[ColumnElement[bool]],
    bounds: Sequence[ColumnElement[bool]],
    *,
    limit: int,
    order: Sequence[UnaryExpression[Any]],
    at: Column[Any],
) -> list[Row[Any]]:
    """First the newest moment of each source, by an index: of these the latest `limit` decide of which sources items
    are wanted, and all moments of these from when on.
    """
    rises = _rises(order)
    newest_first = at.asc() if rises else at.desc()
    own = raw_items.c.source_id == sources.c.id
    newest = select(at).where(own, *bounds).order_by(newest_first).limit(1).correlate(sources)

    def tops(moment: Select[Any], *of: ColumnElement[bool]) -> Select[Any]:
        latest = moment.scalar_subquery().label("latest")
        by_it = (latest.asc() if rises else latest.desc()).nulls_last()
        return select(sources.c.id, latest).where(*of).order_by(by_it)

    found = [row for row in conn.execute(tops(newest, *which).limit(limit)) if row.latest is not None]
    if not found:
        return []
    ids, since, is_all = [row.id for row in found], list[ColumnElement[bool]](), len(found) < limit
    begin = found[-1].latest if not is_all else None
    if 1 < len(found) < limit:
        # Of half of them so many each are a page.
        deep = -(-2 * limit // len(found))
        nth = tops(newest.offset(deep - 1), sources.c.id.in_(ids)).offset(-(-limit // deep) - 1).limit(1)
        begin = conn.execute(nth).one().latest
    if begin is not None:
        from_there = at <= begin if rises else at >= begin
        moments = select(at).where(raw_items.c.source_id.in_(ids), from_there, *bounds).order_by(newest_first)
        last = conn.execute(moments.offset(limit - 1).limit(1)).scalar() or begin
        since = [at <= last if rises else at >= last]
    each = select(raw_items.c.id).where(own, *bounds, *since).order_by(*order).limit(limit).correlate(sources)
    wanted = _joined(conn, columns, each, sources.c.id.in_(ids))
    rows = list(conn.execute(wanted.order_by(*order).limit(limit)))
    if is_all or (len(rows) == limit and rows[-1].moment != begin):
        return rows
    # Sources that were left out may have something of that very moment: many are stored together.
    together = select(*columns).where(at == begin, *bounds, exists().where(own, *which)).order_by(*order)
    return [*(row for row in rows if row.moment != begin), *conn.execute(together.limit(limit))][:limit]


def _joined(
    conn: Connection, columns: Sequence[ColumnElement[Any]], each: Select[Any], wanted: ColumnElement[bool]
) -> Select[Any]:
    """So many items of each source; the stores have different words for it."""
    if conn.dialect.name == "sqlite":
        inner = each.with_only_columns(raw_items.c.id)
        aliased = inner.subquery()
        return select(*columns).join_from(sources, raw_items, raw_items.c.id.in_(select(aliased.c.id))).where(wanted)
    part = each.lateral()
    return select(*columns).join_from(sources, part, true()).join(raw_items, raw_items.c.id == part.c.id).where(wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemStats:
    """What a source brought."""

    source_id: int
    name: str
    type: str
    total_items: int
    last_item_at: datetime | None
    items_24h: int


def stats_by_source(conn: Connection, caller: Caller, *, since: datetime, after_id: int, limit: int) -> list[ItemStats]:
    """How many items each active source has, when the last came, and how many since then; by their numbers."""
    own = raw_items.c.source_id == sources.c.id
    at = raw_items.c.fetched_at
    last = select(at).where(own).order_by(at.desc()).limit(1).correlate(sources).scalar_subquery()
    new = select(func.count()).select_from(raw_items).where(own, at >= since).correlate(sources).scalar_subquery()
    statement = (
        select(sources.c.id, sources.c.name, sources.c.type, last.label("last_item_at"), new.label("items_24h"))
        .where(seen_by(caller), sources.c.is_active.is_(True), sources.c.id > after_id)
        .order_by(sources.c.id)
        .limit(limit)
    )
    rows = conn.execute(statement).all()
    kept = changes.item_counts(conn, [row.id for row in rows])
    return [
        ItemStats(
            source_id=row.id,
            name=row.name,
            type=row.type,
            total_items=kept.get(row.id, 0),
            last_item_at=row.last_item_at,
            items_24h=row.items_24h,
        )
        for row in rows
    ]


def count_kept(conn: Connection, query: ItemQuery) -> int:
    """How many items the sources of a query have, whenever they came, as it was counted then."""
    kept = select(func.sum(change_table.c.item_count)).join(sources, sources.c.id == change_table.c.source_id)
    return int(conn.execute(kept.where(*_of_sources(query))).scalar() or 0)


def delete_old(conn: Connection, *, now: datetime, keep: timedelta, limit: int) -> int:
    """Delete at most `limit` items that were kept long enough; what was seen stays remembered."""
    found = conn.execute(_OLD, {"before": now - keep, "most": limit}).all() or _outlived(conn, now=now, limit=limit)
    _remember(conn, [(row.source_id, short_hash(row.dedup_key), bytes(row.fingerprint)) for row in found])
    if found:
        conn.execute(_DELETE, {"ids": [row.id for row in found]})
        gone = Counter(row.source_id for row in found)
        changes.record_items(conn, {one: -count for one, count in gone.items()}, Cause.CLEANED, now=now)
    return len(found)


def delete_of_removed(conn: Connection, *, before: datetime, limit: int) -> int:
    """Delete at most `limit` items of sources that were removed before, and what was seen of one of them."""
    gone = select(sources.c.id).where(sources.c.is_deleted.is_(True), sources.c.deleted_at < before)
    some = select(raw_items.c.id).where(raw_items.c.source_id.in_(gone)).limit(limit)
    deleted = conn.execute(delete(raw_items).where(raw_items.c.id.in_(some.scalar_subquery()))).rowcount
    if not deleted:
        last = select(seen_items.c.source_id).where(seen_items.c.source_id.in_(gone)).limit(1).scalar_subquery()
        deleted = conn.execute(delete(seen_items).where(seen_items.c.source_id == last)).rowcount
    return deleted


def _outlived(conn: Connection, *, now: datetime, limit: int) -> Sequence[Any]:
    """Items past the time that their own source keeps them for."""
    for days in conn.execute(_OWN_KEEP_DAYS).scalars().all():
        found = conn.execute(_OLD_OF_OWN, {"before": now - timedelta(days=days), "days": days, "most": limit}).all()
        if found:
            return found
    return []


_STORED = select(raw_items.c.dedup_key, raw_items.c.fingerprint).where(
    raw_items.c.source_id == bindparam("source_id"), raw_items.c.dedup_key.in_(bindparam("keys", expanding=True))
)
_CLEANED = select(seen_items.c.key, seen_items.c.fingerprint).where(
    seen_items.c.source_id == bindparam("source_id"), seen_items.c.key.in_(bindparam("keys", expanding=True))
)
_OF_LATE = (
    select(raw_items.c.id)
    .where(raw_items.c.source_id == bindparam("source_id"))
    .order_by(raw_items.c.fetched_at.desc())
    .limit(1000)
)
_SAID = select(raw_items.c.fingerprint, raw_items.c.url, raw_items.c.published_at).where(
    raw_items.c.id.in_(_OF_LATE),
    raw_items.c.fingerprint.in_(bindparam("prints", expanding=True)),
)
_ALIKE = select(raw_items).where(
    raw_items.c.source_id == bindparam("source_id"),
    or_(
        raw_items.c.dedup_key.in_(bindparam("keys", expanding=True)),
        raw_items.c.url.in_(bindparam("urls", expanding=True)),
        raw_items.c.title.in_(bindparam("titles", expanding=True)),
    ),
)
_OLD_ITEMS = (
    select(raw_items.c.id, raw_items.c.source_id, raw_items.c.dedup_key, raw_items.c.fingerprint)
    .where(raw_items.c.fetched_at < bindparam("before", type_=UtcDateTime))
    .order_by(raw_items.c.fetched_at)
    .limit(bindparam("most", type_=Integer))
    # Two cleaners at once take different items.
    .with_for_update(skip_locked=True)
)
_WITH_OWN_KEEP = select(sources.c.id).where(sources.c.keep_days.is_not(None))
_OLD = _OLD_ITEMS.where(raw_items.c.source_id.not_in(_WITH_OWN_KEEP))
_OWN_KEEP_DAYS = select(sources.c.keep_days).where(sources.c.keep_days.is_not(None)).distinct()
_OLD_OF_OWN = _OLD_ITEMS.where(
    raw_items.c.source_id.in_(select(sources.c.id).where(sources.c.keep_days == bindparam("days", type_=Integer)))
)
_DELETE = delete(raw_items).where(raw_items.c.id.in_(bindparam("ids", expanding=True)))
_insert = BulkInsert(
    raw_items,
    varying=["source_id", *("dedup_key" if name == "key" else name for name in Item._fields)],
    same=["fetched_at", "revision"],
)
_remember = BulkInsert(seen_items, varying=["source_id", "key", "fingerprint"])
_UPDATE = (
    update(raw_items)
    .where(raw_items.c.source_id == bindparam("b_source"), raw_items.c.dedup_key == bindparam("b_key"))
    .values(
        fingerprint=bindparam("b_print"),
        title=bindparam("b_title"),
        url=bindparam("b_url"),
        author=bindparam("b_author"),
        content=bindparam("b_content"),
        published_at=bindparam("b_published"),
        metadata=bindparam("b_metadata"),
        updated_at=bindparam("b_now"),
        revision=raw_items.c.revision + 1,
    )
)
_NAMED = and_(raw_items.c.source_id == bindparam("b_source"), raw_items.c.dedup_key == bindparam("b_key"))
_KEEP_VERSION = insert(item_versions).from_select(
    ["item_id", "revision", "title", "content", "seen_at"],
    select(
        raw_items.c.id,
        raw_items.c.revision,
        func.substr(raw_items.c.title, 1, MAX_VERSION_CHARS),
        func.substr(raw_items.c.content, 1, MAX_VERSION_CHARS),
        func.coalesce(raw_items.c.updated_at, raw_items.c.fetched_at),
    ).where(_NAMED),
)
_FORGET_VERSIONS = delete(item_versions).where(
    item_versions.c.item_id == select(raw_items.c.id).where(_NAMED).scalar_subquery(),
    item_versions.c.revision < select(raw_items.c.revision - MAX_VERSIONS).where(_NAMED).scalar_subquery(),
)
_UPDATE_CLEANED = (
    update(seen_items)
    .where(seen_items.c.source_id == bindparam("b_source"), seen_items.c.key == bindparam("b_key"))
    .values(fingerprint=bindparam("b_print"))
)


def is_tagged(tags: Sequence[str], dialect: Dialect) -> ColumnElement[bool]:
    """Of a source: one of the tags is enough."""
    unpack = func.json_each if dialect.name == "sqlite" else func.jsonb_array_elements_text
    tag = unpack(sources.c.tags).table_valued("value")
    return exists(select(literal(1)).where(tag.c.value.in_(tags)))


def _update_row(source_id: int, item: Item, now: datetime) -> dict[str, Any]:
    return {
        "b_source": source_id,
        "b_key": item.key,
        "b_print": item.fingerprint,
        "b_title": item.title,
        "b_url": item.url,
        "b_author": item.author,
        "b_content": item.content,
        "b_published": item.published_at,
        "b_metadata": item.metadata,
        "b_now": now,
    }


def _newest_ids(conn: Connection, query: ItemQuery) -> list[int]:
    bounds, which = list(_bounds(conn, query)), list(_of_sources(query))
    wanted, sees_most = query.limit + query.offset, query.caller.sees_all and query.subscribed_by is None
    if query.source_id is None and (sees_most or wanted > MAX_BY_SOURCE):
        return _walked(conn, query, [*bounds, exists().where(sources.c.id == raw_items.c.source_id, *which)])
    of_few = query.source_id is not None
    found = newest_of(conn, which, bounds, limit=wanted, order=NEWEST_FIRST, of_few=of_few)
    return [row.id for row in found][query.offset :]


def _walked(conn: Connection, query: ItemQuery, wanted: Sequence[ColumnElement[bool]]) -> list[int]:
    """Of all items together. What is passed over is counted by an index; only where that ends are items looked at."""
    at, passed, begin = raw_items.c.fetched_at, 0, list[ColumnElement[bool]]()
    if query.offset:
        window = select(at).where(*wanted).order_by(at.desc()).limit(query.offset + 1).subquery()
        moment, alike = window.c.fetched_at, func.count()
        last = conn.execute(
            select(moment, alike.label("alike"), func.sum(alike).over().label("seen"))
            .group_by(moment)
            .order_by(moment)
            .limit(1)
        ).first()
        if last is None or last.seen <= query.offset:
            return []
        passed, begin = query.offset + 1 - last.alike, [at <= last.fetched_at]
    found = select(raw_items.c.id).where(*wanted, *begin).order_by(*NEWEST_FIRST)
    return list(conn.execute(found.limit(query.limit).offset(query.offset - passed)).scalars())


def _bounds(conn: Connection, query: ItemQuery) -> Iterator[ColumnElement[bool]]:
    at, published, number = raw_items.c.fetched_at, raw_items.c.published_at, raw_items.c.id
    if query.since is not None:
        yield at >= query.since
    if query.after is None:
        return
    moment, last_id = query.after
    yield at <= moment
    dated: datetime | None = conn.execute(select(published).where(number == last_id)).scalar()
    later_than = and_(published.is_(None), number < last_id)
    if dated is not None:
        later_than = or_(published.is_(None), published < dated, and_(published == dated, number < last_id))
    yield or_(at < moment, later_than)


def _of_sources(query: ItemQuery) -> Iterator[ColumnElement[bool]]:
    yield seen_by(query.caller)
    if query.source_id is not None:
        yield sources.c.id == query.source_id
    if query.subscribed_by is not None:
        mine = select(subscriptions.c.source_id).where(subscriptions.c.user_id == query.subscribed_by)
        yield sources.c.id.in_(mine)


def _whole() -> Select[Any]:
    named = (sources.c.name.label("source_name"), sources.c.type.label("source_type"))
    return select(*raw_items.c, *named).join(sources, sources.c.id == raw_items.c.source_id)


def stored_item(row: Row[Any]) -> StoredItem:
    return StoredItem(
        id=row.id,
        source_id=row.source_id,
        source_name=row.source_name,
        type=row.source_type,
        title=row.title,
        url=row.url,
        author=row.author,
        content=row.content,
        published_at=row.published_at,
        fetched_at=row.fetched_at,
        updated_at=row.updated_at,
        revision=row.revision,
        metadata=row.metadata,
    )
