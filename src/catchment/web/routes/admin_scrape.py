"""Scraping X by hand: begin, watch, cancel. What is wrong with a request is 400 here, with the field at fault."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import Field, StrictBool, StrictInt

from catchment.bootstrap import System
from catchment.domain.scrape_task import (
    LEAST_LIMIT,
    MAX_LIMIT,
    MAX_USERS,
    ScrapeOrder,
    TaskStatus,
    how_far,
    usernames_in,
)
from catchment.errors import InvalidInput
from catchment.web.auth import AdminOnly, TheSystem
from catchment.web.errors import ErrorHandlingRoute, InvalidProblem, problem, problems
from catchment.web.inputs import BackwardWindow, In, Instant, Text, check_window
from catchment.web.outputs import Moment, Out

_BAD_REQUEST: dict[int | str, dict[str, Any]] = {400: {"model": InvalidProblem, "description": "Bad Request"}}


class FaultyFieldRoute(ErrorHandlingRoute):
    """Answers 400 where the rest of the API answers 422, as clients of the scraper know it."""

    def told(self, request: Request, error: Exception) -> Response:  # noqa: ARG002 - its base class names it
        if isinstance(error, RequestValidationError):
            field, message = _first_fault(error)
            return problem(400, f"{field}: {message}", field=field)
        if isinstance(error, InvalidInput) and not isinstance(error, BackwardWindow):
            return problem(400, f"{error.field}: {error}" if error.field else str(error), field=error.field)
        raise error


router = APIRouter(
    prefix="/api/admin/scrape",
    tags=["x"],
    responses={**problems(401, 403), **_BAD_REQUEST},
    route_class=FaultyFieldRoute,
)

TaskId = Annotated[str, Path(max_length=64)]


class ScrapeIn(In):
    usernames: Text | None = Field(default=None, examples=["openai,nasa"])
    limit: StrictInt | None = Field(
        default=None, description="Of each, read this far, also below what is known; left out: 100 at most, the news."
    )
    full: StrictBool = Field(default=False, description="Read each timeline to its end, as far as pages may be spent.")
    since: Instant | None = None
    until: Instant | None = None


class StartedOut(Out):
    task_id: str = Field(examples=["7f0c2d5e"])
    status: TaskStatus


class TaskOut(Out):
    task_id: str
    task_name: str = "scrape"
    status: TaskStatus
    created_at: Moment
    updated_at: Moment
    started_at: Moment = Field(validation_alias="created_at")
    completed_at: Moment | None
    progress: dict[str, int | float]
    result: dict[str, Any] | None
    error: str | None
    metadata: dict[str, Any]


class MessageOut(Out):
    message: str = Field(examples=["Task 7f0c2d5e is forgotten."])


@router.post("", status_code=202, responses=problems(409, 413, 422, 429))
async def start_scrape(body: ScrapeIn, system: TheSystem, caller: AdminOnly) -> StartedOut:
    """Scrape these users, comma-separated, or everybody who is followed, in the background.

    409 when one of them is being scraped, 429 when the pages that may be spent are used up.
    """
    _check(body)
    limit, depth = how_far(body.limit, full=body.full)
    order = ScrapeOrder(
        usernames=named_users(body.usernames) if body.usernames is not None else await followed_users(system),
        limit=limit,
        depth=depth,
        since=body.since,
        until=body.until,
        asked_by=caller.name,
    )
    task = await system.scraping.start(order)
    return StartedOut(task_id=task.task_id, status=TaskStatus.PENDING)


@router.get("")
async def list_tasks(
    system: TheSystem, _caller: AdminOnly, status: Annotated[TaskStatus | None, Query()] = None
) -> list[TaskOut]:
    """Tasks of the last day, the newest first."""
    return [TaskOut.model_validate(task) for task in await system.scraping.list(status=status)]


@router.get("/{task_id}", responses=problems(404))
async def show_task(task_id: TaskId, system: TheSystem, _caller: AdminOnly) -> TaskOut:
    return TaskOut.model_validate(await system.scraping.get(task_id))


@router.post("/{task_id}/cancel", responses=problems(404))
async def cancel_task(task_id: TaskId, system: TheSystem, _caller: AdminOnly) -> TaskOut:
    """End it, if it runs; what it has stored stays."""
    return TaskOut.model_validate(await system.scraping.cancel(task_id))


@router.delete("/{task_id}", responses=problems(404, 409))
async def forget_task(task_id: TaskId, system: TheSystem, _caller: AdminOnly) -> MessageOut:
    """Forget a task that is over; one that runs is a conflict."""
    await system.scraping.forget(task_id)
    return MessageOut(message=f"Task {task_id} is forgotten.")


def _first_fault(error: RequestValidationError) -> tuple[str, str]:
    """Where, and what. A place is `body`, `query` or `path`, and the name of a field unless it is all of the body."""
    fault = error.errors()[0]
    names = [step for step in fault["loc"][1:] if isinstance(step, str)]
    return (names or [str(fault["loc"][0])])[0], fault["msg"]


def _check(body: ScrapeIn) -> None:
    if body.limit is not None and not LEAST_LIMIT <= body.limit <= MAX_LIMIT:
        raise InvalidInput(f"{LEAST_LIMIT} to {MAX_LIMIT}; {body.limit} is not.", field="limit")
    if body.limit is not None and body.full:
        raise InvalidInput("A limit and all of it cannot both be; leave one out.", field="limit")
    check_window(body.since, body.until)


def named_users(usernames: str) -> tuple[str, ...]:
    try:
        names = usernames_in(usernames)
    except InvalidInput as error:
        raise InvalidInput(str(error), field="usernames") from error
    if not 0 < len(names) <= MAX_USERS:
        raise InvalidInput(f"Name 1 to {MAX_USERS} users, comma-separated.", field="usernames")
    return names


async def followed_users(system: System) -> tuple[str, ...]:
    followed = tuple(follow.username for follow in await system.follows.list())
    if not followed:
        raise InvalidInput("Nobody is followed, so name somebody.", field="usernames")
    return followed
