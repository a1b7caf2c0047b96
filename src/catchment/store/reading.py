"""What users did with items, and the streams that they read, in the store.

An item is read if its state says so, and where it says nothing, if it was fetched up to `read_before` of the
subscription. Whatever was marked as read together is that one moment, and the states of single items are few.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Connection,
    Row,
    Select,
    and_,
    delete,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from catchment.domain.feed import ShownItem
from catchment.domain.reading import (
    Followed,
    ItemRef,
    Marks,
    Position,
    ReadItem,
    Stream,
    StreamKind,
    StreamPage,
    StreamQuery,
    UnreadCount,
)
from catchment.store.bulk import insert_into, insert_or_ignore
from catchment.store.items import item_of
from catchment.store.sources import visible_to
from catchment.store.tables import item_labels, item_states, raw_items, sources, subscriptions
from catchment.store.types import UtcDateTime

#: Single items that somebody marked as read are kept up to this number; beyond it, everything older is read.
MAX_STATES: Final = 100_000
IDS_A_STATEMENT: Final = 500

_IS_READ = func.coalesce(item_states.c.is_read, raw_items.c.fetched_at <= subscriptions.c.read_before, false())


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Who reads, and whether they see every source."""

    user_id: int
    sees_all: bool

    def sees(self) -> ColumnElement[bool]:
        return visible_to(self.user_id, all_sources=self.sees_all)


def followed(conn: Connection, reader: Reader) -> list[Followed]:
    """What somebody follows and may still see, in the order in which they began to."""
    statement: Select[*tuple[Any, ...]] = (
        select(
            sources.c.id,
            sources.c.type,
            sources.c.config,
            sources.c.created_by,
            sources.c.name,
            sources.c.tags,
            subscriptions.c.title,
            subscriptions.c.folders,
            subscriptions.c.created_at,
        )
        .join(subscriptions, subscriptions.c.source_id == sources.c.id)
        .where(subscriptions.c.user_id == reader.user_id, reader.sees())
        .order_by(subscriptions.c.id)
    )
    return [_followed(row) for row in conn.execute(statement)]


def arrange(
    conn: Connection, user_id: int, source_id: int, *, title: str | None = None, folders: Sequence[str] | None = None
) -> None:
    """Set what somebody calls a subscription, or where they keep it."""
    values: dict[str, Any] = {"title": title} if title is not None else {}
    if folders is not None:
        values["folders"] = list(folders)
    if values:
        conn.execute(update(subscriptions).where(*_subscription(user_id, source_id)).values(**values))


def page(conn: Connection, reader: Reader, query: StreamQuery) -> StreamPage:
    """The items of a stream that a page holds."""
    parts = _unread_of_followed(conn, reader, query) or [_selected(conn, reader, query)]
    found = [_ref(row) for part in parts for row in conn.execute(_in_order(part, query).limit(query.limit + 1))]
    if len(parts) > 1:
        found.sort(key=lambda ref: (ref.at.fetched_at, ref.at.item_id), reverse=not query.oldest_first)
    kept = found[: query.limit]
    return StreamPage(refs=kept, next=kept[-1].at if len(found) > query.limit else None)


def read_items(conn: Connection, reader: Reader, ids: Sequence[int]) -> list[ReadItem]:
    """These items, in the order given; those that are gone or not theirs to see are left out."""
    statement: Select[*tuple[Any, ...]] = (
        select(
            *raw_items.c,
            sources.c.name.label("source_name"),
            sources.c.type.label("source_type"),
            sources.c.tags.label("source_tags"),
            subscriptions.c.title.label("own_title"),
            subscriptions.c.folders.label("own_folders"),
            subscriptions.c.id.label("subscription_id"),
            _IS_READ.label("is_read"),
            item_states.c.is_read.label("said_read"),
            func.coalesce(item_states.c.is_starred, false()).label("is_starred"),
        )
        .select_from(_with_states(reader.user_id).join(sources, sources.c.id == raw_items.c.source_id))
        .where(raw_items.c.id.in_(ids), reader.sees())
    )
    labels = _labels_of(conn, reader.user_id, ids)
    found = {row.id: _read_item(row, labels[row.id]) for row in conn.execute(statement)}
    return [found[item_id] for item_id in dict.fromkeys(ids) if item_id in found]


def count_unread(conn: Connection, reader: Reader) -> list[UnreadCount]:
    """By subscription: what came after `read_before`, less what was read of it, and what was kept unread before.

    States know their item's source and moment, so that no item is looked at: an index counts them.
    """
    counted = {row.source_id: row for row in conn.execute(_count_newer(reader)) if row.unread or row.newest_at}
    found: list[UnreadCount] = []
    differences = _said_otherwise(conn, reader)
    for source_id, row in counted.items():
        unread = row.unread + differences.get(source_id, 0)
        if unread > 0:
            found.append(UnreadCount(source_id=source_id, unread=unread, newest_at=row.newest_at))
    return found


def _count_newer(reader: Reader) -> Select[Any]:
    """Of each subscription, how many items came after `read_before`, and when the newest of all did."""
    own = raw_items.c.source_id == subscriptions.c.source_id
    at = raw_items.c.fetched_at
    newer = select(func.count()).select_from(raw_items).where(own, at > subscriptions.c.read_before)
    newest = select(at).where(own).order_by(at.desc()).limit(1)
    return (
        select(
            subscriptions.c.source_id,
            newer.correlate(subscriptions).scalar_subquery().label("unread"),
            newest.correlate(subscriptions).scalar_subquery().label("newest_at"),
        )
        .join(sources, sources.c.id == subscriptions.c.source_id)
        .where(subscriptions.c.user_id == reader.user_id, reader.sees())
        .order_by(subscriptions.c.id)
    )


def _said_otherwise(conn: Connection, reader: Reader) -> Counter[int]:
    """By source: how many more are unread than `read_before` says; below zero where more were read."""
    is_newer = item_states.c.fetched_at > subscriptions.c.read_before
    statement = (
        select(item_states.c.source_id, item_states.c.is_read, func.count().label("times"))
        .join(
            subscriptions,
            and_(
                subscriptions.c.source_id == item_states.c.source_id,
                subscriptions.c.user_id == item_states.c.user_id,
            ),
        )
        .where(item_states.c.user_id == reader.user_id)
        .where(or_(and_(item_states.c.is_read, is_newer), and_(item_states.c.is_read.is_(False), not_(is_newer))))
        .group_by(item_states.c.source_id, item_states.c.is_read)
    )
    found: Counter[int] = Counter()
    for row in conn.execute(statement):
        found[row.source_id] += -row.times if row.is_read else row.times
    return found


def mark_items(conn: Connection, reader: Reader, ids: Sequence[int], marks: Marks) -> None:
    """Mark those of the items that are there and theirs to see."""
    for start in range(0, len(ids), IDS_A_STATEMENT):
        some = ids[start : start + IDS_A_STATEMENT]
        _set_states(conn, reader, some, marks)
        _set_labels(conn, reader, some, marks)


def mark_stream(conn: Connection, reader: Reader, stream: Stream, *, until: datetime) -> None:
    """Everything of a stream that was fetched up to then is read."""
    if stream.kind in {StreamKind.ALL, StreamKind.SOURCE, StreamKind.LABEL}:
        ids = None if stream.kind is StreamKind.ALL else _source_ids(conn, reader, stream)
        read_up_to(conn, reader.user_id, ids, until=until)
    if stream.kind is StreamKind.STARRED:
        mark_items(conn, reader, _starred(conn, reader.user_id, until), Marks(is_read=True))
    if stream.kind is StreamKind.LABEL:
        mark_items(conn, reader, _labelled(conn, reader, stream, until), Marks(is_read=True))


def read_up_to(conn: Connection, user_id: int, source_ids: Sequence[int] | None, *, until: datetime) -> None:
    """Raise `read_before` of subscriptions to the newest item that was there by then; it never goes back."""
    which = [subscriptions.c.user_id == user_id]
    if source_ids is not None:
        which.append(subscriptions.c.source_id.in_(source_ids))
    # Not `until` itself: what another process is storing at this moment was seen by nobody.
    newest = (
        select(func.max(raw_items.c.fetched_at))
        .where(
            raw_items.c.source_id == subscriptions.c.source_id,
            raw_items.c.fetched_at > subscriptions.c.read_before,
            raw_items.c.fetched_at <= until,
        )
        .scalar_subquery()
    )
    raised = func.coalesce(newest, subscriptions.c.read_before)
    conn.execute(update(subscriptions).where(*which).values(read_before=raised))
    now_read = item_states.c.source_id.in_(select(subscriptions.c.source_id).where(*which))
    _forget_said(conn, item_states.c.user_id == user_id, item_states.c.fetched_at <= until, now_read)


def fold_oldest(conn: Connection, *, most: int = MAX_STATES) -> int:
    """Where somebody has more read items than this, take everything older for read; says of how many users."""
    many = (
        select(item_states.c.user_id)
        .where(item_states.c.is_read.is_not(None))
        .group_by(item_states.c.user_id)
        .having(func.count() > most)
    )
    crowded = list(conn.execute(many).scalars())
    for user_id in crowded:
        said = (item_states.c.user_id == user_id, item_states.c.is_read.is_not(None))
        newest_first = select(item_states.c.fetched_at).where(*said).order_by(item_states.c.fetched_at.desc())
        cut = conn.execute(newest_first.offset(most).limit(1)).scalar_one()
        read_up_to(conn, user_id, None, until=cut)
        _forget_said(conn, *said, item_states.c.fetched_at <= cut)
    return len(crowded)


def count_starred(conn: Connection, user_id: int) -> int:
    which = (item_states.c.user_id == user_id, item_states.c.is_starred)
    return conn.execute(select(func.count()).select_from(item_states).where(*which)).scalar_one()


def count_labelled(conn: Connection, user_id: int) -> int:
    which = item_labels.c.user_id == user_id
    return conn.execute(select(func.count()).select_from(item_labels).where(which)).scalar_one()


def item_label_names(conn: Connection, user_id: int) -> list[str]:
    statement = select(item_labels.c.label).where(item_labels.c.user_id == user_id).distinct()
    return sorted(conn.execute(statement).scalars())


def rename_label(conn: Connection, user_id: int, label: str, new: str | None) -> None:
    """Give items another label in place of this one, or none."""
    old = (item_labels.c.user_id == user_id, item_labels.c.label == label)
    if new is not None:
        renamed = select(item_labels.c.user_id, literal(new, item_labels.c.label.type), item_labels.c.item_id).where(
            *old
        )
        conn.execute(insert_or_ignore(conn, item_labels).from_select(["user_id", "label", "item_id"], renamed))
    if new != label:
        conn.execute(delete(item_labels).where(*old))


def forget_source(conn: Connection, user_id: int, source_id: int) -> None:
    """What was read of a source that is not followed any more; what is starred stays."""
    _forget_said(conn, item_states.c.user_id == user_id, item_states.c.source_id == source_id)


def _subscription(user_id: int, source_id: int) -> tuple[ColumnElement[bool], ...]:
    return (subscriptions.c.user_id == user_id, subscriptions.c.source_id == source_id)


def _with_states(user_id: int) -> Any:
    """Items, beside what this user said of each and the subscription that it came by."""
    state = and_(item_states.c.item_id == raw_items.c.id, item_states.c.user_id == user_id)
    mine = and_(subscriptions.c.source_id == raw_items.c.source_id, subscriptions.c.user_id == user_id)
    return raw_items.outerjoin(item_states, state).outerjoin(subscriptions, mine)


_REF = (raw_items.c.id, raw_items.c.source_id, raw_items.c.fetched_at)


def _selected(conn: Connection, reader: Reader, query: StreamQuery) -> Select[Any]:
    streams = (query.stream, *query.within, *query.without)
    start = _with_states(reader.user_id) if any(one.kind in _OF_STATE for one in streams) else raw_items
    statement = select(*_REF).select_from(start).where(*_conditions(conn, reader, query))
    return statement.where(_holds(conn, reader, _ALL)) if query.stream.kind in _OF_STATE else statement


def _unread_of_followed(conn: Connection, reader: Reader, query: StreamQuery) -> list[Select[Any]] | None:
    """What is unread of all that is followed, or of a folder of it, in two parts that each have an index.

    What came after `read_before` and was not read, and what was kept unread before: to look at the state of each item
    there is takes ten times as long. None where it is not that which is asked for.
    """
    asks_unread = _READ in query.without or query.stream.kind is StreamKind.UNREAD
    if not asks_unread or not _is_of_followed(conn, reader, query.stream):
        return None
    stream = _ALL if query.stream.kind is StreamKind.UNREAD else query.stream
    others = tuple(one for one in query.without if one != _READ)
    if any(one.kind in _OF_STATE for one in (*query.within, *others)):
        return None
    wanted = _conditions(conn, reader, replace(query, stream=stream, without=others))
    return [part.where(*wanted) for part in _unread_parts(reader.user_id)]


def _unread_parts(user_id: int) -> tuple[Select[Any], Select[Any]]:
    mine = and_(subscriptions.c.source_id == raw_items.c.source_id, subscriptions.c.user_id == user_id)
    state = and_(item_states.c.item_id == raw_items.c.id, item_states.c.user_id == user_id)
    was_read = select(item_states.c.item_id).where(state, item_states.c.is_read).correlate(raw_items).exists()
    newer = select(*_REF).join(subscriptions, and_(mine, raw_items.c.fetched_at > subscriptions.c.read_before))
    older = select(*_REF).join(item_states, and_(state, not_(item_states.c.is_read)))
    older = older.join(subscriptions, and_(mine, raw_items.c.fetched_at <= subscriptions.c.read_before))
    return newer.where(not_(was_read)), older


def _is_of_followed(conn: Connection, reader: Reader, stream: Stream) -> bool:
    if stream.kind is StreamKind.LABEL:
        return conn.execute(_labelled_ids(reader, stream).limit(1)).first() is None
    return stream.kind in {StreamKind.ALL, StreamKind.UNREAD}


def _conditions(conn: Connection, reader: Reader, query: StreamQuery) -> list[ColumnElement[bool]]:
    return [
        _holds(conn, reader, query.stream),
        *(_holds(conn, reader, one) for one in query.within),
        *(not_(_holds(conn, reader, one)) for one in query.without),
        *_range(query),
    ]


def _in_order(statement: Select[Any], query: StreamQuery) -> Select[Any]:
    place = (raw_items.c.fetched_at, raw_items.c.id)
    return statement.order_by(*(column.asc() if query.oldest_first else column.desc() for column in place))


def _range(query: StreamQuery) -> Iterable[ColumnElement[bool]]:
    fetched_at = raw_items.c.fetched_at
    if query.since is not None:
        yield fetched_at >= query.since
    if query.until is not None:
        yield fetched_at < query.until
    if query.after is not None:
        here = tuple_(fetched_at, raw_items.c.id)
        there = tuple_(literal(query.after.fetched_at, UtcDateTime()), literal(query.after.item_id))
        # The first part alone says nothing new, but an index knows what to do with it.
        yield fetched_at >= query.after.fetched_at if query.oldest_first else fetched_at <= query.after.fetched_at
        yield here > there if query.oldest_first else here < there


#: What takes a look at the state of each item.
_OF_STATE = frozenset({StreamKind.READ, StreamKind.UNREAD})
_ALL, _READ = Stream(kind=StreamKind.ALL), Stream(kind=StreamKind.READ)


def _holds(conn: Connection, reader: Reader, stream: Stream) -> ColumnElement[bool]:
    """Whether an item is in a stream. By lists of sources and of items, which indexes find quickly."""
    match stream.kind:
        case StreamKind.ALL:
            return raw_items.c.source_id.in_(_followed_ids(reader))
        case StreamKind.SOURCE:
            return raw_items.c.source_id.in_(_visible_ids(reader).where(sources.c.id == stream.source_id))
        case StreamKind.LABEL:
            return _has_label(conn, reader, stream)
        case StreamKind.READ | StreamKind.UNREAD:
            return _IS_READ if stream.kind is StreamKind.READ else not_(_IS_READ)
        case StreamKind.KEPT_UNREAD | StreamKind.STARRED:
            return _of_states(reader, _SAID[stream.kind])
        case StreamKind.NOTHING:
            return false()


_SAID = {StreamKind.KEPT_UNREAD: item_states.c.is_read.is_(False), StreamKind.STARRED: item_states.c.is_starred}


def _of_states(reader: Reader, which: ColumnElement[bool]) -> ColumnElement[bool]:
    said = select(item_states.c.item_id).where(item_states.c.user_id == reader.user_id, which)
    return and_(raw_items.c.id.in_(said), raw_items.c.source_id.in_(_visible_ids(reader)))


def _has_label(conn: Connection, reader: Reader, stream: Stream) -> ColumnElement[bool]:
    """By a folder, an item's own label, or both: only where there are both it takes two indexes."""
    labelled = _labelled_ids(reader, stream)
    by_folder = raw_items.c.source_id.in_(_source_ids(conn, reader, stream))
    if conn.execute(labelled.limit(1)).first() is None:
        return by_folder
    return or_(by_folder, and_(raw_items.c.id.in_(labelled), raw_items.c.source_id.in_(_visible_ids(reader))))


def _labelled_ids(reader: Reader, stream: Stream) -> Select[Any]:
    which = (item_labels.c.user_id == reader.user_id, item_labels.c.label == stream.label)
    return select(item_labels.c.item_id).where(*which)


def _followed_ids(reader: Reader) -> Select[Any]:
    mine = select(subscriptions.c.source_id).join(sources, sources.c.id == subscriptions.c.source_id)
    return mine.where(subscriptions.c.user_id == reader.user_id, reader.sees())


def _visible_ids(reader: Reader) -> Select[Any]:
    return select(sources.c.id).where(reader.sees())


def _source_ids(conn: Connection, reader: Reader, stream: Stream) -> list[int]:
    if stream.kind is StreamKind.SOURCE:
        return [stream.source_id]
    mine = (
        select(sources.c.id, sources.c.tags, subscriptions.c.folders)
        .join(subscriptions, subscriptions.c.source_id == sources.c.id)
        .where(subscriptions.c.user_id == reader.user_id, reader.sees())
    )
    rows = conn.execute(mine)
    return [row.id for row in rows if stream.label in (row.tags if row.folders is None else row.folders)]


def _of_visible(reader: Reader, ids: Sequence[int], *columns: ColumnElement[Any]) -> Select[Any]:
    return (
        select(*columns)
        .join_from(raw_items, sources, sources.c.id == raw_items.c.source_id)
        .where(raw_items.c.id.in_(ids), reader.sees())
        # Held, so that none is cleaned away before its state is there.
        .with_for_update(of=raw_items, key_share=True, read=True)
    )


def _set_states(conn: Connection, reader: Reader, ids: Sequence[int], marks: Marks) -> None:
    said = {"is_read": marks.is_read, "is_starred": marks.is_starred}
    values = {name: value for name, value in said.items() if value is not None}
    if not values:
        return
    fresh = (literal(marks.is_read, Boolean()), literal(bool(marks.is_starred), Boolean()))
    whose = literal(reader.user_id, item_states.c.user_id.type)
    rows = _of_visible(reader, ids, whose, *_REF, *fresh)
    known = [item_states.c.user_id, item_states.c.item_id]
    names = ["user_id", "item_id", "source_id", "fetched_at", "is_read", "is_starred"]
    put = insert_into(conn, item_states).from_select(names, rows)
    conn.execute(put.on_conflict_do_update(index_elements=known, set_=values))
    mine = (item_states.c.user_id == reader.user_id, item_states.c.item_id.in_(ids))
    conn.execute(delete(item_states).where(*mine, _SAYS_NOTHING))


_SAYS_NOTHING = and_(item_states.c.is_read.is_(None), not_(item_states.c.is_starred))


def _set_labels(conn: Connection, reader: Reader, ids: Sequence[int], marks: Marks) -> None:
    mine = (item_labels.c.user_id == reader.user_id, item_labels.c.item_id.in_(ids))
    if marks.remove_labels:
        conn.execute(delete(item_labels).where(*mine, item_labels.c.label.in_(marks.remove_labels)))
    for label in marks.add_labels:
        named = (literal(reader.user_id, item_labels.c.user_id.type), literal(label, item_labels.c.label.type))
        rows = _of_visible(reader, ids, *named, raw_items.c.id)
        conn.execute(insert_or_ignore(conn, item_labels).from_select(["user_id", "label", "item_id"], rows))


def _forget_said(conn: Connection, *which: ColumnElement[bool]) -> None:
    """Whether single items were read; that they are starred stays."""
    conn.execute(delete(item_states).where(*which, not_(item_states.c.is_starred)))
    conn.execute(update(item_states).where(*which).values(is_read=None))


def _starred(conn: Connection, user_id: int, until: datetime) -> list[int]:
    which = (item_states.c.user_id == user_id, item_states.c.is_starred, item_states.c.fetched_at <= until)
    return list(conn.execute(select(item_states.c.item_id).where(*which)).scalars())


def _labelled(conn: Connection, reader: Reader, stream: Stream, until: datetime) -> list[int]:
    statement = (
        select(item_labels.c.item_id)
        .join(raw_items, raw_items.c.id == item_labels.c.item_id)
        .where(item_labels.c.user_id == reader.user_id, item_labels.c.label == stream.label)
        .where(raw_items.c.fetched_at <= until)
    )
    return list(conn.execute(statement).scalars())


def _labels_of(conn: Connection, user_id: int, ids: Sequence[int]) -> Mapping[int, tuple[str, ...]]:
    which = (item_labels.c.user_id == user_id, item_labels.c.item_id.in_(ids))
    found: defaultdict[int, tuple[str, ...]] = defaultdict(tuple)
    for row in conn.execute(
        select(item_labels.c.item_id, item_labels.c.label).where(*which).order_by(item_labels.c.label)
    ):
        found[row.item_id] += (row.label,)
    return found


def _ref(row: Row[Any]) -> ItemRef:
    return ItemRef(at=Position(fetched_at=row.fetched_at, item_id=row.id), source_id=row.source_id)


def _followed(row: Row[*tuple[Any, ...]]) -> Followed:
    return Followed(
        source_id=row.id,
        type=row.type,
        config=row.config,
        created_by=row.created_by,
        name=row.name,
        tags=tuple(row.tags),
        own_title=row.title,
        own_folders=None if row.folders is None else tuple(row.folders),
        since=row.created_at,
    )


def _read_item(row: Row[*tuple[Any, ...]], labels: tuple[str, ...]) -> ReadItem:
    folders = row.source_tags if row.own_folders is None else row.own_folders
    return ReadItem(
        id=row.id,
        shown=ShownItem(
            item=item_of(row),
            source_id=row.source_id,
            source_type=row.source_type,
            fetched_at=row.fetched_at,
            updated_at=row.updated_at,
        ),
        source_title=row.own_title or row.source_name,
        folders=tuple(folders) if row.subscription_id is not None else (),
        is_read=bool(row.is_read),
        is_kept_unread=row.said_read is False,
        is_starred=bool(row.is_starred),
        labels=labels,
    )
