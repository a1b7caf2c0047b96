"""How everything is: one snapshot, for the API, the dashboard and the command line alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy import Connection

from catchment.domain.alert import Alert
from catchment.domain.caller import Caller
from catchment.domain.candidate import Backlog
from catchment.domain.options import VERIFY_TLS_KEY
from catchment.domain.run import Run, RunKind
from catchment.domain.source import LastError, PausedBy, Source, SourceStatus
from catchment.monitor.alerting import list_alerts
from catchment.monitor.reason import Language, next_check_reason
from catchment.processes import is_gone
from catchment.redact import redact_url
from catchment.schedule.due import next_fetch_at
from catchment.schedule.intervals import Intervals
from catchment.sources.base import Registry
from catchment.sources.website import CHANGES, NOISY_AFTER
from catchment.store import alerts, candidates, fetch_log, items, overview, runs, sources
from catchment.store.alerts import Incident
from catchment.store.database import Store
from catchment.store.writability import WriteTrouble

HOUR, DAY = timedelta(hours=1), timedelta(hours=24)
#: So many pages that were not collected are shown of one source; the rest is counted.
MAX_PAGES = 20


class Mark(StrEnum):
    """Something about a source that a person should know although it works."""

    #: Items were missed between the last two visits.
    GAP = "gap"
    #: It has been silent for longer than it ever is.
    QUIET = "quiet"
    #: It is somewhere else for good, says its old address, and was not given the new one.
    MOVED = "moved"
    #: Nobody checks that it is who it says it is.
    UNVERIFIED_TLS = "unverified_tls"
    #: Its page changes at every visit, which is told of once a day.
    NOISY = "noisy"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceHealth:
    """One source without its config, which may hold secrets."""

    id: int
    name: str
    type: str
    status: SourceStatus
    is_active: bool
    paused_by: PausedBy | None
    interval_minutes: int
    last_fetched_at: datetime | None
    #: The documented formula: last fetch plus interval.
    next_fetch_at: datetime | None
    #: When it will really be looked at, and why then.
    next_check_at: datetime | None
    next_check_reason: str
    fetch_count: int
    fetch_error_count: int
    last_error: LastError | None
    marks: tuple[Mark, ...]
    gap_at: datetime | None
    quiet_since: datetime | None
    #: Pages that it listed and that were not collected; None for a type that lists none, and for strangers.
    pages: Backlog | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    total_sources: int
    active_sources: int
    paused_sources: int
    paused_by_error: int
    gone_sources: int
    failing_sources: int
    fetches_24h: int
    errors_24h: int
    #: The two names of one figure.
    raw_items_24h: int
    items_24h: int
    #: Between 0 and 1; None when nothing was fetched.
    success_rate_24h: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorState:
    """How collecting goes, whichever process does it."""

    running: bool
    last_tick_at: datetime | None
    next_tick_at: datetime | None
    #: Sources that are due and wait.
    queue: int
    in_flight: int
    #: Nothing outside could be reached of late: no source is to blame.
    network_away: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    writable: bool
    #: What keeps it from being written.
    trouble: WriteTrouble | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSnapshot:
    at: datetime
    store: StoreState
    sources: tuple[SourceHealth, ...]
    stats: Stats
    collector: CollectorState
    #: Those that fire.
    alerts: tuple[Alert, ...]
    #: Those that ended of late, the last one first.
    resolved: tuple[Alert, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What is looked at: by whom, in which language, and how many sources at most (None for all)."""

    caller: Caller
    language: Language = Language.ENGLISH
    most: int | None = None


async def snapshot(
    *, store: Store, registry: Registry, intervals: Intervals, view: View, now: datetime
) -> StatusSnapshot:
    trouble = await store.checked.trouble(now)
    found, stats, collector, shown = await store.read(_gather, view, now=now)
    pages = await store.read(read_backlogs, found, registry=registry)
    return StatusSnapshot(
        at=now,
        store=StoreState(writable=trouble is None, trouble=trouble),
        sources=tuple(
            replace(
                describe(source, registry=registry, intervals=intervals, view=view, now=now), pages=pages.get(source.id)
            )
            for source in found
        ),
        stats=stats,
        collector=collector,
        alerts=tuple(alert for alert in shown if alert.is_open),
        resolved=tuple(alert for alert in shown if not alert.is_open),
    )


def describe(source: Source, *, registry: Registry, intervals: Intervals, view: View, now: datetime) -> SourceHealth:
    interval, has_fetcher = intervals.of(source), source.type in registry
    return SourceHealth(
        id=source.id,
        name=source.name,
        type=source.type,
        status=source.status(has_fetcher=has_fetcher),
        is_active=source.is_active,
        paused_by=source.paused_by,
        interval_minutes=round(interval.total_seconds() / 60),
        last_fetched_at=source.last_fetched_at,
        next_fetch_at=next_fetch_at(source, interval),
        next_check_at=source.next_check.at,
        next_check_reason=next_check_reason(source, interval, view.language, has_fetcher=has_fetcher),
        fetch_count=source.fetch_count,
        fetch_error_count=source.fetch_error_count,
        # An error may tell of our own network, which is nothing for strangers, and no error of the source.
        last_error=source.last_error if view.caller.is_known and not source.is_excused else None,
        marks=_marks(source, now),
        gap_at=source.rhythm.gap_at,
        quiet_since=source.rhythm.last_new_at if source.is_quiet(now) else None,
    )


def read_backlogs(conn: Connection, found: Sequence[Source], *, registry: Registry) -> dict[int, Backlog]:
    """Of those sources that list pages: what was not collected, with addresses that anybody may see."""
    ids = [source.id for source in found if registry.crawling_type(source.type) is not None]
    return {source_id: _shown(backlog) for source_id, backlog in candidates.backlogs(conn, ids, most=MAX_PAGES).items()}


def _shown(backlog: Backlog) -> Backlog:
    return replace(backlog, listed=tuple(replace(one, url=redact_url(one.url)) for one in backlog.listed))


def _marks(source: Source, now: datetime) -> tuple[Mark, ...]:
    holds = {
        Mark.GAP: source.rhythm.gap_at is not None,
        Mark.QUIET: source.is_quiet(now),
        Mark.MOVED: source.is_elsewhere,
        Mark.UNVERIFIED_TLS: source.config.get(VERIFY_TLS_KEY) is False,
        Mark.NOISY: source.memory.get(CHANGES, 0) >= NOISY_AFTER,
    }
    return tuple(mark for mark, is_so in holds.items() if is_so)


def read_stats(conn: Connection, caller: Caller, *, now: datetime) -> Stats:
    user, sees_all = caller.user_id, caller.sees_all
    counts = overview.count_sources(conn, user, all_sources=sees_all)
    stored = items.count_since(conn, now - DAY, user, all_sources=sees_all)
    visits = fetch_log.count_since(conn, now - DAY, user, all_sources=sees_all)
    return Stats(
        total_sources=counts.total,
        active_sources=counts.active,
        paused_sources=counts.paused,
        paused_by_error=counts.paused_by_error,
        gone_sources=counts.gone,
        failing_sources=counts.failing,
        fetches_24h=visits.fetches,
        errors_24h=visits.errors,
        raw_items_24h=stored,
        items_24h=stored,
        success_rate_24h=visits.success_rate,
    )


def read_collector(conn: Connection, *, now: datetime) -> CollectorState:
    running = runs.list_running(conn, RunKind.COLLECTOR)
    alive = [run for run in running if run.lease_until > now and not is_gone(run.owner)]
    claims = {owner: count for owner, count in overview.claimed_by_owner(conn, now=now).items() if not is_gone(owner)}
    in_flight = count_in_flight(claims, {run.owner: run.progress.get("in_flight") for run in alive})
    return CollectorState(
        running=bool(alive),
        last_tick_at=max(_moments(alive, "last_tick_at"), default=None),
        next_tick_at=min(_moments(alive, "next_tick_at"), default=None),
        queue=overview.count_due(conn, now=now) + sum(claims.values()) - in_flight,
        in_flight=in_flight,
        network_away=overview.is_network_away(conn),
    )


def read_clock_jump(conn: Connection, *, now: datetime) -> str | None:
    """What is told of the clock, for an hour after it jumped."""
    last = alerts.last_incident(conn, Incident.CLOCK_JUMPED)
    return last[1] if last is not None and now - HOUR <= last[0] else None


def count_in_flight(claims: Mapping[str, int], reported: Mapping[str, int | None]) -> int:
    """Of what each process has claimed, what it says it visits; all of it where it says nothing."""
    said = {owner: reported.get(owner) for owner in claims}
    return sum(
        claims[owner] if under_way is None else min(claims[owner], under_way) for owner, under_way in said.items()
    )


def _gather(conn: Connection, view: View, *, now: datetime) -> tuple[list[Source], Stats, CollectorState, list[Alert]]:
    """Everything in one transaction, so that the parts fit each other."""
    user, sees_all = view.caller.user_id, view.caller.sees_all
    if view.most is None:
        found = sources.list_visible(conn, user, all_sources=sees_all)
    else:
        found = overview.list_by_attention(conn, user, all_sources=sees_all, limit=view.most)
    shown = list_alerts(conn, view.caller, now=now)
    return found, read_stats(conn, view.caller, now=now), read_collector(conn, now=now), shown


def _moments(collectors: list[Run], name: str) -> list[datetime]:
    said: list[Mapping[str, str]] = [run.progress for run in collectors]
    return [datetime.fromisoformat(progress[name]) for progress in said if name in progress]
