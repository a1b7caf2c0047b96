from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from command import Command

from catchment.domain.alert import Alert
from catchment.domain.alert_rules import AlertRule, Severity
from catchment.store import alerts
from catchment.store.database import open_store
from catchment.store.migrate import migrate
from source_factory import START


async def raise_alert(home: Path) -> None:
    raised = Alert(
        rule=AlertRule.COOKIE_EXHAUSTED,
        subject="xhs",
        severity=Severity.P0,
        message="None is left.",
        since=START,
        fired_at=START,
    )
    store = open_store(f"sqlite:///{home / 'catchment.sqlite3'}")
    await migrate(store)
    await store.write(alerts.save, [raised], events={})
    await store.close()


@pytest.mark.proves("E-12")
def test_alerts_are_shown_by_command_and_with_the_status(catchment: Command, home: Path) -> None:
    assert catchment.json("alerts") == []
    asyncio.run(raise_alert(home))
    [one] = catchment.json("alerts")
    assert (one["rule"], one["severity"], one["runbook"]) == (
        "COOKIE_EXHAUSTED",
        "P0",
        "docs/runbooks/cookie-exhausted.md",
    )
    shown = catchment("alerts")
    assert "None is left." in shown.stdout
    assert "1 open." in shown.stderr
    assert "COOKIE_EXHAUSTED" in catchment("status").stdout
    assert [alert["rule"] for alert in catchment.json("status")["alerts"]] == ["COOKIE_EXHAUSTED"]


@pytest.mark.proves("E-12")
def test_a_webhook_is_given_its_form_by_command(catchment: Command) -> None:
    words = ("hooks", "add", "https://hooks.example/x", "--name", "chat", "--topic", "alert", "--format", "slack")
    made = catchment.json(*words)
    assert (made["format"], made["secret"]) == ("slack", "")
    assert [hook["format"] for hook in catchment.json("hooks", "list")] == ["slack"]


@pytest.mark.proves("H-04")
def test_an_address_of_apprise_is_added_listed_masked_and_tried(catchment):
    words = (
        "hooks",
        "add",
        "tgram://123456789:SECRETPART_SECRETPART/12345678",
        "--name",
        "phone",
        "--format",
        "apprise",
    )
    added = catchment(*words)
    assert added.exit_code == 0, added.output
    assert "Secret" not in added.output
    listed = catchment("hooks", "list").output
    assert "tgram://" in listed
    assert "SECRETPART" not in listed
    assert "is on its way" in catchment("hooks", "ping", "1").output
    refused = catchment(
        "hooks", "add", "tgram://1:x/2", "--name", "y", "--format", "apprise", CATCHMENT_APPRISE_SCHEMES="none"
    )
    assert refused.exit_code == 1
    assert "not allowed here" in refused.output
