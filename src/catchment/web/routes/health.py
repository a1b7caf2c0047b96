"""Is it alive, is it ready, and what are the numbers."""

from __future__ import annotations

from enum import StrEnum

from fastapi import APIRouter, Request, Response
from loguru import logger

from catchment.bootstrap import System
from catchment.errors import StoreError
from catchment.store.migrate import current_revision
from catchment.web.auth import OPEN, TheSystem
from catchment.web.errors import problems
from catchment.web.metrics import Metrics, Numbers, read_numbers
from catchment.web.outputs import Moment, Out
from catchment.web.routes.collector import CollectorOut, StatsOut

router = APIRouter(tags=["health"], responses=problems(401))


class Health(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


class Component(Out):
    status: Health
    message: str


class NumbersOut(Out):
    stats: StatsOut
    collector: CollectorOut
    items: int

    @classmethod
    def of(cls, numbers: Numbers) -> NumbersOut:
        return cls(
            stats=StatsOut.of(numbers.stats),
            collector=CollectorOut.model_validate(numbers.collector),
            items=numbers.items,
        )


class HealthOut(Out):
    status: Health
    timestamp: Moment
    components: dict[str, Component]
    #: The same as yes or no.
    checks: dict[str, bool]
    metrics: NumbersOut | None


class Ready(Out):
    ready: bool
    reason: str


class Alive(Out):
    status: str = "ok"


@router.get("/api/health", dependencies=[OPEN])
async def alive() -> Alive:
    return Alive()


@router.get("/health", dependencies=[OPEN])
async def health(system: TheSystem) -> HealthOut:
    """How each part is. The answer is always 200: whoever answers is alive."""
    numbers = await _numbers_if_any(system)
    components = {"store": _store_health(numbers), "collector": _collector_health(numbers)}
    return HealthOut(
        status=_overall(components),
        timestamp=system.clock.now(),
        components=components,
        checks={name: component.status is Health.HEALTHY for name, component in components.items()},
        metrics=NumbersOut.of(numbers) if numbers else None,
    )


@router.get(
    "/ready", dependencies=[OPEN], responses={503: {"model": Ready, "description": "The store cannot be used yet."}}
)
async def ready(system: TheSystem, response: Response) -> Ready:
    """200 once requests can be served, 503 before."""
    try:
        revision = await system.store.read(current_revision)
    except StoreError as error:
        logger.error("not ready: {}", error)
        revision = None
    if revision is None:
        response.status_code = 503
        return Ready(ready=False, reason="The store cannot be used at this moment.")
    return Ready(ready=True, reason=f"The store is at schema {revision}.")


@router.get("/metrics", dependencies=[OPEN], response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, system: TheSystem) -> Response:
    """For Prometheus."""
    gauges: Metrics = request.app.state.metrics
    body = gauges.render(await read_numbers(system.store, system.clock))
    return Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/api/metrics", dependencies=[OPEN])
async def metrics_as_json(system: TheSystem) -> NumbersOut:
    return NumbersOut.of(await read_numbers(system.store, system.clock))


async def _numbers_if_any(system: System) -> Numbers | None:
    try:
        return await read_numbers(system.store, system.clock)
    except StoreError as error:
        logger.error("unhealthy: {}", error)
        return None


def _store_health(numbers: Numbers | None) -> Component:
    if numbers is None:
        return Component(status=Health.UNHEALTHY, message="The store cannot be used.")
    return Component(status=Health.HEALTHY, message="The store answers.")


def _collector_health(numbers: Numbers | None) -> Component:
    if numbers is None or not numbers.collector.running:
        return Component(status=Health.DEGRADED, message="No collector is known to be at work.")
    return Component(status=Health.HEALTHY, message=f"At work, {numbers.collector.in_flight} in flight.")


def _overall(components: dict[str, Component]) -> Health:
    found = {component.status for component in components.values()}
    if Health.UNHEALTHY in found:
        return Health.UNHEALTHY
    return Health.DEGRADED if Health.DEGRADED in found else Health.HEALTHY
