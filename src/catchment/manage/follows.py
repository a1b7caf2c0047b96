"""Whom the scraper follows, as people manage it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.audit_trail import deed
from catchment.domain.item import is_storable
from catchment.domain.tweet import Follow, normal_username
from catchment.errors import Conflict, InvalidInput, or_not_found
from catchment.store import follows
from catchment.store.audit_trail import recorded
from catchment.store.database import Store

MAX_REASON, MAX_ADDED_BY = 500, 100


class Follows:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(self, *, include_inactive: bool = False) -> list[Follow]:
        return await self._store.read(follows.list_all, include_inactive=include_inactive)

    async def add(self, username: str, *, reason: str, added_by: str) -> Follow:
        """Follow somebody, or again somebody who was given up; Conflict for one who is followed already."""
        now = self._clock.now()
        return await self._store.write(
            recorded,
            deed("follow.add", f"@{normal_username(username)}", now=now),
            _add,
            normal_username(username),
            reason=_checked(reason, "reason", MAX_REASON),
            added_by=_checked(added_by, "added_by", MAX_ADDED_BY),
            now=now,
        )

    async def change(self, username: str, *, reason: str | None = None, is_active: bool | None = None) -> Follow:
        values: dict[str, str | bool] = {}
        if reason is not None:
            values["reason"] = _checked(reason, "reason", MAX_REASON)
        if is_active is not None:
            values["is_active"] = is_active
        if not values:
            raise InvalidInput("Nothing to change: give a reason or is_active.")
        name = normal_username(username)
        entry = deed("follow.change", f"@{name}", ", ".join(values), now=self._clock.now())
        return _there(await self._store.write(recorded, entry, follows.change, name, values), username)

    async def remove(self, username: str) -> Follow:
        """Give somebody up; NotFound for one who is not followed."""
        name = normal_username(username)
        entry = deed("follow.remove", f"@{name}", now=self._clock.now())
        return _there(await self._store.write(recorded, entry, _give_up, name), username)


def _add(conn: Connection, username: str, *, reason: str, added_by: str, now: datetime) -> Follow:
    known = follows.get(conn, username)
    if known is None:
        return follows.add(conn, username, reason=reason, added_by=added_by, now=now)
    if known.is_active:
        raise Conflict(f"@{username} is followed already.", existing_id=known.id)
    values = {"reason": reason, "added_by": added_by, "added_at": now, "is_active": True}
    return _there(follows.change(conn, username, values), username)


def _give_up(conn: Connection, username: str) -> Follow | None:
    known = follows.get(conn, username)
    return follows.change(conn, username, {"is_active": False}) if known and known.is_active else None


def _there(follow: Follow | None, username: str) -> Follow:
    return or_not_found(follow, f"{username} is not followed.")


def _checked(text: str, field: str, most: int) -> str:
    text = text.strip()
    if not 0 < len(text) <= most or not is_storable(text):
        raise InvalidInput(f"{field} is 1 to {most} characters.", field=field)
    return text
