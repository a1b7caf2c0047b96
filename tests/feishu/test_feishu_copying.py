"""Notes are copied to a table of Feishu: each once, whatever goes wrong on the way."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest
from loguru import logger

import catchment
import simulated_bitable as bitable
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.execution import Result
from catchment.domain.note import WAITS, Author, Counts, Crawled, Note, NoteRef, NoteType, Platform
from catchment.domain.run import FEISHU_JOB
from catchment.jobs.builtin import FEISHU_EVERY
from catchment.logs import set_up_logs
from catchment.platforms.bitable import MAX_RECORDS
from catchment.sources.platforms.search import item_of
from catchment.store import jobs, notes
from collecting import add
from crawl_notes import add_keyword, crawled, listed, ref
from feishu_table import DOCUMENT, SECRET, START, all_notes, copies, feishu_table, note_row, write_notes
from simulated_bitable import CHOICE, TEXT, Endpoint
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

MINUTE = timedelta(minutes=1)
PACKAGE = Path(catchment.__file__).parent


@pytest.fixture
async def table(clock):
    async with feishu_table(clock) as table:
        yield table


@pytest.fixture
async def system(open_test_system, table, tmp_path):
    async with open_test_system(home=tmp_path / "home", **table.settings()) as system:
        await system.jobs.prepare()
        yield system


async def run(system, clock, *, after=FEISHU_EVERY):
    """Let the job come by; returns how it went."""
    clock.advance(after)
    await system.jobs.look_after(FEISHU_JOB)
    return await system.store.read(jobs.get, FEISHU_JOB)


@pytest.mark.proves("E-15", "R-35")
async def test_notes_are_copied_once_with_all_their_fields(system, table, clock):
    await write_notes(system.store, note_row(7), note_row(8, video_url="https://v.example/8", note_type="video"))
    state = await run(system, clock)
    assert (state.last_ok, state.last_message) == (True, "2 created, 0 skipped")
    for _ in range(3):
        assert (await run(system, clock)).last_message == "0 created, 0 skipped"
    assert table.service.asked[Endpoint.CREATE] == 1
    first, second = table.service.records.values()
    assert first == {
        "idempotency_key": "n7_v1",
        "platform": "xhs",
        "note_id": "n7",
        "title": "Note 7",
        "content": "雨后的山 & <b>words</b>",
        "note_type": "normal",
        "images": "https://img.example/1\nhttps://img.example/2",
        "likes": 7,
        "collects": 0,
        "shares": 3,
        "author_id": "0a1b",
        "author_name": "a***z",
        "tags": "rain, hills",
        "status": "collected",
        "note_url": "https://www.xiaohongshu.com/explore/n7",
        "published_at": round(START.timestamp() * 1000),
        "extracted_at": round(START.timestamp() * 1000),
        "exec_meta": '{"request_id": "wf-1-abc-detail", "retry_count": 0}',
        "retry_count": 0,
    }
    assert second["video_url"] == "https://v.example/8"
    rows = await copies(system.store)
    assert [(row.record_id, row.attempts, row.last_error) for row in rows] == [
        (number, 1, None) for number in table.service.records
    ]


@pytest.mark.proves("E-02")
async def test_a_note_that_the_workflow_writes_twice_is_copied_once(system, table, clock):
    source = await add(system, "https://example.org/feed")
    note = Note(
        ref=NoteRef(platform=Platform.WEIBO, note_id="5001"),
        url="https://m.weibo.cn/detail/5001",
        title="Rain",
        content="All day",
        type=NoteType.NORMAL,
        author=Author(id="1", name="ada"),
        published_at=None,
        updated_at=None,
        counts=Counts(likes=12),
        tags=("rain",),
    )
    for _ in range(2):
        await system.store.write(notes.write, Crawled(note=note), source_id=source.id, now=clock.now())
        await run(system, clock)
    [record] = table.service.records.values()
    assert (record["idempotency_key"], record["topic_id"], record["likes"]) == ("5001_v1", str(source.id), 12)


@pytest.mark.proves("E-15")
async def test_what_it_took_to_collect_a_note_is_copied_along(system, table, clock):
    source = await add_keyword(system.store, clock, "coffee")
    workflow = system.workflow
    for error in (CrawlError(Code.NETWORK_ERROR, "Gone dark."), CrawlError(Code.TIMEOUT_ERROR, "Too long."), None):
        execution = (await workflow.acquire("media_crawler")).execution_id
        await workflow.report(execution, source.id, listed(1))
        await workflow.claim(execution, limit=10)
        if error:
            await workflow.give_up(execution, ref(1).note_id, error)
        else:
            await workflow.write(execution, crawled(1), item_of(crawled(1).note))
        await workflow.release(execution, Result())
    await run(system, clock)
    [record] = table.service.records.values()
    assert (record["topic_id"], record["retry_count"]) == (str(source.id), 2)
    assert record["last_error_code"] == "TIMEOUT_ERROR"


@pytest.mark.proves("E-02")
async def test_a_note_that_is_there_already_is_skipped_with_the_id_of_its_record(system, table, clock):
    table.service.records["recOld"] = {"idempotency_key": "n1_v1", "platform": "xhs"}
    await write_notes(system.store, note_row(1), note_row(2))
    assert (await run(system, clock)).last_message == "1 created, 1 skipped"
    assert [row.record_id for row in await copies(system.store)] == ["recOld", "rec00000001"]
    assert table.keys == ["n1_v1", "n2_v1"]


@on_both_stores
async def test_the_same_number_on_another_platform_is_another_note(system, table, clock):
    await write_notes(system.store, note_row(1), note_row(1, platform="wb"))
    await run(system, clock)
    assert [(one["platform"], one["note_id"]) for one in table.service.records.values()] == [
        ("xhs", "n1"),
        ("wb", "n1"),
    ]
    assert len({row.record_id for row in await copies(system.store)}) == 2


@pytest.mark.proves("E-02")
@pytest.mark.parametrize("answer", [bitable.broken(), bitable.cut_off(), bitable.done({}), bitable.rate_limited()])
async def test_a_creation_whose_answer_is_lost_is_not_made_again(system, table, clock, answer):
    table.service.fail(Endpoint.CREATE, answer, after=True)
    await write_notes(system.store, note_row(1), note_row(2))
    assert (await run(system, clock)).last_ok is False
    assert [row.record_id for row in await copies(system.store)] == [None, None]
    # Another note came in between, so that the batch is not the same one.
    await write_notes(system.store, note_row(3))
    assert (await run(system, clock, after=2 * MINUTE)).last_message == "1 created, 2 skipped"
    assert table.keys == ["n1_v1", "n2_v1", "n3_v1"]
    assert [row.record_id for row in await copies(system.store)] == list(table.service.records)


async def test_a_table_that_never_answers_is_given_up_in_time(open_test_system, table, clock, monkeypatch):
    monkeypatch.setattr("catchment.platforms.bitable.TIMEOUT_SECONDS", 0.2)
    async with open_test_system(**table.settings()) as system:
        await system.jobs.prepare()
        table.service.fail(Endpoint.CREATE, bitable.silent(), after=True)
        await write_notes(system.store, note_row(1))
        assert "took too long" in (await run(system, clock)).last_message
        assert (await run(system, clock, after=2 * MINUTE)).last_message == "0 created, 1 skipped"
    assert table.keys == ["n1_v1"]


async def test_more_notes_than_go_into_one_creation_are_copied_in_order(system, table, clock):
    count = 2 * MAX_RECORDS + 30
    await write_notes(system.store, *(note_row(number) for number in range(count)))
    assert (await run(system, clock)).last_message == f"{count} created, 0 skipped"
    assert table.keys == [f"n{number}_v1" for number in range(count)]
    assert table.service.asked == {Endpoint.TOKEN: 1, Endpoint.SEARCH: 5, Endpoint.CREATE: 3}


@pytest.mark.parametrize("answer", [bitable.rate_limited(), bitable.write_conflict(), bitable.broken()])
async def test_what_passes_by_itself_makes_the_job_wait_longer_each_time(system, table, clock, answer):
    table.service.fail(Endpoint.SEARCH, *[answer] * (len(WAITS) + 1))
    await write_notes(system.store, note_row(1))
    waits, after = [], FEISHU_EVERY
    for _ in range(len(WAITS) + 1):
        state = await run(system, clock, after=after)
        assert state.last_ok is False
        after = state.due_at - clock.now()
        waits.append(after)
    assert waits == [*WAITS, WAITS[-1]]
    asked = table.service.asked[Endpoint.SEARCH]
    await run(system, clock, after=after - timedelta(seconds=1))
    assert table.service.asked[Endpoint.SEARCH] == asked
    state = await run(system, clock, after=timedelta(seconds=1))
    assert (state.last_ok, state.last_message) == (True, "1 created, 0 skipped")
    [row] = await copies(system.store)
    assert (row.attempts, row.last_error, row.next_try_at) == (len(WAITS) + 2, None, None)


async def test_a_longer_wait_that_feishu_asks_for_is_kept(system, table, clock):
    table.service.fail(Endpoint.CREATE, bitable.rate_limited(reset_seconds=900))
    await write_notes(system.store, note_row(1))
    state = await run(system, clock)
    assert state.due_at == clock.now() + timedelta(seconds=900)
    assert "fewer requests" in state.last_message


@on_both_stores
async def test_of_two_processes_one_copies(system, open_test_system, table, clock):
    await write_notes(system.store, *(note_row(number) for number in range(5)))
    async with open_test_system(**table.settings()) as other:
        await asyncio.gather(*(one.jobs.look_after(FEISHU_JOB) for one in (system, other)))
    assert table.service.asked[Endpoint.CREATE] == 1
    assert len(table.keys) == 5


@pytest.mark.parametrize("missing", [("idempotency_key",), ("likes",), ("title", "exec_meta")])
async def test_a_table_without_some_fields_is_told_which_and_what_to_do(system, table, clock, missing):
    for name in missing:
        del table.service.fields[name]
    await write_notes(system.store, note_row(1))
    state = await run(system, clock)
    assert state.last_ok is False
    assert f"the table lacks {', '.join(missing)}: run `catchment feishu check --create`" in state.last_message
    assert table.keys == []


async def test_a_field_of_another_type_is_named(system, table, clock):
    table.service.fields["likes"] = TEXT
    table.service.fields["note_type"] = CHOICE
    await write_notes(system.store, note_row(1))
    state = await run(system, clock)
    assert "another type than they should: likes (number): change it in Bitable" in state.last_message


@on_both_stores
async def test_once_the_table_is_mended_and_checked_copying_goes_on_at_once(system, table, clock):
    del table.service.fields["title"]
    await write_notes(system.store, note_row(1))
    await run(system, clock)
    checks = await system.copier.check(create=True)
    assert {check.verdict for check in checks} == {"ok", "created"}
    assert (await run(system, clock, after=timedelta(0))).last_message == "1 created, 0 skipped"


async def test_one_note_that_is_refused_waits_alone_and_the_others_are_copied(system, table, clock):
    table.service.disliked.add("n4")
    await write_notes(system.store, *(note_row(number) for number in range(9)))
    state = await run(system, clock)
    assert (state.last_ok, state.last_message) == (True, "8 created, 0 skipped, 1 refused")
    assert "n4_v1" not in table.keys
    [refused] = [row for row in await copies(system.store) if row.copied_at is None]
    assert refused.next_try_at == clock.now() + WAITS[0]
    assert "1254130" in refused.last_error
    table.service.disliked.clear()
    assert (await run(system, clock)).last_message == "1 created, 0 skipped"
    assert sorted(table.keys) == sorted(f"n{number}_v1" for number in range(9))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"feishu_app_secret": "wrong"}, "check FEISHU_APP_ID and FEISHU_APP_SECRET"),
        ({"feishu_app_token": "elsewhere"}, "check FEISHU_APP_TOKEN"),
        ({"feishu_table_id": "tblOther"}, "check FEISHU_TABLE_ID"),
    ],
)
async def test_what_is_set_wrong_is_named(open_test_system, table, clock, settings, words):
    async with open_test_system(**table.settings(**settings)) as system:
        await system.jobs.prepare()
        await write_notes(system.store, note_row(1))
        assert words in (await run(system, clock)).last_message


async def test_an_app_without_the_scope_is_told_which_one_it_needs(system, table, clock):
    table.service.fail(Endpoint.SEARCH, bitable.no_scope())
    await write_notes(system.store, note_row(1))
    assert "give it the scope bitable:app" in (await run(system, clock)).last_message


async def test_failures_leave_the_notes_as_they_are(system, table, clock):
    await write_notes(system.store, note_row(1), note_row(2))
    before = await all_notes(system.store)
    table.service.fail(Endpoint.CREATE, bitable.broken(), bitable.no_scope(), bitable.too_large_cell())
    for _ in range(3):
        await run(system, clock, after=timedelta(hours=2))
    assert await all_notes(system.store) == before


async def test_another_table_gets_all_notes_as_well(open_test_system, table, clock):
    async with open_test_system(**table.settings()) as system:
        await system.jobs.prepare()
        await write_notes(system.store, note_row(1))
        await run(system, clock)
    other = feishu_table(clock, table="tblNew")
    async with other as new, open_test_system(**new.settings(feishu_table_id="tblNew")) as system:
        assert (await run(system, clock)).last_message == "1 created, 0 skipped"
        assert {row.sink for row in await copies(system.store)} == {"feishu:tblNew", "feishu:tblNotes"}


async def test_without_all_settings_there_is_no_such_job(open_test_system, table):
    async with open_test_system(**table.settings(feishu_table_id="")) as system:
        await system.jobs.prepare()
        assert system.copier is None
        assert FEISHU_JOB not in {state.name for state in await system.jobs.list()}


async def test_secrets_are_in_no_log_no_error_and_no_job(system, table, clock, capsys):
    await write_notes(system.store, note_row(1))
    await run(system, clock)
    await write_notes(system.store, note_row(2))
    tokens = list(table.service.tokens)
    leaks = f"no entry for {SECRET} at {DOCUMENT} with {tokens[0]}"
    set_up_logs(level="TRACE", form="text")
    try:
        for answer in (bitable.refusal(1254002, leaks), bitable.refusal(99991672, leaks), bitable.broken()):
            table.service.fail(Endpoint.CREATE, answer)
            state = await run(system, clock, after=timedelta(minutes=10))
    finally:
        logger.remove()
    told = f"{capsys.readouterr()} {state} {await copies(system.store)} {system.copier._bitable._app!r}"
    assert "the job feishu failed" in told
    assert "no entry for" in told
    for secret in (SECRET, DOCUMENT, *tokens):
        assert secret not in told


@pytest.mark.proves("E-01")
def test_whoever_reads_the_platforms_does_not_know_where_notes_are_copied_to():
    readers = [*PACKAGE.glob("web/crawler/**/*.py"), *PACKAGE.glob("sources/crawl/**/*.py")]
    assert readers
    words = ("feishu", "bitable", "note_copies")
    told = [path.name for path in readers for word in words if word in path.read_text().lower()]
    assert told == []
