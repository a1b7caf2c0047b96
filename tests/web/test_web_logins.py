"""Users and their passwords: logging in, being refused, and what ends a login."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from web_site import ADMIN_KEY, Site

from catchment.bootstrap import open_system
from catchment.clock import ManualClock
from catchment.errors import TooManyAttempts
from catchment.manage.accounts import NewAccount
from catchment.settings import Settings
from catchment.web.csrf import SESSION_COOKIE, TOKEN_HEADER, token_of
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

MINUTE = timedelta(minutes=1)
ADDRESS = "192.0.2.7"


async def enrol(site: Site, email: str = "carol@example.org", *, is_admin: bool = False) -> NewAccount:
    answer = await site.post("/api/admin/users", "admin", json={"email": email, "is_admin": is_admin})
    assert answer.status_code == 201, answer.text
    body = answer.json()
    user = await site.system.accounts.get_user(body["user"]["id"])
    return NewAccount(user=user, temp_password=body["temp_password"], api_key=body["api_key"])


async def log_in(site: Site, email: str, password: str) -> dict[str, str]:
    answer = await site.post("/api/auth/login", json={"email": email, "password": password})
    assert answer.status_code == 200, answer.text
    assert answer.json()["token_type"] == "bearer"
    return {"Authorization": f"Bearer {answer.json()['access_token']}"}


async def statuses(site: Site, *ways: dict[str, str]) -> list[int]:
    return [(await site.get("/api/users/me", headers=headers)).status_code for headers in ways]


async def ways_in(site: Site, carol: NewAccount) -> list[dict[str, str]]:
    """By token, by session, by key."""
    token = await log_in(site, carol.user.email, carol.temp_password)
    session = await site.system.authenticator.sign_in_by_password(
        carol.user.email, carol.temp_password, address=ADDRESS
    )
    by_key = await site.system.authenticator.sign_in(carol.api_key)
    return [
        token,
        {"Cookie": f"{SESSION_COOKIE}={session}"},
        {"X-API-Key": carol.api_key},
        {"Cookie": f"{SESSION_COOKIE}={by_key}"},
    ]


@pytest.mark.proves("D-12")
async def test_a_user_that_an_admin_added_comes_in_by_password_and_by_key(site: Site):
    carol = await enrol(site)
    for headers in await ways_in(site, carol):
        answer = await site.get("/api/users/me", headers=headers)
        assert answer.status_code == 200
        assert answer.json()["email"] == "carol@example.org"
        assert (answer.json()["is_admin"], answer.json()["is_active"]) == (False, True)
    twin = await site.post("/api/admin/users", "admin", json={"email": " Carol@example.org"})
    assert (twin.status_code, twin.json()["existing_id"]) == (409, carol.user.id)
    listed = await site.get("/api/admin/users", "admin")
    assert [user["email"] for user in listed.json()][-1] == "carol@example.org"
    assert "password" not in listed.text


@on_both_stores
@pytest.mark.proves("D-12")
async def test_the_admin_role_is_read_from_the_store_and_not_from_the_token(site: Site):
    chief = await enrol(site, "chief@example.org", is_admin=True)
    token = await log_in(site, "chief@example.org", chief.temp_password)
    assert (await site.get("/api/admin/users", headers=token)).status_code == 200

    def demote(conn):
        conn.exec_driver_sql(f"UPDATE users SET is_admin = FALSE WHERE id = {chief.user.id}")

    await site.system.store.write(demote)
    assert (await site.get("/api/admin/users", headers=token)).status_code == 403


@on_both_stores
@pytest.mark.proves("D-12")
async def test_a_disabled_user_is_refused_at_once_by_every_way_in(site: Site):
    carol = await enrol(site)
    ways = await ways_in(site, carol)
    assert await statuses(site, *ways) == [200, 200, 200, 200]
    answer = await site.post(f"/api/admin/users/{carol.user.id}/disable", "admin")
    assert answer.json()["is_active"] is False
    assert await statuses(site, *ways) == [401, 401, 401, 401]
    refused = await site.post("/api/auth/login", json={"email": carol.user.email, "password": carol.temp_password})
    assert refused.status_code == 401
    await site.post(f"/api/admin/users/{carol.user.id}/enable", "admin")
    assert await statuses(site, *ways) == [401, 401, 200, 200], "who signed in by password does so anew"


@pytest.mark.proves("D-12")
async def test_a_changed_password_ends_what_the_old_one_opened(site: Site):
    carol = await enrol(site)
    ways = await ways_in(site, carol)
    change = {"old_password": carol.temp_password, "new_password": "a much better one"}
    assert (await site.put("/api/users/me/password", headers=ways[2], json=change)).status_code == 204
    assert await statuses(site, *ways) == [401, 401, 200, 200]
    again = await log_in(site, carol.user.email, "a much better one")
    reset = await site.post(f"/api/admin/users/{carol.user.id}/reset-password", "admin")
    assert await statuses(site, again) == [401]
    await log_in(site, carol.user.email, reset.json()["temp_password"])


async def test_a_password_is_changed_only_by_who_knows_the_old_one(site: Site):
    carol = await enrol(site)
    key = {"X-API-Key": carol.api_key}
    cases = [("wrong", "long enough", 400), (carol.temp_password, "short", 422), (carol.temp_password, "x" * 201, 422)]
    for old, new, status in cases:
        body = {"old_password": old, "new_password": new}
        assert (await site.put("/api/users/me/password", headers=key, json=body)).status_code == status
    await log_in(site, carol.user.email, carol.temp_password)
    for who in ("service", "admin"):
        assert (await site.get("/api/users/me", who)).status_code == 403, "keys of the environment are nobody's"


@on_both_stores
async def test_of_two_changes_at_once_one_holds(site: Site):
    carol = await enrol(site)
    changed = await asyncio.gather(
        *(
            site.system.accounts.change_password(carol.user, carol.temp_password, f"password {n}", address=ADDRESS)
            for n in range(2)
        )
    )
    assert sorted(changed) == [False, True]


@pytest.mark.parametrize(
    ("accept", "words"),
    [("", "邮箱或密码错误"), ("zh-CN", "邮箱或密码错误"), ("en-GB,en;q=0.9", "Wrong e-mail address or password")],
)
async def test_unknown_and_wrong_are_told_the_same(lean_site: Site, accept: str, words: str):
    carol = await enrol(lean_site)
    without_password = lean_site.alice.email
    answers = [
        await lean_site.post(
            "/api/auth/login", json={"email": email, "password": "wrong"}, headers={"Accept-Language": accept}
        )
        for email in (carol.user.email, "stranger@example.org", without_password, "no address")
    ]
    assert {(answer.status_code, answer.json()["detail"]) for answer in answers} == {(401, words)}


@pytest.mark.proves("D-12")
async def test_whoever_is_wrong_too_often_waits_even_with_the_right_password(site: Site, clock: ManualClock):
    carol = await enrol(site)

    async def attempt(email: str, password: str):
        return await site.post("/api/auth/login", json={"email": email, "password": password})

    for email in (carol.user.email, "stranger@example.org"):
        for _ in range(5):
            assert (await attempt(email, "wrong")).status_code == 401
            clock.advance(MINUTE)
        answer = await attempt(email.upper(), carol.temp_password)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "600")
    clock.advance(5 * MINUTE)
    await log_in(site, carol.user.email, carol.temp_password)
    for _ in range(5):
        assert (await attempt(carol.user.email, "wrong")).status_code == 401, "a good one starts the count anew"


async def test_many_attempts_at_once_are_counted_like_one_after_another(lean_site: Site):
    carol = await enrol(lean_site)

    async def attempt(_: int) -> int:
        body = {"email": carol.user.email, "password": "wrong"}
        return (await lean_site.post("/api/auth/login", json=body)).status_code

    answers = await asyncio.gather(*map(attempt, range(12)))
    assert sorted(answers) == [401] * 5 + [429] * 7


async def test_an_address_that_tries_many_accounts_waits_and_others_do_not(lean_site: Site):
    carol = await enrol(lean_site)
    authenticator = lean_site.system.authenticator
    for number in range(30):
        assert await authenticator.log_in(f"user{number}@example.org", "wrong", address=ADDRESS) is None
    with pytest.raises(TooManyAttempts):
        await authenticator.log_in(carol.user.email, carol.temp_password, address=ADDRESS)
    assert await authenticator.log_in(carol.user.email, carol.temp_password, address="192.0.2.8")


async def test_a_token_ends_after_its_hours(site: Site, clock: ManualClock):
    carol = await enrol(site)
    token = await log_in(site, carol.user.email, carol.temp_password)
    clock.advance(timedelta(hours=24) - MINUTE)
    assert await statuses(site, token) == [200]
    clock.advance(MINUTE)
    answer = await site.get("/api/users/me", headers=token)
    assert (answer.status_code, answer.json()["error"]) == (401, "invalid or expired token")
    assert await statuses(site, {"X-API-Key": token["Authorization"].split()[1]}) == [401]


async def test_without_a_setting_tokens_are_signed_with_the_installations_own_key(
    sqlite_url: str, tmp_path: Path, clock: ManualClock
):
    settings = Settings(database_url=sqlite_url, home=tmp_path / "home")
    async with open_system(settings, clock=clock) as system:
        made = await system.accounts.enrol("ada@example.org")
        token = await system.authenticator.log_in("ada@example.org", made.temp_password, address=ADDRESS)
    async with open_system(settings, clock=clock) as again:
        assert token
        assert await again.authenticator.identify_token(token)
    (settings.home / "secret.key").unlink()
    async with open_system(settings, clock=clock) as other:
        assert await other.authenticator.identify_token(token) is None


async def test_a_session_by_password_acts_only_with_its_token(site: Site):
    carol = await enrol(site)
    session = await site.system.authenticator.sign_in_by_password(
        carol.user.email, carol.temp_password, address=ADDRESS
    )
    cookie, draft = {"Cookie": f"{SESSION_COOKIE}={session}"}, {"type": "rss", "config": {"url": "https://x.example/"}}
    for token in (None, "wrong", token_of("another session")):
        headers = {**cookie, **({TOKEN_HEADER: token} if token else {})}
        assert (await site.post("/api/sources", headers=headers, json=draft)).status_code == 403
    headers = {**cookie, TOKEN_HEADER: token_of(session or "")}
    assert (await site.post("/api/sources", headers=headers, json=draft)).status_code == 201
    assert (await site.get("/api/sources", headers=cookie)).status_code == 200


async def test_neither_passwords_nor_keys_nor_tokens_reach_the_log_or_the_store(site: Site, log: list[str]):
    carol = await enrol(site)
    token = (await log_in(site, carol.user.email, carol.temp_password))["Authorization"].split()[1]
    await site.post("/api/auth/login", json={"email": carol.user.email, "password": "a wrong secret"})
    await site.post("/signin", data={"email": carol.user.email, "password": carol.temp_password})
    await site.post("/api/auth/login", json={"email": carol.user.email, "password": "\0" + carol.temp_password})

    def everything(conn) -> str:
        tables = ("users", "api_keys", "sessions")
        return repr([conn.exec_driver_sql(f"SELECT * FROM {table}").all() for table in tables])

    kept = await site.system.store.read(everything)
    assert "argon2id" in kept
    assert any("was refused" in line for line in log)
    for secret in (carol.temp_password, carol.api_key, token, "a wrong secret", ADMIN_KEY):
        assert secret not in kept
        assert not [line for line in log if secret in line]
        assert secret not in repr(carol)
