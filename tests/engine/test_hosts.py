"""Manners belong to the host and to all processes: one promise, however many collect, and waiting costs nothing."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import pairwise

import pytest
from aiohttp import web
from sqlalchemy import func, select, update

from catchment.domain.caller import OPERATOR
from catchment.domain.run import RunKind
from catchment.domain.source import Why
from catchment.engine import pool
from catchment.errors import StoreError
from catchment.manage.catalog import Change
from catchment.monitor.status import Language, next_check_reason
from catchment.processes import owner_name
from catchment.store import hosts, runs, sources, tables
from catchment.store.database import migration_engine
from collecting import add, collect, get
from eventually import eventually
from feed_site import rss
from stores import on_both_stores

SECOND, MINUTE, HOUR, DAY = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
PACED = {"pace_allowed": True, "host_spacing_seconds": 0.0, "concurrency": 20}


class ClockTimeline:
    """Has the pace follow the clock of the test."""

    def __init__(self, clock):
        self._clock = clock

    def time(self):
        return self._clock.now().timestamp()

    def call_at(self, when, callback):
        return asyncio.get_running_loop().call_later(max(0.0, when - self.time()), callback)


@pytest.fixture
def open_paced(open_test_system, clock):
    @asynccontextmanager
    async def open_(**settings):
        async with open_test_system(**{**PACED, **settings}) as system:
            system.http.pacer._timeline = lambda: ClockTimeline(clock)
            async with system.collector.working(grace_seconds=5):
                yield system

    return open_


async def tick(system):
    round_ = await system.collector.tick()
    await round_.wait()
    return round_


async def count(system, table, *which):
    counted = select(func.count()).select_from(table).where(*which)
    return await system.store.read(lambda conn: conn.execute(counted).scalar_one())


async def visits(system):
    return await count(system, tables.runs, tables.runs.c.kind == RunKind.SOURCE)


async def host_rows(system):
    return await system.store.read(lambda conn: conn.execute(select(tables.hosts)).all())


@pytest.mark.proves("R-45")
async def test_what_waits_for_its_host_is_put_off_once_and_neither_claimed_nor_logged(open_paced, site, clock, log):
    async with open_paced() as system:
        for number in range(200):
            await add(system, site.feed("1", path=f"/{number}"))
        first = await tick(system)
        assert (len(first.results), first.put_off) == (60, 140)
        assert await visits(system) == await count(system, tables.fetch_log) == 60
        turns = await system.store.read(_turns)
        assert turns == [clock.now() + MINUTE + number * SECOND for number in range(140)]
        for _ in range(30):
            clock.advance(10 * SECOND)
            assert (await tick(system)).put_off == 0
        assert sorted(site.hits.values()) == [1] * 200
        assert await visits(system) == await count(system, tables.fetch_log) == 200
    assert sum("wait for their hosts" in line for line in log) == 1
    assert not [line for line in log if "is put off" in line]


def _turns(conn):
    later = tables.sources.c.next_check_why == Why.HOST_BUDGET
    return sorted(conn.execute(select(tables.sources.c.next_check_at).where(later)).scalars())


@pytest.mark.proves("R-44")
async def test_two_collectors_are_together_as_polite_as_one(open_paced, site, clock):
    async with open_paced() as one, open_paced() as other:
        for number in range(100):
            await add(one, site.feed("1", path=f"/{number}"))
        for _ in range(3):
            await asyncio.gather(tick(one), tick(other))
        assert sum(site.hits.values()) == 60
        assert site.most_in_flight <= one.settings.host_concurrency
        for _ in range(12):
            clock.advance(5 * SECOND)
            before = sum(site.hits.values())
            await asyncio.gather(tick(one), tick(other))
            assert before == 60 or sum(site.hits.values()) - before <= 6
        clock.advance(MINUTE)
        await asyncio.gather(tick(one), tick(other))
        assert sorted(site.hits.values()) == [1] * 100, "and they are no slower"


@pytest.mark.proves("R-44")
async def test_whoever_looks_after_a_host_next_knows_what_was_asked_of_it(open_paced, site, clock):
    async with open_paced(host_budget_per_minute=10) as one:
        for number in range(8):
            await add(one, site.feed("1", path=f"/{number}"))
        await tick(one)
    assert sum(site.hits.values()) == 8
    clock.advance(10 * SECOND)
    async with open_paced(host_budget_per_minute=10) as other:
        for number in range(8, 16):
            await add(other, site.feed("1", path=f"/{number}"))
        for _ in range(4):
            await tick(other)
        assert sum(site.hits.values()) == 10
        for _ in range(2):
            clock.advance(MINUTE)
            await tick(other)
        assert sum(site.hits.values()) == 16


@pytest.mark.proves("R-44")
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("paced", [True, False])
async def test_what_a_host_asks_for_holds_for_all_its_sources(open_paced, site, clock, status, paced):
    async with open_paced(pace_allowed=paced) as system:
        busy = await add(system, site.serve("", path="/busy", status=status, headers={"Retry-After": "600"}))
        await add(system, site.feed("1", path="/twin"))
        await system.store.write(_due_in, [busy.id + 1], clock.now() + MINUTE)
        await tick(system)
        asked_at = clock.now()
        twin = await system.store.read(sources.get, busy.id + 1)
        assert twin.next_check.at == asked_at + 10 * MINUTE
        assert twin.next_check.why is Why.HOST_WAIT
        assert twin.fetch_error_count == 0
        late = await add(system, site.feed("1", path="/late"))
        for _ in range(5):
            clock.advance(MINUTE)
            await tick(system)
        assert (await get(system, late)).next_check.why is Why.HOST_WAIT
        assert dict(site.hits) == {"/busy": 1}
        assert await visits(system) == 1
        said = next_check_reason(twin, HOUR)
        assert said == f"waits for 127.0.0.1 until {asked_at + 10 * MINUTE:%Y-%m-%d %H:%M} UTC, as the host asked"
        assert "127.0.0.1" in next_check_reason(twin, HOUR, Language.CHINESE)
        clock.advance(6 * MINUTE)
        await tick(system)
        assert site.hits["/twin"] == site.hits["/late"] == 1


@pytest.mark.proves("R-44")
async def test_another_process_heeds_what_a_host_asked_of_the_first(open_paced, site, clock):
    async with open_paced() as one, open_paced() as other:
        await add(one, site.serve("", path="/busy", status=429, headers={"Retry-After": "600"}))
        await tick(one)
        await add(other, site.feed("1", path="/twin"))
        await add(other, site.serve("", path="/busy2", status=429, headers={"Retry-After": "600"}))
        await tick(other)
        await add(one, site.feed("1", path="/third"))
        await tick(one)
        assert site.hits["/third"] == 0


def _due_in(conn, ids, at):
    chosen = tables.sources.update().where(tables.sources.c.id.in_(ids))
    conn.execute(chosen.values(next_check_at=at, next_check_why=Why.INTERVAL))


@pytest.mark.proves("R-45")
async def test_a_host_with_a_single_source_needs_no_row(open_paced, site):
    async with open_paced() as system:
        await add(system, site.feed("1"))
        await tick(system)
        assert await host_rows(system) == []
        await add(system, site.feed("1", path="/other"))
        assert [row.host for row in await host_rows(system)] == ["127.0.0.1"]


@pytest.mark.proves("R-44")
async def test_hosts_are_given_back_when_work_ends(open_paced, site):
    async with open_paced() as system:
        for number in range(2):
            await add(system, site.feed("1", path=f"/{number}"))
        await tick(system)
    async with open_paced() as system:
        [row] = await host_rows(system)
        assert row.owner is None
        assert len(row.starts) == 2


@pytest.mark.proves("R-44")
async def test_only_one_of_many_takes_a_host(open_paced, store_url, clock):
    async with open_paced() as system:
        await add(system, "http://127.0.0.1:1/a")
        await add(system, "http://127.0.0.1:1/b")
        now = clock.now()
        takers = [
            system.store.write(hosts.take, ["127.0.0.1"], owner=f"p{number}", now=now, until=now + MINUTE)
            for number in range(10)
        ]
        assert sum(map(len, await asyncio.gather(*takers))) == 1
        later = now + 2 * MINUTE
        assert await system.store.write(hosts.take, ["127.0.0.1"], owner="q", now=later, until=later + MINUTE)


@pytest.mark.proves("R-45")
async def test_a_one_shot_waits_for_the_turns_of_a_host(open_test_system, site, clock):
    slept = []

    async def move_on(moment):
        slept.append(moment)
        clock.advance(max(moment - clock.now(), timedelta()))

    async with open_test_system(**PACED, host_budget_per_minute=5) as system:
        system.http.pacer._timeline = lambda: ClockTimeline(clock)
        system.collector._sleep_until = move_on
        for number in range(12):
            await add(system, site.feed("1", path=f"/{number}"))
        results = await collect(system)
    assert len(results) == 12
    assert sorted(site.hits.values()) == [1] * 12


async def test_a_source_is_counted_at_the_host_of_its_new_address(open_paced, site):
    async with open_paced() as system:
        source = await add(system, site.feed("1"))
        await system.catalog.change(source.id, Change(config={"url": "https://example.org/feed"}), OPERATOR)
        assert (await get(system, source)).host == "example.org"


class JumpingTimeline(ClockTimeline):
    """Whoever waits has waited at once: the clock is moved instead."""

    def call_at(self, when, callback):
        def jump():
            self._clock.advance(max(timedelta(seconds=when - self.time()), timedelta()) + timedelta(milliseconds=1))
            callback()

        return asyncio.get_running_loop().call_soon(jump)


def serve_site(site, clock, *, robots, status=200):
    """A site with three pages; says when each path was asked for."""
    asked = []
    pages = [site.url(f"/p{number}") for number in range(3)]
    listed = "".join(f"<url><loc>{page}</loc></url>" for page in pages)
    sitemap = f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{listed}</urlset>"
    texts = {"/robots.txt": robots, "/sitemap.xml": sitemap}

    async def answer(request):
        asked.append((request.path, clock.now()))
        is_robots = request.path == "/robots.txt"
        text = texts.get(request.path, "<html><title>A page</title><p>Words</p></html>")
        kind = "text/plain" if is_robots else "text/xml" if "sitemap" in request.path else "text/html"
        return web.Response(text=text, content_type=kind, status=status if is_robots else 200)

    for path in ("/robots.txt", "/sitemap.xml", "/p0", "/p1", "/p2"):
        site.script(answer, path=path)
    return asked


@pytest.mark.proves("R-44")
@pytest.mark.parametrize(("delay", "seconds"), [("3", 3), ("0.5", 0.5), ("100000", 30)])
async def test_a_crawl_delay_is_obeyed_up_to_half_a_minute(open_test_system, site, clock, delay, seconds):
    asked = serve_site(site, clock, robots=f"User-agent: *\nCrawl-delay: {delay}\n")
    async with open_test_system(**PACED) as system:
        system.http.pacer._timeline = lambda: JumpingTimeline(clock)
        await add(system, site.url("/"), type="sitemap", config={"url": site.url("/")})
        [result] = await collect(system)
        starts = _starts(system)
    assert result.inserted == 3
    assert len(asked) == len(starts) == 5
    assert all(later - earlier >= seconds for earlier, later in pairwise(starts))


def _starts(system):
    """When the requests to the site started."""
    return list(system.http.pacer._queues["127.0.0.1"].pace._starts)


@pytest.mark.proves("R-44")
async def test_the_other_sources_of_a_host_keep_its_crawl_delay_too(open_paced, site, clock):
    serve_site(site, clock, robots="User-agent: *\nCrawl-delay: 20\n")
    async with open_paced() as system:
        system.http.pacer._timeline = lambda: JumpingTimeline(clock)
        await add(system, site.url("/"), type="sitemap", config={"url": site.url("/")})
        await add(system, site.feed("1"))
        await tick(system)
    [row] = await _rows_of(open_paced)
    assert row.crawl_delay == 20
    clock.advance(HOUR)
    async with open_paced() as other:
        other.http.pacer._timeline = lambda: JumpingTimeline(clock)
        await other.store.write(_due_in, [1, 2], clock.now() + 10 * HOUR)
        for number in range(3):
            await add(other, site.feed("1", path=f"/f{number}"))
        await tick(other)
        *_, first, second, third = _starts(other)
        assert min(second - first, third - second) >= 20


@pytest.mark.proves("R-44")
@on_both_stores
async def test_what_is_added_to_a_host_while_its_only_source_is_visited_keeps_its_crawl_delay(open_paced, site, clock):
    serve_site(site, clock, robots="User-agent: *\nCrawl-delay: 20\n")
    async with open_paced(lease_seconds=3600.0) as one, open_paced(lease_seconds=3600.0) as other:
        for system in (one, other):
            system.http.pacer._timeline = lambda: JumpingTimeline(clock)

        async def add_meanwhile(_request):
            for number in range(3):
                await add(one, site.feed("1", path=f"/f{number}"))
            await tick(other)
            assert not any(site.hits[f"/f{number}"] for number in range(3)), "whoever visits it looks after its host"
            return web.Response(text="<html><title>A page</title><p>Words</p></html>", content_type="text/html")

        site.script(add_meanwhile, path="/p1")
        await add(one, site.url("/"), type="sitemap", config={"url": site.url("/")})
        await tick(one)
        last = _starts(one)[-1]
        for _ in range(4):
            await tick(one)
            clock.advance(15 * SECOND)
        starts = [last, *(start for start in _starts(one) if start > last)]
        assert len(starts) == 4
        assert all(later - earlier >= 20 for earlier, later in pairwise(starts))


@pytest.mark.proves("R-44")
@on_both_stores
async def test_whoever_comes_after_the_visit_of_an_only_source_knows_its_crawl_delay(open_paced, site, clock):
    serve_site(site, clock, robots="User-agent: *\nCrawl-delay: 20\n")
    async with open_paced(lease_seconds=3600.0) as one:
        one.http.pacer._timeline = lambda: JumpingTimeline(clock)

        async def add_meanwhile(_request):
            await add(one, site.feed("1", path="/f"))
            return web.Response(text="<html><title>A page</title><p>Words</p></html>", content_type="text/html")

        site.script(add_meanwhile, path="/p1")
        await add(one, site.url("/"), type="sitemap", config={"url": site.url("/")})
        await tick(one)
    [row] = await _rows_of(open_paced)
    assert (row.owner, row.crawl_delay) == (None, 20)


@pytest.mark.proves("R-44")
async def test_a_visit_that_does_not_ask_for_robots_txt_takes_no_crawl_delay_back(open_paced, site, clock):
    serve_site(site, clock, robots="User-agent: *\nCrawl-delay: 20\n")
    async with open_paced(lease_seconds=3600.0) as one, open_paced(lease_seconds=3600.0) as other:
        for system in (one, other):
            system.http.pacer._timeline = lambda: JumpingTimeline(clock)
        await add(one, site.url("/"), type="sitemap", config={"url": site.url("/")})
        await tick(one)
        for number in range(2):
            await add(other, site.feed("1", path=f"/f{number}"))
        await tick(other)
        await other.collector._hosts.give_back_all()
        await add(one, site.feed("1", path="/f2"))
        await tick(one)
        assert one.http.pacer.usage("127.0.0.1")[1] == 20
        site.serve("", path="/robots.txt")
        await one.store.write(_due_in, [1], clock.now())
        await tick(one)
        assert one.http.pacer.usage("127.0.0.1")[1] == 0


async def _rows_of(open_paced):
    async with open_paced() as system:
        return await host_rows(system)


@pytest.mark.proves("R-44")
async def test_whoever_need_not_heed_robots_need_not_wait(open_test_system, site, clock):
    serve_site(site, clock, robots="User-agent: *\nCrawl-delay: 20\n")
    async with open_test_system(**PACED) as system:
        await add(system, site.url("/"), type="sitemap", config={"url": site.url("/"), "respect_robots": False})
        [result] = await collect(system)
        assert result.inserted == 3
        assert system.http.pacer.usage("127.0.0.1")[1] is None


@pytest.mark.proves("R-49")
async def test_a_robots_txt_that_fails_is_asked_for_once_a_run(open_paced, site, clock):
    asked = serve_site(site, clock, robots="", status=500)
    async with open_paced() as system:
        await add(system, site.url("/"), type="sitemap", config={"url": site.url("/sitemap.xml")})
        await tick(system)
    assert [path for path, _ in asked].count("/robots.txt") == 1


@pytest.mark.proves("R-45")
async def test_a_one_shot_also_collects_what_has_its_turn_while_a_round_is_under_way(open_test_system, site, clock):
    async def answer_late(_request):
        clock.advance(10 * MINUTE)
        return web.Response(text=rss("1"), content_type="application/rss+xml")

    async with open_test_system(**PACED, host_budget_per_minute=5) as system:
        system.http.pacer._timeline = lambda: ClockTimeline(clock)
        for number in range(12):
            site.script(answer_late, path=f"/{number}")
            await add(system, site.url(f"/{number}"))
        results = await collect(system)
    assert len(results) == 12


@pytest.mark.proves("R-44")
async def test_the_hosts_of_a_killed_process_are_free_with_its_runs(open_test_system, site, clock):
    async with open_test_system() as system:
        found = [await add(system, site.feed("1", path=f"/{number}")) for number in range(2)]
        place = owner_name().rsplit(":", 2)[0]
        killed = f"{place}:{_pid_of_nobody()}:x"
        now, until = clock.now(), clock.now() + HOUR
        await system.store.write(runs.claim_now, found[0].id, owner=killed, now=now, until=until)
        await system.store.write(hosts.take, ["127.0.0.1"], owner=killed, now=now, until=until)
        await collect(system)
    assert site.hits["/0"] == site.hits["/1"] == 1


def _pid_of_nobody():
    """Of a process that has ended."""
    with subprocess.Popen(["/bin/true"]) as ended:
        ended.wait()
    return ended.pid


async def test_runs_are_released_also_when_hosts_cannot_be_given_back(open_test_system, monkeypatch):
    async with open_test_system() as system:

        async def fail():
            raise StoreError("full")

        monkeypatch.setattr(system.collector._hosts, "give_back_all", fail)
        with pytest.raises(StoreError):
            await collect(system)
        assert await count(system, tables.runs, tables.runs.c.status == "running") == 0


async def test_a_store_that_refuses_claims_holds_up_neither_hosts_nor_a_stop(open_test_system, site, monkeypatch):
    failed = asyncio.Event()

    def refuse(*_args, **_values):
        failed.set()
        raise StoreError("full")

    monkeypatch.setattr(pool, "_claim", refuse)
    monkeypatch.setattr(pool, "RETRY_SECONDS", 0.05)
    async with open_test_system() as system, system.collector.working(grace_seconds=5):
        await add(system, site.feed("1"))
        await system.collector.tick()
        async with asyncio.timeout(10):
            await failed.wait()
            async with system.collector._hosts.lock:
                system.collector._pool.halt()
            await eventually(lambda: _is_empty(system.collector._pool))


async def _is_empty(pool):
    return not pool.queued


@pytest.mark.proves("R-44")
async def test_hosts_that_nobody_shares_any_more_are_forgotten_once_nothing_holds_them(open_paced, store_url, clock):
    async with open_paced(allow_networks="127.0.0.0/8") as system:
        added = {}
        for host in ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"):
            added[host] = [(await add(system, f"http://{host}:1/{path}")).id for path in "ab"]
        until = clock.now() + 2 * DAY
        await system.store.write(hosts.take, ["127.0.0.2"], owner="p", now=clock.now(), until=until)
        await system.store.write(hosts.hold, "127.0.0.3", until=until)
        for host in ("127.0.0.2", "127.0.0.3", "127.0.0.4"):
            await system.store.write(sources.delete, added[host][0], now=clock.now())

        async def left():
            await system.cleaner.tidy_if_due()
            return {row.host for row in await host_rows(system)}

        assert await left() == {"127.0.0.1", "127.0.0.2", "127.0.0.3"}, "shared, looked after, asked to be left alone"
        clock.advance(2 * DAY + HOUR)
        assert await left() == {"127.0.0.1", "127.0.0.2", "127.0.0.3"}, "until lately"
        clock.advance(DAY)
        assert await left() == {"127.0.0.1"}
        await add(system, "http://127.0.0.4:1/c")
        assert {row.host for row in await host_rows(system)} == {"127.0.0.1", "127.0.0.4"}, "shared again"


@pytest.mark.proves("R-44")
@pytest.mark.stores("postgres")
async def test_a_host_that_somebody_comes_to_share_at_this_moment_is_not_forgotten(open_paced, store_url, clock):
    async with open_paced() as system:
        first, _ = [(await add(system, f"http://127.0.0.1:1/{path}")).id for path in "ab"]
        await system.store.write(sources.delete, first, now=clock.now())
        comes, may_go_on = threading.Event(), threading.Event()
        engine = migration_engine(system.store.url)

        def share() -> None:
            with engine.begin() as conn:
                conn.execute(update(tables.sources).where(tables.sources.c.id == first).values(is_deleted=False))
                hosts.record_shared(conn, [first])
                comes.set()
                may_go_on.wait()

        sharing = asyncio.create_task(asyncio.to_thread(share))
        await asyncio.to_thread(comes.wait)
        gone = await system.store.write(hosts.forget_unshared, before=clock.now(), limit=10)
        may_go_on.set()
        await sharing
        assert gone == 0
        assert await system.store.write(hosts.forget_unshared, before=clock.now(), limit=10) == 0
        engine.dispose()
