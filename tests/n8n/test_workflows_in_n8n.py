from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from real_n8n import Ended, Station

from catchment.domain.execution import ALREADY_RUNNING
from catchment.simulator.services.keyword_platforms import TroubleKind
from eventually import eventually

CRAWL, RECOVERY, COOKIE_CHECK = "catchment-crawl", "catchment-lock-recovery", "catchment-cookie-check"
KEYWORD = "手冲咖啡"
#: What a page of a search shows.
FOUND = 20

pytestmark = [pytest.mark.timeout(600), pytest.mark.proves("E-15")]


def candidates(station: Station) -> dict[str, int]:
    return dict(station.rows("SELECT status, count(*) FROM tbl_candidate GROUP BY status"))


def executions(station: Station) -> list[tuple[str, int, int, str | None]]:
    columns = "status, items_processed, items_failed, error_summary"
    return station.rows(f"SELECT {columns} FROM tbl_crawl_execution ORDER BY id")


async def begin(station: Station, *options: str) -> None:
    await station.add_cookie("account_01", "alive", *options)
    await station.post("/api/sources", {"type": "xhs_search", "name": KEYWORD, "config": {"keyword": KEYWORD}})


@pytest.mark.proves("E-02", "E-06", "E-14")
async def test_a_crawl_by_n8n_collects_each_note_once_however_often_it_runs(station: Station) -> None:
    await begin(station)
    for number in (1, 2):
        ended = await station.execute(CRAWL)
        assert ended.code == 0, ended.said
        assert candidates(station) == {"collected": FOUND}
        (counted,) = station.rows("SELECT count(*), count(DISTINCT idempotency_key) FROM tbl_source")
        assert counted == (FOUND, FOUND)
        assert station.rows("SELECT count(*) FROM raw_items") == [(FOUND,)]
        assert [status for status, *_ in executions(station)] == ["completed"] * number
    assert [done for _, done, *_ in executions(station)] == [FOUND, 0]


@pytest.mark.proves("E-06")
async def test_one_trace_goes_through_requests_logs_and_notes(station: Station) -> None:
    await begin(station)
    assert (await station.execute(CRAWL)).code == 0
    ((trace,),) = station.rows("SELECT DISTINCT exec_meta ->> 'workflow_trace_id' FROM tbl_source")
    assert station.rows("SELECT DISTINCT exec_meta ->> 'request_id' FROM tbl_source") == [(f"{trace}-commit",)]
    await station.process.kill()
    logged = "".join(station.process.said)
    # Asking for the keywords changes nothing, and so is not worth a line.
    steps = ("search", "candidates", "claim", "heartbeat", "detail", "commit", "release")
    assert [step for step in steps if f"{trace}-{step}" not in logged] == []


@pytest.mark.proves("E-03", "E-22")
async def test_a_second_execution_is_refused_while_the_first_one_runs(station: Station) -> None:
    await begin(station)
    station.xhs.trouble(TroubleKind.SLOW, times=1)

    async def is_searching() -> bool:
        return bool(station.xhs.requests)

    async with asyncio.TaskGroup() as group:
        first = group.create_task(station.execute(CRAWL))
        await eventually(is_searching)
        second = await station.execute(CRAWL)
        assert not first.done()
    assert second.code != 0
    assert ALREADY_RUNNING in second.said
    assert first.result().code == 0, first.result().said
    assert candidates(station) == {"collected": FOUND}
    assert [status for status, *_ in executions(station)] == ["completed"]


@pytest.mark.proves("E-08", "E-21")
async def test_only_what_failed_is_asked_for_again_and_what_is_gone_is_given_up(station: Station) -> None:
    await begin(station)
    shown = [note.id for note in station.xhs.notes.about(KEYWORD, datetime.now(UTC))][:FOUND]
    odd, gone, *well = shown
    station.xhs.trouble(TroubleKind.ODD, note=odd, times=1)
    station.xhs.trouble(TroubleKind.GONE, note=gone)
    ended = await station.execute(CRAWL)
    assert ended.code == 0, ended.said
    assert candidates(station) == {"collected": FOUND - 1, "failed": 1}
    assert station.rows("SELECT note_id, last_error_code FROM tbl_candidate WHERE status = 'failed'") == [
        (gone, "NOT_FOUND")
    ]
    retried = dict(station.rows("SELECT note_id, exec_meta ->> 'retry_count' FROM tbl_source"))
    assert retried == {odd: 1, **dict.fromkeys(well, 0)}


@pytest.mark.proves("E-21")
async def test_without_a_cookie_left_it_stops_and_gives_back_what_it_held(station: Station) -> None:
    await begin(station, "--daily-limit", "5")
    ended = await station.execute(CRAWL)
    assert ended.code != 0
    ((status, done, failed, why),) = executions(station)
    assert (status, failed) == ("failed", 0)
    assert why is not None
    assert why.startswith("COOKIE_EXHAUSTED: ")
    assert why in ended.said
    assert 0 < done < FOUND
    assert candidates(station) == {"collected": done, "pending": FOUND - done}


@pytest.mark.proves("E-05")
async def test_the_recovery_frees_a_lock_that_was_left_behind(station: Station) -> None:
    await station.post("/api/workflow/lock", {"workflow_name": "media_crawler"})
    assert (await station.execute(RECOVERY)).code == 0
    assert [status for status, *_ in executions(station)] == ["running"], "it is still alive"
    long_ago = (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="microseconds")
    station.rows("UPDATE runs SET heartbeat_at = ?, lease_until = ? WHERE kind = 'workflow'", long_ago, long_ago)
    assert (await station.execute(RECOVERY)).code == 0
    assert [status for status, *_ in executions(station)] == ["timeout"]


@pytest.mark.proves("E-10")
async def test_the_cookie_check_names_the_cookie_that_was_refused(station: Station) -> None:
    await station.add_cookie("account_01", "alive")
    await station.add_cookie("account_02", "dead")
    station.xhs.trouble(TroubleKind.LOGIN_EXPIRED, cookie="dead")
    ended: Ended = await station.execute(COOKIE_CHECK)
    assert ended.code != 0
    assert "Refused: account_02" in ended.said
    states = dict(station.rows("SELECT cookie_name, status FROM tbl_cookie"))
    assert states == {"account_01": "active", "account_02": "invalid"}
    assert "web_session" not in ended.said
