"""Passwords: hashed slowly with Argon2id, and beside the event loop."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cached_property

from argon2 import PasswordHasher
from argon2.exceptions import VerifyMismatchError

from catchment.errors import InvalidInput, TooBusy

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
