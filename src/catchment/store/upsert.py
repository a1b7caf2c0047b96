"""Inserting what may be there already: both dialects know ON CONFLICT, each under its own name."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_into(conn: Connection, table: Table) -> Any:
    """An insert of the store's own dialect, which knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
    return (sqlite.insert if conn.dialect.name == "sqlite" else postgresql.insert)(table)


def insert_or_ignore(conn: Connection, table: Table) -> Any:
    """An insert that leaves what is there as it is."""
    return insert_into(conn, table).on_conflict_do_nothing()
