"""What users did with items, and the streams that they read, in the store.

An item is read if its state says so, and where it says nothing, if it was fetched up to `read_before` of the
subscription. Whatever was marked as read together is that one moment, and the states of single items are few.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Row,
    Select,
    String,
    UnaryExpression,
    and_,
    cast,
    delete,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    text,
    tuple_,
    update,
)

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
from catchment.store.items import newest_of
from catchment.store.sources import visible_to
from catchment.store.tables import item_labels, item_states, raw_items, sources, subscriptions
from catchment.store.types import UtcDateTime, dumps, loads
from catchment.store.views import shown_item

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


def followed(conn: Connection, reader: Reader, source_id: int | None = None) -> list[Followed]:
    """What somebody follows and may still see, in the order in which they began to; of all, or of one source alone."""
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
    if source_id is not None:
        statement = statement.where(sources.c.id == source_id)
    return [_followed(row) for row in conn.execute(statement).all()]


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
    parts = _parts(conn, reader, replace(query, limit=query.limit + 1))
    # By number, as an item may be in a folder and have its label itself.
    found = list({row.id: _ref(row) for part in parts for row in part}.values())
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

    States know their item's source and moment, so that no item is looked at: indexes count them.
    """
    own = raw_items.c.source_id == subscriptions.c.source_id
    at, said_at = raw_items.c.fetched_at, item_states.c.fetched_at
    said = (item_states.c.user_id == reader.user_id, item_states.c.source_id == subscriptions.c.source_id)
    newer = select(func.count()).select_from(raw_items).where(own, at > subscriptions.c.read_before)
    states = select(func.count()).select_from(item_states).where(*said)
    read = states.where(item_states.c.is_read.is_(True), said_at > subscriptions.c.read_before)
    kept = states.where(item_states.c.is_read.is_(False), said_at <= subscriptions.c.read_before)
    newest = select(at).where(own).order_by(at.desc()).limit(1)
    counts = [one.correlate(subscriptions).scalar_subquery() for one in (newer, read, kept)]
    unread, newest_at = counts[0] - counts[1] + counts[2], newest.correlate(subscriptions).scalar_subquery()
    counted = (
        select(
            subscriptions.c.source_id,
            *(cast(column, String) for column in _FOLDERS),
            unread.label("unread"),
            newest_at.label("newest_at"),
        )
        .join(sources, sources.c.id == subscriptions.c.source_id)
        .where(subscriptions.c.user_id == reader.user_id, reader.sees())
        .order_by(subscriptions.c.id)
    )
    # As text: most share a few sets of tags, each of which is read once.
    names_of = cache(loads)
    return [
        UnreadCount(
            source_id=source_id,
            folders=names_of(tags) if (own := names_of(folders or "null")) is None else own,
            unread=unread,
            newest_at=newest_at,
        )
        for source_id, tags, folders, unread, newest_at in conn.execute(counted).all()
        if unread > 0
    ]


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


def _parts(conn: Connection, reader: Reader, query: StreamQuery) -> Iterator[Sequence[Row[Any]]]:
    """What there is of a stream, in parts that each have an index.

    What is read or unread is in two: what was said of single items, and what came before or after `read_before`.
    """
    kind, without = query.stream.kind, query.without
    asks_unread = kind is StreamKind.UNREAD or (kind in _PLAIN and _READ in without)
    if asks_unread:
        without = tuple(one for one in without if one != _READ)
    rest = [
        *(_holds(conn, reader, one) for one in query.within),
        *(not_(_holds(conn, reader, one)) for one in without),
    ]
    if kind in _SAID:
        yield _said(conn, reader, kind, rest, query)
    if kind is StreamKind.LABEL:
        unread = [not_(_is_read(reader))] if asks_unread else []
        yield _labelled_items(conn, reader, [*unread, *rest], query)
    if kind in _OF_SOURCES:
        which, before = _which(conn, reader, query.stream), _read_before(reader)
        if kind is StreamKind.READ:
            mine = subscriptions.c.user_id == reader.user_id
            # Says nothing new, but from there on an index leads.
            latest = select(func.max(subscriptions.c.read_before)).where(mine).scalar_subquery()
            read = [raw_items.c.fetched_at <= before, _said_of(reader).is_(None)]
            yield _of_sources(conn, which, [*read, *rest], query, raw_items.c.fetched_at <= latest)
        elif asks_unread:
            after = raw_items.c.fetched_at > func.coalesce(before, _NEVER)
            yield _of_sources(conn, which, [after, _said_of(reader).is_not(True), *rest], query)
            older = func.coalesce(raw_items.c.fetched_at <= before, false())
            kept = [older, exists().where(sources.c.id == raw_items.c.source_id, *which), *rest]
            yield _said(conn, reader, StreamKind.KEPT_UNREAD, kept, query)
        else:
            yield _of_sources(conn, which, rest, query)


def _said(
    conn: Connection, reader: Reader, kind: StreamKind, wanted: Sequence[ColumnElement[bool]], query: StreamQuery
) -> Sequence[Row[Any]]:
    """By what was said of single items."""
    place = (item_states.c.fetched_at, item_states.c.item_id)
    known = _followed_ids(reader) if kind is StreamKind.READ else _visible_ids(reader)
    # Looked up for each item: joined, PostgreSQL begins with all that these sources ever brought.
    source_id = known.where(sources.c.id == raw_items.c.source_id).correlate(raw_items).scalar_subquery()
    statement: Select[Any] = (
        select(*_REF)
        .join_from(item_states, raw_items, raw_items.c.id == item_states.c.item_id)
        .where(item_states.c.user_id == reader.user_id, _SAID[kind], source_id.is_not(None), *wanted, *_range(query))
    )
    return conn.execute(statement.order_by(*_ordered(place, query)).limit(query.limit)).all()


def _labelled_items(
    conn: Connection, reader: Reader, wanted: Sequence[ColumnElement[bool]], query: StreamQuery
) -> Sequence[Row[Any]]:
    labelled = raw_items.c.id.in_(_labelled_ids(reader, query.stream))
    visible = raw_items.c.source_id.in_(_visible_ids(reader))
    statement: Select[Any] = select(*_REF).where(labelled, visible, *wanted, *_range(query))
    return conn.execute(statement.order_by(*_ordered(_PLACE, query)).limit(query.limit)).all()


def _of_sources(
    conn: Connection,
    which: Sequence[ColumnElement[bool]],
    wanted: Sequence[ColumnElement[bool]],
    query: StreamQuery,
    *bounds: ColumnElement[bool],
) -> Sequence[Row[Any]]:
    """In the order of its coming."""
    of_few, order = query.stream.kind is StreamKind.SOURCE, _ordered(_PLACE, query)
    bounds = (*_range(query), *bounds)
    return newest_of(conn, which, bounds, limit=query.limit, order=order, wanted=wanted, of_few=of_few)


def _which(conn: Connection, reader: Reader, stream: Stream) -> Sequence[ColumnElement[bool]]:
    """Of which sources items are in the stream."""
    match stream.kind:
        case StreamKind.SOURCE:
            return [reader.sees(), sources.c.id == stream.source_id]
        case StreamKind.LABEL:
            return [sources.c.id.in_(_source_ids(conn, reader, stream))]
        case _:
            mine = select(subscriptions.c.source_id).where(subscriptions.c.user_id == reader.user_id)
            return [reader.sees(), sources.c.id.in_(mine)]


def _ordered(place: Sequence[Column[Any]], query: StreamQuery) -> list[UnaryExpression[Any]]:
    return [column.asc() if query.oldest_first else column.desc() for column in place]


def _said_of(reader: Reader) -> ColumnElement[Any]:
    """Whether an item was said to be read; null where nothing was said.

    Looked up for each item: joined, PostgreSQL begins with all that somebody ever read.
    """
    state = (item_states.c.item_id == raw_items.c.id, item_states.c.user_id == reader.user_id)
    return select(item_states.c.is_read).where(*state).correlate(raw_items).scalar_subquery()


def _read_before(reader: Reader) -> ColumnElement[Any]:
    """Of the subscription that an item came by; null where there is none."""
    mine = (subscriptions.c.source_id == raw_items.c.source_id, subscriptions.c.user_id == reader.user_id)
    return select(subscriptions.c.read_before).where(*mine).correlate(raw_items).scalar_subquery()


def _is_read(reader: Reader) -> ColumnElement[bool]:
    return func.coalesce(_said_of(reader), raw_items.c.fetched_at <= _read_before(reader), false())


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


_FOLDERS = (sources.c.tags, subscriptions.c.folders)
_READ = Stream(kind=StreamKind.READ)
_PLACE = (raw_items.c.fetched_at, raw_items.c.id)
_NEVER = literal(datetime(1970, 1, 1, tzinfo=UTC), UtcDateTime())
_SAID: Mapping[StreamKind, Any] = {
    StreamKind.KEPT_UNREAD: item_states.c.is_read.is_(False),
    # Spelled as its index has it: to SQLite anything else is another condition.
    StreamKind.STARRED: text("item_states.is_starred"),
    StreamKind.READ: item_states.c.is_read.is_(True),
}
#: Streams of which sources say what is in them, and those of which what was said of single items does as well.
_PLAIN = frozenset({StreamKind.ALL, StreamKind.SOURCE, StreamKind.LABEL})
_OF_SOURCES = _PLAIN | {StreamKind.READ, StreamKind.UNREAD}


def _holds(conn: Connection, reader: Reader, stream: Stream) -> ColumnElement[bool]:
    """Whether an item is in a stream. By lists of sources and of items, which indexes find quickly."""
    visible = _visible_ids(reader)
    match stream.kind:
        case StreamKind.ALL:
            return raw_items.c.source_id.in_(_followed_ids(reader))
        case StreamKind.SOURCE:
            return raw_items.c.source_id.in_(visible.where(sources.c.id == stream.source_id))
        case StreamKind.LABEL:
            by_folder = raw_items.c.source_id.in_(_source_ids(conn, reader, stream))
            own = and_(raw_items.c.id.in_(_labelled_ids(reader, stream)), raw_items.c.source_id.in_(visible))
            return or_(by_folder, own)
        case StreamKind.READ | StreamKind.UNREAD:
            return _is_read(reader) if stream.kind is StreamKind.READ else not_(_is_read(reader))
        case StreamKind.KEPT_UNREAD | StreamKind.STARRED:
            said = select(item_states.c.item_id).where(item_states.c.user_id == reader.user_id, _SAID[stream.kind])
            return and_(raw_items.c.id.in_(said), raw_items.c.source_id.in_(visible))
        case StreamKind.NOTHING:
            return false()


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
    # Roughly, as text: to read the lists of a thousand sources takes longer than all else.
    says_so = (cast(column, String).contains(dumps(stream.label), autoescape=True) for column in _FOLDERS)
    mine = (
        select(sources.c.id, *_FOLDERS)
        .join(subscriptions, subscriptions.c.source_id == sources.c.id)
        .where(subscriptions.c.user_id == reader.user_id, reader.sees(), or_(*says_so))
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
    # By their places: to ask a row for a name costs more, and apps ask for a thousand.
    source_id, type_, config, created_by, name, tags, title, folders, since = row
    return Followed(
        source_id=source_id,
        type=type_,
        config=config,
        created_by=created_by,
        name=name,
        tags=tuple(tags),
        own_title=title,
        own_folders=None if folders is None else tuple(folders),
        since=since,
    )


def _read_item(row: Row[*tuple[Any, ...]], labels: tuple[str, ...]) -> ReadItem:
    folders = row.source_tags if row.own_folders is None else row.own_folders
    return ReadItem(
        id=row.id,
        shown=shown_item(row),
        source_title=row.own_title or row.source_name,
        folders=tuple(folders) if row.subscription_id is not None else (),
        is_read=bool(row.is_read),
        is_kept_unread=row.said_read is False,
        is_starred=bool(row.is_starred),
        labels=labels,
    )
