"""Streams of what somebody reads, and the counts of the last day: what a look at everything would find, by indexes."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, delete, insert, select
from test_large_lists import statements

from catchment.domain.caller import ANONYMOUS, OPERATOR, Caller, Role
from catchment.domain.item import make_item
from catchment.domain.reading import Followed, Marks, Position, Stream, StreamKind, StreamQuery, UnreadCount
from catchment.domain.source import NewSource
from catchment.store import fetch_log, items, reading, sources, tables, users
from catchment.store.database import Store
from catchment.store.fetch_log import HOUR, LogLine, VisitCounts, uncounted
from catchment.store.reading import Reader
from stores import on_both_stores, on_sqlite_alone

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SOURCES, VISITS = 12, 6
FOLDER, LABEL = "news", "later"


def fill(conn: Connection) -> Reader:
    """Of twelve sources six are followed, three in a folder; the reader marked this and that, and a part at once."""
    chance = random.Random(5)
    alice = users.add(conn, email="alice@example.org", name="Alice", slug="alice", is_admin=False, now=NOW)
    new = [
        NewSource(
            name=str(number),
            type="rss",
            config={},
            identity=str(number),
            is_public=number % 2 == 0,
            created_by=None,
            tags=(FOLDER,) if number % 4 == 0 else (),
            host=None,
        )
        for number in range(SOURCES)
    ]
    stored = sources.add_all(conn, new, now=NOW)
    mine = [{"user_id": alice.id, "source_id": one.id, "created_at": NOW} for one in stored if one.is_public]
    conn.execute(insert(tables.subscriptions), mine)
    for visit in range(VISITS):
        for source in stored:
            made = [(source.id, make_item(native_id=f"{visit} {n}", title="t")) for n in range(chance.randint(1, 3))]
            items.insert_new(conn, made, now=NOW - HOUR * (VISITS - visit))
    reader = Reader(user_id=alice.id, sees_all=False)
    reading.read_up_to(conn, alice.id, [stored[0].id, stored[2].id], until=NOW - HOUR * 3)
    ids = list(conn.execute(select(tables.raw_items.c.id)).scalars())
    for marks in (Marks(is_read=True), Marks(is_read=False), Marks(is_starred=True), Marks(add_labels=(LABEL, FOLDER))):
        reading.mark_items(conn, reader, chance.sample(ids, len(ids) // 5), marks)
    return reader


def everything(conn: Connection, reader: Reader) -> list[dict[str, Any]]:
    """Every item that may be seen, with all that streams are about; the oldest first."""
    followed = {one.source_id: one for one in reading.followed(conn, reader)}
    before = {row.source_id: row.read_before for row in conn.execute(select(tables.subscriptions))}
    states = {row.item_id: row for row in conn.execute(select(tables.item_states))}
    labels = {tuple(row) for row in conn.execute(select(tables.item_labels.c.item_id, tables.item_labels.c.label))}
    item = tables.raw_items.c
    rows = conn.execute(select(item.id, item.source_id, item.fetched_at).order_by(item.fetched_at, item.id))
    seen = [row for row in rows if row.source_id % 2 == 1]
    return [
        {
            "id": row.id,
            "source": row.source_id,
            "at": row.fetched_at,
            "followed": row.source_id in followed,
            "read": states[row.id].is_read
            if row.id in states and states[row.id].is_read is not None
            else row.fetched_at <= before.get(row.source_id, NOW - HOUR * 1000),
            "kept": row.id in states and states[row.id].is_read is False,
            "starred": row.id in states and states[row.id].is_starred,
            "labels": {label for number, label in labels if number == row.id}
            | set(followed[row.source_id].folders if row.source_id in followed else ()),
        }
        for row in seen
    ]


def is_in(one: dict[str, Any], stream: Stream, *, is_listed: bool) -> bool:
    """Read and unread are lists of what is followed, and hold of any item when another list is cut by them."""
    is_followed = one["followed"] or not is_listed
    return bool(
        {
            StreamKind.ALL: one["followed"],
            StreamKind.SOURCE: one["source"] == stream.source_id,
            StreamKind.LABEL: stream.label in one["labels"],
            StreamKind.READ: one["read"] and is_followed,
            StreamKind.UNREAD: not one["read"] and is_followed,
            StreamKind.KEPT_UNREAD: one["kept"],
            StreamKind.STARRED: one["starred"],
            StreamKind.NOTHING: False,
        }[stream.kind]
    )


STREAMS = [
    *(Stream(kind=kind) for kind in StreamKind if kind not in {StreamKind.SOURCE, StreamKind.LABEL}),
    Stream(kind=StreamKind.SOURCE, source_id=3),
    *(Stream(kind=StreamKind.LABEL, label=label) for label in (FOLDER, LABEL, "none")),
]
OTHERS = [Stream(kind=StreamKind.READ), Stream(kind=StreamKind.STARRED), Stream(kind=StreamKind.LABEL, label=FOLDER)]


def pages(conn: Connection, reader: Reader, query: StreamQuery) -> list[int]:
    found: list[int] = []
    after: Position | None = query.after
    while True:
        page = reading.page(conn, reader, StreamQuery(**{**as_dict(query), "after": after}))
        found += [ref.at.item_id for ref in page.refs]
        after = page.next
        if after is None:
            return found


def as_dict(query: StreamQuery) -> dict[str, Any]:
    return {name: getattr(query, name) for name in StreamQuery.__dataclass_fields__}


@on_both_stores
@pytest.mark.parametrize(("limit", "among"), [(40, items.AMONG), (4, 0)], ids=["among all", "by source"])
@pytest.mark.proves("S-03", "H-01")
async def test_every_stream_holds_what_a_look_at_all_items_finds(
    store: Store, limit: int, among: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(items, "AMONG", among)
    reader = await store.write(fill)

    def compare(conn: Connection) -> int:
        known, compared = everything(conn, reader), 0
        for stream in STREAMS:
            for within, without in [((), ()), *(((one,), ()) for one in OTHERS), *(((), (one,)) for one in OTHERS)]:
                for oldest_first in (False, True):
                    expected = [
                        one["id"]
                        for one in (known if oldest_first else reversed(known))
                        if is_in(one, stream, is_listed=True)
                        and all(is_in(one, other, is_listed=False) for other in within)
                        and not any(is_in(one, other, is_listed=False) for other in without)
                    ]
                    query = StreamQuery(
                        stream=stream, within=within, without=without, oldest_first=oldest_first, limit=limit
                    )
                    assert pages(conn, reader, query) == expected, query
                    compared += len(expected)
        few = StreamQuery(stream=STREAMS[0], without=(OTHERS[0],), limit=3)
        assert pages(conn, reader, few) == [one["id"] for one in reversed(known) if one["followed"] and not one["read"]]
        return compared

    assert await store.read(compare) > 1000


@on_both_stores
@pytest.mark.proves("H-01")
@pytest.mark.parametrize("label", ["科技", 'say "so"', "100%_/\\", "é\t", "/", "News"])
async def test_a_folder_of_any_name_has_what_is_in_it_and_nothing_else(store: Store, label: str):
    reader = await store.write(fill)
    first, second, third, *_ = [one.source_id for one in await store.read(reading.followed, reader)]
    await store.write(reading.arrange, reader.user_id, first, folders=[label])
    await store.write(reading.arrange, reader.user_id, second, folders=["other", label])
    await store.write(reading.arrange, reader.user_id, third, folders=[f"{label}s", label.swapcase() + "x"])
    query = StreamQuery(stream=Stream(kind=StreamKind.LABEL, label=label), limit=100)
    found = await store.read(reading.page, reader, query)
    assert {ref.source_id for ref in found.refs} == {first, second}


@on_both_stores
@pytest.mark.proves("S-03", "H-01")
async def test_one_of_all_that_somebody_follows_is_read_alone(store: Store):
    reader = await store.write(fill)
    known = await store.read(reading.followed, reader)
    assert len(known) == SOURCES // 2
    for one in known:
        assert await store.read(reading.followed, reader, one.source_id) == [one]
    assert await store.read(reading.followed, reader, known[0].source_id + 1) == []


@on_both_stores
@pytest.mark.proves("S-03", "H-01")
async def test_unread_items_are_counted_by_one_statement_that_knows_the_folders_too(store: Store):
    reader = await store.write(fill)

    def count(conn: Connection) -> tuple[list[UnreadCount], list[Followed], int]:
        tagged = [one.source_id for one in reading.count_unread(conn, reader) if one.folders]
        reading.arrange(conn, reader.user_id, tagged[0], folders=["mine", "too"])
        reading.arrange(conn, reader.user_id, tagged[1], folders=[])
        with statements() as asked:
            counts = reading.count_unread(conn, reader)
        return counts, reading.followed(conn, reader), len(asked)

    counts, followed, asked = await store.write(count)
    folders = {one.source_id: one.folders for one in followed}
    assert asked == 1
    assert [tuple(one.folders) for one in counts] == [folders[one.source_id] for one in counts]
    assert {("mine", "too"), (FOLDER,), ()} == {tuple(one.folders) for one in counts}


@on_sqlite_alone
@pytest.mark.proves("S-03", "H-01")
async def test_what_was_said_of_single_items_is_found_by_its_own_indexes(store: Store):
    reader = await store.write(fill)

    def plans(conn: Connection) -> list[str]:
        with statements() as asked:
            for stream in STREAMS:
                reading.page(conn, reader, StreamQuery(stream=stream, limit=40))
            reading.count_unread(conn, reader)
        return [
            line[3] for sql, values in asked for line in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all()
        ]

    lines = await store.read(plans)
    for name in ("ix_item_states_is_read", "ix_item_states_starred", "ix_item_states_source_id"):
        assert any(name in line for line in lines), f"{name} is what it is for"
    assert not [line for line in lines if line.startswith("SCAN item_states")], lines


def visit(conn: Connection) -> tuple[int, list[int]]:
    alice = users.add(conn, email="alice@example.org", name="Alice", slug="alice", is_admin=False, now=NOW)
    owners = [(None, True), (None, False), (alice.id, False)]
    new = [
        NewSource(name=str(n), type="rss", config={}, identity=str(n), is_public=public, created_by=owner, host=None)
        for n, (owner, public) in enumerate(owners)
    ]
    ids = [one.id for one in sources.add_all(conn, new, now=NOW)]
    for minutes in range(5, 30 * 60, 17):
        at = NOW - timedelta(minutes=minutes)
        source_id = ids[minutes % 3]
        line = LogLine(source_id=source_id, started_at=at, finished_at=at, ok=minutes % 5 != 0)
        fetch_log.write(conn, [line])
        items.insert_new(conn, [(source_id, make_item(native_id=str(minutes), title="t"))] * (minutes % 2), now=at)
    return alice.id, ids


@on_both_stores
@pytest.mark.proves("S-03")
async def test_hours_that_are_over_are_counted_once_and_tell_what_counting_all_would(store: Store):
    alice, _ = await store.write(visit)
    callers = {"stranger": ANONYMOUS, "alice": Caller(role=Role.USER, user_id=alice), "admin": OPERATOR}

    async def counts() -> dict[str, VisitCounts]:
        day_ago = NOW - timedelta(days=1)
        return {
            name: await store.read(fetch_log.count_since, day_ago, caller, now=NOW) for name, caller in callers.items()
        }

    by_looking = await counts()
    assert len({one.fetches for one in by_looking.values()}) == 3, "each sees something else"
    counted = 0
    while await store.write(fetch_log.count_an_hour, now=NOW):
        counted += 1
        assert await counts() == by_looking, f"{counted} hours counted"
    assert counted == fetch_log.HOURS_KEPT
    kept = (NOW - timedelta(hours=23)).replace(minute=0), NOW.replace(minute=0)
    log = tables.fetch_log
    await store.write(
        lambda conn: conn.execute(delete(log).where(log.c.finished_at >= kept[0], log.c.finished_at < kept[1]))
    )
    assert await counts() == by_looking, "nobody looks at the visits of an hour that was counted"
    await store.write(fetch_log.count_an_hour, now=NOW + timedelta(days=3))
    left = await store.read(lambda conn: conn.execute(select(tables.visit_hours.c.hour)).scalars().all())
    assert all(hour > NOW for hour in left), "what is of no use any more is gone"


def test_what_the_counted_hours_leave_out_is_looked_at():
    at = NOW.replace(minute=0)
    assert uncounted(NOW, NOW, []) == ([], [(NOW, None)])
    assert uncounted(at - HOUR, NOW, [at - HOUR]) == ([at - HOUR], [(at, None)])
    since = NOW - HOUR * 3
    kept = [at - HOUR * 3, at - HOUR * 2, at]
    assert uncounted(since, NOW, kept) == ([at - HOUR * 2], [(since, at - HOUR * 2), (at - HOUR, None)])
