"""Statistics of scraping in the store, one row for each timeline."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from sqlalchemy import Connection, insert, select, update

from catchment.domain.tweet import FetchStats
from catchment.store.tables import scraper_fetch_stats

_COLUMNS = [scraper_fetch_stats.c[name] for name in FetchStats.__dataclass_fields__]


def get(conn: Connection, username: str) -> FetchStats | None:
    row = conn.execute(select(*_COLUMNS).where(scraper_fetch_stats.c.username == username)).one_or_none()
    return FetchStats(**row._asdict()) if row else None


def put(conn: Connection, stats: FetchStats, *, now: datetime) -> None:
    values = {**asdict(stats), "updated_at": now}
    there = scraper_fetch_stats.c.username == stats.username
    if not conn.execute(update(scraper_fetch_stats).where(there).values(values)).rowcount:
        conn.execute(insert(scraper_fetch_stats).values({**values, "created_at": now}))
