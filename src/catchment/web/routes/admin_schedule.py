"""The administration of the scraper's schedule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter
from pydantic import BaseModel, Field

from catchment.domain.run import LEAST_INTERVAL, MAX_INTERVAL, BadMoment
from catchment.errors import InvalidInput, SchedulerFailed
from catchment.manage.scraper_schedule import ScheduleView, WrongMoment
from catchment.monitor.reason import Language
from catchment.web.auth import AdminOnly, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import Instant
from catchment.web.outputs import Moment, Out
from catchment.web.translations import AdministrationsLanguage

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


class IntervalIn(BaseModel):
    interval_seconds: int = Field(ge=LEAST_INTERVAL, le=MAX_INTERVAL)


class NextRunIn(BaseModel):
    next_run_time: Instant = Field(description="ISO 8601, in the future; a time without zone is UTC.")


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


@contextmanager
def _worded(language: Language) -> Iterator[None]:
    """What can go wrong, in the words of the administration."""
    try:
        yield
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
    with _worded(language):
        view = await system.scraper_schedule.set_interval(body.interval_seconds, by=caller.name)
    return ScheduleOut.of(view, language)


@router.delete("/interval")
async def take_back_interval(system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage) -> ScheduleOut:
    """Take an interval back that an administrator set: `SCRAPER_CRON` or `SCRAPER_INTERVAL` hold again."""
    with _worded(language):
        return ScheduleOut.of(await system.scraper_schedule.take_back_interval(by=caller.name), language)


@router.put("/next-run", responses=problems(*OF_A_BODY))
async def set_next_run(
    body: NextRunIn, system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage
) -> ScheduleOut:
    """A single run at this moment; the interval goes on from it."""
    with _worded(language):
        view = await system.scraper_schedule.set_next_run(body.next_run_time, by=caller.name)
    return ScheduleOut.of(view, language)


@router.post("/enable")
async def enable(system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage) -> ScheduleOut:
    """Run on schedule; nothing changes where it already does."""
    with _worded(language):
        return ScheduleOut.of(await system.scraper_schedule.enable(by=caller.name), language)


@router.post("/disable")
async def disable(system: TheSystem, caller: AdminOnly, language: AdministrationsLanguage) -> ScheduleOut:
    """Stop running on schedule; what was set stays set."""
    with _worded(language):
        return ScheduleOut.of(await system.scraper_schedule.disable(by=caller.name), language)
