"""Is it alive, is it ready, and what are the numbers."""

from __future__ import annotations

import resource
from collections.abc import Iterable
from enum import StrEnum

from fastapi import APIRouter, Request, Response
from loguru import logger
from pydantic import Field

from catchment.bootstrap import System
from catchment.domain.alert_rules import Severity
from catchment.domain.cookie import CookieStatus
from catchment.errors import StoreError
from catchment.monitor.alerting import CookieNumbers, count_cookies
from catchment.store.database import WriteTrouble
from catchment.store.fetch_log import Requests
from catchment.store.migrate import current_revision
from catchment.web.auth import OPEN, TheSystem
from catchment.web.errors import problems
from catchment.web.metrics import Metrics, Numbers, read_numbers
from catchment.web.outputs import Moment, Out
from catchment.web.routes.collector import CollectorOut, StatsOut

router = APIRouter(tags=["health"], responses=problems(401))

NO_COOKIES = "no_active_cookies"
#: What the database said may name hosts and paths: it is for the log.
UNWRITABLE = {
    WriteTrouble.FULL: "The store can be read but not written: its disk is full.",
    WriteTrouble.READ_ONLY: "The store can be read but not written: it is read-only.",
    WriteTrouble.HELD: "The store can be read but not written: another program holds it.",
    WriteTrouble.FAILING: "The store can be read but not written; the log says why.",
}


class HealthStatus(StrEnum):
    HEALTHY = "healthy"
    DEGRADED = "degraded"
    UNHEALTHY = "unhealthy"


class Component(Out):
    status: HealthStatus
    message: str


class RequestsOut(Out):
    """To crawled platforms, in the last 24 hours."""

    total: int
    success: int
    error: int
    success_rate: float | None

    @classmethod
    def of(cls, requests: Iterable[Requests]) -> RequestsOut:
        counted = [*requests]
        success, error = sum(one.ok for one in counted), sum(one.failed for one in counted)
        total = success + error
        return cls(total=total, success=success, error=error, success_rate=success / total if total else None)


class CookiesOut(Out):
    active: int
    cooling: int
    invalid: int
    banned: int
    total: int
    available: int
    daily_usage_rate: float | None

    @classmethod
    def of(cls, cookies: CookieNumbers) -> CookiesOut:
        by_status = {status.value: cookies.of_status(status) for status in CookieStatus}
        available = sum(cookies.available.values())
        return cls(**by_status, total=cookies.total, available=available, daily_usage_rate=cookies.daily_usage_rate)


class ResourcesOut(Out):
    #: The most that this process ever took.
    memory_mb: int

    @classmethod
    def of_this_process(cls) -> ResourcesOut:
        return cls(memory_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


class NumbersOut(Out):
    stats: StatsOut
    collector: CollectorOut
    items: int
    alerts: dict[Severity, int]
    requests: RequestsOut
    cookies: CookiesOut
    resources: ResourcesOut

    @classmethod
    def of(cls, numbers: Numbers) -> NumbersOut:
        return cls(
            stats=StatsOut.model_validate(numbers.stats),
            collector=CollectorOut.model_validate(numbers.collector),
            items=numbers.items,
            alerts={severity: numbers.alerts.get(severity, 0) for severity in Severity},
            requests=RequestsOut.of(numbers.requests.values()),
            cookies=CookiesOut.of(numbers.cookies),
            resources=ResourcesOut.of_this_process(),
        )


class HealthOut(Out):
    status: HealthStatus
    timestamp: Moment
    components: dict[str, Component]
    #: The same as yes or no.
    checks: dict[str, bool]
    metrics: NumbersOut | None


class Ready(Out):
    ready: bool = Field(examples=[True])
    reason: str = Field(examples=[""])


class LivenessOut(Out):
    status: str = Field(default="ok", examples=["ok"])


@router.get("/live", dependencies=[OPEN])
@router.get("/api/health", dependencies=[OPEN])
async def alive() -> LivenessOut:
    return LivenessOut()


@router.get("/health", dependencies=[OPEN])
async def health(system: TheSystem) -> HealthOut:
    """How each part is. The answer is always 200: whoever answers is alive."""
    numbers = await _numbers_if_any(system)
    components = {
        "store": _store_health(numbers, await system.store.checked.trouble(system.clock.now())),
        "collector": _collector_health(numbers),
        "cookies": _cookie_health(numbers),
        **_clock_health(numbers),
    }
    return HealthOut(
        status=_overall(components),
        timestamp=system.clock.now(),
        components=components,
        checks={name: component.status is HealthStatus.HEALTHY for name, component in components.items()},
        metrics=NumbersOut.of(numbers) if numbers else None,
    )


@router.get(
    "/ready", dependencies=[OPEN], responses={503: {"model": Ready, "description": "What is needed is not there."}}
)
async def ready(system: TheSystem, response: Response) -> Ready:
    """200 once requests can be served; 503 before, while the store cannot be written, and while there are cookies of
    which none can be used.
    """
    found = await _readiness(system)
    response.status_code = 200 if found.ready else 503
    return found


_FIGURES = {"text/plain": {"example": 'catchment_sources{status="ok"} 27.0\n'}}


@router.get("/metrics", dependencies=[OPEN], response_class=Response, responses={200: {"content": _FIGURES}})
async def metrics(request: Request, system: TheSystem) -> Response:
    """For Prometheus."""
    gauges: Metrics = request.app.state.metrics
    body = gauges.render(await read_numbers(system))
    return Response(body, media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/api/metrics", dependencies=[OPEN])
async def metrics_as_json(system: TheSystem) -> NumbersOut:
    return NumbersOut.of(await read_numbers(system))


async def _readiness(system: System) -> Ready:
    try:
        revision = await system.store.read(current_revision)
        are_spent = revision is not None and count_cookies(await system.cookies.list()).are_spent
    except StoreError as error:
        logger.error("not ready: {}", error)
        revision = None
    if revision is None:
        return Ready(ready=False, reason="The store cannot be used at this moment.")
    trouble = await system.store.checked.trouble(system.clock.now())
    if trouble is not None:
        return Ready(ready=False, reason=UNWRITABLE[trouble])
    if are_spent:
        return Ready(ready=False, reason=NO_COOKIES)
    return Ready(ready=True, reason=f"The store is at schema {revision}.")


async def _numbers_if_any(system: System) -> Numbers | None:
    try:
        return await read_numbers(system)
    except StoreError as error:
        logger.error("unhealthy: {}", error)
        return None


def _store_health(numbers: Numbers | None, trouble: WriteTrouble | None) -> Component:
    if numbers is None:
        return Component(status=HealthStatus.UNHEALTHY, message="The store cannot be used.")
    if trouble is not None:
        return Component(status=HealthStatus.UNHEALTHY, message=UNWRITABLE[trouble])
    return Component(status=HealthStatus.HEALTHY, message="The store answers.")


def _collector_health(numbers: Numbers | None) -> Component:
    if numbers is None or not numbers.collector.running:
        return Component(status=HealthStatus.DEGRADED, message="No collector is known to be at work.")
    return Component(status=HealthStatus.HEALTHY, message=f"At work, {numbers.collector.in_flight} in flight.")


def _cookie_health(numbers: Numbers | None) -> Component:
    if numbers is None or numbers.cookies.are_spent:
        return Component(status=HealthStatus.DEGRADED, message="No cookie can be used.")
    return Component(status=HealthStatus.HEALTHY, message=f"{sum(numbers.cookies.available.values())} can be used.")


def _clock_health(numbers: Numbers | None) -> dict[str, Component]:
    """Nothing while there is nothing to say."""
    if numbers is None or numbers.clock_jump is None:
        return {}
    return {"clock": Component(status=HealthStatus.DEGRADED, message=numbers.clock_jump)}


def _overall(components: dict[str, Component]) -> HealthStatus:
    found = {component.status for component in components.values()}
    if HealthStatus.UNHEALTHY in found:
        return HealthStatus.UNHEALTHY
    return HealthStatus.DEGRADED if HealthStatus.DEGRADED in found else HealthStatus.HEALTHY
