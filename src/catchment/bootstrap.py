"""The composition root: Settings in, System out. It alone knows everybody."""

from __future__ import annotations

import gc
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property, partial
from pathlib import Path
from zoneinfo import ZoneInfo

from loguru import logger

from catchment.clock import Clock, SystemClock
from catchment.crawl.crawler import Crawler
from catchment.crypto import Vault, derive_key, key_from_file
from catchment.domain.alert import AlertRule, Terms
from catchment.domain.alert_rules import TERMS
from catchment.domain.cookie import CookiePolicy
from catchment.domain.note import Platform
from catchment.domain.run import SCRAPER_JOB
from catchment.domain.scrape_task import usernames_in
from catchment.domain.sealing import open_config
from catchment.domain.tweet import Scrape
from catchment.engine.cadence import CadenceBook
from catchment.engine.cleanup import Cleaner
from catchment.engine.collector import Collector
from catchment.engine.commit import Committer, RecordWriters, Rules
from catchment.engine.hosts import HostRegistry
from catchment.engine.leases import LeasePolicy, owner_name
from catchment.engine.pool import Pool
from catchment.engine.visit import Visitor
from catchment.fetch.client import HttpClient, Limits
from catchment.fetch.dialler import SystemLookup
from catchment.fetch.guard import AddressGuard
from catchment.fetch.pacing import PacePolicy, Pacer
from catchment.jobs.alerts import AlertEvaluator
from catchment.jobs.builtin import (
    backing_up,
    cleanup,
    collector_tick,
    copying,
    delivery,
    lock_recovery,
    recovery,
    scheduled_scrape,
    watching,
)
from catchment.jobs.scheduler import Job, JobScheduler
from catchment.jobs.webhooks import WebhookDispatcher
from catchment.manage.accounts import Accounts
from catchment.manage.apply import Applier
from catchment.manage.authentication import Authenticator, Tokens
from catchment.manage.catalog import Catalog, RuntimeOptions
from catchment.manage.cookies import Cookies
from catchment.manage.feeds import Feeds
from catchment.manage.first_contact import FirstContact
from catchment.manage.follows import Follows
from catchment.manage.listing import SiteLister
from catchment.manage.logins import Logins, Passwords
from catchment.manage.packs import Packs
from catchment.manage.preview import Previewer
from catchment.manage.resolve import Resolver
from catchment.manage.scraper_schedule import ScraperDefaults, ScraperScheduling
from catchment.manage.site_feeds import SiteFeeds
from catchment.manage.sites import SITEMAP
from catchment.manage.subscriptions import Subscriptions
from catchment.manage.webhooks import Webhooks
from catchment.monitor.alerting import AlertInputs
from catchment.platforms.cookies import CookieSeal, RequestLog, StoredCookiePool
from catchment.platforms.crawl import KeywordCrawl
from catchment.platforms.feishu.copy import NoteCopier, make_copier
from catchment.platforms.workflow import Workflow
from catchment.publish.renderer import FeedRenderer
from catchment.sandbox.pool import ParserPool
from catchment.schedule.jobs import Cron, Timers
from catchment.settings import Settings
from catchment.sources.base import Registry
from catchment.sources.client import ClientFactory
from catchment.sources.platforms.base import Platforms
from catchment.sources.platforms.reader import PlatformReader, ReadPolicy
from catchment.sources.platforms.registry import make_platforms
from catchment.sources.platforms.search import SOURCE_TYPES, keyword_types
from catchment.sources.registry import builtin_fetchers, installed_fetchers
from catchment.sources.shortcuts import Services
from catchment.sources.x.fetchers import make_scraper, x_fetchers
from catchment.sources.x.scrape import Scraper
from catchment.store import found_notes
from catchment.store.backups import clear_killed_restore
from catchment.store.database import Store, open_store, store_url
from catchment.store.migrate import migrate, require_file
from catchment.store.scraper_schedule import clear_next_run
from catchment.store.spending import Caps
from catchment.x.repository import ScrapeWriter, XRepository
from catchment.x.scraping import ScrapingService

#: A worker waits this long for a turn at a host; past it the source is put off and the worker is free for others.
PATIENCE_SECONDS = 2.0
_OBJECTS_BETWEEN_LOOKS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """Everything there is, wired up."""

    settings: Settings
    clock: Clock
    store: Store
    http: HttpClient
    parsers: ParserPool
    registry: Registry
    cadences: CadenceBook
    catalog: Catalog
    resolver: Resolver
    subscriptions: Subscriptions
    packs: Packs
    applier: Applier
    options: RuntimeOptions
    follows: Follows
    accounts: Accounts
    entrance: Authenticator
    feeds: Feeds
    press: FeedRenderer
    collector: Collector
    site_feeds: SiteFeeds
    scraping: ScrapingService
    scraper_schedule: ScraperScheduling
    jobs: JobScheduler
    webhooks: Webhooks
    workflow: Workflow
    crawl: KeywordCrawl
    cookies: Cookies
    reader: PlatformReader
    #: None where Feishu is not set up.
    copier: NoteCopier | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Storeless:
    """The way out, and who looks at sites by it."""

    http: HttpClient
    surveyor: SiteLister


@asynccontextmanager
async def open_system(
    settings: Settings, *, clock: Clock | None = None, makes_store: bool = True
) -> AsyncIterator[System]:
    """Open the store at the schema of this release, and build everything on it.

    One that is not there is made, or is MissingStore.
    """
    clock = clock or SystemClock()
    if not makes_store:
        require_file(store_url(settings.store_url()))
    store = open_store(settings.store_url())
    try:
        clear_killed_restore(store.url, settings.home)
        await migrate(store, makes_store=makes_store)
        guard = AddressGuard.parse(settings.allow_networks)
        async with _parser_pool(settings) as parsers, _http_client(settings, guard, clock) as http:
            system = _Builder(
                settings=settings, clock=clock, store=store, guard=guard, http=http, parsers=parsers
            ).system()
            _rarely_collect_garbage()
            try:
                yield system
            finally:
                await system.scraping.close()
    finally:
        await store.close()


def _rarely_collect_garbage() -> None:
    """What is there by now stays, and what a visit makes goes by itself; to look for cycles took a sixth of it."""
    gc.freeze()
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS, *gc.get_threshold()[1:])


@asynccontextmanager
async def open_outside(settings: Settings, *, clock: Clock | None = None) -> AsyncIterator[Storeless]:
    """What needs no store, so that it works even when the store is out of order."""
    clock = clock or SystemClock()
    guard = AddressGuard.parse(settings.allow_networks)
    async with _parser_pool(settings) as parsers, _http_client(settings, guard, clock) as http:
        clients = _clients(settings, http, _vault(settings), parsers)
        yield Storeless(http=http, surveyor=_surveyor(Registry(builtin_fetchers(settings)), clients, clock))


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


def _parser_pool(settings: Settings) -> ParserPool:
    # They are for all collector processes together, too.
    size = max(1, (settings.parsers or os.cpu_count() or 1) // settings.processes)
    return ParserPool(size=size, seconds=settings.parse_seconds)


def _clients(settings: Settings, http: HttpClient, vault: Vault, parsers: ParserPool) -> ClientFactory:
    return ClientFactory(http=http, vault=vault, variables=settings.api_env_values, parsers=parsers)


def _surveyor(registry: Registry, clients: ClientFactory, clock: Clock) -> SiteLister:
    crawling_type = registry.crawling_type(SITEMAP)
    assert crawling_type is not None, "it is built in"
    return SiteLister(crawling_type=crawling_type, clients=clients, clock=clock)


def _vault(settings: Settings) -> Vault:
    """Keys are derived or made when they are first needed."""
    if settings.secret_key:
        return Vault(key_id="env", keys={"env": lambda: derive_key(settings.secret_key, "catchment")})
    return Vault(key_id="file", keys={"file": lambda: key_from_file(settings.home / "secret.key")})


def _auth(settings: Settings, clock: Clock, store: Store, vault: Vault) -> tuple[Accounts, Authenticator]:
    passwords = Passwords()
    logins = Logins(store=store, clock=clock, passwords=passwords)
    accounts = Accounts(
        store=store,
        clock=clock,
        passwords=passwords,
        logins=logins,
        has_environment_key=bool(settings.api_key or settings.admin_api_key),
    )
    tokens = Tokens(
        signing_key=lambda: settings.jwt_secret_key.encode() or vault.derive("login tokens"),
        life=timedelta(hours=settings.jwt_expire_hours),
    )
    entrance = Authenticator(
        store=store,
        clock=clock,
        logins=logins,
        tokens=tokens,
        service_key=settings.api_key,
        admin_key=settings.admin_api_key,
    )
    return accounts, entrance


def _services(settings: Settings) -> Services:
    return Services(
        github=settings.github_base_url,
        reddit=settings.reddit_base_url,
        youtube=settings.youtube_base_url,
        telegram=settings.telegram_base_url,
        apple_podcasts=settings.apple_podcasts_base_url,
    )


class _Builder:
    """Makes each part when it is first asked for, and only once."""

    def __init__(
        self,
        *,
        settings: Settings,
        clock: Clock,
        store: Store,
        guard: AddressGuard,
        http: HttpClient,
        parsers: ParserPool,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._store = store
        self._guard = guard
        self._http = http
        self._vault = _vault(settings)
        self._parsers = parsers
        self._clients = _clients(settings, http, self._vault, parsers)
        self._alarms = Timers(clock)
        self._scrape_keeper = ScrapeWriter(alpha=settings.scraper_ema_alpha)

    def system(self) -> System:
        store, clock, catalog = self._store, self._clock, self._catalog
        subscriptions = Subscriptions(store=store, clock=clock)
        accounts, entrance = _auth(self._settings, clock, store, self._vault)
        return System(
            settings=self._settings,
            clock=clock,
            store=store,
            http=self._http,
            parsers=self._parsers,
            registry=self._registry,
            cadences=self._cadences,
            catalog=catalog,
            resolver=self._resolver,
            subscriptions=subscriptions,
            packs=Packs(store=store, catalog=catalog, subscriptions=subscriptions, clock=clock),
            applier=Applier(catalog=catalog, vault=self._vault),
            options=RuntimeOptions(store=store, registry=self._registry, clock=clock),
            follows=self._follows,
            accounts=accounts,
            entrance=entrance,
            feeds=Feeds(store=store, clock=clock),
            press=FeedRenderer(store=store, clock=clock, hub_url=self._settings.websub_hub),
            collector=self._collector,
            site_feeds=self._site_feeds(),
            scraping=self._scraping,
            scraper_schedule=self._scraper_schedule,
            jobs=self._jobs(),
            webhooks=Webhooks(store=store, guard=self._guard, vault=self._vault, clock=clock),
            workflow=self._workflow,
            crawl=self._crawl(),
            cookies=self._cookies(),
            reader=self._reader,
            copier=self._copier,
        )

    @cached_property
    def _cadences(self) -> CadenceBook:
        return CadenceBook(store=self._store, settings=self._settings)

    @cached_property
    def _x_books(self) -> XRepository:
        settings = self._settings
        return XRepository(
            store=self._store,
            clock=self._clock,
            caps=_x_caps(settings),
            interval_of=lambda source: self._cadences.of(source).interval,
        )

    @cached_property
    def _scraper(self) -> Scraper | None:
        return make_scraper(self._settings, self._x_books)

    @cached_property
    def _registry(self) -> Registry:
        of_x = x_fetchers(self._settings, self._scraper, self._x_books)
        ours = [*builtin_fetchers(self._settings), *of_x, *keyword_types(self._reader)]
        return Registry([*ours, *installed_fetchers(logger.error)])

    @cached_property
    def _catalog(self) -> Catalog:
        return Catalog(
            store=self._store,
            registry=self._registry,
            guard=self._guard,
            cadences=self._cadences,
            vault=self._vault,
            clock=self._clock,
        )

    @cached_property
    def _resolver(self) -> Resolver:
        catalog, registry, clients = self._catalog, self._registry, self._clients
        return Resolver(
            catalog=catalog,
            registry=registry,
            previewer=Previewer(catalog=catalog, registry=registry, clients=clients, clock=self._clock),
            clients=clients,
            services=_services(self._settings),
        )

    @cached_property
    def _committer(self) -> Committer:
        rules = Rules(
            cadence_of=self._cadences.of,
            identity_of=lambda kind, config: self._registry.identity(kind, open_config(config, self._vault)),
            is_crawled=lambda source_type: self._registry.crawling_type(source_type) is not None,
            keep_records=RecordWriters({Scrape: self._scrape_keeper}),
        )
        return Committer(store=self._store, rules=rules, clock=self._clock)

    @cached_property
    def _housekeeper(self) -> Cleaner:
        return Cleaner(store=self._store, clock=self._clock, keep=timedelta(days=self._settings.keep_days))

    @cached_property
    def _collector(self) -> Collector:
        leases = _leases(self._settings)
        hosts = HostRegistry(store=self._store, http=self._http, clock=self._clock, leases=leases)
        visitor = Visitor(
            store=self._store,
            registry=self._registry,
            clients=self._clients,
            clock=self._clock,
            start_crawl=Crawler,
            resolve=FirstContact(resolver=self._resolver, catalog=self._catalog).resolve,
            held_until=self._http.held_until,
        )
        pool = Pool(
            store=self._store,
            visitor=visitor,
            committer=self._committer,
            hosts=hosts,
            leases=leases,
            clock=self._clock,
            concurrency=max(1, self._settings.concurrency // self._settings.processes),
        )
        return Collector(
            store=self._store,
            registry=self._registry,
            pool=pool,
            hosts=hosts,
            committer=self._committer,
            cadences=self._cadences,
            housekeeper=self._housekeeper,
            leases=leases,
            clock=self._clock,
        )

    def _site_feeds(self) -> SiteFeeds:
        return SiteFeeds(
            store=self._store,
            catalog=self._catalog,
            collector=self._collector,
            surveyor=_surveyor(self._registry, self._clients, self._clock),
            clock=self._clock,
        )

    @cached_property
    def _platforms(self) -> Platforms:
        return make_platforms(self._settings, self._clock)

    @cached_property
    def _cookie_seal(self) -> CookieSeal:
        return CookieSeal(vault=_cookie_vault(self._settings), key_id=self._settings.cookie_key_id)

    @cached_property
    def _cookie_pool(self) -> StoredCookiePool:
        return StoredCookiePool(
            store=self._store,
            seal=self._cookie_seal,
            clock=self._clock,
            leases=_leases(self._settings),
            policy=_cookie_policy(self._settings),
        )

    def _cookies(self) -> Cookies:
        return Cookies(
            store=self._store,
            pool=self._cookie_pool,
            seal=self._cookie_seal,
            reader=self._reader,
            clock=self._clock,
            policy=_cookie_policy(self._settings),
            wait_seconds=self._settings.detail_batch_timeout,
        )

    @cached_property
    def _reader(self) -> PlatformReader:
        async def known_address(platform: Platform, note_id: str) -> str | None:
            return await self._store.read(found_notes.address_of, platform, note_id)

        return PlatformReader(
            platforms=self._platforms,
            pool=self._cookie_pool,
            http=self._http,
            journal=RequestLog(store=self._store, clock=self._clock),
            known_address=known_address,
            policy=_read_policy(self._settings),
        )

    @cached_property
    def _follows(self) -> Follows:
        return Follows(store=self._store, clock=self._clock)

    @cached_property
    def _scraping(self) -> ScrapingService:
        return ScrapingService(
            store=self._store,
            http=self._http,
            scraper=self._scraper,
            keeper=self._scrape_keeper,
            quota=self._x_books.cap_reached,
            leases=_leases(self._settings),
            clock=self._clock,
            at_once=self._settings.scraper_concurrency,
        )

    @cached_property
    def _scraper_schedule(self) -> ScraperScheduling:
        defaults = _scraper_defaults(self._settings)
        return ScraperScheduling(store=self._store, clock=self._clock, alarms=self._alarms, defaults=defaults)

    @cached_property
    def _workflow(self) -> Workflow:
        return Workflow(store=self._store, clock=self._clock, lock_timeout=_lock_timeout(self._settings))

    def _crawl(self) -> KeywordCrawl:
        return KeywordCrawl(
            store=self._store,
            workflow=self._workflow,
            collector=self._collector,
            lock_timeout=_lock_timeout(self._settings),
        )

    @cached_property
    def _copier(self) -> NoteCopier | None:
        return make_copier(self._settings, store=self._store, http=self._http, clock=self._clock)

    def _watch(self) -> AlertEvaluator:
        watched = AlertInputs(
            crawled=SOURCE_TYPES,
            cookies=_cookie_policy(self._settings),
            caps=_x_caps(self._settings),
            most_pending=self._settings.alert_pending_notes,
            folder=_store_folder(self._settings, self._store),
        )
        return AlertEvaluator(store=self._store, clock=self._clock, watched=watched, terms=_alert_terms(self._settings))

    def _jobs(self) -> JobScheduler:
        store, clock, leases = self._store, self._clock, _leases(self._settings)
        dispatcher = WebhookDispatcher(
            store=store, http=self._http, vault=self._vault, clock=clock, leases=_leases(self._settings)
        )
        duties = [
            collector_tick(self._collector),
            cleanup(self._housekeeper, clock),
            recovery(store, clock),
            lock_recovery(self._workflow, timedelta(minutes=self._settings.recovery_interval_minutes)),
            delivery(dispatcher),
            watching(self._watch()),
            *([copying(self._copier)] if self._copier else []),
            *_backup_jobs(self._settings, store, clock),
            *_scraper_jobs(self._settings, self._scraping, self._follows, self._scraper_schedule),
        ]
        return JobScheduler(store=store, clock=clock, leases=leases, alarms=self._alarms, jobs=duties)


def _leases(settings: Settings) -> LeasePolicy:
    """Of one holder: each part of the system gives back only what is its own."""
    return LeasePolicy(owner=owner_name(), duration=timedelta(seconds=settings.lease_seconds))


def _cookie_vault(settings: Settings) -> Vault | None:
    """None without a key; earlier keys open what they sealed until it is rotated."""
    if not settings.cookie_master_key:
        return None
    passphrases = {**settings.cookie_earlier_keys, settings.cookie_key_id: settings.cookie_master_key}
    keys = {
        key_id: partial(derive_key, passphrase, settings.cookie_key_salt) for key_id, passphrase in passphrases.items()
    }
    return Vault(key_id=settings.cookie_key_id, keys=keys)


def _cookie_policy(settings: Settings) -> CookiePolicy:
    return CookiePolicy(
        most_in_a_row=settings.max_consecutive_errors,
        most_in_all=settings.max_total_errors,
        cooling=timedelta(minutes=settings.cooling_duration_minutes),
        zone=ZoneInfo(settings.cookie_daily_tz),
        spacing=timedelta(seconds=settings.crawl_spacing_seconds),
    )


def _read_policy(settings: Settings) -> ReadPolicy:
    return ReadPolicy(
        search_seconds=settings.search_timeout,
        note_seconds=settings.detail_timeout,
        batch_seconds=settings.detail_batch_timeout,
        check_seconds=settings.cookie_validate_timeout,
        # What a platform gets is for all collector processes together.
        spacing_seconds=settings.crawl_spacing_seconds * settings.processes,
        at_once=max(1, settings.crawl_at_once // settings.processes),
        keep_authors=settings.crawl_keep_authors,
    )


def _lock_timeout(settings: Settings) -> timedelta:
    return timedelta(minutes=settings.lock_timeout_minutes)


def _alert_terms(settings: Settings) -> Mapping[AlertRule, Terms]:
    lasting = {
        AlertRule.API_SUCCESS_RATE_LOW: timedelta(minutes=settings.alert_success_minutes),
        AlertRule.PROCESSING_BACKLOG: timedelta(minutes=settings.alert_pending_minutes),
    }
    return {**TERMS, **{rule: replace(TERMS[rule], lasting=time) for rule, time in lasting.items()}}


def _store_folder(settings: Settings, store: Store) -> Path:
    """Where a full disk would hurt first."""
    file = store.url.database if store.url.get_backend_name() == "sqlite" else None
    return Path(file).parent if file else settings.home


def _x_caps(settings: Settings) -> Caps:
    return Caps(day=settings.twitter_daily_pages, month=settings.twitter_monthly_pages)


def _scraper_defaults(settings: Settings) -> ScraperDefaults:
    return ScraperDefaults(
        is_enabled=settings.scraper_enabled,
        interval_seconds=settings.scraper_interval,
        cron=Cron(settings.scraper_cron) if settings.scraper_cron else None,
        is_lazy=settings.scraper_lazy_start,
    )


def _backup_jobs(settings: Settings, store: Store, clock: Clock) -> list[Job]:
    if not settings.backup_hours:
        return []
    interval = timedelta(hours=settings.backup_hours)
    return [backing_up(store, clock, settings.backups(), interval=interval, keep=settings.backup_keep)]


def _scraper_jobs(
    settings: Settings, scraping: ScrapingService, follows: Follows, schedule: ScraperScheduling
) -> list[Job]:
    """None where scraping on a schedule is turned off."""
    if not settings.scraper_enabled:
        return []
    from_settings = usernames_in(settings.scraper_usernames)

    async def usernames() -> tuple[str, ...]:
        followed = await follows.list()
        return tuple(follow.username for follow in followed) or from_settings

    return [
        Job(
            name=SCRAPER_JOB,
            work=lambda: scheduled_scrape(scraping, usernames),
            first=schedule.first,
            next_after=schedule.next_after,
            on_start=clear_next_run,
            on_restore=schedule.restore,
        )
    ]
