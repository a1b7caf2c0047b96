"""Exports, on both stores: what is in them, what a spreadsheet makes of them, and what they cost."""

from __future__ import annotations

import csv
import io
import json
import sys
import tracemalloc
from asyncio import gather
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from pyarrow import parquet
from sqlalchemy import Connection, text

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.domain.export import ExportFormat, ExportKind, ExportQuery
from catchment.domain.item import make_item
from catchment.domain.note import Author, Comment
from catchment.domain.source import Source
from catchment.domain.tweet import Tweet
from catchment.errors import InvalidInput, SettingsError
from catchment.manage import exports
from catchment.manage.catalog import Draft
from catchment.publish import exports as writers
from catchment.store import items, notes, tweets
from catchment.store.database import READERS, open_store
from crawl_notes import crawled
from stores import on_sqlite_alone

WRITTEN = datetime(2026, 3, 1, 8, tzinfo=UTC)


async def add_source(system: System, name: str, *, owner: int | None = None, public: bool = False) -> Source:
    draft = Draft(type="rss", config={"url": f"https://{name}.example/feed"}, name=name, is_public=public)
    caller = Caller(role=Role.USER, user_id=owner) if owner else OPERATOR
    return await system.catalog.add(draft, caller)


async def add_items(system: System, source: Source, *titles: str) -> None:
    found = [
        (source.id, make_item(native_id=title, title=title, published_at=WRITTEN, metadata={"score": 1}))
        for title in titles
    ]
    await system.store.write(items.insert_new, found, now=system.clock.now())


async def exported(
    system: System, form: ExportFormat, what: ExportKind = ExportKind.ITEMS, caller: Caller = OPERATOR, **wanted: Any
) -> bytes:
    stream = await system.exports.start(ExportQuery(what=what, caller=caller, **wanted), form)
    return b"".join([piece async for piece in stream])


async def lines_of(system: System, what: ExportKind = ExportKind.ITEMS, **wanted: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (await exported(system, ExportFormat.JSONL, what, **wanted)).splitlines()]


@on_sqlite_alone
@pytest.mark.proves("H-05")
async def test_the_same_rows_come_out_in_every_format(system: System, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(exports, "PAGE_ROWS", 2)
    source = await add_source(system, "quay")
    await add_items(system, source, "人工智能", "two\nlines", 'quo"ted', "four", "five")
    lines = await lines_of(system)
    assert [line["title"] for line in lines] == ["人工智能", "two\nlines", 'quo"ted', "four", "five"]
    assert (lines[0]["source_name"], lines[0]["published_at"]) == ("quay", "2026-03-01T08:00:00.000Z")
    assert lines[0]["metadata"] == {"score": 1}
    rows = list(csv.DictReader(io.StringIO((await exported(system, ExportFormat.CSV)).decode(), newline="")))
    assert [row["title"] for row in rows] == [line["title"] for line in lines]
    assert list(rows[0]) == list(lines[0])
    table = parquet.read_table(io.BytesIO(await exported(system, ExportFormat.PARQUET))).to_pylist()
    assert [(row["id"], row["title"], row["published_at"]) for row in table] == [
        (line["id"], line["title"], WRITTEN) for line in lines
    ]


@pytest.mark.proves("H-05")
@pytest.mark.parametrize(("rows", "chars", "groups"), [(3, 1_000_000, 2), (1_000, 400, 3), (1_000, 1_000_000, 1)])
def test_what_waits_to_be_written_as_parquet_is_bounded_by_rows_and_by_their_texts(
    monkeypatch: pytest.MonkeyPatch, rows: int, chars: int, groups: int
):
    monkeypatch.setattr(writers, "GROUP_ROWS", rows)
    monkeypatch.setattr(writers, "GROUP_CHARS", chars)
    writer = writers.make_writer(ExportFormat.PARQUET, ExportKind.ITEMS)
    written = writer.write([{"id": number, "content": "x" * 200} for number in range(5)]) + writer.finish()
    file = parquet.ParquetFile(io.BytesIO(written))
    assert (file.num_row_groups, file.read(["id"]).to_pylist()) == (groups, [{"id": number} for number in range(5)])


@pytest.mark.proves("H-05")
async def test_who_exports_sees_what_the_api_would_show_them(system: System):
    ada = await system.accounts.add_user("ada@example.org")
    eve = await system.accounts.add_user("eve@example.org")
    hers = await add_source(system, "hers", owner=ada.id)
    public = await add_source(system, "public", owner=ada.id, public=True)
    removed = await add_source(system, "removed", owner=ada.id)
    for source in (hers, public, removed):
        await add_items(system, source, f"of {source.name}")
        await system.store.write(notes.write, crawled(source.id), source_id=source.id, now=system.clock.now())
    await system.catalog.remove(removed.id, OPERATOR)
    seen = {
        name: [line["title"] for line in await lines_of(system, caller=Caller(role=role, user_id=user))]
        for name, role, user in (
            ("ada", Role.USER, ada.id),
            ("eve", Role.USER, eve.id),
            ("service", Role.SERVICE, None),
        )
    }
    assert seen == {
        "ada": ["of hers", "of public"],
        "eve": ["of public"],
        "service": ["of hers", "of public"],
    }
    by_eve = await lines_of(system, ExportKind.NOTES, caller=Caller(role=Role.USER, user_id=eve.id))
    assert [line["source_id"] for line in by_eve] == [public.id]


@pytest.mark.proves("H-05")
async def test_notes_their_comments_and_tweets_are_exported_as_well(system: System):
    source = await add_source(system, "quay")
    reply = Comment(
        id="c2", author=Author(id="e", name="Eve"), content="=1+1", created_at=WRITTEN, likes=2, reply_count=0
    )
    comment = Comment(
        id="c1",
        author=Author(id="a", name="Ada"),
        content="Good",
        created_at=WRITTEN,
        likes=3,
        reply_count=1,
        replies=(reply,),
    )
    one = crawled(1)
    one = replace(one, note=replace(one.note, comments=(comment,)))
    await system.store.write(notes.write, one, source_id=source.id, now=system.clock.now())
    tweet = Tweet("1", "Words", WRITTEN, "ada", hashtags=("sea",))
    await system.store.write(tweets.save_tweets, [tweet], now=system.clock.now())
    [note] = await lines_of(system, ExportKind.NOTES)
    assert (note["platform"], note["note_id"]) == ("xhs", one.note.ref.note_id)
    comments = await lines_of(system, ExportKind.COMMENTS)
    assert [(row["id"], row["reply_to"], row["author_name"]) for row in comments] == [
        ("c1", "", "Ada"),
        ("c2", "c1", "Eve"),
    ]
    assert {row["note_id"] for row in comments} == {one.note.ref.note_id}
    [shown] = await lines_of(system, ExportKind.TWEETS)
    assert (shown["tweet_id"], shown["hashtags"]) == ("1", ["sea"])
    for what in ExportKind:
        table = parquet.read_table(io.BytesIO(await exported(system, ExportFormat.PARQUET, what)))
        assert table.num_rows == len(await lines_of(system, what))
    assert b"'=1+1" in await exported(system, ExportFormat.CSV, ExportKind.COMMENTS)
    with pytest.raises(InvalidInput):
        await lines_of(system, ExportKind.TWEETS, source_id=source.id)


@on_sqlite_alone
@pytest.mark.proves("H-05")
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "＝"])
async def test_no_cell_of_a_csv_is_taken_for_a_formula(system: System, start: str):
    source = await add_source(system, "quay")
    await add_items(system, source, f'{start}HYPERLINK("https://evil.example")', "plain - text")
    rows = list(csv.DictReader(io.StringIO((await exported(system, ExportFormat.CSV)).decode(), newline="")))
    assert [row["title"] for row in rows] == [f'\'{start}HYPERLINK("https://evil.example")', "plain - text"]
    # Whoever reads them by program gets them as they are.
    assert (await lines_of(system))[0]["title"].startswith(start)


@pytest.mark.proves("H-05")
async def test_a_time_and_a_source_narrow_an_export(system: System, clock):
    one, other = await add_source(system, "one"), await add_source(system, "other")
    await add_items(system, one, "early")
    early = clock.now()
    clock.advance(timedelta(minutes=1))
    await add_items(system, one, "late")
    await add_items(system, other, "others")
    assert [line["title"] for line in await lines_of(system, source_id=one.id)] == ["early", "late"]
    assert [line["title"] for line in await lines_of(system, since=clock.now())] == ["late", "others"]
    assert [line["title"] for line in await lines_of(system, until=clock.now(), since=early)] == ["early"]


@on_sqlite_alone
@pytest.mark.proves("H-05", "H-08")
async def test_without_pyarrow_the_extra_is_named_before_anything_is_written(system: System, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SettingsError, match=r"catchment\[parquet\]"):
        await exported(system, ExportFormat.PARQUET)


def _fill(conn: Connection, source_id: int, count: int) -> None:
    """By one statement: to store them one by one would take most of the time of the test."""
    conn.execute(text("DELETE FROM raw_items"))
    conn.execute(
        text(
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :count) "
            "INSERT INTO raw_items (source_id, dedup_key, fingerprint, title, url, author, content, fetched_at, "
            "revision, metadata) SELECT :source, n, x'00', 'Title ' || n, 'https://example.org/' || n, 'Ada', "
            "hex(randomblob(200)), '2026-03-01 08:00:00.000000', 0, '{}' FROM numbers"
        ),
        {"source": source_id, "count": count},
    )


@pytest.mark.proves("H-05")
@pytest.mark.parametrize("form", list(ExportFormat))
@pytest.mark.stores("sqlite")
async def test_memory_does_not_grow_with_what_is_exported(
    system: System, form: ExportFormat, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writers, "GROUP_ROWS", 1_000)
    source = await add_source(system, "quay")
    peaks = []
    few, many = 2_000, 8_000
    for count in (few, few, many):
        await system.store.write(_fill, source.id, count)
        tracemalloc.start()
        query = ExportQuery(what=ExportKind.ITEMS, caller=OPERATOR)
        size = 0
        async for piece in await system.exports.start(query, form):
            size += len(piece)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert size > many * 100
    # The first one also pays for what is made once.
    assert peaks[2] < peaks[1] + 1_000_000


@pytest.mark.proves("H-05")
async def test_what_is_read_one_after_the_other_is_read_by_one_connection(sqlite_url: str) -> None:
    """Each has a cache of its own: an export that went round all of them would fill them all."""
    store = open_store(sqlite_url)
    together = Barrier(READERS)

    def used(conn: Connection, *, waits: bool) -> int:
        if waits:
            together.wait()
        return id(conn.connection.driver_connection)

    at_once = await gather(*(store.read(used, waits=True) for _ in range(READERS)))
    one_by_one = {await store.read(used, waits=False) for _ in range(2 * READERS)}
    await store.close()
    assert (len(set(at_once)), len(one_by_one)) == (READERS, 1)
