"""Numbers for Prometheus, in a registry of the app's own."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.caller import OPERATOR
from catchment.monitor.status import CollectorState, Stats, read_collector, read_stats
from catchment.store import overview
from catchment.store.door import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What there is to count, over all sources."""

    stats: Stats
    collector: CollectorState
    items: int


async def read_numbers(store: Store, clock: Clock) -> Numbers:
    def gather(conn: Connection) -> Numbers:
        now = clock.now()
        return Numbers(
            stats=read_stats(conn, OPERATOR, now=now),
            collector=read_collector(conn, now=now),
            items=overview.count_items(conn),
        )

    return await store.read(gather)


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
            "paused_by_hand": stats.paused_sources - stats.paused_by_error,
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
        return generate_latest(self._registry)

    def _gauge(self, name: str, help_text: str) -> Gauge:
        return Gauge(name, help_text, registry=self._registry)
