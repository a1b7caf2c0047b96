"""Every route says who may call it, and means it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts
from web_site import Site

from catchment.web import auth

WHO = {auth.anyone: "anyone", auth.known: "known", auth.service: "service", auth.admin: "admin"}
#: The strictest comes last: `admin` stands on `known`, which stands on `anyone`.
ORDER = ["anyone", "known", "service", "admin"]
EXPECTED = {
    "GET /": "anyone",
    "GET /signin": "anyone",
    "POST /signin": "anyone",
    "POST /signout": "anyone",
    "GET /health": "anyone",
    "GET /ready": "anyone",
    "GET /metrics": "anyone",
    "GET /api/health": "anyone",
    "GET /api/metrics": "anyone",
    "GET /api/events": "anyone",
    "GET /feed/{slug}": "anyone",
    "GET /feed/{slug}.json": "anyone",
    "GET /feed/{slug}.rss": "anyone",
    "GET /api/sources": "anyone",
    "POST /api/sources": "known",
    "GET /api/sources/{source_id}": "anyone",
    "PUT /api/sources/{source_id}": "known",
    "DELETE /api/sources/{source_id}": "known",
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
    "GET /api/digests": "anyone",
    "GET /api/digests/{digest_id}": "anyone",
    "POST /api/digests": "service",
}
BODIES = {
    "POST /api/sources": {"type": "rss", "config": {"url": "https://walk.example/feed"}},
    "PUT /api/sources/{source_id}": {"name": "walked"},
    "POST /api/subscriptions": {"sourceId": 1},
    "POST /api/subscriptions/bulk": {"sourceIds": [1]},
    "PUT /api/config": {"FETCH_INTERVAL_RSS": 60},
    "POST /api/digests": {"type": "daily", "content": "walk"},
}
CLOSED = sorted(route for route, who in EXPECTED.items() if who != "anyone")


def routes_of(app: FastAPI) -> Iterator[tuple[str, APIRoute]]:
    for context in iter_route_contexts(app.routes):
        if isinstance(context.route, APIRoute):
            for method in context.methods or ():
                yield f"{method} {context.path}", context.route


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


@pytest.mark.proves("A-13")
@pytest.mark.parametrize("name", CLOSED)
async def test_a_closed_route_refuses_who_is_not_known(lean_site: Site, name: str):
    method, path = name.split()
    path = path.replace("{source_id}", "1").replace("{digest_id}", "1")
    assert (await lean_site.ask(method, path, json=BODIES.get(name))).status_code == 401


@pytest.mark.parametrize(
    ("name", "user", "service", "admin"),
    [
        ("GET /api/config", 403, 403, 200),
        ("PUT /api/config", 403, 403, 200),
        ("POST /api/digests", 401, 201, 201),
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
