"""The composition root: Settings in, System out. It alone knows everybody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from catchment.clock import Clock, SystemClock
from catchment.collect.cadence import CadenceBook
from catchment.collect.collector import Collector
from catchment.collect.committer import Committer
from catchment.collect.housekeeping import Housekeeper
from catchment.collect.leases import LeasePolicy, owner_name
from catchment.collect.offload import Workbench
from catchment.collect.pool import Pool
from catchment.collect.visitor import Visitor
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.dial import SystemLookup
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.manage.accounts import Accounts
from catchment.manage.catalog import Catalog
from catchment.manage.options import Options
from catchment.manage.preview import Previewer
from catchment.manage.subscriptions import Subscriptions
from catchment.settings import Settings
from catchment.sources.base import Registry
from catchment.sources.rss import RssFetcher
from catchment.store.door import Store, open_store
from catchment.store.migrate import migrate

#: A worker waits this long for a turn at a host; past it the source is put off and the worker is free for others.
PATIENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Everything there is, wired up."""

    settings: Settings
    clock: Clock
    store: Store
    http: HttpClient
    registry: Registry
    cadences: CadenceBook
    catalog: Catalog
    previewer: Previewer
    subscriptions: Subscriptions
    options: Options
    accounts: Accounts
    collector: Collector


@asynccontextmanager
async def open_system(settings: Settings, *, clock: Clock | None = None) -> AsyncIterator[System]:
    """Open the store at the schema of this release, and build everything on it."""
    clock = clock or SystemClock()
    store = open_store(settings.store_url())
    workbench = Workbench(settings.parser_processes)
    try:
        await migrate(store)
        guard = AddressGuard.parse(settings.allow_networks)
        async with _http_client(settings, guard, clock) as http:
            yield _wire(settings, clock, store, guard, http, workbench)
    finally:
        workbench.close()
        await store.close()


def _http_client(settings: Settings, guard: AddressGuard, clock: Clock) -> HttpClient:
    policy = PacePolicy(
        concurrency=settings.host_concurrency,
        spacing_seconds=settings.host_spacing_seconds,
        budget_per_minute=settings.host_budget_per_minute,
    )
    return HttpClient(
        guard=guard,
        pacer=Pacer(policy),
        lookup=SystemLookup(),
        limits=Limits(total_seconds=settings.timeout_seconds, patience_seconds=PATIENCE_SECONDS),
        user_agent=settings.user_agent,
        clock=clock,
        pace_allowed=settings.pace_allowed,
    )


def _wire(
    settings: Settings,
    clock: Clock,
    store: Store,
    guard: AddressGuard,
    http: HttpClient,
    workbench: Workbench,
) -> System:
    registry = Registry([RssFetcher()])
    cadences = CadenceBook(store=store, settings=settings)
    leases = LeasePolicy(owner=owner_name(), duration=timedelta(seconds=settings.lease_seconds))
    committer = Committer(store=store, cadence_of=cadences.of, clock=clock)
    pool = Pool(
        store=store,
        visitor=Visitor(registry=registry, http=http, offload=workbench, clock=clock),
        committer=committer,
        leases=leases,
        clock=clock,
        concurrency=settings.concurrency,
    )
    collector = Collector(
        store=store,
        registry=registry,
        pool=pool,
        committer=committer,
        cadences=cadences,
        housekeeper=Housekeeper(store=store, clock=clock, keep=timedelta(days=settings.keep_days)),
        leases=leases,
        clock=clock,
    )
    catalog = Catalog(store=store, registry=registry, guard=guard, cadences=cadences, clock=clock)
    return System(
        settings=settings,
        clock=clock,
        store=store,
        http=http,
        registry=registry,
        cadences=cadences,
        catalog=catalog,
        previewer=Previewer(catalog=catalog, registry=registry, http=http, clock=clock),
        subscriptions=Subscriptions(store=store, clock=clock),
        options=Options(store=store, registry=registry, clock=clock),
        accounts=Accounts(store=store, clock=clock, service_key=settings.api_key, admin_key=settings.admin_api_key),
        collector=collector,
    )
