"""Whether a SQLite file can be trusted, found out before anything relies on it."""

from __future__ import annotations

from sqlalchemy import Connection

from catchment.errors import DamagedStore


def check_soundness(conn: Connection) -> None:
    """DamagedStore when a part of the file is broken, even one that nobody asked for yet. Others look after theirs."""
    if conn.dialect.name != "sqlite":
        return
    found = conn.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    if found != "ok":
        raise DamagedStore(f"The store {conn.engine.url.database} is damaged: {found}")
