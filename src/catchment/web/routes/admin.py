"""The administration: options, users, jobs, and the schedule of the scraper."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path
from pydantic import BaseModel, Field, StrictInt, StrictStr

from catchment.domain.account import MAX_EMAIL
from catchment.domain.run import LEAST_INTERVAL, MAX_INTERVAL, BadMoment
from catchment.errors import InvalidInput, SchedulerFailed
from catchment.manage.accounts import MAX_NAME
from catchment.manage.scraper_schedule import ScheduleView, WrongMoment
from catchment.monitor.status import Language
from catchment.web.auth import ADMIN_ONLY, AdminOnly, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import In, Instant, PathId, Text
from catchment.web.outputs import Moment, Ok, Out
from catchment.web.routes.me import UserOut
from catchment.web.translations import AdministrationsLanguage

users_router = APIRouter(prefix="/api/admin/users", tags=["users"], responses=problems(401, 403))


class UserIn(In):
    email: Text = Field(max_length=MAX_EMAIL, examples=["ada@example.org"])
    name: Text = Field("", max_length=MAX_NAME)
    is_admin: bool = False


class EnrolmentOut(BaseModel):
    """The password and the key are shown this once."""

    user: UserOut
    temp_password: str
    api_key: str


class TempPasswordOut(BaseModel):
    temp_password: str = Field(examples=["gKpKvfiDpXn7u-g-"])


@users_router.get("")
async def list_users(system: TheSystem, _caller: AdminOnly) -> list[UserOut]:
    return [UserOut.model_validate(user) for user in await system.accounts.list_users()]


@users_router.post("", status_code=201, responses=problems(409, *OF_A_BODY))
async def add_user(system: TheSystem, _caller: AdminOnly, body: UserIn) -> EnrolmentOut:
    """Add somebody, with a password to begin with and a first key."""
    made = await system.accounts.enrol(body.email, name=body.name, is_admin=body.is_admin)
    return EnrolmentOut(user=UserOut.model_validate(made.user), temp_password=made.temp_password, api_key=made.api_key)


@users_router.post("/{user_id}/reset-password", responses=problems(404, 422))
async def reset_password(system: TheSystem, _caller: AdminOnly, user_id: PathId) -> TempPasswordOut:
    """A new password to begin with; whoever was signed in by the old one is signed out."""
    return TempPasswordOut(temp_password=await system.accounts.reset_password(user_id))


@users_router.post("/{user_id}/disable", responses=problems(404, 422))
async def disable_user(system: TheSystem, _caller: AdminOnly, user_id: PathId) -> UserOut:
    """Refuse somebody from now on, by whatever key, token or session."""
    return UserOut.model_validate(await system.accounts.set_active(user_id, is_active=False))


@users_router.post("/{user_id}/enable", responses=problems(404, 422))
async def enable_user(system: TheSystem, _caller: AdminOnly, user_id: PathId) -> UserOut:
    """Let somebody in again. Their keys work as before; by password they sign in anew."""
    return UserOut.model_validate(await system.accounts.set_active(user_id, is_active=True))


@users_router.post("/{user_id}/sign-out", responses=problems(404, 422))
async def sign_user_out(system: TheSystem, _caller: AdminOnly, user_id: PathId) -> UserOut:
    """End every session, login token and reader app of somebody. Keys and password stay good."""
    return UserOut.model_validate(await system.accounts.sign_out_everywhere(user_id))


jobs_router = APIRouter(prefix="/api/admin/jobs", tags=["schedule"], responses=problems(401, 403))

JobName = Annotated[str, Path(max_length=50)]


class JobOut(Out):
    name: str
    due_at: Moment | None
    is_paused: bool
    last_started_at: Moment | None
    last_finished_at: Moment | None
    last_ok: bool | None
    last_message: str
    runs: int


@jobs_router.get("")
async def list_jobs(system: TheSystem, _caller: AdminOnly) -> list[JobOut]:
    return [JobOut.model_validate(state) for state in await system.jobs.list()]


@jobs_router.post("/{name}/run", status_code=202, responses=problems(404, 409, 422))
async def run_job(name: JobName, system: TheSystem, _caller: AdminOnly) -> Ok:
    """Run it now, whatever its schedule says; a conflict when it is running."""
    await system.jobs.run_now(name)
    return Ok()


@jobs_router.post("/{name}/pause", responses=problems(404, 422))
async def pause_job(name: JobName, system: TheSystem, _caller: AdminOnly) -> JobOut:
    return JobOut.model_validate(await system.jobs.set_paused(name, is_paused=True))


@jobs_router.post("/{name}/resume", responses=problems(404, 422))
async def resume_job(name: JobName, system: TheSystem, _caller: AdminOnly) -> JobOut:
    return JobOut.model_validate(await system.jobs.set_paused(name, is_paused=False))


_SET: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"example": {"FETCH_INTERVAL_RSS": "60"}}}}
}
config_router = APIRouter(prefix="/api/config", tags=["config"], responses=problems(401, 403))


@config_router.get("", dependencies=[ADMIN_ONLY], responses=_SET)
async def read_config(system: TheSystem) -> dict[str, str]:
    """What is set in the config table."""
    return await system.interval_settings.read()


@config_router.put("", dependencies=[ADMIN_ONLY], responses=_SET | problems(*OF_A_BODY))
async def change_config(
    system: TheSystem,
    body: Annotated[dict[str, StrictInt | StrictStr | None], Body(examples=[{"FETCH_INTERVAL_RSS": 60}])],
) -> dict[str, str]:
    """Set options by name, whatever the case; null removes one. They take effect at the next tick."""
    return await system.interval_settings.change(body)


router = APIRouter(prefix="/api/admin/scraping/schedule", tags=["schedule"], responses=problems(401, 403, 500))

_STOPPED = {
    Language.CHINESE: "调度器当前未运行，配置已保存，将在启用后生效",
    Language.ENGLISH: "The scheduler is not running; the schedule is stored and takes effect once it runs",
}
_FAILED = {
    Language.CHINESE: "调度器操作失败",
    Language.ENGLISH: "The scheduler could not be changed, so nothing was stored",
}
_PAUSED = {Language.CHINESE: "调度已暂停", Language.ENGLISH: "The schedule is paused"}
_BAD_MOMENTS = {
    BadMoment.PAST: {
        Language.CHINESE: "下次触发时间必须为未来时间",
        Language.ENGLISH: "The next run must be in the future",
    },
    BadMoment.TOO_FAR: {
        Language.CHINESE: "下次触发时间不能超过 30 天后",
        Language.ENGLISH: "The next run must be within 30 days",
    },
}


class IntervalIn(In):
    interval_seconds: int = Field(ge=LEAST_INTERVAL, le=MAX_INTERVAL, examples=[3600])


class NextRunIn(In):
    next_run_time: Instant = Field(
        examples=["2027-01-01T06:00:00Z"], description="ISO 8601, in the future; a time without zone is UTC."
    )


class ScheduleOut(Out):
    interval_seconds: int
    cron: str | None = Field(description="`SCRAPER_CRON`, while it holds instead of the interval.")
    next_run_time: Moment | None
    scheduler_running: bool
    is_enabled: bool
    job_active: bool
    updated_at: Moment | None
    updated_by: str | None
    message: str | None = None

    @classmethod
    def of(cls, view: ScheduleView, language: Language) -> ScheduleOut:
        shown = cls.model_validate(view)
        return shown.model_copy(update={"message": _message(view, language)})


async def _changed(change: Awaitable[ScheduleView], language: Language) -> ScheduleOut:
    """What came of a change, or what went wrong with it, in the words of the administration."""
    try:
        return ScheduleOut.of(await change, language)
    except WrongMoment as wrong:
        raise InvalidInput(_BAD_MOMENTS[wrong.fault][language], field=wrong.field) from wrong
    except SchedulerFailed as failed:
        raise SchedulerFailed(_FAILED[language]) from failed


def _message(view: ScheduleView, language: Language) -> str | None:
    if not view.scheduler_running:
        return _STOPPED[language]
    return None if view.is_enabled else _PAUSED[language]


@router.get("")
async def show_schedule(system: TheSystem, _caller: AdminOnly, language: AdministrationsLanguage) -> ScheduleOut:
    """The interval, the next run, whether the scheduler runs, and who changed it last."""
    return ScheduleOut.of(await system.scraper_schedule.show(), language)


@router.put("/interval", responses=problems(*OF_A_BODY))
async def set_interval(
    body: IntervalIn, system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage
) -> ScheduleOut:
    """A new interval, stored and at work at once; a single next run that was asked for stays."""
    return await _changed(system.scraper_schedule.set_interval(body.interval_seconds, by=caller.name), language)


@router.delete("/interval")
async def take_back_interval(system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage) -> ScheduleOut:
    """Take an interval back that an administrator set: `SCRAPER_CRON` or `SCRAPER_INTERVAL` hold again."""
    return await _changed(system.scraper_schedule.take_back_interval(by=caller.name), language)


@router.put("/next-run", responses=problems(*OF_A_BODY))
async def set_next_run(
    body: NextRunIn, system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage
) -> ScheduleOut:
    """A single run at this moment; the interval goes on from it."""
    return await _changed(system.scraper_schedule.set_next_run(body.next_run_time, by=caller.name), language)


@router.post("/enable")
async def enable(system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage) -> ScheduleOut:
    """Run on schedule; nothing changes where it already does."""
    return await _changed(system.scraper_schedule.enable(by=caller.name), language)


@router.post("/disable")
async def disable(system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage) -> ScheduleOut:
    """Stop running on schedule; what was set stays set."""
    return await _changed(system.scraper_schedule.disable(by=caller.name), language)
