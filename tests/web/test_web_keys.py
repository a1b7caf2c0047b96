"""One's own keys: shown once, bounded by their scope, refused as soon as they are revoked."""

from __future__ import annotations

import pytest
from web_site import Site

from catchment.domain.caller import Role, Scope
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

DRAFT = {"type": "rss", "config": {"url": "https://x.example/feed"}}


async def make(site: Site, scope: str | None = None, *, by: dict[str, str] | None = None, path: str = "/api/keys"):
    body = {"name": "script", **({"scope": scope} if scope else {})}
    return await site.post(path, None if by else "alice", headers=by or {}, json=body)


@on_both_stores
@pytest.mark.proves("D-12")
@pytest.mark.parametrize("path", ["/api/keys", "/api/users/me/api-keys"])
async def test_a_key_is_shown_once_works_at_once_and_is_refused_once_revoked(site: Site, path: str):
    made = await make(site, path=path)
    assert made.status_code == 201
    secret, key_id = made.json()["key"], made.json()["id"]
    listed = await site.get(path, "alice")
    assert [(one["name"], one["scope"]) for one in listed.json()] == [("laptop", "admin"), ("script", "admin")]
    assert secret not in listed.text
    headers = {"X-API-Key": secret}
    assert (await site.get("/api/users/me", headers=headers)).json()["name"] == "Alice"
    assert (await site.delete(f"{path}/{key_id}", "bob")).status_code == 404, "others' keys are not there"
    assert (await site.get("/api/users/me", headers=headers)).status_code == 200
    assert (await site.delete(f"{path}/{key_id}", "alice")).status_code == 204
    assert (await site.get("/api/users/me", headers=headers)).status_code == 401
    assert [one["is_active"] for one in (await site.get(path, "alice")).json()] == [True, False]


async def test_a_key_that_may_only_read_changes_nothing(site: Site):
    by = {"X-API-Key": (await make(site, "read")).json()["key"]}
    assert (await site.get("/api/sources", headers=by)).status_code == 200
    assert (await site.get("/api/raw-items", headers=by)).status_code == 200
    answer = await site.post("/api/sources", headers=by, json=DRAFT)
    assert (answer.status_code, answer.json()["error"]) == (403, "This key may only read.")
    assert (await make(site, "read", by=by)).status_code == 403
    writer = {"X-API-Key": (await make(site, "write")).json()["key"]}
    assert (await site.post("/api/sources", headers=writer, json=DRAFT)).status_code == 201


async def test_a_key_administers_only_with_that_scope_and_an_admin_behind_it(site: Site):
    chief = await site.system.accounts.add_user("chief@example.org", is_admin=True)
    for user, scope, status in (
        (chief.id, Scope.ADMIN, 200),
        (chief.id, Scope.WRITE, 403),
        (chief.id, Scope.READ, 403),
        (site.alice.id, Scope.ADMIN, 403),
    ):
        made = await site.system.accounts.create_key("desk", user_id=user, scope=scope)
        for path in ("/api/admin/users", "/api/config"):
            assert (await site.get(path, headers={"X-API-Key": made.secret})).status_code == status, (scope, path)


async def test_no_key_makes_a_stronger_one(site: Site):
    writer = {"X-API-Key": (await make(site, "write")).json()["key"]}
    assert (await make(site, "admin", by=writer)).status_code == 403
    assert (await make(site, by=writer)).json()["scope"] == "write"
    assert (await make(site, "read", by=writer)).json()["scope"] == "read"


async def test_a_session_has_the_bounds_of_the_key_that_opened_it(site: Site):
    key = (await make(site, "read")).json()["key"]
    caller = await site.system.authenticator.caller_of_session(await site.system.authenticator.sign_in(key) or "")
    assert caller is not None
    assert caller.scope is Scope.READ


async def test_an_admins_key_without_a_user_is_a_services_key_in_a_narrower_scope(site: Site):
    made = await site.system.accounts.create_key("backup", role=Role.ADMIN, scope=Scope.READ)
    caller = await site.system.authenticator.identify(made.secret)
    assert caller is not None
    assert (caller.role, caller.scope) == (Role.SERVICE, Scope.READ)
    answer = await site.post("/api/digests", headers={"X-API-Key": made.secret}, json={"type": "daily", "content": "x"})
    assert answer.status_code == 403


def test_scopes_are_a_ladder():
    held = {scope: [other for other in Scope if scope.holds(other)] for scope in Scope}
    assert held == {
        Scope.READ: [Scope.READ],
        Scope.WRITE: [Scope.READ, Scope.WRITE],
        Scope.ADMIN: [Scope.READ, Scope.WRITE, Scope.ADMIN],
    }
