"""The status of the collector, the config table, health and metrics."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from typing import Any

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy.pool import QueuePool
from web_site import Site

from catchment.bootstrap import open_system
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.candidate import Listed
from catchment.domain.rhythm import Rhythm
from catchment.domain.run import RunKind
from catchment.domain.source import LastError, NextCheck, PausedBy, Source, Why
from catchment.domain.visit import SourceState
from catchment.manage.catalog import Draft
from catchment.settings import Settings
from catchment.store import candidates, fetch_log, runs, sources
from catchment.store.database import PostgresStore
from catchment.store.fetch_log import LogLine
from catchment.web.app import create_app
from catchment.web.routes import collector
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

ROW = {
    "id", "name", "type", "interval_minutes", "last_fetched_at", "next_fetch_at", "fetch_count", "fetch_error_count",
    "last_error", "status", "next_check_at", "next_check_reason",
}  # fmt: skip
STATS = {
    "total_sources", "active_sources", "paused_sources", "paused_by_error", "fetches_24h", "errors_24h",
    "raw_items_24h", "items_24h", "success_rate_24h",
}  # fmt: skip


async def set_state(site: Site, source: Source, **values: Any) -> None:
    state: dict[str, Any] = {
        "last_fetched_at": None,
        "last_attempt_at": None,
        "fetch_count": 0,
        "fetch_error_count": 0,
        "last_error": None,
        "is_active": True,
        "paused_by": None,
        "next_check": source.next_check,
        "memory": {},
        "rhythm": Rhythm(),
        "moved": None,
    }
    await site.system.store.write(sources.save_states, [(source, SourceState(**{**state, **values}))])


@on_both_stores
@pytest.mark.proves("R-12")
async def test_pages_that_were_not_collected_are_told_with_the_reason(site: Site) -> None:
    draft = Draft(type="sitemap", config={"url": "https://mill.example/sitemap.xml"}, name="Mill", is_public=True)
    source = await site.system.catalog.add(draft, OPERATOR)
    listed = [Listed("https://mill.example/1"), Listed("https://mill.example/2?token=secret")]
    now, store = site.system.clock.now(), site.system.store
    await store.write(candidates.record_listed, source.id, listed, listing_id=None, now=now)
    await store.write(candidates.mark_keys, source.id, [listed[0].key], error="It answered 500.", now=now)
    failed = {"url": "https://mill.example/1", "state": "failed", "attempts": 1, "is_given_up": False}
    status, shown = (await rows(site))["Mill"], (await site.get(f"/api/sources/{source.id}", "service")).json()
    assert status["pages"] == shown["pages"]
    assert (shown["pages"]["pending"], shown["pages"]["failed"]) == (1, 1)
    assert shown["pages"]["listed"][0] == {**failed, "error": "It answered 500."}
    assert "secret" not in str(shown)
    assert "pages" not in (await site.get(f"/api/sources/{source.id}")).json()


async def rows(site: Site, who: str = "service") -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in (await site.get("/api/collector/status", who)).json()["sources"]}


@pytest.mark.proves("A-14", "A-19")
async def test_the_status_has_every_field_and_never_a_config(site: Site):
    await site.add_source(site.alice, "feed")
    answer = await site.get("/api/collector/status", headers={"Authorization": f"Bearer {site.keys['service']}"})
    status = answer.json()
    assert status["sources"][0].keys() >= ROW
    assert status["stats"].keys() >= STATS
    assert "config" not in answer.text
    assert "feed.example" not in answer.text


@pytest.mark.proves("A-14")
async def test_the_service_sees_every_source_a_user_their_own_and_public_ones(site: Site):
    await site.add_source(site.alice, "hers")
    await site.add_source(site.bob, "his")
    await site.add_source(None, "public", public=True)
    assert set(await rows(site, "service")) == set(await rows(site, "admin")) == {"hers", "his", "public"}
    assert set(await rows(site, "alice")) == {"hers", "public"}
    assert (await site.get("/api/collector/status", "bob")).json()["stats"]["total_sources"] == 2


@pytest.mark.proves("A-14", "S-03")
async def test_the_status_of_many_sources_is_read_by_pages_and_holds_each_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    for number in range(5):
        await site.add_source(site.alice, f"feed{number}")
    whole = (await site.get("/api/collector/status", "alice")).json()
    monkeypatch.setattr(collector, "SOURCES_AT_ONCE", 2)
    asked = list[int]()
    listed = sources.list_visible
    monkeypatch.setattr(sources, "list_visible", lambda *args, **kwargs: [asked.append(1), listed(*args, **kwargs)][1])
    assert (await site.get("/api/collector/status", "alice")).json() == whole
    assert [row["name"] for row in whole["sources"]] == [f"feed{number}" for number in range(5)]
    assert len(asked) == 4, "by twos, and once for nothing more"


@pytest.mark.proves("A-15")
async def test_next_fetch_is_the_last_one_plus_the_interval_and_null_where_there_is_none(
    site: Site, clock: ManualClock
):
    fetched = await site.add_source(None, "fetched", fetch_interval_minutes=90)
    await site.add_source(None, "never")
    paused = await site.add_source(None, "paused")
    an_hour_ago = clock.now() - timedelta(hours=1)
    await set_state(site, fetched, last_fetched_at=an_hour_ago, fetch_count=1)
    await set_state(site, paused, last_fetched_at=an_hour_ago, is_active=False, paused_by=PausedBy.PERSON)
    found = await rows(site)
    assert found["fetched"]["last_fetched_at"] == "2026-03-01T11:00:00.000Z"
    assert found["fetched"]["next_fetch_at"] == "2026-03-01T12:30:00.000Z"
    assert found["fetched"]["interval_minutes"] == 90
    assert [found[name]["next_fetch_at"] for name in ("never", "paused")] == [None, None]


@pytest.mark.proves("A-15")
async def test_the_next_check_says_when_and_why_in_the_callers_language(site: Site, clock: ManualClock):
    source = await site.add_source(None, "failing")
    at = clock.now() + timedelta(hours=4)
    check = NextCheck(at=at, why=Why.BACK_OFF)
    await set_state(site, source, fetch_error_count=2, next_check=check, last_attempt_at=clock.now())
    row = (await rows(site))["failing"]
    assert (row["next_check_at"], row["next_check_reason"]) == (
        "2026-03-01T16:00:00.000Z",
        "waits after 2 failures",
    )
    answer = await site.get("/api/collector/status", "service", headers={"Accept-Language": "zh-CN,en;q=0.8"})
    assert answer.json()["sources"][0]["next_check_reason"] == "连续失败 2 次，稍后重试"


@pytest.mark.proves("A-19", "A-40")
async def test_the_last_error_is_told_with_its_time_and_null_once_well(site: Site, clock: ManualClock):
    source = await site.add_source(None, "feed", public=True)
    error = LastError(message="HTTP 503", at=clock.now())
    await set_state(site, source, fetch_error_count=1, last_error=error)
    assert (await rows(site))["feed"]["last_error"] == {"message": "HTTP 503", "at": "2026-03-01T12:00:00.000Z"}
    for path in ("/api/sources", "/"):
        assert "HTTP 503" not in (await site.get(path)).text
    await set_state(site, source, last_fetched_at=clock.now())
    assert (await rows(site))["feed"]["last_error"] is None


@pytest.mark.proves("A-14")
async def test_each_state_of_a_source_has_its_word(site: Site, clock: ManualClock):
    states: dict[str, dict[str, Any]] = {
        "ok": {"last_fetched_at": clock.now()},
        "pending": {},
        "error": {"fetch_error_count": 1},
        "paused": {"is_active": False, "paused_by": PausedBy.ERROR, "fetch_error_count": 5},
    }
    for name, state in states.items():
        await set_state(site, await site.add_source(None, name), **state)
    body = {"type": "twitter_bookmarks", "config": {}, "name": "no_fetcher"}
    await site.post("/api/sources", "service", json=body)
    assert {name: row["status"] for name, row in (await rows(site)).items()} == {
        name: name for name in (*states, "no_fetcher")
    }


@pytest.mark.proves("A-14")
async def test_statistics_count_what_is_not_deleted_and_the_last_day(site: Site, clock: ManualClock):
    feed, by_hand, by_error, gone = [await site.add_source(None, name) for name in ("a", "b", "c", "d")]
    await set_state(site, by_hand, is_active=False, paused_by=PausedBy.PERSON)
    await set_state(site, by_error, is_active=False, paused_by=PausedBy.ERROR, fetch_error_count=5)
    await site.delete(f"/api/sources/{gone.id}", "service")
    await site.add_items(feed, "old")
    clock.advance(timedelta(days=2))
    await site.add_items(feed, "new", "newer")
    lines = [
        LogLine(source_id=feed.id, started_at=at, finished_at=at, ok=ok)
        for at, ok in (
            (clock.now() - timedelta(hours=25), False),
            (clock.now() - timedelta(hours=23), False),
            *[(clock.now(), True)] * 3,
        )
    ]
    await site.system.store.write(fetch_log.write, lines)
    stats = (await site.get("/api/collector/status", "service")).json()["stats"]
    assert {name: stats[name] for name in sorted(STATS)} == {
        "active_sources": 1,
        "errors_24h": 1,
        "fetches_24h": 4,
        "items_24h": 2,
        "paused_by_error": 1,
        "paused_sources": 2,
        "raw_items_24h": 2,
        "success_rate_24h": 0.75,
        "total_sources": 3,
    }


async def test_without_visits_there_is_no_success_rate(site: Site):
    assert (await site.get("/api/collector/status", "service")).json()["stats"]["success_rate_24h"] is None


@pytest.mark.proves("A-36")
async def test_the_status_tells_how_the_collector_is(site: Site, clock: ManualClock):
    async def collector() -> dict[str, Any]:
        state: dict[str, Any] = (await site.get("/api/collector/status", "service")).json()["collector"]
        return state

    idle = {"running": False, "last_tick_at": None, "next_tick_at": None, "queue": 0, "in_flight": 0}
    idle["network_away"] = False
    assert await collector() == idle
    await site.add_source(None, "due")
    stop = asyncio.Event()
    # Its pool is not at work, so that what is due stays in the queue.
    ticking = asyncio.create_task(site.system.collector.run(stop, tick_seconds=60))
    while not (await collector())["running"]:
        pass
    assert await collector() == {
        "running": True,
        "last_tick_at": "2026-03-01T12:00:00.000Z",
        "next_tick_at": "2026-03-01T12:01:00.000Z",
        "queue": 1,
        "in_flight": 0,
        "network_away": False,
    }
    stop.set()
    await ticking
    clock.advance(timedelta(minutes=2))
    assert (await collector())["running"] is False


@pytest.mark.proves("A-36")
async def test_what_is_being_collected_is_in_flight_and_no_longer_queued(site: Site, clock: ManualClock):
    source = await site.add_source(None, "due")
    until = clock.now() + timedelta(minutes=1)
    await site.system.store.write(runs.claim_now, source.id, owner="h:1:x", now=clock.now(), until=until)
    state = (await site.get("/api/collector/status", "service")).json()["collector"]
    assert (state["queue"], state["in_flight"]) == (0, 1)


@on_both_stores
@pytest.mark.proves("A-36", "G-01")
async def test_what_waits_and_is_under_way_is_counted_of_what_one_may_see(site: Site, clock: ManualClock):
    shown, until = await site.add_source(None, "shown", public=True), clock.now() + timedelta(minutes=1)
    hidden = [await site.add_source(site.bob, f"hidden-{number}") for number in range(3)]
    await site.add_source(None, "waits", public=True)
    for number, source in enumerate([shown, *hidden[:2]]):
        await site.system.store.write(runs.claim_now, source.id, owner=f"h:1:{number}", now=clock.now(), until=until)
    for who, told in ((None, "1 in flight · 1 waiting"), ("alice", "1 in flight · 1 waiting")):
        assert told in (await site.get("/", who)).text
    for who, counts in (("alice", (1, 1)), ("bob", (2, 3)), ("service", (2, 3))):
        state = (await site.get("/api/collector/status", who)).json()["collector"]
        assert (state["queue"], state["in_flight"]) == counts


@pytest.mark.proves("A-24")
async def test_the_config_table_is_read_and_set_whatever_the_case(site: Site):
    answer = await site.put("/api/config", "admin", json={"fetch_interval_RSS": 60, "FETCH_INTERVAL_REDDIT": "45"})
    assert answer.json() == {"FETCH_INTERVAL_REDDIT": "45", "FETCH_INTERVAL_RSS": "60"}
    await site.add_source(None, "feed")
    assert (await rows(site))["feed"]["interval_minutes"] == 60
    answer = await site.put("/api/config", "admin", json={"Fetch_Interval_Rss": None})
    assert answer.json() == (await site.get("/api/config", "admin")).json() == {"FETCH_INTERVAL_REDDIT": "45"}


@pytest.mark.proves("A-24")
@pytest.mark.parametrize(
    "body",
    [
        {"FETCH_INTERVAL_RSS": 0},
        {"FETCH_INTERVAL_RSS": -5},
        {"FETCH_INTERVAL_RSS": "often"},
        {"FETCH_INTERVAL_RSS": "1\0"},
        {"FETCH_INTERVAL_RSS": 10**40},
        {"FETCH_INTERVAL_RSS": True},
        {"FETCH_INTERVAL_RSS": 1.5},
        {"FETCH_INTERVAL_RSS": {}},
        {"FETCH_INTERVAL_PIGEONS": 60},
        {"DATABASE_URL": "sqlite://"},
        {"\0": 1},
        {"\ud800": 1},
        {"FETCH_INTERVAL_REDDIT": 60, "FETCH_INTERVAL_RSS": "junk"},
        [],
    ],
)
async def test_junk_in_the_config_is_refused_and_nothing_of_it_stored(lean_site: Site, body: object):
    answer = await lean_site.put("/api/config", "admin", json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]
    assert (await lean_site.get("/api/config", "admin")).json() == {}


async def test_health_is_always_200_and_tells_of_each_part(site: Site, clock: ManualClock):
    assert (await site.get("/api/health")).json() == {"status": "ok"}
    health = await site.get("/health")
    assert health.status_code == 200
    body = health.json()
    assert (body["status"], body["checks"]) == ("degraded", {"store": True, "collector": False, "cookies": True})
    assert (body["timestamp"], body["components"]["store"]["status"]) == ("2026-03-01T12:00:00.000Z", "healthy")
    until = clock.now() + timedelta(minutes=1)
    start = {"owner": "h:1:x", "now": clock.now(), "until": until}
    await site.system.store.write(runs.start, RunKind.COLLECTOR, "h:1:x", **start)
    assert (await site.get("/health")).json()["status"] == "healthy"
    assert (await site.get("/ready")).json()["ready"] is True


async def test_a_store_that_is_gone_is_unhealthy_not_ready_and_a_503_elsewhere(
    postgres_url: str, clock: ManualClock, log: list[str]
):
    settings = Settings(database_url=postgres_url)
    async with open_system(settings, clock=clock) as system:
        transport = httpx.ASGITransport(create_app(system))
        async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
            url = system.store.url.set(drivername="postgresql", database="postgres")
            with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as conn:
                conn.execute(f"ALTER DATABASE {system.store.url.database} ALLOW_CONNECTIONS false")
                conn.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                    [system.store.url.database],
                )
            health = await client.get("/health")
            assert (health.status_code, health.json()["status"]) == (200, "unhealthy")
            assert (await client.get("/ready")).status_code == 503
            sources = await client.get("/api/sources")
            assert sources.status_code == 503
            assert "accepting" not in sources.text
    assert any(line.startswith("ERROR") and "accepting" in line for line in log)
    # Whoever looks through the store after the test has to get in.
    with psycopg.connect(url.render_as_string(hide_password=False), autocommit=True) as conn:
        conn.execute(f"ALTER DATABASE {system.store.url.database} ALLOW_CONNECTIONS true")


@pytest.mark.proves("E-16")
async def test_a_store_whose_connections_are_all_in_use_is_not_ready_and_a_503_elsewhere(
    postgres_url: str, clock: ManualClock, log: list[str]
):
    async with open_system(Settings(database_url=postgres_url), clock=clock) as system:
        assert isinstance(system.store, PostgresStore)
        engine, pool = system.store._engine, system.store._engine.sync_engine.pool
        assert isinstance(pool, QueuePool)
        pool._timeout = 0.01
        transport = httpx.ASGITransport(create_app(system))
        async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
            async with AsyncExitStack() as taken:
                for _ in range(pool.size() + pool._max_overflow):
                    await taken.enter_async_context(engine.connect())
                statuses = [(await client.get(path)).status_code for path in ("/", "/api/sources", "/ready", "/health")]
            assert (await client.get("/ready")).status_code == 200
    assert statuses == [503, 503, 503, 200]
    assert any(line.startswith("ERROR") and "is busy" in line for line in log)
    assert not any("Traceback" in line for line in log)


@pytest.mark.proves("E-16")
async def test_a_source_that_is_gone_is_not_counted_as_paused_by_hand(site: Site):
    found = {name: await site.add_source(None, name) for name in ("well", "gone", "by-hand", "by-error")}
    await set_state(site, found["gone"], is_active=False, paused_by=PausedBy.GONE)
    await set_state(site, found["by-hand"], is_active=False, paused_by=PausedBy.PERSON)
    await set_state(site, found["by-error"], is_active=False, paused_by=PausedBy.ERROR, fetch_error_count=5)
    counted = {
        sample.labels["status"]: sample.value
        for family in text_string_to_metric_families((await site.get("/metrics")).text)
        for sample in family.samples
        if sample.name == "catchment_sources"
    }
    assert counted == {"healthy": 1, "failing": 0, "paused_by_error": 1, "gone": 1, "paused_by_hand": 1}


async def test_metrics_count_requests_by_route_template_and_sources_by_health(site: Site, clock: ManualClock):
    source = await site.add_source(None, "feed", public=True)
    await set_state(site, source, fetch_error_count=1)
    await site.add_items(source, "one", "two")
    for number in (source.id, 4711):
        await site.get(f"/api/sources/{number}")
    await site.get("/no/such/place")
    answer = await site.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    route = ("route", "/api/sources/{source_id}")
    assert found["catchment_http_requests_total", ("method", "GET"), route, ("status", "200")] == 1
    assert found["catchment_http_requests_total", ("method", "GET"), route, ("status", "404")] == 1
    assert found["catchment_http_request_seconds_count", ("method", "GET"), route] == 2
    assert found["catchment_sources", ("status", "failing")] == 1
    assert found["catchment_items",] == found["catchment_items_24h",] == 2
    assert "/4711" not in answer.text, "by itself it may be part of a moment"
    assert "no/such" not in answer.text
    assert (await site.get("/api/metrics")).json()["items"] == 2
