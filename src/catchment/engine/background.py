"""Work beside work: tasks that live as long as a block, and take it down when they fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def background_tasks(*works: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run `works` while the block runs; at its end they are cancelled.

    If one fails, the block is cancelled and the failure is raised. An error of the block itself passes as it is,
    instead of in a group.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
            yield
            for task in tasks:
                task.cancel()
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from failures.exceptions[0].__cause__
