"""Who is asking, by which credentials, and how a browser signs in."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import timedelta
from itertools import product

import httpx
import pytest
from web_site import ADMIN_KEY, SERVICE_KEY, Site, with_settings

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.domain.caller import Role
from catchment.errors import Conflict, FullStore, InvalidInput, NotFound
from catchment.settings import Settings
from catchment.store import database, keys
from catchment.web.app import create_app
from catchment.web.csrf import SESSION_COOKIE, TOKEN_HEADER, token_of
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


@pytest.mark.proves("A-13")
async def test_the_status_without_a_key_is_refused(lean_site: Site):
    answer = await lean_site.get("/api/collector/status")
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]


@pytest.mark.proves("A-14")
@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {SERVICE_KEY}"},
        {"authorization": f"bearer  {ADMIN_KEY} "},
        {"X-API-Key": ADMIN_KEY},
    ],
)
async def test_the_keys_of_the_environment_open_the_status(lean_site: Site, headers: dict[str, str]):
    assert (await lean_site.get("/api/collector/status", headers=headers)).status_code == 200


async def test_a_stored_key_works_in_both_headers(lean_site: Site):
    for headers in ({"X-API-Key": lean_site.keys["alice"]}, {"Authorization": f"Bearer {lean_site.keys['alice']}"}):
        assert (await lean_site.get("/api/collector/status", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": "wrong"},
        {"X-API-Key": ""},
        {"Authorization": "Bearer wrong"},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {ADMIN_KEY}"},
        {"X-API-Key": "wrong", "Authorization": f"Bearer {ADMIN_KEY}"},
    ],
)
async def test_wrong_credentials_are_refused_even_where_none_are_needed(lean_site: Site, headers: dict[str, str]):
    answer = await lean_site.get("/api/sources", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid api key")


async def test_an_empty_key_in_the_environment_is_nobodys_key(keyless_system: System):
    transport = httpx.ASGITransport(create_app(keyless_system))
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        answer = await client.get("/api/collector/status", headers={"Authorization": "Bearer "})
    assert answer.status_code == 401


@on_both_stores
async def test_a_revoked_key_is_refused_at_once_and_so_is_its_session(site: Site):
    token = await site.system.authenticator.sign_in(site.keys["alice"])
    cookie = {"Cookie": f"{SESSION_COOKIE}={token}"}
    assert (await site.get("/api/subscriptions", headers=cookie)).status_code == 200
    [key] = [key for key in await site.system.accounts.list_keys() if key.user_id == site.alice.id]
    await site.system.accounts.revoke_key(key.id)
    assert (await site.get("/api/subscriptions", "alice")).status_code == 401
    assert (await site.get("/api/subscriptions", headers=cookie)).status_code == 401


async def test_keys_are_stored_as_hashes_and_their_use_is_noted_once_a_minute(site: Site, clock: ManualClock):
    async def last_used() -> object:
        await site.system.authenticator.key_uses.wait()
        return (await site.system.accounts.list_keys())[0].last_used_at

    first = clock.now()
    await site.get("/api/subscriptions", "alice")
    assert await last_used() == first
    clock.advance(timedelta(seconds=59))
    await site.get("/api/subscriptions", "alice")
    assert await last_used() == first
    clock.advance(timedelta(seconds=1))
    await site.get("/api/subscriptions", "alice")
    assert await last_used() == clock.now()
    [key, _] = await site.system.accounts.list_keys()
    assert site.keys["alice"].startswith(key.prefix)
    assert site.keys["alice"] not in repr(key)


@on_both_stores
async def test_a_session_opens_with_a_key_and_ends_by_signing_out(site: Site):
    answer = await site.post("/signin", data={"key": f" {site.keys['alice']} "})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "max-age=2592000" in cookie
    assert (await site.get("/api/subscriptions")).status_code == 200
    forged = await site.post("/signout")
    assert forged.status_code == 403, "without the token of the session it may be forged"
    # Or the page was opened before somebody signed in once more.
    assert "This page is of another session: load it again" in forged.json()["error"]
    [session] = [cookie.value or "" for cookie in site.client.cookies.jar]
    await site.post("/signout", data={"csrf_token": token_of(session)})
    assert (await site.get("/api/subscriptions")).status_code == 401


async def test_a_session_ends_after_thirty_days(site: Site, clock: ManualClock):
    token = await site.system.authenticator.sign_in(site.keys["alice"])
    clock.advance(timedelta(days=30) - timedelta(seconds=1))
    assert await site.system.authenticator.caller_of_session(token or "")
    clock.advance(timedelta(seconds=1))
    assert await site.system.authenticator.caller_of_session(token or "") is None


async def test_a_session_of_the_environments_key_ends_when_that_key_changes(lean_site: Site, clock: ManualClock):
    system = lean_site.system
    token = await system.authenticator.sign_in(ADMIN_KEY) or ""
    caller = await system.authenticator.caller_of_session(token)
    assert caller is not None
    assert caller.role is Role.ADMIN
    settings = replace(system.settings, admin_api_key="another key")
    async with open_system(settings, clock=clock) as changed:
        assert await changed.authenticator.caller_of_session(token) is None


async def test_an_old_cookie_counts_as_none(lean_site: Site):
    cookie = {"Cookie": f"{SESSION_COOKIE}=old"}
    assert (await lean_site.get("/", headers=cookie)).status_code == 200
    assert (await lean_site.get("/api/subscriptions", headers=cookie)).status_code == 401


async def test_a_page_of_another_origin_cannot_act_in_a_signed_in_browsers_name(lean_site: Site):
    await lean_site.post("/signin", data={"key": ADMIN_KEY})
    [session] = [cookie.value or "" for cookie in lean_site.client.cookies.jar]
    for origin, status in (
        ("http://catchment.test:99", 403),
        ("null", 403),
        ("http://[", 403),
        ("", 403),
        ("http://catchment.test", 200),
    ):
        headers = {"Origin": origin, TOKEN_HEADER: token_of(session)}
        answer = await lean_site.put("/api/config", headers=headers, json={"FETCH_INTERVAL_RSS": 5})
        assert answer.status_code == status, origin
    answer = await lean_site.post("/signin", data={"key": ADMIN_KEY}, headers={"Origin": "http://evil.test"})
    assert answer.status_code == 403, "nor sign a browser in as somebody else"


@pytest.mark.proves("D-12", "F-07")
async def test_behind_a_proxy_a_browser_signs_in_by_the_public_address(lean_site: Site):
    """The proxy asks by a name of its own, as nginx does unless it is told otherwise."""
    transport = httpx.ASGITransport(
        create_app(with_settings(lean_site.system, public_url="https://Feeds.example.org/catchment"))
    )
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8767") as client:
        for origin, status in (
            ("https://feeds.example.org", 303),
            ("http://127.0.0.1:8767", 303),
            ("https://feeds.example.org.evil.test", 403),
            ("null", 403),
            ("http://[", 403),
        ):
            answer = await client.post("/signin", data={"key": ADMIN_KEY}, headers={"Origin": origin})
            assert answer.status_code == status, origin


async def test_a_wrong_key_on_the_form_is_told_so_and_not_shown_again(lean_site: Site):
    answer = await lean_site.post("/signin", data={"key": "not-a-key"})
    assert answer.status_code == 401
    assert "not known here" in answer.text
    assert "not-a-key" not in answer.text


async def test_the_first_start_makes_an_admins_key_and_a_link_that_works_once(keyless_system: System):
    first = await keyless_system.accounts.ensure_first_key()
    assert first is not None
    assert await keyless_system.accounts.ensure_first_key() is None
    caller = await keyless_system.authenticator.identify(first.secret)
    assert caller is not None
    assert caller.is_admin
    transport = httpx.ASGITransport(create_app(keyless_system))
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        answer = await client.get("/signin", params={"token": first.link.token})
        assert answer.status_code == 303
        assert (await client.get("/api/config")).status_code == 200
        chinese = await client.get("/system/users", headers={"Accept-Language": "zh"})
        assert "首个管理员密钥" in chinese.text
        assert "first admin key" not in chinese.text
        client.cookies.clear()
        spent = await client.get("/signin", params={"token": first.link.token})
        assert spent.status_code == 401
        assert "Make a new one (catchment signin), or sign in with a key instead." in spent.text
        chinese = await client.get("/signin", params={"token": first.link.token}, headers={"Accept-Language": "zh"})
        assert "请获取新链接（catchment signin），或改用密钥登录。" in chinese.text
        assert (await client.get("/api/config")).status_code == 401


async def test_a_sign_in_link_is_no_session_and_dies_after_a_quarter_of_an_hour(
    keyless_system: System, clock: ManualClock
):
    first = await keyless_system.accounts.ensure_first_key()
    assert first is not None
    assert await keyless_system.authenticator.caller_of_session(first.link.token) is None
    clock.advance(timedelta(minutes=15))
    assert await keyless_system.authenticator.sign_in_by_link(first.link.token) is None


@pytest.mark.proves("R-36")
async def test_a_link_that_was_made_before_the_first_start_does_not_use_up_the_first_key(keyless_system: System):
    await keyless_system.accounts.make_sign_in_link()
    assert await keyless_system.accounts.ensure_first_key() is not None
    assert await keyless_system.accounts.ensure_first_key() is None


async def test_no_first_key_is_made_where_somebody_can_get_in(site: Site, keyless_system: System):
    assert await site.system.accounts.ensure_first_key() is None
    await keyless_system.accounts.add_user("somebody@example.org")
    assert await keyless_system.accounts.ensure_first_key() is None


async def test_short_names_are_plain_and_unique(site: Site):
    add = site.system.accounts.add_user
    names = ["Zoë Ünal", "zoe unal", "王小明", "🙂", "a" * 200]
    users = [await add(f"user{number}@example.org", name=name) for number, name in enumerate(names)]
    assert [user.slug for user in users] == ["zoe-unal", "zoe-unal-1", "user", "user-1", "a" * 60]


async def test_accounts_refuse_what_makes_no_sense(lean_site: Site):
    accounts = lean_site.system.accounts
    with pytest.raises(Conflict) as twin:
        await accounts.add_user("Alice@Example.org ")
    assert twin.value.existing_id == lean_site.alice.id
    for email in ("", "nobody", "a b@c", "a@b\0", "a@" + "b" * 400):
        with pytest.raises(InvalidInput):
            await accounts.add_user(email)
    with pytest.raises(InvalidInput):
        await accounts.create_key("neither")
    with pytest.raises(InvalidInput):
        await accounts.create_key("both", user_id=lean_site.alice.id, role=Role.ADMIN)
    with pytest.raises(InvalidInput):
        await accounts.create_key("a role that keys do not have", role=Role.ANONYMOUS)
    with pytest.raises(NotFound):
        await accounts.create_key("nobody's", user_id=10**12)
    with pytest.raises(NotFound):
        await accounts.revoke_key(10**12)


async def test_the_admin_role_is_the_users_present_one(site: Site):
    chief = await site.system.accounts.add_user("chief@example.org", is_admin=True)
    made = await site.system.accounts.create_key("desk", user_id=chief.id)
    caller = await site.system.authenticator.identify(made.secret)
    assert caller is not None
    assert (caller.role, caller.user_id) == (Role.ADMIN, chief.id)


def test_settings_know_no_key_by_default():
    assert (Settings().api_key, Settings().admin_api_key) == ("", "")


@contextmanager
def held(system: System) -> Iterator[None]:
    """By another program, which writes and does not end."""
    with closing(sqlite3.connect(str(system.store.url.database), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


READING = ("/", "/sources", "/items?q=word", "/api/sources", "/api/subscriptions", "/api/items?q=word")


@pytest.mark.proves("R-25")
async def test_whoever_only_reads_is_answered_while_another_program_holds_the_store(lean_site: Site):
    site = lean_site
    await site.add_items(await site.add_source(site.alice, "Held", public=True), "a word")
    token = await site.system.authenticator.sign_in(site.keys["alice"])
    app_token = await site.system.authenticator.log_in_reader("alice@example.org", site.keys["alice"], address="")
    ways = [
        {"X-API-Key": site.keys["bob"]},
        {"Authorization": f"Bearer {site.keys['bob']}"},
        {"Cookie": f"{SESSION_COOKIE}={token}"},
    ]
    with held(site.system):
        async with asyncio.timeout(database.BUSY_SECONDS / 2):
            for path, headers in product(READING, ways):
                assert (await site.get(path, headers=headers)).status_code == 200
            login = {"Authorization": f"GoogleLogin auth={app_token}"}
            listed = await site.get("/greader/reader/api/0/subscription/list?output=json", headers=login)
            assert listed.status_code == 200
    await site.system.authenticator.key_uses.wait()
    assert all(key.last_used_at for key in await site.system.accounts.list_keys()), "recorded once it was let go"


@pytest.mark.proves("R-25")
async def test_of_a_key_one_use_at_a_time_is_recorded_and_trouble_with_it_told_once(
    lean_site: Site, monkeypatch: pytest.MonkeyPatch, log: list[str]
):
    site, uses = lean_site, lean_site.system.authenticator.key_uses
    tried = []

    async def refuse(change: object, *_: object, **__: object) -> None:
        tried.append(change)
        raise FullStore("no room")

    monkeypatch.setattr(site.system.store, "write", refuse)
    [key, _] = await site.system.accounts.list_keys()
    for _ in range(2):
        for _ in range(3):
            uses.note(key)
        await uses.wait()
    assert tried == [keys.touch] * 2
    assert len([line for line in log if "no room" in line]) == 1


@pytest.mark.proves("R-25")
async def test_a_stop_waits_for_no_use_of_a_key_to_be_recorded(sqlite_url: str):
    settings = Settings(database_url=sqlite_url)
    with ExitStack() as stack:
        async with asyncio.timeout(database.BUSY_SECONDS / 2), open_system(settings) as system:
            made = await system.accounts.create_key("mine", role=Role.ADMIN)
            stack.enter_context(held(system))
            assert await system.authenticator.identify(made.secret)
            # Meanwhile it has begun to wait.
            assert len(await system.accounts.list_keys()) == 1


@pytest.mark.proves("R-25")
async def test_a_search_finds_what_it_knows_in_a_store_that_refuses_to_take_in_more(
    lean_site: Site, monkeypatch: pytest.MonkeyPatch
):
    await lean_site.add_items(await lean_site.add_source(lean_site.alice, "Full", public=True), "a word")

    async def refuse(*_: object, **__: object) -> None:
        raise FullStore("no room")

    monkeypatch.setattr(lean_site.system.store, "write", refuse)
    assert (await lean_site.get("/api/items?q=word", "alice")).status_code == 200
