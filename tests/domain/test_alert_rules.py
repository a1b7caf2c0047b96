"""What deserves an alert, rule by rule."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from catchment.domain.alert_rules import (
    LEAST_FREE_BYTES,
    TERMS,
    AlertRule,
    AlertSnapshot,
    RequestCount,
    Room,
    Severity,
    SilentWebhook,
    SourceTrouble,
    Spending,
    TroubledSource,
    look,
)
from catchment.domain.cookie_pool import Forecast
from catchment.domain.note import Platform
from source_factory import START

MINUTE = timedelta(minutes=1)
GB = 1024**3


def pool(**changes):
    usual = {
        "platform": Platform.XHS,
        "total": 3,
        "available": 2,
        "remaining_today": 50,
        "per_hour": 40,
        "dry_at": None,
        "next_back_at": None,
    }
    return (Forecast(**{**usual, **changes}),)


def requests(ok, failed):
    return (RequestCount(platform="xhs", ok=ok, failed=failed),)


def source(trouble):
    return (TroubledSource(id=7, name="News", trouble=trouble, detail="HTTP 500"),)


def spent(pages, cap):
    return (Spending(period="day", pages=pages, cap=cap),)


def room(free, total):
    return Room(path="/data", free=free, total=total)


@pytest.mark.proves("E-12", "A-35")
@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        ({}, []),
        ({"cookies": pool(available=0)}, [(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0)]),
        ({"cookies": pool(available=1)}, []),
        ({"cookies": pool(dry_at=START + 30 * MINUTE)}, [(AlertRule.COOKIES_RUNNING_DRY, "xhs", Severity.P2)]),
        ({"cookies": pool(dry_at=START + 120 * MINUTE)}, []),
        ({"cookies": pool(dry_at=START + 30 * MINUTE, per_hour=3)}, []),
        ({"requests": requests(89, 11)}, [(AlertRule.API_SUCCESS_RATE_LOW, "xhs", Severity.P1)]),
        ({"requests": requests(90, 10)}, []),
        ({"requests": requests(0, 9)}, []),
        ({"pending_notes": 501}, [(AlertRule.PROCESSING_BACKLOG, "notes", Severity.P2)]),
        ({"pending_notes": 500}, []),
        ({"recovered_executions": 1}, [(AlertRule.LOCK_TIMEOUT_RECOVERED, "executions", Severity.P1)]),
        ({"recovered_records": 6}, [(AlertRule.LOCK_TIMEOUT_RECOVERED, "records", Severity.P2)]),
        ({"recovered_records": 5}, []),
        ({"invalid_notes": 2}, [(AlertRule.INVALID_INPUT, "notes", Severity.P3)]),
        ({"sources": source(SourceTrouble.BROKEN)}, [(AlertRule.SOURCE_BROKEN, "7", Severity.P2)]),
        ({"sources": source(SourceTrouble.GONE)}, [(AlertRule.SOURCE_BROKEN, "7", Severity.P2)]),
        ({"sources": source(SourceTrouble.QUIET)}, [(AlertRule.SOURCE_QUIET, "7", Severity.P3)]),
        ({"sources": source(SourceTrouble.GAP)}, [(AlertRule.SOURCE_GAP, "7", Severity.P3)]),
        ({"late_sources": 3}, [(AlertRule.COLLECTOR_LATE, "collector", Severity.P1)]),
        ({"x_key_refused": "no"}, [(AlertRule.X_KEY_REFUSED, "x", Severity.P1)]),
        ({"x_no_credit": "no"}, [(AlertRule.X_NO_CREDIT, "x", Severity.P1)]),
        ({"x_rate_limited": "no"}, [(AlertRule.X_RATE_LIMITED, "x", Severity.P2)]),
        ({"x_scrape_failed": "no"}, [(AlertRule.X_SCRAPE_FAILED, "x", Severity.P2)]),
        ({"spending": spent(80, 100)}, [(AlertRule.SPENDING_NEAR_CAP, "day", Severity.P2)]),
        ({"spending": spent(79, 100)}, []),
        ({"spending": spent(1_000_000, 0)}, []),
        ({"room": room(LEAST_FREE_BYTES - 1, 10 * GB)}, [(AlertRule.DISK_NEARLY_FULL, "disk", Severity.P1)]),
        ({"room": room(4 * GB, 100 * GB)}, [(AlertRule.DISK_NEARLY_FULL, "disk", Severity.P1)]),
        ({"room": room(6 * GB, 4000 * GB)}, []),
        (
            {"webhooks": (SilentWebhook(id=2, name="digest", given_up=4),)},
            [(AlertRule.WEBHOOK_GIVEN_UP, "2", Severity.P2)],
        ),
    ],
    ids=str,
)
def test_a_rule_finds_what_it_is_for_and_nothing_else(seen, expected):
    found = look(AlertSnapshot(at=START, **seen))
    assert [(one.rule, one.subject, one.severity) for one in found] == expected


@pytest.mark.proves("E-12")
def test_the_terms_are_those_of_the_document():
    asked = (AlertRule.COOKIE_EXHAUSTED, AlertRule.API_SUCCESS_RATE_LOW, AlertRule.PROCESSING_BACKLOG)
    terms = [TERMS[rule] for rule in asked]
    assert [one.lasting // MINUTE for one in terms] == [0, 10, 30]
    assert [one.cool_down // MINUTE for one in terms] == [5, 15, 60]


@pytest.mark.proves("E-12")
@pytest.mark.parametrize("rule", AlertRule)
def test_every_rule_has_its_terms_and_its_runbook(rule):
    assert rule in TERMS
    runbook = (Path(__file__).parents[2] / rule.runbook).read_text(encoding="utf-8")
    assert runbook.startswith(f"# {rule}\n")
    assert [f"## {part}" in runbook for part in ("What it means", "What to look at", "What to do")] == [True] * 3
