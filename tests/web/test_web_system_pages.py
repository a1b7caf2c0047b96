"""The pages of the system: for administrators, by plain forms, and in a browser where somebody new comes in."""

from __future__ import annotations

import asyncio
import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from browser import CHROMIUM
from playwright.async_api import async_playwright, expect
from test_web_alert_pages import sign_in
from web_site import Site

from catchment.bootstrap import open_system
from catchment.cli.up import listening_on
from catchment.clock import ManualClock
from catchment.domain.audit_trail import SYSTEM, deed
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.manage.settings import list_settings
from catchment.settings import Origin, Settings, load_settings
from catchment.store import audit_trail
from catchment.web.app import create_app
from catchment.web.csrf import SESSION_COOKIE, TOKEN_FIELD, token_of
from catchment.web.routes import system_pages
from catchment.web.routes.system_pages import MAX_TRAIL

HTML = {"Accept": "text/html,*/*", "Referer": "http://catchment.test/system"}
HOSTILE = '"><script>window.ran=1</script><img src=x onerror=window.ran=1>{{7*7}}'
PAGES = [
    "/system", "/system/settings", "/system/users", "/system/users/1", "/system/backups", "/system/exchange",
    "/system/doctor", "/system/trail",
]  # fmt: skip


@pytest.fixture
async def admins(lean_site: Site) -> Site:
    """An administrator's browser is signed in; the jobs are set down, as `catchment up` does it."""
    await lean_site.system.jobs.prepare()
    answer = await lean_site.post("/signin", data={"key": lean_site.keys["admin"]})
    assert answer.status_code == 303
    return lean_site


async def send(site: Site, path: str, **fields: Any) -> httpx.Response:
    token = {TOKEN_FIELD: token_of(site.client.cookies[SESSION_COOKIE])}
    return await site.post(path, data={**token, **fields}, headers=HTML)


async def told(site: Site, answer: httpx.Response) -> str:
    """The page that a form led to."""
    assert answer.status_code == 303, answer.text
    return html.unescape((await site.get(answer.headers["location"])).text)


def undo_of(page: str) -> dict[str, str]:
    """What the form in the notice would send, without the token."""
    notice = page.partition('id="notice"')[2].partition("<main")[0]
    return dict(re.findall(r'type="hidden" name="((?!csrf|token)\w+)" value="([^"]*)"', notice))


@pytest.mark.proves("G-01", "G-10")
async def test_only_administrators_see_the_name_and_the_pages(admins: Site):
    for path in PAGES:
        page = await admins.get(path)
        assert page.status_code == 200, path
        assert page.text.count("<h1>") == 1
        assert 'href="/system"' in page.text
        assert len(page.content) < 200_000
    admins.client.cookies.clear()
    assert 'href="/system"' not in (await admins.get("/")).text
    await admins.post("/signin", data={"key": admins.keys["alice"]})
    assert 'href="/system"' not in (await admins.get("/")).text
    for path in PAGES:
        assert (await admins.get(path)).status_code == 403, path


@pytest.mark.proves("G-10", "G-11")
async def test_every_page_speaks_both_languages(admins: Site):
    for path, words in zip(
        PAGES, ("任务", "设置", "添加用户", "退出所有登录", "立即备份", "导出", "检查项", "操作者"), strict=True
    ):
        assert words in (await admins.get(f"{path}?lang=zh")).text, path
    for path in PAGES:
        page = await admins.get(f"{path}?lang=zh")
        shown = re.sub(r"<(script|style|time|code|option)\b.*?</\1>|<[^>]+>", " ", page.text, flags=re.DOTALL)
        shown = shown.replace("pytest-of-root", "")
        left = set(re.findall(r"\b(?:the|is|are|of|and|which|what)\b", shown))
        assert left == set(), (path, left)


@pytest.mark.proves("G-10")
async def test_a_job_is_run_paused_resumed_and_the_pause_taken_back(admins: Site):
    page = await told(admins, await send(admins, "/system/jobs", do="pause cleanup"))
    assert "Cleaning up is paused." in page
    [state] = [one for one in await admins.system.jobs.list() if one.name == "cleanup"]
    assert state.is_paused
    page = await told(admins, await send(admins, "/system/jobs", **undo_of(page)))
    assert "Cleaning up is at work again." in page
    page = await told(admins, await send(admins, "/system/jobs", do="run cleanup"))
    assert "Cleaning up runs now." in page
    await asyncio.gather(*admins.system.jobs._running)
    page = (await admins.get("/system")).text
    assert "0 items cleaned" in page
    assert "went well" in page
    assert "清理了 0 个条目" in (await admins.get("/system?lang=zh")).text
    wrong = html.unescape(await told(admins, await send(admins, "/system/jobs", do=f"pause {HOSTILE}")))
    assert "没有任务" in wrong
    assert HOSTILE not in (await admins.get("/system")).text


@pytest.mark.proves("G-10")
async def test_without_the_token_of_the_session_no_form_of_the_system_works(admins: Site):
    paths = ["/system/jobs", "/system/settings", "/system/users", "/system/users/1", "/system/keys"]
    for path in [*paths, "/system/keys/1/revoke", "/system/backups"]:
        assert (await admins.post(path, data={"do": "disable", "name": "x"})).status_code == 403, path


@pytest.mark.proves("G-10")
async def test_a_setting_says_where_it_comes_from_and_a_secret_only_that_it_is_set(tmp_path: Path, clock: ManualClock):
    file = tmp_path / ".env"
    file.write_text("CATCHMENT_KEEP_DAYS=77\nTWITTER_API_KEY=planted-secret-of-x\nFETCH_INTERVAL_RSS=33\n")
    environ = {
        "ADMIN_API_KEY": "planted-key-of-the-admin",
        "CATCHMENT_HOME": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path}/planted-password.sqlite3",
        "CATCHMENT_USER_AGENT": HOSTILE,
        "COLLECTOR_CONCURRENCY": "9",
        "FETCH_INTERVAL_WEBSITE": "44",
    }
    settings = listening_on(load_settings(environ, dotenv=file), None, 8123)
    assert settings.origins["keep_days"] is Origin.FILE
    assert {one.value for one in list_settings(settings) if one.is_secret} == {""}
    async with open_system(settings, clock=clock) as system:
        await system.interval_settings.change({"FETCH_INTERVAL_RSS": 55})
        transport = httpx.ASGITransport(create_app(system))
        async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
            headers = {"X-API-Key": environ["ADMIN_API_KEY"]}
            page = (await client.get("/system/settings", headers=headers)).text
    rows = {
        re.findall(r"<code>(.*?)</code>|<th scope=\"row\">(?:[^<]*<span class=\"type\">)?(\w+)<", row)[0]: " ".join(
            re.sub("<[^>]+>", " ", row).split()
        )
        for row in re.findall(r"<tr>.*?</tr>", page, re.DOTALL)[1:]
        if "<code>" in row or 'scope="row"' in row
    }
    by_name = {name or other: row for (name, other), row in rows.items()}
    assert by_name["CATCHMENT_KEEP_DAYS"].endswith("77 .env")
    assert by_name["CATCHMENT_PORT"].endswith("8123 command")
    assert by_name["CATCHMENT_HOST"].endswith("127.0.0.1 default")
    assert by_name["COLLECTOR_CONCURRENCY"].endswith("9 environment")
    assert by_name["COLLECTOR_TICK"].endswith("60 default")
    assert by_name["ADMIN_API_KEY"].endswith("set environment")
    assert by_name["TWITTER_API_KEY"].endswith("set .env")
    assert by_name["API_KEY"].endswith("not set default")
    assert by_name["rss"] == "feed rss 55 database"
    assert by_name["website"] == "web page website 44 environment"
    assert "planted" not in page
    assert HOSTILE not in page
    assert "&#34;&gt;&lt;script&gt;window.ran=1" in page


@pytest.mark.proves("G-10")
async def test_a_usual_interval_is_set_and_given_back(admins: Site):
    page = await told(admins, await send(admins, "/system/settings", option="FETCH_INTERVAL_RSS", minutes="45"))
    assert "FETCH_INTERVAL_RSS is 45 minutes now." in page
    assert await admins.system.interval_settings.read() == {"FETCH_INTERVAL_RSS": "45"}
    page = await told(admins, await send(admins, "/system/settings", **undo_of(page)))
    assert "is not set here any more" in page
    assert await admins.system.interval_settings.read() == {}
    for minutes in ("0", "often", HOSTILE):
        page = await told(admins, await send(admins, "/system/settings", option="FETCH_INTERVAL_RSS", minutes=minutes))
        assert "whole number of minutes" in page


@pytest.mark.proves("G-10")
async def test_somebody_is_added_given_a_key_signed_out_and_disabled(admins: Site):
    made = await send(admins, "/system/users", email="dora@example.org", name=HOSTILE)
    assert made.status_code == 200
    assert HOSTILE not in made.text
    [password, key] = re.findall(r"<dd><code>([^<]+)</code></dd>", made.text)
    assert password not in (await admins.get("/system/users")).text
    dora = await admins.system.accounts.find_user("dora@example.org")
    here = f"/system/users/{dora.id}"
    again = await told(admins, await send(admins, "/system/users", email="dora@example.org"))
    assert "is a user already" in again

    new = await send(admins, here, do="key", name=HOSTILE, scope="read")
    [secret] = re.findall(r"<code>(cat_\w{40})</code>", new.text)
    assert HOSTILE not in new.text
    assert secret not in (await admins.get(here)).text
    assert (await admins.get("/api/users/me", headers={"X-API-Key": secret})).json()["email"] == dora.email
    owned = {one.name: one for one in await admins.system.accounts.list_keys_of(dora.id)}
    assert owned[HOSTILE].scope == "read"
    await told(admins, await send(admins, f"/system/keys/{owned[HOSTILE].id}/revoke"))
    assert (await admins.get("/api/users/me", headers={"X-API-Key": secret})).status_code == 401

    authenticator = admins.system.authenticator
    by_password = await authenticator.sign_in_by_password(dora.email, password, address="")
    by_key, token = await authenticator.sign_in(key), await authenticator.log_in(dora.email, password, address="")
    others = await authenticator.sign_in(admins.keys["alice"])
    assert None not in (by_password, by_key, token, others)
    assert "signed out everywhere" in await told(admins, await send(admins, here, do="sign_out"))
    assert await authenticator.caller_of_session(by_password) is None
    assert await authenticator.caller_of_session(by_key) is None
    assert await authenticator.identify_token(token) is None
    assert await authenticator.caller_of_session(others) is not None
    assert await authenticator.identify(key) is not None, "keys stay good"
    assert await authenticator.log_in(dora.email, password, address=""), "and so does the password"

    page = await told(admins, await send(admins, here, do="disable"))
    assert await authenticator.identify(key) is None
    await told(admins, await send(admins, here, **undo_of(page)))
    assert await authenticator.identify(key) is not None
    reset = await send(admins, here, do="reset")
    [fresh] = re.findall(r"<p>[^<]*password[^<]*<code>([^<]+)</code>", reset.text)
    assert await authenticator.log_in(dora.email, password, address="") is None
    assert await authenticator.log_in(dora.email, fresh, address="")


@pytest.mark.proves("G-10", "G-11")
async def test_users_are_listed_by_pages_with_the_keys_of_each(admins: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(system_pages, "MAX_USERS", 2)
    known = await admins.system.accounts.list_users()
    shown: list[str] = []
    for number in range(1, -(-len(known) // 2) + 1):
        page = (await admins.get("/system/users", params={"page": number})).text
        assert f"People who may come in: {len(known)}." in page
        shown += re.findall(r'href="/system/users/(\d+)[?"]', page)
    assert shown == [str(user.id) for user in known]
    beyond = (await admins.get("/system/users", params={"page": "9" * 5000})).text
    assert 'href="/system/users/' not in beyond
    await admins.system.accounts.create_key("further", user_id=known[0].id)
    page = (await admins.get("/system/users")).text
    working = [key for key in await admins.system.accounts.list_keys_of(known[0].id) if key.is_active]
    assert re.findall(r'<td class="number"[^>]*>(\d+)</td>', page)[0] == str(len(working))


@pytest.mark.proves("G-10")
async def test_a_key_of_a_program_is_made_shown_once_and_revoked(admins: Site):
    made = await send(admins, "/system/keys", name="n8n", role="service")
    [secret] = re.findall(r"<code>(cat_\w{40})</code>", made.text)
    assert secret not in (await admins.get("/system/users")).text
    assert (await admins.get("/api/workflow/keywords", headers={"X-API-Key": secret})).status_code == 200
    assert (await admins.get("/api/admin/users", headers={"X-API-Key": secret})).status_code == 403
    [key] = [one for one in await admins.system.accounts.list_keys() if one.name == "n8n"]
    assert "is revoked" in await told(admins, await send(admins, f"/system/keys/{key.id}/revoke"))
    assert (await admins.get("/api/workflow/keywords", headers={"X-API-Key": secret})).status_code == 401


@pytest.mark.proves("G-10")
async def test_everybody_can_sign_themselves_out_everywhere(lean_site: Site):
    session = await lean_site.system.authenticator.sign_in(lean_site.keys["alice"])
    others = await lean_site.system.authenticator.sign_in(lean_site.keys["bob"])
    assert session
    assert others
    assert (await lean_site.post("/api/users/me/sign-out", "alice")).status_code == 204
    assert await lean_site.system.authenticator.caller_of_session(session) is None
    assert await lean_site.system.authenticator.caller_of_session(others) is not None
    assert (await lean_site.post(f"/api/admin/users/{lean_site.bob.id}/sign-out", "admin")).status_code == 200
    assert await lean_site.system.authenticator.caller_of_session(others) is None
    await sign_in(lean_site, "alice")
    assert "You are signed out everywhere." in await told(lean_site, await send(lean_site, "/account/sign-out"))


@pytest.mark.proves("G-10")
async def test_a_backup_is_made_listed_and_not_made_twice_at_once(tmp_path: Path, clock: ManualClock):
    settings = Settings(home=tmp_path, admin_api_key="admin-key-of-the-environment")
    async with open_system(settings, clock=clock) as system:
        await system.jobs.prepare()
        transport = httpx.ASGITransport(create_app(system))
        async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
            headers = {**HTML, "X-API-Key": settings.admin_api_key}
            assert "There is no backup yet." in (await client.get("/system/backups", headers=headers)).text
            answers = [await client.post("/system/backups", headers=headers, data={"do": "make"}) for _ in range(2)]
            assert [answer.status_code for answer in answers] == [303, 303]
            assert "running at this moment" in html.unescape(
                (await client.get("/system/backups", headers=headers)).text
            )
            await asyncio.gather(*system.jobs._running)
            page = (await client.get("/system/backups", headers=headers)).text
        [file] = (tmp_path / "backups").iterdir()
        assert file.name in page
        assert "went well" in page
        [state] = [one for one in await system.jobs.list() if one.name == "backup"]
        assert state.due_at is None, "by hand only, where no hours are set"
    again = replace(settings, backup_hours=24.0)
    async with open_system(again, clock=clock) as system:
        await system.jobs.prepare()
        [state] = [one for one in await system.jobs.list() if one.name == "backup"]
        assert state.due_at is not None, "once hours are set, by the clock"


@pytest.mark.proves("G-10")
async def test_lists_are_imported_and_exported_from_the_page(admins: Site):
    await admins.add_source(admins.alice, "paper")
    page = (await admins.get("/system/exchange")).text
    links = re.findall(r'href="(/api/sources/export\?format=\w+)"', page)
    assert len(links) == 3
    for link in links:
        answer = await admins.get(link)
        assert "https://paper.example/feed" in answer.text
        assert "attachment" in answer.headers["content-disposition"]
    assert 'action="/sources/import"' in page


@pytest.mark.proves("G-10")
async def test_the_doctor_checks_what_the_command_checks(admins: Site):
    page = (await admins.get("/system/doctor")).text
    for name in ("Python", "Clock", "Store", "Writing", "Network", "Disk"):
        assert f'<th scope="row">{name}</th>' in page
    assert "the store can be written" in page


@pytest.mark.proves("G-10")
async def test_who_changed_what_is_read_a_page_at_a_time_without_secrets(admins: Site):
    await told(admins, await send(admins, "/system/settings", option="FETCH_INTERVAL_RSS", minutes="45"))
    made = await send(admins, "/system/keys", name=HOSTILE, role="service")
    [secret] = re.findall(r"<code>(cat_\w{40})</code>", made.text)
    for number in range(MAX_TRAIL):
        await admins.add_source(admins.alice, f"paper-{number}")
    first = (await admins.get("/system/trail")).text
    assert first.count("added a source") == MAX_TRAIL
    [older] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = (await admins.get(older)).text
    assert "FETCH_INTERVAL_RSS: 45" in second
    assert "created a key" in second
    assert secret not in second
    assert HOSTILE not in second
    assert 'rel="next"' not in second
    assert "修改设置" in (await admins.get(f"{older}&lang=zh")).text
    assert '<span class="reason">订阅源 http' in (await admins.get("/system/trail?lang=zh")).text
    assert (await admins.get(f"/system/trail?before={HOSTILE}")).status_code == 200


@pytest.mark.proves("G-10", "G-11")
async def test_what_was_changed_is_told_by_the_names_that_people_know(admins: Site):
    told_as = {
        ("webhook a", "items.new, alert; feed boats"): ("new items, alerts, of the feed boats", "新条目、告警、限订阅输出 boats"),
        ("cookie main", "dy"): ("Douyin", "抖音"),
        ("source 4 (b)", "weibo_search"): ("Weibo search", "微博搜索"),
        ("feed open", "private"): ("feed open", "订阅输出 open"),
        ("job collector_tick", ""): ("job Collecting", "任务 采集"),
        ("source 5 (c)", "active: no → yes; tags: a → a, b; config: url, pages"): (
            "active: no → yes; tags: a → a, b; options: url, pages", "启用：否 → 是；标签：a → a, b；选项：url、pages"
        ),
        ("source 6 (d)", "name: no; such: a → yes → no"): ("name: no; such: a → yes → no", "名称：no；such: a → yes → no"),
        ("feed saved", "a new token"): ("a new token", "新令牌"),
        ("cookie other", "is_enabled, priority"): ("active, priority", "启用、优先级"),
        ("user 7", "digests: public"): ("digests: public", "摘要：公开"),
        ("scraper_job", "every 60 s"): ("Scraping X", "抓取 X"),
    }  # fmt: skip
    for object_, summary in told_as:
        entry = deed("source.add", object_, summary, now=admins.system.clock.now())
        await admins.system.store.write(audit_trail.record, entry)
    english, chinese = [(await admins.get(f"/system/trail?lang={language}")).text for language in ("en", "zh")]
    for in_english, in_chinese in told_as.values():
        assert f">{in_english}<" in english
        assert f">{in_chinese}<" in chinese


@pytest.mark.proves("G-10", "G-11")
async def test_who_changed_it_is_named_in_the_language_of_whoever_looks_but_for_people(admins: Site):
    impostor = await admins.system.accounts.add_user("system@example.org", name="system")
    named = {
        OPERATOR: ("command line", "命令行"),
        SYSTEM: ("Catchment", "系统"),
        Caller(role=Role.ADMIN, name="admin"): ("admin key", "管理员密钥"),
        Caller(role=Role.SERVICE, name="service"): ("service key", "服务密钥"),
        Caller(role=Role.USER, user_id=impostor.id, name="system"): ("system", "system"),
    }
    for caller in named:
        entry = deed("source.add", "source 1 (a)", now=admins.system.clock.now(), caller=caller)
        await admins.system.store.write(audit_trail.record, entry)
    for place, language in enumerate(("en", "zh")):
        page = (await admins.get(f"/system/trail?lang={language}")).text
        told = re.findall(r'<td class="name">([^<]+)</td>', page)
        assert told[: len(named)] == [names[place] for names in reversed(named.values())]


@pytest.mark.browser
@pytest.mark.proves("G-10")
async def test_somebody_added_in_a_browser_sees_only_what_is_theirs(lean_site: Site, served_url: str):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    await lean_site.system.jobs.prepare()
    await lean_site.add_source(lean_site.alice, "private-paper")
    await lean_site.add_source(lean_site.bob, "public-paper", public=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(base_url=served_url, locale="en-GB")
        await page.goto("/signin")
        await page.locator("summary").click()
        await page.fill("#key", lean_site.keys["admin"])
        await page.locator("#key").press("Enter")
        await page.get_by_role("link", name="System").click()
        await page.get_by_role("button", name="Pause: Cleaning up").click()
        await expect(page.locator("#notice")).to_contain_text("Cleaning up is paused")
        await page.get_by_role("button", name="Undo").click()
        await expect(page.locator("#job-cleanup")).not_to_contain_text("paused")
        await page.get_by_role("link", name="Users and keys").click()
        await page.get_by_label("E-mail").fill("erin@example.org")
        await page.get_by_label("Name", exact=True).fill("Erin")
        await page.get_by_role("button", name="Add user").click()
        await expect(page.locator(".notice")).to_contain_text("Erin (erin@example.org) can come in")
        password = await page.locator(".notice code").first.inner_text()
        await page.get_by_role("button", name="Sign out", exact=True).click()
        await page.goto("/signin")
        await page.fill("#email", "erin@example.org")
        await page.fill("#password", password)
        await page.locator("#password").press("Enter")
        await page.wait_for_url("**/")
        await page.get_by_role("link", name="Sources", exact=True).click()
        await expect(page.locator("#rows")).to_contain_text("public-paper")
        await expect(page.locator("body")).not_to_contain_text("private-paper")
        await expect(page.get_by_role("link", name="System")).to_have_count(0)
        await browser.close()
