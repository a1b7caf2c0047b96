"""Visits that take no time: a feed that answers at once, so that what is measured is everything around it.

What a visit brings is made of the source's number and of how often it was visited, so that every run is the same: most
feeds have not changed, some have something new, and a few fail.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any
from zlib import crc32

from sqlalchemy import Connection, update

from catchment.bootstrap import System, open_system
from catchment.clock import Clock
from catchment.domain.item import Item, make_item
from catchment.domain.visit import Fetched
from catchment.errors import HttpError
from catchment.settings import Settings
from catchment.sources.base import Context
from catchment.sources.registry import Registry
from catchment.store import tables

#: Of 1,000 visits so many fail, and so many bring something new.
FAILING, NEWS = 20, 100
#: Items of a feed that has something new; the first is the new one.
LISTED = 5


class InstantFeed:
    """Takes the place of the fetcher of feeds."""

    type = "rss"

    def identity(self, config: Mapping[str, Any]) -> str:
        return str(config["url"])

    async def fetch(self, context: Context) -> Fetched:
        source = context.source
        lot = crc32(f"{source.id}-{source.fetch_count}".encode()) % 1000
        if source.fetch_count and lot < FAILING:
            raise HttpError("The server is busy (503).", status=503)
        if source.fetch_count and lot >= FAILING + NEWS:
            return Fetched(memory=source.memory, unchanged=True)
        newest = source.fetch_count
        numbers = range(newest, max(newest - LISTED, -1), -1)
        return Fetched(items=tuple(_item(source.id, number) for number in numbers), memory=source.memory)


def _item(source_id: int, number: int) -> Item:
    return make_item(
        native_id=f"{source_id}-{number}",
        url=f"https://feed-{source_id}.example/{number}",
        title=f"Flood warning {number}",
        content="<p>The river rises by a hand an hour, and falls by a finger a day.</p>",
    )


def make_due(conn: Connection, *, now: datetime) -> None:
    """Everything that is on a schedule."""
    due = update(tables.sources).where(tables.sources.c.next_check_at.is_not(None))
    conn.execute(due.values(next_check_at=now))


@asynccontextmanager
async def instant_system(settings: Settings, *, clock: Clock | None = None) -> AsyncIterator[System]:
    """A system whose feeds answer at once."""
    async with open_system(settings, clock=clock) as system:
        system.registry = Registry([InstantFeed()])
        yield system
