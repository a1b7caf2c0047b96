"""Short ways to add sources and to collect them, for tests of the engine."""

from __future__ import annotations

from typing import Any

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR
from catchment.domain.item import StoredItem
from catchment.domain.source import Source
from catchment.domain.visit import VisitResult
from catchment.manage.catalog import Draft
from catchment.store import items
from catchment.store.items import ItemQuery


async def add(system: System, url: str, **values: Any) -> Source:
    return await system.catalog.add(Draft(**{"type": "rss", "config": {"url": url}, **values}), OPERATOR)


async def collect(system: System) -> list[VisitResult]:
    async with system.collector.working(grace_seconds=5):
        return await system.collector.collect_due()


async def collect_one(system: System, source_id: int) -> VisitResult:
    async with system.collector.working(grace_seconds=5):
        return await system.collector.collect_source(source_id)


async def get(system: System, source: Source) -> Source:
    return await system.catalog.get(source.id, OPERATOR)


async def stored(system: System, **query: Any) -> list[StoredItem]:
    return await system.store.read(items.list_items, ItemQuery(caller=OPERATOR, limit=0, **query))
