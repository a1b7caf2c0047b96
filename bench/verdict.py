"""What a soak comes to: the store held against the truth of the world, as figures and bars. Pure, but for reading."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median, quantiles

from sqlalchemy import Connection, func, select

from bench.bars import Bar
from bench.gauge import MEGABYTE
from bench.story import Truth
from catchment.store import tables

INTERVAL = timedelta(minutes=1)
TICK_SECONDS = 5
#: Visits start at a tick and wait for their turn; later than this is not on time.
ON_TIME_SECONDS = 3 * TICK_SECONDS
#: Caches fill in the first minute; from then on nothing may grow.
MAX_GROWTH = 1.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    second: float
    resident_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    started_at: datetime
    finished_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What the store says of one source."""

    url: str
    #: From a success to the next check.
    wait: timedelta | None
    next_check_at: datetime | None
    visits: Sequence[Visit]
    failures: int
    #: The keys of its items, one for each row.
    keys: Sequence[str]

    def lateness(self) -> list[float]:
        """By how many seconds each visit but the first came after its time."""
        if self.wait is None:
            return []
        pairs = zip(self.visits, self.visits[1:], strict=False)
        return [(after.started_at - before.finished_at - self.wait).total_seconds() for before, after in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    healthy: int
    faulty: int
    visits: int
    items: int
    first_pass_seconds: float
    late_p50: float
    late_p99: float
    late_max: float
    unvisited: int
    failed: int
    overdue: int
    runs_left: int
    missing: int
    unexpected: int
    duplicates: int
    exit_code: int
    errors_logged: int
    megabytes_first: float
    megabytes_last: float


def read_sources(conn: Connection) -> list[Kept]:
    visits, failures = _visits(conn)
    keys = defaultdict(list)
    for source_id, key in conn.execute(select(tables.raw_items.c.source_id, tables.raw_items.c.dedup_key)):
        keys[source_id].append(key)
    columns = tables.sources.c
    rows = conn.execute(select(columns.id, columns.config, columns.last_fetched_at, columns.next_check_at))
    return [
        Kept(
            url=config["url"],
            wait=check - fetched if check and fetched else None,
            next_check_at=check,
            visits=visits[id_],
            failures=failures[id_],
            keys=keys[id_],
        )
        for id_, config, fetched, check in rows
    ]


def _visits(conn: Connection) -> tuple[Mapping[int, list[Visit]], Mapping[int, int]]:
    visits: dict[int, list[Visit]] = defaultdict(list)
    failures: dict[int, int] = defaultdict(int)
    log = tables.fetch_log.c
    for id_, started, finished, ok in conn.execute(
        select(log.source_id, log.started_at, log.finished_at, log.ok).order_by(log.id)
    ):
        visits[id_].append(Visit(started_at=started, finished_at=finished))
        failures[id_] += not ok
    return visits, failures


def count_running(conn: Connection) -> int:
    return conn.execute(select(func.count()).where(tables.runs.c.status == "running")).scalar_one()


def judge(
    kept: Sequence[Kept],
    truth: Truth,
    *,
    started_at: datetime,
    stopped_at: datetime,
    runs_left: int,
    exit_code: int,
    log: str,
    samples: Sequence[Sample],
) -> Outcome:
    well = [one for one in kept if truth.is_healthy(one.url)]
    late = sorted(second for one in well for second in one.lateness()) or [0.0]
    checked = [_held_against_truth(one, truth) for one in well]
    first, last = _memory(samples)
    return Outcome(
        healthy=len(well),
        faulty=len(kept) - len(well),
        visits=sum(len(one.visits) for one in kept),
        items=sum(len(one.keys) for one in kept),
        first_pass_seconds=max((one.visits[0].finished_at - started_at).total_seconds() for one in well if one.visits),
        late_p50=median(late),
        late_p99=quantiles(late, n=100)[98] if len(late) > 1 else late[0],
        late_max=late[-1],
        unvisited=sum(not one.visits for one in well),
        failed=sum(one.failures > 0 for one in well),
        overdue=sum(_is_overdue(one, stopped_at) for one in kept),
        runs_left=runs_left,
        missing=sum(missing for missing, _ in checked),
        unexpected=sum(unexpected for _, unexpected in checked),
        duplicates=sum(len(one.keys) - len(set(one.keys)) for one in kept),
        exit_code=exit_code,
        errors_logged=log.count("| ERROR") + log.count("Traceback"),
        megabytes_first=first,
        megabytes_last=last,
    )


def _held_against_truth(one: Kept, truth: Truth) -> tuple[int, int]:
    """How many posts that were on show during a visit are missing, and how many never were on show."""
    if not one.visits:
        return 0, len(one.keys)
    keys = set(one.keys)
    shown = set().union(*(truth.listed_throughout(one.url, v.started_at, v.finished_at) for v in one.visits))
    possible = truth.listed_ever(one.url, one.visits[0].started_at, one.visits[-1].finished_at)
    return len(shown - keys), len(keys - possible)


def _is_overdue(one: Kept, stopped_at: datetime) -> bool:
    return one.next_check_at is not None and one.next_check_at < stopped_at - timedelta(seconds=ON_TIME_SECONDS)


def _memory(samples: Sequence[Sample]) -> tuple[float, float]:
    """The median of the second minute, or of the first third of a shorter run, and that of the last minute."""
    total = samples[-1].second
    minute = min(60.0, total / 3)
    first = [one.resident_bytes for one in samples if minute <= one.second < 2 * minute]
    last = [one.resident_bytes for one in samples if one.second >= total - minute]
    return median(first) / MEGABYTE, median(last) / MEGABYTE


def bars(outcome: Outcome) -> list[Bar]:
    growth = outcome.megabytes_last / outcome.megabytes_first
    return [
        Bar(name="healthy sources never visited", measured=outcome.unvisited, most=0),
        Bar(name="healthy sources with a failure", measured=outcome.failed, most=0),
        Bar(name="lateness, 99th percentile", measured=outcome.late_p99, most=ON_TIME_SECONDS, unit="s"),
        Bar(name="lateness, worst", measured=outcome.late_max, most=INTERVAL.total_seconds(), unit="s"),
        Bar(name="sources overdue at the end", measured=outcome.overdue, most=0),
        Bar(name="runs left running", measured=outcome.runs_left, most=0),
        Bar(name="posts missing", measured=outcome.missing, most=0),
        Bar(name="items that no feed listed", measured=outcome.unexpected, most=0),
        Bar(name="duplicates", measured=outcome.duplicates, most=0),
        Bar(name="exit code of the collector", measured=abs(outcome.exit_code), most=0),
        Bar(name="errors and tracebacks logged", measured=outcome.errors_logged, most=0),
        Bar(name="memory, last minute against second", measured=growth, most=MAX_GROWTH, unit="×"),
    ]
