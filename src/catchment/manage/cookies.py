"""Cookies as an administrator manages them. Values go in and never come out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.domain.audit_trail import AuditEntry, deed
from catchment.domain.cookie import Cookie, CookiePolicy, CookieStatus, as_of, missing_parts, renewed
from catchment.domain.cookie_pool import HOUR, Forecast, forecast
from catchment.domain.note import DISPLAY_NAMES, Platform
from catchment.errors import Conflict, InvalidInput, NotFound, or_not_found
from catchment.store import cookies
from catchment.store.audit_trail import recorded
from catchment.store.cookies import CookieChange
from catchment.store.database import Store

if TYPE_CHECKING:
    from catchment.fetch.options import LentCookie
    from catchment.platforms.cookies import CookieSeal, StoredCookiePool
    from catchment.sources.platforms.reader import PlatformReader

MAX_NAME = 50
#: No browser sends more to one site.
LEAST_VALUE, MAX_VALUE = 10, 16_384
MAX_PRIORITY = 100
MAX_DAILY = 10_000
MAX_DESCRIPTION = 1000
#: Of a name: it stands in paths, and nobody should take a value for a name.
FORBIDDEN = frozenset("/=;")


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieChanges:
    """None leaves it as it is."""

    is_enabled: bool | None = None
    priority: int | None = None
    daily_limit: int | None = None
    description: str | None = None

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What the platform said of a cookie, and the state it is in by that."""

    name: str
    platform: Platform
    is_valid: bool
    status: CookieStatus
    checked_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    total: int
    resealed: int
    #: Those whose key is not at hand: they stay as they are.
    unreadable: tuple[str, ...] = ()


Progress = Callable[[int, int], None]


class Cookies:
    def __init__(
        self,
        *,
        store: Store,
        pool: Callable[[], StoredCookiePool],
        seal: Callable[[], CookieSeal],
        reader: Callable[[], PlatformReader],
        clock: Clock,
        policy: CookiePolicy,
        wait_seconds: float,
    ) -> None:
        """What opens cookies and asks platforms is made when it is first needed: a list needs nothing of it."""
        self._store = store
        self._pool = pool
        self._seal = seal
        self._reader = reader
        self._clock = clock
        self._policy = policy
        #: How long a check may take, waiting for the cookie and for a turn at the platform included.
        self._wait_seconds = wait_seconds

    async def add(self, name: str, platform: Platform, value: str, *, settings: CookieChanges | None = None) -> Cookie:
        """Add a cookie; one of that name gets the new value instead, and is active again."""
        settings = settings or CookieChanges()
        name, value = _checked_name(name), _checked_value(value, platform)
        _check(settings)
        now, seal = self._clock.now(), self._seal()
        new = Cookie(
            name=name,
            platform=platform,
            sealed=seal.seal(name, value),
            key_id=seal.key_id,
            created_at=now,
            updated_at=now,
            counted_since=now,
            **settings.given(),
        )
        entry = deed("cookie.add", f"cookie {name}", platform, now=self._clock.now())
        return self._by_now(await self._store.write(recorded, entry, _add_or_replace, new, settings))

    async def list(self, platform: Platform | None = None) -> list[Cookie]:
        return [self._by_now(one) for one in await self._store.read(cookies.list_all, platform)]

    async def get(self, name: str) -> Cookie:
        return self._by_now(_found(await self._store.read(cookies.get, name), name))

    async def change(self, name: str, changes: CookieChanges) -> Cookie:
        _check(changes)
        entry = deed("cookie.change", f"cookie {name}", ", ".join(changes.given()), now=self._clock.now())
        return await self._change(
            name, entry, lambda cookie: replace(cookie, updated_at=self._clock.now(), **changes.given())
        )

    async def reset(self, name: str) -> Cookie:
        """Active again, with a clean record."""
        entry = deed("cookie.reset", f"cookie {name}", now=self._clock.now())
        return await self._change(name, entry, lambda cookie: renewed(cookie, self._clock.now()))

    async def remove(self, name: str) -> None:
        """Whoever uses it at the moment finishes undisturbed."""
        entry = deed("cookie.remove", f"cookie {name}", now=self._clock.now())
        if not await self._store.write(recorded, entry, cookies.remove, name):
            raise NotFound(_missing(name))

    async def check(self, name: str) -> Checked:
        """Ask the platform whether it knows the cookie; if it does not, the cookie is invalid."""
        from catchment.sources.platforms.request import Waiting

        async def ask(lent: LentCookie) -> bool:
            await self._keep_distance(name)
            return await self._reader().is_valid(lent)

        async with Waiting(self._wait_seconds).ends_in_time():
            is_valid = await self._pool().check(name, ask)
        cookie = await self.get(name)
        return Checked(
            name=name,
            platform=cookie.platform,
            is_valid=is_valid,
            status=cookie.status,
            checked_at=self._clock.now(),
        )

    async def rotate(self, progress: Progress | None = None) -> Rotated:
        """Seal with the present key what is sealed with earlier ones; lending goes on meanwhile."""
        from catchment.crypto import Unsealable

        seal = self._seal()
        stale = [one for one in await self._store.read(cookies.list_all) if one.key_id != seal.key_id]
        resealed, unreadable = 0, []
        for number, cookie in enumerate(stale, 1):
            try:
                sealed = seal.seal(cookie.name, seal.open(cookie))
            except Unsealable:
                unreadable.append(cookie.name)
            else:
                resealed += await self._store.write(cookies.reseal, cookie, sealed=sealed, key_id=seal.key_id)
            if progress is not None:
                progress(number, len(stale))
        return Rotated(total=len(stale), resealed=resealed, unreadable=tuple(unreadable))

    async def forecast(self) -> Sequence[Forecast]:
        """One for each platform that there are cookies of."""
        now = self._clock.now()
        known, uses = await self._store.read(_known_and_used, since=now - HOUR)
        return [
            forecast(
                platform,
                [one for one in known if one.platform is platform],
                used_last_hour=uses.get(platform, 0),
                now=now,
                policy=self._policy,
            )
            for platform in sorted({one.platform for one in known})
        ]

    async def _keep_distance(self, name: str) -> None:
        """A check is a request like any other: one cookie makes them no faster than its policy lets it."""
        last_used_at = (await self.get(name)).last_used_at
        if last_used_at is not None:
            wait = last_used_at + self._policy.spacing - self._clock.now()
            await asyncio.sleep(max(0.0, wait.total_seconds()))

    async def _change(self, name: str, entry: AuditEntry, judge: Callable[[Cookie], Cookie]) -> Cookie:
        changed: CookieChange | None = await self._store.write(recorded, entry, cookies.change, name, judge)
        return self._by_now(_found(changed.after if changed is not None else None, name))

    def _by_now(self, cookie: Cookie) -> Cookie:
        return as_of(cookie, self._clock.now(), self._policy)


def shown(cookie: Cookie) -> dict[str, Any]:
    """What may be seen of a cookie, under the names of the crawler's document: all but its value."""
    facts = {name: getattr(cookie, name) for name in _SHOWN}
    return {"cookie_name": cookie.name, **facts, "encryption_key_id": cookie.key_id}


_SHOWN = (
    *("platform", "status", "is_enabled", "priority", "daily_used", "daily_limit", "consecutive_errors"),
    *("cooling_until", "total_used", "total_errors", "last_used_at", "last_error_at", "description"),
    *("created_at", "updated_at"),
)


def _add_or_replace(conn: Connection, new: Cookie, settings: CookieChanges) -> Cookie:
    if cookies.add(conn, new):
        return new

    def with_new_value(known: Cookie) -> Cookie:
        if known.platform is not new.platform:
            raise Conflict(f"The cookie {new.name!r} is one of {known.platform}; choose another name, or remove it.")
        fresh = renewed(known, new.created_at)
        return replace(fresh, sealed=new.sealed, key_id=new.key_id, **settings.given())

    changed = cookies.change(conn, new.name, with_new_value)
    assert changed is not None, "it was there a moment ago, and nobody removes it within this transaction"
    return changed.after


def _known_and_used(conn: Connection, *, since: datetime) -> tuple[list[Cookie], Mapping[Platform, int]]:
    return cookies.list_all(conn), cookies.uses_since(conn, since)


def _checked_name(name: str) -> str:
    name = name.strip()
    if not 0 < len(name) <= MAX_NAME:
        raise InvalidInput(f"A cookie needs a name of 1 to {MAX_NAME} characters.", field="name")
    if not name.isprintable() or FORBIDDEN & set(name):
        raise InvalidInput("A cookie's name is plain text without / = and ;", field="name")
    return name


def _checked_value(value: str, platform: Platform) -> str:
    value = value.strip()
    if not LEAST_VALUE <= len(value) <= MAX_VALUE:
        raise InvalidInput(f"The value of a cookie has {LEAST_VALUE} to {MAX_VALUE} characters.", field="value")
    if not (value.isascii() and value.isprintable()):
        raise InvalidInput("The value of a cookie is one line, as a browser sends it: `name=value; …`.", field="value")
    if missing := missing_parts(value, platform):
        raise InvalidInput(
            f"The cookie lacks {', '.join(missing)}, without which {DISPLAY_NAMES[platform]} takes it for nobody's: "
            "copy it anew from a browser that is signed in there.",
            field="value",
        )
    return value


def _check(changes: CookieChanges) -> None:
    if changes.priority is not None and not 0 <= changes.priority <= MAX_PRIORITY:
        raise InvalidInput(f"A priority is 0 to {MAX_PRIORITY}.", field="priority")
    if changes.daily_limit is not None and not 1 <= changes.daily_limit <= MAX_DAILY:
        raise InvalidInput(f"A daily limit is 1 to {MAX_DAILY} reads.", field="daily_limit")
    if changes.description is not None and len(changes.description) > MAX_DESCRIPTION:
        raise InvalidInput(f"A description has at most {MAX_DESCRIPTION} characters.", field="description")


def _found(cookie: Cookie | None, name: str) -> Cookie:
    return or_not_found(cookie, _missing(name))


def _missing(name: str) -> str:
    return f"There is no cookie {name!r}."
