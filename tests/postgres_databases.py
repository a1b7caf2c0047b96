"""Databases of PostgreSQL for tests, each as good as new when it is handed out.

To make one takes much longer than to empty one: what a test gives back is emptied and handed out again, unless the test
changed its schema.
"""

from __future__ import annotations

import itertools

import psycopg
from psycopg import Connection, sql
from sqlalchemy.engine import URL, make_url

from catchment.store.migrate import migrate_url
from leak_watch import refuse_leaks_into_rows, written_tables

_TEMPLATE = "catchment_template"
#: Filled by the migrations, and never by a test.
_KEPT = "alembic_version"
#: Copies of a template share the numbers of all that is in them.
_SCHEMA = """
SELECT 'relation', oid, relnatts FROM pg_class WHERE relnamespace = 'public'::regnamespace
UNION SELECT 'constraint', oid, 0 FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION SELECT 'function', oid, 0 FROM pg_proc WHERE pronamespace = 'public'::regnamespace
UNION SELECT 'trigger', oid, 0 FROM pg_trigger
"""
_REVISION = f"SELECT version_num FROM {_KEPT}"
_LARGE_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND pg_relation_size(oid) > 1 << 18
"""
#: All of them: one that was set and not drawn from since looks as if it were new.
_RESTART_SEQUENCES = """
SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false)
FROM pg_sequences WHERE schemaname = 'public'
"""
_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Databases:
    def __init__(self, server: str) -> None:
        self._server = server
        self._free: list[str] = []
        self._numbers = itertools.count()
        self._ask(f"CREATE DATABASE {_TEMPLATE}")
        migrate_url(self.url_of(_TEMPLATE))
        with self._connected(_TEMPLATE) as conn:
            self._schema = set(conn.execute(_SCHEMA))
            self._revision = conn.execute(_REVISION).fetchall()

    def url_of(self, name: str) -> URL:
        return make_url(self._server).set(drivername="postgresql+psycopg", database=name)

    def take(self) -> str:
        """The name of one that holds nothing."""
        if self._free:
            return self._free.pop()
        name = f"test_{next(self._numbers)}"
        # Copied file by file: to log every page takes twice as long, and nobody recovers a test.
        self._ask(f"CREATE DATABASE {name} TEMPLATE {_TEMPLATE} STRATEGY file_copy")
        return name

    def give_back(self, name: str) -> None:
        """Look through what a test wrote, and have it gone. A lock that it left behind is the business of that test."""
        is_as_new = False
        try:
            with self._connected(name, options="-c lock_timeout=5s") as conn:
                conn.execute(_END_OTHERS)
                refuse_leaks_into_rows(conn)
                if is_as_new := self._has_the_schema(conn):
                    _empty(conn)
        finally:
            if is_as_new:
                self._free.append(name)
            else:
                self._ask(f"DROP DATABASE {name} WITH (FORCE)")

    def _has_the_schema(self, conn: Connection) -> bool:
        is_alike = set(conn.execute(_SCHEMA)) == self._schema
        return is_alike and conn.execute(_REVISION).fetchall() == self._revision

    def _connected(self, name: str, options: str = "") -> Connection:
        plain = self.url_of(name).set(drivername="postgresql").render_as_string(hide_password=False)
        return psycopg.connect(plain, options=options)

    def _ask(self, statement: str) -> None:
        with psycopg.connect(self._server, autocommit=True) as conn:
            conn.execute(statement)


def _empty(conn: Connection) -> None:
    """Row by row: to truncate makes new files for a table and all its indexes, which takes longer than a test."""
    # Whatever refers to a row goes as well, so nobody has to look for it.
    conn.execute("SET LOCAL session_replication_role = replica")
    for name in written_tables(conn):
        if name != _KEPT:
            conn.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
    # What is gone still takes its place, and whoever reads a table next would pass by all of it.
    for (name,) in conn.execute(_LARGE_TABLES).fetchall():
        conn.execute(sql.SQL("TRUNCATE {} CASCADE").format(sql.Identifier(name)))
    conn.execute(_RESTART_SEQUENCES)
