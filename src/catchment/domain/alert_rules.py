"""The rules: what deserves an alert, looked for in a snapshot of how everything is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum, unique
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
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

NO_TIME, _MINUTE, _DAY = timedelta(0), timedelta(minutes=1), timedelta(days=1)


class Severity(StrEnum):
    """P0 is for now, P1 for soon, P2 for today, P3 for when there is time."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How long it must last before it fires, and how long nothing more is said of it after that."""

    lasting: timedelta = NO_TIME
    cool_down: timedelta


class AlertRule(StrEnum):
    """What it is called on pages in English and Chinese, and its terms. How it is found is said by `look`."""

    english: str
    chinese: str
    terms: Terms

    def __new__(cls, name: str, english: str, chinese: str, terms: Terms) -> Self:
        rule = str.__new__(cls, name)
        rule._value_, rule.english, rule.chinese, rule.terms = name, english, chinese, terms
        return rule

    COOKIE_EXHAUSTED = "COOKIE_EXHAUSTED", "Cookies used up", "Cookie 耗尽", Terms(cool_down=5 * _MINUTE)
    COOKIES_RUNNING_DRY = (
        "COOKIES_RUNNING_DRY",
        "Cookies running dry",
        "Cookie 即将用尽",
        Terms(lasting=5 * _MINUTE, cool_down=60 * _MINUTE),
    )
    API_SUCCESS_RATE_LOW = (
        "API_SUCCESS_RATE_LOW",
        "Requests fail too often",
        "成功率低",
        Terms(lasting=10 * _MINUTE, cool_down=15 * _MINUTE),
    )
    PROCESSING_BACKLOG = (
        "PROCESSING_BACKLOG",
        "Notes pile up",
        "处理积压",
        Terms(lasting=30 * _MINUTE, cool_down=60 * _MINUTE),
    )
    LOCK_TIMEOUT_RECOVERED = "LOCK_TIMEOUT_RECOVERED", "Locks recovered", "锁超时已回收", Terms(cool_down=15 * _MINUTE)
    INVALID_INPUT = "INVALID_INPUT", "Notes skipped", "笔记已跳过", Terms(cool_down=60 * _MINUTE)
    SOURCE_BROKEN = "SOURCE_BROKEN", "Source broken", "信息源故障", Terms(cool_down=_DAY)
    SOURCE_QUIET = "SOURCE_QUIET", "Source gone quiet", "信息源久无更新", Terms(cool_down=7 * _DAY)
    SOURCE_GAP = "SOURCE_GAP", "Items missed", "有内容漏采", Terms(cool_down=_DAY)
    X_KEY_REFUSED = "X_KEY_REFUSED", "X refuses the key", "X 拒绝密钥", Terms(cool_down=60 * _MINUTE)
    X_NO_CREDIT = "X_NO_CREDIT", "No credit left for X", "X 余额不足", Terms(cool_down=60 * _MINUTE)
    X_RATE_LIMITED = "X_RATE_LIMITED", "X asks for fewer requests", "X 请求过于频繁", Terms(cool_down=60 * _MINUTE)
    X_SCRAPE_FAILED = "X_SCRAPE_FAILED", "Scheduled scrape failed", "定时抓取失败", Terms(cool_down=60 * _MINUTE)
    SPENDING_NEAR_CAP = "SPENDING_NEAR_CAP", "Spending near its cap", "用量接近上限", Terms(cool_down=_DAY)
    DISK_NEARLY_FULL = (
        "DISK_NEARLY_FULL",
        "Disk nearly full",
        "磁盘空间不足",
        Terms(lasting=2 * _MINUTE, cool_down=60 * _MINUTE),
    )
    COLLECTOR_LATE = "COLLECTOR_LATE", "Collector late", "采集延迟", Terms(lasting=10 * _MINUTE, cool_down=60 * _MINUTE)
    WEBHOOK_GIVEN_UP = "WEBHOOK_GIVEN_UP", "Webhook given up", "Webhook 投递已放弃", Terms(cool_down=_DAY)

    @property
    def runbook(self) -> str:
        """Where it says what to do."""
        return f"docs/runbooks/{self.lower().replace('_', '-')}.md"

    @property
    def is_about_source(self) -> bool:
        """Whether its subject is the id of a source: who may not see the source may not see it. Its name says so."""
        return self.startswith("SOURCE_")


class AlertMessage(Enum):
    """What alerts say, in English and Chinese; in braces stands what varies."""

    english: str
    chinese: str

    def __init__(self, english: str, chinese: str) -> None:
        self.english, self.chinese = english, chinese

    NO_COOKIES = (
        "None of {total} cookie(s) of {platform} can be used. {sentence}",
        "{platform} 的 {total} 个 Cookie 均不可用。{sentence}",
    )
    SUCCESS_LOW = (
        "Of {asked} requests to {platform} in the last 10 minutes {share} succeeded.",
        "最近 10 分钟对 {platform} 的 {asked} 次请求成功率为 {share}",
    )
    BACKLOG = "{count} notes that were found wait to be collected.", "{count} 条已发现的笔记等待采集"
    EXECUTIONS_ENDED = (
        "{count} execution(s) of workflows stopped without a word and were ended.",
        "{count} 个工作流执行无响应，已结束",
    )
    RECORDS_FREED = (
        "{count} notes were held by executions that stopped, and are free again.",
        "{count} 条被停止的执行占用的笔记已释放",
    )
    NOTES_SKIPPED = (
        "{count} note(s) were skipped: what is known of them is not enough to ask for them.",
        "{count} 条笔记因信息不足已跳过",
    )
    PAUSED_BY_ERRORS = "{name} is paused by errors: {detail}", "{name} 因错误暂停：{detail}"
    NOT_VISITED = "{name} is not visited any more: {detail}", "{name} 不再抓取：{detail}"
    NOTHING_NEW = (
        "{name} brings nothing new any more, though something was to be expected by {detail}.",
        "{name} 不再有新内容：按以往规律，{detail} 之前应有更新",
    )
    ITEMS_MISSED = (
        "Items of {name} were missed between two visits, as was seen at {detail}.",
        "{name} 在两次访问之间有内容漏采，发现于 {detail}",
    )
    LATE = (
        "{count} source(s) should have been looked at more than {minutes} minutes ago.",
        "{count} 个信息源已超过应检查时间 {minutes} 分钟",
    )
    SPENT_THIS_DAY = "{pages} of {cap} pages of X are spent this day.", "X 今日已用 {pages} 页，上限 {cap} 页"
    SPENT_THIS_MONTH = "{pages} of {cap} pages of X are spent this month.", "X 本月已用 {pages} 页，上限 {cap} 页"
    LITTLE_ROOM = "{path} has {free} MB left.", "{path} 剩余 {free} MB"
    GIVEN_UP = "{count} event(s) to the webhook {name} were given up.", "发往 Webhook {name} 的 {count} 个事件已放弃"
    #: Of services that say it in their own words, and of what says it in a sentence of its own.
    SAID = "{said}", "{said}"


TERMS: Mapping[AlertRule, Terms] = {rule: rule.terms for rule in AlertRule}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    rule: AlertRule
    #: What it is about: a platform, a source's id.
    subject: str
    severity: Severity
    message: str

    @property
    def key(self) -> Key:
        return self.rule, self.subject


Key = tuple[AlertRule, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestCount:
    platform: str
    ok: int
    failed: int

    @property
    def success(self) -> float:
        return self.ok / (self.ok + self.failed)


@unique
class SourceTrouble(Enum):
    """What may be amiss with a source: which rule it is, how grave, and what is said of it."""

    rule: AlertRule
    severity: Severity
    message: AlertMessage

    def __init__(self, rule: AlertRule, severity: Severity, message: AlertMessage) -> None:
        self.rule, self.severity, self.message = rule, severity, message

    BROKEN = AlertRule.SOURCE_BROKEN, Severity.P2, AlertMessage.PAUSED_BY_ERRORS
    GONE = AlertRule.SOURCE_BROKEN, Severity.P2, AlertMessage.NOT_VISITED
    QUIET = AlertRule.SOURCE_QUIET, Severity.P3, AlertMessage.NOTHING_NEW
    GAP = AlertRule.SOURCE_GAP, Severity.P3, AlertMessage.ITEMS_MISSED


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


def look(snapshot: AlertSnapshot) -> list[Finding]:
    return [finding for rule in _RULES for finding in rule(snapshot)]


def _cookies_exhausted(seen: AlertSnapshot) -> Iterator[Finding]:
    for pool in seen.cookies:
        if pool.available < 1:
            said = {"total": pool.total, "platform": pool.platform, "sentence": pool.sentence}
            yield _finding(AlertRule.COOKIE_EXHAUSTED, pool.platform, Severity.P0, AlertMessage.NO_COOKIES, **said)


def _cookies_running_dry(seen: AlertSnapshot) -> Iterator[Finding]:
    for pool in seen.cookies:
        is_soon = pool.dry_at is not None and pool.dry_at - seen.at < DRY_WITHIN
        if is_soon and pool.per_hour >= LEAST_REQUESTS:
            rule = AlertRule.COOKIES_RUNNING_DRY
            yield _finding(rule, pool.platform, Severity.P2, AlertMessage.SAID, said=pool.sentence)


def _success_low(seen: AlertSnapshot) -> Iterator[Finding]:
    for count in seen.requests:
        asked = count.ok + count.failed
        if asked >= LEAST_REQUESTS and count.success < LEAST_SUCCESS:
            said = {"asked": asked, "platform": count.platform, "share": f"{count.success:.0%}"}
            rule = AlertRule.API_SUCCESS_RATE_LOW
            yield _finding(rule, count.platform, Severity.P1, AlertMessage.SUCCESS_LOW, **said)


def _backlog(seen: AlertSnapshot) -> Iterator[Finding]:
    if seen.pending_notes > seen.most_pending:
        rule = AlertRule.PROCESSING_BACKLOG
        yield _finding(rule, "notes", Severity.P2, AlertMessage.BACKLOG, count=seen.pending_notes)


def _recovered(seen: AlertSnapshot) -> Iterator[Finding]:
    rule = AlertRule.LOCK_TIMEOUT_RECOVERED
    if count := seen.recovered_executions:
        yield _finding(rule, "executions", Severity.P1, AlertMessage.EXECUTIONS_ENDED, count=count)
    if (count := seen.recovered_records) > USUAL_RECORDS:
        yield _finding(rule, "records", Severity.P2, AlertMessage.RECORDS_FREED, count=count)


def _invalid_notes(seen: AlertSnapshot) -> Iterator[Finding]:
    if count := seen.invalid_notes:
        yield _finding(AlertRule.INVALID_INPUT, "notes", Severity.P3, AlertMessage.NOTES_SKIPPED, count=count)


def _sources(seen: AlertSnapshot) -> Iterator[Finding]:
    for source in seen.sources:
        told, said = source.trouble, {"name": source.name, "detail": source.detail}
        yield _finding(told.rule, str(source.id), told.severity, told.message, **said)


def _collector_late(seen: AlertSnapshot) -> Iterator[Finding]:
    if count := seen.late_sources:
        said = {"count": count, "minutes": LATE_AFTER // _MINUTE}
        yield _finding(AlertRule.COLLECTOR_LATE, "collector", Severity.P1, AlertMessage.LATE, **said)


def _x(seen: AlertSnapshot) -> Iterator[Finding]:
    found = {
        AlertRule.X_KEY_REFUSED: (Severity.P1, seen.x_key_refused),
        AlertRule.X_NO_CREDIT: (Severity.P1, seen.x_no_credit),
        AlertRule.X_RATE_LIMITED: (Severity.P2, seen.x_rate_limited),
        AlertRule.X_SCRAPE_FAILED: (Severity.P2, seen.x_scrape_failed),
    }
    for rule, (severity, said) in found.items():
        if said is not None:
            yield _finding(rule, "x", severity, AlertMessage.SAID, said=said)


def _spending(seen: AlertSnapshot) -> Iterator[Finding]:
    for one in seen.spending:
        if one.cap and one.pages >= NEAR_CAP * one.cap:
            message = AlertMessage.SPENT_THIS_DAY if one.period == "day" else AlertMessage.SPENT_THIS_MONTH
            said = {"pages": one.pages, "cap": one.cap}
            yield _finding(AlertRule.SPENDING_NEAR_CAP, one.period, Severity.P2, message, **said)


def _disk(seen: AlertSnapshot) -> Iterator[Finding]:
    if seen.room is not None and seen.room.is_scarce:
        said = {"path": seen.room.path, "free": seen.room.free // 1024**2}
        yield _finding(AlertRule.DISK_NEARLY_FULL, "disk", Severity.P1, AlertMessage.LITTLE_ROOM, **said)


def _webhooks(seen: AlertSnapshot) -> Iterator[Finding]:
    for hook in seen.webhooks:
        said = {"count": hook.given_up, "name": hook.name}
        yield _finding(AlertRule.WEBHOOK_GIVEN_UP, str(hook.id), Severity.P2, AlertMessage.GIVEN_UP, **said)


def _finding(rule: AlertRule, subject: str, severity: Severity, message: AlertMessage, **said: object) -> Finding:
    return Finding(rule=rule, subject=subject, severity=severity, message=message.english.format(**said))


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
