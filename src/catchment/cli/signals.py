"""Stopping: the first signal asks, a second one insists."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from catchment.cli.console import say

if TYPE_CHECKING:
    from catchment.bootstrap import System

T = TypeVar("T")
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@asynccontextmanager
async def stop_on_signals() -> AsyncIterator[asyncio.Event]:
    """The event is set by the first SIGTERM or SIGINT. The second cancels the task that is in this context, and a
    third does what signals do by themselves. Who else sets the event does not count as a signal.
    """
    from loguru import logger

    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None

    heard = False

    def hear(number: signal.Signals) -> None:
        nonlocal heard
        if not heard:
            heard = True
            stop.set()
            logger.info("{} received: finishing what is under way; a second signal stops at once", number.name)
            return
        logger.warning("{} received again: stopping at once", number.name)
        _give_back(loop)
        task.cancel()

    for number in SIGNALS:
        loop.add_signal_handler(number, hear, number)
    try:
        yield stop
    finally:
        _give_back(loop)


async def collect_until_stopped(system: System, stop: asyncio.Event) -> bool:
    """Run the collector until the stop; False when work had to be cut off."""
    settings = system.settings
    try:
        await system.collector.serve(stop, tick_seconds=settings.tick_seconds, grace_seconds=settings.stop_seconds)
    except TimeoutError as error:
        say(f"Error: {error}")
        return False
    return True


async def collect_unless_stopped(system: System, work: Callable[[], Coroutine[Any, Any, T]]) -> T | None:
    """The result of one piece of collecting; None when it was stopped before. TimeoutError when it was cut off."""
    async with stop_on_signals() as stop:
        return await collect_before(stop, system, work)


async def collect_before(
    stop: asyncio.Event, system: System, work: Callable[[], Coroutine[Any, Any, T]], *, is_helping: bool = False
) -> T | None:
    """The same, for whoever has the stop."""
    task: asyncio.Task[T] | None = None
    try:
        grace = system.settings.stop_seconds
        async with system.collector.working(grace_seconds=grace, stop=stop, is_helping=is_helping):
            task = asyncio.create_task(work())
            await _either(task, stop)
    finally:
        if task is not None:
            # It may hold something that it has to give back.
            task.cancel()
            await asyncio.wait({task})
    return None if task.cancelled() else task.result()


async def _either(task: asyncio.Task[Any], stop: asyncio.Event) -> None:
    told = asyncio.create_task(stop.wait())
    await asyncio.wait({task, told}, return_when=asyncio.FIRST_COMPLETED)
    told.cancel()


def _give_back(loop: asyncio.AbstractEventLoop) -> None:
    for number in SIGNALS:
        loop.remove_signal_handler(number)
