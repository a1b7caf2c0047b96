"""The scraper's schedule in the store: one row, with the number 1."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from catchment.domain.run import USUAL_INTERVAL, ScraperSchedule
from catchment.store.bulk import insert_or_ignore
from catchment.store.platform_tables import scraper_schedule_config as config
from catchment.store.types import read_one, read_row

_ONE = 1


def read(conn: Connection) -> ScraperSchedule | None:
    return read_one(conn, select(config).where(config.c.id == _ONE), _schedule)


def write(
    conn: Connection, values: dict[str, Any], *, default_interval: int, now: datetime, updated_by: str
) -> ScraperSchedule:
    """Change what is named; what was never set is as the environment says."""
    first = {"interval_seconds": default_interval or USUAL_INTERVAL, "is_enabled": True}
    stamp = {"updated_at": now, "updated_by": updated_by[:100]}
    conn.execute(insert_or_ignore(conn, config).values(id=_ONE, **first, **stamp))
    row = conn.execute(update(config).where(config.c.id == _ONE).values(**values, **stamp).returning(*config.c)).one()
    return _schedule(row)


def clear_next_run(conn: Connection) -> None:
    """The single run that was asked for has begun."""
    conn.execute(update(config).where(config.c.id == _ONE).values(next_run_time=None))


def _schedule(row: Row[Any]) -> ScraperSchedule:
    return read_row(ScraperSchedule, row)
