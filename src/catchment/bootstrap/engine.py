"""The engine, made for a system."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from catchment.domain.sealing import open_config
from catchment.engine.collector import Collector
from catchment.engine.commit import Committer, RecordWriters, Rules
from catchment.engine.hosts import HostRegistry
from catchment.engine.pool import Pool
from catchment.engine.visit import Crawl, Visitor

if TYPE_CHECKING:
    from catchment.bootstrap import System

_OBJECTS_BETWEEN_LOOKS = 50_000


def make_collector(system: System) -> Collector:
    store, clock, leases = system.store, system.clock, system.new_leases()
    committer = _committer(system)
    hosts = HostRegistry(store=store, http=system.http, clock=clock, leases=leases)
    visitor = Visitor(
        store=store,
        registry=system.registry,
        clients=system.clients,
        clock=clock,
        start_crawl=_start_crawl,
        resolve=system.resolve_first,
        held_until=system.http.held_until,
    )
    pool = Pool(
        store=store,
        visitor=visitor,
        committer=committer,
        hosts=hosts,
        leases=leases,
        clock=clock,
        concurrency=system.settings.concurrency,
    )
    _rarely_collect_garbage()
    return Collector(
        store=store,
        registry=system.registry,
        pool=pool,
        hosts=hosts,
        committer=committer,
        cadences=system.cadences,
        cleaner=system.cleaner,
        clock_monitor=system.clock_monitor,
        leases=leases,
        clock=clock,
    )


def _committer(system: System) -> Committer:
    registry = system.registry

    def keep_records(conn: Any, records: Sequence[object], now: datetime) -> None:
        if not records:
            return
        # Imported here, as only X brings any.
        from catchment.domain.tweet import Scrape

        RecordWriters({Scrape: system.scrape_writer})(conn, records, now)

    rules = Rules(
        cadence_of=system.cadences.of,
        identity_of=lambda kind, config: registry.identity(kind, open_config(config, system.vault)),
        is_crawled=registry.is_crawled,
        keep_records=keep_records,
    )
    return Committer(store=system.store, rules=rules, clock=system.clock)


def _start_crawl(**parts: Any) -> Crawl:
    from catchment.crawl import Crawler

    return Crawler(**parts)


def _rarely_collect_garbage() -> None:
    """What is there by now stays, and what a visit makes goes by itself; to look for cycles took a sixth of it."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, *gc.get_threshold()[1:])
