"""Numbers for Prometheus, in a registry of the app's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
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
            collector=read_collector(conn, now=now),
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
        self._sources = Gauge("catchment_sources", "Sources by status.", ["status"], registry=self._registry)
        self._alerts = Gauge("catchment_alerts", "Alerts that fire.", ["severity"], registry=self._registry)
        self._cookies = Gauge("catchment_cookies", "Cookies by state.", ["platform", "status"], registry=self._registry)
        self._available = Gauge(
            "catchment_cookies_available", "Cookies that could be lent now.", ["platform"], registry=self._registry
        )
        self._crawled = Gauge(
            "catchment_crawl_requests_24h",
            "Requests to crawled platforms in the last 24 hours.",
            ["platform", "result"],
            registry=self._registry,
        )
        self._x_tasks = Gauge(
            "catchment_x_tasks_24h", "Scrapes of X in the last 24 hours.", ["status"], registry=self._registry
        )
        self._x_pages = Gauge(
            "catchment_x_pages", "Pages of X spent this day and month.", ["period"], registry=self._registry
        )
        self._x_failures = self._gauge("catchment_x_failures_24h", "Users of X who could not be scraped in 24 hours.")
        self._items = self._gauge("catchment_items", "Items kept.")
        self._items_day = self._gauge("catchment_items_24h", "Items stored in the last 24 hours.")
        self._fetches = self._gauge("catchment_fetches_24h", "Visits to sources in the last 24 hours.")
        self._errors = self._gauge("catchment_fetch_errors_24h", "Visits that failed in the last 24 hours.")
        self._in_flight = self._gauge("catchment_runs_in_flight", "Sources being collected now.")
        self._queue = self._gauge("catchment_sources_due", "Sources that are due and wait.")
        self._up = self._gauge("catchment_collector_running", "1 while a collector is at work.")

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """`route` is the template, never the path: a path would make a series of its own for every id."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(method, route).observe(seconds)

    def render(self, numbers: Numbers) -> bytes:
        stats = numbers.stats
        by_status = {
            "healthy": stats.active_sources - stats.failing_sources,
            "failing": stats.failing_sources,
            "paused_by_error": stats.paused_by_error,
            "gone": stats.gone_sources,
            "paused_by_hand": stats.paused_sources - stats.paused_by_error - stats.gone_sources,
        }
        for status, count in by_status.items():
            self._sources.labels(status).set(count)
        self._items.set(numbers.items)
        self._items_day.set(stats.items_24h)
        self._fetches.set(stats.fetches_24h)
        self._errors.set(stats.errors_24h)
        self._in_flight.set(numbers.collector.in_flight)
        self._queue.set(numbers.collector.queue)
        self._up.set(numbers.collector.running)
        for severity in Severity:
            self._alerts.labels(severity).set(numbers.alerts.get(severity, 0))
        for platform in Platform:
            self._set_platform(platform, numbers)
        self._set_x(numbers.x)
        return generate_latest(self._registry)

    def _set_x(self, x: XNumbers) -> None:
        for status, count in x.tasks_24h.items():
            self._x_tasks.labels(status).set(count)
        self._x_failures.set(x.failed_users_24h)
        self._x_pages.labels("day").set(x.pages_today)
        self._x_pages.labels("month").set(x.pages_this_month)

    def _set_platform(self, platform: Platform, numbers: Numbers) -> None:
        for status in CookieStatus:
            self._cookies.labels(platform, status).set(numbers.cookies.by_status.get((platform, status), 0))
        self._available.labels(platform).set(numbers.cookies.available.get(platform, 0))
        requests = numbers.requests.get(platform, Requests())
        self._crawled.labels(platform, "ok").set(requests.ok)
        self._crawled.labels(platform, "failed").set(requests.failed)

    def _gauge(self, name: str, help_text: str) -> Gauge:
        return Gauge(name, help_text, registry=self._registry)
