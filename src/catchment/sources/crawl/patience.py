"""Trying again by the table of errors: as often as it says, after the waits that it says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from catchment.domain.crawling import CrawlError, wait_before_retry

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]


async def patiently(work: Callable[[], Awaitable[T]], *, sleep: Sleep = asyncio.sleep) -> T:
    """What the work comes to in the end; the last CrawlError once the table says that it is enough."""
    tried_again = 0
    while True:
        try:
            return await work()
        except CrawlError as error:
            wait = wait_before_retry(error, tried_again)
            if wait is None:
                raise
        tried_again += 1
        await sleep(wait.total_seconds())
