"""Time for a read: what it may take itself, and how long its caller waits for it, queues and all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from catchment.domain.crawling import Code, CrawlError


class Allowance:
    """The seconds that a platform has to answer one read, over all its requests. Waiting for a turn takes none."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._left = seconds
        self._timeout: asyncio.Timeout | None = None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Within it the seconds pass, and end in TIMEOUT_ERROR."""
        try:
            async with asyncio.timeout(self._left) as self._timeout:
                try:
                    yield
                finally:
                    self._left = self._seconds_left(self._timeout)
        except TimeoutError as error:
            raise timed_out(self._seconds, "the platform took too long") from error

    def pause(self) -> None:
        assert self._timeout is not None, "it is the read that is running that waits"
        self._left = self._seconds_left(self._timeout)
        self._timeout.reschedule(None)

    def resume(self) -> float:
        """Gives the seconds that are left."""
        assert self._timeout is not None, "it was paused before"
        self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)
        return self._left

    def _seconds_left(self, timeout: asyncio.Timeout) -> float:
        when = timeout.when()
        # Paused, and broken off while it was.
        return self._left if when is None else max(0.0, when - asyncio.get_running_loop().time())


class Waiting:
    """How long the caller waits, from now on; one without an end to it waits as long as it takes."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._ends = None if seconds is None else asyncio.get_running_loop().time() + seconds

    @asynccontextmanager
    async def ends_in_time(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout_at(self._ends):
                yield
        except TimeoutError as error:
            raise timed_out(self._seconds or 0.0, "there was not enough time for everything") from error


def timed_out(seconds: float, why: str) -> CrawlError:
    return CrawlError(
        Code.TIMEOUT_ERROR, f"No answer within {seconds:g} s: {why}.", details={"timeout_seconds": seconds}
    )
