"""The composition root: Settings in, System out. It alone knows everybody."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from loguru import logger

from catchment.clock import Clock, SystemClock
from catchment.collect.cadence import CadenceBook
from catchment.collect.collector import Collector
from catchment.collect.committer import Committer
from catchment.collect.housekeeping import Housekeeper
from catchment.collect.leases import LeasePolicy, owner_name
from catchment.collect.pool import Pool
from catchment.collect.visitor import Visitor
from catchment.crypto import Vault, derive_key, key_from_file
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
from catchment.sources.builtin import builtin_fetchers
from catchment.sources.outfit import Outfitter
from catchment.sources.plugins import installed_fetchers
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
    try:
        await migrate(store)
        guard = AddressGuard.parse(settings.allow_networks)
        async with _http_client(settings, guard, clock) as http:
            system = _wire(settings, clock, store, guard, http)
            # What is there by now stays: the collector of garbage need not look at it again and again.
            gc.freeze()
            yield system
    finally:
        await store.close()


def _http_client(settings: Settings, guard: AddressGuard, clock: Clock) -> HttpClient:
    # What a host gets and what is in flight is for all collector processes together.
    policy = PacePolicy(
        concurrency=max(1, settings.host_concurrency // settings.processes),
        spacing_seconds=settings.host_spacing_seconds * settings.processes,
        budget_per_minute=max(1, settings.host_budget_per_minute // settings.processes),
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


def _vault(settings: Settings) -> Vault:
    """Keys are derived or made when they are first needed."""
    if settings.secret_key:
        return Vault(key_id="env", keys={"env": lambda: derive_key(settings.secret_key, "catchment")})
    return Vault(key_id="file", keys={"file": lambda: key_from_file(settings.home / "secret.key")})


def _wire(settings: Settings, clock: Clock, store: Store, guard: AddressGuard, http: HttpClient) -> System:
    registry = Registry([*builtin_fetchers(settings), *installed_fetchers(logger.error)])
    vault = _vault(settings)
    outfitter = Outfitter(http=http, vault=vault)
    cadences = CadenceBook(store=store, settings=settings)
    leases = LeasePolicy(owner=owner_name(), duration=timedelta(seconds=settings.lease_seconds))
    committer = Committer(store=store, cadence_of=cadences.of, clock=clock)
    pool = Pool(
        store=store,
        visitor=Visitor(registry=registry, outfitter=outfitter, clock=clock),
        committer=committer,
        leases=leases,
        clock=clock,
        concurrency=max(1, settings.concurrency // settings.processes),
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
    catalog = Catalog(store=store, registry=registry, guard=guard, cadences=cadences, vault=vault, clock=clock)
    return System(
        settings=settings,
        clock=clock,
        store=store,
        http=http,
        registry=registry,
        cadences=cadences,
        catalog=catalog,
        previewer=Previewer(catalog=catalog, registry=registry, outfitter=outfitter, clock=clock),
        subscriptions=Subscriptions(store=store, clock=clock),
        options=Options(store=store, registry=registry, clock=clock),
        accounts=Accounts(store=store, clock=clock, service_key=settings.api_key, admin_key=settings.admin_api_key),
        collector=collector,
    )
