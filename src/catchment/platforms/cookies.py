"""The cookie pool: cookies lent for one read each, to one holder at a time among all processes."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from loguru import logger
from sqlalchemy import Connection

from catchment.clock import Clock
from catchment.crypto import Unsealable, Vault
from catchment.domain.cookie import Cookie, CookiePolicy, CookieStatus, Outcome, after, as_of, cause_of, outcome_of
from catchment.domain.cookie_pool import Want, is_available, next_back_at, wait_for_one
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Platform
from catchment.domain.run import Run
from catchment.engine.leases import LeasePolicy, keep_leases, recover
from catchment.errors import NotFound, SettingsError, StoreError
from catchment.eventloop import background_tasks
from catchment.fetch.options import LentCookie
from catchment.sources.platforms.request import Asked
from catchment.store import cookies, fetch_log, runs
from catchment.store.cookies import CookieChange, Lease
from catchment.store.database import Store


class RequestLog:
    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def record(self, asked: Asked) -> None:
        how = "answered" if asked.error is None else f"{asked.error.code}: {asked.error}"
        milliseconds = round(asked.took.total_seconds() * 1000)
        level = "INFO" if asked.ok else "WARNING"
        logger.log(
            level, "{}: {} with cookie {} in {} ms: {}", asked.platform, asked.what, asked.cookie, milliseconds, how
        )
        await self._store.write(fetch_log.record_request, asked.platform, ok=asked.ok, now=self._clock.now())


NO_KEY = "Cookies are stored sealed, and there is no key for that: set COOKIE_MASTER_KEY to at least 32 characters."


class CookieSeal:
    def __init__(self, *, vault: Vault | None, key_id: str) -> None:
        """Without a vault nothing is sealed or opened, and whoever asks is told why."""
        self._vault = vault
        self.key_id = key_id

    def seal(self, name: str, value: str) -> str:
        return self._opened().seal(value, purpose=_purpose(name))

    def open(self, cookie: Cookie) -> str:
        return self._opened().open(cookie.sealed, purpose=_purpose(cookie.name))

    def _opened(self) -> Vault:
        if self._vault is None:
            raise SettingsError(NO_KEY)
        return self._vault


def _purpose(name: str) -> str:
    return f"cookie {name}"


#: How long to wait before asking again for cookies that other processes hold.
LOOK_AGAIN = timedelta(seconds=0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """A cookie in our hands. Its lease has an owner of its own, so that nobody else's heartbeat keeps it alive."""

    run: Run
    lent: LentCookie
    leases: LeasePolicy


class StoredCookiePool:
    def __init__(
        self, *, store: Store, seal: CookieSeal, clock: Clock, leases: LeasePolicy, policy: CookiePolicy
    ) -> None:
        self._store = store
        self._seal = seal
        self._clock = clock
        self._leases = leases
        self._policy = policy
        #: A cookie was given back in this process; one of those who wait looks whether it is for them.
        self._returned = asyncio.Condition()

    @asynccontextmanager
    async def lend(
        self,
        platform: Platform,
        *,
        name: str | None = None,
        excluded: frozenset[str] = frozenset(),
        blamed: set[tuple[str, str]] | None = None,
    ) -> AsyncIterator[LentCookie]:
        """As `fetch/options.py: CookiePool` promises."""
        held = await self._take(Want(platform=platform, name=name, excluded=excluded))
        outcome = Outcome.NEITHER
        try:
            async with background_tasks(keep_leases(self._store, held.leases, self._clock)):
                yield held.lent
            outcome = Outcome.GOOD
        except CrawlError as error:
            outcome = _counted_once(error, held.lent.name, blamed)
            raise
        finally:
            await self._give_back(held, outcome)

    async def check(self, name: str, ask: Callable[[LentCookie], Awaitable[bool]]) -> bool:
        """Have the platform asked about a cookie, whatever its state; one that it does not know is refused."""
        held = await self._borrow(name)
        outcome = Outcome.NEITHER
        try:
            async with background_tasks(keep_leases(self._store, held.leases, self._clock)):
                is_known = await ask(held.lent)
            outcome = Outcome.GOOD if is_known else Outcome.REFUSED
        except CrawlError as error:
            outcome = outcome_of(error)
            raise
        finally:
            await self._give_back(held, outcome)
        return is_known

    async def _take(self, want: Want) -> _Held:
        while True:
            try:
                if held := await self._claim(partial(cookies.lend, want=want, policy=self._policy)):
                    return held
                await self._until_one_is_free(want)
            except _CannotOpen as closed:
                logger.error("cookie {} is passed over: {}", closed.name, closed)
                want = replace(want, excluded=want.excluded | {closed.name})

    async def _borrow(self, name: str) -> _Held:
        while (held := await self._claim(partial(cookies.borrow, name=name))) is None:
            if await self._store.read(cookies.get, name) is None:
                raise NotFound(f"There is no cookie {name!r}.")
            await recover(self._store, self._clock)
            await self._wait(LOOK_AGAIN)
        return held

    async def _claim(self, claim: Callable[..., Lease | None]) -> _Held | None:
        """A lease by this way of claiming, with the value opened; None when there is none to have right now."""
        leases = replace(self._leases, owner=f"{self._leases.owner}-{secrets.token_hex(4)}")
        now = self._clock.now()
        try:
            lease = await self._store.write(claim, owner=leases.owner, now=now, until=leases.until(now))
            return None if lease is None else _Held(run=lease.run, lent=self._opened(lease.cookie), leases=leases)
        except (asyncio.CancelledError, SettingsError):
            # Who is interrupted while claiming cannot know whether the claim came about.
            await self._store.write(runs.release_owner, leases.owner, now=now)
            raise

    def _opened(self, cookie: Cookie) -> LentCookie:
        try:
            value = self._seal.open(cookie)
        except Unsealable as error:
            raise _CannotOpen(cookie.name, str(error)) from error
        return LentCookie(name=cookie.name, platform=cookie.platform, value=value)

    async def _until_one_is_free(self, want: Want) -> None:
        """Or raise CrawlError when none will be."""
        while True:
            # Nobody else may be there to free the cookies of a process that was killed.
            await recover(self._store, self._clock)
            known, lent = await self._store.read(_known_and_lent, want.platform)
            now, policy = self._clock.now(), self._policy
            usable = [one for one in known if want.allows(one) and is_available(one, now, policy)]
            if not usable:
                raise _none_to_wait_for(want, known, now, policy)
            wait = wait_for_one(usable, lent=lent, now=now, policy=policy, at_most=LOOK_AGAIN)
            if not wait:
                return
            await self._wait(wait)

    async def _wait(self, at_most: timedelta) -> None:
        """Until a cookie comes back here, but not longer than that: others come back elsewhere."""
        try:
            async with asyncio.timeout(at_most.total_seconds()), self._returned:
                await self._returned.wait()
        except TimeoutError:
            return

    async def _give_back(self, held: _Held, outcome: Outcome) -> None:
        now = self._clock.now()
        judge = partial(after, outcome=outcome, acquired_at=held.run.started_at, now=now, policy=self._policy)
        try:
            change = await self._store.write(cookies.give_back, held.run, judge, now=now)
        except StoreError as error:
            # Its lease runs out by itself.
            logger.error("cookie {} cannot be given back: {}", held.lent.name, error)
            return
        async with self._returned:
            self._returned.notify()
        _tell(held.lent.name, change)


class _CannotOpen(Unsealable):
    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


def _counted_once(error: CrawlError, name: str, blamed: set[tuple[str, str]] | None) -> Outcome:
    """What an error says about the cookie; nothing, if another of its batch has said the same already."""
    outcome = outcome_of(error)
    if blamed is None or outcome is Outcome.NEITHER:
        return outcome
    said = (name, cause_of(error))
    if said in blamed:
        return Outcome.NEITHER
    blamed.add(said)
    return outcome


def _known_and_lent(conn: Connection, platform: Platform) -> tuple[list[Cookie], set[str]]:
    return cookies.list_all(conn, platform), cookies.lent_names(conn)


def _none_to_wait_for(want: Want, known: Sequence[Cookie], now: datetime, policy: CookiePolicy) -> CrawlError:
    if want.name is not None:
        return _not_that_one(want, {one.name: as_of(one, now, policy) for one in known}.get(want.name), now)
    back = next_back_at([one for one in known if want.allows(one)], now, policy)
    hint = (
        f"; the next is back at {back:%Y-%m-%d %H:%M} UTC"
        if back
        else ": add one on the page Platforms or with `catchment cookies add`, sealed by COOKIE_MASTER_KEY"
    )
    details = {"platform": want.platform, "next_back_at": back.isoformat() if back else None}
    return CrawlError(
        Code.COOKIE_EXHAUSTED,
        f"There is no cookie of {want.platform} left to use{hint}.",
        details=details,
        retry_after=(back - now).total_seconds() if back else None,
    )


def _not_that_one(want: Want, cookie: Cookie | None, now: datetime) -> CrawlError:
    details: dict[str, Any] = {"platform": want.platform, "cookie": want.name}
    if cookie is None:
        return CrawlError(
            Code.COOKIE_EXHAUSTED, f"There is no cookie {want.name!r} of {want.platform}.", details=details
        )
    details["status"] = cookie.status
    if cookie.cooling_until is not None:
        return CrawlError(
            Code.COOKIE_COOLING,
            f"The cookie {cookie.name!r} cools down until {cookie.cooling_until:%Y-%m-%d %H:%M} UTC.",
            details={**details, "cooling_until": cookie.cooling_until.isoformat()},
            retry_after=(cookie.cooling_until - now).total_seconds(),
        )
    return CrawlError(
        Code.COOKIE_EXHAUSTED, f"The cookie {cookie.name!r} cannot be used: {_why_not(cookie)}.", details=details
    )


def _why_not(cookie: Cookie) -> str:
    if not cookie.is_enabled:
        return "it is disabled"
    if cookie.status is not CookieStatus.ACTIVE:
        return f"it is {cookie.status}"
    if cookie.daily_used >= cookie.daily_limit:
        return f"its {cookie.daily_limit} reads of today are used up"
    return "it failed already, or does not open"


def _tell(name: str, change: CookieChange | None) -> None:
    if change is None:
        logger.warning("cookie {}: somebody else took it over, so what it was used for says nothing about it", name)
    elif change.before.status is not change.after.status:
        logger.warning("cookie {}: {} → {}", name, change.before.status, change.after.status)
