"""Sources over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest
from web_site import Site

from catchment.clock import ManualClock
from catchment.redact import MASK
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

HIDDEN_FROM_STRANGERS = {"fetch_interval_minutes", "next_fetch_at", "next_check_at", "next_check_reason", "last_error"}


@on_both_stores
@pytest.mark.proves("A-20")
async def test_strangers_see_public_sources_without_their_schedule(site: Site):
    await site.add_source(site.alice, "private")
    public = await site.add_source(site.alice, "public", public=True)
    [shown] = (await site.get("/api/sources")).json()
    assert shown["id"] == public.id
    assert not HIDDEN_FROM_STRANGERS & shown.keys()
    [known] = (await site.get("/api/sources", "bob")).json()
    assert known.keys() >= HIDDEN_FROM_STRANGERS
    assert known["fetch_interval_minutes"] == 240


@pytest.mark.proves("A-20", "A-14")
async def test_a_user_sees_their_own_and_public_sources_the_service_all(site: Site):
    await site.add_source(site.alice, "hers")
    await site.add_source(site.bob, "his")
    await site.add_source(None, "nobodys", public=True)

    async def names(who: str | None) -> list[str]:
        return [source["name"] for source in (await site.get("/api/sources", who)).json()]

    assert await names(None) == ["nobodys"]
    assert await names("alice") == ["hers", "nobodys"]
    assert await names("bob") == ["his", "nobodys"]
    assert await names("service") == await names("admin") == ["hers", "his", "nobodys"]


async def test_the_secrets_of_a_config_are_shown_to_nobody(site: Site):
    config = {"url": "https://user:pass@secret.example/feed?token=t0ps3cret", "headers": {"Authorization": "Bearer x"}}
    body = {"type": "rss", "config": {**config, "url": "https://secret.example/feed?token=t0ps3cret"}, "isPublic": True}
    added = (await site.post("/api/sources", "alice", json=body)).json()
    assert added["config"] == {
        "url": f"https://secret.example/feed?token={MASK}",
        "headers": {"Authorization": MASK},
    }
    for who in (None, "bob", "service", "alice", "admin"):
        answer = await site.get(f"/api/sources/{added['id']}", who)
        assert answer.json()["config"]["url"].startswith("https://secret.example/feed?")
        assert "t0ps3cret" not in answer.text
        assert "Bearer" not in answer.text


async def test_adding_a_source_answers_with_its_id_and_subscribes_its_maker(site: Site):
    body = {
        "name": "  A   feed ",
        "type": "rss",
        "config": '{"url": "https://a.example/feed"}',
        "isPublic": True,
        "tags": ["news"],
        "fetch_interval_minutes": 30,
    }
    answer = await site.post("/api/sources", "alice", json=body)
    assert answer.status_code == 201
    shown = answer.json()
    assert (shown["name"], shown["is_public"], shown["tags"]) == ("A feed", True, ["news"])
    assert (shown["fetch_interval_minutes"], shown["creator_name"], shown["subscribed"]) == (30, "Alice", True)
    assert shown["created_at"] == "2026-03-01T12:00:00.000Z"
    assert (shown["status"], shown["next_fetch_at"], shown["next_check_at"]) == ("pending", None, shown["created_at"])


@pytest.mark.proves("R-48")
async def test_a_field_that_there_is_not_is_refused_with_the_one_that_is_likely_meant(site: Site):
    source = await site.add_source(site.alice, "blog")
    body = {"type": "rss", "config": {"url": "https://a.example/feed"}}
    for method, path, wrong, meant in [
        ("POST", "/api/sources", {**body, "is_publik": True}, "is_public"),
        ("POST", "/api/sources", {**body, "fetch_interval_minute": 5}, "fetch_interval_minutes"),
        ("PUT", f"/api/sources/{source.id}", {"nam": "x"}, "name"),
        ("POST", "/api/sources/resolve", {"url": "hn", "forced": True}, "force"),
        ("POST", "/api/feeds", {"slug": "a", "titel": "A"}, "title"),
        ("POST", "/api/keys", {"name": "a", "scopes": "read"}, "scope"),
    ]:
        answer = await site.ask(method, path, "alice", json=wrong)
        field = next(name for name in wrong if name not in {*body, "url", "slug", "name"})
        assert (answer.status_code, answer.json()["field"]) == (422, field), answer.text
        assert answer.json()["error"] == f"The body has no {field!r}; did you mean {meant!r}?"
    assert [one["name"] for one in (await site.get("/api/sources", "alice")).json()] == ["blog"]
    far = await site.put(f"/api/sources/{source.id}", "alice", json={"zzz": 1})
    assert "there are name, type, config, is_active, isActive" in far.json()["error"]


@pytest.mark.proves("R-48")
async def test_what_was_read_may_be_sent_back_with_a_change_in_it(site: Site):
    source = await site.add_source(site.alice, "blog")
    shown = (await site.get(f"/api/sources/{source.id}", "alice")).json()
    answer = await site.put(f"/api/sources/{source.id}", "alice", json={**shown, "name": "Another"})
    assert (answer.status_code, answer.json()["name"]) == (200, "Another"), answer.text


async def test_what_the_environments_keys_add_belongs_to_nobody_and_is_private(site: Site):
    body = {"type": "rss", "config": {"url": "https://a.example/feed"}}
    added = (await site.post("/api/sources", "service", json=body)).json()
    assert (added["created_by"], added["is_public"], added["name"]) == (None, False, "a.example")


async def test_the_same_source_twice_is_a_conflict_that_names_the_first(site: Site):
    body = {"type": "rss", "config": {"url": "https://a.example/feed"}}
    first = (await site.post("/api/sources", "alice", json=body)).json()
    again = await site.post("/api/sources", "alice", json=body)
    assert (again.status_code, again.json()["existing_id"]) == (409, first["id"])
    assert (await site.post("/api/sources", "bob", json=body)).status_code == 201


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"type": "rss", "config": {"url": "http://127.0.0.1/feed"}}, "not"),
        ({"type": "rss", "config": {"url": "http://localhost./feed"}}, "not"),
        ({"type": "rss", "config": {"url": "ftp://a.example/feed"}}, "http"),
        ({"type": "rss", "config": {"url": "not an address"}}, "http"),
        ({"type": "rss", "config": {}}, "url"),
        ({"type": "rss", "config": []}, "config"),
        ({"type": "rss", "config": "not json"}, "config"),
        ({"type": "rss", "config": '"text"'}, "config"),
        ({"type": "carrier_pigeon", "config": {}}, "carrier_pigeon"),
        ({"config": {"url": "https://a.example/"}}, "type"),
        ({"type": "rss", "config": {"url": "https://a.example/"}, "fetch_interval_minutes": 0}, "minutes"),
        ({"type": "rss", "config": {"url": "https://a.example/"}, "fetch_interval_minutes": "soon"}, "minutes"),
        ({"type": "rss", "config": {"url": "https://a.example/"}, "fetch_interval_minutes": 10**30}, "minutes"),
        ({"type": "rss", "config": {"url": "https://a.example/"}, "name": "a\0b"}, "NUL"),
        ({"type": "rss", "config": {"url": "https://a.example/", "note": "\0"}}, "NUL"),
        ({"type": "rss", "config": {"url": "https://a.example/", "note": ["\ud800"]}}, "characters"),
        ({"type": "rss", "config": {"url": "https://a.example/"}, "tags": [""]}, "tags"),
    ],
)
async def test_what_cannot_be_a_source_is_refused_with_the_reason(lean_site: Site, body: dict[str, object], said: str):
    answer = await lean_site.post("/api/sources", "alice", json=body)
    assert answer.status_code == 422, answer.text
    assert said in answer.json()["error"]
    assert (await lean_site.get("/api/sources", "admin")).json() == []


async def test_not_a_number_in_a_config_is_refused(lean_site: Site):
    text = '{"type": "rss", "config": {"url": "https://a.example/", "x": NaN}}'
    answer = await lean_site.post("/api/sources", "alice", content=text, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422


@on_both_stores
@pytest.mark.proves("A-29")
async def test_pausing_and_resuming_by_put_in_either_spelling(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "feed")
    path = f"/api/sources/{source.id}"
    paused = (await site.put(path, "alice", json={"isActive": False})).json()
    assert (paused["status"], paused["next_check_at"], paused["next_check_reason"]) == (
        "paused",
        None,
        "paused by hand",
    )
    clock.advance(timedelta(hours=1))
    resumed = (await site.put(path, "alice", json={"is_active": True, "is_public": True})).json()
    assert (resumed["status"], resumed["is_public"]) == ("pending", True)
    assert resumed["next_check_at"] == "2026-03-01T13:00:00.000Z"


@on_both_stores
async def test_a_change_leaves_alone_what_it_does_not_name(site: Site):
    source = await site.add_source(site.alice, "feed", tags=("a",), fetch_interval_minutes=30)
    path = f"/api/sources/{source.id}"
    changed = (await site.put(path, "alice", json={"name": "other"})).json()
    assert (changed["name"], changed["tags"], changed["fetch_interval_minutes"]) == ("other", ["a"], 30)
    assert (await site.put(path, "alice", json={"fetch_interval_minutes": 0})).json()["fetch_interval_minutes"] == 240
    assert (await site.put(path, "alice", json={})).json()["name"] == "other"


async def test_a_removed_source_is_gone_for_all_and_its_subscribers_are_told(site: Site):
    source = await site.add_source(site.alice, "feed", public=True)
    await site.post("/api/subscriptions", "bob", json={"sourceId": source.id})
    assert (await site.delete(f"/api/sources/{source.id}", "alice")).json() == {"ok": True}
    assert (await site.get("/api/sources", "admin")).json() == []
    assert (await site.get(f"/api/sources/{source.id}", "admin")).status_code == 404
    [told] = (await site.get("/api/subscriptions", "bob")).json()
    assert (told["id"], told["sourceDeleted"]) == (source.id, True)


@pytest.mark.parametrize("number", [0, -1, 2**63, 10**30])
async def test_an_id_beyond_all_ids_is_refused(lean_site: Site, number: int):
    assert (await lean_site.get(f"/api/sources/{number}")).status_code == 422


async def test_the_largest_id_is_merely_not_found(site: Site):
    assert (await site.get(f"/api/sources/{2**63 - 1}")).status_code == 404


@pytest.mark.proves("S-03", "G-13")
async def test_pages_of_sources_hold_what_the_whole_list_does(lean_site: Site):
    for number in range(7):
        await lean_site.add_source(lean_site.alice, f"site{number}")
    whole = (await lean_site.get("/api/sources", "alice")).json()
    assert len(whole) == 7
    path, seen = "/api/sources?limit=3", []
    while path:
        answer = await lean_site.get(path, "alice")
        assert len(answer.json()) <= 3
        seen += answer.json()
        path = answer.links["next"]["url"] if "next" in answer.links else ""
    assert seen == whole
    assert (await lean_site.get("/api/sources")).json() == [], "a stranger sees none of them"
    assert (await lean_site.get("/api/sources?limit=3")).json() == []
    assert (await lean_site.get("/api/sources?cursor=nonsense")).status_code == 422
