"""Alarms: when this process should look after a job. APScheduler, behind our own words.

The database says when a job is due; an alarm only wakes up whoever is to look. Losing one is harmless, since every
tick looks anyway.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.schedulers import SchedulerNotRunningError
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger

from catchment.clock import Clock
from catchment.errors import SettingsError
from catchment.logs import retell

#: Is told the name of the job; must not take long.
Ring = Callable[[str], None]


class Timers:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ring: Ring | None = None
        #: What each alarm was set to, by our clock; the scheduler's own may differ.
        self._set_to: dict[str, datetime] = {}
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        # A lost alarm is harmless, so what it says of one is for those who look closely.
        retell("apscheduler", speaker="the scheduler of alarms")

    @property
    def are_running(self) -> bool:
        return bool(self._scheduler.running)

    def start(self, ring: Ring) -> None:
        self._ring = ring
        self._scheduler.start()

    def stop(self) -> None:
        try:
            self._scheduler.shutdown(wait=False)
        except SchedulerNotRunningError:
            return

    def set(self, name: str, at: datetime | None) -> None:
        """Ring for a job at that moment, or not at all. A moment that has passed rings at once."""
        if at is None:
            if self._scheduler.get_job(name) is not None:
                self._scheduler.remove_job(name)
            return
        self._scheduler.add_job(
            self._rung,
            DateTrigger(datetime.now(UTC) + (at - self._clock.now())),
            args=[name],
            id=name,
            replace_existing=True,
            misfire_grace_time=None,
            coalesce=True,
            max_instances=1,
        )
        self._set_to[name] = at

    async def _rung(self, name: str) -> None:
        """A coroutine, so that it runs in the loop and not in a thread."""
        if self._ring is not None:
            self._ring(name)

    def at(self, name: str) -> datetime | None:
        """When it rings next; None when it does not, or while nothing rings at all."""
        is_set = self.are_running and self._scheduler.get_job(name) is not None
        return self._set_to.get(name) if is_set else None


class Cron:
    """Moments by a crontab line, in UTC."""

    def __init__(self, line: str) -> None:
        try:
            self._trigger = CronTrigger.from_crontab(line, timezone=UTC)
        except ValueError as error:
            raise SettingsError(f"SCRAPER_CRON: {line!r} is not a crontab line: {error}") from error
        self.line = line

    def after(self, moment: datetime) -> datetime | None:
        """The first moment that is later than this one."""
        found: datetime | None = self._trigger.get_next_fire_time(moment, moment)
        return found
