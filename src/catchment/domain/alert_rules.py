"""The rules: what deserves an alert, looked for in a snapshot of how everything is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from catchment.domain.alert import AlertRule, Finding, Severity, Terms
from catchment.domain.cookie_pool import Forecast

#: The window in which requests are counted, and how many there must be before their rate means anything.
REQUEST_WINDOW, LEAST_REQUESTS = timedelta(minutes=10), 10
LEAST_SUCCESS = 0.9
MAX_PENDING = 500
#: How far back incidents count, and how many recovered records are nothing special.
INCIDENT_WINDOW, USUAL_RECORDS = timedelta(minutes=15), 5
#: Cookies that last for less than this at the pace of the last hour are about to run dry.
DRY_WITHIN = timedelta(hours=1)
NEAR_CAP = 0.8
#: The store and its log need room to write, whatever share of the disk that is.
LEAST_FREE_SHARE, LEAST_FREE_BYTES = 0.05, 512 * 1024**2
#: A source that waits this long after its time is late.
LATE_AFTER = timedelta(minutes=10)

_MINUTE, _DAY = timedelta(minutes=1), timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCount:
    platform: str
    ok: int
    failed: int

    @property
    def success(self) -> float:
        return self.ok / (self.ok + self.failed)


class SourceTrouble(StrEnum):
    BROKEN = "broken"
    QUIET = "quiet"
    GAP = "gap"


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubledSource:
    id: int
    name: str
    trouble: SourceTrouble
    #: Its last error, or since when.
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    #: `day` or `month`.
    period: str
    pages: int
    cap: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """On the disk of the store."""

    path: str
    free: int
    total: int

    @property
    def is_scarce(self) -> bool:
        return self.free < max(LEAST_FREE_BYTES, min(LEAST_FREE_SHARE * self.total, 10 * LEAST_FREE_BYTES))


@dataclass(frozen=True, slots=True, kw_only=True)
class SilentWebhook:
    id: int
    name: str
    #: Events that were given up since it last took one in.
    given_up: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertSnapshot:
    """Everything that the rules look at."""

    at: datetime
    #: Of platforms that have cookies, or sources that need them.
    cookies: tuple[Forecast, ...] = ()
    requests: tuple[RequestCount, ...] = ()
    pending_notes: int = 0
    #: More of them than this are a backlog.
    most_pending: int = MAX_PENDING
    recovered_executions: int = 0
    recovered_records: int = 0
    #: Notes that could not be asked for at all.
    invalid_notes: int = 0
    sources: tuple[TroubledSource, ...] = ()
    late_sources: int = 0
    #: What the provider of X said, unless something could be read since.
    x_key_refused: str | None = None
    x_no_credit: str | None = None
    x_rate_limited: str | None = None
    #: How the last scheduled scrape ended, if it failed.
    x_scrape_failed: str | None = None
    spending: tuple[Spending, ...] = ()
    room: Room | None = None
    webhooks: tuple[SilentWebhook, ...] = ()


TERMS: Mapping[AlertRule, Terms] = {
    AlertRule.COOKIE_EXHAUSTED: Terms(cool_down=5 * _MINUTE),
    AlertRule.COOKIES_RUNNING_DRY: Terms(lasting=5 * _MINUTE, cool_down=60 * _MINUTE),
    AlertRule.API_SUCCESS_RATE_LOW: Terms(lasting=10 * _MINUTE, cool_down=15 * _MINUTE),
    AlertRule.PROCESSING_BACKLOG: Terms(lasting=30 * _MINUTE, cool_down=60 * _MINUTE),
    AlertRule.LOCK_TIMEOUT_RECOVERED: Terms(cool_down=15 * _MINUTE),
    AlertRule.INVALID_INPUT: Terms(cool_down=60 * _MINUTE),
    AlertRule.SOURCE_BROKEN: Terms(cool_down=_DAY),
    AlertRule.SOURCE_QUIET: Terms(cool_down=7 * _DAY),
    AlertRule.SOURCE_GAP: Terms(cool_down=_DAY),
    AlertRule.X_KEY_REFUSED: Terms(cool_down=60 * _MINUTE),
    AlertRule.X_NO_CREDIT: Terms(cool_down=60 * _MINUTE),
    AlertRule.X_RATE_LIMITED: Terms(cool_down=60 * _MINUTE),
    AlertRule.X_SCRAPE_FAILED: Terms(cool_down=60 * _MINUTE),
    AlertRule.SPENDING_NEAR_CAP: Terms(cool_down=_DAY),
    AlertRule.DISK_NEARLY_FULL: Terms(lasting=2 * _MINUTE, cool_down=60 * _MINUTE),
    AlertRule.COLLECTOR_LATE: Terms(lasting=10 * _MINUTE, cool_down=60 * _MINUTE),
    AlertRule.WEBHOOK_GIVEN_UP: Terms(cool_down=_DAY),
}


def look(snapshot: AlertSnapshot) -> list[Finding]:
    return [finding for rule in _RULES for finding in rule(snapshot)]


def _cookies_exhausted(seen: AlertSnapshot) -> Iterator[Finding]:
    for pool in seen.cookies:
        if pool.available < 1:
            message = f"None of {pool.total} cookie(s) of {pool.platform} can be used. {pool.sentence}"
            yield _finding(AlertRule.COOKIE_EXHAUSTED, pool.platform, Severity.P0, message)


def _cookies_running_dry(seen: AlertSnapshot) -> Iterator[Finding]:
    for pool in seen.cookies:
        is_soon = pool.dry_at is not None and pool.dry_at - seen.at < DRY_WITHIN
        if is_soon and pool.per_hour >= LEAST_REQUESTS:
            yield _finding(AlertRule.COOKIES_RUNNING_DRY, pool.platform, Severity.P2, pool.sentence)


def _success_low(seen: AlertSnapshot) -> Iterator[Finding]:
    for count in seen.requests:
        asked = count.ok + count.failed
        if asked >= LEAST_REQUESTS and count.success < LEAST_SUCCESS:
            message = f"Of {asked} requests to {count.platform} in the last 10 minutes {count.success:.0%} succeeded."
            yield _finding(AlertRule.API_SUCCESS_RATE_LOW, count.platform, Severity.P1, message)


def _backlog(seen: AlertSnapshot) -> Iterator[Finding]:
    if seen.pending_notes > seen.most_pending:
        message = f"{seen.pending_notes} notes that were found wait to be collected."
        yield _finding(AlertRule.PROCESSING_BACKLOG, "notes", Severity.P2, message)


def _recovered(seen: AlertSnapshot) -> Iterator[Finding]:
    if seen.recovered_executions > 0:
        message = f"{seen.recovered_executions} execution(s) of workflows stopped without a word and were ended."
        yield _finding(AlertRule.LOCK_TIMEOUT_RECOVERED, "executions", Severity.P1, message)
    if seen.recovered_records > USUAL_RECORDS:
        message = f"{seen.recovered_records} notes were held by executions that stopped, and are free again."
        yield _finding(AlertRule.LOCK_TIMEOUT_RECOVERED, "records", Severity.P2, message)


def _invalid_notes(seen: AlertSnapshot) -> Iterator[Finding]:
    if seen.invalid_notes:
        message = f"{seen.invalid_notes} note(s) were skipped: what is known of them is not enough to ask for them."
        yield _finding(AlertRule.INVALID_INPUT, "notes", Severity.P3, message)


_TROUBLES: Mapping[SourceTrouble, tuple[AlertRule, Severity, str]] = {
    SourceTrouble.BROKEN: (AlertRule.SOURCE_BROKEN, Severity.P2, "{name} is paused by errors: {detail}"),
    SourceTrouble.QUIET: (AlertRule.SOURCE_QUIET, Severity.P3, "{name} brings nothing new any more, {detail}."),
    SourceTrouble.GAP: (AlertRule.SOURCE_GAP, Severity.P3, "Items of {name} were missed between two visits, {detail}."),
}


def _sources(seen: AlertSnapshot) -> Iterator[Finding]:
    for source in seen.sources:
        rule, severity, message = _TROUBLES[source.trouble]
        yield _finding(rule, str(source.id), severity, message.format(name=source.name, detail=source.detail))


def _collector_late(seen: AlertSnapshot) -> Iterator[Finding]:
    if seen.late_sources:
        minutes = LATE_AFTER // _MINUTE
        message = f"{seen.late_sources} source(s) should have been looked at more than {minutes} minutes ago."
        yield _finding(AlertRule.COLLECTOR_LATE, "collector", Severity.P1, message)


def _x(seen: AlertSnapshot) -> Iterator[Finding]:
    said = {
        AlertRule.X_KEY_REFUSED: (Severity.P1, seen.x_key_refused),
        AlertRule.X_NO_CREDIT: (Severity.P1, seen.x_no_credit),
        AlertRule.X_RATE_LIMITED: (Severity.P2, seen.x_rate_limited),
        AlertRule.X_SCRAPE_FAILED: (Severity.P2, seen.x_scrape_failed),
    }
    for rule, (severity, message) in said.items():
        if message is not None:
            yield _finding(rule, "x", severity, message)


def _spending(seen: AlertSnapshot) -> Iterator[Finding]:
    for one in seen.spending:
        if one.cap and one.pages >= NEAR_CAP * one.cap:
            message = f"{one.pages} of {one.cap} pages of X are spent this {one.period}."
            yield _finding(AlertRule.SPENDING_NEAR_CAP, one.period, Severity.P2, message)


def _disk(seen: AlertSnapshot) -> Iterator[Finding]:
    if seen.room is not None and seen.room.is_scarce:
        message = f"{seen.room.path} has {seen.room.free // 1024**2} MB left."
        yield _finding(AlertRule.DISK_NEARLY_FULL, "disk", Severity.P1, message)


def _webhooks(seen: AlertSnapshot) -> Iterator[Finding]:
    for hook in seen.webhooks:
        message = f"{hook.given_up} event(s) to the webhook {hook.name} were given up."
        yield _finding(AlertRule.WEBHOOK_GIVEN_UP, str(hook.id), Severity.P2, message)


def _finding(rule: AlertRule, subject: str, severity: Severity, message: str) -> Finding:
    return Finding(rule=rule, subject=subject, severity=severity, message=message)


_RULES: tuple[Callable[[AlertSnapshot], Iterable[Finding]], ...] = (
    _cookies_exhausted,
    _cookies_running_dry,
    _success_low,
    _backlog,
    _recovered,
    _invalid_notes,
    _sources,
    _collector_late,
    _x,
    _spending,
    _disk,
    _webhooks,
)
