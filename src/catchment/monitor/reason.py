"""Why a source is looked at when it is, as a sentence."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from catchment.domain.source import NEEDING_A_KEY, PausedBy, Source, Why

HOUR_MINUTES = 60
#: Below this a count of minutes reads better than hours.
LEAST_IN_HOURS = 120
#: Above this nobody counts minutes.
MAX_IN_MINUTES = 600


class Language(StrEnum):
    ENGLISH = "en"
    CHINESE = "zh"


_SENTENCES: Mapping[Language, Mapping[Why, str]] = {
    Language.ENGLISH: {
        Why.NEW: "as soon as the collector looks",
        Why.INTERVAL: "every {interval}",
        Why.ADAPTED: "adapted to its rhythm: something new about every {spacing}",
        Why.GAP: "sooner than every {interval}, since items were missed",
        Why.SERVER_CACHE: "the server says nothing new before {at}",
        Why.RETRY_AFTER: "the server asked to wait until {at}",
        Why.BACK_OFF: "back-off after {failures}",
        Why.OFFLINE: "the network is away, or another fault on our side; tried again soon",
        Why.HOST_BUDGET: "waits for its turn at {host} until {at}",
        Why.HOST_WAIT: "waits for {host} until {at}, as the host asked",
        Why.NO_COOKIE: (
            "no cookie of its platform can be used: `catchment cookies add` adds one, sealed by COOKIE_MASTER_KEY; "
            "looked at again at {at}"
        ),
        Why.PROBE: "paused by errors; probed again",
        Why.NO_FETCHER: "nothing here can fetch the type {type}",
    },
    Language.CHINESE: {
        Why.NEW: "采集器下次巡视时立即抓取",
        Why.INTERVAL: "每 {interval}",
        Why.ADAPTED: "按其更新节奏调整：大约每 {spacing}有新内容",
        Why.GAP: "曾有内容漏采，比每 {interval}更早",
        Why.SERVER_CACHE: "服务器表示 {at} 之前不会更新",
        Why.RETRY_AFTER: "服务器要求等到 {at}",
        Why.BACK_OFF: "连续失败 {failures}后退避",
        Why.OFFLINE: "网络不通或本机故障，稍后重试",
        Why.HOST_BUDGET: "等待主机 {host} 的请求配额，{at} 轮到它",
        Why.HOST_WAIT: "应主机 {host} 的要求等到 {at}",
        Why.NO_COOKIE: "没有可用的 Cookie：用 `catchment cookies add` 添加（由 COOKIE_MASTER_KEY 加密），{at} 再看",
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
    source: Source, interval: timedelta, language: Language = Language.ENGLISH, *, has_fetcher: bool = True
) -> str:
    check = source.next_check
    if check.at is None or check.why is None:
        return _PAUSED[language][source.paused_by]
    if not has_fetcher and source.type in NEEDING_A_KEY:
        return _NO_KEY[language].format(key=NEEDING_A_KEY[source.type])
    return _SENTENCES[language][check.why if has_fetcher else Why.NO_FETCHER].format(
        interval=_duration(interval, language),
        spacing=_duration(timedelta(seconds=source.rhythm.spacing), language),
        at=_clock_time(check.at),
        failures=_failures(source.fetch_error_count, language),
        type=source.type,
        host=source.host or _UNNAMED_HOST[language],
    )


def _duration(interval: timedelta, language: Language) -> str:
    minutes = max(1, round(interval.total_seconds() / 60))
    if minutes > MAX_IN_MINUTES:
        minutes = HOUR_MINUTES * round(minutes / HOUR_MINUTES)
    in_hours = minutes >= LEAST_IN_HOURS and minutes % HOUR_MINUTES == 0
    amount = minutes // HOUR_MINUTES if in_hours else minutes
    units = {Language.ENGLISH: ("min", "h"), Language.CHINESE: ("分钟", "小时")}
    return f"{amount} {units[language][in_hours]}"


def _failures(count: int, language: Language) -> str:
    if language is Language.CHINESE:
        return f"{count} 次"
    return f"{count} failure" if count == 1 else f"{count} failures"


def _clock_time(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
