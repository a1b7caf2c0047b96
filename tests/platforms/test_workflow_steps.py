"""The workflow step by step: locks, claims, writes, giving up, release and recovery."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from sqlalchemy import text, update

from catchment.domain.caller import OPERATOR
from catchment.domain.candidate import NOTE_RETRIES, CandidateState
from catchment.domain.crawl_errors import HANDLING, Code, CrawlError
from catchment.domain.execution import Result
from catchment.domain.note import Action
from catchment.domain.run import RunStatus
from catchment.errors import Conflict, LeaseLost, NotFound
from catchment.sources.platforms.search import item_of
from catchment.store import incidents
from catchment.store.items import ItemQuery, list_items
from catchment.store.tables import sources
from crawl_notes import LOCK_TIMEOUT, add_keyword, crawled, listed, note, ref
from source_factory import START
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone


async def rows(store, sql):
    return await store.read(lambda conn: [dict(row) for row in conn.execute(text(sql)).mappings()])


async def candidates(store):
    found = await rows(store, "SELECT * FROM tbl_candidate ORDER BY id")
    for one in found:
        # The document's invariants, whatever happened.
        assert one["processing_lock"] is None or one["status"] == "processing"
        assert one["locked_at"] is None or one["processing_lock"] is not None
    return found


async def statuses(store):
    return [one["status"] for one in await candidates(store)]


async def begin(workflow, source=None, *numbers, name="media_crawler"):
    begun = await workflow.acquire(name)
    if numbers:
        await workflow.report(begun.execution_id, source.id, listed(*numbers))
    return begun.execution_id


async def write(workflow, execution, number):
    return await workflow.write(execution, crawled(number), item_of(note(number)))


class TestTheExecutionLock:
    @on_both_stores
    @pytest.mark.proves("E-22")
    async def test_whoever_gets_it_is_told_an_execution_id_and_a_trace(self, workflow, store):
        begun = await workflow.acquire("media_crawler")
        assert re.fullmatch(r"exec-\d{13}-\w+", begun.execution_id)
        assert re.fullmatch(r"wf-\d+-\w{8}", begun.trace_id)
        (row,) = await rows(store, "SELECT * FROM tbl_crawl_execution")
        assert (row["workflow_name"], row["execution_id"], row["status"]) == (
            "media_crawler",
            begun.execution_id,
            "running",
        )

    @pytest.mark.proves("E-03", "E-22")
    async def test_a_second_execution_is_refused_while_the_first_runs_and_another_workflow_is_not(self, workflow):
        first = await begin(workflow)
        assert await workflow.acquire("media_crawler") is None
        assert await workflow.acquire("cookie_check") is not None
        await workflow.release(first, Result())
        assert await workflow.acquire("media_crawler") is not None

    @pytest.mark.proves("E-05")
    async def test_heartbeats_keep_it_for_longer_than_its_timeout(self, workflow, clock):
        execution = await begin(workflow)
        for _ in range(4):
            clock.advance(LOCK_TIMEOUT - timedelta(minutes=1))
            await workflow.heartbeat(execution)
        assert (await workflow.recover()).executions == 0
        assert await workflow.acquire("media_crawler") is None

    @pytest.mark.proves("E-05")
    async def test_without_a_heartbeat_for_thirty_minutes_it_times_out_and_says_so(self, workflow, clock, store):
        await begin(workflow)
        clock.advance(LOCK_TIMEOUT - timedelta(seconds=1))
        assert (await workflow.recover()).executions == 0
        clock.advance(timedelta(seconds=1))
        assert (await workflow.recover()).executions == 1
        (row,) = await rows(store, "SELECT * FROM tbl_crawl_execution")
        assert (row["status"], row["error_summary"]) == ("timeout", "执行超时自动回收")
        assert row["completed_at"] is not None

    @pytest.mark.proves("E-05")
    async def test_whoever_comes_after_the_timeout_gets_it_without_waiting_for_the_recovery(self, workflow, clock):
        first = await begin(workflow)
        clock.advance(LOCK_TIMEOUT)
        second = await begin(workflow)
        assert second != first
        with pytest.raises(LeaseLost):
            await workflow.heartbeat(first)

    @pytest.mark.proves("E-05")
    async def test_only_its_own_execution_releases_it(self, workflow):
        execution = await begin(workflow)
        with pytest.raises(LeaseLost):
            await workflow.release("exec-1-somebody", Result())
        ended = await workflow.release(execution, Result(status=RunStatus.FAILED, error_summary="no cookies"))
        assert (ended.status, ended.error_summary) == (RunStatus.FAILED, "no cookies")
        with pytest.raises(LeaseLost):
            await workflow.release(execution, Result())


class TestRecords:
    @pytest.mark.proves("E-11")
    async def test_what_a_search_found_is_pending_once_whoever_reports_it_and_how_often(
        self, workflow, source, store, clock
    ):
        execution = await begin(workflow)
        assert await workflow.report(execution, source.id, listed(1, 2)) == (2, 0)
        assert await workflow.report(execution, source.id, listed(2, 3)) == (1, 1)
        other = await add_keyword(store, clock, "tea")
        assert await workflow.report(execution, other.id, listed(3, 4)) == (1, 1)
        found = await candidates(store)
        assert [one["status"] for one in found] == ["pending"] * 4
        assert found[0]["source_keyword"] == "coffee"
        assert (found[0]["title"], found[0]["liked_count"]) == ("Note 1", 1)

    async def test_what_is_found_for_a_source_that_is_not_there_is_refused(self, workflow):
        execution = await begin(workflow)
        with pytest.raises(NotFound):
            await workflow.report(execution, 99, listed(1))

    @on_both_stores
    @pytest.mark.proves("E-04", "E-22")
    async def test_a_claim_locks_ten_at_a_time_those_first_that_wait_longest(self, workflow, source, store, clock):
        execution = await begin(workflow, source, *range(1, 13))
        claimed = await workflow.claim(execution, limit=10)
        assert [one.listed.native_id for one in claimed] == [f"{number:024x}" for number in range(1, 11)]
        found = await candidates(store)
        assert [one["status"] for one in found] == ["processing"] * 10 + ["pending"] * 2
        assert found[0]["processing_lock"] == execution
        assert found[0]["locked_at"] is not None
        assert len(await workflow.claim(execution, limit=10)) == 2
        assert await workflow.claim(execution, limit=10) == []

    @on_both_stores
    @pytest.mark.proves("E-04")
    async def test_two_executions_never_hold_one_record(self, workflow, source):
        first = await begin(workflow, source, *range(1, 16))
        second = await begin(workflow, name="another")
        mine = await workflow.claim(first, limit=10)
        yours = await workflow.claim(second, limit=10)
        assert len(mine) == 10
        assert len(yours) == 5
        assert {one.id for one in mine}.isdisjoint(one.id for one in yours)

    async def test_a_claim_may_ask_for_one_platform(self, workflow, source):
        execution = await begin(workflow, source, 1)
        assert await workflow.claim(execution, limit=10, platform="wb") == []
        assert len(await workflow.claim(execution, limit=10, platform="xhs")) == 1

    @pytest.mark.proves("E-11", "E-21")
    async def test_a_record_that_fails_is_pending_again_until_it_failed_too_often(self, workflow, source, store):
        error = CrawlError(Code.PLATFORM_ERROR, "It answered 500.")
        for tried in range(NOTE_RETRIES):
            execution = await begin(workflow, source, 1)
            await workflow.claim(execution, limit=10)
            assert await workflow.give_up(execution, ref(1).note_id, error) == (CandidateState.PENDING, tried + 1)
            assert await workflow.claim(execution, limit=10) == [], "not by the execution that just failed at it"
            await workflow.release(execution, Result())
        execution = await begin(workflow)
        await workflow.claim(execution, limit=10)
        assert await workflow.give_up(execution, ref(1).note_id, error) == (CandidateState.FAILED, NOTE_RETRIES)
        (row,) = await candidates(store)
        assert (row["status"], row["retry_count"]) == ("failed", 3)
        assert (row["last_error_code"], row["last_error_message"]) == ("PLATFORM_ERROR", "It answered 500.")

    @on_both_stores
    @pytest.mark.proves("E-11", "E-21")
    @pytest.mark.parametrize("code", [Code.NOT_FOUND, Code.INVALID_INPUT])
    async def test_a_record_that_no_other_try_would_help_has_failed_at_once(self, workflow, source, code):
        execution = await begin(workflow, source, 1)
        await workflow.claim(execution, limit=10)
        given_up = await workflow.give_up(execution, ref(1).note_id, CrawlError(code, "No."))
        assert given_up.state is CandidateState.FAILED

    @pytest.mark.proves("E-11", "E-21")
    @pytest.mark.parametrize("code", [code for code in Code if HANDLING[code].halts])
    async def test_a_record_that_is_not_to_blame_is_pending_again(self, workflow, source, code):
        execution = await begin(workflow, source, 1)
        await workflow.claim(execution, limit=10)
        given_up = await workflow.give_up(execution, ref(1).note_id, CrawlError(code, "No."))
        assert given_up == (CandidateState.PENDING, 0), "no try is counted"

    @on_both_stores
    @pytest.mark.proves("E-11")
    async def test_another_execution_may_try_at_once_what_the_first_failed_at(self, workflow, source):
        first = await begin(workflow, source, 1)
        (record,) = await workflow.claim(first, limit=10)
        await workflow.give_up(first, ref(1).note_id, CrawlError(Code.TIMEOUT_ERROR, "Too long."))
        second = await begin(workflow, name="another")
        assert [one.id for one in await workflow.claim(second, limit=10)] == [record.id]

    @on_both_stores
    async def test_a_record_that_is_not_locked_cannot_be_given_up(self, workflow, source):
        execution = await begin(workflow, source, 1)
        with pytest.raises(Conflict):
            await workflow.give_up(execution, ref(1).note_id, CrawlError(Code.TIMEOUT_ERROR, "Too long."))


class TestWriting:
    @pytest.mark.proves("E-02", "E-11")
    async def test_a_note_is_written_once_and_the_second_write_names_the_first(self, workflow, source, store):
        execution = await begin(workflow, source, 1)
        await workflow.claim(execution, limit=10)
        first = await write(workflow, execution, 1)
        assert first.action is Action.CREATED
        again = await write(workflow, execution, 1)
        assert (again.action, again.id) == (Action.SKIPPED, first.id)
        (row,) = await rows(store, "SELECT * FROM tbl_source")
        assert row["idempotency_key"] == f"{1:024x}_v1"
        assert (row["title"], row["likes"], row["topic_id"]) == ("Note 1", 1, source.id)
        assert await statuses(store) == ["collected"]
        (item,) = await store.read(list_items, ItemQuery(caller=OPERATOR))
        assert (item.source_id, item.title, item.metadata["tags"]) == (source.id, "Note 1", ["coffee"])

    @pytest.mark.proves("E-23", "E-02")
    async def test_a_write_that_is_skipped_marks_its_record_collected_and_frees_its_lock(
        self, workflow, source, store, clock
    ):
        execution = await begin(workflow, source, 1)
        await workflow.claim(execution, limit=10)
        first = await write(workflow, execution, 1)
        await store.write(lambda conn: conn.execute(text("DELETE FROM candidates")))
        await workflow.report(execution, source.id, listed(1))
        await workflow.claim(execution, limit=10)
        again = await write(workflow, execution, 1)
        assert (again.action, again.id) == (Action.SKIPPED, first.id)
        (row,) = await candidates(store)
        assert (row["status"], row["processing_lock"], row["locked_at"]) == ("collected", None, None)
        assert len(await store.read(list_items, ItemQuery(caller=OPERATOR))) == 1

    @on_both_stores
    @pytest.mark.proves("E-18")
    async def test_what_it_took_to_collect_a_note_is_told_with_it(self, workflow, source, store):
        first = await begin(workflow, source, 1)
        await workflow.claim(first, limit=10)
        await workflow.give_up(first, ref(1).note_id, CrawlError(Code.TIMEOUT_ERROR, "Too long."))
        await workflow.release(first, Result())
        execution = await begin(workflow)
        await workflow.claim(execution, limit=10)
        await write(workflow, execution, 1)
        took = {"retry_count": 1, "last_error_code": "TIMEOUT_ERROR", "last_error_message": "Too long."}
        for table in ("tbl_candidate", "tbl_source"):
            (row,) = await rows(store, f"SELECT {', '.join(took)} FROM {table} WHERE status = 'collected'")
            assert row == took

    async def test_a_note_that_nobody_found_is_refused(self, workflow, source, store):
        execution = await begin(workflow, source, 1)
        await workflow.claim(execution, limit=10)
        with pytest.raises(Conflict, match="claim it first"):
            await write(workflow, execution, 2)
        assert await statuses(store) == ["processing"]

    async def test_a_record_that_was_never_claimed_is_not_written(self, workflow, source, store):
        execution = await begin(workflow, source, 1)
        with pytest.raises(Conflict):
            await write(workflow, execution, 1)
        assert await rows(store, "SELECT id FROM tbl_source") == []

    @pytest.mark.proves("E-11")
    async def test_an_execution_says_how_many_it_processed_and_how_many_failed(self, workflow, source, store):
        execution = await begin(workflow, source, 1, 2, 3)
        await workflow.claim(execution, limit=10)
        await write(workflow, execution, 1)
        await workflow.give_up(execution, ref(2).note_id, CrawlError(Code.TIMEOUT_ERROR, "Too long."))
        ended = await workflow.release(execution, Result())
        assert (ended.items_processed, ended.items_failed) == (1, 1)
        assert await statuses(store) == ["collected", "pending", "pending"]
        assert [one["retry_count"] for one in await candidates(store)] == [0, 1, 0]


class TestRecovery:
    @pytest.mark.proves("E-05")
    async def test_records_of_an_execution_that_fell_silent_are_pending_with_one_more_try_counted(
        self, workflow, source, store, clock
    ):
        execution = await begin(workflow, source, 1, 2)
        await workflow.claim(execution, limit=1)
        clock.advance(LOCK_TIMEOUT)
        recovered = await workflow.recover()
        assert (recovered.executions, recovered.records) == (1, 1)
        found = await candidates(store)
        assert [(one["status"], one["retry_count"]) for one in found] == [("pending", 1), ("pending", 0)]
        assert await workflow.recover() == type(recovered)()

    @pytest.mark.proves("E-05")
    async def test_a_record_whose_executions_always_fall_silent_has_failed_in_the_end(
        self, workflow, source, store, clock
    ):
        execution = await begin(workflow, source, 1)
        for _ in range(NOTE_RETRIES + 1):
            assert len(await workflow.claim(execution, limit=1)) == 1
            clock.advance(LOCK_TIMEOUT)
            await workflow.recover()
            execution = await begin(workflow)
        (row,) = await candidates(store)
        assert (row["status"], row["retry_count"]) == ("failed", 3)
        assert await workflow.claim(execution, limit=1) == []

    @pytest.mark.proves("E-05")
    async def test_a_late_finisher_changes_nothing_of_what_its_successor_did(self, workflow, source, store, clock):
        late = await begin(workflow, source, 1)
        (record,) = await workflow.claim(late, limit=1)
        clock.advance(LOCK_TIMEOUT)
        successor = await begin(workflow)
        (same,) = await workflow.claim(successor, limit=1)
        assert same.id == record.id
        before = await candidates(store)
        for step in (
            lambda: write(workflow, late, 1),
            lambda: workflow.give_up(late, ref(1).note_id, CrawlError(Code.NOT_FOUND, "Gone.")),
            lambda: workflow.claim(late, limit=1),
            lambda: workflow.report(late, source.id, listed(7)),
            lambda: workflow.release(late, Result()),
            lambda: workflow.heartbeat(late),
        ):
            with pytest.raises(LeaseLost):
                await step()
        assert await candidates(store) == before
        assert (await write(workflow, successor, 1)).action is Action.CREATED

    @pytest.mark.proves("E-12")
    async def test_a_recovery_is_put_down_for_the_alert(self, workflow, source, store, clock):
        execution = await begin(workflow, source, 1)
        await workflow.claim(execution, limit=1)
        clock.advance(LOCK_TIMEOUT)
        await workflow.recover()
        counted = await store.read(incidents.count_by_kind, since=START)
        assert sum(counted.values()) == 2


class TestNotesThatAreFoundAgain:
    @pytest.mark.proves("R-34")
    async def test_a_known_note_keeps_its_keyword_whoever_finds_it_again(self, workflow, source, store, clock):
        execution = await begin(workflow, source, 1)
        other = await add_keyword(store, clock, "tea")
        (again,) = listed(1, keyword="tea")
        await workflow.report(execution, other.id, [again._replace(url=f"{again.url}&newer=1")])
        (record,) = await workflow.claim(execution, limit=10)
        assert (record.listed.facts["source_keyword"], record.source_id) == ("coffee", source.id)
        assert record.listed.url.endswith("&newer=1")

    @pytest.mark.proves("E-13")
    async def test_the_address_is_the_latest_since_what_shows_a_note_expires(self, workflow, source, store):
        execution = await begin(workflow, source, 1)
        (again,) = listed(1)
        newer = again._replace(url=f"{again.url}&newer=1")
        assert await workflow.report(execution, source.id, [newer]) == (0, 1)
        (record,) = await workflow.claim(execution, limit=10)
        assert record.listed.url == newer.url

    @on_both_stores
    @pytest.mark.proves("E-11")
    @pytest.mark.parametrize("change", ["is_deleted", "is_active"])
    async def test_one_that_nobody_works_for_any_more_goes_to_whoever_finds_it_again(
        self, workflow, source, store, clock, change
    ):
        execution = await begin(workflow, source, 1)
        values = {change: change == "is_deleted"}
        await store.write(lambda conn: conn.execute(update(sources).where(sources.c.id == source.id).values(values)))
        other = await add_keyword(store, clock, "tea")
        await workflow.report(execution, other.id, listed(1))
        (record,) = await workflow.claim(execution, limit=10)
        assert record.source_id == other.id

    async def test_one_whose_source_is_at_work_stays_with_it(self, workflow, source, store, clock):
        execution = await begin(workflow, source, 1)
        other = await add_keyword(store, clock, "tea")
        await workflow.report(execution, other.id, listed(1))
        (record,) = await workflow.claim(execution, limit=10)
        assert record.source_id == source.id
