"""What happened: the visits of a source, and who changed what."""

from __future__ import annotations

from collections.abc import Sequence

from catchment.clock import Clock, last_days
from catchment.domain.audit_trail import AuditLine
from catchment.domain.caller import Caller
from catchment.errors import Forbidden
from catchment.manage.catalog import Catalog
from catchment.store import audit_trail, fetch_log
from catchment.store.database import Store
from catchment.store.fetch_log import DayOfVisits, LoggedVisit

#: Days that a strip of visits shows, today included.
DAYS = 30


class SourceHistory:
    def __init__(self, *, store: Store, catalog: Catalog, clock: Clock) -> None:
        self._store = store
        self._catalog = catalog
        self._clock = clock

    async def visits(
        self, source_id: int, caller: Caller, *, before: int | None = None, limit: int = 50
    ) -> Sequence[LoggedVisit]:
        """The last visits of a source, the newest first; `before` is the number of a visit that was listed."""
        await self._catalog.get(source_id, caller)
        return await self._store.read(fetch_log.page, source_id, before=before, limit=limit)

    async def days(self, source_id: int, caller: Caller, *, days: int = DAYS) -> Sequence[DayOfVisits]:
        """What came of each of the last days in UTC, the oldest first, those without a visit as well."""
        await self._catalog.get(source_id, caller)
        each = last_days(self._clock.now(), days)
        found = await self._store.read(fetch_log.by_day, source_id, each)
        return [found.get(one.day) or DayOfVisits(day=one.day) for one in each]

    async def trail(self, caller: Caller, *, before: int | None = None, limit: int = 50) -> Sequence[AuditLine]:
        """Who changed what, the newest first. It is for administrators: it tells of everybody."""
        if not caller.is_admin:
            raise Forbidden("Who changed what is for administrators to read.")
        return await self._store.read(audit_trail.page, before=before, limit=limit)
