"""More collectors beside this one, for machines with more cores: processes of their own on the same store.

They hold on to their standard input: when it ends, because this process is told to stop or is gone itself, they stop
as if told by a signal. Signals of a terminal do not reach them, and one that reaches them all the same, as that of a
service manager does, is the same stop once more.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

#: The hidden option of `collect --loop` by which a process knows that it belongs to a crew.
MEMBER = "--member"
RESTART_SECONDS = 1.0
_STANDARD_INPUT = 0
_SOME_BYTES = 4096


class Crew:
    """How the members fared, once all of them have ended."""

    def __init__(self) -> None:
        #: With which code each ended that was told to.
        self.codes: list[int] = []

    @property
    def was_cut_off(self) -> bool:
        return any(self.codes)


@asynccontextmanager
async def crew(size: int, stop: asyncio.Event) -> AsyncIterator[Crew]:
    """Keep so many other collectors at work until the stop, at which they finish what they have under way."""
    ours = Crew()
    async with asyncio.TaskGroup() as tasks:
        for _ in range(size):
            tasks.create_task(_keep_one(stop, ours))
        yield ours


def stop_at_end_of_input(stop: asyncio.Event) -> None:
    """What a member does: listen for the end of whoever started it."""
    loop = asyncio.get_running_loop()

    def listen() -> None:
        # Not by `sys.stdin`: its lock would be held at the end of the process, which Python takes for fatal.
        while os.read(_STANDARD_INPUT, _SOME_BYTES):
            pass
        # A loop that was stopped by a signal may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=listen, name="end-of-input", daemon=True).start()


async def _keep_one(stop: asyncio.Event, ours: Crew) -> None:
    while not stop.is_set():
        code = await _run_member(stop)
        # A signal to all of us may have reached the member first.
        if await _is_told(stop, within=RESTART_SECONDS):
            ours.codes.append(code)
        else:
            from loguru import logger

            logger.error("a collector process ended with code {}; starting another", code)


async def _run_member(stop: asyncio.Event) -> int:
    """Until it ends, by itself or because it is told to; says with which code."""
    command = (sys.executable, "-m", "catchment.cli", "collect", "--loop", MEMBER)
    process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    told, ended = asyncio.create_task(stop.wait()), asyncio.create_task(process.wait())
    try:
        await asyncio.wait({told, ended}, return_when=asyncio.FIRST_COMPLETED)
        process.stdin.close()
        return await ended
    finally:
        told.cancel()
        if process.returncode is None:
            await _end(process, at_once=stop.is_set())


async def _end(process: asyncio.subprocess.Process, *, at_once: bool) -> None:
    """Whoever insists on the stop does not wait: what the member had taken is taken over when its leases run out."""
    assert process.stdin is not None
    process.stdin.close()
    if at_once:
        process.kill()
    await process.wait()


async def _is_told(stop: asyncio.Event, *, within: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(stop.wait(), within)
    return stop.is_set()
