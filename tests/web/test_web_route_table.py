"""Every route says who may call it, and means it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from web_site import Site

from catchment.web import auth
from catchment.web.greader import access
from planted import planted_cookie
from stores import on_sqlite_alone

pytestmark = on_sqlite_alone

WHO = {
    auth.anyone: "anyone",
    auth.at_the_door: "anyone",
    auth.known: "known",
    auth.keyed: "known",
    auth.signed_in: "signed in",
    auth.signed_in_admin: "signed-in admin",
    auth.service: "service",
    auth.admin: "admin",
    auth.administrator: "administrator",
    access.reader: "reader",
    access.reading_writer: "reader",
}
#: The strictest comes last: `admin` stands on `known`, which stands on `anyone`.
ORDER = ["anyone", "known", "reader", "signed in", "signed-in admin", "service", "admin", "administrator"]
#: How each kind of caller is refused, by what a route declares; whoever is not named is let in.
REFUSALS: dict[str, dict[str | None, int]] = {
    "anyone": {},
    "known": {None: 401},
    # Reading is somebody's: the service has no account.
    "reader": {None: 401, "service": 403},
    "signed in": {None: 303},
    "signed-in admin": {None: 303, "bob": 403, "alice": 403, "service": 403},
    "service": {None: 401, "bob": 403, "alice": 403},
    "admin": {None: 401, "bob": 403, "alice": 403, "service": 403},
    "administrator": {None: 401, "bob": 403, "alice": 403, "service": 403},
}
EXPECTED = {
    "GET /": "anyone",
    "GET /signin": "anyone",
    "POST /signin": "anyone",
    "POST /signout": "anyone",
    "POST /welcome/password": "signed in",
    "POST /welcome/starters": "signed in",
    "GET /sources": "anyone",
    "GET /sources/look": "anyone",
    "GET /sources/follow": "anyone",
    "GET /sources/import": "anyone",
    "POST /sources/look": "signed in",
    "POST /sources/follow": "signed in",
    "POST /sources/import": "signed in",
    "POST /sources/act": "signed in",
    "GET /sources/{source_id}": "anyone",
    "GET /sources/{source_id}/edit": "signed in",
    "GET /items": "signed in",
    "GET /items/{item_id}": "signed in",
    "GET /pictures/{signature}/{item_id}": "signed in",
    "GET /feeds/new": "signed in",
    "POST /feeds/new": "signed in",
    "GET /feeds/{slug}/edit": "signed in",
    "POST /feeds/{slug}/edit": "signed in",
    "POST /sources/{source_id}/edit": "signed in",
    "GET /system": "signed-in admin",
    "POST /system/jobs": "signed-in admin",
    "GET /system/settings": "signed-in admin",
    "POST /system/settings": "signed-in admin",
    "GET /system/users": "signed-in admin",
    "GET /system/keys": "signed-in admin",
    "POST /system/users": "signed-in admin",
    "GET /system/users/{user_id}": "signed-in admin",
    "POST /system/users/{user_id}": "signed-in admin",
    "POST /system/keys": "signed-in admin",
    "POST /system/keys/{key_id}/revoke": "signed-in admin",
    "GET /system/backups": "signed-in admin",
    "POST /system/backups": "signed-in admin",
    "GET /system/exchange": "signed-in admin",
    "GET /system/doctor": "signed-in admin",
    "GET /system/trail": "signed-in admin",
    "GET /alerts": "signed in",
    "POST /alerts/act": "signed in",
    "POST /alerts/test": "signed-in admin",
    "GET /alerts/runbooks/{name}": "signed in",
    "GET /webhooks": "signed-in admin",
    "POST /webhooks": "signed-in admin",
    "POST /webhooks/act": "signed-in admin",
    "GET /webhooks/{webhook_id}": "signed-in admin",
    "POST /webhooks/{webhook_id}": "signed-in admin",
    "GET /platforms": "signed-in admin",
    "GET /platforms/cookies": "signed-in admin",
    "POST /platforms/cookies": "signed-in admin",
    "POST /platforms/keywords": "signed-in admin",
    "POST /platforms/follows": "signed-in admin",
    "POST /platforms/scrape": "signed-in admin",
    "POST /platforms/schedule": "signed-in admin",
    "POST /platforms/act": "signed-in admin",
    "GET /account": "signed in",
    "GET /account/keys": "signed in",
    "GET /account/password": "signed in",
    "POST /account/keys": "signed in",
    "POST /account/keys/{key_id}/revoke": "signed in",
    "POST /account/password": "signed in",
    "POST /account/sign-out": "signed in",
    "POST /api/auth/login": "anyone",
    "GET /api/users/me": "known",
    "PUT /api/users/me": "known",
    "PUT /api/users/me/password": "known",
    "POST /api/users/me/sign-out": "known",
    "GET /api/users/me/api-keys": "known",
    "POST /api/users/me/api-keys": "known",
    "DELETE /api/users/me/api-keys/{key_id}": "known",
    "GET /api/keys": "known",
    "POST /api/keys": "known",
    "DELETE /api/keys/{key_id}": "known",
    "GET /api/admin/users": "administrator",
    "POST /api/admin/users": "administrator",
    "POST /api/admin/users/{user_id}/reset-password": "administrator",
    "POST /api/admin/users/{user_id}/disable": "administrator",
    "POST /api/admin/users/{user_id}/enable": "administrator",
    "POST /api/admin/users/{user_id}/sign-out": "administrator",
    "GET /health": "anyone",
    "GET /live": "anyone",
    "GET /ready": "anyone",
    "GET /metrics": "anyone",
    "GET /api/health": "anyone",
    "GET /api/metrics": "anyone",
    "GET /api/events": "anyone",
    "GET /feed/{slug}": "anyone",
    "GET /feed/{slug}.json": "anyone",
    "GET /feed/{slug}.rss": "anyone",
    "GET /feeds": "anyone",
    "GET /feeds/{slug}.rss": "anyone",
    "GET /feeds/{slug}.atom": "anyone",
    "GET /feeds/{slug}.json": "anyone",
    "GET /api/feeds": "anyone",
    "POST /api/feeds": "known",
    "GET /api/feeds/{slug}": "anyone",
    "PUT /api/feeds/{slug}": "known",
    "DELETE /api/feeds/{slug}": "known",
    "GET /digests/{digest_id}": "anyone",
    "GET /api/items": "known",
    "GET /api/items/export": "known",
    "GET /api/sources/removed": "known",
    "POST /api/sources/bulk": "known",
    "POST /api/sources/{source_id}/restore": "known",
    "POST /api/sources/{source_id}/fetch": "known",
    "GET /api/sources/{source_id}/history": "known",
    "GET /api/admin/audit-trail": "administrator",
    "GET /api/items/{item_id}": "known",
    "GET /api/alerts": "known",
    "POST /api/alerts/{alert_id}/acknowledge": "known",
    "DELETE /api/alerts/{alert_id}/acknowledge": "known",
    "POST /api/alerts/{alert_id}/mute": "known",
    "DELETE /api/alerts/{alert_id}/mute": "known",
    "GET /api/sources": "anyone",
    "POST /api/sources": "known",
    "POST /api/sources/resolve": "known",
    "POST /api/sources/import": "known",
    "GET /api/sources/export": "known",
    "GET /api/packs": "anyone",
    "POST /api/packs": "known",
    "GET /api/packs/{slug}": "anyone",
    "POST /api/packs/{slug}/install": "known",
    "DELETE /api/packs/{pack_id}": "known",
    "GET /api/sources/{source_id}": "anyone",
    "PUT /api/sources/{source_id}": "known",
    "DELETE /api/sources/{source_id}": "known",
    "GET /api/tweets": "known",
    "GET /api/tweets/{tweet_id}": "known",
    "GET /api/feed": "known",
    "GET /api/scraping/follows": "known",
    "GET /api/admin/scraping/follows": "administrator",
    "POST /api/admin/scraping/follows": "administrator",
    "PUT /api/admin/scraping/follows/{username}": "administrator",
    "DELETE /api/admin/scraping/follows/{username}": "administrator",
    "GET /api/admin/scraping/schedule": "administrator",
    "PUT /api/admin/scraping/schedule/interval": "administrator",
    "DELETE /api/admin/scraping/schedule/interval": "administrator",
    "PUT /api/admin/scraping/schedule/next-run": "administrator",
    "POST /api/admin/scraping/schedule/enable": "administrator",
    "POST /api/admin/scraping/schedule/disable": "administrator",
    "POST /api/admin/scrape": "administrator",
    "GET /api/admin/scrape": "administrator",
    "GET /api/admin/scrape/{task_id}": "administrator",
    "POST /api/admin/scrape/{task_id}/cancel": "administrator",
    "DELETE /api/admin/scrape/{task_id}": "administrator",
    "GET /api/admin/jobs": "administrator",
    "POST /api/admin/jobs/{name}/run": "administrator",
    "POST /api/admin/jobs/{name}/pause": "administrator",
    "POST /api/admin/jobs/{name}/resume": "administrator",
    "GET /api/admin/webhooks": "administrator",
    "POST /api/admin/webhooks": "administrator",
    "GET /api/admin/webhooks/deliveries": "administrator",
    "POST /api/admin/webhooks/deliveries/{delivery_id}/redeliver": "administrator",
    "PUT /api/admin/webhooks/{webhook_id}": "administrator",
    "POST /api/admin/webhooks/{webhook_id}/ping": "administrator",
    "POST /api/admin/webhooks/{webhook_id}/pause": "administrator",
    "POST /api/admin/webhooks/{webhook_id}/resume": "administrator",
    "DELETE /api/admin/webhooks/{webhook_id}": "administrator",
    "GET /api/raw-items": "known",
    "GET /api/raw-items/stats": "known",
    "GET /api/raw-items/for-digest": "known",
    "GET /api/subscriptions": "known",
    "POST /api/subscriptions": "known",
    "POST /api/subscriptions/bulk": "known",
    "DELETE /api/subscriptions/{source_id}": "known",
    "GET /api/collector/status": "known",
    "GET /api/config": "admin",
    "PUT /api/config": "admin",
    "POST /api/search": "known",
    "POST /api/note/detail": "known",
    "GET /api/note/{note_id}": "known",
    "GET /api/cookie/validate": "known",
    "GET /api/admin/cookies": "administrator",
    "POST /api/admin/cookies": "administrator",
    "GET /api/admin/cookies/forecast": "administrator",
    "POST /api/admin/cookies/rotate": "administrator",
    "PATCH /api/admin/cookies/{cookie_name}": "administrator",
    "POST /api/admin/cookies/{cookie_name}/reset": "administrator",
    "DELETE /api/admin/cookies/{cookie_name}": "administrator",
    "GET /api/workflow/keywords": "service",
    "GET /api/workflow/executions": "service",
    "POST /api/workflow/lock": "service",
    "POST /api/workflow/heartbeat": "service",
    "POST /api/workflow/candidates": "service",
    "POST /api/workflow/claim": "service",
    "POST /api/workflow/commit": "service",
    "POST /api/workflow/fail": "service",
    "POST /api/workflow/release": "service",
    "POST /api/workflow/recover": "service",
    "POST /greader/accounts/ClientLogin": "anyone",
    "GET /greader/reader/api/0/token": "reader",
    "GET /greader/reader/api/0/user-info": "reader",
    "GET /greader/reader/api/0/subscription/list": "reader",
    "POST /greader/reader/api/0/subscription/edit": "reader",
    "POST /greader/reader/api/0/subscription/quickadd": "reader",
    "GET /greader/reader/api/0/subscription/export": "reader",
    "POST /greader/reader/api/0/subscription/import": "reader",
    "GET /greader/reader/api/0/tag/list": "reader",
    "POST /greader/reader/api/0/rename-tag": "reader",
    "POST /greader/reader/api/0/disable-tag": "reader",
    "GET /greader/reader/api/0/unread-count": "reader",
    "GET /greader/reader/api/0/preference/list": "reader",
    "GET /greader/reader/api/0/preference/stream/list": "reader",
    "GET /greader/reader/api/0/stream/items/ids": "reader",
    "POST /greader/reader/api/0/stream/items/ids": "reader",
    "GET /greader/reader/api/0/stream/items/count": "reader",
    "GET /greader/reader/api/0/stream/items/contents": "reader",
    "POST /greader/reader/api/0/stream/items/contents": "reader",
    "GET /greader/reader/api/0/stream/contents": "reader",
    "POST /greader/reader/api/0/stream/contents": "reader",
    "GET /greader/reader/api/0/stream/contents/{stream_id}": "reader",
    "POST /greader/reader/api/0/stream/contents/{stream_id}": "reader",
    "GET /greader/reader/atom/{stream_id}": "reader",
    "POST /greader/reader/api/0/edit-tag": "reader",
    "POST /greader/reader/api/0/mark-all-as-read": "reader",
    "POST /mcp": "known",
    "GET /docs": "anyone",
    "GET /api/digests": "anyone",
    "GET /api/digests/{digest_id}": "anyone",
    "POST /api/digests": "service",
}
BODIES = {
    "POST /api/sources/bulk": {"action": "pause", "ids": [1]},
    "POST /api/sources/resolve": {"url": "@walk"},
    "POST /api/sources": {"type": "rss", "config": {"url": "https://walk.example/feed"}},
    "PUT /api/sources/{source_id}": {"name": "walked"},
    "POST /api/admin/scraping/follows": {"username": "walk", "reason": "to walk", "added_by": "walker"},
    "PUT /api/admin/scraping/follows/{username}": {"reason": "walked"},
    "POST /api/subscriptions": {"sourceId": 1},
    "POST /api/subscriptions/bulk": {"sourceIds": [1]},
    "PUT /api/config": {"FETCH_INTERVAL_RSS": 60},
    "POST /api/digests": {"type": "daily", "content": "walk"},
    "POST /api/feeds": {"slug": "walk"},
    "PUT /api/feeds/{slug}": {"title": "walked"},
    "POST /api/search": {"platform": "wb", "keyword": "walk"},
    "POST /api/note/detail": {"platform": "wb", "note_ids": ["5012345678901234"]},
    "POST /api/admin/cookies": {"cookie_name": "walk", "platform": "wb", "cookie_value": planted_cookie(platform="wb")},
    "PATCH /api/admin/cookies/{cookie_name}": {"priority": 2},
}
#: The ways in and out themselves: they may refuse for what the body holds.
DOORS = {"POST /signin", "POST /signout", "POST /api/auth/login", "POST /greader/accounts/ClientLogin"}
#: The stream never ends.
ENDLESS = {"GET /api/events"}
#: On what belongs to somebody: others are told that it is not there.
OWNED = {
    "GET /api/sources/{source_id}",
    "PUT /api/sources/{source_id}",
    "DELETE /api/sources/{source_id}",
    "POST /api/sources/{source_id}/fetch",
    "GET /api/sources/{source_id}/history",
    "GET /sources/{source_id}",
    "GET /sources/{source_id}/edit",
    "DELETE /api/keys/{key_id}",
    "DELETE /api/users/me/api-keys/{key_id}",
    "POST /account/keys/{key_id}/revoke",
}


def routes_of(app: FastAPI) -> Iterator[tuple[str, APIRoute]]:
    for context in iter_route_contexts(app.routes):
        if isinstance(context.route, APIRoute):
            for method in context.methods or ():
                # As OpenAPI has it.
                yield f"{method} {context.path.replace(':path}', '}')}", context.route


def declared(route: APIRoute) -> str | None:
    def calls(dependant: Dependant) -> Iterator[object]:
        yield dependant.call
        for inner in dependant.dependencies:
            yield from calls(inner)

    found = {WHO[call] for call in calls(route.dependant) if call in WHO}
    return max(found, key=ORDER.index) if found else None


async def test_every_route_declares_who_may_call_it(lean_site: Site):
    assert {name: declared(route) for name, route in routes_of(lean_site.app)} == EXPECTED


async def test_every_route_is_described_in_openapi(lean_site: Site):
    paths = lean_site.app.openapi()["paths"]
    described = {f"{method.upper()} {path}" for path, methods in paths.items() for method in methods}
    assert described == set(EXPECTED)
    for path, methods in paths.items():
        for method, operation in methods.items():
            content = next(answer for code, answer in operation["responses"].items() if code.startswith(("2", "3")))
            is_json = "application/json" in content.get("content", {})
            assert operation["tags"], (method, path)
            assert not is_json or content["content"]["application/json"]["schema"], (method, path)


def test_what_changes_something_is_open_to_nobody_in_particular_only_at_the_doors():
    changing = {name for name in EXPECTED if not name.startswith("GET ")}
    assert {name for name in changing if EXPECTED[name] == "anyone"} == DOORS


@pytest.mark.proves("C-51")
def test_everything_under_the_administration_takes_an_admin():
    within = {name: who for name, who in EXPECTED.items() if " /api/admin/" in name}
    assert within
    assert set(within.values()) == {"administrator"}


@pytest.fixture
async def peopled_site(lean_site: Site) -> Site:
    """With an admin among the users, and a source of Alice's; her key is the first."""
    chief = await lean_site.system.accounts.add_user("chief@example.org", is_admin=True)
    lean_site.keys["chief"] = (await lean_site.system.accounts.create_key("desk", user_id=chief.id)).secret
    await lean_site.add_source(lean_site.alice, "private")
    return lean_site


CALLERS = (None, "bob", "alice", "service", "chief")


@pytest.mark.proves("A-13", "C-51", "D-12", "R-17")
async def test_each_route_refuses_whom_it_does_not_let_in(peopled_site: Site):
    """All on one site: whoever is refused changes nothing."""
    for name in sorted(EXPECTED.keys() - ENDLESS):
        for who, refused in REFUSALS[EXPECTED[name]].items():
            answer = await peopled_site.ask(*asked_for(name), who, json=BODIES.get(name))
            assert answer.status_code == refused, (name, who, answer.text)
            assert refused != 303 or answer.headers["location"].startswith("/signin?")


@pytest.mark.proves("A-13", "C-51", "D-12", "R-17")
async def test_each_route_that_is_read_lets_in_whom_it_declares(peopled_site: Site):
    for name in sorted(one for one in EXPECTED.keys() - ENDLESS if one.startswith("GET ")):
        await assert_lets_in(peopled_site, name)


@pytest.mark.proves("A-13", "C-51", "D-12", "R-17")
@pytest.mark.parametrize("name", sorted(one for one in EXPECTED.keys() - ENDLESS if not one.startswith("GET ")))
async def test_each_route_that_changes_something_lets_in_whom_it_declares(peopled_site: Site, name: str):
    await assert_lets_in(peopled_site, name)


async def assert_lets_in(site: Site, name: str) -> None:
    for who in CALLERS:
        if who in REFUSALS[EXPECTED[name]]:
            continue
        # Who is let in sends nothing: it is enough that what they send is looked at.
        answer = await site.ask(*asked_for(name), who)
        if name not in DOORS and (name not in OWNED or who == "alice") and who != "service":
            # The service acts for nobody in particular, who has no account, keys or subscriptions.
            assert answer.status_code not in {401, 403}, (name, who, answer.text)
        assert answer.status_code < 500, (name, who, answer.text)


def asked_for(name: str) -> tuple[str, str]:
    method, path = name.split()
    return method, re.sub(r"{\w+}", "1", path)


@pytest.mark.proves("R-17")
async def test_a_key_that_nobody_knows_is_refused_at_every_route(lean_site: Site):
    answers = {}
    for name in EXPECTED.keys() - ENDLESS - (DOORS - {"POST /signout"}):
        answer = await lean_site.ask(*asked_for(name), headers={"X-API-Key": "nobody's"})
        answers[name] = answer.status_code
    assert {name: status for name, status in answers.items() if status != 401} == {}


@pytest.mark.proves("A-20", "D-12", "R-17")
@pytest.mark.parametrize("name", sorted(OWNED))
async def test_what_belongs_to_somebody_is_there_for_them_and_not_for_others(peopled_site: Site, name: str):
    assert (await peopled_site.ask(*asked_for(name), "bob", json=BODIES.get(name))).status_code == 404
    assert (await peopled_site.ask(*asked_for(name), "alice", json=BODIES.get(name))).status_code < 400


@pytest.mark.proves("C-52", "C-53")
@pytest.mark.parametrize(
    ("accept", "not_known", "not_admin"),
    [
        (None, "未认证", "需要管理员权限"),
        ("fr", "未认证", "需要管理员权限"),
        ("en-US,en;q=0.9", "Not authenticated", "Administrator rights are needed"),
    ],
)
async def test_the_administration_says_in_the_callers_language_whom_it_refuses(
    lean_site: Site, accept: str | None, not_known: str, not_admin: str
):
    language = {"Accept-Language": accept} if accept else {}
    callers = (
        ({}, 401, not_known),
        ({"X-API-Key": "wrong"}, 401, not_known),
        ({"Authorization": "Bearer not.a.token"}, 401, not_known),
        ({"X-API-Key": lean_site.keys["alice"]}, 403, not_admin),
        ({"X-API-Key": lean_site.keys["service"]}, 403, not_admin),
    )
    names = [name for name, who in EXPECTED.items() if who == "administrator"]
    for name, (headers, status, words) in product(names, callers):
        method, path = name.split()
        answer = await lean_site.ask(method, re.sub(r"{\w+}", "1", path), headers={**language, **headers})
        body = answer.json()
        # The crawler's part of it answers in the crawler's envelope.
        told = (answer.status_code, body.get("detail") or body["error"]["message"])
        assert told == (status, words), (name, headers)


@pytest.mark.parametrize(
    ("name", "user", "service", "admin"),
    [
        ("GET /api/config", 403, 403, 200),
        ("PUT /api/config", 403, 403, 200),
        ("POST /api/digests", 403, 201, 201),
        ("GET /api/collector/status", 200, 200, 200),
        ("GET /api/raw-items", 200, 200, 200),
        ("GET /api/raw-items/for-digest", 200, 200, 200),
        # The service and the admin of the environment are nobody in particular, so they follow nothing.
        ("GET /api/subscriptions", 200, 403, 403),
        ("POST /api/sources", 201, 201, 201),
    ],
)
async def test_each_kind_of_caller_gets_what_it_may(lean_site: Site, name: str, user: int, service: int, admin: int):
    method, path = name.split()
    for who, status in (("alice", user), ("service", service), ("admin", admin)):
        body = BODIES.get(name)
        if name == "POST /api/sources":
            body = {"type": "rss", "config": {"url": f"https://{who}.example/feed"}}
        answer = await lean_site.ask(method, path, who, json=body)
        assert answer.status_code == status, (who, answer.text)


@pytest.mark.proves("A-20")
async def test_a_private_source_can_be_changed_by_its_owner_and_an_admin_only(site: Site):
    source = await site.add_source(site.alice, "private")
    path = f"/api/sources/{source.id}"
    seen = {who: (await site.get(path, who)).status_code for who in (None, "bob", "alice", "service", "admin")}
    assert seen == {None: 404, "bob": 404, "alice": 200, "service": 200, "admin": 200}
    changed = {
        who: (await site.put(path, who, json={"name": "new name"})).status_code
        for who in (None, "bob", "alice", "service", "admin")
    }
    assert changed == {None: 401, "bob": 404, "alice": 200, "service": 403, "admin": 200}
    removed = [(await site.delete(path, who)).status_code for who in (None, "bob", "service", "alice", "alice")]
    assert removed == [401, 404, 403, 200, 404]


async def test_a_public_source_is_seen_by_all_and_changed_by_its_owner(site: Site):
    source = await site.add_source(site.alice, "public", public=True)
    path = f"/api/sources/{source.id}"
    assert [(await site.get(path, who)).status_code for who in (None, "bob")] == [200, 200]
    assert (await site.put(path, "bob", json={"name": "mine now"})).status_code == 403
    assert (await site.delete(path, "bob")).status_code == 403
