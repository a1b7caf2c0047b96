"""Alerts as people deal with them: acknowledged, muted, with a runbook, and by a channel that can be tried."""

from __future__ import annotations

import re
import tomllib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Template
from test_web_alerts import alert, raise_alerts
from test_web_published import statements
from test_web_source_pages import HOSTILE, send, told
from web_site import Site

import catchment
from catchment.clock import ManualClock
from catchment.domain.alert_rules import AlertRule, Severity
from catchment.domain.cookie_pool import Forecast
from catchment.domain.note import Platform
from catchment.domain.outbox import Topic
from catchment.manage.webhooks import NewWebhook
from catchment.monitor.alerting import MAX_SHOWN
from catchment.monitor.status import Language
from catchment.web.routes.alert_pages import RUNBOOKS, rendered, runbook
from source_factory import START


async def sign_in(site: Site, who: str) -> Site:
    assert (await site.post("/signin", data={"key": site.keys[who]})).status_code == 303
    return site


async def open_alerts(site: Site, who: str = "admin") -> list[dict[str, object]]:
    found: list[dict[str, object]] = (await site.get("/api/alerts", who)).json()["open"]
    return found


@pytest.mark.proves("G-08")
async def test_an_alert_is_acknowledged_and_muted_by_the_api(site: Site, clock: ManualClock):
    await raise_alerts(site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0))
    [one] = await open_alerts(site)
    path = f"/api/alerts/{one['id']}"
    taken = (await site.post(f"{path}/acknowledge", "admin")).json()
    assert (taken["acknowledged_by"], taken["acknowledged_at"]) == ("admin", one["since"])
    muted = (await site.post(f"{path}/mute", "admin", json={"minutes": 90})).json()
    assert muted["muted_until"] > muted["since"]
    assert (await site.delete(f"{path}/acknowledge", "admin")).json()["acknowledged_at"] is None
    assert (await site.delete(f"{path}/mute", "admin")).json()["muted_until"] is None
    assert (await site.post(f"{path}/mute", "admin", json={"minutes": 0})).status_code == 422
    trail = (await site.get("/api/admin/audit-trail", "admin")).text
    for action in ("alert.acknowledge", "alert.mute", "alert.withdraw", "alert.unmute"):
        assert f'"{action}"' in trail
    assert (await site.post("/api/alerts/999/acknowledge", "admin")).status_code == 404
    await raise_alerts(site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", resolved_at=clock.now()))
    assert (await site.post(f"{path}/acknowledge", "admin")).status_code == 409


@pytest.mark.proves("G-01", "G-08")
@pytest.mark.parametrize(
    ("lang", "words"), [("en", "No sources yet. 1 alert open."), ("zh", "还没有信息源。1 条告警。")]
)
async def test_the_overview_says_first_that_alerts_are_open(lean_site: Site, clock: ManualClock, lang: str, words: str):
    await raise_alerts(lean_site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0))
    assert f'id="lede">{words}</p>' in (await lean_site.get(f"/?lang={lang}", "admin")).text
    await raise_alerts(lean_site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", resolved_at=clock.now()))
    over = await lean_site.get(f"/?lang={lang}", "admin")
    assert f'id="lede">{words.partition("1")[0].strip()}</p>' in over.text


@pytest.mark.proves("G-08")
async def test_an_alert_is_for_admins_and_for_whoever_may_change_its_source(site: Site):
    hers, everybodys = await site.add_source(site.alice, "hers"), await site.add_source(site.alice, "open", public=True)
    about = [alert(AlertRule.SOURCE_BROKEN, str(source.id)) for source in (hers, everybodys)]
    await raise_alerts(site, *about, alert(AlertRule.COLLECTOR_LATE, "collector"))
    ids = {one["subject"]: one["id"] for one in await open_alerts(site)}

    async def answers(who: str) -> list[int]:
        order = (str(hers.id), str(everybodys.id), "collector")
        return [(await site.post(f"/api/alerts/{ids[about]}/acknowledge", who)).status_code for about in order]

    assert await answers("bob") == [404, 403, 403]
    assert await answers("service") == [403, 403, 403]
    assert await answers("alice") == [200, 200, 403]
    assert await answers("admin") == [200, 200, 200]


@pytest.mark.proves("G-08")
@pytest.mark.parametrize(("told_again", "to"), [(False, Topic.ALERT), (True, Topic.ALERT), (True, Topic.ITEMS_NEW)])
async def test_an_alert_is_not_said_to_be_told_before_it_began_or_to_nobody(
    lean_site: Site, told_again: bool, to: Topic
):
    began = START + timedelta(minutes=3)
    again = alert(
        AlertRule.DISK_NEARLY_FULL, "disk", since=began, fired_at=began, told_at=began if told_again else START
    )
    await raise_alerts(lean_site, again)
    await lean_site.system.webhooks.add(NewWebhook(name="chat", url="https://chat.example/hook", topics=(to,)))
    await sign_in(lean_site, "admin")
    is_said = "· told <time" in (await lean_site.get("/alerts")).text
    assert is_said == (told_again and to is Topic.ALERT)


@pytest.mark.proves("G-08")
async def test_the_page_has_what_fires_what_was_and_what_can_be_done(lean_site: Site, clock: ManualClock):
    await raise_alerts(
        lean_site,
        alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0),
        alert(AlertRule.COLLECTOR_LATE, "collector", resolved_at=START - timedelta(days=20)),
        alert(AlertRule.DISK_NEARLY_FULL, "disk", resolved_at=START - timedelta(days=40)),
    )
    await sign_in(lean_site, "admin")
    page = (await lean_site.get("/alerts")).text
    assert "1 open, 1 not looked after yet." in page
    assert '<b>P0, see to it now:</b> <span class="name">Cookies used up</span>' in page
    assert "Collector late" in page
    assert "Disk nearly full" not in page
    counted = re.compile(r'href="/alerts"[^>]*>Alerts <b class="count"[^>]*>1</b>')
    assert counted.search(page)
    assert re.search(r'>Menu <b class="count"[^>]* title="Alerts">1</b></button>', page), (
        "a phone shows it with the menu closed"
    )
    for path in ("/account", "/nowhere"):
        answer = await lean_site.get(path, headers={"Accept": "text/html"})
        assert counted.search(answer.text), path
    [one] = await open_alerts(lean_site)
    done = await told(lean_site, await send(lean_site, "/alerts/act", do=f"acknowledge {one['id']}"))
    assert "Nothing more is told of it until it ends." in done
    assert f'name="do" value="withdraw {one["id"]}"' in done
    assert "each is acknowledged or muted" in done
    done = await told(lean_site, await send(lean_site, "/alerts/act", do=f"withdraw {one['id']}"))
    assert "it will be told again" in done
    done = await told(lean_site, await send(lean_site, "/alerts/act", do=f"mute {one['id']}", minutes="480"))
    assert "muted, told again" in done
    clock.advance(timedelta(hours=9))
    assert "muted, told again" not in (await lean_site.get("/alerts")).text
    done = await told(lean_site, await send(lean_site, "/alerts/act", do=f"mute {one['id']}", minutes="99999999"))
    assert "An alert is muted for 1 to 43200 minutes." in done
    done = await told(lean_site, await send(lean_site, "/alerts/act", do="unmute x"))
    assert "is not a number of ours" in done
    forged = await lean_site.post("/alerts/act", data={"do": f"acknowledge {one['id']}"})
    assert forged.status_code == 403


@pytest.mark.proves("G-08")
async def test_an_alert_that_fires_again_leaves_its_earlier_turns_in_the_past(lean_site: Site, clock: ManualClock):
    turns = [START - timedelta(minutes=minutes) for minutes in (40, 30, 20)]
    over = [
        alert(AlertRule.COLLECTOR_LATE, "late", since=at, fired_at=at, resolved_at=at + timedelta(minutes=5))
        for at in turns
    ]
    await raise_alerts(lean_site, *over)
    await sign_in(lean_site, "admin")
    overview = (await lean_site.get("/")).text
    assert overview.count("about late") == 1, "the overview says once that it is over"
    recent = (await lean_site.get("/api/alerts", "admin")).json()["recent"]
    assert len({one["id"] for one in recent}) == 3
    await send(lean_site, "/alerts/act", do=f"mute {recent[-1]['id']}", minutes=60)
    assert (await past_of(lean_site)).count('value="unmute ') == 1, "beside its latest turn"
    await raise_alerts(lean_site, alert(AlertRule.COLLECTOR_LATE, "late", muted_until=clock.now() + timedelta(hours=1)))
    past = await past_of(lean_site)
    assert past.count("about late") == 3
    assert 'value="unmute ' not in past
    assert (await lean_site.get("/")).text.count("about late") == 1, "it fires"


@pytest.mark.proves("G-08", "G-11")
async def test_when_the_next_cookie_is_back_is_told_where_one_is(lean_site: Site):
    dry = Forecast(
        platform=Platform.XHS,
        total=3,
        available=0,
        remaining_today=0,
        per_hour=0,
        dry_at=None,
        next_back_at=START + timedelta(minutes=54),
    )
    await raise_alerts(lean_site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0, message=dry.sentence))
    await sign_in(lean_site, "admin")
    for path in ("/alerts", "/"):
        assert 'is back at <time data-clock datetime="2026-03-01T12:54:00Z">' in (await lean_site.get(path)).text


async def past_of(site: Site) -> str:
    return (await site.get("/alerts")).text.partition('id="past"')[2]


@pytest.mark.proves("G-08")
async def test_who_may_not_change_an_alert_sees_it_without_buttons_and_no_channels(lean_site: Site):
    await raise_alerts(lean_site, alert(AlertRule.COOKIE_EXHAUSTED, "xhs", Severity.P0))
    await sign_in(lean_site, "bob")
    page = (await lean_site.get("/alerts")).text
    assert "Cookies used up" in page
    assert 'name="do"' not in page
    assert "Who is told" not in page
    [one] = await open_alerts(lean_site, "bob")
    assert "Only an admin" in await told(
        lean_site, await send(lean_site, "/alerts/act", do=f"mute {one['id']}", minutes=60)
    )
    stranger = await lean_site.get("/", headers={"Cookie": ""})
    assert 'href="/alerts"' not in stranger.text


@pytest.mark.proves("S-03", "G-08")
async def test_the_page_of_many_alerts_asks_the_store_as_often_as_that_of_one(lean_site: Site):
    hers = [await lean_site.add_source(lean_site.alice, f"hers-{number}") for number in range(4)]
    others = await lean_site.add_source(lean_site.bob, "others", public=True)
    await sign_in(lean_site, "alice")
    await lean_site.get("/alerts")
    asked: list[int] = []
    for some in (hers[:1], hers):
        told_of = [alert(AlertRule.SOURCE_BROKEN, str(source.id)) for source in (*some, others)]
        await raise_alerts(lean_site, *told_of)
        with statements() as sent:
            page = (await lean_site.get("/alerts")).text
        asked.append(len(sent))
        assert page.count('value="acknowledge ') == len(some), "of her own sources only"
        assert page.count(f' title="Alerts">{len(some) + 1}</b>') == 2
    assert asked[0] == asked[1]


@pytest.mark.proves("S-03")
async def test_the_components_are_made_once_for_all_rows_of_a_page(lean_site: Site, monkeypatch: pytest.MonkeyPatch):
    sources = [await lean_site.add_source(lean_site.alice, f"hers-{number}") for number in range(3)]
    made: list[str] = []
    make = Template.make_module

    def note(template: Template, *given: Any, **named: Any) -> Any:
        made.append(str(template.name))
        return make(template, *given, **named)

    monkeypatch.setattr(Template, "make_module", note)
    page = (await lean_site.get("/sources", "alice")).text
    assert page.count("data-row") == len(sources)
    assert made == ["ui.html"]


@pytest.mark.proves("G-08")
@pytest.mark.parametrize(("count", "is_cut"), [(MAX_SHOWN - 1, False), (MAX_SHOWN + 1, True)])
async def test_a_list_of_alerts_that_is_cut_says_so(lean_site: Site, count: int, *, is_cut: bool):
    site = await sign_in(lean_site, "admin")
    await raise_alerts(site, *(alert(AlertRule.WEBHOOK_GIVEN_UP, str(number)) for number in range(count)))
    assert (f"No more than {MAX_SHOWN} alerts are shown." in (await site.get("/alerts")).text) == is_cut


@pytest.mark.proves("G-08")
async def test_a_channel_is_tried_from_the_page(lean_site: Site):
    address = "https://hooks.slack.com/services/T00000000/B00000000/SECRETPARTSECRETPART"
    hook, _ = await lean_site.system.webhooks.add(NewWebhook(name=HOSTILE, url=address, topics=(Topic.ALERT,)))
    await lean_site.system.webhooks.add(NewWebhook(name="of items", url=address, topics=(Topic.ITEMS_NEW,)))
    await sign_in(lean_site, "admin")
    done = await told(lean_site, await send(lean_site, "/alerts/test", webhook=hook.id))
    assert "A test message is on its way" in done
    assert "of items" not in done
    assert "SECRETPART" not in done
    [letter] = await lean_site.system.webhooks.deliveries(webhook_id=hook.id)
    assert letter.topic == Topic.PING
    assert "is not here" not in (await lean_site.get("/alerts")).text
    assert "<script>window" not in (await lean_site.get("/alerts")).text


@pytest.mark.proves("G-08")
@pytest.mark.parametrize("language", Language)
async def test_hostile_texts_in_an_alert_are_texts(lean_site: Site, language: Language):
    raised = alert(AlertRule.COOKIE_EXHAUSTED, HOSTILE, message=HOSTILE)
    await raise_alerts(lean_site, raised, alert(AlertRule.SOURCE_BROKEN, "7", message=HOSTILE, resolved_at=START))
    page = (await lean_site.get(f"/alerts?lang={language}", "admin")).text
    assert "&lt;script&gt;window.ran=1" in page
    assert "<script>window" not in page
    assert "<img" not in page


@pytest.mark.proves("G-08")
@pytest.mark.parametrize("rule", AlertRule)
async def test_every_rule_has_its_runbook_on_a_page(lean_site: Site, rule: AlertRule):
    page = await lean_site.get(f"/alerts/runbooks/{Path(rule.runbook).stem}", "alice")
    assert page.status_code == 200
    assert "<h2>What to do</h2>" in page.text
    chinese = (await lean_site.get(f"/alerts/runbooks/{Path(rule.runbook).stem}?lang=zh", "alice")).text
    assert rule.chinese in chinese


@pytest.mark.proves("G-08")
async def test_a_runbook_is_sanitised_and_links_to_others_below_the_sub_path(lean_site: Site):
    shown = rendered("## a\n\n<script>x</script> [other](cookie-exhausted.md) [bad](javascript:alert(1)) `<b>`")
    assert "<script" not in shown
    assert "javascript:alert" not in re.sub(r">[^<]*<", "", shown)
    assert 'href="https://runbooks.invalid/cookie-exhausted"' in shown
    page = (await lean_site.get("/alerts/runbooks/cookies-running-dry", "alice")).text
    assert 'href="/alerts/runbooks/cookie-exhausted"' in page
    for name in ("nothing", "..%2Foperations", "README"):
        assert (await lean_site.get(f"/alerts/runbooks/{name}", "alice")).status_code == 404


@pytest.mark.proves("G-11")
def test_where_a_line_ends_within_chinese_text_there_is_no_blank():
    assert rendered("其余选项\n不变") == "<p>其余选项不变</p>"
    assert rendered("自动**重试**\n（见上）") == "<p>自动<strong>重试</strong>（见上）</p>"
    assert rendered("用\n`catchment status`\nor look") == "<p>用\n<code>catchment status</code>\nor look</p>"


def test_the_runbooks_are_in_the_package_that_is_built():
    root = Path(catchment.__file__).parents[2]
    built = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert built["force-include"] == {"docs": "catchment/docs"}
    assert RUNBOOKS[0] == Path(catchment.__file__).parent / "docs" / "runbooks"
    assert runbook(AlertRule.SOURCE_GAP, Language.ENGLISH)
