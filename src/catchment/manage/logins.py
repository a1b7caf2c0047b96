"""E-mail and password, checked: alike for known and unknown, and only so often."""

from __future__ import annotations

from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from math import ceil

from loguru import logger

from catchment.clock import Clock
from catchment.domain.account import Login, read_email
from catchment.errors import TooBusy, TooManyAttempts
from catchment.manage.passwords import Passwords
from catchment.manage.throttle import Throttle
from catchment.store import users
from catchment.store.door import Store

WINDOW = timedelta(minutes=15)
MOST_PER_ACCOUNT, MOST_PER_ADDRESS = 5, 30
#: Whoever has one IPv6 address has all of its /64.
IPV6_PREFIX = 64


class Logins:
    def __init__(self, *, store: Store, clock: Clock, passwords: Passwords) -> None:
        self._store = store
        self._clock = clock
        self._passwords = passwords
        self._by_account = Throttle(most=MOST_PER_ACCOUNT, window=WINDOW)
        self._by_address = Throttle(most=MOST_PER_ADDRESS, window=WINDOW)

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

    def _admit(self, account: str, place: str, now: datetime) -> None:
        """Attempts count from their beginning, or many at once would slip past together."""
        wait = max(self._by_account.wait(account, now=now), self._by_address.wait(place, now=now))
        if wait > timedelta(0):
            seconds = ceil(wait.total_seconds())
            raise TooManyAttempts(f"Too many attempts; try again in {seconds} seconds.", retry_after=seconds)
        self._by_account.note(account, now=now)
        self._by_address.note(place, now=now)


def neighbourhood(address: str) -> str:
    """What counts as one address."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed, IPV6_PREFIX), strict=False))
    return address
