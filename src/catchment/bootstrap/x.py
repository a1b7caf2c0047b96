"""The parts that X is scraped with, made for a system."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from catchment.manage.scraper_schedule import ScraperDefaults, ScraperScheduling
from catchment.schedule.jobs import Cron
from catchment.settings import Settings
from catchment.store.spending import Caps

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.sources.x.scrape import Scraper
    from catchment.x import ScrapeWriter, ScrapingService, XRepository


class XParts:
    def __init__(self, system: System) -> None:
        self._system = system
        self._settings = system.settings

    @cached_property
    def scrape_writer(self) -> ScrapeWriter:
        from catchment.x import ScrapeWriter

        return ScrapeWriter(alpha=self._settings.scraper_ema_alpha)

    @cached_property
    def repository(self) -> XRepository:
        from catchment.x import XRepository

        system = self._system
        return XRepository(
            store=system.store,
            clock=system.clock,
            caps=x_caps(self._settings),
            interval_of=lambda source: system.cadences.of(source).interval,
        )

    @cached_property
    def scraper(self) -> Scraper | None:
        from catchment.sources.x.fetchers import make_scraper

        return make_scraper(self._settings, self.repository)

    @cached_property
    def scraping(self) -> ScrapingService:
        from catchment.x import ScrapingService

        system = self._system
        return ScrapingService(
            store=system.store,
            http=system.http,
            scraper=self.scraper,
            writer=self.scrape_writer,
            quota=self.repository.cap_reached,
            leases=system.new_leases(),
            clock=system.clock,
            at_once=self._settings.scraper_concurrency,
        )

    @cached_property
    def schedule(self) -> ScraperScheduling:
        system, settings = self._system, self._settings
        defaults = ScraperDefaults(
            is_enabled=settings.scraper_enabled,
            interval_seconds=settings.scraper_interval,
            cron=Cron(settings.scraper_cron) if settings.scraper_cron else None,
            is_lazy=settings.scraper_lazy_start,
        )
        return ScraperScheduling(store=system.store, clock=system.clock, timers=system.timers, defaults=defaults)


def x_caps(settings: Settings) -> Caps:
    return Caps(day=settings.twitter_daily_pages, month=settings.twitter_monthly_pages)
