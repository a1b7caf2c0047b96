"""Alerts as they are seen: by API, on the dashboard, in the metrics, and by whom."""

from __future__ import annotations

from datetime import timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families
from web_site import Site

from catchment.clock import ManualClock
from catchment.domain.alert import Alert
from catchment.domain.alert_rules import AlertRule, Severity
from catchment.redact import MASK
from catchment.store import alerts
from catchment.web.translations import words_in
from source_factory import START
from stores import on_sqlite_alone


def alert(rule: AlertRule, subject: str, severity: Severity = Severity.P1, **values: object) -> Alert:
    usual = {"message": f"about {subject}", "since": START, "fired_at": START, "told_at": START}
    return Alert(rule=rule, subject=subject, severity=severity, **{**usual, **values})  # type: ignore[arg-type]


async def raise_alerts(site: Site, *raised: Alert) -> None:
    await site.system.store.write(alerts.save, raised, events={})


@on_sqlite_alone
@pytest.mark.proves("E-12")
async def test_what_fires_comes_first_the_most_severe_before_the_rest(site: Site):
    await raise_alerts(
        site,
        alert(AlertRule.PROCESSING_BACKLOG, "notes", Severity.P2),
        alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0),
        alert(AlertRule.COLLECTOR_LATE, "collector", resolved_at=START),
        alert(AlertRule.DISK_NEARLY_FULL, "disk", fired_at=None),
    )
    answer = (await site.get("/api/alerts", "alice")).json()
    assert [one["rule"] for one in answer["open"]] == ["COOKIE_EXHAUSTED", "PROCESSING_BACKLOG"]
    assert [one["rule"] for one in answer["recent"]] == ["COLLECTOR_LATE"]
    assert answer["open"][0]["runbook"] == "docs/runbooks/cookie-exhausted.md"
    assert (await site.get("/api/alerts")).status_code == 401
    status = (await site.get("/api/collector/status", "admin")).json()
    assert [one["rule"] for one in status["alerts"]] == ["COOKIE_EXHAUSTED", "PROCESSING_BACKLOG"]


@pytest.mark.proves("A-35")
@pytest.mark.parametrize("rule", [rule for rule in AlertRule if rule.is_about_source])
async def test_an_alert_about_a_source_is_seen_by_those_who_may_see_the_source(site: Site, rule: AlertRule):
    hers = await site.add_source(site.alice, "hers")
    everybodys = await site.add_source(site.alice, "everybodys", public=True)
    about = [alert(rule, str(source.id)) for source in (hers, everybodys)]
    await raise_alerts(site, *about)

    async def seen(who: str) -> set[str]:
        return {one["subject"] for one in (await site.get("/api/alerts", who)).json()["open"]}

    assert await seen("alice") == await seen("admin") == {str(hers.id), str(everybodys.id)}
    assert await seen("bob") == {str(everybodys.id)}
    assert "about" not in (await site.get("/")).text


@pytest.mark.proves("E-12")
@pytest.mark.parametrize(("language", "word"), [("en", "Cookies used up"), ("zh", "Cookie 耗尽")])
async def test_the_dashboard_shows_what_fires_in_its_colour(lean_site: Site, language: str, word: str):
    await raise_alerts(lean_site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0, message="<b>none</b>"))
    page = (await lean_site.get(f"/?lang={language}", "admin")).text
    assert word in page
    assert 'data-mood="red"' in page
    assert "/alerts/runbooks/cookie-exhausted" in page
    assert "&lt;b&gt;none" in page


@pytest.mark.proves("E-12")
@pytest.mark.parametrize(("language", "word"), [("en", "resolved"), ("zh", "已恢复")])
async def test_the_dashboard_shows_for_an_hour_that_an_alert_is_over(
    lean_site: Site, clock: ManualClock, language: str, word: str
):
    over = alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0, resolved_at=START)
    await raise_alerts(lean_site, over, alert(AlertRule.PROCESSING_BACKLOG, "notes", Severity.P2))
    page = (await lean_site.get(f"/?lang={language}", "admin")).text
    assert page.index("about notes") < page.index("about xhs"), "what still fires comes first"
    assert 'data-mood="green"' in page[: page.index("about xhs")]
    assert word in page
    clock.advance(timedelta(hours=1))
    page = (await lean_site.get(f"/?lang={language}", "admin")).text
    assert "about xhs" not in page
    assert "about notes" in page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_rule_has_its_words(language: str):
    assert all(words_in(language)(f"alerts.{rule}") for rule in AlertRule)  # type: ignore[arg-type]


async def test_alerts_are_counted_by_severity_for_those_who_measure(lean_site: Site):
    await raise_alerts(lean_site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0))
    families = text_string_to_metric_families((await lean_site.get("/metrics")).text)
    [gauge] = [family for family in families if family.name == "catchment_alerts"]
    assert {sample.labels["severity"]: sample.value for sample in gauge.samples} == {"P0": 1, "P1": 0, "P2": 0, "P3": 0}
    assert (await lean_site.get("/api/metrics")).json()["alerts"]["P0"] == 1


@pytest.mark.proves("E-12")
async def test_a_webhook_is_given_its_form_by_api(lean_site: Site):
    address = "https://open.example/hook/QpZsEcReTpAtH"
    body = {"name": "bot", "url": address, "topics": ["alert"], "format": "lark", "secret": "s"}
    made = (await lean_site.post("/api/admin/webhooks", "admin", json=body)).json()
    assert (made["format"], made["secret"]) == ("lark", "s")
    [listed] = (await lean_site.get("/api/admin/webhooks", "admin")).json()
    assert (listed["format"], "secret" in listed) == ("lark", False)
    assert {made["url"], listed["url"]} == {f"https://open.example/hook/{MASK}"}
    wrong = await lean_site.post("/api/admin/webhooks", "admin", json={**body, "format": "fax"})
    assert wrong.status_code == 422
