"""Numbers for Prometheus, in a registry of the app's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import Connection

from catchment.bootstrap import System
from catchment.domain.alert_rules import Severity
from catchment.domain.caller import OPERATOR
from catchment.domain.cookie import CookieStatus
from catchment.domain.note import Platform
from catchment.monitor.alerting import CookieNumbers, XNumbers, count_cookies, read_requests, read_x
from catchment.monitor.status import CollectorState, Stats, read_clock_jump, read_collector, read_stats
from catchment.store import alerts, changes
from catchment.store.fetch_log import Requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What there is to count, over all sources."""

    stats: Stats
    collector: CollectorState
    items: int
    #: Alerts that fire.
    alerts: Mapping[Severity, int]
    cookies: CookieNumbers
    #: To crawled platforms, in the last 24 hours.
    requests: Mapping[str, Requests]
    x: XNumbers
    #: What is told of the clock, if it jumped of late.
    clock_jump: str | None


async def read_numbers(system: System) -> Numbers:
    cookies = count_cookies(await system.cookies.list())

    def gather(conn: Connection) -> Numbers:
        now = system.clock.now()
        return Numbers(
            stats=read_stats(conn, OPERATOR, now=now),
            collector=read_collector(conn, OPERATOR, now=now),
            items=changes.count_items(conn),
            alerts=alerts.count_firing(conn),
            cookies=cookies,
            requests=read_requests(conn, now=now),
            x=read_x(conn, system.settings, now=now),
            clock_jump=read_clock_jump(conn, now=now),
        )

    return await system.store.read(gather)


class Metrics:
    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "catchment_http_requests", "Requests answered.", ["method", "route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "catchment_http_request_seconds", "Time to answer.", ["method", "route"], registry=self._registry
        )

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """`route` is the template, never the path: a path would make a series of its own for every id."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(method, route).observe(seconds)

    def render(self, numbers: Numbers) -> bytes:
        gauges = CollectorRegistry()
        gauges.register(_Gauges(numbers))
        return generate_latest(self._registry) + generate_latest(gauges)


class _Gauges(Collector):
    """What there is to count at this moment, each figure with what it is called."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        yield from self._of_sources()
        yield from self._of_platforms()
        yield from self._of_x()
        firing = {severity: self._numbers.alerts.get(severity, 0) for severity in Severity}
        yield _gauge("catchment_alerts", "Alerts that fire.", firing, "severity")

    def _of_sources(self) -> Iterator[Metric]:
        stats, collector = self._numbers.stats, self._numbers.collector
        by_status = {
            "healthy": stats.active_sources - stats.failing_sources,
            "failing": stats.failing_sources,
            "paused_by_error": stats.paused_by_error,
            "gone": stats.gone_sources,
            "paused_by_hand": stats.paused_sources - stats.paused_by_error - stats.gone_sources,
        }
        yield _gauge("catchment_sources", "Sources by status.", by_status, "status")
        yield _gauge("catchment_items", "Items kept.", self._numbers.items)
        yield _gauge("catchment_items_24h", "Items stored in the last 24 hours.", stats.items_24h)
        yield _gauge("catchment_fetches_24h", "Visits to sources in the last 24 hours.", stats.fetches_24h)
        yield _gauge("catchment_fetch_errors_24h", "Visits that failed in the last 24 hours.", stats.errors_24h)
        help_text = "Visits in the last 24 hours that failed by no fault of a source; not among the fetches."
        yield _gauge("catchment_fetches_excused_24h", help_text, stats.excused_24h)
        yield _gauge("catchment_runs_in_flight", "Sources being collected now.", collector.in_flight)
        yield _gauge("catchment_sources_due", "Sources that are due and wait.", collector.queue)
        yield _gauge("catchment_collector_running", "1 while a collector is at work.", collector.running)

    def _of_platforms(self) -> Iterator[Metric]:
        cookies, requests = self._numbers.cookies, self._numbers.requests
        states = {key: cookies.by_status.get(key, 0) for key in product(Platform, CookieStatus)}
        yield _gauge("catchment_cookies", "Cookies by state.", states, "platform", "status")
        lendable = {platform: cookies.available.get(platform, 0) for platform in Platform}
        yield _gauge("catchment_cookies_available", "Cookies that could be lent now.", lendable, "platform")
        asked = {platform: requests.get(platform, Requests()) for platform in Platform}
        results = {(platform, "ok"): one.ok for platform, one in asked.items()}
        results |= {(platform, "failed"): one.failed for platform, one in asked.items()}
        help_text = "Requests to crawled platforms in the last 24 hours."
        yield _gauge("catchment_crawl_requests_24h", help_text, results, "platform", "result")

    def _of_x(self) -> Iterator[Metric]:
        x = self._numbers.x
        spent = {"day": x.pages_today, "month": x.pages_this_month}
        yield _gauge("catchment_x_tasks_24h", "Scrapes of X in the last 24 hours.", x.tasks_24h, "status")
        yield _gauge("catchment_x_pages", "Pages of X spent this day and month.", spent, "period")
        help_text = "Users of X who could not be scraped in 24 hours."
        yield _gauge("catchment_x_failures_24h", help_text, x.failed_users_24h)


def _gauge(name: str, help_text: str, values: float | Mapping[Any, float], *labels: str) -> Metric:
    """One value, or several by their labels."""
    family = GaugeMetricFamily(name, help_text, labels=labels)
    for key, value in values.items() if isinstance(values, Mapping) else [((), values)]:
        family.add_metric([key] if isinstance(key, str) else list(key), value)
    return family
