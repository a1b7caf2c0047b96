"""Waiting for what happens by itself: asked for again and again, up to a deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")
DEADLINE_SECONDS = 40
LOOK_SECONDS = 0.02


async def eventually(
    ask: Callable[[], Awaitable[T]], *, look_seconds: float = LOOK_SECONDS, deadline: float = DEADLINE_SECONDS
) -> T:
    """The first answer that is not empty."""
    async with asyncio.timeout(deadline):
        while True:
            if answer := await ask():
                return answer
            await asyncio.sleep(look_seconds)
