"""The board: what the dashboard shows, ready to be put on the page by the server first and by the browser after."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import urlsplit

from sqlalchemy import Connection

from catchment.bootstrap import System
from catchment.domain.alert import Alert
from catchment.domain.item import StoredItem
from catchment.domain.source import PausedBy
from catchment.monitor.status import Mark, SourceHealth, SourceViewer, Stats, StatusSnapshot, View
from catchment.publish.payloads import TONES, Tone
from catchment.store import changes, items
from catchment.store.items import ItemQuery
from catchment.web.outputs import Moment, Out
from catchment.web.source_view import counted_visits, status_of
from catchment.web.translations import Words, words_in

MAX_SOURCES, MAX_ITEMS = 200, 30
#: Of alerts that are over so many are shown, for so long.
MAX_RESOLVED, RECENTLY = 5, timedelta(hours=1)
_DANGERS = frozenset({Mark.UNVERIFIED_TLS})


class Tile(Out):
    """A figure, and a line of small print. `mood` is calm, good, warn or bad."""

    key: str
    label: str
    value: str
    note: str
    mood: str


class SourceRow(Out):
    id: int
    name: str
    type: str
    #: A word for the style sheet, and one for people.
    mood: str
    status: str
    #: What to know about it although it works, and what is dangerous about it.
    warning: str
    danger: str
    last_fetched_at: Moment | None
    next_check_at: Moment | None
    reason: str
    count: str
    error: str


class ItemLine(Out):
    id: int
    title: str
    #: Empty unless it is safe to follow.
    url: str
    source: str
    at: Moment


class AlertLine(Out):
    #: The rule and what it is about.
    key: str
    #: The colour of its severity: red, orange, yellow or blue; green once it is over.
    mood: str
    severity: str
    title: str
    message: str
    #: Whether the moment is its beginning or its end, in a word.
    state: str
    at: Moment
    runbook: str


class Board(Out):
    tiles: list[Tile]
    alerts: list[AlertLine]
    sources: list[SourceRow]
    #: How many sources are not shown.
    hidden: int
    items: list[ItemLine]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lists:
    counts: Mapping[int, int]
    latest: list[StoredItem]


async def read_board(system: System, viewer: SourceViewer, taken: StatusSnapshot) -> Board:
    view, words = viewer.view, words_in(viewer.view.language)
    lists = await system.store.read(_read_lists, view, [source.id for source in taken.sources])
    return Board(
        tiles=_tiles(taken, words, probes=bool(system.settings.probe_hours)),
        alerts=[_alert(alert, words) for alert in (*taken.alerts, *_just_resolved(taken))],
        sources=[_row(source, lists.counts.get(source.id, 0), words) for source in taken.sources],
        hidden=max(0, taken.stats.total_sources - len(taken.sources)),
        items=sorted((_line(item, words) for item in lists.latest), key=lambda line: line.at, reverse=True),
    )


def _read_lists(conn: Connection, view: View, source_ids: list[int]) -> _Lists:
    query = ItemQuery(caller=view.caller, limit=MAX_ITEMS)
    return _Lists(counts=changes.item_counts(conn, source_ids), latest=items.list_items(conn, query))


def _tiles(taken: StatusSnapshot, words: Words, *, probes: bool) -> list[Tile]:
    stats = taken.stats
    paused = stats.paused_by_error
    is_all = 0 < stats.active_sources == stats.total_sources
    active = words("overview.all_active") if is_all else f"{_number(stats.active_sources)} {words('overview.active')}"
    gone = f" · {_number(stats.gone_sources)} {words('sources.gone')}" if stats.gone_sources else ""
    return [
        *_store_tiles(taken, words),
        _tile("sources", words("common.sources"), _number(stats.total_sources), note=active + gone),
        _failing_tile(taken, words),
        _tile(
            "paused",
            words("overview.paused_by_error"),
            _number(paused),
            note=words("overview.probed_again" if probes else "overview.not_probed") if paused else "",
            mood="bad" if paused else "calm",
        ),
        _tile("items", words("overview.new_items"), _number(stats.items_24h), note=words("overview.last_24h")),
        _tile(
            "success",
            words("overview.success_rate"),
            percent(stats.fetches_24h - stats.errors_24h, stats.fetches_24h),
            note=_visits(stats, words),
        ),
        _collector_tile(taken, words),
    ]


def _failing_tile(taken: StatusSnapshot, words: Words) -> Tile:
    """Without a network it is the network that fails."""
    if taken.collector.network_away:
        return _tile(
            "network",
            words("overview.network"),
            words("overview.away"),
            note=words("overview.nobody_reached"),
            mood="warn",
        )
    failing = taken.stats.failing_sources
    note, mood = (words("overview.tried_again"), "warn") if failing else ("", "calm")
    return _tile("failing", words("overview.failing"), _number(failing), note=note, mood=mood)


def _tile(key: str, label: str, value: str, *, note: str, mood: str = "calm") -> Tile:
    return Tile(key=key, label=label, value=value, note=note, mood=mood)


def _store_tiles(taken: StatusSnapshot, words: Words) -> list[Tile]:
    """Nothing while all is well."""
    if taken.store.trouble is None:
        return []
    note = words(f"overview.trouble_{taken.store.trouble}")
    return [_tile("store", words("overview.store"), words("overview.not_writable"), note=note, mood="bad")]


def _collector_tile(taken: StatusSnapshot, words: Words) -> Tile:
    state = taken.collector
    return _tile(
        "collector",
        words("overview.collector"),
        words("overview.running") if state.running else words("overview.stopped"),
        note=words("overview.flight", in_flight=_number(state.in_flight), queue=_number(state.queue)),
        mood="good" if state.running else "bad",
    )


def _row(source: SourceHealth, count: int, words: Words) -> SourceRow:
    is_broken = source.paused_by in {PausedBy.ERROR, PausedBy.GONE}
    return SourceRow(
        id=source.id,
        name=source.name,
        type=source.type,
        mood="broken" if is_broken else source.status,
        status=status_of(source, words),
        warning=" · ".join(words(f"sources.mark_{mark}") for mark in source.marks if mark not in _DANGERS),
        danger=" · ".join(words(f"sources.mark_{mark}") for mark in source.marks if mark in _DANGERS),
        last_fetched_at=source.last_fetched_at,
        next_check_at=source.next_check_at,
        reason=source.next_check_reason,
        count=_number(count),
        error=words.say(source.last_error.message) if source.last_error else "",
    )


def _just_resolved(taken: StatusSnapshot) -> list[Alert]:
    """Each once, however often it came back, and none that fires again."""
    recent = [alert for alert in taken.resolved if alert.resolved_at and taken.at - alert.resolved_at < RECENTLY]
    latest = {alert.key: alert for alert in reversed((*taken.alerts, *recent))}
    return [alert for alert in recent if latest[alert.key] is alert][:MAX_RESOLVED]


def _alert(alert: Alert, words: Words) -> AlertLine:
    return AlertLine(
        key=f"{alert.rule} {alert.subject}",
        mood=Tone.GREEN if alert.resolved_at else TONES[alert.severity],
        severity=alert.severity,
        title=words(f"alerts.{alert.rule}"),
        message=words.say_past(alert.message),
        state=words("alerts.resolved") if alert.resolved_at else words("alerts.began"),
        at=alert.resolved_at or alert.since,
        runbook=alert.rule.runbook,
    )


def _line(item: StoredItem, words: Words) -> ItemLine:
    return ItemLine(
        id=item.id,
        title=item.title.strip() or words("common.untitled"),
        url=item.url if _is_web_address(item.url) else "",
        source=item.source_name,
        at=item.published_at or item.fetched_at,
    )


def _is_web_address(url: str) -> bool:
    """Only these are made links: `javascript:` and its kin are not."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.netloc)


def _number(count: int) -> str:
    return f"{count:,}"


def _visits(stats: Stats, words: Words) -> str:
    counts = {"good": _number(stats.fetches_24h - stats.errors_24h), "all": _number(stats.fetches_24h)}
    return counted_visits("overview.visits", words, excused=stats.excused_24h, **counts)


def percent(part: int, whole: int) -> str:
    """Rounded, but never up to all: what is not all is not told as all."""
    if not whole:
        return "–"
    per_mille = (2000 * part + whole) // (2 * whole)
    return f"{(per_mille if part == whole else min(per_mille, 999)) / 10:.1f}%"
