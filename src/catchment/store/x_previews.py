"""First pages of timelines of X that somebody looked at: paid for once, and kept for a while."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, delete, select

from catchment.store.tables import x_previews
from catchment.store.upsert import insert_into


def get(conn: Connection, timeline: str, *, since: datetime) -> Mapping[str, Any] | None:
    """The page, unless it is older than that."""
    found = select(x_previews.c.page).where(x_previews.c.timeline == timeline, x_previews.c.fetched_at > since)
    page = conn.execute(found).scalar_one_or_none()
    return None if page is None else json.loads(page)


def put(conn: Connection, timeline: str, page: Mapping[str, Any], *, now: datetime, since: datetime) -> None:
    """Keep it, and forget those that are older than that."""
    conn.execute(delete(x_previews).where(x_previews.c.fetched_at <= since))
    values = {"timeline": timeline, "page": json.dumps(page), "fetched_at": now}
    fresh = insert_into(conn, x_previews).values(values)
    conn.execute(fresh.on_conflict_do_update(index_elements=["timeline"], set_=values))


def take(conn: Connection, timeline: str, *, since: datetime) -> Mapping[str, Any] | None:
    """The page as in `get`, for the last time."""
    page = get(conn, timeline, since=since)
    conn.execute(delete(x_previews).where(x_previews.c.timeline == timeline))
    return page
