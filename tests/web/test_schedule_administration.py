"""The administration of the scraper's schedule, through its API, on both stores."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from sqlalchemy import text

from catchment.domain.run import SCRAPER_JOB
from catchment.store import jobs
from catchment.web.app import create_app
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

PATH = "/api/admin/scraping/schedule"
ADMIN = {"X-API-Key": "admin-key-0123456789"}
USER = {"Authorization": "Bearer service-key-0123456789"}
KEYS = {"admin_api_key": "admin-key-0123456789", "api_key": "service-key-0123456789"}


class Office:
    """A system whose alarms run, and a client of its API."""

    def __init__(self, system, client):
        self.system = system
        self.client = client

    async def get(self, path="", **headers):
        return await self.client.get(PATH + path, headers={**ADMIN, **headers})

    async def put(self, path, body, **headers):
        return await self.client.put(PATH + path, json=body, headers={**ADMIN, **headers})

    async def post(self, path, **headers):
        return await self.client.post(PATH + path, headers={**ADMIN, **headers})

    async def delete(self, path, **headers):
        return await self.client.delete(PATH + path, headers={**ADMIN, **headers})

    async def row(self):
        def read(conn):
            return conn.execute(text("SELECT * FROM scraper_schedule_config")).mappings().all()

        return await self.system.store.read(read)

    async def due(self):
        return (await self.system.store.read(jobs.get, SCRAPER_JOB)).due_at


@pytest.fixture
def open_office(open_test_system):
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def open_(*, running=True, **settings) -> AsyncIterator[Office]:
        async with open_test_system(**KEYS, **settings) as system:
            await system.jobs.prepare()
            if running:
                # Alarms ring by the real clock, the tests' time stands still: none rings.
                system.jobs.timers.start(_nobody)
                await system.jobs.follow()
            transport = httpx.ASGITransport(app=create_app(system))
            async with httpx.AsyncClient(transport=transport, base_url="http://catchment") as client:
                yield Office(system, client)
            system.jobs.timers.stop()

    return open_


def _nobody(_: str) -> None:
    return None


@pytest.fixture
async def office(open_office):
    async with open_office() as office:
        yield office


def moment(value):
    return datetime.fromisoformat(value)


@pytest.mark.proves("C-11", "C-13", "C-43")
async def test_without_a_row_the_schedule_is_as_the_environment_says(office):
    shown = (await office.get()).json()
    assert shown["interval_seconds"] == 43_200
    assert shown["scheduler_running"] is True
    assert shown["is_enabled"] is True
    assert (shown["updated_at"], shown["updated_by"], shown["message"]) == (None, None, None)
    assert await office.row() == []


@pytest.mark.proves("C-43")
async def test_the_environments_interval_is_the_default(open_office):
    async with open_office(scraper_interval=7200) as office:
        assert (await office.get()).json()["interval_seconds"] == 7200


@on_sqlite_alone
@pytest.mark.proves("C-12")
@pytest.mark.parametrize("settings", [{"scraper_enabled": False}, {"running": False}])
async def test_a_scheduler_that_does_not_run_is_said_so(open_office, settings):
    async with open_office(**settings) as office:
        shown = (await office.get()).json()
    assert shown["scheduler_running"] is False
    assert shown["job_active"] is False


@on_both_stores
@pytest.mark.proves("C-21", "C-25", "C-44", "C-58", "C-59")
async def test_a_new_interval_is_stored_and_at_work_at_once(office, clock, log):
    answer = await office.put("/interval", {"interval_seconds": 600})
    assert answer.status_code == 200
    shown = answer.json()
    assert shown["interval_seconds"] == 600
    assert moment(shown["next_run_time"]) == clock.now() + timedelta(seconds=600)
    assert moment(shown["updated_at"]) == clock.now()
    assert office.system.jobs.timers.at(SCRAPER_JOB) == clock.now() + timedelta(seconds=600)
    [row] = await office.row()
    assert (row["id"], row["interval_seconds"], bool(row["is_enabled"])) == (1, 600, True)
    assert row["updated_by"] == shown["updated_by"] != ""
    assert shown == (await office.get()).json()
    assert any(line.startswith("INFO") and "600" in line and row["updated_by"] in line for line in log)


@pytest.mark.proves("C-21")
async def test_a_new_interval_keeps_a_single_run_that_was_asked_for(office, clock):
    wanted = clock.now() + timedelta(hours=3)
    await office.put("/next-run", {"next_run_time": wanted.isoformat()})
    shown = (await office.put("/interval", {"interval_seconds": 600})).json()
    assert moment(shown["next_run_time"]) == wanted
    assert office.system.jobs.timers.at(SCRAPER_JOB) == wanted
    [row] = await office.row()
    assert row["next_run_time"] is not None


@on_sqlite_alone
@pytest.mark.proves("C-22", "C-23")
@pytest.mark.parametrize("seconds", [299, 604_801, 0, -1, "soon", None, 10**20])
async def test_an_interval_out_of_range_is_refused_with_the_list_of_faults(office, seconds):
    answer = await office.put("/interval", {"interval_seconds": seconds})
    assert answer.status_code == 422
    [fault] = answer.json()["detail"]
    assert fault["loc"] == ["body", "interval_seconds"]
    assert await office.row() == []


@on_sqlite_alone
@pytest.mark.proves("C-22")
@pytest.mark.parametrize("seconds", [300, 604_800])
async def test_the_ends_of_the_range_are_allowed(office, seconds):
    assert (await office.put("/interval", {"interval_seconds": seconds})).status_code == 200


@pytest.mark.proves("C-24", "C-36", "C-56")
async def test_with_the_scheduler_stopped_changes_are_stored_and_it_says_when_they_count(open_office, clock):
    wanted = clock.now() + timedelta(days=2)
    async with open_office(running=False) as office:
        first = (await office.put("/interval", {"interval_seconds": 900})).json()
        second = (
            await office.put("/next-run", {"next_run_time": wanted.isoformat()}, **{"Accept-Language": "en"})
        ).json()
        [row] = await office.row()
    assert first["scheduler_running"] is False
    assert first["message"] == "调度器当前未运行，配置已保存，将在启用后生效"
    assert "not running" in second["message"]
    assert row["interval_seconds"] == 900
    assert moment(second["next_run_time"]) == wanted


@pytest.mark.proves("C-31", "C-57")
@pytest.mark.parametrize("written", ["2026-03-01T15:00:00Z", "2026-03-01T15:00:00", "2026-03-01T23:00:00+08:00"])
async def test_a_next_run_is_stored_and_applied_in_utc(office, written):
    shown = (await office.put("/next-run", {"next_run_time": written})).json()
    assert shown["next_run_time"] == "2026-03-01T15:00:00.000Z"
    assert office.system.jobs.timers.at(SCRAPER_JOB) == datetime(2026, 3, 1, 15, tzinfo=UTC)


@on_sqlite_alone
@pytest.mark.proves("C-32", "C-33", "C-34", "C-56")
@pytest.mark.parametrize(
    ("offset", "zh", "en"),
    [
        (timedelta(seconds=-31), "下次触发时间必须为未来时间", "must be in the future"),
        (timedelta(days=30, seconds=1), "下次触发时间不能超过 30 天后", "within 30 days"),
    ],
)
async def test_a_next_run_in_the_past_or_too_far_is_refused_and_nothing_stored(office, clock, offset, zh, en):
    body = {"next_run_time": (clock.now() + offset).isoformat()}
    answer = await office.put("/next-run", body)
    assert (answer.status_code, answer.json()["detail"]) == (422, zh)
    assert en in (await office.put("/next-run", body, **{"Accept-Language": "en-GB"})).json()["detail"]
    assert await office.row() == []


@on_sqlite_alone
@pytest.mark.proves("C-32")
@pytest.mark.parametrize("offset", [timedelta(seconds=-29), timedelta(days=30)])
async def test_half_a_minute_ago_and_thirty_days_from_now_are_allowed(office, clock, offset):
    assert (await office.put("/next-run", {"next_run_time": (clock.now() + offset).isoformat()})).status_code == 200


@pytest.mark.proves("C-35", "C-42")
async def test_a_single_run_happens_once_is_cleared_and_the_interval_goes_on_from_it(office, clock):
    await office.put("/interval", {"interval_seconds": 3600})
    wanted = clock.now() + timedelta(minutes=10)
    await office.put("/next-run", {"next_run_time": wanted.isoformat()})
    clock.advance(timedelta(minutes=9))
    await office.system.jobs.look_after(SCRAPER_JOB)
    assert (await runs_of(office)) == 0
    clock.advance(timedelta(minutes=1))
    await office.system.jobs.look_after(SCRAPER_JOB)
    await office.system.jobs.look_after(SCRAPER_JOB)
    assert (await runs_of(office)) == 1
    [row] = await office.row()
    assert row["next_run_time"] is None
    assert await office.due() == wanted + timedelta(hours=1)
    assert moment((await office.get()).json()["next_run_time"]) == wanted + timedelta(hours=1)


async def runs_of(office):
    return (await office.system.store.read(jobs.get, SCRAPER_JOB)).runs


@pytest.mark.proves("C-41", "C-42")
async def test_a_restart_restores_interval_and_next_run(open_office, clock):
    wanted = clock.now() + timedelta(days=1)
    async with open_office() as office:
        await office.put("/interval", {"interval_seconds": 1800})
        await office.put("/next-run", {"next_run_time": wanted.isoformat()})
    clock.advance(timedelta(hours=5))
    async with open_office() as office:
        shown = (await office.get()).json()
        assert office.system.jobs.timers.at(SCRAPER_JOB) == wanted
    assert (shown["interval_seconds"], moment(shown["next_run_time"])) == (1800, wanted)


@pytest.mark.proves("C-42", "R-27")
async def test_a_single_run_whose_moment_passed_while_nobody_was_there_is_made_up_for_once(open_office, clock):
    async with open_office() as office:
        await office.put("/interval", {"interval_seconds": 1800})
        await office.put("/next-run", {"next_run_time": (clock.now() + timedelta(hours=1)).isoformat()})
    clock.advance(timedelta(hours=5))
    async with open_office() as office:
        for _ in range(3):
            await office.system.jobs.look_after(SCRAPER_JOB)
        [row] = await office.row()
        assert row["next_run_time"] is None
        assert await office.due() == clock.now() + timedelta(seconds=1800)
        assert await runs_of(office) == 1
    async with open_office() as office:
        await office.system.jobs.look_after(SCRAPER_JOB)
        assert await runs_of(office) == 1


@pytest.mark.proves("C-42", "R-27")
async def test_a_single_run_whose_moment_passed_while_it_was_paused_is_dropped(open_office, clock):
    async with open_office() as office:
        await office.put("/interval", {"interval_seconds": 1800})
        await office.put("/next-run", {"next_run_time": (clock.now() + timedelta(hours=1)).isoformat()})
        await office.post("/disable")
    clock.advance(timedelta(hours=5))
    async with open_office() as office:
        await office.post("/enable")
        await office.system.jobs.look_after(SCRAPER_JOB)
        assert await runs_of(office) == 0
        assert await office.due() == clock.now() + timedelta(seconds=1800)
    async with open_office() as office:
        [row] = await office.row()
        assert (row["next_run_time"], await runs_of(office)) == (None, 0)


@pytest.mark.proves("C-42")
async def test_a_run_of_the_interval_that_came_due_meanwhile_is_made_up_for_once(open_office, clock):
    async with open_office() as office:
        await office.put("/interval", {"interval_seconds": 1800})
    clock.advance(timedelta(hours=5))
    async with open_office() as office:
        for _ in range(3):
            await office.system.jobs.look_after(SCRAPER_JOB)
        assert await runs_of(office) == 1


@on_sqlite_alone
@pytest.mark.proves("C-51", "C-52", "C-53")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", ""),
        ("PUT", "/interval"),
        ("DELETE", "/interval"),
        ("PUT", "/next-run"),
        ("POST", "/enable"),
        ("POST", "/disable"),
    ],
)
async def test_every_endpoint_is_for_administrators(office, method, path):
    nobody = await office.client.request(method, PATH + path)
    assert (nobody.status_code, nobody.json()["detail"]) == (401, "未认证")
    other = await office.client.request(method, PATH + path, headers=USER)
    assert (other.status_code, other.json()["detail"]) == (403, "需要管理员权限")
    english = await office.client.request(method, PATH + path, headers={"Accept-Language": "en"})
    assert english.json()["detail"] == "Not authenticated"


@pytest.mark.proves("C-54", "C-59")
@pytest.mark.parametrize(
    ("path", "body"),
    [("/interval", {"interval_seconds": 600}), ("/next-run", {"next_run_time": "2026-03-02T00:00:00Z"})],
)
async def test_a_scheduler_that_fails_leaves_everything_as_it_was(office, monkeypatch, log, path, body):
    before, due = office.system.jobs.timers.at(SCRAPER_JOB), await office.due()

    def broken(*_args, **_kwargs):
        raise RuntimeError("job store on fire")

    monkeypatch.setattr(office.system.jobs.timers._scheduler, "add_job", broken)
    answer = await office.put(path, body)
    assert (answer.status_code, answer.json()["detail"]) == (500, "调度器操作失败")
    assert await office.row() == []
    assert (office.system.jobs.timers.at(SCRAPER_JOB), await office.due()) == (before, due)
    assert any(line.startswith("ERROR") and "on fire" in line for line in log)


@pytest.mark.proves("C-54")
async def test_a_store_that_fails_after_the_alarm_was_set_puts_the_alarm_back(office, monkeypatch):
    await office.put("/interval", {"interval_seconds": 900})
    before = office.system.jobs.timers.at(SCRAPER_JOB)
    original = type(office.system.scraper_schedule)._set_timer
    calls = []

    def set_then_fail(self, at):
        original(self, at)
        calls.append(at)
        if len(calls) == 1:
            raise ValueError("the disk is full")

    monkeypatch.setattr(type(office.system.scraper_schedule), "_set_timer", set_then_fail)
    with pytest.raises(ValueError, match="disk"):
        await office.system.scraper_schedule.set_interval(600, by="somebody")
    assert office.system.jobs.timers.at(SCRAPER_JOB) == before
    [row] = await office.row()
    assert row["interval_seconds"] == 900


@pytest.mark.proves("C-55")
async def test_disabling_stops_the_runs_and_keeps_the_row_and_enabling_brings_them_back(office, clock):
    await office.put("/interval", {"interval_seconds": 600})
    for _ in range(2):
        shown = (await office.post("/disable")).json()
        assert (shown["is_enabled"], shown["job_active"], shown["message"]) == (False, False, "调度已暂停")
    clock.advance(timedelta(hours=1))
    await office.system.jobs.look_after(SCRAPER_JOB)
    assert await runs_of(office) == 0
    for _ in range(2):
        shown = (await office.post("/enable")).json()
        assert (shown["is_enabled"], shown["job_active"], shown["interval_seconds"]) == (True, True, 600)
        assert moment(shown["next_run_time"]) == clock.now() + timedelta(seconds=600)


@pytest.mark.proves("C-55")
async def test_enabling_without_a_row_makes_one_from_the_environment(open_office):
    async with open_office(scraper_lazy_start=True, scraper_interval=5400) as office:
        assert (await office.get()).json()["is_enabled"] is False
        shown = (await office.post("/enable")).json()
        [row] = await office.row()
    assert (shown["is_enabled"], shown["interval_seconds"], row["interval_seconds"]) == (True, 5400, 5400)


@on_both_stores
@pytest.mark.proves("C-58")
async def test_the_table_holds_one_row_only(office):
    await office.put("/interval", {"interval_seconds": 600})

    def second(conn):
        conn.execute(
            text(
                "INSERT INTO scraper_schedule_config (id, interval_seconds, is_enabled, updated_at, updated_by) "
                "VALUES (2, 600, true, '2026-03-01 00:00:00', 'x')"
            )
        )

    with pytest.raises(Exception, match=r"(?i)constraint"):
        await office.system.store.write(second)


@pytest.mark.proves("D-14")
async def test_a_crontab_line_stands_in_for_the_interval_until_somebody_sets_one(open_office, clock):
    async with open_office(scraper_cron="30 */2 * * *") as office:
        assert await office.due() == datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
        clock.advance(timedelta(minutes=30))
        await office.system.jobs.look_after(SCRAPER_JOB)
        assert await office.due() == datetime(2026, 3, 1, 14, 30, tzinfo=UTC)
        await office.put("/interval", {"interval_seconds": 600})
        assert await office.due() == clock.now() + timedelta(seconds=600)


EVERY_TWO_HOURS = "30 */2 * * *"
FIRST_BY_CRON = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@pytest.mark.proves("R-27")
async def test_a_crontab_line_stays_in_force_through_disable_and_enable(open_office):
    async with open_office(scraper_cron=EVERY_TWO_HOURS) as office:
        await office.post("/disable")
        shown = (await office.post("/enable")).json()
        assert moment(shown["next_run_time"]) == FIRST_BY_CRON
        assert (shown["cron"], await office.due()) == (EVERY_TWO_HOURS, FIRST_BY_CRON)


@pytest.mark.proves("R-27")
async def test_a_crontab_line_goes_on_after_a_single_run(open_office, clock):
    async with open_office(scraper_cron=EVERY_TWO_HOURS) as office:
        await office.put("/next-run", {"next_run_time": (clock.now() + timedelta(minutes=5)).isoformat()})
        clock.advance(timedelta(minutes=5))
        await office.system.jobs.look_after(SCRAPER_JOB)
        assert (await runs_of(office), await office.due()) == (1, FIRST_BY_CRON)


@pytest.mark.proves("R-27")
async def test_an_interval_that_somebody_set_wins_over_the_crontab_line_until_it_is_taken_back(open_office, clock):
    async with open_office(scraper_cron=EVERY_TWO_HOURS) as office:
        await office.put("/interval", {"interval_seconds": 600})
        await office.post("/disable")
        shown = (await office.post("/enable")).json()
        assert (shown["cron"], await office.due()) == (None, clock.now() + timedelta(seconds=600))
    async with open_office(scraper_cron=EVERY_TWO_HOURS) as office:
        assert await office.due() == clock.now() + timedelta(seconds=600)
        shown = (await office.delete("/interval")).json()
        assert (shown["cron"], moment(shown["next_run_time"])) == (EVERY_TWO_HOURS, FIRST_BY_CRON)
        assert await office.due() == FIRST_BY_CRON


@pytest.mark.proves("R-27")
async def test_without_an_interval_of_its_own_the_schedule_follows_the_environment_after_a_change(open_office, clock):
    async with open_office(scraper_interval=7200) as office:
        await office.put("/interval", {"interval_seconds": 600})
        await office.delete("/interval")
        assert (await office.get()).json()["interval_seconds"] == 7200
    async with open_office(scraper_interval=3600) as office:
        assert (await office.get()).json()["interval_seconds"] == 3600
        assert await office.due() == clock.now() + timedelta(hours=1)


@on_both_stores
@pytest.mark.proves("R-27")
async def test_taking_an_interval_back_keeps_a_pause_and_a_single_run(office, clock):
    wanted = clock.now() + timedelta(hours=3)
    await office.put("/interval", {"interval_seconds": 600})
    await office.put("/next-run", {"next_run_time": wanted.isoformat()})
    assert moment((await office.delete("/interval")).json()["next_run_time"]) == wanted
    await office.post("/disable")
    shown = (await office.delete("/interval")).json()
    assert (shown["is_enabled"], shown["job_active"], await office.due()) == (False, False, None)


@pytest.mark.proves("R-27")
async def test_a_crontab_line_that_is_new_at_a_start_replaces_the_run_of_the_interval_before_it(open_office, clock):
    async with open_office(scraper_interval=1200) as office:
        await office.system.jobs.look_after(SCRAPER_JOB)
        assert await office.due() == clock.now() + timedelta(minutes=20)
    async with open_office(scraper_cron=EVERY_TWO_HOURS) as office:
        assert await office.due() == FIRST_BY_CRON


@pytest.mark.proves("R-32")
async def test_a_second_disable_changes_nothing(office, clock, log):
    first = (await office.post("/disable")).json()
    log.clear()
    clock.advance(timedelta(minutes=1))
    assert (await office.post("/disable")).json() == first
    assert not [line for line in log if "schedule changed" in line]


@on_both_stores
@pytest.mark.proves("R-32")
async def test_a_next_run_within_the_tolerance_is_active_and_happens_at_once(office, clock):
    body = {"next_run_time": (clock.now() - timedelta(seconds=20)).isoformat()}
    shown = (await office.put("/next-run", body)).json()
    await _a_moment()
    assert (shown["job_active"], (await office.get()).json()["job_active"]) == (True, True)
    assert moment(shown["next_run_time"]) == clock.now()
    await office.system.jobs.look_after(SCRAPER_JOB)
    assert await runs_of(office) == 1


async def _a_moment():
    """In which alarms that are due ring."""
    for _ in range(20):
        await asyncio.sleep(0)
