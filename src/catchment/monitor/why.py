"""Why a source brought nothing new, in sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from catchment.domain.source import Source, SourceStatus
from catchment.domain.visit import VisitOutcome
from catchment.monitor.status import AT_ONCE, Language, Mark, SourceHealth, as_counted, clock_time
from catchment.store.fetch_log import LogLine

_SENTENCES: Mapping[Language, Mapping[str, str]] = {
    Language.ENGLISH: {
        "away": "The network is away: nothing outside can be reached, and no source is to blame.",
        "paused": "It is not visited: {reason}.",
        "probing": "Errors paused it; it is tried again by itself.",
        "never": "It was not visited yet.",
        "failed": "The last visit, at {at}, failed: {error} That was failure {failures} in a row.",
        "not_counted": "The last visit, at {at}, failed: {error} That is not counted against the source.",
        "failed_anew": "The last visit, at {at}, failed: {error}",
        "failed_briefly": "The last visit, at {at}, failed.",
        "not_counted_briefly": "The last visit, at {at}, failed, which is not counted against the source.",
        "empty": "The last visit, at {at}, found nothing at all: the place is empty, or it is another than it was.",
        "filtered": "The last visit, at {at}, brought nothing new; its filters may leave something out.",
        "nothing": "The last visit, at {at}, went well and brought nothing new.",
        "known": "The last visit, at {at}, found {items} item(s), all of them known already.",
        "brought": "The last visit, at {at}, brought {inserted} new item(s).",
        "news": "Something new came last at {at}: {inserted} item(s).",
        "news_once": "Something new came last at {at}.",
        "no_news": "No visit brought anything yet.",
        "pages": "{failed} page(s) could not be collected: `catchment sources show {id}` names them, and why.",
        "quiet": "It has been silent for longer than it usually is.",
        "gap": "It has more news between two visits than it lists: a shorter interval misses less.",
        "moved": "It says that it is somewhere else for good: give it its new address.",
        "next": "The next visit is at {at}: {reason}.",
        "due": "The next visit is {reason}.",
    },
    Language.CHINESE: {
        "away": "网络不通：外部都无法访问，与来源无关。",
        "paused": "不会抓取：{reason}。",
        "probing": "因错误暂停，之后会自动再试。",
        "never": "尚未抓取过。",
        "failed": "上次抓取（{at}）失败：{error} 已连续失败 {failures} 次。",
        "not_counted": "上次抓取（{at}）失败：{error} 这不计为来源的失败。",
        "failed_anew": "上次抓取（{at}）失败：{error}",
        "failed_briefly": "上次抓取（{at}）失败。",
        "not_counted_briefly": "上次抓取（{at}）失败，不计为来源的失败。",
        "empty": "上次抓取（{at}）没有找到任何内容：该处为空，或已不是原来的内容。",
        "filtered": "上次抓取（{at}）没有新内容；过滤条件可能排除了一些。",
        "nothing": "上次抓取（{at}）成功，没有新内容。",
        "known": "上次抓取（{at}）找到 {items} 条，全部是已有的。",
        "brought": "上次抓取（{at}）带来 {inserted} 条新内容。",
        "news": "最近一次有新内容是 {at}：{inserted} 条。",
        "news_once": "最近一次有新内容是 {at}。",
        "no_news": "至今没有抓取到任何内容。",
        "pages": "有 {failed} 个页面未能抓取：`catchment sources show {id}` 会列出它们及原因。",
        "quiet": "它沉默的时间比平时更长。",
        "gap": "两次抓取之间的新内容多于它列出的：缩短间隔可减少遗漏。",
        "moved": "它表示已永久搬到别处：请改用新地址。",
        "next": "下次抓取：{at}（{reason}）。",
        "due": "下次抓取：{reason}。",
    },
}
#: What a page has beside these sentences, the error and the next visit, and what is left to say then.
_BESIDE = {
    "failed": "failed_briefly",
    "failed_anew": "failed_briefly",
    "not_counted": "not_counted_briefly",
    "next": "",
    "due": "",
}
_MARKS = {Mark.QUIET: "quiet", Mark.GAP: "gap", Mark.MOVED: "moved"}


def explain(
    source: Source,
    health: SourceHealth,
    visits: Sequence[LogLine],
    *,
    now: datetime,
    network_away: bool = False,
    failed_pages: int = 0,
    language: Language = Language.ENGLISH,
    on_page: bool = False,
) -> list[str]:
    """What a person should know who wonders why nothing came; `visits` are the last ones, the newest first.

    A page has the error and the next visit beside it.
    """
    sentences = _SENTENCES[language]
    findings = _findings(source, health, visits, network_away, failed_pages)
    found = [*findings, *_next_visit(health, now, language)]
    named = ((_BESIDE.get(name, name) if on_page else name, values) for name, values in found)
    return [as_counted(sentences[name].format(**values)) for name, values in named if name]


Finding = tuple[str, Mapping[str, object]]


def _findings(
    source: Source, health: SourceHealth, visits: Sequence[LogLine], network_away: bool, failed_pages: int
) -> Iterator[Finding]:
    # What was reached, at home or before the network went, has reasons of its own.
    if network_away and (not visits or visits[0].excuse is VisitOutcome.NETWORK_AWAY):
        yield "away", {}
    if health.status is SourceStatus.PAUSED and health.next_check_at is not None:
        yield "probing", {}
    elif health.status in {SourceStatus.PAUSED, SourceStatus.NO_FETCHER}:
        yield "paused", {"reason": health.next_check_reason}
    if visits:
        yield _last_visit(source, visits)
        yield from _last_news(source, visits)
    elif source.last_fetched_at is None:
        yield "never", {}
    if failed_pages:
        yield "pages", {"failed": failed_pages, "id": source.id}
    yield from ((_MARKS[mark], {}) for mark in health.marks if mark in _MARKS)


def _next_visit(health: SourceHealth, now: datetime, language: Language) -> Iterator[Finding]:
    at = health.next_check_at
    if at is None or health.status is SourceStatus.NO_FETCHER:
        return
    if at <= now:
        yield "due", {"reason": AT_ONCE[language]}
    else:
        yield "next", {"at": clock_time(at), "reason": health.next_check_reason}


def _last_visit(source: Source, visits: Sequence[LogLine]) -> Finding:
    visit = visits[0]
    at = {"at": clock_time(visit.finished_at)}
    if not visit.ok:
        # Whoever resumes it, or gives it another address, has its failures counted anew.
        blamed = "failed" if source.fetch_error_count else "failed_anew"
        name = "not_counted" if visit.excuse else blamed
        return name, {**at, "error": _sentence(visit.error or ""), "failures": source.fetch_error_count}
    if visit.inserted:
        return "brought", {**at, "inserted": visit.inserted}
    if visit.items:
        return "known", {**at, "items": visit.items}
    if {"include", "exclude", "filters"} & source.config.keys():
        return "filtered", at
    # A server that says that nothing changed lists nothing, and a site whose pages are all known asks for none.
    has_brought = source.rhythm.last_new_at or any(one.items for one in visits)
    return ("nothing" if has_brought else "empty"), at


def _last_news(source: Source, visits: Sequence[LogLine]) -> Iterator[Finding]:
    news, last_new_at = next((visit for visit in visits if visit.inserted), None), source.rhythm.last_new_at
    if news is None:
        yield ("news_once", {"at": clock_time(last_new_at)}) if last_new_at else ("no_news", {})
    elif news is not visits[0]:
        yield "news", {"at": clock_time(news.finished_at), "inserted": news.inserted}


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?", "。")) else f"{text}."
