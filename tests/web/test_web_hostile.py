"""What strangers wrote, in every field of every page: nothing runs, and nothing breaks the layout."""

from __future__ import annotations

import pytest
from browser import CHROMIUM
from playwright.async_api import Page, async_playwright
from test_web_alerts import alert, raise_alerts
from test_web_axe import OF_ADMINS, PAGES
from web_site import Site, served, with_settings

from catchment.domain.alert_rules import AlertRule
from catchment.domain.caller import OPERATOR
from catchment.domain.item import make_item
from catchment.domain.note import Platform
from catchment.domain.outbox import Topic
from catchment.manage.catalog import Draft
from catchment.manage.cookies import CookieChanges
from catchment.manage.webhooks import NewWebhook
from catchment.store import fetch_log, items, sources
from catchment.store.fetch_log import LogLine
from catchment.web.app import create_app
from planted import planted_cookie

SCRIPT = '"><script>window.ran=1</script><img src=x onerror=window.ran=1>{{7*7}}'
#: Markup, a change of direction, Arabic, characters made of several, and a word of 10 kB.
HOSTILE = f"{SCRIPT}\u202e مرحبا {'🏳️‍🌈' * 40}{'W' * 10_000}"
EVIL_LINK = "javascript:window.ran=1"
HOSTILE_HTML = f'<p>{HOSTILE}</p><a href="{EVIL_LINK}">{"x" * 500}</a><pre>{"y" * 3000}</pre><table><tr>{"<td>zzzzzz</td>" * 80}</tr></table>'
SIZES = ({"width": 1280, "height": 800}, {"width": 360, "height": 740})


async def fill(site: Site) -> None:
    """The store, with what its own checks let through, and beyond them where a plug-in or a feed might write it."""
    system, now = site.system, site.system.clock.now()
    source = await site.add_source(site.alice, "feed", tags=(HOSTILE[:100], "W" * 100))
    broken = {"name": HOSTILE, "fetch_error_count": 1, "last_error": HOSTILE, "last_error_at": now}
    await system.store.write(lambda conn: sources.change(conn, source.id, broken, now=now))
    evil = make_item(native_id="1", title=HOSTILE, url=EVIL_LINK, author=HOSTILE, content=HOSTILE_HTML)
    await system.store.write(items.insert_new, [(source.id, evil)], now=now)
    line = LogLine(source_id=source.id, started_at=now, finished_at=now, ok=False, error=HOSTILE)
    await system.store.write(fetch_log.write, [line])
    await raise_alerts(site, alert(AlertRule.SOURCE_BROKEN, str(source.id), message=HOSTILE))
    hook = NewWebhook(name=HOSTILE[:200], url=f"https://ops.example/{'h' * 900}", topics=(Topic.ALERT,))
    await system.webhooks.ping((await system.webhooks.add(hook))[0].id)
    await system.follows.add("ada", reason=HOSTILE[:500], added_by=HOSTILE[:90])
    await system.cookies.add(
        "W" * 50, Platform.XHS, planted_cookie(), settings=CookieChanges(description=HOSTILE[:200])
    )
    await system.catalog.add(Draft(type="xhs_search", name=HOSTILE[:500], config={"keyword": "x"}), OPERATOR)
    saved = {"slug": "saved", "title": HOSTILE[:500], "description": HOSTILE[:500], "filter": {"q": "W" * 90}}
    assert (await site.post("/api/feeds", "alice", json=saved)).status_code == 201
    digest = {
        "type": "daily",
        "metadata": {"title": HOSTILE[:200]},
        "content": f"# {HOSTILE[:900]}\n\n{HOSTILE}\n\n[x]({EVIL_LINK}) `{'c' * 3000}`",
    }
    assert (await site.post("/api/digests", "service", json=digest)).status_code == 201
    await system.accounts.add_user(f"{'w' * 60}@example.org", name=HOSTILE[:100])
    await system.jobs.prepare()


async def look(tab: Page, paths: list[str]) -> list[str]:
    """What is wrong with each page, at a desk and on a phone."""
    wrong = []
    for path in paths:
        await tab.goto(path)
        for size in SIZES:
            await tab.set_viewport_size(size)  # type: ignore[arg-type]
            wide = await tab.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 0:
                wrong.append(f"{path} is {wide} pixels wider than {size['width']}")
        if await tab.evaluate("window.ran") or await tab.locator("a[href^='javascript' i]").count():
            wrong.append(f"{path} runs what strangers wrote")
    return wrong


@pytest.mark.browser
@pytest.mark.proves("G-11", "R-17")
async def test_hostile_texts_in_every_field_neither_run_nor_break_the_layout(lean_site: Site):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    system = with_settings(lean_site.system, cookie_master_key="the master key of the tests, long enough")
    site = Site(**{**lean_site.__dict__, "system": system, "app": create_app(system)})
    await fill(site)
    async with served(site.app) as url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        wrong = []
        # It is known to show what the saved one does.
        new_feed = f"/feeds/new?q={'W' * 90}"
        for who, paths in (("alice", [*PAGES, new_feed]), ("admin", ["/", "/sources", *OF_ADMINS, "/system/users/3"])):
            context = await browser.new_context(base_url=url)
            tab = await context.new_page()
            await tab.goto("/signin")
            await tab.locator("summary").click()
            await tab.fill("#key", site.keys[who])
            await tab.locator("#key").press("Enter")
            await tab.wait_for_url("**/")
            wrong += await look(tab, paths)
            await context.close()
        await browser.close()
    await system.http.close()
    assert wrong == []
