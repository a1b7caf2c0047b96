"""Sources that change under us: they move, they go, they fall silent, and they list more than we came for."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta

import pytest
from aiohttp import web
from loguru import logger
from sqlalchemy import update

from catchment.domain.alert_rules import SourceTrouble
from catchment.domain.caller import OPERATOR
from catchment.domain.source import MOVES_UNTIL_ADOPTED, NextCheck, PausedBy, Why
from catchment.errors import Conflict
from catchment.manage.catalog import Change
from catchment.monitor.status import Mark, View
from catchment.store import alert_queries, tables
from collecting import add, collect, collect_one, get, stored
from feed_site import FeedSite, rss
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

HOUR = timedelta(hours=1)


@pytest.fixture
async def site():
    async with FeedSite() as site:
        yield site


def redirect(site: FeedSite, *, to: str, status: int = 301) -> str:
    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": to})

    return site.script(answer, path="/old")


async def visit(system, source, times: int = 1):
    for _ in range(times):
        await collect_one(system, source.id)
    return await get(system, source)


async def marks_of(system, source):
    return (await system.viewer(View(caller=OPERATOR))).describe(await get(system, source)).marks


async def test_a_new_address_is_adopted_only_after_several_identical_answers(system, site):
    new = site.feed("a", path="/new")
    source = await add(system, redirect(site, to=new))
    before = await visit(system, source, MOVES_UNTIL_ADOPTED - 1)
    assert before.config["url"].endswith("/old")
    after = await visit(system, source)
    assert after.config["url"] == new
    await visit(system, source)
    assert site.hits["/old"] == MOVES_UNTIL_ADOPTED
    assert len(await stored(system)) == 1
    with pytest.raises(Conflict):
        await add(system, new)


async def test_an_address_that_changes_its_mind_or_moves_for_a_while_is_kept(system, site):
    one, other = site.feed("a", path="/one"), site.feed("a", path="/other")
    source = await add(system, redirect(site, to=one))
    for to in (one, other) * MOVES_UNTIL_ADOPTED:
        redirect(site, to=to)
        await visit(system, source)
    redirect(site, to=one, status=302)
    assert (await visit(system, source, MOVES_UNTIL_ADOPTED + 1)).config["url"].endswith("/old")


async def test_a_source_that_moved_to_where_another_is_stays_as_it_is(system, site, log):
    new = site.feed("a", path="/new")
    other = await add(system, new)
    source = await add(system, redirect(site, to=new))
    after = await visit(system, source, MOVES_UNTIL_ADOPTED)
    assert after.config["url"].endswith("/old")
    assert after.last_error is None
    assert (await get(system, other)).config["url"] == new
    assert any("moved to" in line for line in log)


async def test_a_source_that_is_gone_is_retired_with_a_notice_and_never_probed(system, site, clock):
    source = await add(system, site.serve("", status=410))
    retired = await visit(system, source)
    assert (retired.is_active, retired.paused_by) == (False, PausedBy.GONE)
    assert "gone for good" in retired.last_error.message
    [trouble] = await system.store.read(alert_queries.troubled_sources, now=clock.now())
    assert trouble.trouble is SourceTrouble.GONE
    clock.advance(timedelta(days=30))
    await collect(system)
    assert site.hits["/feed"] == 1


@pytest.mark.proves("D-19")
async def test_the_log_names_what_happened_to_a_source_by_event_and_id(system, site):
    told = []
    handler = logger.add(lambda message: told.append(message.record["extra"]))
    source = await add(system, site.serve("", status=410))
    await visit(system, source)
    await system.catalog.change(source.id, Change(is_active=True), OPERATOR)
    logger.remove(handler)
    of_source = [extra["event"] for extra in told if extra.get("source_id") == source.id]
    assert of_source == ["visit.failed", "source.paused", "source.resumed"]


async def test_a_retired_source_comes_back_when_somebody_resumes_it(system, site):
    source = await add(system, site.serve("", status=410))
    await visit(system, source)
    site.feed("a")
    await system.catalog.change(source.id, Change(is_active=True), OPERATOR)
    await collect(system)
    assert (await get(system, source)).paused_by is None
    assert len(await stored(system)) == 1


async def test_missed_items_are_marked_on_the_source_until_windows_meet_again(system, site, clock):
    source = await add(system, site.feed("a", "b", "c"))
    await visit(system, source)
    site.feed("x", "y", "z")
    gapped = await visit(system, source)
    assert gapped.rhythm.gap_at == clock.now()
    assert gapped.next_check.why is Why.GAP
    assert gapped.next_check.at == clock.now() + 2 * HOUR
    assert await marks_of(system, source) == (Mark.GAP,)
    site.feed("z", "w", "v")
    assert (await visit(system, source)).rhythm.gap_at is None


@pytest.mark.proves("A-35")
@pytest.mark.parametrize("status", [200, 304])
async def test_missed_items_are_no_longer_marked_once_nothing_changed_between_two_visits(system, site, clock, status):
    source = await add(system, site.feed("a", "b", "c"))
    await visit(system, source)
    site.feed("x", "y", "z")
    assert (await visit(system, source)).rhythm.gap_at is not None
    if status != 200:
        site.serve("", status=status)
    met = await visit(system, source)
    assert met.rhythm.gap_at is None
    assert await marks_of(system, source) == ()
    assert met.next_check == NextCheck(at=clock.now() + 2 * HOUR, why=Why.GAP), "what let them meet stays for a while"


async def test_a_source_with_filters_is_not_blamed_for_what_they_dropped(system, site):
    filters = {"include": [{"field": "title", "pattern": "keep"}]}
    url = site.serve(rss("keep1", "keep2", "keep3"))
    source = await add(system, url, config={"url": url, "filters": filters})
    await visit(system, source)
    site.serve(rss("keep4", "keep5", "keep6"))
    assert (await visit(system, source)).rhythm.gap_at is None


async def test_a_source_that_fell_silent_is_marked_and_the_mark_goes_when_it_speaks(system, site, clock):
    source = await add(system, site.feed("0"))
    for number in range(8):
        clock.advance(HOUR)
        site.feed(*(str(one) for one in range(number + 2)))
        await visit(system, source)
    clock.advance(timedelta(days=2))
    await visit(system, source)
    assert await marks_of(system, source) == (Mark.QUIET,)
    site.feed("news", *(str(one) for one in range(9)))
    await visit(system, source)
    assert await marks_of(system, source) == ()


@pytest.mark.parametrize("how", ["type", "source"])
async def test_the_interval_follows_the_rhythm_where_the_type_or_the_source_says_so(open_test_system, site, clock, how):
    async with open_test_system(adaptive_types="rss" if how == "type" else "") as system:
        url = site.feed("0")
        config = {"url": url, "adaptive": True} if how == "source" else {"url": url}
        source = await add(system, url, config=config)
        for number in range(5):
            clock.advance(HOUR)
            site.feed(*(str(one) for one in range(number + 2)))
            await visit(system, source)
        adapted = await get(system, source)
    assert adapted.next_check.why is Why.ADAPTED
    assert HOUR / 4 < adapted.next_check.at - clock.now() <= HOUR / 2


@on_both_stores
async def test_a_source_may_keep_its_items_longer_or_shorter_than_others(open_test_system, site, clock):
    async with open_test_system(keep_days=30) as system:
        for name, days in (("short", 5), ("usual", None), ("long", 90)):
            url = site.feed(name, path=f"/{name}")
            await add(system, url, config={"url": url, "keep_days": days})
        await collect(system)
        kept = []
        for days in (1, 6, 26, 60):
            clock.advance(timedelta(days=days))
            await collect(system)
            kept.append({item.title.removeprefix("Title ") for item in await stored(system)})
    assert kept == [{"short", "usual", "long"}, {"usual", "long"}, {"long"}, set()]


async def test_what_came_of_the_old_address_is_not_stored_when_it_was_changed_meanwhile(system, site, clock):
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def old(_: web.Request) -> web.StreamResponse:
        arrived.set()
        await go_on.wait()
        return web.Response(body=rss("old").encode(), headers={"ETag": '"v1"'}, content_type="text/xml")

    source = await add(system, site.script(old, path="/old"))
    async with system.collector.working(grace_seconds=5):
        round_ = await system.collector.tick()
        await arrived.wait()
        await system.catalog.change(source.id, Change(config={"url": site.feed("new", path="/new")}), OPERATOR)
        go_on.set()
        await round_.wait()
        assert "changed" in round_.results[0].skipped
        seen = await get(system, source)
        assert (seen.memory, seen.next_check.at, seen.fetch_count) == ({}, clock.now(), 0)
        await (await system.collector.tick()).wait()
    assert [item.title for item in await stored(system)] == ["Title new"]


@pytest.mark.proves("A-29")
async def test_a_pause_by_hand_also_holds_where_errors_had_paused_it(system, site, clock):
    source = await add(system, site.serve("down", status=503))
    for _ in range(5):
        await collect(system)
        clock.advance(25 * HOUR)
    assert (await get(system, source)).paused_by is PausedBy.ERROR
    paused = await system.catalog.change(source.id, Change(is_active=False), OPERATOR)
    assert (paused.paused_by, paused.next_check.at) == (PausedBy.PERSON, None)
    site.feed("a")
    clock.advance(30 * 24 * HOUR)
    assert await collect(system) == []


@on_both_stores
@pytest.mark.parametrize("status", [410, 503])
async def test_one_that_was_given_up_is_visited_at_once_at_its_new_address(system, site, clock, status):
    source = await add(system, site.serve("gone", path="/old", status=status))
    for _ in range(5):
        await collect(system)
        clock.advance(25 * HOUR)
    assert not (await get(system, source)).is_active
    await system.catalog.change(source.id, Change(config={"url": site.feed("a", path="/new")}), OPERATOR)
    [result] = await collect(system)
    assert (result.inserted, result.error) == (1, None)
    assert (await get(system, source)).is_active


@on_both_stores
async def test_one_that_a_person_paused_stays_paused_at_its_new_address(system, site):
    source = await add(system, site.feed("a", path="/old"))
    await system.catalog.change(source.id, Change(is_active=False), OPERATOR)
    await system.catalog.change(source.id, Change(config={"url": site.feed("a", path="/new")}), OPERATOR)
    assert await collect(system) == []


def _move_outside(conn, source):
    """Who answers at home says nothing of the network."""
    conn.execute(update(tables.sources).where(tables.sources.c.id == source.id).values(host="live.example"))


@pytest.mark.proves("A-11")
async def test_hosts_that_are_dead_are_blamed_also_when_they_are_due_without_others(system, site, clock):
    dead = [await add(system, f"http://host-{n}.invalid/feed") for n in range(2)]
    await collect(system)
    assert [(await get(system, source)).fetch_error_count for source in dead] == [0, 0]
    clock.advance(HOUR)
    await collect(system)
    assert [(await get(system, source)).fetch_error_count for source in dead] == [0, 0], "nobody was reached yet"
    live = await add(system, site.feed("a"))
    await system.store.write(_move_outside, live)
    clock.advance(timedelta(minutes=1))
    await collect_one(system, live.id)
    clock.advance(HOUR)
    await collect(system)
    assert [(await get(system, source)).fetch_error_count for source in dead] == [1, 1]


@pytest.mark.proves("A-11")
async def test_dead_hosts_beside_few_live_ones_come_to_be_paused(system, site, clock):
    dead = [await add(system, f"http://host-{n}.invalid/feed") for n in range(2)]
    live = await add(system, site.feed("a"))
    await system.store.write(_move_outside, live)
    await collect_one(system, live.id)
    for _ in range(3 * 24):
        await collect(system)
        clock.advance(HOUR)
    assert [(await get(system, source)).paused_by for source in dead] == [PausedBy.ERROR] * 2


@pytest.mark.proves("A-11")
async def test_a_secret_that_does_not_open_counts_so_that_somebody_is_told(open_test_system, site, clock, tmp_path):
    async with open_test_system(home=tmp_path / "one") as system:
        url = site.feed("a")
        password = {"username": "u", "password": "p" * 8}
        source = await add(system, url, config={"url": url, "basic_auth": password})
    async with open_test_system(home=tmp_path / "other") as system:
        for _ in range(5):
            await collect(system)
            clock.advance(25 * HOUR)
        seen = await get(system, source)
    assert (seen.paused_by, seen.fetch_error_count) == (PausedBy.ERROR, 5)
    assert "Enter it again" in seen.last_error.message


@on_both_stores
@pytest.mark.proves("A-26")
@pytest.mark.parametrize("dates", ["pubDate", "unknown"])
async def test_new_ids_at_every_visit_double_nothing_and_are_no_gap(system, site, clock, dates):
    def feed(*names: str, of: str) -> str:
        text = rss(*names).replace("<guid isPermaLink='false'>", f"<guid isPermaLink='false'>{of}-")
        return site.serve(text.replace("pubDate", dates))

    source = await add(system, feed("a", "b", of="first"))
    await visit(system, source)
    for number in range(2):
        feed("a", "b", of=str(number))
        clock.advance(HOUR)
        assert (await visit(system, source)).rhythm.gap_at is None
    feed("c", "a", "b", of="last")
    await visit(system, source)
    assert sorted(item.title for item in await stored(system)) == ["Title a", "Title b", "Title c"]


@on_both_stores
@pytest.mark.proves("A-26")
async def test_entries_that_share_an_id_are_all_kept_and_none_twice(system, site, clock):
    def feed(*names: str) -> str:
        return site.serve(re.sub("(<guid[^>]*>)[^<]*", r"\1site", rss(*names)))

    source = await add(system, feed("b", "a"))
    for names in (("b", "a"), ("c", "b", "a"), ("c",), ("d", "c")):
        feed(*names)
        await visit(system, source)
        clock.advance(HOUR)
    assert sorted(item.title for item in await stored(system)) == ["Title a", "Title b", "Title c", "Title d"]


@on_both_stores
@pytest.mark.proves("G-13", "H-01")
async def test_of_what_came_at_one_visit_the_newest_has_the_highest_number(system, site):
    dated = "".join(
        f"<item><guid>{name}</guid><title>{name}</title><pubDate>Sun, 0{day} Mar 2026 08:00:00 GMT</pubDate></item>"
        for name, day in (("middle", 2), ("newest", 3), ("oldest", 1))
    )
    await add(system, site.serve(f"<rss><channel><title>F</title>{dated}</channel></rss>"))
    await collect(system)
    by_number = sorted(await stored(system), key=lambda item: item.id)
    assert [item.title for item in by_number] == ["oldest", "middle", "newest"]
