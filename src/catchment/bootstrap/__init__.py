"""The composition root: Settings in, System out. It alone knows everybody.

A part is imported and made when it is first asked for, and only once: a command loads what it uses.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from catchment.clock import Clock, SystemClock
from catchment.settings import Settings
from catchment.store.backups import clear_killed_restore
from catchment.store.database import Store, open_store, store_url
from catchment.store.migrate import migrate, require_file

if TYPE_CHECKING:
    from catchment.bootstrap.platforms import PlatformParts
    from catchment.bootstrap.x import XParts
    from catchment.crypto import Vault
    from catchment.domain.caller import Caller
    from catchment.domain.source import Source
    from catchment.engine.cadence import Cadences
    from catchment.engine.cleanup import Cleaner
    from catchment.engine.clock_monitor import ClockMonitor
    from catchment.engine.collector import Collector
    from catchment.engine.leases import LeasePolicy
    from catchment.fetch.apprise import NoticeSender
    from catchment.fetch.client import HttpClient
    from catchment.fetch.guard import AddressGuard
    from catchment.jobs.scheduler import JobScheduler
    from catchment.manage.accounts import Accounts
    from catchment.manage.alerts import Alerts
    from catchment.manage.apply import Applier
    from catchment.manage.authentication import Authenticator
    from catchment.manage.catalog import Catalog
    from catchment.manage.cookies import Cookies
    from catchment.manage.exports import Exports
    from catchment.manage.feeds import Feeds
    from catchment.manage.follows import Follows
    from catchment.manage.history import SourceHistory
    from catchment.manage.items import Items, Pictures
    from catchment.manage.logins import Logins, Passwords
    from catchment.manage.packs import Packs
    from catchment.manage.reading import ReaderStreams
    from catchment.manage.resolve import Resolver
    from catchment.manage.scraper_schedule import ScraperScheduling
    from catchment.manage.settings import IntervalSettings
    from catchment.manage.site_feeds import SiteFeeds, SiteLister
    from catchment.manage.subscriptions import Subscriptions
    from catchment.manage.visits import Visits
    from catchment.manage.webhooks import Webhooks
    from catchment.monitor.status import SourceViewer, StatusSnapshot, View
    from catchment.platforms.feishu import NoteCopier
    from catchment.platforms.workflow import KeywordCrawl, Workflow
    from catchment.publish.views import FeedRenderer
    from catchment.sandbox.pool import ParserPool
    from catchment.schedule.jobs import Timers
    from catchment.sources.client import ClientFactory
    from catchment.sources.platforms.reader import PlatformReader
    from catchment.sources.registry import Registry
    from catchment.x import ScrapeWriter, ScrapingService

#: A worker waits this long for a turn at a host; past it the source is put off and the worker is free for others.
PATIENCE_SECONDS = 2.0
#: Parts that have something to close, in the order in which they are closed.
_TO_CLOSE = ("authenticator", "visits", "scraping", "http", "parsers")


class Storeless:
    """What needs no store, so that it works even when the store is out of order: the way out, and what uses it."""

    def __init__(self, settings: Settings, clock: Clock, *, serves_nobody: bool = False) -> None:
        self.settings = settings
        self.clock = clock
        #: It may be held up, or lost: so it reads small feeds itself, and has transactions on its loop.
        self._serves_nobody = serves_nobody

    async def close(self) -> None:
        """Close those parts that were made."""
        for part in _TO_CLOSE:
            if part in vars(self):
                await getattr(self, part).close()

    @cached_property
    def guard(self) -> AddressGuard:
        from catchment.fetch.guard import AddressGuard

        return AddressGuard.parse(self.settings.allow_networks)

    @cached_property
    def http(self) -> HttpClient:
        from catchment.fetch.client import HttpClient, Limits
        from catchment.fetch.connections import SystemLookup
        from catchment.fetch.pacing import PacePolicy, Pacer

        settings = self.settings
        policy = PacePolicy(
            concurrency=settings.host_concurrency,
            spacing_seconds=settings.host_spacing_seconds,
            budget_per_minute=settings.host_budget_per_minute,
        )
        return HttpClient(
            guard=self.guard,
            pacer=Pacer(policy),
            lookup=SystemLookup(),
            limits=Limits(total_seconds=settings.timeout_seconds, patience_seconds=PATIENCE_SECONDS),
            user_agent=settings.user_agent,
            clock=self.clock,
            pace_allowed=settings.pace_allowed,
        )

    @cached_property
    def parsers(self) -> ParserPool:
        size, seconds = self.settings.parsers or os.cpu_count() or 1, self.settings.parse_seconds
        if self._serves_nobody:
            from catchment.sandbox.in_place import ParsersInPlace

            return ParsersInPlace(size=size, seconds=seconds)
        from catchment.sandbox.pool import ParserPool

        return ParserPool(size=size, seconds=seconds)

    @cached_property
    def vault(self) -> Vault:
        """Keys are derived or made when they are first needed."""
        from catchment.crypto import Vault, derive_key, key_from_file

        settings = self.settings
        if settings.secret_key:
            return Vault(key_id="env", keys={"env": lambda: derive_key(settings.secret_key, "catchment")})
        return Vault(key_id="file", keys={"file": lambda: key_from_file(settings.home / "secret.key")})

    @cached_property
    def clients(self) -> ClientFactory:
        from catchment.sources.client import ClientFactory

        variables = self.settings.api_env_values
        return ClientFactory(http=self.http, vault=self.vault, variables=variables, parsers=self.parsers)

    @cached_property
    def registry(self) -> Registry:
        from catchment.sources.base import Parts
        from catchment.sources.registry import Registry

        return Registry(parts=Parts(settings=self.settings))

    @cached_property
    def site_lister(self) -> SiteLister:
        from catchment.manage.site_feeds import SiteLister

        return SiteLister(registry=self.registry, clients=self.clients, clock=self.clock)


class System(Storeless):
    """Everything there is."""

    def __init__(self, settings: Settings, clock: Clock, store: Store, *, serves_nobody: bool = False) -> None:
        super().__init__(settings, clock, serves_nobody=serves_nobody)
        self.store = store

    def new_leases(self) -> LeasePolicy:
        """Of one holder: each part of the system gives back only what is its own."""
        from catchment.engine.leases import LeasePolicy, owner_name

        return LeasePolicy(owner=owner_name(), duration=timedelta(seconds=self.settings.lease_seconds))

    def check_settings(self) -> None:
        """A SettingsError for what is read only where it is used: every command should tell of a mistake in it."""
        for is_set, part in (
            (self.settings.allow_networks, "guard"),
            (self.settings.scraper_cron, "scraper_schedule"),
            (self.settings.douyin_signer, "reader"),
        ):
            if is_set:
                getattr(self, part)

    # How everything is.

    async def viewer(self, view: View) -> SourceViewer:
        """What shows how everything is by now."""
        from catchment.monitor.status import SourceViewer

        intervals, now = await self.cadences.load(), self.clock.now()
        return SourceViewer(store=self.store, registry=self.registry, intervals=intervals, view=view, now=now)

    async def snapshot(self, view: View) -> StatusSnapshot:
        return await (await self.viewer(view)).snapshot()

    async def show_sources(self, found: Sequence[Source], caller: Caller) -> list[dict[str, Any]]:
        """As JSON, for whoever shows them, each with what the caller may see of it."""
        from catchment.monitor.status import View

        return await (await self.viewer(View(caller=caller))).show(found)

    # Sources and how they are managed.

    @cached_property
    def registry(self) -> Registry:
        from loguru import logger

        from catchment.sources.base import Parts
        from catchment.sources.registry import Registry, installed_types

        parts = Parts(
            settings=self.settings,
            scraper=lambda: self._x.scraper,
            tweets=lambda: self._x.repository,
            reader=lambda: self.reader,
        )
        return Registry(installed_types(logger.error), parts=parts)

    @cached_property
    def cadences(self) -> Cadences:
        from catchment.engine.cadence import Cadences

        return Cadences(store=self.store, settings=self.settings, registry=self.registry)

    @cached_property
    def catalog(self) -> Catalog:
        from catchment.manage.catalog import Catalog

        return Catalog(
            store=self.store,
            registry=self.registry,
            guard=self.guard,
            cadences=self.cadences,
            vault=self.vault,
            clock=self.clock,
        )

    @cached_property
    def resolver(self) -> Resolver:
        from catchment.manage.preview import Previewer
        from catchment.manage.resolve import Resolver
        from catchment.sources.shortcuts import Services

        catalog, registry, clients = self.catalog, self.registry, self.clients
        return Resolver(
            catalog=catalog,
            registry=registry,
            previewer=Previewer(catalog=catalog, registry=registry, clients=clients, clock=self.clock),
            clients=clients,
            services=Services.of(self.settings),
        )

    @cached_property
    def subscriptions(self) -> Subscriptions:
        from catchment.manage.subscriptions import Subscriptions

        return Subscriptions(store=self.store, clock=self.clock)

    @cached_property
    def reading(self) -> ReaderStreams:
        from catchment.manage.reading import ReaderStreams

        return ReaderStreams(
            store=self.store,
            clock=self.clock,
            catalog=self.catalog,
            resolver=self.resolver,
            subscriptions=self.subscriptions,
            parsers=self.parsers,
        )

    @cached_property
    def packs(self) -> Packs:
        from catchment.manage.packs import Packs

        return Packs(store=self.store, catalog=self.catalog, subscriptions=self.subscriptions, clock=self.clock)

    @cached_property
    def applier(self) -> Applier:
        from catchment.manage.apply import Applier

        return Applier(catalog=self.catalog, vault=self.vault)

    @cached_property
    def interval_settings(self) -> IntervalSettings:
        from catchment.manage.settings import IntervalSettings

        return IntervalSettings(store=self.store, registry=self.registry, clock=self.clock)

    @cached_property
    def webhooks(self) -> Webhooks:
        from catchment.manage.webhooks import Webhooks

        return Webhooks(store=self.store, guard=self.guard, notices=self.notices, vault=self.vault, clock=self.clock)

    @cached_property
    def notices(self) -> NoticeSender:
        from catchment.fetch.apprise import NoticeSender

        schemes = frozenset(self.settings.apprise_schemes.split(","))
        return NoticeSender(schemes=schemes, allow_networks=self.settings.allow_networks)

    @cached_property
    def alerts(self) -> Alerts:
        from catchment.manage.alerts import Alerts

        return Alerts(store=self.store, clock=self.clock)

    # Accounts, and who is let in.

    @cached_property
    def _passwords(self) -> Passwords:
        from catchment.manage.logins import Passwords

        return Passwords()

    @cached_property
    def _logins(self) -> Logins:
        from catchment.manage.logins import Logins

        return Logins(store=self.store, clock=self.clock, passwords=self._passwords)

    @cached_property
    def accounts(self) -> Accounts:
        from catchment.manage.accounts import Accounts

        return Accounts(
            store=self.store,
            clock=self.clock,
            passwords=self._passwords,
            logins=self._logins,
            has_environment_key=bool(self.settings.api_key or self.settings.admin_api_key),
        )

    def _signing_key(self) -> bytes:
        return self.settings.jwt_secret_key.encode() or self.vault.derive("login tokens")

    @cached_property
    def authenticator(self) -> Authenticator:
        from catchment.manage.authentication import Authenticator, ReaderTokens, Tokens

        settings = self.settings
        return Authenticator(
            store=self.store,
            clock=self.clock,
            logins=self._logins,
            tokens=Tokens(signing_key=self._signing_key, life=timedelta(hours=settings.jwt_expire_hours)),
            reader_tokens=ReaderTokens(signing_key=self._signing_key),
            service_key=settings.api_key,
            admin_key=settings.admin_api_key,
        )

    # Feeds.

    @cached_property
    def feeds(self) -> Feeds:
        from catchment.manage.feeds import Feeds

        return Feeds(store=self.store, clock=self.clock)

    @cached_property
    def exports(self) -> Exports:
        from catchment.manage.exports import Exports

        return Exports(store=self.store)

    @cached_property
    def items(self) -> Items:
        from catchment.manage.items import Items

        return Items(store=self.store)

    @cached_property
    def pictures(self) -> Pictures:
        from catchment.manage.items import Pictures

        return Pictures(http=self.http, items=self.items, signing_key=self._signing_key)

    @cached_property
    def history(self) -> SourceHistory:
        from catchment.manage.history import SourceHistory

        return SourceHistory(store=self.store, catalog=self.catalog, clock=self.clock)

    @cached_property
    def renderer(self) -> FeedRenderer:
        from catchment.publish.views import FeedRenderer

        return FeedRenderer(store=self.store, clock=self.clock, hub_url=self.settings.websub_hub)

    @cached_property
    def site_feeds(self) -> SiteFeeds:
        from catchment.manage.site_feeds import SiteFeeds

        return SiteFeeds(
            store=self.store,
            catalog=self.catalog,
            collector=self.collector,
            site_lister=self.site_lister,
            clock=self.clock,
        )

    # Collecting.

    @cached_property
    def collector(self) -> Collector:
        from catchment.bootstrap.engine import make_collector

        return make_collector(self)

    @cached_property
    def visits(self) -> Visits:
        from catchment.manage.visits import Visits

        return Visits(catalog=self.catalog, collector=self.collector)

    @cached_property
    def clock_monitor(self) -> ClockMonitor:
        from catchment.engine.clock_monitor import ClockMonitor

        return ClockMonitor(store=self.store, clock=self.clock, lease=timedelta(seconds=self.settings.lease_seconds))

    @cached_property
    def cleaner(self) -> Cleaner:
        from catchment.engine.cleanup import Cleaner

        return Cleaner(
            store=self.store,
            clock=self.clock,
            clock_monitor=self.clock_monitor,
            keep=timedelta(days=self.settings.keep_days),
            keep_trail=timedelta(days=self.settings.audit_days),
        )

    async def resolve_first(self, source: Source) -> Source:
        """A source that could not be reached when it was added, as what it turned out to be."""
        from catchment.manage.resolve import FirstContact

        return await FirstContact(resolver=self.resolver, catalog=self.catalog).resolve(source)

    @cached_property
    def timers(self) -> Timers:
        from catchment.schedule.jobs import Timers

        return Timers(self.clock)

    @cached_property
    def jobs(self) -> JobScheduler:
        from catchment.bootstrap.jobs import make_jobs

        return make_jobs(self)

    # X.

    @cached_property
    def _x(self) -> XParts:
        from catchment.bootstrap.x import XParts

        return XParts(self)

    @cached_property
    def follows(self) -> Follows:
        from catchment.manage.follows import Follows

        return Follows(store=self.store, clock=self.clock)

    @property
    def scrape_writer(self) -> ScrapeWriter:
        return self._x.scrape_writer

    @cached_property
    def scraping(self) -> ScrapingService:
        return self._x.scraping

    @cached_property
    def scraper_schedule(self) -> ScraperScheduling:
        return self._x.schedule

    # The platforms that are searched by keyword.

    @cached_property
    def _platforms(self) -> PlatformParts:
        from catchment.bootstrap.platforms import PlatformParts

        return PlatformParts(self)

    @cached_property
    def reader(self) -> PlatformReader:
        return self._platforms.reader

    @cached_property
    def cookies(self) -> Cookies:
        return self._platforms.cookies

    @cached_property
    def workflow(self) -> Workflow:
        from catchment.platforms.workflow import Workflow

        return Workflow(store=self.store, clock=self.clock, lock_timeout=self.lock_timeout)

    @cached_property
    def crawl(self) -> KeywordCrawl:
        from catchment.platforms.workflow import KeywordCrawl

        return KeywordCrawl(
            store=self.store, workflow=self.workflow, collector=self.collector, lock_timeout=self.lock_timeout
        )

    @property
    def lock_timeout(self) -> timedelta:
        return timedelta(minutes=self.settings.lock_timeout_minutes)

    @cached_property
    def copier(self) -> NoteCopier | None:
        """None where Feishu is not set up."""
        if not self.settings.feishu_app_id:
            return None
        from catchment.platforms.feishu import make_copier

        return make_copier(self.settings, store=self.store, http=self.http, clock=self.clock)


@asynccontextmanager
async def open_system(
    settings: Settings, *, clock: Clock | None = None, makes_store: bool = True, serves_nobody: bool = False
) -> AsyncIterator[System]:
    """Open the store at the schema of this release, and the system on it.

    One that is not there is made, or is MissingStore. Who serves nobody may be held up, by transactions and documents.
    """
    if not makes_store:
        require_file(store_url(settings.store_url()))
    store = open_store(settings.store_url(), in_place=serves_nobody)
    system = System(settings, clock or SystemClock(), store, serves_nobody=serves_nobody)
    try:
        system.check_settings()
        clear_killed_restore(store.url, settings.home)
        await migrate(store, makes_store=makes_store)
        yield system
    finally:
        try:
            await system.close()
        finally:
            await store.close()


@asynccontextmanager
async def open_outside(settings: Settings) -> AsyncIterator[Storeless]:
    outside = Storeless(settings, SystemClock())
    try:
        yield outside
    finally:
        await outside.close()
