"""The built-in jobs, made for a system."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from catchment.domain.alert_rules import TERMS, AlertRule, Terms
from catchment.domain.note import SOURCE_TYPES
from catchment.domain.run import SCRAPER_JOB
from catchment.domain.scrape_task import usernames_in
from catchment.jobs.builtin import (
    backing_up,
    cleanup,
    collector_tick,
    copying,
    delivery,
    indexing,
    lock_recovery,
    recovery,
    scheduled_scrape,
    watching,
)
from catchment.jobs.scheduler import Job, JobScheduler
from catchment.settings import Settings
from catchment.store.database import Store
from catchment.store.scraper_schedule import clear_next_run

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.jobs.alerts import AlertEvaluator
    from catchment.jobs.webhooks import WebhookDispatcher


def make_jobs(system: System) -> JobScheduler:
    store, clock = system.store, system.clock
    dispatcher, evaluator = cache(lambda: _dispatcher(system)), cache(lambda: _alert_evaluator(system))
    jobs = [
        collector_tick(lambda: system.collector),
        cleanup(system.cleaner, clock),
        recovery(store, clock),
        lock_recovery(lambda: system.workflow, timedelta(minutes=system.settings.recovery_interval_minutes)),
        delivery(lambda: dispatcher().deliver_due()),
        watching(lambda: evaluator().look()),
        indexing(system.items.take_in),
        *([copying(system.copier.copy_due)] if system.copier else []),
        _backup_job(system),
        *_scraper_jobs(system),
    ]
    return JobScheduler(store=store, clock=clock, leases=system.new_leases(), timers=system.timers, jobs=jobs)


def _dispatcher(system: System) -> WebhookDispatcher:
    from catchment.jobs.webhooks import WebhookDispatcher

    return WebhookDispatcher(
        store=system.store,
        http=system.http,
        notices=system.notices,
        vault=system.vault,
        clock=system.clock,
        leases=system.new_leases(),
    )


def _alert_evaluator(system: System) -> AlertEvaluator:
    from catchment.bootstrap.platforms import cookie_policy
    from catchment.bootstrap.x import x_caps
    from catchment.jobs.alerts import AlertEvaluator
    from catchment.store.alert_queries import AlertInputs

    settings = system.settings
    watched = AlertInputs(
        crawled=SOURCE_TYPES,
        cookies=cookie_policy(settings),
        caps=x_caps(settings),
        most_pending=settings.alert_pending_notes,
        folder=_store_folder(settings, system.store),
    )
    return AlertEvaluator(store=system.store, clock=system.clock, watched=watched, terms=_alert_terms(settings))


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


def _backup_job(system: System) -> Job:
    settings = system.settings
    interval = timedelta(hours=settings.backup_hours) if settings.backup_hours else None
    return backing_up(system.store, system.clock, settings.backups(), interval=interval, keep=settings.backup_keep)


def _scraper_jobs(system: System) -> list[Job]:
    """None where scraping on a schedule is turned off."""
    if not system.settings.scraper_enabled:
        return []
    schedule = system.scraper_schedule
    from_settings = usernames_in(system.settings.scraper_usernames)

    async def usernames() -> tuple[str, ...]:
        followed = await system.follows.list()
        return tuple(follow.username for follow in followed) or from_settings

    return [
        Job(
            name=SCRAPER_JOB,
            work=lambda: scheduled_scrape(system.scraping, usernames),
            first=schedule.first,
            next_after=schedule.next_after,
            on_start=clear_next_run,
            on_restore=schedule.restore,
        )
    ]
