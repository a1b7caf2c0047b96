"""The scraper's schedule as an administrator changes it: the row, the job and its alarm together, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.audit_trail import deed
from catchment.domain.run import SCRAPER_JOB, BadMoment, JobState, ScraperSchedule, fault_of_next_run
from catchment.errors import InvalidInput, SchedulerFailed
from catchment.schedule.jobs import Cron, Timers
from catchment.store import jobs, scraper_schedule
from catchment.store.audit_trail import record
from catchment.store.database import Store


class WrongMoment(InvalidInput):
    """A next run that cannot be; `fault` says why."""

    def __init__(self, fault: BadMoment) -> None:
        super().__init__(f"the next run is {fault.replace('_', ' ')}", field="next_run_time")
        self.fault = fault


@dataclass(frozen=True, slots=True, kw_only=True)
class ScraperDefaults:
    """What holds while nobody set anything."""

    #: Whether this installation scrapes at all.
    is_enabled: bool
    interval_seconds: int
    #: Instead of an interval.
    cron: Cron | None
    #: Wait for an administrator instead of beginning at the first start.
    is_lazy: bool

    def next_after(self, schedule: ScraperSchedule | None, moment: datetime) -> datetime | None:
        """When the scraper runs after this moment."""
        if schedule is not None and not schedule.is_enabled:
            return None
        cron = self.cron_for(schedule)
        return cron.after(moment) if cron else moment + timedelta(seconds=self.interval_for(schedule))

    def cron_for(self, schedule: ScraperSchedule | None) -> Cron | None:
        """The crontab line, unless somebody set an interval."""
        return None if schedule is not None and schedule.is_interval_set else self.cron

    def interval_for(self, schedule: ScraperSchedule | None) -> int:
        is_set = schedule is not None and schedule.is_interval_set
        return schedule.interval_seconds if schedule and is_set else self.interval_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleView:
    interval_seconds: int
    #: The crontab line, while it holds instead of the interval.
    cron: str | None
    next_run_time: datetime | None
    scheduler_running: bool
    is_enabled: bool
    job_active: bool
    updated_at: datetime | None
    updated_by: str | None


class ScraperScheduling:
    def __init__(self, *, store: Store, clock: Clock, timers: Timers, defaults: ScraperDefaults) -> None:
        self._store = store
        self._clock = clock
        self._timers = timers
        self._defaults = defaults

    async def show(self) -> ScheduleView:
        row, due_at = await self._store.read(_read)
        return self._view(row, due_at)

    async def set_interval(self, seconds: int, *, by: str) -> ScheduleView:
        """A single run that was asked for stays; without one the new interval counts from now."""
        values = {"interval_seconds": seconds, "is_interval_set": True, "is_enabled": True}
        return await self._change(values, by=by, due=self._after_interval)

    async def take_back_interval(self, *, by: str) -> ScheduleView:
        """What the settings say holds again; a pause and a single run that was asked for stay."""
        row, due_at = await self._store.read(_read)
        if row is None or not row.is_interval_set:
            return self._view(row, due_at)
        values = {"interval_seconds": self._defaults.interval_seconds, "is_interval_set": False}
        return await self._change(values, by=by, due=self._after_interval)

    async def set_next_run(self, moment: datetime, *, by: str) -> ScheduleView:
        now = self._clock.now()
        fault = fault_of_next_run(moment, now)
        if fault is not None:
            raise WrongMoment(fault)
        at = max(moment, now)
        return await self._change({"next_run_time": at, "is_enabled": True}, by=by, due=lambda *_: at)

    async def enable(self, *, by: str) -> ScheduleView:
        row, due_at = await self._store.read(_read)
        if row is not None and row.is_enabled and due_at is not None:
            return self._view(row, due_at)
        return await self._change({"is_enabled": True}, by=by, due=self._after_interval)

    async def disable(self, *, by: str) -> ScheduleView:
        row, due_at = await self._store.read(_read)
        if row is not None and not row.is_enabled:
            return self._view(row, due_at)
        return await self._change({"is_enabled": False}, by=by, due=lambda *_: None)

    # The job's own decisions, made in the transaction that runs it.

    def first(self, conn: Connection, now: datetime) -> datetime | None:
        """At the first start: at once, or as it was stored."""
        row = scraper_schedule.read(conn)
        if not self._defaults.is_enabled or (row is None and self._defaults.is_lazy):
            return None
        if row is None:
            return self._defaults.cron.after(now) if self._defaults.cron else now
        return self._after_interval(row, now)

    def next_after(self, conn: Connection, moment: datetime) -> datetime | None:
        return self._defaults.next_after(scraper_schedule.read(conn), moment)

    def restore(self, conn: Connection, state: JobState, now: datetime) -> None:
        """What came due while nobody was there stays due, and so is made up for once. A single run that is no longer
        due passed during a pause and is dropped. What the settings say now counts for whatever else is still to come.
        """
        row = scraper_schedule.read(conn)
        single = row.next_run_time if row else None
        if single is not None and single <= now and state.due_at != single:
            scraper_schedule.clear_next_run(conn)
        if state.due_at is not None and state.due_at > now and state.due_at != single:
            jobs.set_due(conn, SCRAPER_JOB, self._by_settings(row, state.due_at, now))

    def _by_settings(self, row: ScraperSchedule | None, due_at: datetime, now: datetime) -> datetime | None:
        """By a crontab line its next moment, by an interval at most so long from now."""
        latest = self._defaults.next_after(row, now)
        if latest is None or self._defaults.cron_for(row):
            return latest
        return min(latest, due_at)

    def _after_interval(self, row: ScraperSchedule, now: datetime) -> datetime | None:
        if row.is_enabled and row.next_run_time is not None and row.next_run_time > now:
            return row.next_run_time
        return self._defaults.next_after(row, now)

    async def _change(
        self, values: dict[str, Any], *, by: str, due: Callable[[ScraperSchedule, datetime], datetime | None]
    ) -> ScheduleView:
        before = self._timers.at(SCRAPER_JOB)
        told = ", ".join(f"{name}: {value}" for name, value in values.items())
        entry = deed("schedule.change", SCRAPER_JOB, told, now=self._clock.now())

        def write(conn: Connection) -> tuple[ScraperSchedule, datetime | None]:
            now = self._clock.now()
            row = scraper_schedule.write(
                conn, values, default_interval=self._defaults.interval_seconds, now=now, updated_by=by
            )
            due_at = due(row, now)
            jobs.ensure(conn, SCRAPER_JOB, due_at=due_at)
            jobs.set_due(conn, SCRAPER_JOB, due_at)
            self._set_timer(due_at)
            record(conn, entry)
            return row, due_at

        try:
            row, due_at = await self._store.write(write)
        except SchedulerFailed:
            raise
        except Exception:
            # The row did not change, so the alarm must not either.
            self._set_timer(before)
            raise
        logger.info("scraper schedule changed by {}: {}", by, values)
        return self._view(row, due_at)

    @property
    def _is_running(self) -> bool:
        return self._timers.are_running and self._defaults.is_enabled

    def _set_timer(self, at: datetime | None) -> None:
        if not self._is_running:
            return
        try:
            self._timers.set(SCRAPER_JOB, at)
        except Exception as error:
            logger.error("the scraper's alarm cannot be set to {}: {!r}", at, error)
            raise SchedulerFailed("The scheduler could not be changed, so nothing was stored.") from error

    def _view(self, row: ScraperSchedule | None, due_at: datetime | None) -> ScheduleView:
        is_running, cron = self._is_running, self._defaults.cron_for(row)
        return ScheduleView(
            interval_seconds=self._defaults.interval_for(row),
            cron=cron.line if cron else None,
            next_run_time=due_at if is_running else (row.next_run_time if row else None),
            scheduler_running=is_running,
            is_enabled=row.is_enabled if row else self._defaults.is_enabled and not self._defaults.is_lazy,
            # Not whether an alarm is set: one that rings at this moment is not, and the job is at work all the same.
            job_active=is_running and due_at is not None,
            updated_at=row.updated_at if row else None,
            updated_by=row.updated_by if row else None,
        )


def _read(conn: Connection) -> tuple[ScraperSchedule | None, datetime | None]:
    states = {state.name: state for state in jobs.list_all(conn)}
    return scraper_schedule.read(conn), states[SCRAPER_JOB].due_at if SCRAPER_JOB in states else None
