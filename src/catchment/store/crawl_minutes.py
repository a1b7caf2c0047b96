"""How requests to crawled platforms went, counted by the minute, so that a rate of the last minutes can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, delete, func, select

from catchment.store.tables import crawl_minutes
from catchment.store.upsert import insert_into


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    ok: int = 0
    failed: int = 0


def note(conn: Connection, platform: str, *, ok: bool, now: datetime) -> None:
    """Count one request."""
    one_more = insert_into(conn, crawl_minutes).values(
        minute=now.replace(second=0, microsecond=0), platform=platform, ok=int(ok), failed=int(not ok)
    )
    counted = {
        "ok": crawl_minutes.c.ok + one_more.excluded.ok,
        "failed": crawl_minutes.c.failed + one_more.excluded.failed,
    }
    conn.execute(one_more.on_conflict_do_update(index_elements=["minute", "platform"], set_=counted))


def count_since(conn: Connection, moment: datetime) -> Mapping[str, Requests]:
    """By platform, from the minute of `moment` on."""
    counts = (
        select(crawl_minutes.c.platform, func.sum(crawl_minutes.c.ok), func.sum(crawl_minutes.c.failed))
        .where(crawl_minutes.c.minute >= moment.replace(second=0, microsecond=0))
        .group_by(crawl_minutes.c.platform)
    )
    return {platform: Requests(ok=int(ok), failed=int(failed)) for platform, ok, failed in conn.execute(counts)}


def delete_old(conn: Connection, *, before: datetime) -> int:
    return conn.execute(delete(crawl_minutes).where(crawl_minutes.c.minute < before)).rowcount
