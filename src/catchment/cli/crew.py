"""More collectors beside this one, for machines with more cores: processes of their own on the same store.

They hold on to their standard input: when it ends, because this process ends them or is gone itself, they stop as if
told by a signal. Signals of a terminal do not reach them, so that there is one way to stop and not two.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from loguru import logger

from catchment.collect.beside import beside

#: The hidden option of `collect --loop` by which a process knows that it belongs to a crew.
MEMBER = "--member"
RESTART_SECONDS = 1.0


def crew(size: int) -> AbstractAsyncContextManager[None]:
    """Keep so many other collectors at work while the block runs."""
    return beside(*(_keep_one() for _ in range(size)))


def stop_at_end_of_input(stop: asyncio.Event) -> None:
    """What a member does: listen for the end of whoever started it."""
    loop = asyncio.get_running_loop()

    def listen() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=listen, name="end-of-input", daemon=True).start()


async def _keep_one() -> None:
    while True:
        async with _member() as process:
            code = await process.wait()
        logger.error("a collector process ended with code {}; starting another", code)
        await asyncio.sleep(RESTART_SECONDS)


@asynccontextmanager
async def _member() -> AsyncIterator[asyncio.subprocess.Process]:
    command = (sys.executable, "-m", "catchment.cli", "collect", "--loop", MEMBER)
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, start_new_session=True)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
