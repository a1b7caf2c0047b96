"""Migrations lead to the tables file, and back."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text
from sqlalchemy.engine import make_url

from catchment.errors import SettingsError, StoreError
from catchment.store import migrate as migrate_module
from catchment.store.database import migration_engine, open_store
from catchment.store.migrate import head_revision, migrate, migrate_url
from catchment.store.tables import metadata

VERSIONS = Path(migrate_module.__file__).parent / "migrations" / "versions"


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


OLD_ROWS = {
    "users": "(id, email, name, slug, is_admin, created_at) VALUES (1, 'a@b.c', 'A', 'a', {yes}, {now})",
    "sources": (
        "(id, name, type, config, identity, identity_scope, tags, is_active, is_public, is_deleted, created_by, "
        "created_at, updated_at, fetch_count, fetch_error_count, memory, version) VALUES "
        "(1, 'S', 'rss', '{{}}', 'x', 1, '[]', {yes}, {yes}, {no}, 1, {now}, {now}, 3, 0, '{{}}', 0)"
    ),
    "raw_items": (
        "(id, source_id, dedup_key, fingerprint, title, url, author, content, fetched_at, revision, metadata) VALUES "
        "(1, 1, 'k', {blob}, 'T', 'u', '', 'c', {now}, 0, '{{}}')"
    ),
    "seen_items": "(source_id, key, fingerprint) VALUES (1, {blob}, {blob})",
    "fetch_log": "(id, source_id, started_at, finished_at, ok, items, inserted) VALUES (1, 1, {now}, {now}, {yes}, 1, 1)",
    "digests": "(id, type, content, metadata, user_id, created_at) VALUES (1, 'daily', 'd', '{{}}', 1, {now})",
    "user_subscriptions": "(id, user_id, source_id, created_at) VALUES (1, 1, 1, {now})",
}


@pytest.mark.proves("E-17")
def test_what_an_older_release_stored_survives_every_migration_both_ways(engine):
    migrate_url(engine.url, "0001")
    is_sqlite = engine.dialect.name == "sqlite"
    words = {
        "yes": "1" if is_sqlite else "true",
        "no": "0" if is_sqlite else "false",
        "now": "'2026-03-01T12:00:00.000000+00:00'",
        "blob": "x'00112233445566778899aabbccddeeff'" if is_sqlite else r"'\x00112233445566778899aabbccddeeff'",
    }
    with engine.begin() as conn:
        for table, row in OLD_ROWS.items():
            conn.execute(text(f"INSERT INTO {table} {row.format(**words)}"))
    revisions = sorted(path.name[:4] for path in VERSIONS.glob("0*.py"))
    for revision in [*revisions, *reversed(revisions), revisions[-1]]:
        migrate_url(engine.url, revision)
        with engine.connect() as conn:
            counts = {table: conn.execute(text(f"SELECT count(*) FROM {table}")).scalar_one() for table in OLD_ROWS}
        assert counts == dict.fromkeys(OLD_ROWS, 1), f"at {revision}"


@pytest.mark.proves("E-17")
def test_what_an_older_release_cannot_read_does_not_outlive_the_way_back(engine):
    migrate_url(engine.url)
    now = "'2026-03-01T12:00:00.000000+00:00'"
    rows = ", ".join(
        f"('{kind}', 'x', 'exec-1-{kind}', 'running', {now}, {now}, {now}, '{{}}')"
        for kind in ("workflow", "cookie", "source")
    )
    with engine.begin() as conn:
        columns = "kind, subject, owner, status, started_at, heartbeat_at, lease_until, progress"
        conn.execute(text(f"INSERT INTO runs ({columns}) VALUES {rows}".replace(":", r"\:")))
    migrate_url(engine.url, "0009")
    with engine.connect() as conn:
        assert conn.execute(text("SELECT kind FROM runs")).scalars().all() == ["source"]


@pytest.mark.proves("R-44")
def test_sources_that_were_there_before_are_given_their_hosts(engine):
    migrate_url(engine.url, "0013")
    configs = {
        "rss": ['{"url": "https://Shared.example/a"}', '{"url": "https://shared.example:8443/b"}', '{"url": 7}'],
        "custom_api": ['{"endpoint": "https://api.example/v1"}', '{"url": "https://[broken"}'],
        "reddit": ['{"subreddit": "python"}'],
        "xhs_search": ['{"keyword": "tea"}'],
    }
    rows = [(type_, config) for type_, some in configs.items() for config in some]
    with engine.begin() as conn:
        for number, (type_, config) in enumerate(rows):
            conn.execute(
                text(
                    "INSERT INTO sources (name, type, config, identity, tags, is_active, is_public, is_deleted, "
                    "created_at, updated_at, fetch_count, fetch_error_count, memory, version) VALUES "
                    "('S', :type, :config, :identity, '[]', true, true, false, :at, :at, 0, 0, '{}', 0)"
                ),
                {"type": type_, "config": config, "identity": str(number), "at": "2026-03-01T12:00:00.000000+00:00"},
            )
    migrate_url(engine.url)
    with engine.connect() as conn:
        found = conn.execute(text("SELECT host FROM sources ORDER BY id")).scalars().all()
        shared = conn.execute(text("SELECT host FROM hosts")).scalars().all()
    assert found == ["shared.example", "shared.example", None, "api.example", None, "www.reddit.com", None]
    assert shared == ["shared.example"]
