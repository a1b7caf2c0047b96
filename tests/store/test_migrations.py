"""Migrations lead to the tables file, and back."""

from __future__ import annotations

import warnings

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.engine import make_url

from catchment.errors import SettingsError, StoreError
from catchment.store.door import migration_engine, open_store
from catchment.store.migrate import migrate, migrate_url
from catchment.store.tables import metadata


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
        assert compare_metadata(MigrationContext.configure(conn), metadata) == []


@pytest.mark.proves("E-17")
def test_every_migration_goes_down_and_up_again(engine):
    migrate_url(engine.url)
    migrate_url(engine.url, "base")
    assert inspect(engine).get_table_names() == ["alembic_version"]
    migrate_url(engine.url)
    assert set(inspect(engine).get_table_names()) == {"alembic_version", *metadata.tables}


def test_migrating_a_store_that_is_up_to_date_keeps_what_is_in_it(engine):
    migrate_url(engine.url)
    with engine.begin() as conn:
        conn.execute(text("INSERT INTO config VALUES ('A', 'b', '2026-03-01T12:00:00.000000+00:00')"))
    migrate_url(engine.url)
    with engine.connect() as conn:
        assert conn.execute(text("SELECT value FROM config")).scalar_one() == "b"


def test_a_store_of_a_newer_release_is_refused_and_left_alone(engine):
    migrate_url(engine.url)
    with engine.begin() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = '9999'"))
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
