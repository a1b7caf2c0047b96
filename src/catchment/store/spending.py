"""What X's provider was asked for, in pages a day: what it costs goes by the page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from sqlalchemy import Connection, func, insert, select, text, update

from catchment.store.tables import x_spending

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
