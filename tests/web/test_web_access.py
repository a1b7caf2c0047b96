"""Who sees what, and what stops with somebody who is refused."""

from __future__ import annotations

import asyncio

import httpx
import pytest
from web_site import Site, with_settings

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR
from catchment.domain.source import PausedBy
from catchment.errors import TooBusy
from catchment.manage.catalog import Change
from catchment.manage.feeds import FeedDraft
from catchment.manage.logins import AT_ONCE, MAX_WAITING, Passwords
from catchment.store import sources
from catchment.web.app import create_app
from catchment.web.server import serve_app
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


async def publish(site: Site, who: str, slug: str, *, public: bool, **filter_: object) -> str:
    """The token of the new feed; empty for a public one."""
    answer = await site.post("/api/feeds", who, json={"slug": slug, "public": public, "filter": filter_})
    assert answer.status_code == 201, answer.text
    token: str = answer.json().get("token") or ""
    return token


async def add_digest(site: Site, content: str, **values: object) -> int:
    answer = await site.post("/api/digests", "service", json={"type": "daily", "content": content, **values})
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


async def digests_seen(site: Site, who: str | None) -> list[set[str]]:
    """At each address that shows digests."""
    listed = {one["content"] for one in (await site.get("/api/digests", who)).json()}
    plain = {one["content"] for one in (await site.get("/feed/alice", who)).json()["digests"]}
    feed = {one["content_text"] for one in (await site.get("/feed/alice.json", who)).json()["items"]}
    rss = (await site.get("/feed/alice.rss", who)).text
    return [listed, plain, feed, {text for text in ("for all", "for alice") if text in rss}]


@on_both_stores
@pytest.mark.proves("R-18", "A-25")
async def test_a_users_digest_is_seen_by_the_same_people_at_every_address(site: Site):
    await add_digest(site, "for all")
    number = await add_digest(site, "for alice", user_id=site.alice.id)
    for who, seen in ((None, {"for all"}), ("bob", {"for all"}), ("alice", {"for all", "for alice"})):
        assert await digests_seen(site, who) == [seen] * 4, who
        status = (await site.get(f"/api/digests/{number}", who)).status_code
        assert status == (200 if "for alice" in seen else 404)
    assert await digests_seen(site, "admin") == [{"for all", "for alice"}] * 4


@on_both_stores
@pytest.mark.proves("R-18", "A-25")
async def test_whoever_says_so_shows_their_digests_to_everybody(site: Site):
    await add_digest(site, "for all")
    await add_digest(site, "for alice", user_id=site.alice.id)
    answer = await site.put("/api/users/me", "alice", json={"digests_public": True})
    assert (answer.status_code, answer.json()["digests_public"]) == (200, True)
    for who in (None, "bob", "alice"):
        assert await digests_seen(site, who) == [{"for all", "for alice"}] * 4
    await site.put("/api/users/me", "alice", json={"digests_public": False})
    assert await digests_seen(site, None) == [{"for all"}] * 4


@pytest.mark.proves("R-18")
async def test_a_public_feed_shows_no_private_source_of_somebody_else(site: Site):
    for name, owner, public in (("hers", site.alice, False), ("open", site.alice, True), ("house", None, False)):
        await site.add_items(await site.add_source(owner, name, public=public), f"{name}-item")
    await publish(site, "admin", "all", public=True)
    await publish(site, "alice", "mine", public=True)
    token = await publish(site, "admin", "inside", public=False)

    async def shown(path: str) -> set[str]:
        return {one["title"] for one in (await site.get(path)).json()["items"]}

    assert await shown("/feeds/all.json") == {"open-item", "house-item"}, "Alice did not say that hers may be shown"
    assert await shown("/feeds/mine.json") == {"hers-item", "open-item"}, "Alice made this one herself"
    assert await shown(f"/feeds/inside.json?token={token}") == {"hers-item", "open-item", "house-item"}
    named = await site.system.catalog.list(OPERATOR)
    await publish(site, "admin", "named", public=True, sources=[one.id for one in named if one.name == "hers"])
    assert (await site.get("/feeds/named.json")).json()["items"] == []
    await site.put("/api/feeds/inside", "admin", json={"public": True})
    assert await shown("/feeds/inside.json") == {"open-item", "house-item"}


@pytest.mark.proves("R-17")
async def test_private_things_of_others_are_not_there_and_public_ones_are_not_theirs_to_change(site: Site):
    for public in (False, True):
        source = await site.add_source(site.alice, f"source-{public}", public=public)
        await publish(site, "alice", f"feed-{public}".lower(), public=public)
        entries = [{"type": "rss", "config": {"url": "https://in-pack.example/feed"}}]
        pack = {"name": f"pack {public}", "slug": f"pack-{public}".lower(), "sources": entries, "is_public": public}
        made = await site.post("/api/packs", "alice", json=pack)
        assert made.status_code == 201, made.text
        things = {
            f"/api/sources/{source.id}": ("PUT", "DELETE"),
            f"/api/feeds/feed-{public}".lower(): ("PUT", "DELETE"),
            f"/api/packs/pack-{public}".lower(): (),
            f"/api/packs/{made.json()['id']}": ("DELETE",),
        }
        for path, methods in things.items():
            for method in methods:
                assert (await site.ask(method, path, None, json={})).status_code == 401, (method, path)
                assert (await site.ask(method, path, "bob", json={})).status_code == (403 if public else 404), path
            if "DELETE" not in methods or "PUT" in methods:
                for who in (None, "bob"):
                    assert (await site.get(path, who)).status_code == (200 if public else 404), path
                assert (await site.get(path, "alice")).status_code == 200


@pytest.mark.proves("R-24")
async def test_the_feeds_of_a_disabled_user_stop_and_come_back(site: Site):
    await site.add_items(await site.add_source(site.alice, "private"), "a note")
    token = await publish(site, "alice", "hidden", public=False)
    await publish(site, "alice", "open", public=True)
    await add_digest(site, "for alice", user_id=site.alice.id)
    await site.put("/api/users/me", "alice", json={"digests_public": True})
    paths = [
        f"/feeds/hidden.json?token={token}",
        "/feeds/open.rss",
        "/api/feeds/open",
        "/feed/alice",
        "/feed/alice.rss",
    ]

    async def statuses() -> list[int]:
        return [(await site.get(path)).status_code for path in paths]

    assert await statuses() == [200] * 5
    await site.post(f"/api/admin/users/{site.alice.id}/disable", "admin")
    assert await statuses() == [404] * 5
    assert (await site.get("/api/feeds")).json() == []
    assert "for alice" not in (await site.get("/api/digests")).text
    assert [one["slug"] for one in (await site.get("/api/feeds", "admin")).json()] == ["hidden", "open"]
    await site.post(f"/api/admin/users/{site.alice.id}/enable", "admin")
    assert await statuses() == [200] * 5


@pytest.mark.proves("R-24")
async def test_the_private_sources_of_a_disabled_user_rest_until_they_are_back(site: Site):
    system = site.system
    private = await site.add_source(site.alice, "private")
    by_hand = await site.add_source(site.alice, "by-hand")
    public = await site.add_source(site.alice, "public", public=True)
    bobs = await site.add_source(site.bob, "bobs")
    await system.catalog.change(by_hand.id, Change(is_active=False), OPERATOR)

    async def due() -> set[int]:
        found = await system.store.read(sources.due, now=system.clock.now(), limit=100, owner="a test")
        return {one.id for one in found}

    assert await due() == {private.id, public.id, bobs.id}
    await system.accounts.set_active(site.alice.id, is_active=False)
    assert await due() == {public.id, bobs.id}
    resting = await system.catalog.get(private.id, OPERATOR)
    assert (resting.is_active, resting.paused_by) == (False, PausedBy.OWNER)
    status = await site.get("/api/collector/status", "admin")
    [shown] = [one for one in status.json()["sources"] if one["id"] == private.id]
    assert (shown["status"], shown["next_check_reason"]) == ("paused", "its owner is disabled")
    await system.accounts.set_active(site.alice.id, is_active=False)
    await system.accounts.set_active(site.alice.id, is_active=True)
    assert await due() == {private.id, public.id, bobs.id}
    assert (await system.catalog.get(by_hand.id, OPERATOR)).paused_by is PausedBy.PERSON


@pytest.mark.proves("R-26")
async def test_a_look_at_a_sign_in_link_does_not_spend_it(keyless_system: System):
    first = await keyless_system.accounts.ensure_first_key()
    assert first is not None
    transport = httpx.ASGITransport(create_app(keyless_system))
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        looked = await client.head("/signin", params={"token": first.link.token})
        assert (looked.status_code, "set-cookie" in looked.headers) == (200, False)
        assert (await client.get("/signin", params={"token": first.link.token})).status_code == 303


async def ask_by_proxy(site: Site, *, trusted: str) -> httpx.Response:
    """Through a real socket, with headers as a proxy sets them."""
    app = create_app(with_settings(site.system, trusted_proxies=trusted))
    stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve_app(app, host="127.0.0.1", port=0, stop=stop, on_ready=ready.set_result))
    headers = {"X-Forwarded-For": "192.0.2.9", "X-Forwarded-Proto": "https"}
    async with httpx.AsyncClient(base_url=await ready) as client:
        answer = await client.post("/signin", data={"key": site.keys["alice"]}, headers=headers)
    stop.set()
    await task
    return answer


@pytest.mark.proves("R-26")
async def test_what_a_proxy_says_of_a_caller_is_believed_where_it_is_configured_alone(lean_site: Site):
    for trusted, believed in (("", False), ("192.0.2.0/24", False), ("127.0.0.0/8", True), ("127.0.0.1,::1", True)):
        answer = await ask_by_proxy(lean_site, trusted=trusted)
        assert answer.status_code == 303
        # A cookie for HTTPS alone is what comes of a believed X-Forwarded-Proto.
        assert ("secure" in answer.headers["set-cookie"].lower()) is believed, trusted


@pytest.mark.proves("R-26")
async def test_only_so_many_passwords_wait_to_be_checked():
    passwords = Passwords()
    hashed = await passwords.hash("correct horse")
    most = AT_ONCE + MAX_WAITING
    checks = [asyncio.create_task(passwords.fits("correct horse", hashed)) for _ in range(most + 3)]
    done = await asyncio.gather(*checks, return_exceptions=True)
    assert [one for one in done if one is True] == [True] * most
    assert [type(one) for one in done if one is not True] == [TooBusy] * 3
    assert await passwords.fits("correct horse", hashed), "there is room again"


@pytest.mark.proves("R-26")
async def test_a_sign_in_that_finds_no_place_to_wait_is_told_when_to_come_again(
    lean_site: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("catchment.manage.logins.MAX_WAITING", -AT_ONCE)
    login = {"email": "alice@example.org", "password": "some password"}
    for _ in range(6):
        answer = await lean_site.post("/api/auth/login", json=login)
        assert answer.status_code == 503, answer.text
        assert answer.headers["Retry-After"] == "5"
    page = await lean_site.post("/signin", data=login)
    assert (page.status_code, page.headers["Retry-After"]) == (503, "5")
    assert "try again" in page.text
    monkeypatch.undo()
    answer = await lean_site.post("/api/auth/login", json=login)
    assert answer.status_code == 401, "what was not looked at does not count as wrong"


async def test_a_feed_of_nobody_is_there_whoever_is_disabled(lean_site: Site):
    await lean_site.system.feeds.add(FeedDraft(slug="house", filter={}, is_public=True), OPERATOR)
    await lean_site.system.accounts.set_active(lean_site.bob.id, is_active=False)
    assert (await lean_site.get("/feeds/house.rss")).status_code == 200
