"""A whole store into another one: every row of every table, or nothing."""

from __future__ import annotations

import pytest
from sqlalchemy import insert
from sqlalchemy.engine import URL, make_url

from catchment.errors import Conflict, StoreError
from catchment.store.copy import copy_store
from catchment.store.database import migration_engine, open_store, store_url
from catchment.store.migrate import migrate_url
from catchment.store.tables import config, metadata, raw_items
from crawl_notes import add_keyword
from filled_store import fill, rows_in
from first_store import set_schema


@pytest.fixture
def other_url(request, tmp_path) -> URL:
    """An empty place of the kind that a test names."""
    if request.param == "sqlite":
        return make_url(f"sqlite+pysqlite:///{tmp_path}/other.sqlite3")
    return store_url(request.getfixturevalue("postgres_url"))


def at(place: str) -> URL:
    return store_url(place)


@pytest.mark.proves("F-03")
@pytest.mark.parametrize("other_url", ["sqlite", "postgres"], indirect=True)
def test_every_row_of_every_table_arrives_as_it_was(sqlite_url, other_url):
    before = fill(at(sqlite_url))
    counts = copy_store(at(sqlite_url), other_url)
    assert rows_in(other_url) == before
    assert counts == {name: len(rows) for name, rows in before.items()}
    assert rows_in(at(sqlite_url)) == before, "the store that was read is as it was"


@pytest.mark.proves("F-03")
def test_a_store_comes_back_from_postgresql_as_it_was(postgres_url, tmp_path):
    before = fill(at(postgres_url))
    back = make_url(f"sqlite+pysqlite:///{tmp_path}/back.sqlite3")
    copy_store(at(postgres_url), back)
    assert rows_in(back) == before


@pytest.mark.proves("F-03")
async def test_what_is_added_after_the_move_gets_new_numbers(sqlite_url, postgres_url, clock):
    held = fill(at(sqlite_url))["sources"]
    copy_store(at(sqlite_url), at(postgres_url))
    store = open_store(postgres_url)
    added = await add_keyword(store, clock, "coffee")
    await store.close()
    assert added.id == max(row["id"] for row in held) + 1


@pytest.mark.proves("F-03")
def test_a_store_that_holds_something_is_replaced_only_when_asked_to(sqlite_url, store_url, tmp_path):
    source = make_url(f"sqlite+pysqlite:///{tmp_path}/source.sqlite3")
    migrate_url(source)
    held = fill(at(store_url))
    with pytest.raises(Conflict, match=r"not empty .*sources 2.*--replace"):
        copy_store(source, at(store_url))
    assert rows_in(at(store_url)) == held
    copy_store(source, at(store_url), replace=True)
    assert not any(rows_in(at(store_url)).values())


def test_a_copy_that_fails_half_way_leaves_the_target_as_it_was(sqlite_url, store_url, tmp_path):
    source = make_url(f"sqlite+pysqlite:///{tmp_path}/source.sqlite3")
    migrate_url(source)
    fill(source)
    held = fill(at(store_url))

    def fail(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(source, at(store_url), replace=True, progress=fail)
    assert rows_in(at(store_url)) == held


def test_what_is_written_meanwhile_does_not_make_a_mixture(store_url, tmp_path):
    target = make_url(f"sqlite+pysqlite:///{tmp_path}/target.sqlite3")
    before = fill(at(store_url))
    added = []

    def write(_done: int, _total: int) -> None:
        if not added:
            added.append({"key": "late", "value": "x", "updated_at": before["config"][0]["updated_at"]})
            engine = migration_engine(at(store_url))
            with engine.begin() as conn:
                conn.execute(insert(config), added)
                conn.execute(raw_items.delete())
            engine.dispose()

    copy_store(at(store_url), target, progress=write)
    assert rows_in(target) == before


def test_a_copy_with_fewer_rows_than_there_were_is_undone(sqlite_url, tmp_path, monkeypatch):
    fill(at(sqlite_url))
    target = make_url(f"sqlite+pysqlite:///{tmp_path}/target.sqlite3")
    migrate_url(target)
    engine = migration_engine(target)
    with engine.begin() as conn:
        conn.exec_driver_sql("CREATE TRIGGER loses AFTER INSERT ON fetch_log BEGIN DELETE FROM fetch_log; END")
    engine.dispose()
    with pytest.raises(StoreError, match="not complete, so it was undone: fetch_log 2 and 0"):
        copy_store(at(sqlite_url), target)
    assert not any(rows_in(target).values())


def test_a_store_of_another_release_or_none_at_all_is_not_copied(sqlite_url, tmp_path):
    target = make_url(f"sqlite+pysqlite:///{tmp_path}/target.sqlite3")
    engine = migration_engine(at(sqlite_url))
    for revision, why in (("0012", "takes over what is at"), ("9999", "newer release")):
        set_schema(engine, revision)
        with pytest.raises(StoreError, match=f"at schema {revision}.*{why}"):
            copy_store(at(sqlite_url), target)
    engine.dispose()
    (tmp_path / "empty.sqlite3").touch()
    with pytest.raises(StoreError, match="no schema"):
        copy_store(make_url(f"sqlite+pysqlite:///{tmp_path}/empty.sqlite3"), target)
    assert not (tmp_path / "target.sqlite3").exists()


def test_tables_that_others_refer_to_come_first():
    order = [table.name for table in metadata.sorted_tables]
    for table in metadata.sorted_tables:
        for key in table.foreign_keys:
            assert order.index(key.column.table.name) < order.index(table.name)
