"""The workflow, step by step: the one writer of notes, whether we drive it ourselves or somebody else does.

An execution takes the lock of its workflow, reports what a search found, claims records, writes or gives up each of
them, and releases the lock. Every step is one transaction and only works while the execution holds its lock, so that
a late one changes nothing of what its successor did.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crawl import Batch, FetchedDetail, failure_of, mark_failed, store_details
from catchment.domain.candidate import Candidate, CandidateState, Listed
from catchment.domain.crawl_errors import CrawlError
from catchment.domain.execution import (
    MEDIA_CRAWLER,
    Execution,
    RecoveredCounts,
    Result,
    current_trace,
    new_execution_id,
    new_trace_id,
)
from catchment.domain.item import Item
from catchment.domain.note import Action, Crawled, NoteRef, Platform, Written
from catchment.domain.options import read_options
from catchment.domain.run import Run, RunStatus
from catchment.domain.source import Source
from catchment.domain.visit import VisitResult
from catchment.errors import Conflict, LeaseLost, NotFound, StoreError
from catchment.eventloop import background_tasks
from catchment.store import candidates, executions, found_notes, notes, runs, sources
from catchment.store.database import Store

if TYPE_CHECKING:
    from catchment.engine.collector import Collector

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    execution_id: str
    trace_id: str


class ReportCounts(NamedTuple):
    """What was reported: new to us, or known already."""

    added: int
    known: int


class AbandonedRecord(NamedTuple):
    """What became of a record that could not be fetched."""

    state: CandidateState
    retry_count: int


class Workflow:
    def __init__(self, *, store: Store, clock: Clock, lock_timeout: timedelta) -> None:
        self._store = store
        self._clock = clock
        self._lock_timeout = lock_timeout

    async def acquire(self, workflow_name: str) -> Begun | None:
        """Take the lock of a workflow; None when another execution holds it."""
        now = self._clock.now()
        begun = Begun(execution_id=new_execution_id(now), trace_id=new_trace_id(now))
        run = await self._store.write(
            executions.acquire,
            workflow_name,
            begun.execution_id,
            trace_id=begun.trace_id,
            now=now,
            until=now + self._lock_timeout,
        )
        logger.info("workflow {}: {}", workflow_name, f"begun as {begun.execution_id}" if run else "is running already")
        return begun if run else None

    async def heartbeat(self, execution_id: str) -> None:
        now = self._clock.now()
        until = now + self._lock_timeout
        if not await self._store.write(runs.heartbeat, owner=execution_id, now=now, until=until):
            raise _lost(execution_id)

    async def report(self, execution_id: str, source_id: int, found: Sequence[Listed]) -> ReportCounts:
        """Take in what a search found for a source."""
        return await self._fenced(execution_id, _report, source_id, found, now=self._clock.now())

    async def claim(self, execution_id: str, *, limit: int, platform: str | None = None) -> list[Candidate]:
        """Lock records that are pending, those first that have waited longest."""
        return await self._fenced(execution_id, _claim, platform=platform, limit=limit, now=self._clock.now())

    async def write(self, execution_id: str, crawled: Crawled, item: Item) -> Written:
        """Write the note of a record that is locked, once: a second write is skipped, and frees the record as well."""
        return await self._fenced(execution_id, _write, crawled, item, now=self._clock.now())

    async def give_up(
        self, execution_id: str, note_id: str, error: CrawlError, *, platform: Platform | None = None
    ) -> AbandonedRecord:
        """Free a record that could not be fetched: it is tried again by others, until that was often enough. Where it
        was not to blame, such as for want of a cookie, no try is counted.
        """
        return await self._fenced(execution_id, _give_up, note_id, platform, error, now=self._clock.now())

    async def release(self, execution_id: str, result: Result) -> Execution:
        return await self._fenced(execution_id, executions.release, result, now=self._clock.now())

    async def recover(self) -> RecoveredCounts:
        """Free the locks of executions that were not heard of any more, and of the records they had locked."""
        recovered = await self._store.write(executions.recover, now=self._clock.now())
        if recovered.executions:
            logger.warning("{} execution(s) and {} record(s) recovered", recovered.executions, recovered.records)
        return recovered

    async def latest(self, *, workflow_name: str | None, limit: int) -> list[Execution]:
        return await self._store.read(executions.list_latest, workflow_name=workflow_name, limit=limit)

    async def _fenced(
        self,
        execution_id: str,
        change: Callable[Concatenate[Connection, Run, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run `change` in one transaction with the execution's run, or raise LeaseLost."""

        def work(conn: Connection) -> T:
            run = executions.running(conn, execution_id)
            if run is None:
                raise _lost(execution_id)
            return change(conn, run, *args, **kwargs)

        return await self._store.write(work)


def _lost(execution_id: str) -> LeaseLost:
    return LeaseLost(f"The execution {execution_id} does not hold its lock: it ended, or was silent for too long.")


def _report(conn: Connection, _: Run, source_id: int, found: Sequence[Listed], *, now: datetime) -> ReportCounts:
    if sources.get(conn, source_id) is None:
        raise NotFound(f"There is no source {source_id}. `catchment sources list` shows those there are.")
    before = found_notes.count(conn, source_id)
    candidates.record_listed(conn, source_id, found, listing_id=None, now=now)
    added = found_notes.count(conn, source_id) - before
    return ReportCounts(added=added, known=len(found) - added)


def _claim(conn: Connection, run: Run, *, platform: str | None, limit: int, now: datetime) -> list[Candidate]:
    return found_notes.claim(conn, run.id, platform=platform, limit=limit, now=now)


def _write(conn: Connection, run: Run, crawled: Crawled, item: Item, *, now: datetime) -> Written:
    ref = crawled.note.ref
    candidate = found_notes.held_by(conn, run.id, ref.note_id, platform=ref.platform)
    if candidate is None:
        return _written_before(conn, ref)
    source = _source_of(conn, candidate)
    keyword = (candidate.listed.facts or {}).get("source_keyword", "")
    trace_id = crawled.how.get("workflow_trace_id") or run.progress.get("trace_id")
    crawled = replace(crawled, how={**crawled.how, "source_keyword": keyword, "workflow_trace_id": trace_id})
    written = notes.write(conn, crawled, source_id=source.id, now=now)
    kept = read_options(source.config).filters.apply([item]) if written.action is Action.CREATED else []
    store_details(conn, source, Batch(brought=[FetchedDetail(candidate, item)]), kept, now=now)
    return written


def _written_before(conn: Connection, note: NoteRef) -> Written:
    """Of a record that is no longer locked, only what was written of it can still be told."""
    existing = notes.find(conn, note)
    if existing is None:
        raise _not_locked(note.note_id)
    return Written(id=existing, action=Action.SKIPPED)


def _give_up(
    conn: Connection, run: Run, note_id: str, platform: Platform | None, error: CrawlError, *, now: datetime
) -> AbandonedRecord:
    candidate = found_notes.held_by(conn, run.id, note_id, platform=platform)
    if candidate is None:
        raise _not_locked(note_id)
    failure = failure_of(candidate, error)
    mark_failed(conn, [failure], now=now)
    return AbandonedRecord(*failure.verdict())


def _source_of(conn: Connection, candidate: Candidate) -> Source:
    source = sources.get(conn, candidate.source_id)
    assert source is not None, "candidates go with their source"
    return source


def _not_locked(note_id: str) -> Conflict:
    return Conflict(f"The note {note_id} is not locked by this execution: claim it first.")


MAX_SUMMARY = 500


class KeywordCrawl:
    def __init__(self, *, store: Store, workflow: Workflow, collector: Collector, lock_timeout: timedelta) -> None:
        self._store = store
        self._workflow = workflow
        self._collector = collector
        self._heartbeat_seconds = lock_timeout.total_seconds() / 3

    async def keywords(self, *, platform: Platform | None = None, source_id: int | None = None) -> list[Source]:
        """The keyword sources that are active, in the order in which they were added."""
        from catchment.sources.platforms.search import PLATFORM_OF_TYPE

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
            raise NotFound(
                "There is no keyword source to crawl. Add one on the page Platforms, or by "
                "`catchment add 手冲咖啡 --type xhs_search`."
            )
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
