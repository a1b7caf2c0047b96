"""Collecting, end to end: real sockets, real stores, a clock that moves."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from socket import gethostname

import pytest
from aiohttp import web
from sqlalchemy import func, select, text, update

from catchment.domain.caller import OPERATOR
from catchment.domain.item import former_fingerprint
from catchment.domain.run import RunKind
from catchment.domain.source import PausedBy, Why
from catchment.engine.collector import Collector
from catchment.errors import Conflict, NotFound
from catchment.manage.catalog import Change
from catchment.monitor.status import read_collector
from catchment.store import config, runs, sources
from catchment.store.items import item_of
from catchment.store.tables import fetch_log, raw_items
from collecting import add, collect, collect_one, get, stored
from eventually import eventually
from feed_site import Gate, rss
from source_factory import START
from stores import on_every_store, on_sqlite_in_both_ways

pytestmark = on_sqlite_in_both_ways

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


async def ids(system):
    return sorted(item.url.rsplit("/", 1)[1] for item in await stored(system))


def without_ids(query: str) -> str:
    """A feed whose items are known by their links."""
    document = re.sub("<guid.*?</guid>", "", rss("1", "2"))
    return re.sub("(org/[12])</link>", rf"\1{query}</link>", document)


def know_by_the_whole_link(conn):
    """As items were stored while every part of a link told them apart."""
    for row in conn.execute(select(raw_items)).all():
        former = {"dedup_key": row.url, "fingerprint": former_fingerprint(item_of(row))}
        conn.execute(update(raw_items).where(raw_items.c.id == row.id).values(former))


class TestWhatIsCollected:
    @on_every_store
    @pytest.mark.proves("A-01")
    async def test_a_source_that_was_never_fetched_is_collected_at_once(self, system, site):
        await add(system, site.feed("1", "2"))
        [result] = await collect(system)
        assert (result.fetched, result.inserted) == (2, 2)
        assert await ids(system) == ["1", "2"]

    @pytest.mark.proves("A-26")
    async def test_an_item_is_stored_once_however_often_it_is_seen(self, system, site, clock):
        await add(system, site.feed("1", "2"))
        await collect(system)
        site.feed("3", "2", "1", "3")
        clock.advance(5 * HOUR)
        [result] = await collect(system)
        assert (result.inserted, result.updated) == (1, 0)
        assert await ids(system) == ["1", "2", "3"]

    @pytest.mark.proves("A-26")
    async def test_an_edited_item_is_updated_in_place(self, system, site, clock):
        await add(system, site.feed("1", "2", body="Before"))
        await collect(system)
        [first] = [item for item in await stored(system) if item.url.endswith("/1")]
        assert (first.revision, first.updated_at) == (0, None)
        site.feed("1", "2", body="After")
        clock.advance(5 * HOUR)
        [result] = await collect(system)
        assert (result.inserted, result.updated) == (0, 2)
        [edited] = [item for item in await stored(system) if item.url.endswith("/1")]
        assert (edited.id, edited.content, edited.revision) == (first.id, "After of 1", 1)
        assert (edited.fetched_at, edited.updated_at) == (START, clock.now())

    @on_every_store
    @pytest.mark.proves("A-26")
    async def test_links_that_gain_and_change_what_tells_who_led_there_double_and_edit_nothing(
        self, system, site, clock
    ):
        await add(system, site.serve(without_ids("")))
        await collect(system)
        first = await stored(system)
        for query in ("?utm_source=rss&amp;utm_medium=feed", "?fbclid=1", "?fbclid=2", ""):
            site.serve(without_ids(query))
            clock.advance(5 * HOUR)
            [result] = await collect(system)
            assert (result.fetched, result.inserted, result.updated) == (2, 0, 0)
        assert await stored(system) == first

    @on_every_store
    @pytest.mark.proves("A-26")
    async def test_what_was_stored_by_its_whole_link_is_not_doubled(self, system, site, clock):
        await add(system, site.serve(without_ids("?utm_source=rss")))
        await collect(system)
        await system.store.write(know_by_the_whole_link)
        before = await stored(system)
        assert {item.url for item in before} == {f"https://example.org/{n}?utm_source=rss" for n in "12"}
        site.serve(without_ids("?utm_source=rss").replace("A feed", "The same feed"))
        clock.advance(5 * HOUR)
        [result] = await collect(system)
        assert (result.fetched, result.inserted, result.updated) == (2, 0, 0)
        assert await stored(system) == before

    @on_every_store
    @pytest.mark.proves("A-26")
    async def test_two_sources_may_have_the_same_item(self, system, site):
        await add(system, site.feed("1", path="/a"))
        await add(system, site.feed("1", path="/b"))
        await collect(system)
        assert await ids(system) == ["1", "1"]

    @pytest.mark.proves("A-10")
    async def test_the_failure_of_one_source_is_recorded_on_it_and_touches_no_other(self, system, site):
        good = await add(system, site.feed("1", path="/good"))
        bad = await add(system, site.serve("gone", path="/bad", status=500))
        junk = await add(system, site.serve("<html><p>no feed", path="/junk"))
        results = {result.source_id: result for result in await collect(system)}
        assert results[good.id].error is None
        assert "500" in results[bad.id].error
        assert "HTML" in results[junk.id].error
        assert (await get(system, good)).fetch_error_count == 0
        assert (await get(system, bad)).last_error.message == results[bad.id].error
        assert (await get(system, bad)).last_fetched_at is None

    @pytest.mark.proves("A-08", "A-22")
    async def test_a_type_without_fetcher_is_skipped_and_warned_about_once(self, system, log, clock):
        sources_ = [
            await add(system, "", type="twitter_feed", config={"handle": f"@{name}"}) for name in ("one", "two")
        ]
        for _ in range(3):
            results = await collect(system)
            assert [result.skipped for result in results] == [
                "no fetcher for type 'twitter_feed': set TWITTER_API_KEY"
            ] * 2
            clock.advance(HOUR)
        assert (await get(system, sources_[0])).last_error is None
        assert len([line for line in log if line.startswith("WARNING") and "twitter_feed" in line]) == 1

    @on_every_store
    async def test_what_was_skipped_is_collected_at_once_when_its_fetcher_appears(self, system, clock):
        source = await add(system, "", type="twitter_feed", config={"handle": "@a"})
        await collect(system)
        await system.store.write(sources.wake_types, lambda name: name == "twitter_feed", now=clock.now())
        assert (await get(system, source)).next_check.at == clock.now()

    @on_every_store
    async def test_a_fetcher_that_breaks_fails_its_source_and_nothing_else(self, system, site, log):
        broken = await add(system, site.feed("1"))
        await system.store.write(sources.change, broken.id, {"memory": {"etag": 7}}, now=START)
        [result] = await collect(system)
        assert "broke" in result.error
        assert any("its fetcher broke" in line for line in log)

    @pytest.mark.proves("A-21")
    async def test_what_cannot_be_cleaned_keeps_nothing_from_being_collected(self, system, site, log):
        await add(system, site.feed("1"))
        await system.store.write(lambda conn: conn.execute(text("DROP TABLE alerts")))
        assert [result.inserted for result in await collect(system)] == [1]
        assert [line for line in log if "what is old could not be cleaned" in line]


class TestWhenItIsCollected:
    @pytest.mark.proves("A-02", "A-03", "A-16")
    async def test_a_feed_is_due_four_hours_after_the_last_fetch(self, system, site, clock):
        await add(system, site.feed("1"))
        await collect(system)
        clock.advance(3 * HOUR)
        assert await collect(system) == []
        clock.advance(2 * HOUR)
        assert len(await collect(system)) == 1
        assert site.hits["/feed"] == 2

    @pytest.mark.proves("A-04", "A-05")
    async def test_hacker_news_is_due_after_an_hour(self, open_test_system, site, clock):
        site.serve("[]", path="/v0/topstories.json")
        async with open_test_system(hackernews_base_url=site.url("")) as system:
            await add(system, "", type="hackernews", config={"filter": "top"})
            await collect(system)
            clock.advance(50 * MINUTE)
            assert await collect(system) == []
            clock.advance(20 * MINUTE)
            assert len(await collect(system)) == 1

    @on_every_store
    @pytest.mark.proves("A-06")
    async def test_the_environment_sets_the_interval_of_a_type(self, open_test_system, site, clock):
        async with open_test_system(intervals_from_environment={"rss": "60"}) as system:
            await add(system, site.feed("1"))
            await collect(system)
            clock.advance(59 * MINUTE)
            assert await collect(system) == []
            clock.advance(MINUTE)
            assert len(await collect(system)) == 1

    @pytest.mark.proves("A-06")
    async def test_junk_in_the_environment_keeps_the_default_and_warns_once(self, open_test_system, site, clock, log):
        async with open_test_system(intervals_from_environment={"rss": "soon"}) as system:
            source = await add(system, site.feed("1"))
            await collect(system)
            await collect(system)
            assert (await get(system, source)).next_check.at == clock.now() + 4 * HOUR
        assert len([line for line in log if "FETCH_INTERVAL_RSS" in line]) == 1

    @pytest.mark.proves("A-23")
    async def test_a_change_in_the_table_holds_from_the_next_tick(self, system, site, clock):
        await add(system, site.feed("1"))
        await collect(system)
        clock.advance(HOUR)
        assert await collect(system) == []
        await system.store.write(config.set_config, {"fetch_interval_rss": "60"}, now=clock.now())
        assert len(await collect(system)) == 1
        await system.store.write(config.unset_config, "FETCH_INTERVAL_RSS")
        clock.advance(3 * HOUR)
        assert await collect(system) == []

    @pytest.mark.proves("A-23")
    async def test_a_change_on_the_source_holds_from_the_next_tick_and_beats_the_table(self, system, site, clock):
        source = await add(system, site.feed("1"))
        await collect(system)
        await system.store.write(config.set_config, {"FETCH_INTERVAL_RSS": "6000"}, now=clock.now())
        await system.catalog.change(source.id, Change(fetch_interval_minutes=10), OPERATOR)
        clock.advance(10 * MINUTE)
        assert len(await collect(system)) == 1

    @pytest.mark.proves("A-42")
    async def test_a_restart_fetches_nothing_that_is_not_due(self, open_test_system, site, clock):
        async with open_test_system() as system:
            await add(system, site.feed("1"))
            await collect(system)
        clock.advance(HOUR)
        async with open_test_system() as system:
            assert await collect(system) == []
        assert site.hits["/feed"] == 1

    @pytest.mark.proves("A-17", "A-37")
    async def test_one_source_can_be_collected_whatever_its_schedule_says(self, system, site):
        source = await add(system, site.feed("1"))
        assert (await collect_one(system, source.id)).inserted == 1
        site.feed("1", "2")
        assert (await collect_one(system, source.id)).inserted == 1

    @pytest.mark.proves("A-37")
    async def test_a_paused_source_is_not_picked_but_can_be_asked_for_and_stays_paused(self, system, site):
        source = await add(system, site.feed("1"))
        await system.catalog.change(source.id, Change(is_active=False), OPERATOR)
        assert await collect(system) == []
        assert (await collect_one(system, source.id)).inserted == 1
        assert (await get(system, source)).paused_by is PausedBy.PERSON

    @pytest.mark.proves("A-37", "A-17")
    async def test_a_deleted_or_unknown_source_is_a_clear_error(self, system, site):
        source = await add(system, site.feed("1"))
        await system.catalog.remove(source.id, OPERATOR)
        for source_id in (source.id, 10_000):
            with pytest.raises(NotFound, match=f"no source {source_id}"):
                await collect_one(system, source_id)

    async def test_a_source_that_is_being_collected_is_not_collected_twice(self, system, site):
        gate = Gate(rss("1"))
        source = await add(system, site.script(gate))
        async with system.collector.working(grace_seconds=5):
            first = asyncio.create_task(system.collector.collect_source(source.id))
            await gate.arrived.acquire()
            with pytest.raises(Conflict, match="being collected"):
                await system.collector.collect_source(source.id)
            gate.opened.set()
            assert (await first).inserted == 1


class TestFailureAndRecovery:
    @pytest.mark.proves("A-11", "A-29", "A-40")
    async def test_a_source_backs_off_is_paused_probed_and_comes_back(self, system, site, clock):
        source = await add(system, site.serve("down", status=503))
        waits = []
        for _ in range(5):
            await collect(system)
            check = (await get(system, source)).next_check
            waits.append(check.at - clock.now())
            clock.advance(check.at - clock.now())
        assert waits == [5 * MINUTE, 4 * HOUR, 8 * HOUR, 16 * HOUR, 24 * HOUR]
        assert (await get(system, source)).paused_by is PausedBy.ERROR
        await collect(system)  # the probe fails as well
        assert (await get(system, source)).next_check.why is Why.PROBE
        site.feed("1")
        clock.advance(24 * HOUR)
        [result] = await collect(system)
        assert result.inserted == 1
        well = await get(system, source)
        assert (well.is_active, well.fetch_error_count, well.last_error) == (True, 0, None)

    @pytest.mark.proves("A-29")
    async def test_probing_can_be_turned_off(self, open_test_system, site, clock):
        async with open_test_system(probe_hours=0) as system:
            source = await add(system, site.serve("down", status=503))
            for _ in range(5):
                await collect(system)
                clock.advance(25 * HOUR)
            assert (await get(system, source)).next_check.at is None

    @pytest.mark.proves("A-29")
    async def test_once_probing_is_turned_off_what_was_paused_before_is_not_probed_either(
        self, open_test_system, site, clock
    ):
        async with open_test_system() as system:
            source = await add(system, site.serve("down", status=503))
            while (await get(system, source)).next_check.why is not Why.PROBE:
                await collect(system)
                clock.advance(20 * HOUR)
        asked = site.hits["/feed"]
        async with open_test_system(probe_hours=0) as system:
            async with system.collector.working(grace_seconds=5):
                clock.advance(25 * HOUR)
                await (await system.collector.tick()).wait()
            assert (await get(system, source)).next_check.at is None
        assert site.hits["/feed"] == asked

    @pytest.mark.proves("A-29")
    async def test_resuming_by_hand_clears_the_errors_and_makes_it_due(self, system, site, clock):
        source = await add(system, site.serve("down", status=503))
        for _ in range(5):
            await collect(system)
            clock.advance(25 * HOUR)
        resumed = await system.catalog.change(source.id, Change(is_active=True), OPERATOR)
        assert (resumed.is_active, resumed.fetch_error_count, resumed.last_error) == (True, 0, None)
        assert resumed.next_check.at == clock.now()

    @pytest.mark.proves("A-11")
    async def test_nobody_is_blamed_when_no_host_at_all_can_be_reached(self, system, site):
        # These names never resolve: as far as we can tell, the whole net is gone.
        dead = [await add(system, f"http://host-{n}.invalid/feed") for n in range(3)]
        await collect(system)
        for source in dead:
            seen = await get(system, source)
            assert (seen.fetch_error_count, seen.next_check.why) == (0, Why.OFFLINE)
            assert seen.last_error is not None

    @pytest.mark.proves("A-11")
    async def test_a_host_that_cannot_be_reached_is_blamed_when_others_can(self, system, site):
        dead, other = await add(system, "http://host-1.invalid/feed"), await add(system, site.feed("1"))
        await _move_outside(system, other)
        await collect(system)
        assert (await get(system, dead)).fetch_error_count == 1

    @pytest.mark.proves("A-11", "R-41")
    async def test_one_source_that_is_asked_alone_is_not_blamed_while_nobody_outside_was_reached(self, system, site):
        await add(system, site.feed("1"))
        dead = await add(system, "http://host-1.invalid/feed")
        await collect(system)
        for _ in range(6):
            await collect_one(system, dead.id)
            seen = await get(system, dead)
            assert (seen.fetch_error_count, seen.next_check.why, seen.is_active) == (0, Why.OFFLINE, True)
        assert (await system.store.read(read_collector, OPERATOR, now=system.clock.now())).network_away

    @pytest.mark.proves("A-11")
    async def test_one_dead_host_is_blamed_once_others_outside_were_collected(self, system, site, clock):
        other, dead = await add(system, site.feed("1")), await add(system, "http://host-1.invalid/feed")
        await _move_outside(system, other)
        failures = []
        for _ in range(4):
            await collect_one(system, other.id)
            await collect_one(system, dead.id)
            failures.append((await get(system, dead)).fetch_error_count)
            clock.advance(HOUR)
        assert failures == [1, 2, 3, 4]

    @pytest.mark.proves("A-30")
    async def test_retry_after_is_honoured(self, system, site, clock):
        source = await add(system, site.serve("busy", status=429, headers={"Retry-After": "7200"}))
        await collect(system)
        check = (await get(system, source)).next_check
        assert (check.at, check.why) == (clock.now() + 2 * HOUR, Why.RETRY_AFTER)


async def _move_outside(system, source):
    """As if it were not at home, as everybody is in a test."""
    await system.store.write(sources.change, source.id, {"host": "a.example"}, now=system.clock.now())


class TestPoliteness:
    @pytest.mark.proves("A-30")
    async def test_a_304_parses_nothing_and_writes_no_items(self, system, site, clock):
        async def answer(request):
            if request.headers.get("If-None-Match") == '"v1"':
                return web.Response(status=304)
            return web.Response(body=rss("1").encode(), headers={"ETag": '"v1"'}, content_type="text/xml")

        source = await add(system, site.script(answer))
        await collect(system)
        clock.advance(5 * HOUR)
        [result] = await collect(system)
        assert (result.fetched, result.error) == (0, None)
        seen = await get(system, source)
        assert (seen.fetch_count, seen.last_fetched_at) == (2, clock.now())

    @pytest.mark.proves("A-30")
    async def test_a_304_before_anything_was_read_is_a_failure(self, system, site):
        async def answer(_):
            return web.Response(status=304)

        source = await add(system, site.script(answer))
        [result] = await collect(system)
        assert "304" in (result.error or "")
        assert (await get(system, source)).fetch_error_count == 1

    @pytest.mark.proves("A-30")
    async def test_an_unchanged_body_is_not_parsed_again(self, system, site, clock):
        await add(system, site.feed("1"))
        await collect(system)
        clock.advance(5 * HOUR)
        [result] = await collect(system)
        assert (result.fetched, result.error) == (0, None)

    @pytest.mark.proves("A-30")
    async def test_the_server_may_ask_for_more_time(self, system, site, clock):
        source = await add(system, site.feed("1", headers={"Cache-Control": "max-age=36000"}))
        await collect(system)
        check = (await get(system, source)).next_check
        assert (check.at, check.why) == (clock.now() + 10 * HOUR, Why.SERVER_CACHE)

    @pytest.mark.proves("A-09")
    async def test_never_more_than_the_set_number_are_in_flight_and_all_finish(self, open_test_system, site):
        gate = Gate(rss("1"))
        async with open_test_system(concurrency=3) as system:
            for number in range(10):
                await add(system, site.script(gate, path=f"/{number}"))
            async with system.collector.working(grace_seconds=5):
                round_ = asyncio.create_task(system.collector.collect_due())
                for _ in range(3):
                    await gate.arrived.acquire()
                gate.opened.set()
                results = await round_
        assert len(results) == 10
        assert all(result.inserted == 1 for result in results)
        assert site.most_in_flight == 3

    @on_every_store
    @pytest.mark.proves("A-09")
    async def test_a_collector_leaves_some_of_what_is_due_for_others(self, open_test_system, site):
        gate = Gate(rss("1"))
        async with open_test_system(concurrency=5) as one, open_test_system(concurrency=5) as other:
            for number in range(60):
                await add(one, site.script(gate, path=f"/{number}"))
            async with one.collector.working(grace_seconds=5), other.collector.working(grace_seconds=5):
                rounds = []
                for collector in (one.collector, other.collector):
                    rounds.append(asyncio.create_task(collector.collect_due()))
                    for _ in range(5):
                        await gate.arrived.acquire()
                gate.opened.set()
                shares = await asyncio.gather(*rounds)
        assert sum(map(len, shares)) == 60
        assert set(site.hits.values()) == {1}, "each is visited once"
        assert min(map(len, shares)) >= 5

    @on_every_store
    @pytest.mark.proves("A-34")
    async def test_a_one_shot_waits_for_what_was_deferred(self, open_test_system, site):
        # Two a "minute" of the pacer's own clock; the engine's clock stands still, so the deferred are due at once.
        async with open_test_system(pace_allowed=True, host_spacing_seconds=0.02, concurrency=4) as system:
            for number in range(6):
                await add(system, site.feed("1", path=f"/{number}"))
            results = await collect(system)
        assert len(results) == 6
        assert all(result.inserted == 1 for result in results)


class TestVisitsByHand:
    @pytest.mark.proves("A-12")
    async def test_one_that_waits_for_its_turn_is_not_begun_after_the_word_to_stop(self, open_test_system, site):
        gate, stop = Gate(rss("1")), asyncio.Event()
        async with open_test_system(concurrency=1) as system:
            first = await add(system, site.script(gate, path="/first"))
            second = await add(system, site.feed("2", path="/second"))
            async with system.collector.working(grace_seconds=5, stop=stop):
                for source in (first, second):
                    await system.visits.start(source.id, OPERATOR)
                await gate.arrived.acquire()
                stop.set()
                while system.collector.takes_visits:  # noqa: ASYNC110 - it is told by a task of its own
                    await asyncio.sleep(0)
                gate.opened.set()
                await system.visits.wait()
            assert [request.path for request in site.requests] == ["/first"]
            assert (await get(system, second)).fetch_count == 0


class TestLeases:
    @on_every_store
    @pytest.mark.proves("F-08")
    async def test_a_late_finisher_stores_nothing(self, system, site, clock):
        gate = Gate(rss("late"))
        source = await add(system, site.script(gate))
        async with system.collector.working(grace_seconds=5):
            late = asyncio.create_task(system.collector.collect_source(source.id))
            await gate.arrived.acquire()
            clock.advance(2 * MINUTE)
            await system.store.write(runs.expire, now=clock.now())
            gate.opened.set()
            result = await late
        assert result.fenced
        assert await stored(system) == []
        assert (await get(system, source)).fetch_count == 0

    @on_every_store
    @pytest.mark.proves("A-10")
    async def test_what_a_person_changes_during_a_visit_is_kept(self, system, site):
        gate = Gate(rss("1"))
        source = await add(system, site.script(gate))
        async with system.collector.working(grace_seconds=5):
            visit = asyncio.create_task(system.collector.collect_source(source.id))
            await gate.arrived.acquire()
            await system.catalog.change(source.id, Change(is_active=False, name="Mine"), OPERATOR)
            gate.opened.set()
            await visit
        seen = await get(system, source)
        assert (seen.name, seen.paused_by, seen.next_check.at) == ("Mine", PausedBy.PERSON, None)

    async def test_a_source_deleted_during_a_visit_stores_nothing(self, system, site):
        gate = Gate(rss("1"))
        source = await add(system, site.script(gate))
        async with system.collector.working(grace_seconds=5):
            visit = asyncio.create_task(system.collector.collect_source(source.id))
            await gate.arrived.acquire()
            await system.catalog.remove(source.id, OPERATOR)
            gate.opened.set()
            assert (await visit).inserted == 0

        def count(conn):
            return conn.execute(select(func.count()).select_from(raw_items)).scalar_one()

        assert await system.store.read(count) == 0

    @pytest.mark.proves("F-08")
    async def test_the_runs_of_a_process_that_is_gone_are_taken_over_at_the_next_tick(self, system, site, clock):
        source = await add(system, site.feed("1"))
        place = (await _owner(system)).rsplit(":", 2)[0]
        gone = f"{place}:{2**22 + 1}:dead"  # above the largest pid there can be
        await system.store.write(runs.claim_due, [source.id], owner=gone, now=START, until=START + HOUR)
        [result] = await collect(system)
        assert result.inserted == 1

    @pytest.mark.parametrize("place", ["elsewhere", f"{gethostname()}", f"{gethostname()}/12345678-1"])
    async def test_a_lease_of_another_machine_holds_until_it_runs_out_also_under_our_name(
        self, system, site, clock, place
    ):
        source = await add(system, site.feed("1"))
        owner = f"{place}:{2**22 + 1}:x"
        await system.store.write(runs.claim_due, [source.id], owner=owner, now=START, until=START + MINUTE)
        assert await collect(system) == []
        clock.advance(MINUTE)
        assert len(await collect(system)) == 1


async def _owner(system) -> str:
    collector: Collector = system.collector
    return collector._leases.owner


class TestTheLoop:
    @pytest.mark.proves("A-07", "A-36", "A-39")
    async def test_a_source_added_while_it_runs_is_collected_at_the_next_tick(self, open_test_system, site, clock, log):
        stop = asyncio.Event()
        async with open_test_system(tick_seconds=0.05) as system:
            loop = asyncio.create_task(system.collector.serve(stop, tick_seconds=0.05, grace_seconds=5))
            gate = Gate(rss("1"))
            await add(system, site.script(gate))
            await gate.arrived.acquire()
            [run] = await eventually(lambda: system.store.read(runs.list_running, RunKind.COLLECTOR))
            assert run.progress.keys() == {"last_tick_at", "next_tick_at", "queued", "in_flight"}
            gate.opened.set()
            stop.set()
            await loop
            assert await ids(system) == ["1"]
            assert await system.store.read(runs.list_running, RunKind.COLLECTOR) == []
        said = "\n".join(log)
        for words in ("tick 0.05 s", "'rss': 240", "1 source(s) due", "stop received", "stop completed"):
            assert words in said

    @pytest.mark.proves("A-39")
    async def test_an_idle_tick_logs_nothing_and_a_round_says_how_it_went(self, system, site, log):
        await add(system, site.feed("1"))
        await collect(system)
        assert any("round over: 1 due, 1 collected, 0 failed" in line for line in log)
        log.clear()
        await collect(system)
        assert log == []

    @pytest.mark.proves("A-39")
    async def test_ticks_do_not_queue_a_source_twice(self, system, site):
        gate = Gate(rss("1"))
        await add(system, site.script(gate))
        async with system.collector.working(grace_seconds=5):
            first = await system.collector.tick()
            await gate.arrived.acquire()
            second = await system.collector.tick()
            assert (len(first.ids), len(second.ids)) == (1, 0)
            gate.opened.set()
            await first.wait()
        assert site.hits["/feed"] == 1

    @pytest.mark.proves("A-12")
    async def test_work_in_flight_finishes_and_nothing_new_starts_when_told_to_stop(self, open_test_system, site):
        gate = Gate(rss("1"))
        async with open_test_system(concurrency=1) as system:
            await add(system, site.script(gate, path="/first"))
            await add(system, site.script(gate, path="/second"))
            async with system.collector.working(grace_seconds=5):
                await system.collector.tick()
                await gate.arrived.acquire()
                asyncio.get_running_loop().call_soon(gate.opened.set)
            assert site.hits.total() == 1
            assert len(await stored(system)) == 1

    @pytest.mark.proves("A-12")
    async def test_a_visit_whose_asker_is_gone_holds_up_no_stop(self, open_test_system, site):
        gate = Gate(rss("1"))
        async with open_test_system() as system:
            source = await add(system, site.script(gate))
            async with system.collector.working(grace_seconds=30):
                asking = asyncio.create_task(system.collector.collect_source(source.id))
                await gate.arrived.acquire()
                asking.cancel()
                await asyncio.wait({asking})
                leaving = asyncio.get_running_loop().time()
            assert asyncio.get_running_loop().time() - leaving < 10
            gate.opened.set()

    @pytest.mark.proves("A-12")
    async def test_nothing_new_starts_from_the_moment_of_the_stop(self, open_test_system, site):
        gate, stop = Gate(rss("1")), asyncio.Event()
        async with open_test_system(concurrency=1) as system:
            for number in range(3):
                await add(system, site.script(gate, path=f"/{number}"))
            async with system.collector.working(grace_seconds=5, stop=stop):
                round_ = await system.collector.tick()
                await gate.arrived.acquire()
                stop.set()
                gate.opened.set()
                # As long as the block runs, only the stop can hold the others back.
                while not round_.results:  # noqa: ASYNC110 - a round tells nobody of single results
                    await asyncio.sleep(0)
            assert site.hits.total() == 1

    @on_every_store
    @pytest.mark.proves("A-12")
    async def test_work_that_takes_longer_than_the_grace_is_cut_off_and_nothing_half_stored(self, system, site):
        gate = Gate(rss("1"))
        source = await add(system, site.script(gate))

        async def work_and_stop():
            async with system.collector.working(grace_seconds=0.05):
                await system.collector.tick()
                await gate.arrived.acquire()

        with pytest.raises(TimeoutError, match="cut off"):
            await work_and_stop()
        assert await stored(system) == []
        assert (await get(system, source)).fetch_count == 0
        gate.opened.set()
        [result] = await collect(system)  # its lease was given back, so it is free at once
        assert result.inserted == 1


class TestCleaning:
    @pytest.mark.proves("A-21")
    async def test_old_items_go_but_do_not_come_back_as_new(self, system, site, clock, log):
        await add(system, site.feed("1", "2"))
        await collect(system)
        clock.advance(timedelta(days=31))
        site.feed("1", "2", "3", body="Other words")
        [result] = await collect(system)
        assert result.inserted == 1
        assert await ids(system) == ["3"]
        assert any("cleaned 2 item(s)" in line for line in log)

    @pytest.mark.proves("A-21")
    async def test_what_was_cleaned_away_stays_known_and_an_edit_of_it_is_one_edit(self, system, site, clock):
        await add(system, site.feed("1", "2"))
        await collect(system)
        clock.advance(timedelta(days=31))
        await collect(system)  # cleaned once the visit was stored
        assert await ids(system) == []
        changed = []
        for words in ("Other words", "Other words", "Third words"):
            clock.advance(timedelta(days=1))
            site.serve(rss("1", "2", body=words) + f"<!-- {len(changed)} -->")
            [result] = await collect(system)
            assert result.inserted == 0
            changed.append(result.updated)
        assert await ids(system) == []
        assert changed == [2, 0, 2]

    @pytest.mark.proves("A-21")
    async def test_cleaning_happens_at_most_once_an_hour_whoever_collects(self, open_test_system, site, clock):
        async with open_test_system() as system, open_test_system() as another:
            await add(system, site.feed("1"))
            await collect(system)
            clock.advance(timedelta(days=30) - 30 * MINUTE)
            await collect(system)  # the last cleaning of the old items' life
            clock.advance(40 * MINUTE)
            for one in (system, another):
                await collect(one)
            assert await ids(system) == ["1"]
            clock.advance(30 * MINUTE)
            await collect(another)
            assert await ids(system) == []

    async def test_the_log_of_visits_and_finished_runs_go_as_well(self, system, site, clock):
        await add(system, site.feed("1"))
        await collect(system)
        clock.advance(timedelta(days=31))
        await collect(system)

        def lines(conn):
            return conn.execute(select(func.count()).select_from(fetch_log)).scalar_one()

        assert await system.store.read(lines) == 1
