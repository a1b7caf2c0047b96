"""The administration of jobs: what the system does by itself, when next, and whether it went well."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from catchment.web.auth import AdminOnly, TheSystem
from catchment.web.errors import problems
from catchment.web.outputs import Moment, Ok, Out

router = APIRouter(prefix="/api/admin/jobs", tags=["schedule"], responses=problems(401, 403))

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


@router.get("")
async def list_jobs(system: TheSystem, _caller: AdminOnly) -> list[JobOut]:
    return [JobOut.model_validate(state) for state in await system.jobs.list()]


@router.post("/{name}/run", status_code=202, responses=problems(404, 409, 422))
async def run_job(name: JobName, system: TheSystem, _caller: AdminOnly) -> Ok:
    """Run it now, whatever its schedule says; a conflict when it is running."""
    await system.jobs.run_now(name)
    return Ok()


@router.post("/{name}/pause", responses=problems(404, 422))
async def pause_job(name: JobName, system: TheSystem, _caller: AdminOnly) -> JobOut:
    return JobOut.model_validate(await system.jobs.set_paused(name, is_paused=True))


@router.post("/{name}/resume", responses=problems(404, 422))
async def resume_job(name: JobName, system: TheSystem, _caller: AdminOnly) -> JobOut:
    return JobOut.model_validate(await system.jobs.set_paused(name, is_paused=False))
