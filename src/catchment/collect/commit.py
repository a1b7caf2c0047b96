"""Commit visits: items, source state, run and log together, for many visits in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection

from catchment.collect.decide import Keyed, Sorted, decide, key_items, sort_items
from catchment.domain.run import RunStatus
from catchment.domain.source import Source
from catchment.domain.visit import Collected, Failed, Postponed, Skipped, SourceState, Visit, VisitResult
from catchment.schedule.due import Cadence
from catchment.store import fetch_log, items, runs, sources
from catchment.store.fetch_log import LogLine
from catchment.store.items import ItemRow

CadenceOf = Callable[[Source], Cadence]
_NOTHING = Sorted(new=(), changed=())


@dataclass(slots=True)
class _Batch:
    """What a group of visits writes, gathered so that each table is written once."""

    new: list[ItemRow] = field(default_factory=list)
    changed: list[ItemRow] = field(default_factory=list)
    states: list[tuple[int, SourceState]] = field(default_factory=list)
    lines: list[LogLine] = field(default_factory=list)


def commit_visits(conn: Connection, visits: Sequence[Visit], cadence_of: CadenceOf, now: datetime) -> list[VisitResult]:
    """Store what these visits brought. A visit whose run was taken over stores nothing and says so."""
    held = _finish_runs(conn, visits, now)
    current = sources.get_for_change(conn, [visit.source.id for visit in visits if visit.run.id in held])
    batch = _Batch()
    results = []
    for visit in visits:
        source = current.get(visit.source.id)
        if source is None or source.is_deleted:
            results.append(_result(visit, _NOTHING, fenced=visit.run.id not in held))
        else:
            results.append(_settle(conn, visit, source, cadence_of(source), now, batch))
    items.insert_new(conn, batch.new, now=now)
    items.update_changed(conn, batch.changed, now=now)
    sources.save_states(conn, batch.states)
    fetch_log.write(conn, batch.lines)
    return results


def _finish_runs(conn: Connection, visits: Sequence[Visit], now: datetime) -> set[int]:
    failed = [visit.run.id for visit in visits if isinstance(visit.ending, Failed)]
    completed = [visit.run.id for visit in visits if not isinstance(visit.ending, Failed)]
    held: set[int] = set()
    for ids, status in ((completed, RunStatus.COMPLETED), (failed, RunStatus.FAILED)):
        if ids:
            held |= runs.finish(conn, ids, status=status, now=now)
    return held


def _settle(
    conn: Connection, visit: Visit, source: Source, cadence: Cadence, now: datetime, batch: _Batch
) -> VisitResult:
    found = _find_news(conn, visit)
    batch.new += [_row(source.id, keyed) for keyed in found.new]
    batch.changed += [_row(source.id, keyed) for keyed in found.changed]
    batch.states.append((source.id, decide(source, visit.ending, cadence, now)))
    result = _result(visit, found)
    if isinstance(visit.ending, Collected | Failed):
        batch.lines.append(_line(visit, result, now))
    return result


def _find_news(conn: Connection, visit: Visit) -> Sorted:
    if not isinstance(visit.ending, Collected) or not visit.ending.fetched.items:
        return _NOTHING
    keyed = key_items(visit.ending.fetched.items)
    return sort_items(keyed, items.remembered(conn, visit.source.id, [one.memory_key for one in keyed]))


def _row(source_id: int, keyed: Keyed) -> ItemRow:
    item = keyed.item
    return ItemRow(
        source_id=source_id,
        dedup_key=keyed.dedup_key,
        memory_key=keyed.memory_key,
        fingerprint=keyed.fingerprint,
        title=item.title,
        url=item.url,
        author=item.author,
        content=item.content,
        published_at=item.published_at,
        metadata=item.metadata,
    )


def _line(visit: Visit, result: VisitResult, now: datetime) -> LogLine:
    return LogLine(
        source_id=visit.source.id,
        started_at=visit.run.started_at,
        finished_at=now,
        ok=result.error is None,
        items=result.fetched,
        inserted=result.inserted,
        error=result.error,
    )


def _result(visit: Visit, found: Sorted, *, fenced: bool = False) -> VisitResult:
    ending = visit.ending
    return VisitResult(
        source_id=visit.source.id,
        name=visit.source.name,
        type=visit.source.type,
        fetched=len(ending.fetched.items) if isinstance(ending, Collected) else 0,
        inserted=len(found.new),
        updated=len(found.changed),
        error=ending.message if isinstance(ending, Failed) else None,
        skipped=ending.reason if isinstance(ending, Skipped) else None,
        postponed_until=ending.until if isinstance(ending, Postponed) else None,
        fenced=fenced,
    )
