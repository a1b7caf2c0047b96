"""Lists of items cost what is shown, and not what is stored: told by plans and counts, on both stores."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event, func, select

from catchment.bootstrap import System
from catchment.domain.caller import ANONYMOUS, OPERATOR, Caller, Role
from catchment.domain.item import make_item
from catchment.domain.listing import ListFormat
from catchment.domain.run import RunStatus
from catchment.domain.search import read_query
from catchment.domain.source import NewSource
from catchment.manage.import_export import AT_ONCE, export_sources
from catchment.store import candidates, changes, items, overview, runs, search, source_list, sources, subscriptions
from catchment.store.database import Store, open_store
from catchment.store.fetch_log import LogLine, count_an_hour, count_since, write
from catchment.store.items import ItemQuery
from catchment.store.search import ItemFilter
from catchment.store.source_list import SeenCounts, Sort, SourceQuery, VisitMark
from catchment.store.tables import raw_items

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOURCES, PUBLIC_EVERY, VISITS = 60, 20, 5


def fill(conn: Connection, *, public_last: bool = False) -> list[int]:
    """What strangers may see came first, and much came after it; or the other way round."""
    new = [
        NewSource(
            name=str(number),
            type="rss",
            config={},
            identity=str(number),
            is_public=number % PUBLIC_EVERY == 0,
            created_by=None,
            tags=(),
            host=None,
        )
        for number in range(SOURCES)
    ]
    stored = sources.add_all(conn, new, now=NOW)
    for visit in range(VISITS):
        for source in stored:
            made = [
                (source.id, make_item(native_id=f"{visit} {number}", title=f"word {visit} {number}"))
                for number in range(3)
            ]
            later = timedelta(days=int(source.is_public == public_last))
            items.insert_new(conn, made, now=NOW + timedelta(hours=visit) + later)
    return [source.id for source in stored]


@contextmanager
def statements() -> Iterator[list[tuple[str, Any]]]:
    found: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        found.append((statement, parameters))

    event.listen(Engine, "before_cursor_execute", note)
    yield found
    event.remove(Engine, "before_cursor_execute", note)


def in_order(conn: Connection, *, public: bool) -> list[int]:
    statement = select(raw_items.c.id).join(sources.sources, sources.sources.c.id == raw_items.c.source_id)
    if public:
        statement = statement.where(sources.sources.c.is_public)
    return list(conn.execute(statement.order_by(*items.NEWEST_FIRST)).scalars())


@pytest.mark.proves("A-28")
async def test_what_is_claimed_and_committed_is_looked_up_by_its_number(store: Store):
    ids = await store.write(fill)

    def plans(conn: Connection) -> list[str]:
        with statements() as asked:
            claimed = runs.claim_due(conn, ids[:5], owner="me", now=NOW, until=NOW + timedelta(hours=1))
            sources.get_for_commit(conn, sources.get_many(conn, ids[:5]))
            runs.finish(conn, [run.id for run in claimed], status=RunStatus.COMPLETED, now=NOW)
        if conn.dialect.name != "sqlite":
            return []
        asked = [(sql, values) for sql, values in asked if "json_each" in sql]
        explained = [conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all() for sql, values in asked]
        return [row[3] for rows in explained for row in rows]

    lines = await store.write(plans)
    assert not [line for line in lines if line.startswith(("SCAN sources", "SCAN runs"))]
    assert store.url.get_backend_name() != "sqlite" or len(lines) > 10


@pytest.mark.proves("S-03")
@pytest.mark.parametrize("public_last", [False, True])
@pytest.mark.parametrize("limit", [1, 2, 7, 40, 200])
async def test_the_newest_of_a_few_sources_are_those_that_a_look_at_all_would_find(
    store: Store, limit: int, *, public_last: bool
):
    await store.write(fill, public_last=public_last)
    for query in (ItemQuery(limit=limit), ItemQuery(limit=limit, caller=OPERATOR), ItemQuery(limit=limit, offset=5)):
        whole = await store.read(in_order, public=not query.caller.sees_all)
        found = await store.read(items.list_items, query)
        assert [item.id for item in found] == whole[query.offset : query.offset + limit]


@pytest.mark.proves("S-03")
async def test_of_what_others_brought_few_are_looked_at_for_those_who_may_not_see_it(store: Store):
    await store.write(fill)

    def plans(conn: Connection) -> list[tuple[str, str, Any]]:
        with statements() as asked:
            items.list_items(conn, ItemQuery(limit=10))
            search.find(conn, None, ItemFilter(), after=None, limit=10)
        if conn.dialect.name != "sqlite":
            return []
        return [
            (line[3], sql, values)
            for sql, values in asked
            for line in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all()
        ]

    found = await store.read(plans)
    assert [line for line, *_ in found if line.startswith("SCAN raw_items") and "fetched_at" not in line] == []
    for line, sql, values in found:
        if line.startswith("SCAN raw_items"):
            assert "COVERING INDEX ix_raw_items_fetched_at" in line, sql
            assert "LIMIT" in sql
            assert max(values) <= items.AMONG * search.LOOK
    if store.url.get_backend_name() == "sqlite":
        assert any("ix_raw_items_source_id_fetched_at" in line for line, *_ in found)


@pytest.mark.proves("S-03")
@pytest.mark.parametrize("limit", [4, 20])
async def test_of_sources_that_are_fewer_than_a_page_is_long_no_more_is_read_than_it_needs(store: Store, limit: int):
    await store.write(fill)

    def read(conn: Connection) -> tuple[list[int], list[str]]:
        with statements() as asked:
            found = items.list_items(conn, ItemQuery(limit=limit))
        each = [sql for sql, _ in asked if "sources JOIN" in sql and "raw_items.source_id = sources.id" in sql]
        return [one.id for one in found], each

    found, each = await store.read(read)
    assert found == (await store.read(in_order, public=True))[:limit]
    assert len(each) == 1
    assert "raw_items.fetched_at >=" in each[0], "from the moment on at which the page is full"


@pytest.mark.proves("S-03", "G-13")
async def test_pages_by_cursor_hold_every_item_once_and_in_order(store: Store):
    await store.write(fill)
    whole, seen = await store.read(in_order, public=True), list[int]()
    after: tuple[datetime, int] | None = None
    while page := await store.read(items.list_items, ItemQuery(limit=4, after=after)):
        seen += [item.id for item in page]
        after = (page[-1].fetched_at, page[-1].id)
    assert seen == whole


@pytest.mark.proves("S-03")
async def test_a_far_offset_is_found_by_counting(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(items, "MAX_BY_SOURCE", 1)
    await store.write(fill)
    for public in (True, False):
        whole = await store.read(in_order, public=public)
        for offset in (1, 10, len(whole) - 2, len(whole), len(whole) + 5):
            found = await store.read(
                items.list_items, ItemQuery(caller=ANONYMOUS if public else OPERATOR, limit=6, offset=offset)
            )
            assert [item.id for item in found] == whole[offset : offset + 6]


def counted(conn: Connection) -> dict[int, int]:
    rows = conn.execute(select(raw_items.c.source_id, func.count()).group_by(raw_items.c.source_id))
    return {row[0]: row[1] for row in rows}


@pytest.mark.proves("S-03")
async def test_kept_counts_are_what_counting_finds_whatever_comes_and_goes(store: Store):
    ids = await store.write(fill)
    edited = make_item(native_id="0 0", title="edited")
    await store.write(items.update_changed, [(ids[0], edited)], now=NOW + timedelta(days=2))
    for _ in range(3):
        await store.write(items.delete_old, now=NOW + timedelta(days=30, hours=2), keep=timedelta(days=30), limit=5)
        real = await store.read(counted)
        kept = await store.read(changes.item_counts, ids)
        assert {one: count for one, count in kept.items() if count} == real
        assert await store.read(changes.count_items) == sum(real.values())


@pytest.mark.proves("S-03")
async def test_figures_of_sources_come_by_pages_in_two_statements(store: Store):
    ids = await store.write(fill)

    def read(conn: Connection) -> tuple[list[items.ItemStats], int]:
        with statements() as asked:
            page = items.stats_by_source(
                conn, OPERATOR, since=NOW + timedelta(days=1, hours=3), after_id=ids[4], limit=10
            )
        return page, len(asked)

    page, asked = await store.read(read)
    assert asked == 2
    assert [row.source_id for row in page] == ids[5:15]
    assert {(row.total_items, row.items_24h) for row in page} == {(15, 6)}
    assert {row.last_item_at for row in page} == {NOW + timedelta(days=1, hours=4)}


@pytest.mark.proves("S-03")
async def test_the_last_visits_of_many_sources_are_read_in_one_statement(store: Store):
    ids = await store.write(fill)
    lines = [
        LogLine(
            source_id=source_id,
            started_at=NOW + timedelta(minutes=minute),
            finished_at=NOW + timedelta(minutes=minute, seconds=1),
            ok=True,
        )
        for source_id in ids[:10]
        for minute in range(8)
    ]
    await store.write(write, lines)

    def read(conn: Connection) -> tuple[dict[int, list[VisitMark]], int]:
        with statements() as asked:
            found = source_list.last_visits(conn, ids, most=3)
        assert not any(column in sql for column in ("fetch_log.error", "fetch_log.items") for sql, _ in asked)
        return found, len(asked)

    found, asked = await store.read(read)
    assert asked == 1
    assert set(found) == set(ids[:10])
    for visits in found.values():
        assert [visit.started_at for visit in visits] == [NOW + timedelta(minutes=minute) for minute in (5, 6, 7)]
    last = await store.read(source_list.last_lines, ids)
    assert last == {line.source_id: line for line in lines}, "of those of a source the last"


@pytest.mark.proves("S-03")
async def test_beside_some_sources_no_more_is_read_than_is_shown_of_them(system: System):
    ids = await system.store.write(fill)
    user = await system.accounts.add_user("alice@example.org")
    for source_id in ids[:3]:
        await system.store.write(sources.subscribe, user.id, source_id, now=NOW)

    def read(conn: Connection) -> set[int]:
        with statements() as asked:
            assert set(candidates.backlogs(conn, ids, most=3)) == set(ids)
            assert candidates.backlogs(conn, [], most=3) == {}
        assert len(asked) == 2
        assert not any("candidates.facts" in sql for sql, _ in asked)
        return subscriptions.followed_of(conn, user.id, ids[2:])

    assert await system.store.read(read) == {ids[2]}


@pytest.mark.proves("S-03")
async def test_moments_come_in_utc_from_a_postgres_of_another_zone(postgres_url: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PGTZ", "Etc/UTC")
    store = open_store(postgres_url)
    moment: datetime = await store.read(lambda conn: conn.execute(select(func.now())).scalar_one())
    await store.close()
    assert moment.tzinfo is UTC, "or each is turned into it by itself, a thousand for a page"


async def indexed(store: Store, monkeypatch: pytest.MonkeyPatch, **bounds: int) -> None:
    """900 items of `word`, in blocks of 16, with these bounds of a search."""
    for name, value in {"BLOCK": 16, **bounds}.items():
        monkeypatch.setattr(search, name, value)
    await store.write(fill)
    while await store.write(search.take_in, 1000):
        pass


def pages_of(conn: Connection, q: str, limit: int = 1000) -> tuple[list[int], list[int]]:
    """The numbers of all finds, by page after page, and how often the index was asked for each."""
    seen, asked_for, after = list[int](), list[int](), None
    while True:
        with statements() as asked:
            page = search.find(conn, read_query(q), ItemFilter(caller=OPERATOR), after=after, limit=limit)
        asked_for.append(sum("search_index" in sql for sql, _ in asked))
        seen += [item.id for item in page.items]
        after = page.next
        if after is None:
            return seen, asked_for


@pytest.mark.proves("S-03", "G-06")
@pytest.mark.parametrize("q", ["word", "wor*", '"word 1"', "word -nowhere"])
async def test_a_search_asks_so_many_blocks_for_a_page_and_goes_on_by_its_cursor(
    store: Store, monkeypatch: pytest.MonkeyPatch, q: str
):
    await indexed(store, monkeypatch, MAX_BLOCKS=3, MAX_TOGETHER=2)
    seen, asked = await store.read(pages_of, q)
    everything = await store.read(in_order, public=False)
    assert len(seen) == len(set(seen)) == (len(everything) if "1" not in q else len(everything) // VISITS)
    assert max(asked) <= 4, "two groups of blocks, each asked once and, for a phrase, looked at closely once"
    assert len(asked) == -(-(max(everything) // 16 + 1) // 3)


@pytest.mark.proves("S-03", "G-06")
async def test_the_newest_of_a_common_word_cost_two_looks_and_a_rare_one_as_many_as_blocks_double(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    await indexed(store, monkeypatch, LOOK=11)
    assert (await store.read(pages_of, "word", 10))[1][0] <= 2, "the newest block is not full"
    oldest = make_item(native_id="0 0", title="needle")
    await store.write(items.update_changed, [(1, oldest)], now=NOW)
    await store.write(search.take_in, 10)
    blocks = SOURCES * VISITS * 3 // 16 + 1
    seen, asked = await store.read(pages_of, "needle")
    assert (len(seen), len(asked)) == (1, 1)
    assert asked[0] <= 3 + -(-blocks // search.MAX_TOGETHER), "1, 2, 4 and then 8 blocks together"


@pytest.mark.proves("S-03", "G-06")
async def test_words_that_never_stand_side_by_side_are_looked_for_so_far_at_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    await indexed(store, monkeypatch, CLOSE_LOOK=20, MAX_CLOSE_LOOKS=100)
    seen, asked = await store.read(pages_of, '"1 word"')
    assert seen == []
    assert max(asked) <= 2 * (100 // 20 + 4), "of 100 items with both words, and what the blocks cost"
    assert len(asked) >= SOURCES * 3 * VISITS // 100 // 2


@pytest.mark.proves("S-03", "G-06")
async def test_a_search_reads_the_index_alone(store: Store, monkeypatch: pytest.MonkeyPatch):
    await indexed(store, monkeypatch)

    def plans(conn: Connection) -> list[str]:
        if conn.dialect.name != "sqlite":
            conn.exec_driver_sql("SET LOCAL enable_seqscan = off")  # which it would prefer on so small a table
        with statements() as asked:
            search.find(conn, read_query('"word 1" wor*'), ItemFilter(caller=OPERATOR), after=None, limit=5)
        explain = "EXPLAIN QUERY PLAN" if conn.dialect.name == "sqlite" else "EXPLAIN"
        return [
            str(line[-1]) for sql, values in asked for line in conn.exec_driver_sql(f"{explain} {sql}", values).all()
        ]

    lines = await store.read(plans)
    if store.url.get_backend_name() == "sqlite":
        of_index = [line for line in lines if "search_index" in line]
        assert of_index
        assert all("VIRTUAL TABLE INDEX" in line and ":M" in line for line in of_index), lines
        assert not [line for line in lines if line.startswith("SCAN raw_items")], "nor to know where numbers end"
    else:
        assert any("Bitmap Index Scan on search_index_words" in line for line in lines), lines
        assert any("search_index_pkey" in line for line in lines), "a close look goes by number"


@pytest.mark.proves("S-03")
async def test_what_a_search_found_is_looked_up_by_its_numbers_whatever_narrows_it(store: Store):
    await store.write(fill)
    await store.write(search.take_in, 10_000)

    def plans(conn: Connection) -> list[str]:
        narrowed = ItemFilter(caller=OPERATOR, type="rss", since=NOW)
        with statements() as asked:
            page = search.find(conn, read_query("word"), narrowed, after=None, limit=10)
        assert len(page.items) == 10
        of_items = [(sql, values) for sql, values in asked if re.search(r"raw_items\.id (IN|= ANY)", sql)]
        assert len(of_items) == 2, "the numbers that may be seen, and what is shown of them"
        assert max(len(values) for _, values in of_items) < 5, "all numbers as one value"
        if conn.dialect.name != "sqlite":
            return []
        return [
            line[3]
            for sql, values in of_items
            for line in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all()
            if "raw_items" in line[3]
        ]

    assert set(await store.read(plans)) <= {"SEARCH raw_items USING INTEGER PRIMARY KEY (rowid=?)"}


@pytest.mark.proves("S-03")
async def test_a_search_in_many_sources_ends_with_a_cursor_before_it_has_named_them_too_often(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(search, "BLOCK", 10)
    monkeypatch.setattr(search, "MAX_NAMES", 6)
    await store.write(fill)
    await store.write(search.take_in, 10_000)
    wanted, found, pages, after = ItemFilter(), set[int](), 0, None
    while True:
        # Strangers see three sources, whose items are the oldest: each page may ask two blocks.
        page = await store.read(search.find, read_query("word"), wanted, after=after, limit=10)
        found, pages = found | {item.id for item in page.items}, pages + 1
        if page.next is None:
            break
        after = page.next
    assert sorted(found) == sorted(await store.read(in_order, public=True))
    assert pages >= SOURCES * VISITS * 3 // search.BLOCK // 2


@pytest.mark.proves("S-03", "G-03")
async def test_the_counts_of_a_list_take_one_look_and_are_those_of_who_asks(store: Store):
    await store.write(fill)

    def look(conn: Connection, caller: Caller) -> tuple[SeenCounts, int]:
        with statements() as asked:
            return source_list.count_seen(conn, caller), len(asked)

    for caller, total in ((OPERATOR, SOURCES), (ANONYMOUS, SOURCES // PUBLIC_EVERY)):
        counts, times = await store.read(look, caller)
        assert (counts.total, counts.needy, times) == (total, 0, 1)
        assert counts.total == await store.read(source_list.count, SourceQuery(caller=caller))


@pytest.mark.proves("S-03", "G-03")
@pytest.mark.parametrize("page", [0, 1, 2, 9])
async def test_a_page_of_sources_and_their_number_take_one_look_unless_nothing_is_there(store: Store, page: int):
    await store.write(fill)
    query = SourceQuery(caller=OPERATOR, text="1", sort=Sort.NAME, limit=8, offset=8 * page)

    def look(conn: Connection) -> tuple[list[int], int, int]:
        with statements() as asked:
            found, counted = source_list.list_counted(conn, query)
        return [one.id for one in found], counted, sum("LIKE" in sql for sql, _ in asked)

    found, counted, looks = await store.read(look)
    named = sorted(str(number) for number in range(SOURCES) if "1" in str(number))
    assert (len(found), counted) == (len(named[8 * page : 8 * page + 8]), len(named))
    assert found == [one.id for one in await store.read(source_list.list_page, query)]
    assert looks == (1 if found else 2)


@pytest.mark.proves("S-03", "A-33")
async def test_a_list_of_all_sources_begins_after_one_look_at_what_orders_it(system: System):
    await system.store.write(fill)
    with statements() as asked:
        exported = export_sources(system.catalog, OPERATOR, ListFormat.OPML, now=NOW)
        body = b"".join([piece.body async for piece in exported])
    of_sources = [sql for sql, _ in asked if "FROM sources" in sql]
    assert len(of_sources) == 1 + ceil(SOURCES / AT_ONCE), "the order, and some at a time, whole"
    assert "config" not in of_sources[0]
    assert body.count(b"<outline") == SOURCES


@pytest.mark.proves("S-03")
@pytest.mark.stores("sqlite")
async def test_what_everybody_sees_is_excused_or_was_removed_is_found_without_a_look_at_all_sources(store: Store):
    def plans(conn: Connection) -> set[str]:
        with statements() as asked:
            for caller in (ANONYMOUS, Caller(role=Role.USER, user_id=7)):
                overview.count_sources(conn, caller)
                overview.count_due(conn, caller, now=NOW)
                count_since(conn, NOW - timedelta(days=1), caller, now=NOW)
            overview.latest_excuses(conn)
            sources.list_removed(conn, since=NOW, limit=10)
        return {
            line[3] for sql, values in asked for line in conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values).all()
        }

    found = " ".join(await store.read(plans))
    assert re.findall(r"SCAN sources(?! USING INDEX ix_sources_(?:public|offline))[^)]*", found) == []
    served = {f"ix_sources_{name}" for name in ("public", "offline", "created_by", "deleted_at")}
    assert served <= set(re.findall(r"ix_\w+", found))
    assert "CORRELATED" not in found, "what may be seen is looked up once, and not for every visit"


@pytest.mark.proves("S-03")
async def test_how_all_is_takes_two_statements_for_the_visits_of_a_day_however_many_hours_are_left(store: Store):
    await store.write(fill)
    for counted in range(2):
        with statements() as asked:
            await store.read(count_since, NOW - timedelta(days=1), ANONYMOUS, now=NOW)
        selects = [sql for sql, _ in asked if sql.startswith(("SELECT", "WITH"))]
        assert len(selects) == 2
        # An hour that is counted leaves the time before it and after it.
        assert selects[1].count("raw_items.fetched_at >=") == 1 + counted
        await store.write(count_an_hour, now=NOW)
