"""The words of the pages, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from catchment.domain.source import SourceStatus
from catchment.monitor.reason import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    tagline: str
    sources: str
    active: str
    paused_by_error: str
    probed_again: str
    failing: str
    tried_again: str
    new_items: str
    last_24h: str
    success_rate: str
    visits: str
    collector: str
    running: str
    stopped: str
    queue: str
    in_flight: str
    source: str
    health: str
    last_fetch: str
    next_check: str
    items: str
    never: str
    latest_items: str
    untitled: str
    no_sources: str
    no_items: str
    more: str
    live: str
    reconnecting: str
    sign_in: str
    sign_out: str
    signed_in_as: str
    sign_in_hint: str
    key: str
    key_help: str
    wrong_key: str
    spent_link: str
    other_language: str
    other_code: str
    broken: str
    statuses: Mapping[SourceStatus, str]


_ENGLISH = Words(
    tagline="Everything you follow, collected on time, exactly once.",
    sources="Sources",
    active="active",
    paused_by_error="Paused by errors",
    probed_again="probed again in time",
    failing="Failing",
    tried_again="tried again soon",
    new_items="New items",
    last_24h="in the last 24 h",
    success_rate="Success rate",
    visits="{good} of {all} visits in 24 h",
    collector="Collector",
    running="Running",
    stopped="Not running",
    queue="waiting",
    in_flight="in flight",
    source="Source",
    health="Health",
    last_fetch="Last fetch",
    next_check="Next check",
    items="Items",
    never="never",
    latest_items="Latest items",
    untitled="(untitled)",
    no_sources="No sources yet. Add the first: catchment add https://example.org/feed",
    no_items="Nothing collected yet.",
    more="more, not shown: these are the ones that need attention and the most recent.",
    live="live",
    reconnecting="reconnecting",
    sign_in="Sign in",
    sign_out="Sign out",
    signed_in_as="Signed in as",
    sign_in_hint="You see public sources only. Sign in with your key to see the rest.",
    key="API key",
    key_help="The key that `catchment up` printed at its first start, or one made by `catchment keys create`.",
    wrong_key="That key is not known here.",
    spent_link="That link was used already or is older than 15 minutes. Sign in with a key instead.",
    other_language="中文",
    other_code="zh",
    broken="paused by errors",
    statuses={
        SourceStatus.OK: "healthy",
        SourceStatus.PENDING: "waiting",
        SourceStatus.ERROR: "failing",
        SourceStatus.PAUSED: "paused",
        SourceStatus.NO_FETCHER: "no fetcher",
    },
)

_CHINESE = Words(
    tagline="你关注的一切，按时采集，不重不漏。",
    sources="信息源",
    active="运行中",
    paused_by_error="因错误暂停",
    probed_again="稍后会再次探测",
    failing="抓取失败",
    tried_again="稍后重试",
    new_items="新条目",
    last_24h="最近 24 小时",
    success_rate="成功率",
    visits="24 小时内 {all} 次抓取成功 {good} 次",
    collector="采集器",
    running="运行中",
    stopped="未运行",
    queue="等待",
    in_flight="进行中",
    source="信息源",
    health="状态",
    last_fetch="上次抓取",
    next_check="下次检查",
    items="条目",
    never="从未",
    latest_items="最新条目",
    untitled="（无标题）",
    no_sources="还没有信息源。添加第一个：catchment add https://example.org/feed",
    no_items="还没有采集到内容。",
    more="个未显示：此处列出需要关注的和最近抓取的。",
    live="实时",
    reconnecting="重新连接",
    sign_in="登录",
    sign_out="退出",
    signed_in_as="已登录：",
    sign_in_hint="当前仅显示公开的信息源。使用密钥登录可查看全部。",
    key="API 密钥",
    key_help="首次运行 catchment up 时打印的密钥，或由 catchment keys create 生成的密钥。",
    wrong_key="无法识别该密钥。",
    spent_link="该链接已被使用或已超过 15 分钟，请改用密钥登录。",
    other_language="English",
    other_code="en",
    broken="因错误暂停",
    statuses={
        SourceStatus.OK: "正常",
        SourceStatus.PENDING: "等待首次抓取",
        SourceStatus.ERROR: "失败",
        SourceStatus.PAUSED: "已暂停",
        SourceStatus.NO_FETCHER: "无插件",
    },
)

_WORDS = {Language.ENGLISH: _ENGLISH, Language.CHINESE: _CHINESE}


def words_in(language: Language) -> Words:
    return _WORDS[language]


async def language_of(
    request: Request, lang: Annotated[str, Query(description="en or zh; else Accept-Language tells.")] = ""
) -> Language:
    return choose_language(lang, request.headers.get("accept-language", ""))


TheLanguage = Annotated[Language, Depends(language_of)]


def choose_language(asked_for: str, accept: str) -> Language:
    """What was asked for wins; then the first language of the Accept-Language header that we speak."""
    asked = [asked_for, *_accepted(accept)]
    spoken = [language for tag in asked for language in Language if tag.lower().startswith(language)]
    return spoken[0] if spoken else Language.ENGLISH


def _accepted(header: str) -> list[str]:
    """The tags of an Accept-Language header, most wanted first."""
    weighted = []
    for place, part in enumerate(header.split(",")):
        tag, _, parameters = part.strip().partition(";")
        weighted.append((-_weight(parameters), place, tag.strip()))
    return [tag for weight, _, tag in sorted(weighted) if weight < 0]


def _weight(parameters: str) -> float:
    name, _, value = parameters.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
