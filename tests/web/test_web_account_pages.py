"""Signing in by password, and the page of one's own keys and password."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from browser import Page
from web_site import Site, with_settings

from catchment.manage.accounts import NewAccount
from catchment.web.app import create_app
from catchment.web.csrf import SESSION_COOKIE, TOKEN_FIELD, token_of

CAROL = "carol@example.org"


@pytest.fixture
async def carol(lean_site: Site) -> NewAccount:
    """Somebody with a password, whose browser is signed in by it."""
    made = await lean_site.system.accounts.enrol(CAROL, name="Carol")
    answer = await lean_site.post("/signin", data={"email": CAROL, "password": made.temp_password})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    return made


def token(site: Site) -> dict[str, str]:
    return {TOKEN_FIELD: token_of(site.client.cookies[SESSION_COOKIE])}


async def test_the_cookie_is_out_of_reach_of_scripts_and_kept_to_https_where_there_is_https(lean_site: Site):
    made = await lean_site.system.accounts.enrol(CAROL)
    for scheme, secure in (("http", False), ("https", True)):
        form = {"email": CAROL, "password": made.temp_password}
        answer = await lean_site.post(f"{scheme}://catchment.test/signin", data=form)
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert ("secure" in cookie) is secure


async def test_a_wrong_password_brings_the_form_back_without_it_and_in_the_end_a_pause(lean_site: Site):
    await lean_site.system.accounts.enrol(CAROL)
    for _ in range(5):
        answer = await lean_site.post("/signin", data={"email": CAROL, "password": "not-it"})
        assert answer.status_code == 401
        assert "Wrong e-mail address or password" in answer.text
        assert CAROL in answer.text
        assert "not-it" not in answer.text
    answer = await lean_site.post("/signin?lang=zh", data={"email": CAROL, "password": "not-it"})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "900")
    assert "错误次数过多" in answer.text
    for nonsense in ({}, {"email": "\0", "password": "\0"}, {"email": "x" * 10_000, "password": "x"}):
        assert (await lean_site.post("/signin", data=nonsense)).status_code == 401


async def test_a_key_is_made_on_the_page_shown_once_and_revoked_there(lean_site: Site, carol: NewAccount):
    page = await lean_site.get("/account")
    assert page.headers["cache-control"] == "no-store"
    assert "first key" in page.text
    assert carol.api_key not in page.text
    form = {**token(lean_site), "name": "<b>newsreader</b>", "scope": "read"}
    made = await lean_site.post("/account/keys", data=form)
    [secret] = re.findall(r"<code>(cat_\w{40})</code>", made.text)
    assert "&lt;b&gt;newsreader&lt;/b&gt;" in made.text
    assert secret not in (await lean_site.get("/account")).text
    [_, key] = await lean_site.system.accounts.list_keys_of(carol.user.id)
    assert (key.name, key.scope) == ("<b>newsreader</b>", "read")
    answer = await lean_site.post(f"/account/keys/{key.id}/revoke", data=token(lean_site))
    assert answer.status_code == 303
    assert "newsreader" not in (await lean_site.get("/account")).text
    assert (await lean_site.get("/api/users/me", headers={"X-API-Key": secret})).status_code == 401
    assert (await lean_site.post("/account/keys", data={**form, "name": " "})).status_code == 400


async def test_no_form_of_the_page_works_without_the_token_of_the_session(lean_site: Site, carol: NewAccount):
    for path in ("/account/keys", "/account/keys/3/revoke", "/account/password", "/signout"):
        for form in ({}, {TOKEN_FIELD: "wrong"}, {TOKEN_FIELD: token_of("another")}):
            assert (await lean_site.post(path, data={**form, "name": "x"})).status_code == 403, path
    assert len(await lean_site.system.accounts.list_keys_of(carol.user.id)) == 1


async def test_a_password_is_changed_on_the_page_and_the_browser_stays_signed_in(lean_site: Site, carol: NewAccount):
    old = lean_site.client.cookies[SESSION_COOKIE]

    async def change(old_password: str, new_password: str):
        form = {**token(lean_site), "old_password": old_password, "new_password": new_password}
        return await lean_site.post("/account/password", data=form)

    assert "present password is wrong" in (await change("wrong", "long enough")).text
    assert "8 to 200" in (await change(carol.temp_password, "short")).text
    assert (await change(carol.temp_password, "long enough")).status_code == 303
    assert lean_site.client.cookies[SESSION_COOKIE] != old
    assert (await lean_site.get("/account")).status_code == 200
    assert await lean_site.system.authenticator.caller_of_session(old) is None
    for _ in range(5):
        await change("wrong", "long enough")
    assert "too often" in (await change("long enough", "longer than before")).text


async def test_who_is_not_signed_in_is_shown_the_way_and_a_key_of_nobody_has_no_account(lean_site: Site):
    answer = await lean_site.get("/account")
    assert (answer.status_code, answer.headers["location"]) == (303, "/signin?then=%2Faccount")
    assert (await lean_site.get("/account", "admin")).status_code == 403
    assert "/account" not in (await lean_site.get("/", "admin")).text
    assert "/account" in (await lean_site.get("/", "alice")).text


SIGN_IN = """(() => {{
  document.querySelector('#email').value = {email!r};
  document.querySelector('#password').value = {password!r};
  document.querySelector('form button').click();
}})()"""


@pytest.mark.browser
@pytest.mark.parametrize(
    ("lang", "colours", "words"), [("en", "light", "Your API keys"), ("zh", "dark", "你的 API 密钥")]
)
async def test_a_browser_signs_in_makes_a_key_and_signs_out(
    lean_site: Site, served_url: str, page: Page, lang: str, colours: str, words: str, tmp_path: Path
):
    made = await lean_site.system.accounts.enrol(CAROL, name="Carol")
    await page.prefer(colours)
    await page.open(f"{served_url}/signin?lang={lang}")
    await page.until("document.querySelector('#password')")
    await page.screenshot(tmp_path / f"signin-{lang}.png")
    await page.evaluate(SIGN_IN.format(email=CAROL, password=made.temp_password))
    await page.until("document.querySelector('.who')")
    await page.open(f"{served_url}/account?lang={lang}")
    assert await page.until("document.querySelector('#keys')?.textContent") == words
    await page.evaluate("document.querySelector('[name=name]').value = 'reader'")
    await page.evaluate("document.querySelector('.fields button').click()")
    assert (await page.until("document.querySelector('.notice code')?.textContent")).startswith("cat_")
    await page.screenshot(tmp_path / f"account-{lang}.png")
    await page.evaluate("document.querySelector('nav form button').click()")
    await page.until("document.querySelector('nav a.button')")
    assert not await lean_site.system.store.read(
        lambda conn: conn.exec_driver_sql("SELECT count(*) FROM sessions").scalar()
    )


@pytest.mark.proves("G-11")
@pytest.mark.parametrize("public_url", ["", "https://example.org/catch"])
async def test_whoever_signs_in_goes_on_with_the_page_that_they_asked_for(lean_site: Site, public_url: str):
    private = await lean_site.add_source(lean_site.alice, "private")
    transport = httpx.ASGITransport(create_app(with_settings(lean_site.system, public_url=public_url)))
    root = urlsplit(public_url).path
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        asked = await client.get(f"{root}/items?q=%E9%87%87%E9%9B%86&days=7")
        door = asked.headers["location"]
        assert door.startswith(f"{root}/signin?then=")
        form = (await client.get(door)).text
        [action, _] = re.findall(r'action="([^"]*/signin[^"]*)"', form)
        refused = await client.post(html.unescape(action), data={"key": "not-a-key"})
        assert f'action="{action}"' in refused.text
        come = await client.post(html.unescape(action), data={"key": lean_site.keys["alice"]})
        assert come.headers["location"] == f"{root}/items?q=%E9%87%87%E9%9B%86&days=7"
        client.cookies.clear()
        hidden = await client.get(f"{root}/sources/{private.id}", headers={"Accept": "text/html"})
        assert hidden.text.count(f'href="{root}/signin?then=%2Fsources%2F{private.id}"') == 2


@pytest.mark.proves("G-11")
@pytest.mark.parametrize(("language", "told"), [("en", "what you sent was not done"), ("zh", "刚才的操作没有执行")])
async def test_a_form_of_somebody_who_is_signed_out_by_then_says_that_it_was_not_done(
    lean_site: Site, language: str, told: str
):
    headers = {"Referer": "http://catchment.test/sources/7/edit?a=b"}
    answer = await lean_site.post("/sources/7/edit", data={"name": "new"}, headers=headers)
    assert answer.headers["location"] == "/signin?then=%2Fsources%2F7%2Fedit%3Fa%3Db&unsent=1"
    page = (await lean_site.get(f"{answer.headers['location']}&lang={language}")).text
    assert told in page
    [action, _] = re.findall(r'action="([^"]*/signin[^"]*)"', page)
    come = await lean_site.post(html.unescape(action), data={"key": lean_site.keys["alice"]})
    assert come.headers["location"] == "/sources/7/edit?a=b"


@pytest.mark.parametrize(
    "elsewhere", ["//evil.test", "https://evil.test", "/\\evil.test", "/\tx", "evil", "///evil.test"]
)
async def test_signing_in_leads_to_pages_of_ours_alone(lean_site: Site, elsewhere: str):
    come = await lean_site.post("/signin", params={"then": elsewhere}, data={"key": lean_site.keys["alice"]})
    assert (come.status_code, come.headers["location"]) == (303, "/")
