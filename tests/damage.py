"""A SQLite file damaged as a bad disk does it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def damage(path: Path, table: str) -> bytes:
    """Overwrite the first page of one table; returns what the file is now."""
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(page,)] = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
        [(size,)] = conn.execute("PRAGMA page_size")
    content = bytearray(path.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(content)
    return bytes(content)
