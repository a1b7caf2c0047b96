"""The full-text index of items: what waits to be taken in, taking it in, and finding.

Storing an item only writes its number down, by a trigger; batches take it in afterwards. SQLite's index keeps no texts
(FTS5, contentless), so the queue carries what an item said when it was indexed, which is what has to be given up; the
first such row counts. On PostgreSQL it is a `tsvector` with a GIN index.

Every token bears the block of numbers that its item is in, so that a block is an index of its own: the newest are asked
first, and a page costs what it takes to fill it, however much is stored below.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    bindparam,
    column,
    func,
    literal,
    select,
    table,
    text,
    tuple_,
)

from catchment.domain.caller import ANONYMOUS, Caller
from catchment.domain.item import StoredItem
from catchment.domain.search import SearchQuery, Term, item_tokens
from catchment.store.items import is_tagged, newest_of, stored_item
from catchment.store.sources import seen_by
from catchment.store.tables import raw_items, sources
from catchment.store.types import among

#: Items taken in by one transaction: a tenth of a second, for which others wait to write.
BATCH = 100
#: So many sources are named to the index; of more, all are looked through.
MAX_NAMED_SOURCES = 50
#: So many finds are looked at for one page; where few of them may be seen, it is a short page with a cursor.
MAX_LOOKED_AT = 2_000
LOOK, FURTHER_LOOK = 101, 1_000
#: Whoever stores beside others may get higher numbers for what was collected earlier; by so much at most.
OVERLAP = timedelta(minutes=10)
#: Items to a block of numbers. Blocks that are asked together, while hardly anything is found, and for one page.
BLOCK, MAX_TOGETHER, MAX_BLOCKS = 8_192, 8, 128
#: Where sources are named, each block is asked for each of them: so many names are looked up for one page.
MAX_NAMES = 800
#: Of what has all the words, so many are looked at more closely at once, and for one page.
CLOSE_LOOK, MAX_CLOSE_LOOKS = 500, 2_000
#: Any number will do, as long as every process asks for the same one.
INDEXING_LOCK = 7_767_003

#: Of those that wait to be taken in, so many may be finds of a feed.
MAX_WAITING = 1_000
#: Above every number.
END = 2**63 - 1

_queue = table("search_queue", *map(column, ("item_id", "source_id", "title", "author", "content")))


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemFilter:
    """Which items somebody asks for, of those that they may see."""

    caller: Caller = ANONYMOUS
    source_id: int | None = None
    tag: str | None = None
    type: str | None = None
    #: By when they were collected; the second moment itself is not in it.
    since: datetime | None = None
    until: datetime | None = None
    #: By when they were published; by when they were collected where no date is told.
    written_since: datetime | None = None

    def names_sources(self) -> bool:
        return not self.caller.sees_all or any((self.source_id, self.tag, self.type))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a page ended: the number of an item, and for lists without a search when that was collected."""

    item_id: int
    fetched_at: datetime | None = None
    #: Otherwise all above it were looked through, and that is enough for one page.
    is_find: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPage:
    items: Sequence[StoredItem]
    #: None at the end.
    next: Place | None


def waiting(conn: Connection, most: int) -> int:
    """How many items wait to be taken in, counted up to `most`."""
    some = select(literal(1)).select_from(_queue).limit(most).subquery()
    return conn.execute(select(func.count()).select_from(some)).scalar_one()


def take_in(conn: Connection, limit: int = BATCH) -> int:
    """Bring the index up to date with some items that changed, the newest first, and say with how many."""
    return (_take_in_sqlite if conn.dialect.name == "sqlite" else _take_in_postgres)(conn, limit)


def start_over(conn: Connection) -> int:
    """Empty the index and have every item wait to be taken in; how many these are."""
    if conn.dialect.name == "sqlite":
        conn.exec_driver_sql("INSERT INTO search_index (search_index) VALUES ('delete-all')")
        conn.exec_driver_sql("DELETE FROM search_queue")
    else:
        conn.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": INDEXING_LOCK})
        conn.exec_driver_sql("TRUNCATE search_index, search_queue")
    return conn.exec_driver_sql("INSERT INTO search_queue (item_id) SELECT id FROM raw_items").rowcount


def size_bytes(conn: Connection) -> int:
    """What the index takes on disk; SQLite tells without its statistics only how long its parts are."""
    if conn.dialect.name == "sqlite":
        size = conn.exec_driver_sql("SELECT coalesce(sum(length(block)), 0) FROM search_index_data").scalar_one()
    else:
        size = conn.exec_driver_sql("SELECT pg_total_relation_size('search_index')").scalar_one()
    return int(size)


def find(
    conn: Connection, query: SearchQuery | None, wanted: ItemFilter, *, after: Place | None, limit: int
) -> FoundPage:
    """A page of what was found, in the order of its coming, the newest first; without a query, of all there is."""
    places = _search(conn, query, wanted, after) if query else _list(conn, wanted, after)
    found: list[Place] = []
    looked_at, look = 0, LOOK
    while looks := list(islice(places, look)):
        looked_at, look = looked_at + len(looks), FURTHER_LOOK
        found += _visible(conn, [place for place in looks if place.is_find], wanted)
        if len(found) > limit:
            return _page(_load(conn, found[:limit]), last=found[limit - 1])
        if looked_at >= MAX_LOOKED_AT or not looks[-1].is_find:
            return _page(_load(conn, found), last=looks[-1])
    return _page(_load(conn, found), last=None)


def get(conn: Connection, item_id: int, wanted: ItemFilter) -> StoredItem | None:
    return next(iter(get_many(conn, [item_id], wanted)), None)


def get_many(conn: Connection, item_ids: Sequence[int], wanted: ItemFilter) -> list[StoredItem]:
    """Those that are there and may be seen, in the order given."""
    seen = _visible(conn, [Place(item_id=one) for one in item_ids], wanted)
    return [stored_item(row) for row in _load(conn, seen)]


def _page(rows: Sequence[Row[Any]], *, last: Place | None) -> FoundPage:
    """What came with one visit has its numbers in no order to speak of, so within a page their own dates count."""
    by_date = sorted(
        rows, key=lambda row: (row.published_at is not None, row.published_at or row.fetched_at), reverse=True
    )
    return FoundPage(items=[stored_item(row) for row in sorted(by_date, key=_came_at, reverse=True)], next=last)


def _came_at(row: Row[Any]) -> datetime:
    moment: datetime = row.fetched_at
    return moment


def _named_sources(conn: Connection, wanted: ItemFilter) -> list[int] | None:
    """The sources that may be meant; None where they are too many to be named."""
    statement = select(sources.c.id).where(*_of_sources(wanted, conn)).limit(MAX_NAMED_SOURCES + 1)
    ids = list(conn.execute(statement).scalars())
    return ids if len(ids) <= MAX_NAMED_SOURCES else None


def _of_sources(wanted: ItemFilter, conn: Connection) -> Iterator[ColumnElement[bool]]:
    yield seen_by(wanted.caller)
    if wanted.source_id is not None:
        yield sources.c.id == wanted.source_id
    if wanted.type is not None:
        yield sources.c.type == wanted.type
    if wanted.tag is not None:
        yield is_tagged([wanted.tag], conn.dialect)


def _visible(conn: Connection, places: Sequence[Place], wanted: ItemFilter) -> list[Place]:
    """Those that are still there and may be seen. By two statements, each by its numbers: of both tables at once SQLite
    may read all that the sources ever brought.
    """
    item = raw_items.c
    known = select(item.id, item.source_id).where(among(item.id, [place.item_id for place in places]))
    if wanted.since is not None:
        known = known.where(item.fetched_at >= wanted.since)
    if wanted.until is not None:
        known = known.where(item.fetched_at < wanted.until)
    if wanted.written_since is not None:
        known = known.where(func.coalesce(item.published_at, item.fetched_at) >= wanted.written_since)
    source_of: dict[int, int] = dict(conn.execute(known).all())
    theirs = among(sources.c.id, list(set(source_of.values())))
    named = select(sources.c.id).where(theirs, *_of_sources(wanted, conn))
    seen = set(conn.execute(named).scalars())
    return [place for place in places if source_of.get(place.item_id) in seen]


def _load(conn: Connection, places: Sequence[Place]) -> list[Row[Any]]:
    """Whole, in the order of the places."""
    statement: Select[Any] = (
        select(*raw_items.c, sources.c.name.label("source_name"), sources.c.type.label("source_type"))
        .join(sources, sources.c.id == raw_items.c.source_id)
        .where(among(raw_items.c.id, [place.item_id for place in places]))
    )
    rows: dict[int, Row[Any]] = {row.id: row for row in conn.execute(statement)}
    return [rows[place.item_id] for place in places if place.item_id in rows]


def _list(conn: Connection, wanted: ItemFilter, after: Place | None) -> Iterator[Place]:
    """Without a search, by when they were collected."""
    while True:
        rows = _newest(conn, wanted, after)
        yield from (Place(item_id=row.id, fetched_at=row.fetched_at) for row in rows)
        if len(rows) < LOOK:
            return
        after = Place(item_id=rows[-1].id, fetched_at=rows[-1].fetched_at)


def _newest(conn: Connection, wanted: ItemFilter, after: Place | None) -> Sequence[Row[Any]]:
    at, bounds = raw_items.c.fetched_at, list[ColumnElement[bool]]()
    if wanted.since is not None:
        bounds.append(at >= wanted.since)
    if wanted.until is not None:
        bounds.append(at < wanted.until)
    if after is not None and after.fetched_at is not None:
        # The first for the index, which knows nothing of pairs.
        bounds += [at <= after.fetched_at, _pair(at, raw_items.c.id) < _pair(after.fetched_at, after.item_id)]
    order = (at.desc(), raw_items.c.id.desc())
    if wanted.names_sources():
        which, of_few = list(_of_sources(wanted, conn)), wanted.source_id is not None
        return newest_of(conn, which, bounds, limit=LOOK, order=order, of_few=of_few)
    everything: Select[Any] = select(raw_items.c.id, at).where(*bounds)
    return conn.execute(everything.order_by(*order).limit(LOOK)).all()


def _pair(moment: Any, item_id: Any) -> Any:
    return tuple_(moment, item_id, types=[raw_items.c.fetched_at.type, raw_items.c.id.type])


def candidates(conn: Connection, query: SearchQuery, source_ids: Sequence[int], *, most: int) -> list[int]:
    """The newest items that may be finds, also those that wait to be taken in: whoever asks has to look at them."""
    newest = select(_queue.c.item_id).order_by(_queue.c.item_id.desc()).limit(MAX_WAITING)
    named = source_ids if len(source_ids) <= MAX_NAMED_SOURCES else ()
    found = [place.item_id for place in islice(_places(conn, query, named, 0, END), most) if place.is_find]
    return list(dict.fromkeys([*conn.execute(newest).scalars(), *found]))


def _search(conn: Connection, query: SearchQuery, wanted: ItemFilter, after: Place | None) -> Iterator[Place]:
    named = _named_sources(conn, wanted) if wanted.names_sources() else None
    if named == []:
        return
    lowest, end = _numbers(conn, wanted)
    yield from _places(conn, query, named or (), lowest, min(end, after.item_id if after else END))


def _numbers(conn: Connection, wanted: ItemFilter) -> tuple[int, int]:
    """The lowest and the end of the numbers that items of that time have. They rise, but where two store at once."""
    at, number, lowest, end = raw_items.c.fetched_at, raw_items.c.id, 0, END
    if wanted.since is not None:
        first = select(number).where(at >= wanted.since).order_by(at, number).limit(1)
        about = select(func.min(number)).where(at >= wanted.since, at < wanted.since + OVERLAP)
        lowest = min(_known(conn, first, about), default=END)
    if wanted.until is not None:
        last = select(number).where(at < wanted.until).order_by(at.desc(), number.desc()).limit(1)
        about = select(func.max(number)).where(at < wanted.until, at >= wanted.until - OVERLAP)
        end = max(_known(conn, last, about), default=-1) + 1
    return lowest, end


def _known(conn: Connection, *statements: Select[Any]) -> list[int]:
    found = (conn.execute(statement).scalar() for statement in statements)
    return [number for number in found if number is not None]


def _mark(source_id: int) -> str:
    """The token that every item of the source bears. No word begins like it."""
    return f"_{source_id}"


def _places(
    conn: Connection, query: SearchQuery, source_ids: Sequence[int], lowest: int, before: int
) -> Iterator[Place]:
    """Finds between two numbers, the newest first, as far as one page looks; where that is not the end, a last place
    says so that is none.
    """
    first, last = conn.execute(_NUMBERS).one()
    if last is None:
        return
    lowest, before = max(lowest, first), min(before, last + 1)
    rough, marks, looks = query.rough(), [_mark(one) for one in source_ids], 0
    most = min(MAX_BLOCKS, MAX_NAMES // len(marks)) if marks else MAX_BLOCKS
    oldest = max(lowest // BLOCK, (before - 1) // BLOCK - most + 1)
    for blocks in _groups((before - 1) // BLOCK, oldest):
        bottom = max(lowest, blocks[-1] * BLOCK)
        while some := _ask(conn, rough, marks, blocks, lowest=bottom, before=before):
            before, looks = some[-1], looks + len(some)
            finds = some if rough == query else _close_look(conn, query, marks, some)
            yield from (Place(item_id=number) for number in finds)
            if rough != query and looks >= MAX_CLOSE_LOOKS:
                yield Place(item_id=before, is_find=False)
                return
            if len(some) < CLOSE_LOOK:
                break
        before = bottom
    if before > lowest:
        yield Place(item_id=before, is_find=False)


def _groups(newest: int, oldest: int) -> Iterator[range]:
    """Blocks to be asked together, the newest first: more and more of them."""
    size = 1
    while newest >= oldest:
        yield range(newest, max(newest - size, oldest - 1), -1)
        newest, size = newest - size, min(2 * size, MAX_TOGETHER)


def _ask(
    conn: Connection, query: SearchQuery, marks: Sequence[str], blocks: Sequence[int], *, lowest: int, before: int
) -> Sequence[int]:
    """The newest numbers of a range that the index has for a query, which is in these blocks."""
    values = {"asked": _in_blocks(conn, query, marks, blocks), "lowest": lowest, "before": before, "most": CLOSE_LOOK}
    find = _SQLITE_FIND if conn.dialect.name == "sqlite" else _POSTGRES_FIND
    return conn.execute(find, values).scalars().all()


def _close_look(conn: Connection, query: SearchQuery, marks: Sequence[str], ids: Sequence[int]) -> Sequence[int]:
    """Those of some items that are finds."""
    blocks = sorted({number // BLOCK for number in ids}, reverse=True)
    if conn.dialect.name == "sqlite":
        found = set(_ask(conn, query, marks, blocks, lowest=ids[-1], before=ids[0] + 1))
    else:
        values = {"asked": _in_blocks(conn, query, marks, blocks), "ids": list(ids)}
        found = set(conn.execute(_POSTGRES_CLOSE_LOOK, values).scalars())
    return [number for number in ids if number in found]


def _in_blocks(conn: Connection, query: SearchQuery, marks: Sequence[str], blocks: Sequence[int]) -> Any:
    if conn.dialect.name == "sqlite":
        return " OR ".join(_fts5(query, marks, _block_mark(block)) for block in blocks)
    return [_tsquery(query, marks, _block_mark(block)) for block in blocks]


def _block_mark(block: int) -> str:
    """What the tokens of the block's items begin with."""
    return f"{block:x}_"


def _fts5(query: SearchQuery, marks: Sequence[str], block: str) -> str:
    wanted = [_fts5_term(term, block) for term in query.terms]
    if marks:
        wanted.append(f"({' OR '.join(_quoted([mark], block) for mark in marks)})")
    match = f"({' AND '.join(wanted)})"
    return (
        f"({match} NOT ({' OR '.join(_fts5_term(term, block) for term in query.without)}))" if query.without else match
    )


def _fts5_term(term: Term, block: str) -> str:
    return _quoted(term.tokens, block) + "*" * term.is_prefix


def _quoted(tokens: Sequence[str], block: str) -> str:
    return f'"{" ".join(block + token for token in tokens)}"'


def _tsquery(query: SearchQuery, marks: Sequence[str], block: str) -> str:
    parts = [_tsquery_term(term, block) for term in query.terms]
    if marks:
        parts.append(f"({' | '.join(repr(block + mark) for mark in marks)})")
    return " & ".join([*parts, *(f"!{_tsquery_term(term, block)}" for term in query.without)])


def _tsquery_term(term: Term, block: str) -> str:
    *others, last = (f"'{block}{token}'" for token in term.tokens)
    return f"({' <-> '.join([*others, last + ':*' * term.is_prefix])})"


def _take_in_sqlite(conn: Connection, limit: int) -> int:
    # In the order of their numbers: the index writes a part of its own whenever these go down.
    rows = sorted(conn.execute(_WAITING, {"most": limit}).all(), key=lambda row: row.item_id)
    old = [(row.item_id, row.old_source_id, row.old_title, row.old_author, row.old_content) for row in rows]
    new = [(row.item_id, row.source_id, row.title, row.author, row.content) for row in rows]
    for statement, texts in ((_SQLITE_REMOVE, old), (_SQLITE_ADD, new)):
        # Without a source, it was not in the index, or is not there any more.
        values = [{"id": row[0], "words": " ".join(_words(*row))} for row in texts if row[1] is not None]
        if values:
            conn.execute(statement, values)
    conn.execute(_DONE, {"ids": [row.item_id for row in rows]})
    return len(rows)


def _take_in_postgres(conn: Connection, limit: int) -> int:
    """One at a time: of two, the slower could put an older text in the place of a newer one."""
    if not conn.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": INDEXING_LOCK}).scalar_one():
        return 0
    ids = conn.execute(_POSTGRES_TAKE, {"most": limit}).scalars().all()
    there = conn.execute(_TEXTS, {"ids": ids}).all()
    gone = set(ids) - {row.id for row in there}
    if gone:
        conn.execute(_POSTGRES_REMOVE, {"ids": list(gone)})
    if there:
        conn.execute(_POSTGRES_ADD, [{"id": row.id, "words": _tsvector(row)} for row in there])
    return len(ids)


def _words(item_id: int, source_id: int, title: str, author: str, content: str) -> list[str]:
    block = _block_mark(item_id // BLOCK)
    return [block + token for token in item_tokens(title=title, author=author, content=content, mark=_mark(source_id))]


def _tsvector(row: Any) -> str:
    """As PostgreSQL writes one: each token with its places."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for place, token in enumerate(_words(*row), 1):
        places[token].append(str(place))
    return " ".join(f"'{token}':{','.join(at)}" for token, at in places.items())


# Apart: SQLite finds one end by the index, and both together by a look at every number.
_NUMBERS = select(
    select(func.min(raw_items.c.id)).scalar_subquery(), select(func.max(raw_items.c.id)).scalar_subquery()
)
_SQLITE_FIND = text(
    "SELECT rowid FROM search_index WHERE search_index MATCH :asked AND rowid >= :lowest AND rowid < :before "
    "ORDER BY rowid DESC LIMIT :most"
)
# Sorted after it was found: in the order of the key, every text would be read to look for the words in it.
_POSTGRES_FIND = text(
    "WITH found AS MATERIALIZED (SELECT item_id FROM search_index WHERE words @@ ANY (CAST(:asked AS tsquery[]))) "
    "SELECT item_id FROM found WHERE item_id >= :lowest AND item_id < :before ORDER BY item_id DESC LIMIT :most"
)
_POSTGRES_CLOSE_LOOK = text(
    "WITH near AS MATERIALIZED (SELECT item_id, words FROM search_index WHERE item_id = ANY (:ids)) "
    "SELECT item_id FROM near WHERE words @@ ANY (CAST(:asked AS tsquery[]))"
)
_WAITING = text(
    "SELECT search_queue.item_id, search_queue.source_id AS old_source_id, search_queue.title AS old_title, "
    "search_queue.author AS old_author, search_queue.content AS old_content, "
    "raw_items.source_id, raw_items.title, raw_items.author, raw_items.content "
    "FROM search_queue LEFT JOIN raw_items ON raw_items.id = search_queue.item_id "
    "ORDER BY search_queue.item_id DESC LIMIT :most"
)
_SQLITE_REMOVE = text("INSERT INTO search_index (search_index, rowid, words) VALUES ('delete', :id, :words)")
_SQLITE_ADD = text("INSERT INTO search_index (rowid, words) VALUES (:id, :words)")
_DONE = text("DELETE FROM search_queue WHERE item_id IN :ids").bindparams(bindparam("ids", expanding=True))
_POSTGRES_TAKE = text(
    "WITH taken AS (DELETE FROM search_queue WHERE seq IN "
    "(SELECT seq FROM search_queue ORDER BY seq DESC LIMIT :most) RETURNING item_id) SELECT DISTINCT item_id FROM taken"
)
_TEXTS = select(
    raw_items.c.id, raw_items.c.source_id, raw_items.c.title, raw_items.c.author, raw_items.c.content
).where(raw_items.c.id.in_(bindparam("ids", expanding=True)))
_POSTGRES_REMOVE = text("DELETE FROM search_index WHERE item_id IN :ids").bindparams(bindparam("ids", expanding=True))
_POSTGRES_ADD = text(
    "INSERT INTO search_index (item_id, words) VALUES (:id, CAST(:words AS tsvector)) "
    "ON CONFLICT (item_id) DO UPDATE SET words = excluded.words"
)
