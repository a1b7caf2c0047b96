"""Packs and lists of sources over HTTP."""

from __future__ import annotations

import json

import pytest
from web_site import Site

from catchment.web.middleware import MAX_BODY
from stores import on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("A-33")]

SOURCES = [{"name": name, "type": "rss", "config": {"url": f"https://{name}.example/feed"}} for name in "ab"]
OPML = """<opml><body>
<outline text="Good" xmlUrl="https://good.example/feed"/>
<outline text="Private" xmlUrl="http://10.0.0.1/feed"/>
</body></opml>"""


@pytest.mark.parametrize(
    "sources",
    [
        {"sourcesJson": json.dumps(SOURCES)},
        {"sourcesJson": SOURCES},
        {"sources": SOURCES},
        {"sourcesJson": json.dumps([{**one, "config": json.dumps(one["config"])} for one in SOURCES])},
    ],
    ids=["text", "list", "sources", "config as text"],
)
async def test_a_pack_is_made_seen_by_anybody_and_installed_once(site: Site, sources: dict[str, object]):
    body = {"name": "Two feeds", "description": "a and b", **sources}
    assert (await site.post("/api/packs", json=body)).status_code == 401
    made = await site.post("/api/packs", "alice", json=body)
    assert made.status_code == 201
    assert (made.json()["slug"], made.json()["notes"]) == ("two-feeds", [])
    [listed] = (await site.get("/api/packs")).json()
    assert listed["sources"] == SOURCES
    assert (await site.get("/api/packs/two-feeds")).json() == listed
    assert (await site.post("/api/packs/two-feeds/install")).status_code == 401
    first = (await site.post("/api/packs/two-feeds/install", "bob")).json()
    again = (await site.post("/api/packs/two-feeds/install", "bob")).json()
    assert [(one["ok"], one["added"], one["skipped"]) for one in (first, again)] == [(True, 2, 0), (True, 0, 2)]
    assert (await site.get("/api/packs/two-feeds")).json()["install_count"] == 2
    assert {one["name"] for one in (await site.get("/api/subscriptions", "bob")).json()} == {"a", "b"}


async def test_a_removed_source_stays_removed_and_the_rest_of_the_pack_comes(site: Site):
    source = await site.add_source(site.bob, "a")
    await site.delete(f"/api/sources/{source.id}", "bob")
    await site.post("/api/packs", "alice", json={"name": "Gone", "sources": SOURCES[:1]})
    assert (await site.post("/api/packs/gone/install", "bob")).json()["added"] == 0
    await site.post("/api/packs", "alice", json={"name": "Mixed", "sources": SOURCES})
    assert (await site.post("/api/packs/mixed/install", "bob")).json()["added"] == 1
    subscribed = {one["name"]: one["sourceDeleted"] for one in (await site.get("/api/subscriptions", "bob")).json()}
    assert subscribed == {"a": True, "b": False}


async def test_only_its_maker_and_an_admin_remove_a_pack(site: Site):
    ids = [(await site.post("/api/packs", "alice", json={"name": "x", "sources": []})).json()["id"] for _ in range(2)]
    answers = [(await site.delete(f"/api/packs/{ids[0]}", who)).status_code for who in (None, "bob", "alice", "alice")]
    assert answers == [401, 403, 200, 404]
    assert (await site.delete(f"/api/packs/{ids[1]}", "admin")).status_code == 200


async def test_a_private_pack_is_not_there_for_others(site: Site):
    body = {"name": "Mine", "sources": SOURCES, "isPublic": False}
    await site.post("/api/packs", "alice", json=body)
    assert [len((await site.get("/api/packs", who)).json()) for who in (None, "bob", "alice")] == [0, 0, 1]
    assert (await site.get("/api/packs/mine", "bob")).status_code == 404
    assert (await site.get("/api/packs/%00")).status_code == 404


async def test_a_list_is_imported_line_by_line_in_any_format(site: Site):
    assert (await site.post("/api/sources/import", content=OPML)).status_code == 401
    answer = (await site.post("/api/sources/import", "alice", content=OPML)).json()
    assert answer["totals"] == {"added": 1, "duplicate": 0, "refused": 1}
    assert [(one["line"], one["result"]) for one in answer["results"]] == [(2, "added"), (3, "refused")]
    for body in (OPML, "- https://good.example/feed", json.dumps(["https://good.example/feed"])):
        again = (await site.post("/api/sources/import", "alice", content=body)).json()
        assert again["totals"]["duplicate"] == 1
    assert (await site.post("/api/sources/import", "alice", content="hello")).status_code == 422
    assert (await site.post("/api/sources/import", "alice", content=b"x" * (MAX_BODY + 1))).status_code == 413


@pytest.mark.parametrize("form", ["opml", "json", "yaml"])
async def test_what_one_user_exports_another_can_import_without_the_secrets(site: Site, form: str):
    config = {"url": "https://s.example/feed", "headers": {"X-Api-Key": "k3y"}, "fetch_interval_minutes": 30}
    await site.post("/api/sources", "alice", json={"type": "rss", "config": config, "name": "S", "tags": ["t"]})
    await site.add_source(site.bob, "his", public=True)
    exported = await site.get("/api/sources/export", "alice", params={"format": form})
    assert exported.status_code == 200
    assert "k3y" not in exported.text
    assert "his" not in exported.text
    assert (await site.post("/api/sources/import", "bob", content=exported.content)).json()["totals"]["added"] == 1
    [copy] = [one for one in (await site.get("/api/sources", "bob")).json() if one["name"] == "S"]
    assert copy["config"] == {"url": "https://s.example/feed", "fetch_interval_minutes": 30}
    assert copy["tags"] == ["t"]


async def test_a_user_may_not_let_a_file_reach_private_addresses(site: Site):
    body = json.dumps([{"url": "http://10.0.0.1/", "options": {"allow_private": True}}, "https://a.example/feed"])
    for who in ("alice", "admin"):
        answer = (await site.post("/api/sources/import", who, content=body)).json()
        assert [one["result"] for one in answer["results"]] == ["refused", "added" if who == "alice" else "duplicate"]
