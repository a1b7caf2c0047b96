"""Migrations lead to the tables file, and back."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import IntegrityError

from catchment.errors import SettingsError, StoreError
from catchment.store import migrate as migrate_module
from catchment.store.config import read_config
from catchment.store.database import migration_engine, open_store
from catchment.store.migrate import current_revision, head_revision, migrate, migrate_url
from catchment.store.tables import metadata
from first_store import FIRST, plain_rows, put_first_store, set_schema

VERSIONS = Path(migrate_module.__file__).parent / "migrations" / "versions"


def is_of_search(name: str | None) -> bool:
    """Made anew at any time, and of each store's own kind: not among the tables."""
    return name is not None and name.startswith("search_")


@pytest.fixture
def engine(store_url):
    url = make_url(store_url)
    engine = migration_engine(url.set(drivername="postgresql+psycopg") if "postgres" in url.drivername else url)
    yield engine
    engine.dispose()


@pytest.mark.proves("E-17")
def test_migrations_give_exactly_the_tables_of_the_tables_file(engine):
    migrate_url(engine.url)
    with engine.connect() as conn, warnings.catch_warnings():
        warnings.simplefilter("error")
        context = MigrationContext.configure(conn, opts={"include_name": lambda name, *_: not is_of_search(name)})
        assert compare_metadata(context, metadata) == []


def test_the_newest_file_is_named_by_the_revision_that_it_leads_to(engine):
    scripts = ScriptDirectory(str(VERSIONS.parent))
    assert [scripts.get_current_head()] == scripts.get_heads() == [head_revision()]
    assert all(
        path.name.startswith(f"{script.revision}_")
        for script in scripts.walk_revisions()
        for path in [Path(script.path)]
    )


@pytest.mark.proves("E-17")
def test_every_migration_goes_down_and_up_again(engine):
    migrate_url(engine.url)
    migrate_url(engine.url, "base")
    assert inspect(engine).get_table_names() == ["alembic_version"]
    migrate_url(engine.url)
    there = {name for name in inspect(engine).get_table_names() if not is_of_search(name)}
    assert there == {"alembic_version", *metadata.tables}


def test_migrating_a_store_that_is_up_to_date_keeps_what_is_in_it(engine):
    migrate_url(engine.url)
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO config VALUES ('A', 'b', '2026-03-01T12:00:00.000000+00:00')"))
    migrate_url(engine.url)
    with engine.connect() as conn:
        assert conn.execute(text("SELECT value FROM config")).scalar_one() == "b"


def test_a_store_of_a_newer_release_is_refused_and_left_alone(engine):
    migrate_url(engine.url)
    set_schema(engine, "9999")
    with pytest.raises(StoreError, match="newer release"):
        migrate_url(engine.url)


async def test_a_store_that_cannot_be_reached_says_so_without_its_password():
    store = open_store("postgresql://someone:hunter2@127.0.0.1:1/nothing")
    with pytest.raises(StoreError) as failure:
        await migrate(store)
    assert "127.0.0.1" in str(failure.value)
    assert "hunter2" not in str(failure.value)
    await store.close()


@pytest.mark.parametrize("url", ["nonsense", "mysql://x/y", "sqlite://", "sqlite:///:memory:"])
def test_a_database_url_that_cannot_be_used_is_refused_with_the_way_out(url):
    with pytest.raises(SettingsError, match="sqlite:///"):
        open_store(url)


def _shape(engine: Engine) -> dict[str, Any]:
    """All that a schema says, whatever the order in which it was said."""
    found, shape = inspect(engine), {}
    for name in found.get_table_names():
        columns = [
            (column["name"], str(column["type"]), column["nullable"], _plain_default(column["default"]))
            for column in found.get_columns(name)
        ]
        indexes = [
            (index["name"], index["column_names"], index["unique"], [*map(str, index["dialect_options"].values())])
            for index in found.get_indexes(name)
        ]
        # PostgreSQL brackets anew what it reads from a dump.
        checks = [
            (check["name"], sorted({*re.findall(r"\w+", check["sqltext"])}))
            for check in found.get_check_constraints(name)
        ]
        said = [columns, indexes, checks, found.get_unique_constraints(name), found.get_foreign_keys(name)]
        shape[name] = found.get_pk_constraint(name)["constrained_columns"], *(sorted(map(repr, some)) for some in said)
    for name in found.get_view_names():
        shape[name] = " ".join((found.get_view_definition(name) or "").rstrip("; ").split())
    return shape


def _plain_default(default: str | None) -> str | None:
    """SQLite had numbers for yes and no, and now has the words: they are the same there."""
    return {"'0'": "0", "false": "0", "true": "1"}.get(default or "", default)


@pytest.mark.proves("E-17")
def test_a_store_from_before_is_of_the_schema_that_migrations_begin_with(engine):
    put_first_store(engine)
    before = _shape(engine)
    migrate_url(engine.url, "base")
    migrate_url(engine.url, FIRST)
    after = _shape(engine)
    assert {name: (before[name], after.get(name)) for name in before if before[name] != after.get(name)} == {}
    assert after.keys() == before.keys()


@pytest.mark.proves("E-17")
def test_a_store_from_before_keeps_every_row_up_and_down_all_migrations(engine):
    put_first_store(engine)
    with engine.connect() as conn:
        before = plain_rows(conn)
    assert all(before.values())
    revisions = sorted(path.name[:4] for path in VERSIONS.glob("0*.py"))
    for revision in ["head", *reversed(revisions), *revisions]:
        migrate_url(engine.url, revision)
        with engine.connect() as conn:
            after = plain_rows(conn)
        # Items that nothing told of are counted once there are counts.
        after["changes"] = [row for row in after["changes"] if _key(row) in map(_key, before["changes"])]
        kept = {
            name: [{column: now[column] for column in old} for old, now in zip(rows, after[name], strict=True)]
            for name, rows in before.items()
        }
        assert kept == before, f"at {revision}"


@pytest.mark.proves("E-17", "G-08")
def test_of_the_turns_of_an_alert_the_latest_goes_down_with_the_schema(engine):
    migrate_url(engine.url)
    days = ("2026-03-01", "2026-03-02")
    turn = "INSERT INTO alerts (rule, subject, severity, message, since, resolved_at) VALUES ('r', 's', 'P1', :day, :at, {})"
    with engine.begin() as conn:
        for day, end in zip(days, (":at", "NULL"), strict=True):
            conn.execute(text(turn.format(end)), {"day": day, "at": f"{day}T12:00:00.000000+00:00"})
        with pytest.raises(IntegrityError), conn.begin_nested():
            conn.execute(text(turn.format("NULL")), {"day": "open twice", "at": "2026-03-03T12:00:00.000000+00:00"})
    for revision in ("0028", "head"):
        migrate_url(engine.url, revision)
        with engine.connect() as conn:
            assert conn.execute(text("SELECT message FROM alerts")).scalars().all() == [days[1]]


def _key(change: dict[str, Any]) -> tuple[Any, Any]:
    return change["source_id"], change["cause"]


@pytest.mark.proves("E-17")
async def test_a_store_from_before_is_used_as_it_is(store_url, engine):
    put_first_store(engine)
    store = open_store(store_url)
    await migrate(store)
    assert await store.read(current_revision) == head_revision()
    assert await store.read(read_config) == {f"{row} key ü漢🙂": f"{row} value ü漢🙂" for row in (1, 2)}
    await store.close()


@pytest.mark.parametrize("revision", ["0001", "0016"])
def test_a_store_of_an_older_schema_is_refused_with_the_way_here_and_left_alone(engine, revision):
    put_first_store(engine)
    set_schema(engine, revision)
    with engine.connect() as conn:
        before = plain_rows(conn)
    with pytest.raises(StoreError, match=f"at schema {revision}; .* takes over what is at {FIRST} .* then come back"):
        migrate_url(engine.url)
    with engine.connect() as conn:
        assert (plain_rows(conn), current_revision(conn)) == (before, revision)
