"""The product's collector loop as a process, set by the environment, until it is told to stop."""

from __future__ import annotations

import asyncio
import signal

from catchment.bootstrap import open_system
from catchment.settings import load_settings


async def loop() -> None:
    settings = load_settings()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_system(settings) as system, system.collector.working(grace_seconds=settings.stop_seconds):
        await system.collector.run(stop, tick_seconds=settings.tick_seconds)


if __name__ == "__main__":
    asyncio.run(loop())
