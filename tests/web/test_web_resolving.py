"""`POST /api/sources/resolve`: told before it is added."""

from __future__ import annotations

import httpx
import pytest
from web_site import SERVICE_KEY, Site

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.settings import Settings
from catchment.web.app import create_app
from feed_site import FeedSite, rss
from stores import on_sqlite_alone

pytestmark = on_sqlite_alone

PATH = "/api/sources/resolve"


@pytest.mark.proves("A-32")
async def test_a_name_is_told_without_a_look_where_there_is_no_key(lean_site: Site) -> None:
    answer = await lean_site.post(PATH, "alice", json={"url": "@jack"})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["type"], body["config"], body["name"]) == ("twitter_feed", {"handle": "@jack"}, "@jack")
    assert "preview" not in body
    assert body["doubt"]


@pytest.mark.proves("A-32")
@pytest.mark.parametrize("body", [{}, {"url": ""}, {"url": "  "}, {"url": None}])
async def test_nothing_pasted_is_a_bad_request(lean_site: Site, body: dict[str, object]) -> None:
    answer = await lean_site.post(PATH, "alice", json=body)
    assert (answer.status_code, "url" in answer.json()["error"]) == (400, True)


@pytest.mark.proves("A-32")
@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://127.0.0.1/feed", "not a public address"),
        ("http://127.0.0.1\\@example.com/", "characters"),
        ("file:///etc/passwd", "http://"),
        ("javascript:alert(1)", "http://"),
        ("nothing at all", "address"),
    ],
)
async def test_refused_addresses_are_422_with_the_reason(lean_site: Site, url: str, reason: str) -> None:
    answer = await lean_site.post(PATH, "alice", json={"url": url})
    assert (answer.status_code, reason in answer.json()["error"]) == (422, True)


async def test_strangers_may_not_have_addresses_looked_at(lean_site: Site) -> None:
    assert (await lean_site.post(PATH, json={"url": "hn"})).status_code == 401


@pytest.mark.proves("A-32")
async def test_what_is_resolved_can_be_added_as_it_is_and_only_once(store_url: str, clock: ManualClock) -> None:
    settings = Settings(database_url=store_url, allow_networks="127.0.0.1", timeout_seconds=5.0, api_key=SERVICE_KEY)
    async with FeedSite() as world, open_system(settings, clock=clock) as system, client_of(system) as client:
        feed = world.serve(rss("a", "b", "c", "d", "e", "f", title="Sea"), path="/feed.xml")
        head = "<link rel=alternate type=application/rss+xml href=/feed.xml><link rel=icon href=/i.png>"
        page = world.serve(f"<!doctype html><title>Sea blog</title>{head}", path="/")
        told = (await client.post(PATH, json={"url": page})).json()
        assert told["preview"][0] == {"title": "Title a", "url": "https://example.org/a"}
        assert len(told["preview"]) == 5
        assert (told["type"], told["name"], told["config"]) == ("rss", "Sea", {"url": feed})
        assert told["icon"] == world.url("/i.png")
        wanted = {key: told[key] for key in ("type", "name", "config")}
        added = await client.post("/api/sources", json=wanted)
        again = await client.post("/api/sources", json=wanted)
        assert (added.status_code, again.status_code) == (201, 409)
        assert again.json()["existing_id"] == added.json()["id"]
        told_again = (await client.post(PATH, json={"url": page})).json()
        assert told_again == {**told, "existing_id": added.json()["id"]}


@pytest.mark.proves("R-39")
@pytest.mark.parametrize("status", [404, 410])
async def test_an_address_at_which_there_is_nothing_is_422_unless_told_otherwise(
    sqlite_url: str, clock: ManualClock, status: int
) -> None:
    settings = Settings(database_url=sqlite_url, allow_networks="127.0.0.1", timeout_seconds=5.0, api_key=SERVICE_KEY)
    async with FeedSite() as world, open_system(settings, clock=clock) as system, client_of(system) as client:
        url = world.serve("no", status=status, path="/feed.xml")
        refused = await client.post(PATH, json={"url": url})
        assert (refused.status_code, str(status) in refused.json()["error"]) == (422, True)
        told = await client.post(PATH, json={"url": url, "force": True})
        assert (told.status_code, str(status) in told.json()["doubt"]) == (200, True)


def client_of(system: System) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(system))
    headers = {"Authorization": f"Bearer {SERVICE_KEY}"}
    return httpx.AsyncClient(transport=transport, base_url="http://catchment.test", headers=headers)
