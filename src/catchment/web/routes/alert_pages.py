"""The page of alerts: what fires and what was, what people say of it, what is to be done, and who is told."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.responses import Response
from markupsafe import Markup
from sqlalchemy import Connection

import catchment
from catchment.domain.alert import Alert
from catchment.domain.alert_rules import AlertRule
from catchment.domain.outbox import Delivery, Topic, Webhook
from catchment.errors import InvalidInput, NotFound
from catchment.manage.alerts import list_changeable
from catchment.monitor.alerting import MAX_SHOWN, list_alerts
from catchment.monitor.status import Language
from catchment.parse.html import markdown_as_html
from catchment.publish.payloads import TONES, Tone
from catchment.web.errors import OF_FORMS, page_router
from catchment.web.inputs import number_of
from catchment.web.pages import AdminPage, Content, Page, SignedInPage, Undo, form_fields, live

#: For how long one that ended is shown.
PAST = timedelta(days=30)
#: How long an alert is muted for, as the page offers it.
MUTES = (60, 8 * 60, 24 * 60, 7 * 24 * 60)
_PACKAGE = Path(catchment.__file__).parent
#: In an installed package, and in a working copy.
RUNBOOKS = (_PACKAGE / "docs" / "runbooks", _PACKAGE.parent.parent / "docs" / "runbooks")
#: Stands for the address of the runbooks until it is known who asks: the cleaner lets absolute links through only.
_NOWHERE = "https://runbooks.invalid/"
_TO_ANOTHER = re.compile(r"\]\(([a-z-]+)\.md\)")
router = page_router("/alerts")


@router.get("")
async def alerts_page(page: SignedInPage) -> Response:
    return await page.show_live("alerts.html", await read_alerts_page(page))


@live("/alerts", may=lambda caller: caller.is_known)
async def read_alerts_page(page: Page) -> Content:
    now = page.system.clock.now()
    found = await page.system.store.read(_read, page, now=now)
    latest = {alert.key: alert.id for alert, _ in reversed(found)}
    lines = [
        _line(alert, page, may=may and page.may_write, is_latest=latest[alert.key] == alert.id, now=now)
        for alert, may in found
    ]
    fires = [line for line in lines if line["alert"].is_open]
    past = [line for line in lines if not line["alert"].is_open]
    channels = await _channels(page)
    context = {"fires": fires, "past": past, "channels": channels, "is_cut": len(found) >= MAX_SHOWN}
    parts = {line["part"]: page.part("parts/alert.html", line=line, mutes=MUTES, channels=channels) for line in lines}
    parts |= {name: page.part(f"parts/{name.replace('-', '_')}.html", **context) for name in ("alert-channels",)}
    parts["lede"] = Markup('<p class="lede" id="lede">{}</p>').format(_lede(page, fires))
    lists = {"open": [line["part"] for line in fires], "past": [line["part"] for line in past]}
    return Content(context=context, parts=parts, lists=lists)


def _read(conn: Connection, page: Page, *, now: datetime) -> list[tuple[Alert, bool]]:
    shown = list_alerts(conn, page.caller, now=now, within=PAST)
    own = {alert.id for alert in list_changeable(conn, shown, page.caller)}
    return [(alert, alert.id in own) for alert in shown]


def _line(alert: Alert, page: Page, *, may: bool, is_latest: bool, now: datetime) -> dict[str, Any]:
    """A mute is said of an alert, however many turns it had, and stands beside the latest."""
    return {
        "part": f"alert-{alert.id}",
        "alert": alert,
        "mood": TONES[alert.severity] if alert.is_open else Tone.GREEN,
        "title": page.words(f"alerts.{alert.rule}"),
        "message": page.words.say_past(alert.message),
        "muted_until": alert.muted_until if is_latest and alert.is_muted(now) else None,
        "runbook": name_of(alert.rule),
        "source_id": alert.subject if alert.rule.is_about_source else None,
        "may_change": may,
    }


def _lede(page: Page, fires: list[dict[str, Any]]) -> str:
    waiting = sum(not (line["alert"].acknowledged_at or line["muted_until"]) for line in fires)
    key = "alerts.lede_none" if not fires else "alerts.lede_waiting" if waiting else "alerts.lede_looked_after"
    return page.words(key, count=len(fires), waiting=waiting)


async def _channels(page: Page) -> list[tuple[Webhook, Delivery | None]]:
    """Who listens to alerts, with the delivery that tells how it is."""
    telling = await page.system.webhooks.telling_deliveries()
    return [(hook, telling.get(hook.id)) for hook in await page.system.webhooks.list() if Topic.ALERT in hook.topics]


@router.post("/act", responses=OF_FORMS, openapi_extra=form_fields("do", "minutes"))
async def act_on_alert(page: SignedInPage) -> Response:
    """`do` says what, with the id of the alert: `acknowledge 12`."""
    form = await page.form()
    action, _, told = str(form.get("do", "")).partition(" ")
    alert_id, alerts, caller = number_of(told), page.system.alerts, page.caller
    match action:
        case "acknowledge":
            alert = await alerts.acknowledge(alert_id, caller)
        case "withdraw":
            alert = await alerts.withdraw(alert_id, caller)
        case "mute":
            alert = await alerts.mute(alert_id, number_of(str(form.get("minutes", ""))), caller)
        case "unmute":
            alert = await alerts.unmute(alert_id, caller)
        case _:
            raise InvalidInput(f"Nobody can do {action[:40]!r} to an alert.")
    opposite = {"acknowledge": "withdraw", "mute": "unmute"}.get(action)
    undo = Undo(action="/alerts/act", fields={"do": f"{opposite} {alert_id}"}) if opposite else None
    return page.done("/alerts", f"alerts.did_{action}", undo=undo, title=page.words(f"alerts.{alert.rule}"))


@router.post("/test", responses=OF_FORMS, openapi_extra=form_fields("webhook"))
async def test_channel(page: AdminPage) -> Response:
    """Send a test message to a webhook that listens to alerts."""
    await page.system.webhooks.ping(number_of(str((await page.form()).get("webhook", ""))))
    return page.done("/alerts", "alerts.tested")


@router.get("/runbooks/{name}")
async def runbook_page(page: SignedInPage, name: str) -> Response:
    """What an alert means, what to look at and what to do."""
    rule = next((rule for rule in AlertRule if name_of(rule) == name), None)
    if rule is None:
        raise NotFound("There is no runbook of this name.")
    content = Markup(runbook(rule, page.language).replace(_NOWHERE, page.link("/alerts/runbooks/")))  # noqa: S704 (cleaned)
    return await page.show("runbook.html", title=page.words(f"alerts.{rule}"), rule=rule, content=content)


def name_of(rule: AlertRule) -> str:
    return Path(rule.runbook).stem


@cache
def runbook(rule: AlertRule, language: Language) -> str:
    """As harmless HTML, without its title, which the page has; in English where there is no other."""
    folder = next(path for path in RUNBOOKS if path.is_dir())
    paths = (folder / language / f"{name_of(rule)}.md", folder / f"{name_of(rule)}.md")
    text = next(path for path in paths if path.is_file()).read_text("utf-8")
    return rendered(text.partition("\n")[2])


def rendered(text: str) -> str:
    """Links to other runbooks lead to their pages."""
    return markdown_as_html(_TO_ANOTHER.sub(rf"]({_NOWHERE}\1)", text))
