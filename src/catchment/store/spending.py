"""What X was asked for: pages a day, as each costs; previews that were paid for; and what each timeline brought."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select, text, update

from catchment.domain.tweet import FetchStats
from catchment.store.bulk import insert_into
from catchment.store.platform_tables import scraper_fetch_stats, x_previews, x_spending
from catchment.store.types import as_row

_LOCK = 0x785F7370656E64


class Period(StrEnum):
    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """Pages at most; 0 is no cap."""

    day: int = 0
    month: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    day: int
    month: int

    def reached(self, caps: Caps) -> Period | None:
        if caps.day and self.day >= caps.day:
            return Period.DAY
        return Period.MONTH if caps.month and self.month >= caps.month else None


def spent(conn: Connection, today: date) -> Spent:
    """What was spent today, and this month with today."""
    days = x_spending.c
    of_day = func.coalesce(func.sum(days.pages).filter(days.day == today), 0)
    of_month = select(of_day, func.coalesce(func.sum(days.pages), 0)).where(
        days.day >= today.replace(day=1), days.day <= today
    )
    day, month = conn.execute(of_month).one()
    return Spent(day=int(day), month=int(month))


def take_page(conn: Connection, today: date, caps: Caps) -> Period | None:
    """Count one more page; where a cap is reached count nothing, and say which."""
    if conn.dialect.name == "postgresql":
        # Two takers at once must not both find the last page free.
        conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
    if period := spent(conn, today).reached(caps):
        return period
    one_more = update(x_spending).where(x_spending.c.day == today).values(pages=x_spending.c.pages + 1)
    if not conn.execute(one_more).rowcount:
        conn.execute(insert(x_spending).values(day=today, pages=1))
    return None


_COLUMNS = [scraper_fetch_stats.c[name] for name in FetchStats.__dataclass_fields__]


def get_stats(conn: Connection, username: str) -> FetchStats | None:
    row = conn.execute(select(*_COLUMNS).where(scraper_fetch_stats.c.username == username)).one_or_none()
    return FetchStats(**row._asdict()) if row else None


def put_stats(conn: Connection, stats: FetchStats, *, now: datetime) -> None:
    values = {**as_row(stats), "updated_at": now}
    there = scraper_fetch_stats.c.username == stats.username
    if not conn.execute(update(scraper_fetch_stats).where(there).values(values)).rowcount:
        conn.execute(insert(scraper_fetch_stats).values({**values, "created_at": now}))


def get_preview(conn: Connection, timeline: str, *, since: datetime) -> Mapping[str, Any] | None:
    """The page, unless it is older than that."""
    found = select(x_previews.c.page).where(x_previews.c.timeline == timeline, x_previews.c.fetched_at > since)
    page = conn.execute(found).scalar_one_or_none()
    return None if page is None else json.loads(page)


def put_preview(conn: Connection, timeline: str, page: Mapping[str, Any], *, now: datetime, since: datetime) -> None:
    """Keep it, and forget those that are older than that."""
    conn.execute(delete(x_previews).where(x_previews.c.fetched_at <= since))
    values = {"timeline": timeline, "page": json.dumps(page), "fetched_at": now}
    fresh = insert_into(conn, x_previews).values(values)
    conn.execute(fresh.on_conflict_do_update(index_elements=["timeline"], set_=values))


def take_preview(conn: Connection, timeline: str, *, since: datetime) -> Mapping[str, Any] | None:
    """The page as in `get`, for the last time."""
    page = get_preview(conn, timeline, since=since)
    conn.execute(delete(x_previews).where(x_previews.c.timeline == timeline))
    return page
