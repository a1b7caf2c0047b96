"""How everything is: one snapshot, for the API, the dashboard and the command line alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection

from catchment.domain.alert import Alert
from catchment.domain.caller import Caller
from catchment.domain.candidate import Backlog
from catchment.domain.confidential import masked
from catchment.domain.host import is_at_home, shows_the_way
from catchment.domain.options import VERIFY_TLS_KEY
from catchment.domain.run import Run, RunKind
from catchment.domain.source import ADDRESS_KEY, CHANGES, NOISY_AFTER, LastError, PausedBy, Source, SourceStatus, Why
from catchment.domain.visit import network_is_down
from catchment.processes import is_gone
from catchment.redact import redact_url
from catchment.schedule.due import next_fetch_at
from catchment.schedule.intervals import Intervals
from catchment.sources.registry import Registry
from catchment.store import candidates, fetch_log, incidents, overview, runs, sources, subscriptions, users
from catchment.store.database import Store, WriteTrouble
from catchment.store.incidents import Incident

HOUR_MINUTES = 60
#: Below this a count of minutes reads better than hours.
LEAST_IN_HOURS = 120
#: Above this nobody counts minutes.
MAX_IN_MINUTES = 600


#: As in "3 item(s)" or "3 new item(s)".
_COUNTED = re.compile(r"\b(\d[\d,]*)((?: \w+)?) (\w+)\(s\)")


class Language(StrEnum):
    ENGLISH = "en"
    CHINESE = "zh"


def as_counted(sentence: str) -> str:
    """An English sentence with its counts as people say them: one item, three items."""
    return _COUNTED.sub(lambda found: f"{found[1]}{found[2]} {found[3]}{'' if found[1] == '1' else 's'}", sentence)


#: When a source is looked at that is due.
AT_ONCE: Mapping[Language, str] = {
    Language.ENGLISH: "as soon as the collector looks",
    Language.CHINESE: "采集器下次巡视时立即抓取",
}
_SENTENCES: Mapping[Language, Mapping[Why, str]] = {
    Language.ENGLISH: {
        Why.NEW: AT_ONCE[Language.ENGLISH],
        Why.INTERVAL: "{interval}",
        Why.ADAPTED: "adapted to its rhythm: something new about {spacing}",
        Why.GAP: "sooner than {interval}, since items were missed",
        Why.SERVER_CACHE: "the server says nothing new before {at}",
        Why.RETRY_AFTER: "the server asked to wait until {at}",
        Why.BACK_OFF: "waits after {failures}",
        Why.OFFLINE: "the network is away; tried again soon",
        Why.OUR_FAULT: "a fault on our side kept it from being fetched; tried again soon",
        Why.HOST_BUDGET: "waits for its turn at {host} until {at}",
        Why.HOST_WAIT: "waits for {host} until {at}, as the host asked",
        Why.NO_COOKIE: (
            "no cookie of its platform can be used: add one on the page Platforms or by `catchment cookies add`, "
            "sealed by COOKIE_MASTER_KEY; looked at again at {at}"
        ),
        Why.PROBE: "paused by errors; probed again",
        Why.NO_FETCHER: "nothing here can fetch the type {type}",
    },
    Language.CHINESE: {
        Why.NEW: AT_ONCE[Language.CHINESE],
        Why.INTERVAL: "{interval}",
        Why.ADAPTED: "按其更新节奏调整：大约{spacing}有新内容",
        Why.GAP: "曾有内容漏采，比{interval}更早",
        Why.SERVER_CACHE: "服务器表示 {at} 之前不会更新",
        Why.RETRY_AFTER: "服务器要求等到 {at}",
        Why.BACK_OFF: "连续失败 {failures}，稍后重试",
        Why.OFFLINE: "网络不通，稍后重试",
        Why.OUR_FAULT: "本机故障，未能抓取，稍后重试",
        Why.HOST_BUDGET: "等待主机 {host} 的请求配额，{at} 轮到它",
        Why.HOST_WAIT: "应主机 {host} 的要求等到 {at}",
        Why.NO_COOKIE: (
            "没有可用的 Cookie：请在“平台”页或用 `catchment cookies add` 添加（由 COOKIE_MASTER_KEY 加密），{at} 再看"
        ),
        Why.PROBE: "因错误暂停，届时再次探测",
        Why.NO_FETCHER: "没有可抓取 {type} 类型的插件",
    },
}
_NO_KEY: Mapping[Language, str] = {
    Language.ENGLISH: "it needs a key: set {key}",
    Language.CHINESE: "需要密钥：请设置 {key}",
}
_UNNAMED_HOST: Mapping[Language, str] = {Language.ENGLISH: "its host", Language.CHINESE: "所在站点"}
_PAUSED: Mapping[Language, Mapping[PausedBy | None, str]] = {
    Language.ENGLISH: {
        PausedBy.PERSON: "paused by hand",
        PausedBy.ERROR: "paused by errors; resume it by hand",
        PausedBy.GONE: "gone for good, it says; remove it or give it its new address",
        PausedBy.OWNER: "its owner is disabled",
        None: "not by itself",
    },
    Language.CHINESE: {
        PausedBy.PERSON: "已手动暂停",
        PausedBy.ERROR: "因错误暂停，需手动恢复",
        PausedBy.GONE: "对方表示已永久下线，请删除或更换地址",
        PausedBy.OWNER: "其所有者已被停用",
        None: "不会自动抓取",
    },
}


def next_check_reason(
    source: Source,
    interval: timedelta,
    language: Language = Language.ENGLISH,
    *,
    has_fetcher: bool = True,
    needed_key: str | None = None,
) -> str:
    """`needed_key` is the setting without which nothing can fetch the source."""
    check = source.next_check
    if check.at is None or check.why is None:
        return _PAUSED[language][source.paused_by]
    if needed_key:
        return _NO_KEY[language].format(key=needed_key)
    return _SENTENCES[language][check.why if has_fetcher else Why.NO_FETCHER].format(
        interval=_every(interval, language),
        spacing=_every(timedelta(seconds=source.rhythm.spacing), language),
        at=clock_time(check.at),
        failures=_failures(source.fetch_error_count, language),
        type=source.type,
        host=source.host or _UNNAMED_HOST[language],
    )


def _every(interval: timedelta, language: Language) -> str:
    minutes = max(1, round(interval.total_seconds() / 60))
    if minutes == 1:
        return "每分钟" if language is Language.CHINESE else "every minute"
    if minutes > MAX_IN_MINUTES:
        minutes = HOUR_MINUTES * round(minutes / HOUR_MINUTES)
    in_hours = minutes >= LEAST_IN_HOURS and minutes % HOUR_MINUTES == 0
    amount = minutes // HOUR_MINUTES if in_hours else minutes
    every = {Language.ENGLISH: "every {} {}", Language.CHINESE: "每 {} {}"}
    units = {Language.ENGLISH: ("min", "h"), Language.CHINESE: ("分钟", "小时")}
    return every[language].format(amount, units[language][in_hours])


def _failures(count: int, language: Language) -> str:
    if language is Language.CHINESE:
        return f"{count} 次"
    return f"{count} failure" if count == 1 else f"{count} failures"


def clock_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


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
    #: The setting without which nothing here can fetch it.
    needed_key: str | None
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
    #: Beside the fetches: they failed while the network was away, or by another fault of ours.
    excused_24h: int
    #: The two names of one figure.
    raw_items_24h: int
    items_24h: int
    #: Between 0 and 1; None when nothing was fetched.
    success_rate_24h: float | None

    @property
    def needy_sources(self) -> int:
        return self.paused_by_error + self.gone_sources + self.failing_sources


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceViewer:
    """Shows how everything is at one moment, to web and command line alike, each with what the caller may see of it."""

    store: Store
    registry: Registry
    intervals: Intervals
    view: View
    now: datetime

    async def snapshot(self) -> StatusSnapshot:
        trouble = await self.store.checked.trouble(self.now)
        found, stats, collector, shown = await self.store.read(_gather, self.view, now=self.now)
        return StatusSnapshot(
            at=self.now,
            store=StoreState(writable=trouble is None, trouble=trouble),
            sources=tuple(await self.describe_some(found)),
            stats=stats,
            collector=collector,
            alerts=tuple(alert for alert in shown if alert.is_open),
            resolved=tuple(alert for alert in shown if not alert.is_open),
        )

    async def describe_some(self, found: Sequence[Source]) -> list[SourceHealth]:
        """With the pages that were not collected."""
        pages = await self.store.read(read_backlogs, found, registry=self.registry)
        return [replace(self.describe(source), pages=pages.get(source.id)) for source in found]

    def describe(self, source: Source) -> SourceHealth:
        interval, has_fetcher = self.intervals.of(source), self.registry.can_fetch(source.type)
        needed_key = None if has_fetcher else self.registry.needed_key(source.type)
        reason = next_check_reason(source, interval, self.view.language, has_fetcher=has_fetcher, needed_key=needed_key)
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
            next_check_reason=reason,
            needed_key=needed_key,
            fetch_count=source.fetch_count,
            fetch_error_count=source.fetch_error_count,
            # An error may tell of our own network, which is nothing for strangers, and no error of the source.
            last_error=source.last_error if self.view.caller.is_known and not source.is_excused else None,
            marks=_marks(source, self.now),
            gap_at=source.rhythm.gap_at,
            quiet_since=source.rhythm.last_new_at if source.is_quiet(self.now) else None,
        )

    async def show(self, found: Sequence[Source]) -> list[dict[str, Any]]:
        """As JSON, by the names that the API uses."""
        beside = await self.store.read(self._read_beside, found)
        return [self._show(source, beside) for source in found]

    def _read_beside(self, conn: Connection, found: Sequence[Source]) -> _Beside:
        caller, ids = self.view.caller, [source.id for source in found]
        return _Beside(
            names=users.names(conn, {source.created_by for source in found if source.created_by is not None}),
            subscribed=set() if caller.user_id is None else subscriptions.followed_of(conn, caller.user_id, ids),
            backlogs=read_backlogs(conn, found, registry=self.registry) if caller.is_known else {},
        )

    def _show(self, source: Source, beside: _Beside) -> dict[str, Any]:
        caller, health = self.view.caller, self.describe(source)
        shown = {
            **{name: getattr(source, name) for name in _PLAIN},
            "status": health.status,
            "tags": list(source.tags),
            "config": masked(source.config) if caller.may_change(source) else _address_of(source),
            "creator_name": beside.names.get(source.created_by) if source.created_by is not None else None,
            "subscribed": source.id in beside.subscribed,
            "last_error": health.last_error,
            "fetch_interval_minutes": health.interval_minutes,
            "next_fetch_at": health.next_fetch_at,
            "next_check_at": health.next_check_at,
            "next_check_reason": health.next_check_reason,
            "marks": list(health.marks),
            "gap_at": health.gap_at,
            "quiet_since": health.quiet_since,
            "pages": beside.backlogs.get(source.id),
        }
        return shown if caller.is_known else {name: shown[name] for name in _FOR_STRANGERS}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Beside:
    """What is needed beside sources to show them."""

    names: Mapping[int, str]
    subscribed: set[int]
    backlogs: Mapping[int, Backlog]


_FOR_STRANGERS = (
    *("id", "name", "type", "status", "is_active", "is_public", "tags", "config", "created_by", "creator_name"),
    *("created_at", "updated_at", "last_fetched_at", "fetch_count", "fetch_error_count"),
)
#: What is for the engine alone, or shown in another form; all the other columns are shown as they are.
_NOT_PLAIN = (
    *("config", "tags", "identity", "is_deleted", "last_attempt_at", "last_error", "next_check"),
    *("memory", "rhythm", "moved", "version", "host"),
)
_PLAIN = [one.name for one in fields(Source) if one.name not in _NOT_PLAIN]


def _address_of(source: Source) -> dict[str, Any]:
    url = source.config.get(ADDRESS_KEY)
    return {ADDRESS_KEY: redact_url(url)} if isinstance(url, str) else {}


def read_backlogs(conn: Connection, found: Sequence[Source], *, registry: Registry) -> dict[int, Backlog]:
    """Of those sources that list pages: what was not collected, with addresses that anybody may see."""
    ids = [source.id for source in found if registry.is_crawled(source.type)]
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
    counts = overview.count_sources(conn, caller)
    visits = fetch_log.count_since(conn, now - DAY, caller, now=now)
    return Stats(
        total_sources=counts.total,
        active_sources=counts.active,
        paused_sources=counts.paused,
        paused_by_error=counts.paused_by_error,
        gone_sources=counts.gone,
        failing_sources=counts.failing,
        fetches_24h=visits.fetches,
        errors_24h=visits.errors,
        excused_24h=visits.excused,
        raw_items_24h=visits.items,
        items_24h=visits.items,
        success_rate_24h=visits.success_rate,
    )


def read_collector(conn: Connection, caller: Caller, *, now: datetime) -> CollectorState:
    """How collecting goes; what waits and what is under way is counted of what the caller may see."""
    running = runs.list_running(conn, RunKind.COLLECTOR)
    alive = [run for run in running if run.lease_until > now and not is_gone(run.owner)]
    claimed = overview.claimed_by_owner(conn, caller, now=now)
    claims = {owner: count for owner, count in claimed.items() if not is_gone(owner)}
    in_flight = count_in_flight(claims, {run.owner: run.progress.get("in_flight") for run in alive})
    return CollectorState(
        running=bool(alive),
        last_tick_at=max(_moments(alive, "last_tick_at"), default=None),
        next_tick_at=min(_moments(alive, "next_tick_at"), default=None),
        queue=overview.count_due(conn, caller, now=now) + sum(claims.values()) - in_flight,
        in_flight=in_flight,
        network_away=is_network_away(conn),
    )


def is_network_away(conn: Connection) -> bool:
    """Sources were last excused by the network, and none was collected since that shows the way to them."""
    excuses = overview.latest_excuses(conn)
    if not excuses:
        return False
    # One at home may be excused as well, but what is asked is whether the outside can be reached.
    wanted = min(excuses, key=is_at_home)
    excused_at = max(moment for host, moment in excuses.items() if is_at_home(host) == is_at_home(wanted))
    collected = sources.successes_since(conn, excused_at)
    return network_is_down(reached=any(shows_the_way(host, wanted) for host in collected), surely_ours=True)


def read_clock_jump(conn: Connection, *, now: datetime) -> str | None:
    """What is told of the clock, for an hour after it jumped."""
    last = incidents.last_of(conn, Incident.CLOCK_JUMPED)
    return last[1] if last is not None and now - HOUR <= last[0] else None


def count_in_flight(claims: Mapping[str, int], reported: Mapping[str, int | None]) -> int:
    """Of what each process has claimed, what it says it visits; all of it where it says nothing."""
    said = {owner: reported.get(owner) for owner in claims}
    return sum(
        claims[owner] if under_way is None else min(claims[owner], under_way) for owner, under_way in said.items()
    )


def _gather(conn: Connection, view: View, *, now: datetime) -> tuple[list[Source], Stats, CollectorState, list[Alert]]:
    """Everything in one transaction, so that the parts fit each other."""
    # Here, as a list of sources needs none of what alerts are about.
    from catchment.monitor.alerting import list_alerts

    if view.most is None:
        found = sources.list_visible(conn, view.caller)
    else:
        found = overview.list_by_attention(conn, view.caller, limit=view.most)
    shown = list_alerts(conn, view.caller, now=now)
    return found, read_stats(conn, view.caller, now=now), read_collector(conn, view.caller, now=now), shown


def _moments(collectors: list[Run], name: str) -> list[datetime]:
    said: list[Mapping[str, str]] = [run.progress for run in collectors]
    return [datetime.fromisoformat(progress[name]) for progress in said if name in progress]
