"""E-mail and password, checked: alike for known and unknown, and only so often."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import cached_property
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError
from loguru import logger

from catchment.clock import Clock
from catchment.crypto import hash_secret
from catchment.domain.account import KeyHolder, Login, read_email
from catchment.errors import InvalidInput, TooBusy, TooManyAttempts
from catchment.store import keys, users
from catchment.store.database import Store

LEAST, MOST = 8, 200
#: A hash takes 64 MiB and all of a core: more at once would only be slower.
AT_ONCE = 2
#: Whoever comes when these many wait already is sent away: they would wait for seconds, and hold a connection.
MAX_WAITING = 20
RETRY_SECONDS = 5


class Passwords:
    def __init__(self) -> None:
        self._hasher = PasswordHasher()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._inside = 0

    async def hash(self, password: str) -> str:
        async with self._turn():
            return await asyncio.to_thread(self._hasher.hash, password)

    async def fits(self, password: str, password_hash: str | None) -> bool:
        """Takes its time even where there is nothing to compare with: nobody learns by it who is known."""
        async with self._turn():
            return await asyncio.to_thread(self._verify, password_hash, password)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        if self._inside >= AT_ONCE + MAX_WAITING:
            message = f"Too many passwords are being checked at this moment; try again in {RETRY_SECONDS} seconds."
            raise TooBusy(message, retry_after=RETRY_SECONDS)
        self._inside += 1
        try:
            async with self._turns:
                yield
        finally:
            self._inside -= 1

    def _verify(self, password_hash: str | None, password: str) -> bool:
        try:
            self._hasher.verify(password_hash or self._nobodys, password)
        except VerifyMismatchError:
            return False
        return password_hash is not None

    @cached_property
    def _nobodys(self) -> str:
        return self._hasher.hash(secrets.token_urlsafe())


def new_password() -> str:
    """Something to begin with, to be handed over and changed."""
    return secrets.token_urlsafe(12)


def checked_password(password: str) -> str:
    if not LEAST <= len(password) <= MOST:
        raise InvalidInput(f"A password has {LEAST} to {MOST} characters.", field="new_password")
    return password


#: Who tried longest ago is forgotten first, so that made-up names cannot fill the memory.
REMEMBERED = 10_000


class Throttle:
    def __init__(self, *, most: int, window: timedelta, remembered: int = REMEMBERED) -> None:
        self._most = most
        self._window = window
        self._remembered = remembered
        self._attempts: OrderedDict[str, list[datetime]] = OrderedDict()

    def wait(self, who: str, *, now: datetime) -> timedelta:
        """How long until the next attempt is allowed; zero for at once."""
        recent = self._recent(who, now)
        if len(recent) < self._most:
            return timedelta(0)
        return recent[-self._most] + self._window - now

    def record(self, who: str, *, now: datetime) -> None:
        self._attempts[who] = [*self._recent(who, now), now]
        self._attempts.move_to_end(who)
        while len(self._attempts) > self._remembered:
            self._attempts.popitem(last=False)

    def take_back(self, who: str, *, at: datetime) -> None:
        """An attempt that was recorded at this moment turned out to be a good one."""
        attempts = self._attempts.get(who, [])
        if at in attempts:
            attempts.remove(at)

    def forget(self, who: str) -> None:
        self._attempts.pop(who, None)

    def _recent(self, who: str, now: datetime) -> list[datetime]:
        return [at for at in self._attempts.get(who, []) if at > now - self._window]


WINDOW = timedelta(minutes=15)
MAX_PER_ACCOUNT, MAX_PER_ADDRESS = 5, 30
#: Whoever has one IPv6 address has all of its /64.
IPV6_PREFIX = 64


class Logins:
    def __init__(self, *, store: Store, clock: Clock, passwords: Passwords) -> None:
        self._store = store
        self._clock = clock
        self._passwords = passwords
        self._by_account = Throttle(most=MAX_PER_ACCOUNT, window=WINDOW)
        self._by_address = Throttle(most=MAX_PER_ADDRESS, window=WINDOW)

    async def check(self, email: str, password: str, *, address: str) -> Login | None:
        """Who this is, or None. Whoever was wrong too often is told TooManyAttempts, even with the right password."""
        account, place, now = read_email(email) or "", neighbourhood(address), self._clock.now()
        self._admit(account, place, now)
        login = await self._store.read(users.find_login, account)
        try:
            fits = await self._passwords.fits(password, login.password_hash if login else None)
        except TooBusy:
            # Nobody looked at it, so it was not wrong.
            self._by_account.take_back(account, at=now)
            self._by_address.take_back(place, at=now)
            raise
        if login is None or not fits or not login.user.is_active:
            logger.warning("A sign-in by password from {} was refused.", address)
            return None
        self._by_account.forget(account)
        self._by_address.take_back(place, at=now)
        return login

    async def check_key(self, email: str, secret: str, *, address: str) -> KeyHolder | None:
        """The same for a key in place of the password, where it acts for whoever has this address."""
        account, place, now = read_email(email) or "", neighbourhood(address), self._clock.now()
        self._admit(account, place, now)
        holder = await self._store.read(keys.find_holder, hash_secret(secret))
        if holder is None or holder.user is None or holder.user.email != account:
            logger.warning("A sign-in by key from {} was refused.", address)
            return None
        self._by_account.forget(account)
        self._by_address.take_back(place, at=now)
        return holder

    def _admit(self, account: str, place: str, now: datetime) -> None:
        """Attempts count from their beginning, or many at once would slip past together."""
        wait = max(self._by_account.wait(account, now=now), self._by_address.wait(place, now=now))
        if wait > timedelta(0):
            seconds = ceil(wait.total_seconds())
            raise TooManyAttempts(f"Too many attempts; try again in {seconds} seconds.", retry_after=seconds)
        self._by_account.record(account, now=now)
        self._by_address.record(place, now=now)


def neighbourhood(address: str) -> str:
    """What counts as one address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed, IPV6_PREFIX), strict=False))
    return address
