"""The event loop everything runs on: uvloop where it is to be had, which saves a tenth of the work of a visit.

And work beside work on it: tasks that live as long as a block, and take it down when they fail.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    try:
        from uvloop import new_event_loop
    except ImportError:  # on Windows
        return asyncio.new_event_loop
    return new_event_loop


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
