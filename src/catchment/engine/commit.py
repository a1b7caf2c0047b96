"""Commit visits: items, source state, run and log together, for many visits in one transaction."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.confidential import holds_secrets
from catchment.domain.run import RunStatus
from catchment.domain.source import ADDRESS_KEY, Source
from catchment.domain.visit import (
    Collected,
    Ending,
    Failed,
    Fetched,
    Postponed,
    Skipped,
    SourceState,
    Visit,
    VisitOutcome,
    VisitResult,
)
from catchment.engine.decide import (
    NO_NEWS,
    ItemChanges,
    address_to_adopt,
    decide,
    excuse_of,
    held_against,
    in_doubt_since,
)
from catchment.engine.items import UNSTORABLE, FoundItems, store_items, why_unstorable
from catchment.errors import Conflict, StoreError
from catchment.fetch.client import why_distrusted
from catchment.fetch.pacing import host_of
from catchment.parse.html import plain_text
from catchment.schedule.due import Cadence
from catchment.sources.registry import default_name
from catchment.store import fetch_log, hosts, runs, sources
from catchment.store.database import Store
from catchment.store.fetch_log import LogLine

WriteRecords = Callable[[Connection, Sequence[Any], datetime], None]
KeepRecords = Callable[[Connection, Sequence[object], datetime], None]


class RecordWriters:
    def __init__(self, by_type: Mapping[type, WriteRecords]) -> None:
        self._by_type = by_type

    def __call__(self, conn: Connection, records: Sequence[object], now: datetime) -> None:
        """Store the records. One that nobody keeps is as unstorable as a value that no column can hold."""
        grouped: defaultdict[type, list[object]] = defaultdict(list)
        for record in records:
            grouped[type(record)].append(record)
        for kind, some in grouped.items():
            if kind not in self._by_type:
                raise TypeError(f"nobody keeps records of type {kind.__name__}")
            self._by_type[kind](conn, some, now)


keep_no_records = RecordWriters({})


#: Of what a source calls itself.
MAX_TITLE = 100
ADDRESS_CHANGED = "its address was changed while the old one was visited"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What deciding depends on beside the visit itself."""

    cadence_of: Callable[[Source], Cadence]
    #: What makes a source of this type and config the same as another.
    identity_of: Callable[[str, Mapping[str, Any]], str]
    #: Whether sources of this type are explored, by crawls that store items before they are over.
    is_crawled: Callable[[str], bool]
    #: Who stores what a fetcher brought beside items.
    keep_records: KeepRecords = keep_no_records


def commit_visits(conn: Connection, visits: Sequence[Visit], rules: Rules, now: datetime) -> list[VisitResult]:
    """Store what these visits brought, each table written once for all of them.

    A visit whose run was taken over stores nothing and says so.
    """
    held = _finish_runs(conn, visits, now)
    current = sources.get_for_commit(conn, [visit.source for visit in visits if visit.run.id in held])
    results: dict[int, VisitResult] = {}
    counted: list[tuple[Visit, Source]] = []
    for visit in _judged(conn, visits, now):
        source = current.get(visit.source.id) if visit.run.id in held else None
        if source is None or source.is_deleted:
            results[visit.run.id] = _result(visit, NO_NEWS, fenced=visit.run.id not in held)
        elif source.identity != visit.source.identity:
            # What came is of the old address. The new one is due already.
            results[visit.run.id] = _result(replace(visit, ending=Skipped(reason=ADDRESS_CHANGED)), NO_NEWS)
        else:
            counted.append((visit, _named(conn, visit, source, now)))
    if lost := sum(result.fenced for result in results.values()):
        told = "{} visit(s) came too late: others took them over, so that nothing of them is stored here"
        logger.bind(event="visit.lost", visits=lost).warning(told, lost)
    stored = store_items(conn, [_found(visit, source, rules) for visit, source in counted], now=now)
    states = []
    for (visit, source), news in zip(counted, stored, strict=True):
        results[visit.run.id] = _result(visit, news)
        state = decide(source, visit.ending, rules.cadence_of(source), now, news)
        states.append((source, state))
        _log_change(source, state, results[visit.run.id])
        if address := address_to_adopt(source, state):
            _adopt(conn, source, address, rules, now)
    rules.keep_records(conn, [record for visit, _ in counted for record in _records(visit)], now)
    _hold_hosts(conn, visits)
    sources.save_states(conn, states)
    lines = [_line(visit, results[visit.run.id], now) for visit, _ in counted if _is_logged(visit)]
    fetch_log.write(conn, lines)
    return [results[visit.run.id] for visit in visits]


_EXCUSES = {
    VisitOutcome.NETWORK_AWAY: "not counted, as the network is away",
    VisitOutcome.OUR_FAULT: "not counted, as the fault is on our side",
}


def _log_change(source: Source, state: SourceState, result: VisitResult) -> None:
    """What operators filter by: a visit that failed, a source that was paused for it, and one that is back."""
    about = logger.bind(source_id=source.id, type=source.type, failures=state.fetch_error_count)
    if state.last_error is not None and state.last_error != source.last_error:
        failed = about.bind(event="visit.excused" if result.excuse else "visit.failed")
        said = _EXCUSES[result.excuse] if result.excuse else "visit failed"
        failed.info("source {} ({}): {}: {}", source.id, source.name, said, state.last_error.message)
    if source.is_active and not state.is_active:
        paused = about.bind(event="source.paused")
        paused.warning("source {} ({}) is paused: {}", source.id, source.name, state.paused_by)
    elif state.is_active and not source.is_active:
        about.bind(event="source.resumed").info("source {} ({}) works again", source.id, source.name)


def _named(conn: Connection, visit: Visit, source: Source, now: datetime) -> Source:
    """A source that nobody named, called what it calls itself at the first visit that brings something."""
    if source.fetch_count or source.name != default_name(source.type, source.config):
        return source
    title = _title(visit.ending)
    if not title or title == source.name:
        return source
    return replace(source, name=sources.change(conn, source.id, {"name": title}, now=now).name)


def _title(ending: Ending) -> str:
    return plain_text(ending.fetched.title, MAX_TITLE) if isinstance(ending, Collected) else ""


def _adopt(conn: Connection, source: Source, address: str, rules: Rules, now: datetime) -> None:
    """Give a source its new address, unless that is not to be trusted, or somebody has a source there already."""
    own = str(source.config.get(ADDRESS_KEY, ""))
    distrust = why_distrusted(own, address, has_secrets=holds_secrets(source.config))
    if distrust:
        logger.warning(
            "source {} ({}) keeps its address, though it moved to {}: {}", source.id, source.name, address, distrust
        )
        return
    config = {**source.config, ADDRESS_KEY: address}
    identity = sources.identity_hash(source.type, rules.identity_of(source.type, config))
    try:
        sources.change(conn, source.id, {"config": config, "identity": identity, "host": host_of(address)}, now=now)
    except Conflict as conflict:
        logger.warning("source {} ({}) moved to {}: {}", source.id, source.name, address, conflict)
    else:
        logger.info("source {} ({}) moved for good: its address is {} from now on", source.id, source.name, address)


def _hold_hosts(conn: Connection, visits: Sequence[Visit]) -> None:
    """Have hosts left alone that asked for it; always in the same order, as others may do it meanwhile."""
    held = {visit.source.host: visit.host_held_until for visit in visits if visit.host_held_until}
    for host, until in sorted(held.items(), key=str):
        if host:
            hosts.hold(conn, host, until=until)


def _finish_runs(conn: Connection, visits: Sequence[Visit], now: datetime) -> set[int]:
    failed = [visit.run.id for visit in visits if isinstance(visit.ending, Failed)]
    completed = [visit.run.id for visit in visits if not isinstance(visit.ending, Failed)]
    held: set[int] = set()
    for ids, status in ((completed, RunStatus.COMPLETED), (failed, RunStatus.FAILED)):
        if ids:
            held |= runs.finish(conn, ids, status=status, now=now)
    return held


def _records(visit: Visit) -> Sequence[object]:
    return visit.ending.fetched.records if isinstance(visit.ending, Collected) else ()


def _is_logged(visit: Visit) -> bool:
    return isinstance(visit.ending, Collected | Failed)


def _judged(conn: Connection, visits: Sequence[Visit], now: datetime) -> Sequence[Visit]:
    """With those excuses that do not hold taken away."""
    doubts = (in_doubt_since(visit.source, visit.ending, now) for visit in visits)
    since = min((moment for moment in doubts if moment), default=None)
    if since is None:
        return visits
    collected = sources.successes_since(conn, since)
    return [replace(visit, ending=held_against(visit.source, visit.ending, collected, now)) for visit in visits]


def _found(visit: Visit, source: Source, rules: Rules) -> FoundItems:
    fetched = visit.ending.fetched if isinstance(visit.ending, Collected) else Fetched()
    # Items and the count of fetches are stored together, so that where nothing was ever fetched nothing is remembered;
    # but crawls store items on their way.
    may_be_known = bool(source.fetch_count or rules.is_crawled(source.type))
    return FoundItems(source=source, items=fetched.items, may_be_known=may_be_known, is_damaged=fetched.is_damaged)


def _line(visit: Visit, result: VisitResult, now: datetime) -> LogLine:
    return LogLine(
        source_id=visit.source.id,
        started_at=visit.run.started_at,
        finished_at=now,
        ok=result.error is None,
        items=result.fetched,
        inserted=result.inserted,
        error=result.error,
        excuse=result.excuse,
    )


def _result(visit: Visit, found: ItemChanges, *, fenced: bool = False) -> VisitResult:
    ending = visit.ending
    return VisitResult(
        source_id=visit.source.id,
        name=visit.source.name,
        type=visit.source.type,
        fetched=visit.tally.fetched + (len(ending.fetched.items) if isinstance(ending, Collected) else 0),
        inserted=visit.tally.inserted + len(found.new),
        updated=visit.tally.updated + len(found.changed),
        failed=visit.tally.failed + (ending.fetched.left_out if isinstance(ending, Collected) else 0),
        error=ending.message if isinstance(ending, Failed) else None,
        excuse=excuse_of(ending),
        skipped=ending.reason if isinstance(ending, Skipped) else None,
        postponed_until=ending.until if isinstance(ending, Postponed) else None,
        postponed_because=ending.message if isinstance(ending, Postponed) else "",
        postponed_why=ending.why if isinstance(ending, Postponed) else None,
        fenced=fenced,
    )


MAX_AT_ONCE = 200
#: A transaction costs as much as ten visits, so one is not begun for a few while more are on their way.
GATHER_SECONDS = 0.1
RETRY_SECONDS = 1.0

Report = Callable[[VisitResult], None]


class Committer:
    def __init__(self, *, store: Store, rules: Rules, clock: Clock) -> None:
        self._store = store
        self._rules = rules
        self._clock = clock
        # Bounded, so that fetching slows down when the disk cannot keep up.
        self._queue: asyncio.Queue[tuple[Visit, Report]] = asyncio.Queue(2 * MAX_AT_ONCE)
        self._no_more = asyncio.Event()

    async def submit(self, visit: Visit, report: Report) -> None:
        """Hand over a visit; `report` hears of it once it is stored."""
        self._no_more.clear()
        await self._queue.put((visit, report))

    def hurry(self) -> None:
        """No more visits will come for now, so none is waited for until one does."""
        self._no_more.set()

    async def drain(self) -> None:
        """Wait until everything handed over is stored."""
        self.hurry()
        await self._queue.join()

    async def run(self) -> None:
        """Store what is handed over, until cancelled."""
        while True:
            group = [await self._queue.get()]
            if self._queue.qsize() < MAX_AT_ONCE // 2:
                await self._gather()
            while len(group) < MAX_AT_ONCE and not self._queue.empty():
                group.append(self._queue.get_nowait())
            try:
                for (_, report), result in zip(group, await self._store_all([v for v, _ in group]), strict=True):
                    report(result)
            finally:
                for _ in group:
                    self._queue.task_done()

    async def _gather(self) -> None:
        """Let more visits come in, unless it is known that none will."""
        with suppress(TimeoutError):
            async with asyncio.timeout(GATHER_SECONDS):
                await self._no_more.wait()

    async def _store_all(self, visits: list[Visit]) -> list[VisitResult]:
        try:
            return await self._store_together(visits)
        except UNSTORABLE as error:
            # Alone, only the culprit fails.
            logger.warning("a group of {} visits could not be stored, trying one by one: {}", len(visits), error)
            return [await self._store_alone(visit) for visit in visits]

    async def _store_alone(self, visit: Visit) -> VisitResult:
        try:
            return (await self._store_together([visit]))[0]
        except UNSTORABLE as error:
            failed = replace(visit, ending=Failed(message=why_unstorable(error)))
            return (await self._store_together([failed]))[0]

    async def _store_together(self, visits: list[Visit]) -> list[VisitResult]:
        """Keep trying while the store is away: the leases decide whether the result still counts then."""
        while True:
            try:
                return await self._store.write(commit_visits, visits, self._rules, self._clock.now())
            except StoreError as error:
                waiting = logger.bind(event="store.failed", visits=len(visits))
                waiting.error("{} visits wait to be stored: {}", len(visits), error)
                await asyncio.sleep(RETRY_SECONDS)
