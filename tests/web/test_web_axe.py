"""No page has a serious finding of axe, in light at a desk and in dark on a phone, with all that it folds away open."""

from __future__ import annotations

import pytest
from axe_playwright_python.async_playwright import Axe
from browser import CHROMIUM
from playwright.async_api import Page, ViewportSize, async_playwright
from test_web_alerts import alert, raise_alerts
from web_site import Site

from catchment.domain.alert_rules import AlertRule
from catchment.domain.caller import OPERATOR
from catchment.domain.outbox import Topic
from catchment.manage.catalog import Draft
from catchment.manage.webhooks import NewWebhook

PAGES = [
    "/",
    "/sources",
    "/sources/1",
    "/sources/1/edit",
    "/items",
    "/items?q=item",
    "/items?q=-x",
    "/items/1",
    "/feeds",
    "/feeds/new?q=item",
    "/feeds/saved/edit",
    "/digests/1",
    "/account",
    "/sources?q=nothing-fits",
    "/alerts",
    "/alerts/runbooks/source-broken",
    "/nowhere",
]
#: Beside these, for admins.
OF_ADMINS = [
    "/alerts",
    "/webhooks",
    "/webhooks/1",
    "/platforms",
    "/system",
    "/system/settings",
    "/system/users",
    "/system/users/1",
    "/system/backups",
    "/system/exchange",
    "/system/doctor",
    "/system/trail",
]


@pytest.mark.browser
@pytest.mark.proves("G-11")
@pytest.mark.parametrize(("colours", "width"), [("light", 1280), ("dark", 390)])
async def test_no_page_has_a_serious_finding(lean_site: Site, served_url: str, colours: str, width: int):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    source = await lean_site.add_source(lean_site.alice, "feed", tags=("news",))
    await lean_site.add_items(source, "An item")
    await raise_alerts(lean_site, alert(AlertRule.SOURCE_BROKEN, str(source.id)))
    hook = NewWebhook(name="ops", url="https://ops.example/hook", topics=(Topic.ALERT,))
    await lean_site.system.webhooks.ping((await lean_site.system.webhooks.add(hook))[0].id)
    await lean_site.system.follows.add("ada", reason="news", added_by="test")
    keyword = Draft(type="xhs_search", name="咖啡", config={"keyword": "咖啡"})
    await lean_site.system.catalog.add(keyword, OPERATOR)
    await lean_site.post("/api/feeds", "alice", json={"slug": "saved", "title": "Saved", "filter": {"q": "item"}})
    await lean_site.post("/api/digests", "service", json={"type": "daily", "content": "# A\n\n|a|b|\n|-|-|\n|1|2|"})
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        size = ViewportSize(width=width, height=844)
        page = await browser.new_page(base_url=served_url, color_scheme=colours, viewport=size, bypass_csp=True)  # type: ignore[arg-type]
        found = await _look(page, ["/signin", "/sources"])
        await _sign_in(page, lean_site.keys["alice"])
        found += await _look(page, PAGES)
        await lean_site.system.jobs.prepare()
        await page.context.clear_cookies()
        await _sign_in(page, lean_site.keys["admin"])
        found += await _look(page, OF_ADMINS)
        await browser.close()
    assert found == []


async def _sign_in(page: Page, key: str) -> None:
    await page.goto("/signin")
    await page.locator("summary").click()
    await page.fill("#key", key)
    await page.locator("#key").press("Enter")
    await page.wait_for_url("**/")


async def _look(page: Page, paths: list[str]) -> list[str]:
    found = []
    for path in paths:
        await page.goto(path)
        await page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        for button in await page.locator("button.menu:visible").all():
            await button.click()
        results = await Axe().run(page)  # type: ignore[arg-type]
        for one in results.response["violations"]:
            if one["impact"] in {"serious", "critical"}:
                where = "; ".join(node["html"][:200] for node in one["nodes"][:3])
                found.append(f"{path}: {one['id']}: {one['help']}: {where}")
    return found
