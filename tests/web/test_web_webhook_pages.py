"""Webhooks as an administrator has them on pages: added, tried, edited, retried, removed."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest
from browser import CHROMIUM
from playwright.async_api import async_playwright, expect
from test_web_alert_pages import sign_in
from test_web_source_pages import HOSTILE, send, told
from web_site import Site

from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.outbox import Topic, WebhookFormat, format_told_by
from catchment.manage.feeds import FeedDraft
from catchment.manage.webhooks import ALERTS, NewWebhook
from catchment.monitor.status import Language
from catchment.store import outbox
from catchment.web.routes.webhook_pages import MAX_DELIVERIES
from stores import on_sqlite_alone

SLACK = "https://hooks.slack.com/services/T00000000/B00000000/SECRETPARTSECRETPART"
NEW = {"name": "ops", "url": "https://ops.example/hook", "format": "json", "topic": ["alert", "items.new"]}


async def add(site: Site, **values: object) -> int:
    usual = {"name": "ops", "url": NEW["url"], "topics": (Topic.ALERT,)}
    return (await site.system.webhooks.add(NewWebhook(**{**usual, **values})))[0].id  # type: ignore[arg-type]


@pytest.mark.proves("G-10")
async def test_a_webhook_is_added_with_its_secret_shown_once(lean_site: Site):
    await sign_in(lean_site, "admin")
    page = (await send(lean_site, "/webhooks", **NEW)).text
    [secret] = re.findall(r"shown only now: <code>([^<]+)<", page)
    [hook] = await lean_site.system.webhooks.list()
    assert (hook.name, hook.topics, hook.format) == ("ops", ("alert", "items.new"), WebhookFormat.JSON)
    assert secret not in (await lean_site.get("/webhooks")).text
    again = html.unescape((await send(lean_site, "/webhooks", **NEW)).text)
    assert "There is a webhook named 'ops' already." in again
    refused = await send(lean_site, "/webhooks", **{**NEW, "name": "x", "url": "http://127.0.0.1/"})
    assert refused.status_code == 422
    assert 'value="http://127.0.0.1/"' in refused.text
    nothing = await send(lean_site, "/webhooks", name="y", url=NEW["url"])
    assert "listens to some of" in nothing.text
    assert (await lean_site.post("/webhooks", data=NEW)).status_code == 403


@pytest.mark.proves("G-10")
async def test_a_webhook_is_edited_and_keeps_what_is_left_empty(site: Site):
    hook_id = await add(site, url=SLACK, format=WebhookFormat.SLACK)
    await sign_in(site, "admin")
    page = (await site.get(f"/webhooks/{hook_id}")).text
    assert "SECRETPART" not in page
    fields = {"name": "renamed", "url": "", "format": "slack", "topic": ["items.new"]}
    assert "renamed: saved." in await told(site, await send(site, f"/webhooks/{hook_id}", **fields))
    stored = await site.system.store.read(outbox.get_webhook, hook_id)
    assert stored is not None
    assert site.system.webhooks._address(stored) == SLACK
    assert (stored.name, stored.topics) == ("renamed", ("items.new",))
    moved = await send(site, f"/webhooks/{hook_id}", **{**fields, "url": NEW["url"], "format": "json"})
    assert "Deliveries are signed with this" in moved.text
    await add(site, name="other")
    taken = await send(site, f"/webhooks/{hook_id}", **{**fields, "name": "other"})
    assert "There is a webhook named &#39;other&#39; already." in taken.text


@pytest.mark.proves("H-04")
async def test_an_address_of_apprise_is_added_by_page_and_api_and_never_shown(lean_site: Site):
    address = "tgram://123456789:SECRETPART_SECRETPART/12345678"
    await sign_in(lean_site, "admin")
    page = await send(lean_site, "/webhooks", name="phone", url=address, format="apprise", topic=["alert"])
    assert page.status_code == 200
    assert "tgram://***REDACTED***" in page.text
    assert "SECRETPART" not in page.text
    body = {"name": "mail", "url": "mailtos://me:SECRETPART@example.org", "format": "apprise", "topics": ["alert"]}
    made = await lean_site.post("/api/admin/webhooks", "admin", json=body)
    assert (made.status_code, made.json()["url"], made.json()["secret"]) == (201, "mailtos://***REDACTED***", "")
    pinged = await lean_site.post(f"/api/admin/webhooks/{made.json()['id']}/ping", "admin")
    assert pinged.status_code == 202
    refused = await lean_site.post("/api/admin/webhooks?lang=zh", "admin", json={**body, "url": "dbus://", "name": "x"})
    assert refused.status_code == 422
    nobody = await lean_site.post("/api/admin/webhooks", "service", json=body)
    assert nobody.status_code == 403


@on_sqlite_alone
@pytest.mark.proves("G-10")
async def test_the_api_edits_a_webhook_and_another_origin_gets_another_secret(site: Site):
    made = (await site.post("/api/admin/webhooks", "admin", json={"name": "ops", "url": NEW["url"]})).json()
    path = f"/api/admin/webhooks/{made['id']}"
    same = (await site.put(path, "admin", json={"name": "ops 2", "topics": ["alert"]})).json()
    assert (same["name"], same["topics"], same["secret"]) == ("ops 2", ["alert"], "")
    moved = (await site.put(path, "admin", json={"name": "ops 2", "url": "https://other.example/"})).json()
    assert moved["secret"]
    assert moved["secret"] != made["secret"]
    assert '"webhook.change"' in (await site.get("/api/admin/audit-trail", "admin")).text
    assert (await site.put("/api/admin/webhooks/99", "admin", json={"name": "x"})).status_code == 404
    assert (await site.put(path, "alice", json={"name": "x"})).status_code == 403
    await site.system.webhooks.follow_alerts(url=SLACK, form=WebhookFormat.SLACK, secret="")
    [of_settings] = [hook for hook in await site.system.webhooks.list() if hook.name == ALERTS]
    kept = await site.put(f"/api/admin/webhooks/{of_settings.id}", "admin", json={"name": "mine"})
    assert (kept.status_code, kept.json()["detail"]) == (
        409,
        "The webhook ALERT_WEBHOOK_URL is as the settings say; change it there.",
    )


@pytest.mark.proves("G-10")
async def test_a_search_becomes_a_feed_whose_new_items_go_to_a_chat(lean_site: Site):
    await sign_in(lean_site, "admin")
    search = html.unescape((await lean_site.get("/items?q=采集")).text)
    [then] = re.findall(r'href="([^"]+)">Send new ones to a chat<', search)
    builder = (await lean_site.get(then)).text
    assert "then say which chat" in builder
    assert 'value="采集"' in builder
    fields = {"title": "采集", "slug": "caiji", "q": "采集", "chat": "on", "do": "save"}
    saved = await send(lean_site, "/feeds/new", **fields)
    assert saved.headers["location"] == "/webhooks?feed=caiji"
    form = await told(lean_site, saved)
    assert "采集 was saved. Now the address that the chat gave you." in form
    assert re.search(r'name="url"[^>]* autofocus', form)
    assert '<option value="caiji" selected>采集</option>' in form
    assert 'name="name" type="text" value="采集"' in form
    assert '<option value="slack" selected>' in form
    assert re.findall(r'name="topic" value="([^"]+)" checked', form) == ["items.new"]
    chat = {"name": "采集", "url": SLACK, "format": "slack", "topic": ["items.new"], "feed": "caiji"}
    assert "of the feed 采集" in (await send(lean_site, "/webhooks", **chat)).text
    [hook] = await lean_site.system.webhooks.list()
    assert (hook.name, hook.feed, hook.topics) == ("采集", "caiji", ("items.new",))
    again = (await lean_site.get("/feeds/new?q=采集&chat=on")).text
    assert "is saved already; go on, and say which chat" in again
    first = re.findall(r'<button[^>]* name="do" value="[^>]+>[^<]+', again)[0]
    assert first == '<button class="primary" name="do" value="save">Send new ones to a chat', "which Enter presses"
    on = await send(lean_site, "/feeds/new", title="other", q="采集", chat="on", do="save")
    assert on.headers["location"] == "/webhooks?feed=caiji", "what is a feed already need not be saved"
    assert "You have this search as the feed 采集 already. Now the address" in await told(lean_site, on)
    another = (await lean_site.get("/webhooks?feed=caiji")).text
    assert 'name="name" type="text" value="采集 2"' in another, "a name that is free"
    assert another.index('name="url"') < another.index('id="hooks"'), "what is asked for comes first"
    edit = (await lean_site.get("/feeds/caiji/edit")).text
    assert 'href="/webhooks?feed=caiji">Send new ones to a chat<' in edit
    chinese = (await lean_site.get("/webhooks?feed=caiji&lang=zh")).text
    assert '<option value="slack" selected>' in another
    assert '<option value="lark" selected>' in chinese
    assert "仅发送此订阅输出中的条目" in chinese


@pytest.mark.proves("G-10")
async def test_a_feed_that_is_gone_stays_in_the_form_until_another_is_chosen(lean_site: Site):
    await lean_site.system.feeds.add(FeedDraft(slug="news", filter={}), OPERATOR)
    hook_id = await add(lean_site, topics=(Topic.ITEMS_NEW,), feed="news")
    await lean_site.system.feeds.remove("news", OPERATOR)
    await sign_in(lean_site, "admin")
    chinese = await send(lean_site, f"/webhooks/{hook_id}?lang=zh", **NEW, feed="news")
    assert "没有名为 news 的订阅输出" in chinese.text
    await lean_site.get("/webhooks?lang=en")
    page = (await lean_site.get(f"/webhooks/{hook_id}")).text
    assert '<option value="news" selected>news (there is no such feed any more)</option>' in page
    fields = {"name": "ops", "url": "", "format": "json", "topic": ["items.new"], "feed": "news"}
    refused = await send(lean_site, f"/webhooks/{hook_id}", **fields)
    assert refused.status_code == 422
    assert "There is no feed news." in refused.text
    saved = await send(lean_site, f"/webhooks/{hook_id}", **{**fields, "feed": ""})
    assert "ops: saved." in await told(lean_site, saved)
    assert (await lean_site.system.webhooks.get(hook_id)).feed == ""


@pytest.mark.proves("G-10")
async def test_of_what_waits_for_the_webhook_of_a_feed_it_is_said_that_others_are_left_out(lean_site: Site):
    await lean_site.system.feeds.add(FeedDraft(slug="news", filter={}), OPERATOR)
    await sign_in(lean_site, "admin")
    shown = []
    for feed in ("news", ""):
        hook_id = await add(lean_site, name=f"of {feed}", topics=(Topic.ITEMS_NEW,), feed=feed)
        await send(lean_site, "/webhooks/act", do=f"ping {hook_id}")
        shown.append("are left out when their turn comes" in (await lean_site.get(f"/webhooks/{hook_id}")).text)
    assert shown == [True, False]


@pytest.mark.proves("G-10")
async def test_feeds_of_one_title_are_told_apart_where_one_is_chosen(lean_site: Site):
    for slug, title in (("one", "News"), ("two", "News"), ("three", "Other")):
        await lean_site.system.feeds.add(FeedDraft(slug=slug, title=title, filter={}), OPERATOR)
    await sign_in(lean_site, "admin")
    page = (await lean_site.get("/webhooks")).text
    offered = re.findall(r'<option value="(one|two|three)"[^>]*>([^<]*)', page)
    assert dict(offered) == {"one": "News (one)", "two": "News (two)", "three": "Other"}


@pytest.mark.proves("G-10")
async def test_the_way_to_a_chat_is_shown_to_administrators_alone(lean_site: Site):
    feed = {"slug": "mine", "filter": {}}
    assert (await lean_site.post("/api/feeds", "alice", json=feed)).status_code == 201
    for path in ("/items?q=a", "/feeds/mine/edit", "/feeds"):
        assert "Send new ones to a chat" not in (await lean_site.get(path, "alice")).text


@on_sqlite_alone
@pytest.mark.proves("G-10")
async def test_the_api_gives_a_webhook_a_feed_and_takes_it_away(site: Site):
    await site.system.feeds.add(FeedDraft(slug="news", filter={}), OPERATOR)
    body = {"name": "chat", "url": NEW["url"], "feed": "news"}
    made = (await site.post("/api/admin/webhooks", "admin", json=body)).json()
    assert (made["feed"], made["topics"]) == ("news", ["items.new"])
    path = f"/api/admin/webhooks/{made['id']}"
    both = await site.put(path, "admin", json={**body, "topics": ["items.new", "alert"]})
    assert (both.json()["feed"], both.json()["topics"]) == ("news", ["items.new", "alert"])
    deaf = await site.put(path, "admin", json={**body, "topics": ["alert"]})
    assert (deaf.status_code, deaf.json()["detail"]) == (422, "A webhook with a feed listens to items.new.")
    unknown = await site.put(path, "admin", json={**body, "feed": "nowhere"})
    assert (unknown.status_code, unknown.json()["detail"]) == (422, "There is no feed nowhere.")
    none = (await site.put(path, "admin", json={"name": "chat"})).json()
    assert (none["feed"], len(none["topics"])) == ("", 3)
    assert "feed news" in (await site.get("/api/admin/audit-trail", "admin")).text


@pytest.mark.proves("G-10")
async def test_a_webhook_is_tried_paused_and_removed_and_a_delivery_is_sent_again(lean_site: Site, clock: ManualClock):
    hook_id = await add(lean_site)
    await sign_in(lean_site, "admin")
    assert "A test message is on its way" in await told(
        lean_site, await send(lean_site, "/webhooks/act", do=f"ping {hook_id}")
    )
    await send(lean_site, "/webhooks/act?lang=zh", do=f"ping {hook_id}")
    chinese, letter = await lean_site.system.webhooks.deliveries()
    assert "测试消息" in chinese.payload["message"]
    await lean_site.system.store.write(
        outbox.record_failed, letter.id, error="ops.example answered HTTP 500", next_try_at=None, now=clock.now()
    )
    page = (await lean_site.get("/webhooks")).text
    assert "given up" in page
    assert "ops.example answered HTTP 500" in page
    back = f"/webhooks/{hook_id}"
    answer = await send(lean_site, "/webhooks/act", do=f"retry {letter.id}", back=back)
    assert answer.headers["location"] == back
    assert "It is sent again." in await told(lean_site, answer)
    _, letter = await lean_site.system.webhooks.deliveries()
    assert letter.next_try_at == clock.now()
    paused = await told(
        lean_site, await send(lean_site, "/webhooks/act", do=f"pause {hook_id}", back="https://e.example")
    )
    assert f'name="do" value="resume {hook_id}"' in paused
    assert "There is no webhook 99." in await told(lean_site, await send(lean_site, "/webhooks/act", do="ping 99"))
    assert "Removed." in await told(lean_site, await send(lean_site, "/webhooks/act", do=f"remove {hook_id}"))
    assert await lean_site.system.webhooks.list() == []


@pytest.mark.proves("G-10")
async def test_each_webhook_shows_how_it_is_however_much_another_is_sent(site: Site, clock: ManualClock):
    took, fails, busy, fresh = [await add(site, name=name) for name in ("took", "fails", "busy", "fresh")]
    taken, failing = await site.system.webhooks.ping(took), await site.system.webhooks.ping(fails)
    await site.system.webhooks.ping(fails)
    later = {"error": "HTTP 500", "next_try_at": clock.now() + timedelta(minutes=1), "now": clock.now()}
    await site.system.store.write(outbox.record_delivered, taken.id, now=clock.now())
    await site.system.store.write(outbox.record_failed, failing.id, **later)
    for _ in range(MAX_DELIVERIES):
        await site.system.webhooks.ping(busy)
    page = (await site.get("/webhooks", "admin")).text
    said = {took: "delivered", fails: "failed, tried again", busy: "waits its turn", fresh: "nothing sent yet"}
    for hook_id, words in said.items():
        assert words in page.partition(f'id="hook-{hook_id}"')[2].partition("</tr>")[0]
    # Nor does what waits behind it push the delivery that fails out of sight.
    for path in ("/webhooks", f"/webhooks/{fails}"):
        listed = (await site.get(path, "admin")).text.partition('id="deliveries"')[2]
        assert re.findall(r'id="delivery-(\d+)"', listed)[0] == str(failing.id)
    newer = await site.system.webhooks.ping(fresh)
    await site.system.store.write(outbox.record_failed, newer.id, **later)
    listed = (await site.get("/webhooks", "admin")).text.partition('id="deliveries"')[2]
    assert re.findall(r'id="delivery-(\d+)"', listed)[:2] == [str(newer.id), str(failing.id)], (
        "the newest of them first"
    )
    channels = (await site.get("/alerts", "admin")).text.partition('id="alert-channels"')[2]
    assert "HTTP 500" in channels


@pytest.mark.proves("G-10")
@pytest.mark.parametrize("language", Language)
async def test_hostile_texts_of_webhooks_are_texts(lean_site: Site, clock: ManualClock, language: Language):
    hook_id = await add(lean_site, name=HOSTILE)
    letter = await lean_site.system.webhooks.ping(hook_id)
    await lean_site.system.store.write(
        outbox.record_failed, letter.id, error=HOSTILE, next_try_at=clock.now() + timedelta(1), now=clock.now()
    )
    for path in ("/webhooks", f"/webhooks/{hook_id}"):
        page = (await lean_site.get(f"{path}?lang={language}", "admin")).text
        assert "&lt;script&gt;window.ran=1" in page
        assert "<script>window" not in page
        assert "<img" not in page


@pytest.mark.browser
@pytest.mark.proves("G-10", "G-11")
async def test_a_delivery_that_arrives_shows_without_a_reload(lean_site: Site, served_url: str, clock: ManualClock):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    hook_id = await add(lean_site)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = await browser.new_page(base_url=served_url)
        await tab.goto("/signin")
        await tab.locator("summary").click()
        await tab.fill("#key", lean_site.keys["admin"])
        await tab.locator("#key").press("Enter")
        await tab.wait_for_url("**/")
        await tab.goto(f"/webhooks/{hook_id}")
        await tab.get_by_role("button", name="Send a test").click()
        await expect(tab.locator("#deliveries")).to_contain_text("waits its turn")
        [letter] = await lean_site.system.webhooks.deliveries()
        await lean_site.system.store.write(outbox.record_delivered, letter.id, now=clock.now())
        await expect(tab.locator("#deliveries")).to_contain_text("delivered")
        await tab.get_by_role("button", name="Send again").click()
        await expect(tab.locator("#deliveries")).to_contain_text("waits its turn")
        await browser.close()


@pytest.mark.proves("G-10")
@pytest.mark.parametrize(
    ("url", "format_"),
    [
        (SLACK, "slack"),
        ("https://open.feishu.cn/open-apis/bot/v2/hook/SECRETPART", "lark"),
        ("https://open.larksuite.com/open-apis/bot/v2/hook/SECRETPART", "lark"),
        ("HTTPS://Hooks.Slack.com/services/T/B/SECRETPART", "slack"),
        ("https://ops.example/hooks.slack.com/", "json"),
    ],
)
async def test_of_which_kind_a_receiver_is_its_address_says_where_it_can(lean_site: Site, url: str, format_: str):
    await sign_in(lean_site, "admin")
    page = (await send(lean_site, "/webhooks", **{**NEW, "url": url})).text
    [hook] = await lean_site.system.webhooks.list()
    assert hook.format == format_
    assert f'<button autofocus name="do" value="ping {hook.id}">Send a test</button>' in page
    assert format_told_by("mailtos://me@example.org") is WebhookFormat.APPRISE
    assert format_told_by("") is None
