"""Tests share databases one after the other, so none may find what another one did."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import Connection

from postgres_databases import Databases


def connected(databases: Databases, name: str) -> Connection:
    url = databases.url_of(name).set(drivername="postgresql")
    return psycopg.connect(url.render_as_string(hide_password=False))


def ids(conn: Connection) -> list[tuple[int]]:
    conn.execute("INSERT INTO incidents (kind, amount, message, at) VALUES ('one', 1, '', now())")
    return conn.execute("SELECT id FROM incidents").fetchall()


def test_what_is_given_back_is_handed_out_again_as_if_it_were_new(postgres_databases: Databases) -> None:
    name = postgres_databases.take()
    with connected(postgres_databases, name) as conn:
        assert ids(conn) == [(1,)]
    postgres_databases.give_back(name)
    assert postgres_databases.take() == name
    with connected(postgres_databases, name) as conn:
        assert ids(conn) == [(1,)]
        assert conn.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
        conn.rollback()
    postgres_databases.give_back(name)


@pytest.mark.parametrize("draw", ["nextval({})", "setval({}, 3, false)"])
def test_a_number_that_was_drawn_in_vain_is_drawn_again(postgres_databases: Databases, draw: str) -> None:
    name = postgres_databases.take()
    with connected(postgres_databases, name) as conn:
        conn.execute("SELECT " + draw.format("pg_get_serial_sequence('incidents', 'id')"))
    postgres_databases.give_back(name)
    assert postgres_databases.take() == name
    with connected(postgres_databases, name) as conn:
        assert ids(conn) == [(1,)]
    postgres_databases.give_back(name)


@pytest.mark.parametrize(
    "change",
    [
        "CREATE TABLE another (id integer)",
        "DROP TABLE config",
        "ALTER TABLE config ADD COLUMN another integer",
        "CREATE INDEX another ON config (key)",
        "CREATE FUNCTION another() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "ALTER TABLE config ADD CHECK (key <> '')",
        "UPDATE alembic_version SET version_num = '0001'",
        "DROP TABLE alembic_version",
    ],
)
def test_one_whose_schema_was_changed_is_not_handed_out_again(postgres_databases: Databases, change: str) -> None:
    name = postgres_databases.take()
    with connected(postgres_databases, name) as conn:
        conn.execute(change)
    postgres_databases.give_back(name)
    again = postgres_databases.take()
    assert again != name
    postgres_databases.give_back(again)


def test_who_is_still_connected_is_put_out(postgres_databases: Databases) -> None:
    name = postgres_databases.take()
    with connected(postgres_databases, name) as conn:
        ids(conn)
        postgres_databases.give_back(name)
        with pytest.raises(psycopg.OperationalError):
            conn.execute("SELECT 1")
