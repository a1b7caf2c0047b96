"""Sources as the pages show them: rows with their last visits, the days of one, and what was asked of the list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from math import log2

from markupsafe import Markup
from sqlalchemy import Connection
from starlette.datastructures import QueryParams

from catchment.clock import Day
from catchment.domain.caller import Caller
from catchment.domain.item import StoredItem
from catchment.domain.source import PausedBy, Source, SourceStatus
from catchment.domain.visit import VisitOutcome
from catchment.errors import InvalidInput
from catchment.monitor.status import Mark, SourceHealth, SourceViewer, is_network_away
from catchment.monitor.why import explain
from catchment.redact import redact_url
from catchment.store import fetch_log, items, runs, source_list, sources
from catchment.store.fetch_log import DayOfVisits, LogLine
from catchment.store.items import ItemQuery
from catchment.store.source_list import Health, Sort, SourceQuery, VisitMark
from catchment.web.inputs import number_of, page_number
from catchment.web.pages import Page
from catchment.web.translations import Words

PAGE_ROWS = 40
WEEK = timedelta(days=7)
_MARK, _STRIP_HEIGHT, _LEAST_MARK = 5, 16, 4
_CHART_HEIGHT, _DAY_HEIGHT, _LEAST_BAR = 60, 26, 2
_MOODS: Mapping[SourceStatus, str] = {
    SourceStatus.OK: "ok",
    SourceStatus.PENDING: "wait",
    SourceStatus.ERROR: "warn",
    SourceStatus.PAUSED: "calm",
    SourceStatus.NO_FETCHER: "calm",
}
_OUTCOMES: Mapping[VisitOutcome, str] = {
    VisitOutcome.OK: "ok",
    VisitOutcome.FAILED: "bad",
    VisitOutcome.NETWORK_AWAY: "calm",
    VisitOutcome.OUR_FAULT: "calm",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """The last visits as strokes, one path for each way to end."""

    width: int
    count: int
    label: str
    paths: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A day of a chart or a strip."""

    name: str
    value: int
    height: int
    label: str
    mood: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTableRow:
    source: Source
    health: SourceHealth
    mood: str
    status: str
    error: str
    marks: tuple[tuple[str, str], ...]
    strip: Strip
    this_week: int
    may_change: bool

    @property
    def part(self) -> str:
        return f"source-{self.source.id}"


def asked_of(params: QueryParams, page: Page) -> tuple[SourceQuery, int]:
    """The list that the address asks for, and which page of it; what makes no sense counts as not said."""
    health, sort, at = params.get("health", ""), params.get("sort", ""), page_number(params.get("page", ""))
    query = SourceQuery(
        caller=page.caller,
        text=_sane(params.get("q", "").strip()),
        type=_sane(params.get("type", "")),
        tag=_sane(params.get("tag", "")),
        health=Health(health) if health in set(Health) else None,
        sort=Sort(sort) if sort in set(Sort) else Sort.ATTENTION,
        limit=PAGE_ROWS,
        offset=(at - 1) * PAGE_ROWS,
    )
    return query, at


async def rows_of(page: Page, viewer: SourceViewer, found: Sequence[Source]) -> list[SourceTableRow]:
    """The rows of these sources, in their order, by a few queries for all."""
    ids = [source.id for source in found]
    visits, counts = await page.system.store.read(_read_history, ids, since=viewer.now - WEEK)
    return [
        _row(page, source, viewer.describe(source), visits.get(source.id, []), counts.get(source.id, 0))
        for source in found
    ]


def _read_history(
    conn: Connection, ids: Sequence[int], *, since: datetime
) -> tuple[dict[int, list[VisitMark]], dict[int, int]]:
    return source_list.last_visits(conn, ids), source_list.items_since(conn, ids, since)


def _error(health: SourceHealth, words: Words) -> str:
    """One that is not checked any more is not said to be tried again."""
    said = words.say if health.next_check_at else words.say_past
    return said(health.last_error.message) if health.last_error else ""


def _row(page: Page, source: Source, health: SourceHealth, visits: Sequence[VisitMark], count: int) -> SourceTableRow:
    words = page.words
    return SourceTableRow(
        source=source,
        health=health,
        mood=mood_of(health),
        status=status_of(health, words),
        error=_error(health, words),
        marks=marks_of(health, words),
        strip=strip_of(visits, words),
        this_week=count,
        may_change=page.may_write and page.caller.may_change(source),
    )


def lede_key(page: Page, total: int, needy: int, *, is_running: bool, is_away: bool) -> str:
    """Of the sentence that says how the sources are; nobody is needed who can do nothing."""
    if not total:
        return "sources.lede_none" if page.caller.is_known else "overview.no_public_sources"
    if not is_running:
        return "overview.lede_stopped"
    if is_away:
        return "overview.lede_away"
    if not needy:
        return "sources.lede_well"
    if not page.may_write:
        return "sources.lede_trouble"
    return "sources.lede_one" if needy == 1 else "sources.lede_needy"


def mood_of(health: SourceHealth) -> str:
    return "bad" if health.paused_by in {PausedBy.ERROR, PausedBy.GONE} else _MOODS[health.status]


def status_of(health: SourceHealth, words: Words) -> str:
    match health.paused_by:
        case PausedBy.ERROR:
            return words("sources.broken")
        case PausedBy.GONE:
            return words("sources.gone")
        case _:
            return words("sources.status_no_key" if health.needed_key else f"sources.status_{health.status}")


def marks_of(health: SourceHealth, words: Words) -> tuple[tuple[str, str], ...]:
    """What to know of it although it works: a mood and words each."""
    return tuple(
        ("bad" if mark is Mark.UNVERIFIED_TLS else "warn", words(f"sources.mark_{mark}")) for mark in health.marks
    )


def strip_of(visits: Sequence[VisitMark], words: Words) -> Strip:
    outcomes = [visit.outcome for visit in visits]
    results = [
        "new" if one.inserted and one.ok else _OUTCOMES[outcome] for one, outcome in zip(visits, outcomes, strict=True)
    ]
    strokes = sorted(zip(results, range(len(visits)), map(_stroke_height, visits), strict=True))
    paths = tuple(
        (mood, "".join(f"M{place * _MARK + 2} 17v-{height}" for _, place, height in group))
        for mood, group in groupby(strokes, key=lambda stroke: stroke[0])
    )
    failed, excused = outcomes.count(VisitOutcome.FAILED), sum(visit.excuse is not None for visit in visits)
    label = counted_visits("sources.strip", words, visits=len(visits) - excused, failed=failed, excused=excused)
    return Strip(width=max(len(visits) * _MARK, 1), count=len(visits), label=label, paths=paths)


def counted_visits(key: str, words: Words, *, excused: int, **counts: object) -> str:
    """The sentence of that key; what is in none of its numbers follows."""
    apart = [words("sources.excused", count=f"{excused:,}")] if excused else []
    return " · ".join([words(key, **counts), *apart])


def outcome_of(visit: LogLine, words: Words) -> tuple[str, str]:
    """A mood and the word for it."""
    return _OUTCOMES[visit.outcome], words(f"sources.outcome_{visit.outcome}")


def _stroke_height(visit: VisitMark) -> int:
    seconds = max(0.0, (visit.finished_at - visit.started_at).total_seconds())
    return min(_STRIP_HEIGHT, _LEAST_MARK + round(3 * log2(1 + seconds)))


def chart_of(counts: Mapping[date, int], days: Sequence[Day], words: Words) -> list[Bar]:
    most = max([*counts.values(), 1])
    return [
        Bar(
            name=(name := one.day.isoformat()),
            value=(count := counts.get(one.day, 0)),
            height=_height(count, most, _CHART_HEIGHT),
            label=words("sources.day_items", day=name, count=count),
        )
        for one in days
    ]


def day_strip_of(visits: Mapping[date, DayOfVisits], days: Sequence[Day], words: Words) -> list[Bar]:
    most = max([one.visits + one.excused for one in visits.values()] + [1])
    bars = []
    for day in (each.day for each in days):
        one, name = visits.get(day, DayOfVisits(day=day)), day.isoformat()
        count = one.visits + one.excused
        label = counted_visits(
            "sources.day_visits", words, day=name, visits=one.visits, failed=one.failed, excused=one.excused
        )
        height = max(_height(count, most, _DAY_HEIGHT), _LEAST_BAR)
        bars.append(Bar(name=name, value=count, height=height, label=label, mood=_day_mood(one)))
    return bars


def _day_mood(day: DayOfVisits) -> str:
    if not day.visits:
        return "calm" if day.excused else "none"
    if day.failed == day.visits:
        return "bad"
    return "warn" if day.failed else "ok"


def _height(count: int, most: int, highest: int) -> int:
    return max(_LEAST_BAR, round(highest * count / most)) if count else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    visits: list[LogLine]
    days: dict[date, DayOfVisits]
    per_day: dict[date, int]
    latest: list[StoredItem]
    network_away: bool


def read_history_of(
    conn: Connection, source: Source, page: Page, *, visits: int, latest: int, days: Sequence[Day]
) -> History:
    query = ItemQuery(caller=page.caller, source_id=source.id, limit=latest)
    return History(
        visits=source_list.visits_of(conn, source.id, limit=visits) if page.caller.is_known else [],
        days=fetch_log.by_day(conn, source.id, days),
        per_day=source_list.items_by_day(conn, source.id, days),
        latest=items.list_items(conn, query),
        network_away=is_network_away(conn),
    )


def why_of(source: Source, health: SourceHealth, past: History, words: Words, *, now: datetime) -> str:
    """What is to be known of it besides its error and its next check, which the page has anyway."""
    language = words.language
    away = past.network_away
    sentences = explain(source, health, past.visits, now=now, network_away=away, language=language, on_page=True)
    return words.say(words.joined(sentences))


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFetch:
    """Sources of which somebody said that they be fetched now, and when."""

    at: datetime
    ids: tuple[int, ...]
    #: They are followed since then.
    is_first: bool = False

    def __str__(self) -> str:
        """Empty where they are too many to be followed."""
        if len(self.ids) > PAGE_ROWS:
            return ""
        return ".".join(map(str, (round(self.at.timestamp() * 1000), int(self.is_first), *self.ids)))

    @classmethod
    def read(cls, told: str) -> AskedFetch | None:
        """None where it is nothing of ours."""
        try:
            at, is_first, *ids = told.split(".")
            moment = datetime.fromtimestamp(int(at) / 1000, UTC)
            return cls(at=moment, ids=tuple(map(number_of, ids)), is_first=is_first == "1")
        except (ValueError, OverflowError, OSError, InvalidInput):
            return None

    def answered_by(self, last: LogLine | None) -> LogLine | None:
        """The last visit of a source, if it came of this."""
        return last if last and last.finished_at >= self.at else None


async def fetch_notice(page: Page) -> dict[str, Markup]:
    """The line about a fetch that was asked for: that it is under way, and in the end what it came to."""
    asked = AskedFetch.read(page.asked_fetch)
    if asked is None or not page.may_write:
        return {}
    found = await page.system.store.read(_read_fetched, asked, page.caller)
    if not found:
        return {}
    told = await _told_of_one(page, asked, found[0]) if len(found) == 1 else _told_of_some(page, asked, found)
    return {"fetch-notice": page.part("parts/fetch_notice.html", mood=told[0], told=told[1])}


@dataclass(frozen=True, slots=True, kw_only=True)
class _FetchState:
    """How far a fetch is that was asked for."""

    source: Source
    #: That which answers it.
    visit: LogLine | None
    #: Somebody is there at this moment, whoever it is.
    is_visited: bool


def _read_fetched(conn: Connection, asked: AskedFetch, caller: Caller) -> list[_FetchState]:
    found = [source for source in sources.get_many(conn, asked.ids) if caller.may_change(source)]
    ids = [source.id for source in found]
    visits, visited = source_list.last_lines(conn, ids), runs.being_visited(conn, ids)
    return [
        _FetchState(source=one, visit=asked.answered_by(visits.get(one.id)), is_visited=one.id in visited)
        for one in found
    ]


async def _told_of_one(page: Page, asked: AskedFetch, state: _FetchState) -> tuple[str, str]:
    words, visit, told = page.words, state.visit, {"what": state.source.name}
    doing = "sources.followed" if asked.is_first else "sources.fetching"
    if _is_put_off(page, state):
        return "warn", await _told_of_delay(page, state.source, doing)
    if visit is None:
        return "ok", words(doing, **told)
    if not visit.ok:
        say = words.say if state.source.next_check.at else words.say_past
        return "bad", words(f"{doing}_failed", error=say(visit.error or ""), **told)
    return "ok", words(f"{doing}_brought" if visit.inserted else f"{doing}_nothing", count=visit.inserted, **told)


async def _told_of_delay(page: Page, source: Source, doing: str) -> str:
    """One that is paused is not fetched later either, unless it is to be looked at all the same."""
    viewer, words = await page.viewer(), page.words
    if source.next_check.at is not None:
        return words(f"{doing}_later", what=source.name, reason=viewer.describe(source).next_check_reason)
    if put_off := page.system.visits.put_off(source.id):
        reason = viewer.describe(replace(source, next_check=put_off)).next_check_reason
        return words("sources.fetching_paused_later", what=source.name, reason=reason)
    return words("sources.fetching_paused", what=source.name, reason=viewer.describe(source).next_check_reason)


def _is_put_off(page: Page, state: _FetchState) -> bool:
    """It was not visited after all, and is not due any more; or nothing here can."""
    source = state.source
    if state.visit is not None:
        return False
    if page.system.registry.why_skipped(source.type):
        return True
    if not source.is_active:
        return not state.is_visited and not page.system.visits.is_under_way(source.id)
    return source.next_check.at is None or source.next_check.at > page.system.clock.now()


def _told_of_some(page: Page, asked: AskedFetch, found: Sequence[_FetchState]) -> tuple[str, str]:
    done = [state.visit for state in found if state.visit or _is_put_off(page, state)]
    if asked.is_first and not done:
        return "ok", page.words("sources.followed_all", count=len(found))
    if len(done) < len(found):
        return "ok", page.words("sources.fetching_some", done=len(done), count=len(found))
    doing = "sources.followed_all" if asked.is_first else "sources.fetching_some"
    well = [visit for visit in done if visit and visit.ok]
    counts = {"count": len(found), "well": len(well), "new": sum(visit.inserted for visit in well)}
    if len(well) < len(found):
        return "warn", page.words(f"{doing}_failed", **counts)
    return "ok", page.words(f"{doing}_done", **counts)


def address_of(source: Source) -> str:
    url = source.config.get("url")
    return redact_url(url) if isinstance(url, str) else ""


def _sane(text: str) -> str:
    """What no store can compare finds nothing."""
    return text if text.isprintable() else "\N{REPLACEMENT CHARACTER}"
