"""The page of platforms: cookies and their forecast, notes by keyword, X with its tasks, schedule and spending."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from browser import CHROMIUM
from playwright.async_api import async_playwright, expect
from test_web_alert_pages import sign_in
from test_web_source_pages import HOSTILE, send, told
from web_site import Site, with_settings

from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.candidate import Listed
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Platform
from catchment.domain.scrape_task import ScrapeOrder, UserOutcome
from catchment.manage.catalog import Draft
from catchment.manage.cookies import Checked, CookieChanges, Cookies
from catchment.monitor.status import Language
from catchment.store import scrape_tasks, sources, spending
from catchment.store.spending import Caps
from planted import MARKER, planted_cookie

SEALING = {"cookie_master_key": "the master key of the tests, long enough", "twitter_daily_pages": 10}


@pytest.fixture
async def admins(lean_site: Site) -> AsyncIterator[Site]:
    """An admin's browser is signed in, and cookies can be sealed."""
    system = with_settings(lean_site.system, **SEALING)
    lean_site.app.state.system = system
    site = Site(**{**lean_site.__dict__, "system": system})
    yield await sign_in(site, "admin")
    # The store belongs to the other one.
    await system.http.close()


async def add_cookie(site: Site, **fields: Any) -> str:
    usual = {"name": "first", "platform": "xhs", "value": planted_cookie()}
    answer = await send(site, "/platforms/cookies", **{**usual, **fields})
    return html.unescape(answer.text) if answer.status_code == 422 else await told(site, answer)


@pytest.mark.proves("G-09")
async def test_a_cookie_is_added_with_its_forecast_and_its_value_never_comes_back(admins: Site):
    page = await add_cookie(admins, daily_limit="40")
    assert "first is stored and in use." in page
    assert "lasts for today" in page
    assert "0 / 40" in page
    assert MARKER not in page
    refused = await add_cookie(admins, name="second", platform="dy", value="a1=nothing-else-here")
    # The form is still open and filled in, but for the value; the platform has the name that people give it.
    assert re.search(r"<details [^>]*open>.*without which Douyin takes it .*</details>", refused, re.DOTALL)
    assert 'value="second"' in refused
    assert '<option value="dy" selected>' in refused
    assert "nothing-else-here" not in refused
    assert (await admins.get("/platforms/cookies")).headers["location"] == "/platforms"
    assert "A platform is one of xhs, dy, wb." in await add_cookie(admins, platform="nowhere")
    assert "is one of Xiaohongshu" in await add_cookie(admins, platform="wb", value=planted_cookie(platform="wb"))
    forged = await admins.post("/platforms/cookies", data={"name": "x", "platform": "xhs", "value": planted_cookie()})
    assert forged.status_code == 403


@pytest.mark.proves("G-09")
async def test_without_a_key_to_seal_with_the_page_says_which_to_set(lean_site: Site):
    await sign_in(lean_site, "admin")
    assert "set COOKIE_MASTER_KEY" in await add_cookie(lean_site)


@pytest.mark.proves("G-09")
async def test_a_cookie_is_checked_rests_and_is_removed(
    admins: Site, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    await add_cookie(admins)
    answers: list[bool | CrawlError] = [True, False, CrawlError(Code.RATE_LIMITED, "xhs asks to wait")]

    async def check(_: Cookies, name: str) -> Checked:
        answer = answers.pop(0)
        if isinstance(answer, CrawlError):
            raise answer
        status = (await admins.system.cookies.get(name)).status
        return Checked(name=name, platform=Platform.XHS, is_valid=answer, status=status, checked_at=clock.now())

    monkeypatch.setattr(Cookies, "check", check)
    for words in ("first: the platform knows it.", "does not know it any more", "xhs asks to wait"):
        assert words in await told(admins, await send(admins, "/platforms/act", do="check first"))
    page = await told(admins, await send(admins, "/platforms/act", do="disable first"))
    assert "none usable" in page
    assert 'value="remove first"' in page
    assert "first is in use again." in await told(admins, await send(admins, "/platforms/act", do="enable first"))
    assert "first is active again." in await told(admins, await send(admins, "/platforms/act", do="reset first"))
    assert "first is removed." in await told(admins, await send(admins, "/platforms/act", do="remove first"))
    assert "There is no cookie 'first'." in await told(admins, await send(admins, "/platforms/act", do="reset first"))
    assert "Nobody can do 'dance' here." in await told(admins, await send(admins, "/platforms/act", do="dance first"))


@pytest.mark.proves("G-09")
async def test_a_keyword_is_added_and_stands_with_its_candidates_and_executions(admins: Site):
    page = await told(admins, await send(admins, "/platforms/keywords", platform="xhs", keyword="手冲咖啡"))
    assert "手冲咖啡 is searched for from now on." in page
    [source] = await admins.system.store.read(sources.list_active_of_types, ["xhs_search"])
    begun = await admins.system.workflow.acquire("media_crawler")
    assert begun is not None
    found = [Listed(url="https://www.xiaohongshu.com/explore/1?xsec_token=T0KEN", native_id="1", platform="xhs")]
    await admins.system.workflow.report(begun.execution_id, source.id, found)
    page = (await admins.get("/platforms")).text
    assert begun.execution_id in page
    assert "https://www.xiaohongshu.com/explore/1" in page
    assert "T0KEN" not in page
    assert "0 executions ended" in await told(admins, await send(admins, "/platforms/act", do="recover"))


@pytest.mark.proves("G-09")
async def test_x_has_its_follows_its_schedule_and_what_is_spent(admins: Site, clock: ManualClock):
    page = await told(admins, await send(admins, "/platforms/follows", username="@Ada", reason="news"))
    assert "@ada is followed." in page
    assert "is followed already" in await told(
        admins, await send(admins, "/platforms/follows", username="ada", reason="news")
    )
    assert "not followed any more" in await told(admins, await send(admins, "/platforms/act", do="unfollow ada"))
    assert "@ada is followed." in await told(admins, await send(admins, "/platforms/act", do="follow ada"))
    refused = await told(admins, await send(admins, "/platforms/schedule", do="interval", interval="often"))
    assert "'often' is not a whole number of 1 or more." in refused
    page = await told(admins, await send(admins, "/platforms/schedule", do="interval", interval="45"))
    assert "every 45 minutes" in page
    assert "5 to 10080 minutes" in await told(
        admins, await send(admins, "/platforms/schedule", do="interval", interval="1")
    )
    soon = (clock.now() + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M")
    assert soon in await told(admins, await send(admins, "/platforms/schedule", do="next_run", next_run=soon))
    wrong = await told(admins, await send(admins, "/platforms/schedule", do="next_run", next_run="soon"))
    assert "'soon' is not a moment" in wrong
    for _ in range(9):
        await admins.system.store.write(spending.take_page, clock.now().date(), Caps(day=10))
    page = (await admins.get("/platforms")).text
    assert "9 / 10" in page
    assert "set TWITTER_API_KEY" in await told(admins, await send(admins, "/platforms/scrape", usernames="ada"))


@pytest.mark.proves("G-09")
@pytest.mark.parametrize("language", Language)
async def test_hostile_texts_of_platforms_are_texts(admins: Site, language: Language):
    settings = CookieChanges(description=HOSTILE)
    name = HOSTILE.replace("/", "").replace("=", "").replace(";", "")[:50]
    await admins.system.cookies.add(name, Platform.XHS, planted_cookie(), settings=settings)
    await admins.system.catalog.add(Draft(type="xhs_search", name=HOSTILE, config={"keyword": "x"}), OPERATOR)
    await admins.system.follows.add("ada", reason=HOSTILE, added_by=HOSTILE[:90])
    page = (await admins.get(f"/platforms?lang={language}")).text
    assert "&lt;script&gt;window.ran" in page
    assert "<script>window" not in page
    assert "<img" not in page


@pytest.mark.proves("G-09")
async def test_only_admins_see_the_page_and_its_name(lean_site: Site):
    await sign_in(lean_site, "alice")
    assert (await lean_site.get("/platforms")).status_code == 403
    assert 'href="/platforms"' not in (await lean_site.get("/")).text
    assert 'href="/platforms"' in (await lean_site.get("/", "admin")).text


@pytest.mark.browser
@pytest.mark.proves("G-09", "G-11")
async def test_a_task_of_x_moves_on_without_a_reload(lean_site: Site, served_url: str, clock: ManualClock):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    store, now = lean_site.system.store, clock.now()
    order = ScrapeOrder(usernames=("ada", "bob"))
    run = await store.write(scrape_tasks.begin, "t1", order, owner="test", now=now, until=now + timedelta(days=1))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = await browser.new_page(base_url=served_url)
        await tab.goto("/signin")
        await tab.locator("summary").click()
        await tab.fill("#key", lean_site.keys["admin"])
        await tab.locator("#key").press("Enter")
        await tab.wait_for_url("**/")
        await tab.goto("/platforms")
        tasks = tab.locator("#platforms-x_tasks")
        await expect(tasks).to_contain_text("0 / 2")
        await store.write(scrape_tasks.record_outcome, run, UserOutcome(username="ada", success=True, new=7), now=now)
        await expect(tasks).to_contain_text("1 / 2")
        bad = UserOutcome(username="bob", success=False, error_message=HOSTILE)
        await store.write(scrape_tasks.record_outcome, run, bad, now=now)
        await expect(tasks).to_contain_text(f"@bob: {HOSTILE}")
        assert await tab.evaluate("window.ran") is None
        await tasks.get_by_role("button", name="Cancel").click()
        await expect(tasks).to_contain_text("cancelled")
        await browser.close()
