"""The whole crawl against a simulated Xiaohongshu: searched, claimed, read with lent cookies, written once."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partialmethod
from itertools import count

import pytest
from sqlalchemy import text

from catchment.bootstrap import System
from catchment.domain.caller import OPERATOR
from catchment.domain.cookie import CookieStatus
from catchment.domain.note import NoteRef, Platform, Search
from catchment.domain.run import RunStatus
from catchment.domain.source import Why
from catchment.errors import NotFound
from catchment.manage.catalog import Draft
from catchment.manage.cookies import CookieChanges
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.services.keyword_platforms import TroubleKind
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World
from catchment.sources.platforms import search
from catchment.store.items import ItemQuery, list_items
from collecting import collect
from planted import planted_cookie
from source_factory import START
from stores import on_sqlite_alone

MASTER_KEY = "a test passphrase of more than 32 characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    system: System
    service: XhsService

    async def follow(self, keyword: str = "咖啡", **config: object) -> int:
        draft = Draft(type="xhs_search", name=keyword, config={"keyword": keyword, "get_comments": False, **config})
        return (await self.system.catalog.add(draft, OPERATOR)).id

    async def collect(self, source_id: int):
        async with self.system.collector.working(grace_seconds=5):
            return await self.system.collector.collect_source(source_id)

    async def crawl(self):
        async with self.system.collector.working(grace_seconds=5):
            chosen = await self.system.crawl.keywords()
            return await self.system.crawl.run(chosen, on_result=lambda _: None)

    async def rows(self, sql: str):
        return await self.system.store.read(lambda conn: [dict(row) for row in conn.execute(text(sql)).mappings()])


@pytest.fixture
async def scene(open_test_system, clock) -> AsyncIterator[Scene]:
    async with scene_of(open_test_system, clock) as scene:
        yield scene


@asynccontextmanager
async def scene_of(open_test_system, clock, *, cookies: int = 2) -> AsyncIterator[Scene]:
    world = World(seed=1, sites=1, started_at=START)
    service = XhsService(world)
    places = {"/api/sns": service, "/explore": service, "/website-login": service}
    async with SimulatedWeb(world, hosts=0, now=clock.now, places=places) as web:
        settings = {
            "xhs_base_url": web.url(""),
            "xhs_site_url": web.url(""),
            "cookie_master_key": MASTER_KEY,
            "crawl_spacing_seconds": 0.0,
        }
        async with open_test_system(**settings) as system:
            for number in range(cookies):
                await system.cookies.add(f"account_{number}", Platform.XHS, planted_cookie(f"{number}"))
            yield Scene(system=system, service=service)


@pytest.mark.proves("E-14", "E-11")
async def test_a_keyword_source_is_collected_like_any_other_source(scene):
    result = await scene.collect(await scene.follow())
    assert result.error is None
    assert result.inserted > 0
    items = await scene.system.store.read(list_items, ItemQuery(caller=OPERATOR))
    assert len(items) == result.inserted
    assert all(item.url.startswith("http") and item.title and item.metadata["platform"] == "xhs" for item in items)
    candidates = await scene.rows("SELECT status FROM tbl_candidate")
    assert Counter(one["status"] for one in candidates) == {"collected": len(items)}
    notes = await scene.rows("SELECT note_id, idempotency_key, exec_meta FROM tbl_source")
    assert {f"{one['note_id']}_v1" for one in notes} == {one["idempotency_key"] for one in notes}


@pytest.mark.proves("E-14", "E-02")
async def test_what_was_collected_is_not_read_again_and_what_is_new_is(scene, clock):
    source = await scene.follow()
    first = await scene.collect(source)
    clock.advance(timedelta(hours=2))
    again = await scene.collect(source)
    notes = await scene.rows("SELECT note_id FROM tbl_source")
    assert len(notes) == first.inserted + again.inserted
    assert len({one["note_id"] for one in notes}) == len(notes)
    assert again.fetched == again.inserted, "only what was new was read"


@pytest.mark.proves("E-02")
async def test_a_note_that_two_keywords_find_is_collected_once(scene):
    first = await scene.collect(await scene.follow("咖啡"))
    second = await scene.collect(await scene.follow("咖啡", sort_type="newest"))
    notes = await scene.rows("SELECT note_id FROM tbl_source")
    assert len({one["note_id"] for one in notes}) == len(notes) == first.inserted + second.inserted
    assert second.inserted < first.inserted


@pytest.mark.proves("E-06", "E-14")
async def test_the_trace_of_a_crawl_goes_through_logs_candidates_and_notes(scene, log):
    await scene.collect(await scene.follow())
    (note, *_) = await scene.rows("SELECT note_id, exec_meta FROM tbl_source")
    how = note["exec_meta"] if isinstance(note["exec_meta"], dict) else json.loads(note["exec_meta"])
    trace = how["workflow_trace_id"]
    assert how["request_id"] == f"{trace}-detail-{note['note_id']}"
    assert set(how) == {
        "request_id", "crawled_at", "source_keyword", "workflow_trace_id", "latency_ms", "retry_count",
    }  # fmt: skip
    chain = [line for line in log if trace in line]
    assert any("search" in line for line in chain)
    assert any(note["note_id"] in line for line in chain)
    (found, *_) = await scene.rows("SELECT exec_meta FROM tbl_candidate")
    assert trace in str(found["exec_meta"])


@on_sqlite_alone
@pytest.mark.proves("E-21", "E-08")
async def test_a_dead_cookie_is_switched_and_the_crawl_goes_on(scene):
    scene.service.trouble(TroubleKind.LOGIN_EXPIRED, cookie="040069bplanted-test-secret-0-")
    result = await scene.collect(await scene.follow())
    assert result.error is None
    assert result.inserted > 0
    by_name = {one.name: one for one in await scene.system.cookies.list()}
    assert by_name["account_0"].total_errors > 0
    assert by_name["account_1"].total_errors == 0


@on_sqlite_alone
@pytest.mark.proves("E-21")
async def test_without_cookies_the_source_is_put_off_and_nothing_counts_against_it(open_test_system, clock):
    async with scene_of(open_test_system, clock, cookies=0) as scene:
        source = await scene.follow()
        result = await scene.collect(source)
        assert result.error is None
        assert result.postponed_until >= clock.now() + timedelta(minutes=15)
        put_off = await scene.system.catalog.get(source, OPERATOR)
        assert (put_off.fetch_error_count, put_off.next_check.why) == (0, Why.NO_COOKIE)


@on_sqlite_alone
@pytest.mark.proves("A-17")
async def test_a_round_by_hand_does_not_wait_for_a_cookie_to_come(open_test_system, clock):
    async with scene_of(open_test_system, clock, cookies=0) as scene:
        await scene.follow()
        async with asyncio.timeout(10):
            [put_off] = await collect(scene.system)
        assert put_off.postponed_until is not None


@on_sqlite_alone
async def test_without_the_key_of_its_cookies_a_source_says_which_variable_to_set(open_test_system, clock, log):
    async with scene_of(open_test_system, clock) as scene:
        source = await scene.follow()
    async with open_test_system() as keyless:
        async with keyless.collector.working(grace_seconds=5):
            result = await keyless.collector.collect_source(source)
        assert "set COOKIE_MASTER_KEY" in result.error
        assert (await keyless.catalog.get(source, OPERATOR)).fetch_error_count == 0, "it is no fault of the source"
    assert not [line for line in log if "Traceback" in line]


@pytest.mark.proves("E-21", "E-11")
async def test_a_note_that_is_gone_has_failed_and_the_others_are_collected(scene):
    shown = await scene.system.reader.search(Platform.XHS, Search(keyword="咖啡"))
    scene.service.trouble(TroubleKind.GONE, note=shown.result().cards[0].ref.note_id)
    result = await scene.collect(await scene.follow())
    assert result.error is None
    found = Counter(one["status"] for one in await scene.rows("SELECT status FROM tbl_candidate"))
    assert found["failed"] == 1
    assert found["collected"] == result.inserted > 0
    (failed,) = await scene.rows("SELECT last_error_code, retry_count FROM tbl_candidate WHERE status = 'failed'")
    assert (failed["last_error_code"], failed["retry_count"]) == ("NOT_FOUND", 0)


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """How long a source waited before it tried again, which takes no time here."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(search.KeywordType, "__init__", partialmethod(search.KeywordType.__init__, sleep=sleep))
    return waited


async def follow_one_with_comments(scene) -> tuple[int, NoteRef]:
    """A source that reads comments, and a note of it with several pages of them."""
    shown = await scene.system.reader.search(Platform.XHS, Search(keyword="咖啡"))
    chosen = max(shown.result().cards, key=lambda card: card.counts.comments)
    assert chosen.counts.comments > 20
    return await scene.follow(get_comments=True, comments_limit=200), chosen.ref


def strike(service: XhsService, ref: NoteRef, kind: TroubleKind, *, after: int, times: int | None) -> None:
    """Trouble for this note, once it was looked up so often: for itself, then for each page of its comments."""
    find, looks = service.notes.find, count(1)

    def found(note_id: str, *args):
        if note_id == ref.note_id and next(looks) == after:
            service.trouble(kind, note=note_id, times=times)
        return find(note_id, *args)

    service.notes.find = found


async def kept_of(scene, ref: NoteRef) -> tuple[int, int, dict]:
    """Of a note that was written: the comments it says it has, those that came, and how it was come by."""
    sql = f"SELECT comments, comment_list, exec_meta FROM notes WHERE note_id = '{ref.note_id}'"
    (row,) = await scene.rows(sql)
    read = {name: json.loads(one) if isinstance(one, str) else one for name, one in row.items()}
    return read["comments"], len(read["comment_list"]), read["exec_meta"]


@pytest.mark.proves("E-09", "E-14")
async def test_comments_that_fail_once_are_asked_for_again_and_the_note_is_not(waits, scene):
    source, ref = await follow_one_with_comments(scene)
    strike(scene.service, ref, TroubleKind.SERVER_ERROR, after=1, times=1)
    assert (await scene.collect(source)).error is None
    said, came, how = await kept_of(scene, ref)
    assert came == said > 20
    assert "comments_error" not in how
    assert waits == [5.0]
    asked = [request for request in scene.service.requests if ref.note_id.encode() in request.body]
    assert len(asked) == 1


@on_sqlite_alone
@pytest.mark.proves("E-09", "E-14")
@pytest.mark.parametrize(("after", "came"), [(1, 0), (2, 10)])
async def test_comments_that_never_come_cost_neither_the_note_nor_those_that_came_and_are_told_of(
    waits, scene, after, came
):
    source, ref = await follow_one_with_comments(scene)
    strike(scene.service, ref, TroubleKind.SERVER_ERROR, after=after, times=None)
    assert (await scene.collect(source)).error is None
    _, kept, how = await kept_of(scene, ref)
    assert (kept, how["comments_error"]) == (came, "PLATFORM_ERROR")
    assert waits == [5.0, 15.0]


@on_sqlite_alone
@pytest.mark.proves("E-21", "E-11")
async def test_a_note_for_whose_comments_no_cookie_is_left_waits_with_them(waits, open_test_system, clock):
    async with scene_of(open_test_system, clock, cookies=1) as scene:
        source = await scene.follow(get_comments=True)
        # One search and one note; nothing is left for its comments.
        await scene.system.cookies.change("account_0", CookieChanges(daily_limit=2))
        assert (await scene.collect(source)).postponed_until is not None
        assert await scene.rows("SELECT id FROM tbl_source") == []
        assert {one["retry_count"] for one in await scene.rows("SELECT retry_count FROM tbl_candidate")} == {0}
        await scene.system.cookies.change("account_0", CookieChanges(daily_limit=10_000))
        clock.advance(timedelta(days=1))
        assert (await scene.collect(source)).inserted > 0
        assert not [one for one in await scene.rows("SELECT exec_meta FROM tbl_source") if "_error" in str(one)]
    assert waits == []


@pytest.mark.proves("E-14", "E-22")
async def test_a_crawl_by_hand_is_an_execution_that_says_what_it_did(scene):
    await scene.follow()
    execution = await scene.crawl()
    (count,) = await scene.rows("SELECT count(*) AS notes FROM tbl_source")
    assert execution.status is RunStatus.COMPLETED
    assert execution.items_processed == count["notes"] > 0


@pytest.mark.proves("E-03", "E-14")
async def test_a_crawl_by_hand_is_refused_while_another_execution_runs(scene):
    await scene.follow()
    await scene.system.workflow.acquire("media_crawler")
    assert await scene.crawl() is None
    assert await scene.rows("SELECT id FROM tbl_source") == []


@on_sqlite_alone
async def test_a_crawl_of_nothing_says_how_to_add_a_keyword(scene):
    with pytest.raises(NotFound, match="--type xhs_search"):
        await scene.crawl()


@pytest.mark.proves("E-21", "E-13")
async def test_while_our_address_is_blocked_the_source_is_put_off_and_nothing_is_blamed(scene, clock):
    source = await scene.follow()
    await scene.collect(source)
    clock.advance(timedelta(hours=2))
    scene.service.trouble(TroubleKind.IP_BLOCKED)
    result = await scene.collect(source)
    assert result.error is None
    assert result.postponed_until >= clock.now() + timedelta(minutes=30)
    assert {one["retry_count"] for one in await scene.rows("SELECT retry_count FROM tbl_candidate")} == {0}


@on_sqlite_alone
@pytest.mark.proves("E-21", "E-10")
async def test_a_ban_costs_the_account_and_not_the_notes(open_test_system, clock):
    async with scene_of(open_test_system, clock, cookies=1) as scene:
        shown = await scene.system.reader.search(Platform.XHS, Search(keyword="咖啡"))
        scene.service.trouble(TroubleKind.BANNED, note=shown.result().cards[0].ref.note_id)
        result = await scene.collect(await scene.follow())
        assert result.error is None
        assert result.postponed_until is not None
        assert [one.status for one in await scene.system.cookies.list()] == [CookieStatus.BANNED]
        assert {one["status"] for one in await scene.rows("SELECT status FROM tbl_candidate")} <= {
            "pending",
            "collected",
        }


@pytest.mark.proves("E-06")
async def test_a_crawl_by_hand_is_found_in_logs_and_notes_by_the_trace_that_it_tells(scene, log):
    await scene.follow()
    execution = await scene.crawl()
    notes = await scene.rows("SELECT exec_meta FROM tbl_source")
    assert notes
    assert all(execution.trace_id in str(note["exec_meta"]) for note in notes)
    assert any(execution.trace_id in line for line in log)


@on_sqlite_alone
async def test_a_crawl_that_was_put_off_says_so(open_test_system, clock):
    async with scene_of(open_test_system, clock, cookies=0) as scene:
        await scene.follow()
        execution = await scene.crawl()
        assert execution.status is RunStatus.COMPLETED
        assert "put off until" in execution.error_summary


@on_sqlite_alone
async def test_keywords_of_one_platform_take_turns_so_that_other_sources_find_a_worker(scene):
    first, second = await scene.follow("咖啡"), await scene.follow("茶")
    async with scene.system.collector.working(grace_seconds=5):
        collect = scene.system.collector.collect_source
        results = await asyncio.gather(collect(first), collect(second))
    assert sorted(one.postponed_until is not None for one in results) == [False, True]
