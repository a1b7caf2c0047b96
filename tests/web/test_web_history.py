"""Undo, fetch now, many at once, the history of visits and the audit trail, over HTTP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from web_site import Site

from catchment.clock import ManualClock, last_days
from catchment.domain.visit import VisitOutcome
from catchment.store import audit_trail, fetch_log, items, sources
from catchment.store.fetch_log import LogLine
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


async def names(site: Site, who: str = "alice") -> list[str]:
    return [source["name"] for source in (await site.get("/api/sources", who)).json()]


async def trail(site: Site) -> list[tuple[str, str, str]]:
    lines = (await site.get("/api/admin/audit-trail", "admin")).json()["entries"]
    return [(line["actor"], line["action"], line["object"]) for line in lines]


@pytest.mark.proves("G-04", "G-13")
async def test_a_removed_source_comes_back_with_all_that_belongs_to_it(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "hers", public=True, tags=("red",))
    await site.add_items(source, "one", "two")
    await site.post("/api/subscriptions", "bob", json={"sourceId": source.id})
    await site.post("/api/feeds", "alice", json={"slug": "hers", "filter": {"sources": [source.id]}, "public": True})
    before = (await site.get(f"/api/sources/{source.id}", "alice")).json()
    await site.delete(f"/api/sources/{source.id}", "alice")
    assert await names(site) == []
    assert (await site.get("/api/items?q=one", "alice")).json()["items"] == []
    assert "one" not in (await site.get("/feeds/hers.json")).text
    clock.advance(timedelta(hours=23))
    [removed] = (await site.get("/api/sources/removed", "alice")).json()
    assert (removed["id"], removed["name"]) == (source.id, "hers")
    assert (await site.get("/api/sources/removed", "bob")).json() == []
    assert (await site.post(f"/api/sources/{source.id}/restore", "bob")).status_code == 404
    answer = await site.post(f"/api/sources/{source.id}/restore", "alice")
    assert answer.status_code == 200, answer.text
    after = (await site.get(f"/api/sources/{source.id}", "alice")).json()
    moving = {"updated_at", "next_check_at", "next_check_reason", "next_fetch_at"}
    assert {k: v for k, v in after.items() if k not in moving} == {k: v for k, v in before.items() if k not in moving}
    assert len((await site.get("/api/items?q=one", "alice")).json()["items"]) == 1
    assert "one" in (await site.get("/feeds/hers.json")).text
    [mine] = (await site.get("/api/subscriptions", "bob")).json()
    assert not mine["sourceDeleted"]
    known = await site.system.store.read(items.remembered, source.id, ["one", "two", "three"])
    assert set(known) == {"one", "two"}, "nothing comes a second time"


@pytest.mark.proves("G-04")
async def test_after_a_day_a_removal_is_for_good(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "hers")
    await site.add_items(source, "one")
    await site.delete(f"/api/sources/{source.id}", "alice")
    clock.advance(timedelta(hours=24, seconds=1))
    assert (await site.post(f"/api/sources/{source.id}/restore", "alice")).status_code == 404
    assert (await site.get("/api/sources/removed", "alice")).json() == []
    await site.system.store.write(items.delete_of_removed, before=clock.now() - timedelta(hours=24), limit=10)
    assert await site.system.store.read(items.remembered, source.id, ["one"]) == {}


@pytest.mark.proves("G-04")
async def test_an_address_that_was_added_again_meanwhile_is_not_there_twice(site: Site):
    source = await site.add_source(site.alice, "hers")
    await site.delete(f"/api/sources/{source.id}", "alice")
    again = await site.add_source(site.alice, "hers")
    answer = await site.post(f"/api/sources/{source.id}/restore", "alice")
    assert answer.status_code == 409
    assert "remove the new one first" in answer.json()["detail"]
    await site.delete(f"/api/sources/{again.id}", "alice")
    assert (await site.post(f"/api/sources/{source.id}/restore", "alice")).status_code == 200
    assert await names(site) == ["hers"]


@pytest.mark.proves("G-04")
async def test_a_source_that_a_person_paused_comes_back_paused(site: Site):
    source = await site.add_source(site.alice, "hers")
    await site.put(f"/api/sources/{source.id}", "alice", json={"is_active": False})
    await site.delete(f"/api/sources/{source.id}", "alice")
    shown = (await site.post(f"/api/sources/{source.id}/restore", "alice")).json()
    assert (shown["is_active"], shown["next_check_at"]) == (False, None)


@on_both_stores
@pytest.mark.proves("G-04", "G-13")
async def test_many_sources_are_changed_removed_and_had_back_at_once_or_none(site: Site):
    ids = [(await site.add_source(site.alice, name)).id for name in ("a", "b", "c")]
    others = await site.add_source(site.bob, "his", public=True)

    async def bulk(action: str, wanted: list[int], **more: object) -> int:
        body = {"action": action, "ids": wanted, **more}
        return (await site.post("/api/sources/bulk", "alice", json=body)).status_code

    assert await bulk("pause", [*ids, others.id]) == 403
    assert all(source["is_active"] for source in (await site.get("/api/sources", "alice")).json())
    assert await bulk("pause", ids) == 200
    assert await bulk("change", ids, tags=["red"], fetch_interval_minutes=30) == 200
    mine = [source for source in (await site.get("/api/sources", "alice")).json() if source["id"] in ids]
    assert {(one["is_active"], *one["tags"], one["fetch_interval_minutes"]) for one in mine} == {(False, "red", 30)}
    assert await bulk("change", ids) == 422
    assert await bulk("remove", ids[:2]) == 200
    assert sorted(await names(site)) == ["c", "his"]
    assert await bulk("restore", ids) == 404
    assert await bulk("restore", ids[:2]) == 200
    assert sorted(await names(site)) == ["a", "b", "c", "his"]


@on_both_stores
@pytest.mark.proves("G-13")
async def test_a_source_is_due_at_once_for_whoever_may_change_it(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "hers", public=True)
    await site.system.store.write(
        sources.reschedule, [(source.id, sources.NextCheck(at=clock.now() + timedelta(days=1), why=None))]
    )
    assert (await site.post(f"/api/sources/{source.id}/fetch", "bob")).status_code == 403
    answer = await site.post(f"/api/sources/{source.id}/fetch", "alice")
    assert (answer.status_code, answer.json()) == (202, {"ok": True, "started": False})
    due = await site.system.store.read(sources.due, now=clock.now(), limit=5, owner="x")
    assert [one.id for one in due] == [source.id]


@on_both_stores
@pytest.mark.proves("G-13")
async def test_the_history_of_visits_is_paged_and_counted_by_day(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "hers")
    start = clock.now() - timedelta(days=1)
    lines = [
        LogLine(
            source_id=source.id,
            started_at=start,
            finished_at=start + timedelta(hours=6 * number),
            ok=number != 1,
            items=5,
            inserted=number,
            error="no answer" if number == 1 else None,
        )
        for number in range(5)
    ]
    await site.system.store.write(fetch_log.write, lines)
    first = (await site.get(f"/api/sources/{source.id}/history?limit=3", "alice")).json()
    assert [one["inserted"] for one in first["visits"]] == [4, 3, 2]
    rest = (await site.get(f"/api/sources/{source.id}/history?limit=3&cursor={first['next_cursor']}", "alice")).json()
    assert [one["error"] for one in rest["visits"]] == ["no answer", None]
    assert (rest["next_cursor"], rest["days"]) == (None, [])
    assert len(first["days"]) == 30
    assert first["days"][-2:] == [
        {"day": "2026-02-28", "visits": 2, "failed": 1, "excused": 0, "items": 1},
        {"day": "2026-03-01", "visits": 3, "failed": 0, "excused": 0, "items": 9},
    ]
    assert first["days"][0] == {"day": "2026-01-31", "visits": 0, "failed": 0, "excused": 0, "items": 0}
    assert (await site.get(f"/api/sources/{source.id}/history", "bob")).status_code == 404


@pytest.mark.proves("G-05")
def test_a_day_on_which_the_clock_is_set_has_an_hour_more_or_less():
    now = datetime(2026, 11, 2, 3, 30, tzinfo=UTC)
    days = last_days(now, 2, ZoneInfo("America/New_York"))
    assert [(one.day.day, (one.ends - one.begins) / timedelta(hours=1)) for one in days] == [(31, 24), (1, 25)]
    assert days[-1].begins <= now < days[-1].ends


@on_both_stores
@pytest.mark.proves("G-10", "G-13")
async def test_the_trail_tells_who_changed_what_and_no_secret(site: Site, clock: ManualClock):
    body = {"type": "rss", "name": "S", "config": {"url": "https://s.example/feed?api_key=hunter3"}}
    body["config"]["headers"] = {"Authorization": "Bearer hunter4"}
    source_id = (await site.post("/api/sources", "alice", json=body)).json()["id"]
    await site.put(f"/api/sources/{source_id}", "alice", json={"name": "T", "fetch_interval_minutes": 30})
    await site.put("/api/config", "admin", json={"FETCH_INTERVAL_RSS": 60})
    await site.post("/api/feeds", "bob", json={"slug": "his", "filter": {}})
    await site.put("/api/feeds/his", "bob", json={"title": "Ours", "filter": {"search": "x"}})
    await site.system.jobs.prepare()
    await site.post("/api/admin/jobs/cleanup/pause", "admin")
    await site.delete(f"/api/sources/{source_id}", "alice")
    answer = await site.get("/api/admin/audit-trail", "admin")
    assert "hunter" not in answer.text
    lines = answer.json()["entries"]
    newest = [(line["actor"], line["action"], line["object"]) for line in lines][:7]
    assert newest == [
        (site.alice.name, "source.remove", f"source {source_id} (T)"),
        ("admin", "job.pause", "job cleanup"),
        (site.bob.name, "feed.change", "feed his"),
        (site.bob.name, "feed.add", "feed his"),
        ("admin", "config.change", "intervals"),
        (site.alice.name, "source.change", f"source {source_id} (T)"),
        (site.alice.name, "source.add", f"source {source_id} (S)"),
    ]
    [change] = [line for line in lines if line["action"] == "source.change"]
    assert change["summary"] == "name: S → T; interval: none → 30"
    assert change["actor_id"] == site.alice.id
    page = (await site.get("/api/admin/audit-trail?limit=2", "admin")).json()
    following = (await site.get(f"/api/admin/audit-trail?limit=2&cursor={page['next_cursor']}", "admin")).json()
    assert [one["id"] for one in following["entries"]] == [line["id"] for line in lines[2:4]]


async def test_what_is_refused_leaves_no_trail(site: Site):
    before = await trail(site)
    assert (await site.delete("/api/sources/999", "alice")).status_code == 404
    assert (await site.delete("/api/admin/webhooks/999", "admin")).status_code == 404
    assert await trail(site) == before


@pytest.mark.proves("G-10")
async def test_the_trail_is_forgotten_after_its_time(site: Site, clock: ManualClock):
    await site.add_source(site.alice, "hers")
    store = site.system.store
    assert await store.read(audit_trail.page, before=None, limit=10)
    clock.advance(timedelta(days=91))
    await site.system.cleaner.tidy(clock.now())
    assert await store.read(audit_trail.page, before=None, limit=10) == []


@on_both_stores
@pytest.mark.proves("R-41")
async def test_a_visit_without_a_network_is_called_so_and_no_failure_at_every_door(site: Site, clock: ManualClock):
    source, now = await site.add_source(site.alice, "hers"), clock.now()
    ends: list[tuple[bool, VisitOutcome | None]] = [
        (False, VisitOutcome.NETWORK_AWAY), (False, VisitOutcome.OUR_FAULT), (False, None), (True, None)
    ]  # fmt: skip
    lines = [
        LogLine(source_id=source.id, started_at=now, finished_at=now, ok=ok, excuse=excuse, error=None if ok else "no")
        for ok, excuse in ends
    ]
    await site.system.store.write(fetch_log.write, lines)
    told = (await site.get(f"/api/sources/{source.id}/history", "alice")).json()
    assert [one["outcome"] for one in told["visits"]] == ["ok", "failed", "our_fault", "network_away"]
    assert told["days"][-1] | {"day": ""} == {"day": "", "visits": 2, "failed": 1, "excused": 2, "items": 0}
    stats = (await site.get("/api/collector/status", "service")).json()["stats"]
    assert (stats["fetches_24h"], stats["errors_24h"], stats["excused_24h"]) == (2, 1, 2)
    assert stats["success_rate_24h"] == 0.5
    assert "catchment_fetches_excused_24h 2.0" in (await site.get("/metrics")).text
    for language, words, counted in (
        ("en", ("network away, not counted", "fault on our side, not counted"), "2 not counted: the network was away"),
        ("zh", ("网络不通，不计入", "本机故障，不计入"), "另有 2 次不计入：网络不通"),
    ):
        page = (await site.get(f"/sources/{source.id}?lang={language}", "alice")).text
        for word in words:
            assert f'<span class="health" data-mood="calm"><span class="dot"></span>{word}</span>' in page
        assert page.count('class="health" data-mood="bad"') == 1, "the one that failed"
        listed = (await site.get(f"/sources?lang={language}", "alice")).text
        assert 'path class="calm"' in listed
        assert counted in page
        assert counted in listed
