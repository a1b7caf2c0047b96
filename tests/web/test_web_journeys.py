"""What people come for, from end to end in a browser: with and without scripts, in both languages."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from aiohttp import web
from browser import CHROMIUM
from playwright.async_api import Browser, Locator, Page, async_playwright, expect
from test_web_alerts import alert, raise_alerts
from web_site import JWT_KEY, Site, served, where_this_machine_may_be_asked, with_settings

from catchment.bootstrap import open_system
from catchment.clock import ManualClock
from catchment.domain.alert_rules import AlertRule, Severity
from catchment.monitor.status import Language
from catchment.settings import Settings
from catchment.web.app import create_app
from catchment.web.translations import Words, words_in
from feed_site import FeedSite
from planted import planted_cookie

pytestmark = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")]
LOCALES = {Language.ENGLISH: "en-US", Language.CHINESE: "zh-CN"}
PASSWORD = "a password of the tests"


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        await opened.close()


@pytest.fixture
async def stranger() -> AsyncIterator[FeedSite]:
    """Two feeds, and a page that names the second."""
    async with FeedSite() as stranger:
        stranger.feed("one", "two")
        stranger.feed("river", path="/other")

        async def page(_: web.Request) -> web.StreamResponse:
            link = '<link rel="alternate" type="application/rss+xml" title="Named here" href="/other">'
            return web.Response(text=f"<html><head><title>A site</title>{link}</head></html>", content_type="text/html")

        stranger.script(page, path="/")
        yield stranger


def button(within: Page | Locator, name: str) -> Locator:
    return within.get_by_role("button", name=name, exact=True)


async def sign_in(tab: Page, key: str) -> None:
    await tab.goto("/signin")
    await tab.locator("summary").click()
    await tab.fill("#key", key)
    await tab.locator("#key").press("Enter")
    await tab.wait_for_url("**/")


@asynccontextmanager
async def new_store(url: str) -> AsyncIterator[tuple[str, str]]:
    """Where a first start is, and the key that it told; by the true clock, as visits take their time by it."""
    settings = Settings(database_url=url, jwt_secret_key=JWT_KEY, allow_networks="127.0.0.1", timeout_seconds=5.0)
    async with open_system(settings) as system:
        key = (await system.accounts.ensure_first_key()).secret
        app = create_app(system, look_seconds=0.02)
        async with system.collector.working(grace_seconds=1), served(app) as address:
            yield address, key


@pytest.mark.proves("G-02", "G-03", "G-04", "G-05", "G-06", "G-11")
@pytest.mark.parametrize("language", Language)
async def test_a_first_day(sqlite_url: str, browser: Browser, stranger: FeedSite, language: Language):
    t = words_in(language)
    async with new_store(sqlite_url) as (address, key):
        context = await browser.new_context(base_url=address, locale=LOCALES[language])
        tab = await context.new_page()
        await sign_in(tab, key)
        await welcome(tab, t)
        await paste_and_follow(tab, t, stranger)
        await pause_several(tab, t)
        await change_one(tab, t, stranger)
        await search_and_read(tab)
        await context.close()


async def welcome(tab: Page, t: Words) -> None:
    await expect(tab.get_by_role("heading", name=t("welcome.title"))).to_be_visible()
    await tab.locator("[name=email]").fill("me@example.org")
    await tab.locator("[name=password]").fill(PASSWORD)
    await button(tab, t("welcome.set_password")).click()
    await expect(tab.locator("a.who")).to_be_visible()
    await expect(tab.locator("#welcome")).to_contain_text(t("welcome.has_password"))


async def paste_and_follow(tab: Page, t: Words, stranger: FeedSite) -> None:
    field = tab.get_by_label(t("sources.paste"), exact=True)
    await field.fill(f"{stranger.url('/feed')}\n{stranger.url('/')}\nno address at all")
    await field.press("Enter")
    await expect(tab.locator("[data-ready]")).to_be_visible()
    main = tab.locator("#main")
    for told in ("The address is that of a feed.", "The page leads to this feed."):
        await expect(main).to_contain_text(t.say(told).rstrip("."))
    await expect(main).to_contain_text("Title one")
    await expect(main).to_contain_text("Title river")
    nonsense = "'no address at all' is not an http:// or https:// address, nor a name such as @handle, r/python or hn."
    await expect(tab.locator(".whole")).to_contain_text(t.say(nonsense))
    await expect(button(tab, t("sources.follow"))).to_be_focused()
    await tab.keyboard.press("Enter")
    await expect(tab.locator("#notice")).to_contain_text(t("sources.followed_all_done", count=2, new=3))
    await expect(tab.locator("#rows .health")).to_have_text([t("sources.status_ok")] * 2)


async def pause_several(tab: Page, t: Words) -> None:
    await expect(tab.locator(".bulk")).to_be_hidden()
    for box in await tab.locator("#rows input[name=id]").all():
        await box.check()
    await tab.locator(".bulk [name=interval]").fill("often")
    await tab.locator(".bulk [name=interval]").press("Enter")
    refused = "The interval is a whole number of minutes, 1 to 525600; 'often' is not."
    await expect(tab.locator("#notice")).to_contain_text(t.say(refused))
    # What was chosen stays so where it was refused.
    await button(tab.locator(".bulk"), t("sources.pause")).click()
    await expect(tab.locator("#notice")).to_contain_text(t("sources.did_pause", what=t("sources.some", count=2)))
    await expect(tab.locator("#rows .health")).to_have_text([t("sources.status_paused")] * 2)
    await button(tab, t("common.undo")).click()
    await expect(tab.locator("#notice")).to_contain_text(t("sources.did_resume", what=t("sources.some", count=2)))


async def change_one(tab: Page, t: Words, stranger: FeedSite) -> None:
    await tab.get_by_role("link", name="A feed", exact=True).first.click()
    await expect(tab.locator("#source-latest")).to_contain_text("Title one")
    other = await tab.context.new_page()
    await other.goto(tab.url)
    await expect(other.locator("#live")).to_have_text(t("common.live"))
    before = await other.locator("#next-check time").get_attribute("datetime")
    await tab.get_by_label(t("sources.interval"), exact=True).fill("77")
    await tab.get_by_label(t("sources.interval"), exact=True).press("Enter")
    for one in (tab, other):
        await expect(one.locator("#source-state")).to_contain_text(t("sources.minutes", count=77))
        await expect(one.locator("#next-check time")).not_to_have_attribute("datetime", str(before))
    stranger.feed("one", "two", "three")
    await button(tab, t("sources.fetch_now")).click()
    for one in (tab, other):
        await expect(one.locator("#source-latest")).to_contain_text("Title three")
    await expect(tab.locator("#notice")).to_have_text(t("sources.fetching_brought", what="A feed", count=1))
    await other.close()
    await tab.get_by_role("link", name=t("sources.edit"), exact=True).click()
    await tab.get_by_label(t("sources.include"), exact=True).fill("title: three")
    await button(tab, t("sources.preview_filter")).click()
    await expect(tab.locator("[data-ready]")).to_contain_text(t("sources.keeps", kept=1, all=3))


async def search_and_read(tab: Page) -> None:
    await tab.fill("#find", "two")
    await tab.press("#find", "Enter")
    await tab.get_by_role("link", name="Title two", exact=True).click()
    await expect(tab.locator("h1")).to_have_text("Title two")
    await expect(tab.locator("article")).to_contain_text("Words of two")


@pytest.mark.proves("G-03", "G-05", "G-06", "G-11")
@pytest.mark.parametrize("language", Language)
async def test_without_scripts_forms_do_it_all(
    sqlite_url: str, browser: Browser, stranger: FeedSite, language: Language
):
    t = words_in(language)
    async with new_store(sqlite_url) as (address, key):
        tab = await browser.new_page(base_url=address, locale=LOCALES[language], java_script_enabled=False)
        await sign_in(tab, key)
        await tab.goto("/sources")
        await tab.get_by_label(t("sources.paste"), exact=True).fill(stranger.url("/feed"))
        await button(tab, t("sources.look_up")).click()
        await button(tab, t("sources.follow")).click()
        await expect(tab.locator("h1")).to_have_text("A feed")
        await tab.get_by_label(t("sources.interval"), exact=True).fill("77")
        await tab.get_by_label(t("sources.interval"), exact=True).press("Enter")
        await expect(tab.locator("#source-state")).to_contain_text(t("sources.minutes", count=77))
        await button(tab, t("sources.pause")).click()
        await expect(tab.locator("#source-state .health")).to_have_text(t("sources.status_paused"))
        await button(tab, t("common.undo")).click()
        await expect(button(tab, t("sources.pause"))).to_be_visible()
        await search_and_read(tab)
        await button(tab, t("common.sign_out")).click()
        await tab.goto("/items")
        await expect(tab).to_have_url(re.compile("/signin.then=%2Fitems$"))


@pytest.mark.proves("G-08", "G-09", "G-10", "G-11")
async def test_an_administrators_week(lean_site: Site, clock: ManualClock, browser: Browser, stranger: FeedSite):
    async with AsyncExitStack() as opened:
        sealing = with_settings(lean_site.system, cookie_master_key="the master key of the tests, long enough")
        base = Site(**{**lean_site.__dict__, "system": sealing})
        site = await opened.enter_async_context(where_this_machine_may_be_asked(base))
        await site.system.jobs.prepare()
        address = await opened.enter_async_context(served(site.app))
        tab = await browser.new_page(base_url=address, locale="en-US")
        await sign_in(tab, site.keys["admin"])
        await add_a_cookie(tab)
        await look_after_an_alert(tab, site, clock)
        await send_again(tab, stranger)


@pytest.mark.proves("G-06", "G-07", "G-10", "G-11")
async def test_what_a_search_finds_goes_to_a_reader_and_to_a_chat(lean_site: Site, browser: Browser):
    source = await lean_site.add_source(lean_site.alice, "paper")
    await lean_site.add_items(source, "On a river", "On a road")
    async with served(lean_site.app) as address:
        tab = await browser.new_page(base_url=address, locale="en-US")
        await sign_in(tab, lean_site.keys["admin"])
        await tab.goto("/items?q=river")
        await tab.get_by_role("link", name="Save as a feed").click()
        await button(tab, "Save").click()
        feed = await tab.get_by_label("RSS", exact=True).input_value()
        elsewhere = await (await browser.new_context()).request.get(feed)
        told = await elsewhere.text()
        assert ("On a river" in told, "On a road" in told) == (True, False)
        await tab.get_by_role("link", name="Send new ones to a chat").click()
        await expect(tab.get_by_label("Name", exact=True)).to_have_value("river")
        await tab.go_back()
        await tab.goto("/feeds/new?q=road&chat=on")
        await button(tab, "Save, then choose the chat").click()
        await expect(tab.locator("h1")).to_have_text("Webhooks")
        # Another page came without a load: the bar says so, it is live, and one can go back.
        await expect(tab.locator("nav [aria-current]")).to_have_text("Webhooks")
        await expect(tab.locator("#live")).to_have_text("live")
        await tab.go_back()
        await expect(tab.locator("h1")).to_have_text("New feed")


@pytest.mark.proves("G-07", "G-10", "G-11")
@pytest.mark.parametrize("language", Language)
async def test_new_items_of_a_search_go_to_a_chat_by_the_keyboard_alone(
    lean_site: Site, browser: Browser, language: Language
):
    t, word = words_in(language), {Language.ENGLISH: "river", Language.CHINESE: "采集"}[language]
    source = await lean_site.add_source(lean_site.alice, "paper")
    await lean_site.add_items(source, f"On a {word}", "On a road")
    async with served(lean_site.app) as address:
        tab = await browser.new_page(base_url=address, locale=LOCALES[language])
        await sign_in(tab, lean_site.keys["admin"])
        await tab.goto("/")
        keys = tab.keyboard
        await keys.press("/")
        await keys.insert_text(word)
        await keys.press("Enter")
        await expect(tab.locator("#main")).to_be_focused()
        for _ in range(2):
            await keys.press("Tab")
        await expect(tab.get_by_role("link", name=t("feeds.to_chat"))).to_be_focused()
        await keys.press("Enter")
        await expect(tab.get_by_label(t("feeds.title"), exact=True)).to_be_focused()
        await keys.press("Enter")
        await expect(tab.get_by_label(t("webhooks.url"), exact=True)).to_be_focused()
        await keys.insert_text("https://open.feishu.cn/open-apis/bot/v2/hook/abc")
        await keys.press("Enter")
        await expect(tab.locator("#hooks")).to_contain_text(t("webhooks.format_lark"))
        await expect(button(tab.locator(".notice"), t("webhooks.ping"))).to_be_focused()
        await keys.press("Enter")
        await expect(tab.locator("#notice")).to_contain_text(t("webhooks.did_ping"))
        await expect(tab.locator("#deliveries")).to_contain_text(word)


async def add_a_cookie(tab: Page) -> None:
    await tab.goto("/platforms")
    form = tab.locator("form[action$='/platforms/cookies']")
    await form.get_by_label("Name", exact=True).fill("mine")
    await form.locator("[name=value]").fill(planted_cookie())
    await form.get_by_label("Reads a day", exact=True).fill("40")
    await button(form, "Add a cookie").click()
    cookies = tab.locator("#platforms-cookies")
    await expect(cookies).to_contain_text("lasts for today")
    await expect(cookies).to_contain_text("0 / 40")


async def look_after_an_alert(tab: Page, site: Site, clock: ManualClock) -> None:
    await tab.goto("/alerts")
    await expect(tab.locator("#live")).to_have_text("live")
    await raise_alerts(site, alert(AlertRule.DISK_NEARLY_FULL, "disk", Severity.P1))
    line, counts = tab.locator("[data-row]", has_text="Disk nearly full"), tab.locator(".count")
    await expect(counts).to_have_text(["1", "1"])
    await button(line, "Acknowledge").click()
    await expect(line).to_contain_text("acknowledged by admin")
    await tab.get_by_role("link", name="What to do").click()
    await expect(tab.locator("article")).to_contain_text("Make room")
    await tab.go_back()
    await expect(tab.locator("#live")).to_have_text("live")
    await raise_alerts(site, alert(AlertRule.DISK_NEARLY_FULL, "disk", Severity.P1, resolved_at=clock.now()))
    await expect(tab.locator("[data-row]", has_text="resolved")).to_be_visible()
    await expect(tab.locator("#main")).to_contain_text("No alert is open.")
    await expect(tab.get_by_text("No alert ended in the last 30 days.")).to_be_hidden()
    await expect(counts).to_have_text(["", ""])


async def send_again(tab: Page, stranger: FeedSite) -> None:
    answers = iter((500, 200))

    async def inbox(_: web.Request) -> web.StreamResponse:
        return web.Response(status=next(answers))

    stranger.script(inbox, path="/inbox")
    await tab.goto("/webhooks")
    form = tab.locator("form[action$='/webhooks']")
    await form.get_by_label("Name", exact=True).fill("chat")
    await form.get_by_label("Address", exact=True).fill(stranger.url("/inbox"))
    await form.get_by_label("alerts", exact=True).check()
    await button(form, "Add a webhook").click()
    await tab.get_by_role("link", name="chat", exact=True).click()
    await button(tab, "Send a test").click()
    await deliver_now(tab)
    await expect(tab.locator("#deliveries")).to_contain_text("failed, tried again")
    await button(tab, "Send again").click()
    await deliver_now(tab)
    await expect(tab.locator("#deliveries")).to_contain_text("delivered")
    assert stranger.hits["/inbox"] == 2


async def deliver_now(tab: Page) -> None:
    there = tab.url
    await tab.goto("/system")
    await button(tab, "Run now: Webhooks").click()
    await expect(tab.locator("#notice")).to_contain_text("Webhooks runs now.")
    await tab.goto(there)


@pytest.mark.proves("G-11")
async def test_a_click_too_many_does_nothing_twice(lean_site: Site, browser: Browser):
    """A key is shown only once: that of a first click was gone with the answer to a second."""
    await lean_site.system.jobs.prepare()
    async with served(lean_site.app) as address:
        tab = await browser.new_page(base_url=address)
        await sign_in(tab, lean_site.keys["admin"])
        await tab.goto("/system/users")
        form = tab.locator("form[action$='/keys']")
        await form.locator("[name=name]").fill("a program")
        await form.locator("button").dblclick()
        await expect(tab.locator("main .notice code")).to_be_visible()
        await form.locator("[name=name]").fill("another program")
        await form.evaluate("form => { form.requestSubmit(); form.requestSubmit(); }")
        await expect(tab.locator("main .notice")).to_contain_text("another program")
        await tab.goto("/system")
        await button(tab, "Pause: Cleaning up").dblclick()
        await expect(tab.locator("#notice")).to_contain_text("is paused")
        await tab.reload()
        await expect(button(tab, "Resume: Cleaning up")).to_be_visible()
        await tab.context.close()
    named = [key.name for key in await lean_site.system.accounts.list_keys()]
    assert [named.count(name) for name in ("a program", "another program")] == [1, 1]


@pytest.mark.proves("G-03", "G-11")
async def test_a_list_that_is_refused_leaves_the_field_for_another(lean_site: Site, browser: Browser):
    await lean_site.add_source(lean_site.alice, "one")
    async with served(lean_site.app) as address:
        tab = await browser.new_page(base_url=address, locale="en-GB")
        await sign_in(tab, lean_site.keys["alice"])
        await tab.goto("/sources")
        await tab.locator("summary").filter(has_text="Import").click()
        for _ in range(2):
            broken = {"name": "a.opml", "mimeType": "text/xml", "buffer": b"\xff"}
            await tab.locator("input[type=file]").set_input_files(broken)  # type: ignore[arg-type]
            await button(tab, "Import").click()
            await expect(tab.get_by_role("alert")).to_be_visible()
        await tab.context.close()


@pytest.mark.proves("G-11")
async def test_what_was_typed_stays_where_the_server_does_not_answer(lean_site: Site, browser: Browser):
    source = await lean_site.add_source(lean_site.alice, "one")
    async with served(lean_site.app) as address:
        tab = await browser.new_page(base_url=address, locale="en-GB")
        wrong: list[str] = []
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        await sign_in(tab, lean_site.keys["alice"])
        await tab.goto(f"/sources/{source.id}/edit")
        name = tab.locator("[name=name]")
        await name.fill("A new name")
        for away in (lambda it: it.abort(), lambda it: it.fulfill(status=502, body="<h1>Bad Gateway</h1>")):
            await tab.route("**/edit", away)
            await button(tab, "Save").click()
            await expect(tab.get_by_role("alert")).to_contain_text("The server does not answer.")
            await expect(name).to_have_value("A new name")
            await tab.unroute("**/edit")
        await button(tab, "Save").click()
        await expect(tab.locator("h1")).to_have_text("A new name")
        await expect(tab.get_by_role("alert")).to_have_count(0)
        assert wrong == []
        await tab.context.close()


@pytest.mark.proves("G-11")
async def test_a_page_that_a_form_came_to_can_be_reloaded_and_be_had_in_the_other_language(
    lean_site: Site, browser: Browser
):
    chief = await lean_site.system.accounts.add_user("chief@example.org", is_admin=True)
    key = (await lean_site.system.accounts.create_key("desk", user_id=chief.id)).secret
    async with served(lean_site.app) as address:
        context = await browser.new_context(base_url=address, locale="en-GB")
        tab = await context.new_page()
        await sign_in(tab, key)
        for path, form, field, value in (
            ("/account", "/keys", "name", "a script"),
            ("/system/users", "/keys", "name", "a program"),
            ("/sources", "/look", "pasted", "no address at all"),
            ("/platforms", "/cookies", "value", "no cookie"),
        ):
            await tab.goto(path)
            there = tab.locator(f"form[action$='{form}']")
            await there.locator(f"[name={field}]").evaluate(f"field => field.value = {value!r}")
            await there.evaluate("form => { form.noValidate = true; form.requestSubmit(); }")
            await expect(tab).to_have_url(re.compile(f"{form}$"))
            title = await tab.locator("h1").inner_text()
            await tab.get_by_role("link", name="中文").click()
            await expect(tab).to_have_url(f"{address}{path}?lang=zh")
            await expect(tab.locator("html")).to_have_attribute("lang", "zh-Hans")
            await tab.get_by_role("link", name="English").click()
            await tab.go_back()
            await expect(tab.locator("h1")).not_to_have_text("That did not work")
            await tab.goto(f"{path}?lang=en")
            await expect(tab.locator("h1")).to_have_text(title)
        await context.close()
