"""Where parsing happens: beside the event loop, so that a large feed does not hold up a heartbeat."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import ParamSpec, TypeVar

from loguru import logger

P = ParamSpec("P")
T = TypeVar("T")


class Workbench:
    """Runs functions in other processes, or in a thread when there are none."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._executor: Executor | None = None

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        work = partial(function, *args, **kwargs)
        try:
            return await self._run(work)
        except BrokenProcessPool:
            # Something killed a process of ours. The work is pure: do it again in new ones.
            logger.warning("a parser process died; starting new ones")
            self._executor = None
            return await self._run(work)

    async def _run(self, work: Callable[[], T]) -> T:
        if self._executor is None:
            self._executor = self._start()
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

    def _start(self) -> Executor:
        if not self._processes:
            return ThreadPoolExecutor(1, thread_name_prefix="parser")
        context = multiprocessing.get_context("forkserver")
        return ProcessPoolExecutor(self._processes, mp_context=context, initializer=_settle_in)

    def close(self) -> None:
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None


def _settle_in() -> None:
    """Ctrl-C reaches the whole process group; it is the collector who decides what it means. But when the collector
    is gone without a word, nobody else would ever tell its parsers to go.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, name="leave-with-parent", daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(0)
