"""The watch: looks whether something deserves an alert, and tells whoever listens when it begins and when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.alert import AlertNews, Decisions, news_of, step
from catchment.domain.alert_rules import AlertRule, Finding, Key, Severity, Terms, look
from catchment.domain.outbox import Topic
from catchment.store import alerts, outbox
from catchment.store.alert_queries import AlertInputs, gather
from catchment.store.database import Store

_LEVELS: Mapping[Severity, str] = {Severity.P0: "ERROR", Severity.P1: "ERROR", Severity.P2: "WARNING"}


class AlertEvaluator:
    def __init__(self, *, store: Store, clock: Clock, watched: AlertInputs, terms: Mapping[AlertRule, Terms]) -> None:
        self._store = store
        self._clock = clock
        self._watched = watched
        self._terms = terms

    async def look(self) -> str:
        """Look once; says what is amiss."""
        now = self._clock.now()
        findings = look(await self._store.read(gather, self._watched, now=now))
        news = await self._store.write(_record, findings, self._terms, now=now)
        for one in news:
            _log(one)
        return f"{len(findings)} found, {len(news)} told"


def _record(
    conn: Connection, findings: list[Finding], terms: Mapping[AlertRule, Terms], *, now: datetime
) -> list[AlertNews]:
    """The alerts together with the events that tell of them: nothing is told unrecorded, or recorded untold."""
    decisions = step(alerts.list_known(conn), findings, terms, now)
    news = news_of(decisions.told)
    event_ids = outbox.emit(conn, Topic.ALERT, (one.payload() for one in news), now=now)
    _save(conn, decisions, _events(news, event_ids))
    return news


def _events(news: list[AlertNews], event_ids: list[str]) -> dict[Key, str | None]:
    """Which event tells of which alert that fires; none where nobody listens."""
    ids: list[str | None] = [*event_ids] or [None] * len(news)
    return {
        alert.key: event_id for one, event_id in zip(news, ids, strict=True) if one.is_firing for alert in one.alerts
    }


def _save(conn: Connection, decisions: Decisions, events: Mapping[Key, str | None]) -> None:
    alerts.save(conn, decisions.alerts, events=events)
    alerts.forget(conn, decisions.forgotten)


def _log(news: AlertNews) -> None:
    severity = news.alerts[0].severity
    level = _LEVELS.get(severity, "INFO") if news.is_firing else "INFO"
    state = "" if news.is_firing else "resolved: "
    event = "alert.fired" if news.is_firing else "alert.resolved"
    told = logger.bind(event=event, rule=news.rule, severity=severity)
    told.log(level, "alert {} {}{}: {} ({})", severity, state, news.rule, news.message, news.rule.runbook)
