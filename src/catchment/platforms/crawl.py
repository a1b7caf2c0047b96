"""Crawling by hand: every keyword source once, one after the other, under the lock of the workflow."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from loguru import logger

from catchment.domain.execution import MEDIA_CRAWLER, Execution, Result, current_trace
from catchment.domain.note import Platform
from catchment.domain.run import RunStatus
from catchment.domain.source import Source
from catchment.domain.visit import VisitResult
from catchment.engine.background import background_tasks
from catchment.engine.collector import Collector
from catchment.errors import Conflict, NotFound, StoreError
from catchment.platforms.workflow import Workflow
from catchment.sources.platforms.search import PLATFORM_OF_TYPE
from catchment.store import sources
from catchment.store.database import Store

MAX_SUMMARY = 500


class KeywordCrawl:
    def __init__(self, *, store: Store, workflow: Workflow, collector: Collector, lock_timeout: timedelta) -> None:
        self._store = store
        self._workflow = workflow
        self._collector = collector
        self._heartbeat_seconds = lock_timeout.total_seconds() / 3

    async def keywords(self, *, platform: Platform | None = None, source_id: int | None = None) -> list[Source]:
        """The keyword sources that are active, in the order in which they were added."""
        found = await self._store.read(sources.list_active_of_types, list(PLATFORM_OF_TYPE))
        return [
            source
            for source in found
            if platform in {None, PLATFORM_OF_TYPE[source.type]} and source_id in {None, source.id}
        ]

    async def keyword(self, source_id: int) -> Source:
        """A keyword source that is active; NotFound where there is none of this number."""
        found = await self.keywords(source_id=source_id)
        if not found:
            raise NotFound(f"There is no active keyword source {source_id}. `catchment sources list` shows all.")
        return found[0]

    async def run(self, chosen: Sequence[Source], *, on_result: Callable[[VisitResult], None]) -> Execution | None:
        """Collect these; None when an execution of the workflow is running."""
        if not chosen:
            raise NotFound("There is no keyword source to crawl. Add one: `catchment add 手冲咖啡 --type xhs_search`.")
        begun = await self._workflow.acquire(MEDIA_CRAWLER)
        if begun is None:
            return None
        result = Result(status=RunStatus.FAILED, error_summary="It was broken off.")
        trace = current_trace.set(begun.trace_id)
        try:
            async with background_tasks(self._beat(begun.execution_id)):
                result = _summary([await self._visit(source, on_result) for source in chosen])
        finally:
            current_trace.reset(trace)
            ended = await self._workflow.release(begun.execution_id, result)
        return ended

    async def _visit(self, source: Source, on_result: Callable[[VisitResult], None]) -> VisitResult:
        try:
            result = await self._collector.collect_source(source.id)
        except (Conflict, NotFound) as why:
            result = VisitResult(source_id=source.id, name=source.name, type=source.type, skipped=str(why))
        on_result(result)
        return result

    async def _beat(self, execution_id: str) -> None:
        while True:
            await asyncio.sleep(self._heartbeat_seconds)
            try:
                await self._workflow.heartbeat(execution_id)
            except StoreError as error:
                # The lock holds for a while yet.
                logger.error("the lock of {} cannot be kept at this moment: {}", execution_id, error)


def _summary(results: Sequence[VisitResult]) -> Result:
    amiss = [f"source {one.source_id}: {why}" for one in results if (why := _amiss(one))]
    return Result(
        status=RunStatus.FAILED if any(one.error for one in results) else RunStatus.COMPLETED,
        error_summary="; ".join(amiss)[:MAX_SUMMARY] or None,
        items_processed=sum(one.inserted for one in results),
        items_failed=sum(one.failed for one in results),
    )


def _amiss(result: VisitResult) -> str | None:
    if result.postponed_until is not None:
        return f"put off until {result.postponed_until:%H:%M} UTC"
    return result.error or result.skipped
