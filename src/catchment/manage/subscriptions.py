"""Subscriptions as people manage them: one's own sources and public ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.caller import Caller
from catchment.domain.source import Source
from catchment.errors import Forbidden, NotFound
from catchment.store import sources, subscriptions
from catchment.store.database import Store
from catchment.store.subscriptions import Subscription


class Subscriptions:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(self, caller: Caller) -> list[Subscription]:
        return await self._store.read(subscriptions.list_of, _user_of(caller))

    async def add(self, source_id: int, caller: Caller) -> bool:
        """True if it is new. A source that the caller cannot see is NotFound."""
        return await self._store.write(_add, source_id, caller, _user_of(caller), now=self._clock.now())

    async def add_many(self, source_ids: Sequence[int], caller: Caller) -> int:
        """How many are new; what cannot be subscribed to is passed over."""
        return await self._store.write(_add_many, source_ids, caller, _user_of(caller), now=self._clock.now())

    async def add_all(self, caller: Caller) -> int:
        """The same with everything that there is."""
        seen = await self._store.read(sources.list_visible, caller)
        return await self.add_many([source.id for source in seen], caller)

    async def remove(self, source_id: int, caller: Caller) -> None:
        if not await self._store.write(subscriptions.remove, _user_of(caller), source_id):
            raise NotFound(f"You are not subscribed to source {source_id}.")


def _user_of(caller: Caller) -> int:
    if caller.user_id is None:
        raise Forbidden("Subscriptions belong to a user, and this key acts for none.")
    return caller.user_id


def _is_open_to(source: Source, caller: Caller) -> bool:
    """Narrower than seeing: not even an admin follows what somebody keeps to themselves."""
    return not source.is_deleted and (source.is_public or source.created_by == caller.user_id)


def _add(conn: Connection, source_id: int, caller: Caller, user_id: int, *, now: datetime) -> bool:
    source = sources.get(conn, source_id)
    if source is None or not caller.may_see(source):
        raise NotFound(f"There is no source {source_id}.")
    if not _is_open_to(source, caller):
        raise Forbidden(f"Source {source_id} is private and belongs to somebody else.")
    return sources.subscribe(conn, user_id, source_id, now=now)


def _add_many(conn: Connection, source_ids: Sequence[int], caller: Caller, user_id: int, *, now: datetime) -> int:
    found = [source for source in sources.get_many(conn, list(source_ids)) if _is_open_to(source, caller)]
    return sum(sources.subscribe(conn, user_id, source.id, now=now) for source in found)
