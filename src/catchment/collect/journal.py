"""The journal of the crawler: each read of a platform is a line in the log and counts in its minute."""

from __future__ import annotations

from loguru import logger

from catchment.clock import Clock
from catchment.sources.crawl.outcome import Asked
from catchment.store import crawl_minutes
from catchment.store.door import Store


class CrawlJournal:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def record(self, asked: Asked) -> None:
        how = "answered" if asked.error is None else f"{asked.error.code}: {asked.error}"
        milliseconds = round(asked.took.total_seconds() * 1000)
        level = "INFO" if asked.ok else "WARNING"
        logger.log(
            level, "{}: {} with cookie {} in {} ms: {}", asked.platform, asked.what, asked.cookie, milliseconds, how
        )
        await self._store.write(crawl_minutes.note, asked.platform, ok=asked.ok, now=self._clock.now())
