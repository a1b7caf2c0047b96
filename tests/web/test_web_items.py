"""Items and subscriptions over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest
from web_site import Site

from catchment.clock import ManualClock
from catchment.web.routes import raw_items
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


def titles(rows: list[dict[str, str]]) -> list[str]:
    return [row["title"] for row in rows]


@on_both_stores
@pytest.mark.proves("A-25")
async def test_items_of_private_sources_are_their_owners_alone(site: Site):
    hers = await site.add_source(site.alice, "hers")
    await site.add_items(hers, "secret")
    assert titles((await site.get("/api/raw-items", "alice")).json()) == ["secret"]
    assert titles((await site.get("/api/raw-items", "service")).json()) == ["secret"]
    for path in ("/api/raw-items", "/api/raw-items/for-digest", "/api/raw-items/stats"):
        assert (await site.get(path, "bob")).json() == []
    assert (await site.get(f"/api/raw-items?source_id={hers.id}", "bob")).json() == []


@pytest.mark.proves("A-25")
async def test_nobody_subscribes_to_what_another_keeps_private(site: Site):
    hers = await site.add_source(site.alice, "hers")
    await site.add_items(hers, "secret")
    assert (await site.post("/api/subscriptions", "bob", json={"sourceId": hers.id})).status_code == 404
    bulk = await site.post("/api/subscriptions/bulk", "bob", json={"sourceIds": [hers.id]})
    assert bulk.json() == {"ok": True, "added": 0}
    assert (await site.get("/api/raw-items/for-digest", "bob")).json() == []


@pytest.mark.proves("A-25")
async def test_a_source_made_private_no_longer_shows_its_items_to_subscribers(site: Site):
    hers = await site.add_source(site.alice, "hers", public=True)
    await site.add_items(hers, "once public")
    await site.post("/api/subscriptions", "bob", json={"sourceId": hers.id})
    assert titles((await site.get("/api/raw-items/for-digest", "bob")).json()) == ["once public"]
    await site.put(f"/api/sources/{hers.id}", "alice", json={"is_public": False})
    assert (await site.get("/api/raw-items/for-digest", "bob")).json() == []


@on_both_stores
@pytest.mark.proves("A-25")
@pytest.mark.parametrize(
    ("since", "found"),
    [
        ("2026-03-01T12:00:00Z", ["late", "early"]),
        ("2026-03-01T12:00", ["late", "early"]),
        ("2026-03-01 12:15:00", ["late"]),
        ("2026-03-01T14:15:00+02:00", ["late"]),
        ("2026-03-01T12:30:00.001Z", []),
        ("2026-03-01", ["late", "early"]),
        ("0001-01-01T00:00:00Z", ["late", "early"]),
        ("9999-12-31T23:59:59Z", []),
    ],
)
async def test_since_is_compared_as_time(site: Site, clock: ManualClock, since: str, found: list[str]):
    source = await site.add_source(site.alice, "feed")
    await site.add_items(source, "early")
    clock.advance(timedelta(minutes=30))
    await site.add_items(source, "late")
    assert titles((await site.get("/api/raw-items", "alice", params={"since": since})).json()) == found
    assert titles((await site.get("/api/raw-items/for-digest", "alice", params={"since": since})).json()) == found


async def test_a_plus_that_nobody_escaped_still_means_a_zone(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "feed")
    await lean_site.add_items(source, "early")
    answer = await lean_site.get("/api/raw-items?since=2026-03-01T14:15:00+02:00", "alice")
    assert answer.json() == []


@pytest.mark.parametrize("since", ["yesterday", "", "2026-13-01", "12", "0001-01-01T00:00:00+14:00", "2026-03-01T1\0"])
async def test_a_since_that_is_no_time_is_refused(lean_site: Site, since: str):
    assert (await lean_site.get("/api/raw-items", "alice", params={"since": since})).status_code == 422


@pytest.mark.proves("A-25")
async def test_pages_of_items_newest_first_with_a_cap(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "feed")
    await lean_site.add_items(source, *[f"item {number}" for number in range(600)])

    async def get(path: str) -> list[dict[str, str]]:
        rows: list[dict[str, str]] = (await lean_site.get(path, "alice")).json()
        return rows

    assert len(await get("/api/raw-items")) == 50
    assert len(await get("/api/raw-items?limit=100000")) == 200
    assert len(await get("/api/raw-items/for-digest")) == 200
    assert len(await get("/api/raw-items/for-digest?limit=501")) == 500
    assert titles(await get("/api/raw-items?limit=2&offset=598")) == ["item 1", "item 0"]
    assert await get(f"/api/raw-items?offset={2**63 - 1}") == []
    assert (await lean_site.get("/api/raw-items?limit=0", "alice")).status_code == 422
    assert (await lean_site.get(f"/api/raw-items?offset={2**63}", "alice")).status_code == 422


async def test_an_item_tells_where_it_came_from(site: Site):
    source = await site.add_source(site.alice, "feed")
    await site.add_items(source, "one")
    [item] = (await site.get("/api/raw-items", "alice")).json()
    assert (item["source_id"], item["source_name"], item["source_type"]) == (source.id, "feed", "rss")
    assert (item["fetched_at"], item["published_at"], item["revision"]) == ("2026-03-01T12:00:00.000Z", None, 0)


@pytest.mark.proves("A-25")
async def test_item_statistics_count_active_sources(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "feed")
    paused = await site.add_source(site.alice, "paused")
    await site.put(f"/api/sources/{paused.id}", "alice", json={"is_active": False})
    await site.add_items(source, "old")
    clock.advance(timedelta(hours=25))
    await site.add_items(source, "new", "newer")
    [row] = (await site.get("/api/raw-items/stats", "alice")).json()
    assert row == {
        "source_id": source.id,
        "name": "feed",
        "type": "rss",
        "total_items": 3,
        "last_item_at": "2026-03-02T13:00:00.000Z",
        "items_24h": 2,
    }


@pytest.mark.proves("A-25")
async def test_for_a_digest_come_only_items_of_ones_own_subscriptions(site: Site):
    followed = await site.add_source(None, "followed", public=True)
    other = await site.add_source(None, "other", public=True)
    await site.add_items(followed, "wanted")
    await site.add_items(other, "unwanted")
    assert (await site.post("/api/subscriptions", "bob", json={"sourceId": followed.id})).json()["added"] == 1
    assert (await site.post("/api/subscriptions", "bob", json={"source_id": followed.id})).json()["added"] == 0
    assert titles((await site.get("/api/raw-items/for-digest", "bob")).json()) == ["wanted"]
    assert sorted(titles((await site.get("/api/raw-items/for-digest", "service")).json())) == ["unwanted", "wanted"]
    assert (await site.delete(f"/api/subscriptions/{followed.id}", "bob")).json() == {"ok": True}
    assert (await site.delete(f"/api/subscriptions/{followed.id}", "bob")).status_code == 404
    assert (await site.get("/api/raw-items/for-digest", "bob")).json() == []


async def test_subscribing_in_bulk_counts_what_is_new(site: Site):
    ids = [(await site.add_source(None, f"feed{number}", public=True)).id for number in range(3)]
    first = await site.post("/api/subscriptions/bulk", "bob", json={"sourceIds": [*ids[:2], 2**63 - 1]})
    assert first.json()["added"] == 2
    again = await site.post("/api/subscriptions/bulk", "bob", json={"sourceIds": [*ids, ids[2]]})
    assert again.json()["added"] == 1
    assert (await site.post("/api/subscriptions", "bob", json={"sourceId": 2**63 - 1})).status_code == 404


async def test_not_even_an_admin_follows_what_somebody_keeps_private(site: Site):
    chief = await site.system.accounts.add_user("chief@example.org", is_admin=True)
    key = (await site.system.accounts.create_key("desk", user_id=chief.id)).secret
    hers = await site.add_source(site.alice, "hers")
    answer = await site.post("/api/subscriptions", json={"sourceId": hers.id}, headers={"X-API-Key": key})
    assert answer.status_code == 403


@pytest.mark.proves("S-03", "G-13")
async def test_the_link_of_a_page_of_items_leads_to_the_next_until_all_were_shown(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "feed")
    await lean_site.add_items(source, *[f"item {number}" for number in range(25)])
    path, seen = "/api/raw-items?limit=10", list[str]()
    for _ in range(5):
        answer = await lean_site.get(path, "alice")
        seen += titles(answer.json())
        if "next" not in answer.links:
            break
        path = answer.links["next"]["url"]
    assert seen == [f"item {number}" for number in reversed(range(25))]


@pytest.mark.proves("S-03")
async def test_an_offset_that_would_pass_over_too_much_is_refused(lean_site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(raw_items, "MAX_OFFSET", 3)
    source = await lean_site.add_source(lean_site.alice, "feed")
    await lean_site.add_items(source, *[f"item {number}" for number in range(5)])
    assert len((await lean_site.get("/api/raw-items?offset=3", "alice")).json()) == 2
    assert (await lean_site.get("/api/raw-items?offset=4", "alice")).status_code == 422
    assert (await lean_site.get("/api/raw-items?offset=5", "alice")).json() == [], "there is nothing"
