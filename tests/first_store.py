"""Stores as they were at the first schema that this release takes over, with rows in every table, from dumps of them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.engine import URL

from catchment.store.migrate import migrate_url

FIRST = "0017"
_DUMPS = Path(__file__).parent / "store" / "stores"
Rows = dict[str, list[dict[str, Any]]]


def first_store_in_file(file: Path) -> URL:
    with closing(sqlite3.connect(file)) as db:
        db.executescript(_dump("sqlite"))
    return URL.create("sqlite+pysqlite", database=str(file))


def put_first_store(engine: Engine) -> None:
    """In the place of whatever is there."""
    migrate_url(engine.url, "base")
    with engine.begin() as conn:
        conn.execute(text("DROP TABLE alembic_version"))
    if engine.dialect.name == "sqlite":
        first_store_in_file(Path(engine.url.database or ""))
        return
    with engine.begin() as conn:
        conn.exec_driver_sql(_dump("postgresql"))


def set_schema(engine: Engine, revision: str) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})


def plain_rows(conn: Connection) -> Rows:
    """Every row of every table, as the driver gives it."""
    return {
        name: [dict(row._mapping) for row in conn.execute(text(f'SELECT * FROM "{name}" ORDER BY 1, 2'))]
        for name in inspect(conn).get_table_names()
        # What belongs to the search is made from the rest.
        if name != "alembic_version" and not name.startswith("search_")
    }


def _dump(dialect: str) -> str:
    return (_DUMPS / f"{FIRST}.{dialect}.sql").read_text(encoding="utf-8")
