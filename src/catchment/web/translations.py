"""The words of the pages, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query, Request

from catchment.domain.alert import AlertRule
from catchment.domain.caller import Scope
from catchment.domain.source import SourceStatus
from catchment.monitor.reason import Language
from catchment.monitor.status import Mark
from catchment.store.writability import WriteTrouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    tagline: str
    sources: str
    active: str
    paused_by_error: str
    probed_again: str
    failing: str
    tried_again: str
    network: str
    away: str
    nobody_reached: str
    new_items: str
    last_24h: str
    success_rate: str
    visits: str
    collector: str
    running: str
    stopped: str
    queue: str
    in_flight: str
    store: str
    not_writable: str
    write_troubles: Mapping[WriteTrouble, str]
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
    no_public_sources: str
    no_public_items: str
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
    email: str
    password: str
    or_by_key: str
    wrong_password: str
    too_often: str
    busy: str
    account: str
    your_keys: str
    keys_help: str
    no_keys: str
    key_name: str
    key_scope: str
    created: str
    last_used: str
    create_key: str
    revoke: str
    new_key: str
    bad_key_name: str
    change_password: str
    old_password: str
    new_password: str
    password_help: str
    wrong_old_password: str
    bad_password: str
    spent_link: str
    other_language: str
    other_code: str
    broken: str
    gone: str
    feeds: str
    feeds_hint: str
    no_feeds: str
    feed: str
    formats: str
    who_reads: str
    everybody: str
    with_token: str
    changed: str
    statuses: Mapping[SourceStatus, str]
    marks: Mapping[Mark, str]
    alerts: str
    began: str
    resolved: str
    rules: Mapping[AlertRule, str]
    scopes: Mapping[Scope, str]


_ENGLISH = Words(
    tagline="Everything you follow, collected on time, exactly once.",
    sources="Sources",
    active="active",
    paused_by_error="Paused by errors",
    probed_again="probed again in time",
    failing="Failing",
    tried_again="tried again soon",
    network="Network",
    away="away",
    nobody_reached="nothing can be reached",
    new_items="New items",
    last_24h="in the last 24 h",
    success_rate="Success rate",
    visits="{good} of {all} visits in 24 h",
    collector="Collector",
    running="Running",
    stopped="Not running",
    queue="waiting",
    in_flight="in flight",
    store="Store",
    not_writable="Cannot be written",
    write_troubles={
        WriteTrouble.FULL: "its disk is full",
        WriteTrouble.READ_ONLY: "it is read-only",
        WriteTrouble.FAILING: "the log says why",
    },
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
    no_public_sources="No source is public.",
    no_public_items="Nothing public was collected yet.",
    more="more, not shown: these are the ones that need attention and the most recent.",
    live="live",
    reconnecting="reconnecting",
    sign_in="Sign in",
    sign_out="Sign out",
    signed_in_as="Signed in as",
    sign_in_hint="You see public sources only. Sign in to see the rest.",
    key="API key",
    key_help="The key that `catchment up` printed at its first start, or one made by `catchment keys create`.",
    wrong_key="That key is not known here.",
    email="E-mail",
    password="Password",
    or_by_key="Sign in with an API key",
    wrong_password="Wrong e-mail address or password.",
    too_often="Wrong too often. Wait a quarter of an hour, or sign in with a key.",
    busy="Too many passwords are being checked at this moment; try again in a few seconds.",
    account="Account",
    your_keys="Your API keys",
    keys_help="For scripts and other programs, which act in your name with them. A revoked key is refused at once.",
    no_keys="You have no keys.",
    key_name="What it is for",
    key_scope="May",
    created="Created",
    last_used="Last used",
    create_key="Create key",
    revoke="Revoke",
    new_key="Your new key. It is shown only now:",
    bad_key_name="Say in 1 to 100 characters what the key is for.",
    change_password="Change password",
    old_password="Present password",
    new_password="New password",
    password_help="At least 8 characters. Other browsers are signed out; keys stay.",
    wrong_old_password="The present password is wrong.",
    bad_password="A password has 8 to 200 characters.",
    spent_link="That link was used already or is older than 15 minutes. Sign in with a key instead.",
    other_language="中文",
    other_code="zh",
    broken="paused by errors",
    gone="gone for good",
    feeds="Feeds",
    feeds_hint="Saved views of what was collected, for any feed reader.",
    no_feeds='No feeds yet. Publish the first: catchment feeds create news --title "News" --public',
    feed="Feed",
    formats="Formats",
    who_reads="Who reads it",
    everybody="everybody",
    with_token="whoever has its token",
    changed="Changed",
    statuses={
        SourceStatus.OK: "healthy",
        SourceStatus.PENDING: "waiting",
        SourceStatus.ERROR: "failing",
        SourceStatus.PAUSED: "paused",
        SourceStatus.NO_FETCHER: "no fetcher",
    },
    marks={
        Mark.GAP: "items were missed",
        Mark.QUIET: "gone quiet",
        Mark.MOVED: "moved elsewhere",
        Mark.UNVERIFIED_TLS: "TLS not verified",
        Mark.NOISY: "changes at every visit",
    },
    alerts="Alerts",
    began="began",
    resolved="resolved",
    rules={
        AlertRule.COOKIE_EXHAUSTED: "Cookies used up",
        AlertRule.COOKIES_RUNNING_DRY: "Cookies running dry",
        AlertRule.API_SUCCESS_RATE_LOW: "Requests fail too often",
        AlertRule.PROCESSING_BACKLOG: "Notes pile up",
        AlertRule.LOCK_TIMEOUT_RECOVERED: "Locks recovered",
        AlertRule.INVALID_INPUT: "Notes skipped",
        AlertRule.SOURCE_BROKEN: "Source broken",
        AlertRule.SOURCE_QUIET: "Source gone quiet",
        AlertRule.SOURCE_GAP: "Items missed",
        AlertRule.X_KEY_REFUSED: "X refuses the key",
        AlertRule.X_NO_CREDIT: "No credit left for X",
        AlertRule.X_RATE_LIMITED: "X asks for fewer requests",
        AlertRule.X_SCRAPE_FAILED: "Scheduled scrape failed",
        AlertRule.SPENDING_NEAR_CAP: "Spending near its cap",
        AlertRule.DISK_NEARLY_FULL: "Disk nearly full",
        AlertRule.COLLECTOR_LATE: "Collector late",
        AlertRule.WEBHOOK_GIVEN_UP: "Webhook given up",
    },
    scopes={Scope.READ: "read", Scope.WRITE: "read and change", Scope.ADMIN: "everything you may"},
)

_CHINESE = Words(
    tagline="你关注的一切，按时采集，不重不漏。",
    sources="信息源",
    active="运行中",
    paused_by_error="因错误暂停",
    probed_again="稍后会再次探测",
    failing="抓取失败",
    tried_again="稍后重试",
    network="网络",
    away="不通",
    nobody_reached="无法连接任何地址",
    new_items="新条目",
    last_24h="最近 24 小时",
    success_rate="成功率",
    visits="24 小时内 {all} 次抓取成功 {good} 次",
    collector="采集器",
    running="运行中",
    stopped="未运行",
    queue="等待",
    in_flight="进行中",
    store="存储",
    not_writable="无法写入",
    write_troubles={
        WriteTrouble.FULL: "磁盘已满",
        WriteTrouble.READ_ONLY: "只读",
        WriteTrouble.FAILING: "原因见日志",
    },
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
    no_public_sources="没有公开的信息源。",
    no_public_items="还没有采集到公开的内容。",
    more="个未显示：此处列出需要关注的和最近抓取的。",
    live="实时",
    reconnecting="重新连接",
    sign_in="登录",
    sign_out="退出",
    signed_in_as="已登录：",
    sign_in_hint="当前仅显示公开的信息源。登录后可查看全部。",
    key="API 密钥",
    key_help="首次运行 catchment up 时打印的密钥，或由 catchment keys create 生成的密钥。",
    wrong_key="无法识别该密钥。",
    email="邮箱",
    password="密码",
    or_by_key="使用 API 密钥登录",
    wrong_password="邮箱或密码错误。",
    too_often="错误次数过多。请等待一刻钟，或使用密钥登录。",
    busy="此刻正在验证的密码过多，请几秒后再试。",
    account="账户",
    your_keys="你的 API 密钥",
    keys_help="供脚本和其他程序以你的身份使用。撤销后立即失效。",
    no_keys="还没有密钥。",
    key_name="用途",
    key_scope="权限",
    created="创建时间",
    last_used="上次使用",
    create_key="创建密钥",
    revoke="撤销",
    new_key="新密钥，仅显示这一次：",
    bad_key_name="请用 1 到 100 个字符说明用途。",
    change_password="修改密码",
    old_password="当前密码",
    new_password="新密码",
    password_help="至少 8 个字符。其他浏览器将退出登录，密钥不受影响。",
    wrong_old_password="当前密码错误。",
    bad_password="密码长度为 8 到 200 个字符。",
    spent_link="该链接已被使用或已超过 15 分钟，请改用密钥登录。",
    other_language="English",
    other_code="en",
    broken="因错误暂停",
    gone="已不存在",
    feeds="订阅输出",
    feeds_hint="已保存的视图，可用任何阅读器订阅。",
    no_feeds='还没有订阅输出。发布第一个：catchment feeds create news --title "News" --public',
    feed="订阅",
    formats="格式",
    who_reads="可读者",
    everybody="所有人",
    with_token="持有令牌者",
    changed="修改时间",
    statuses={
        SourceStatus.OK: "正常",
        SourceStatus.PENDING: "等待首次抓取",
        SourceStatus.ERROR: "失败",
        SourceStatus.PAUSED: "已暂停",
        SourceStatus.NO_FETCHER: "无插件",
    },
    marks={
        Mark.GAP: "有内容漏采",
        Mark.QUIET: "久无更新",
        Mark.MOVED: "已迁至新地址",
        Mark.UNVERIFIED_TLS: "未验证 TLS 证书",
        Mark.NOISY: "每次访问都有变化",
    },
    alerts="告警",
    began="始于",
    resolved="已恢复",
    rules={
        AlertRule.COOKIE_EXHAUSTED: "Cookie 耗尽",
        AlertRule.COOKIES_RUNNING_DRY: "Cookie 即将用尽",
        AlertRule.API_SUCCESS_RATE_LOW: "成功率低",
        AlertRule.PROCESSING_BACKLOG: "处理积压",
        AlertRule.LOCK_TIMEOUT_RECOVERED: "锁超时已回收",
        AlertRule.INVALID_INPUT: "笔记已跳过",
        AlertRule.SOURCE_BROKEN: "信息源故障",
        AlertRule.SOURCE_QUIET: "信息源久无更新",
        AlertRule.SOURCE_GAP: "有内容漏采",
        AlertRule.X_KEY_REFUSED: "X 拒绝密钥",
        AlertRule.X_NO_CREDIT: "X 余额不足",
        AlertRule.X_RATE_LIMITED: "X 请求过于频繁",
        AlertRule.X_SCRAPE_FAILED: "定时抓取失败",
        AlertRule.SPENDING_NEAR_CAP: "用量接近上限",
        AlertRule.DISK_NEARLY_FULL: "磁盘空间不足",
        AlertRule.COLLECTOR_LATE: "采集延迟",
        AlertRule.WEBHOOK_GIVEN_UP: "Webhook 投递已放弃",
    },
    scopes={Scope.READ: "只读", Scope.WRITE: "读取和修改", Scope.ADMIN: "你的全部权限"},
)

_WORDS = {Language.ENGLISH: _ENGLISH, Language.CHINESE: _CHINESE}


def words_in(language: Language) -> Words:
    return _WORDS[language]


async def language_of(
    request: Request, lang: Annotated[str, Query(description="en or zh; else Accept-Language tells.")] = ""
) -> Language:
    return choose_language(lang, request.headers.get("accept-language", ""))


TheLanguage = Annotated[Language, Depends(language_of)]


async def administrations_language_of(request: Request) -> Language:
    """The administration speaks Chinese unless English is asked for."""
    return choose_language("", request.headers.get("accept-language", ""), otherwise=Language.CHINESE)


AdministrationsLanguage = Annotated[Language, Depends(administrations_language_of)]


def choose_language(asked_for: str, accept: str, *, otherwise: Language = Language.ENGLISH) -> Language:
    """What was asked for wins; then the first language of the Accept-Language header that we speak."""
    asked = [asked_for, *_accepted(accept)]
    spoken = [language for tag in asked for language in Language if tag.lower().startswith(language)]
    return spoken[0] if spoken else otherwise


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
