"""Whether a SQLite file can be trusted, found out before anything relies on it."""

from __future__ import annotations

from sqlalchemy import Connection

from catchment.errors import DamagedStore

#: What an incremental crawl remembers.
_STATE = ("expeditions", "listings", "candidates")


def check_soundness(conn: Connection) -> None:
    """DamagedStore when a part of the file is broken, even one that nobody asked for yet. Others look after theirs."""
    _check(conn, "1")


def check_state(conn: Connection) -> None:
    """The same of the state of incremental crawls alone: a store with many items takes long to look through."""
    for table in _STATE:
        _check(conn, table)


def _check(conn: Connection, what: str) -> None:
    if conn.dialect.name != "sqlite":
        return
    found = conn.exec_driver_sql(f"PRAGMA quick_check({what})").scalar()
    if found != "ok":
        raise DamagedStore(f"The store {conn.engine.url.database} is damaged: {found}")
