"""The config table (settings that may change while the system runs), and which intervals were applied last."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, delete, func, insert, select

from catchment.store.tables import applied_intervals, config


def read_config(conn: Connection) -> dict[str, str]:
    return {row.key: row.value for row in conn.execute(select(config).order_by(config.c.key))}


def set_config(conn: Connection, values: Mapping[str, str], *, now: datetime) -> None:
    """Keys are the same whatever their case; they are kept in upper case."""
    for key, value in values.items():
        unset_config(conn, key)
        conn.execute(insert(config), {"key": key.upper(), "value": value, "updated_at": now})


def unset_config(conn: Connection, key: str) -> bool:
    """True if there was such a key."""
    return conn.execute(delete(config).where(func.upper(config.c.key) == key.upper())).rowcount > 0


def read_applied_intervals(conn: Connection) -> dict[str, int]:
    return {row.type: row.minutes for row in conn.execute(select(applied_intervals))}


def set_applied_interval(conn: Connection, source_type: str, minutes: int) -> None:
    conn.execute(delete(applied_intervals).where(applied_intervals.c.type == source_type))
    conn.execute(insert(applied_intervals), {"type": source_type, "minutes": minutes})
