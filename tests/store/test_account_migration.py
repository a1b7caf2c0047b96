"""What was there before passwords came is there afterwards, and nothing widens on the way back."""

from __future__ import annotations

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from catchment.store.database import migration_engine
from catchment.store.migrate import migrate_url

MOMENT = "'2026-03-01T12:00:00.000000+00:00'"


@pytest.fixture
def engine(store_url):
    url = make_url(store_url)
    engine = migration_engine(url.set(drivername="postgresql+psycopg") if "postgres" in url.drivername else url)
    yield engine
    engine.dispose()


@pytest.mark.proves("E-17")
def test_users_keys_and_sessions_survive_the_coming_and_going_of_passwords(engine):
    migrate_url(engine.url)
    migrate_url(engine.url, "0005")
    with engine.begin() as conn:
        conn.execute(text(f"INSERT INTO users VALUES (1, 'a@x.org', 'Ada', 'ada', FALSE, {MOMENT})"))
        for number in (1, 2):
            conn.execute(
                text(
                    f"INSERT INTO api_keys VALUES ({number}, 1, 'user', 'k', 'cat_1', 'h{number}', TRUE, {MOMENT}, NULL)"
                )
            )
        conn.execute(text(f"INSERT INTO sessions VALUES ('t', 1, NULL, FALSE, {MOMENT}, {MOMENT})"))
    migrate_url(engine.url)
    with engine.begin() as conn:
        assert conn.execute(text("SELECT is_active, login_version, password_hash FROM users")).all() == [(1, 0, None)]
        assert conn.execute(text("SELECT scope FROM api_keys")).scalars().all() == ["admin", "admin"]
        assert conn.execute(text("SELECT api_key_id, user_id FROM sessions")).all() == [(1, None)]
        conn.execute(text("UPDATE api_keys SET scope = 'read' WHERE id = 2"))
        conn.execute(
            text(
                "INSERT INTO sessions (token_hash, user_id, login_version, is_sign_in_link, created_at, expires_at) "
                f"VALUES ('u', 1, 0, FALSE, {MOMENT}, {MOMENT})"
            )
        )
    migrate_url(engine.url, "0005")
    with engine.connect() as conn:
        assert conn.execute(text("SELECT id, is_active FROM api_keys ORDER BY id")).all() == [(1, 1), (2, 0)]
        assert conn.execute(text("SELECT token_hash FROM sessions")).scalars().all() == ["t"]
