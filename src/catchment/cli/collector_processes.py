"""More collectors while much is due, for machines with more cores: processes on the same store, gone when all is done.

A process that has threads cannot be forked safely. So one is set aside before there are any, with all that was imported
by then and nothing to do but wait: collectors are forked from it within milliseconds, and share its memory. All of them
hang on a socket: when it ends, because this process is told to stop or is gone itself, they stop as if by a signal.
Signals of a terminal do not reach them, and one that reaches them all the same, as that of a service manager does, is
the same stop once more.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import struct
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.visit import VisitResult
    from catchment.engine.round import Round
    from catchment.settings import Settings

#: With fewer sources due it is not worth starting a process.
MANY_DUE = 200
#: So many requests in flight are worth a process of their own.
_IN_FLIGHT_EACH = 10
#: What comes in thousands. Other services are asked at a pace that this process keeps for itself.
_TYPES = frozenset({"rss", "digest_feed"})
_PID = struct.Struct("!i")
_FORK = b"f"
_CUT_OFF = 1
#: How much longer than this one another may take to leave.
_LEAVE_SECONDS = 10.0


def collectors_at_most(settings: Settings) -> int:
    """How many collect side by side, this process among them."""
    wanted = settings.processes or os.cpu_count() or 1
    return max(1, min(wanted, settings.concurrency // _IN_FLIGHT_EACH))


class ForkServer:
    """The process that was set aside, as the one that set it aside sees it."""

    def __init__(self, line: socket.socket | None, *, collectors: int) -> None:
        self._line = line
        #: How many collect side by side at most.
        self.collectors = collectors

    def fork(self) -> socket.socket:
        """Start a collector; what it says comes by the socket."""
        assert self._line is not None
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._line, [_FORK], [theirs.fileno()])
        return ours


#: For whoever has no others beside it.
ALONE = ForkServer(None, collectors=1)


@contextmanager
def fork_server(settings: Settings) -> Iterator[ForkServer]:
    """Set a process aside, where more than one collector may be wanted; to be entered before there are threads."""
    collectors = collectors_at_most(settings) if hasattr(os, "fork") else 1
    if collectors == 1:
        yield ALONE
        return
    import_what_collects()
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _serve_forks(theirs, _share(settings, collectors))
    theirs.close()
    try:
        yield ForkServer(ours, collectors=collectors)
    finally:
        ours.close()
        os.waitpid(pid, 0)


def import_what_collects() -> None:
    """Before a fork, so that it is there once for all; and before anybody is served, who would have to wait for it."""
    import catchment.bootstrap.engine
    import catchment.fetch.client
    import catchment.sources.rss  # noqa: F401
    from catchment.sources.registry import plug_ins

    plug_ins()


def _share(settings: Settings, collectors: int) -> Settings:
    """The settings of one of several."""
    parsers = _parsers_each(settings.parsers or os.cpu_count() or 1, collectors)
    return replace(settings, concurrency=settings.concurrency // collectors, parsers=parsers, processes=1)


def _parsers_each(parsers: int, collectors: int) -> int:
    return max(1, parsers // collectors)


def _serve_forks(line: socket.socket, settings: Settings) -> NoReturn:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        asked, sockets, _, _ = socket.recv_fds(line, len(_FORK), 1)
        if not asked:
            _wait_for_all()
            os._exit(0)
        if os.fork() == 0:
            line.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _be_collector(socket.socket(fileno=sockets[0]), settings)
        os.close(sockets[0])


def _reap(*_: object) -> None:
    """At once: one that is gone must not look alive. How it ended it told whoever asked for it."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _wait_for_all() -> None:
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _be_collector(line: socket.socket, settings: Settings) -> NoReturn:
    """Whatever happens here ends here: what follows a fork is somebody else's."""
    code = _CUT_OFF
    try:
        from catchment.eventloop import run

        run(_collect_beside(line, settings))
        code = 0
    except BaseException as error:  # noqa: BLE001 - the edge of a process: it is told, and the code says it again
        from loguru import logger

        logger.opt(exception=error).error("a collector process broke")
    os._exit(code)


async def _collect_beside(line: socket.socket, settings: Settings) -> None:
    """Feeds that are due, until none is; then say what became of them."""
    from catchment.bootstrap import open_system
    from catchment.cli.signals import collect_before, stop_on_signals
    from catchment.engine.collector import LOOK_LIMIT, log_round
    from catchment.eventloop import background_tasks

    reader, writer = await asyncio.open_unix_connection(sock=line)
    writer.write(_PID.pack(os.getpid()))
    clean = True
    rounds: list[Round] = []

    def begin(round_: Round) -> None:
        rounds.append(round_)
        round_.when_over(log_round)

    async with (
        open_system(settings) as system,
        stop_on_signals() as stop,
        background_tasks(_stop_at_end(reader, stop)),
    ):
        collect = partial(system.collector.collect_some, LOOK_LIMIT, types=_TYPES, on_round=begin)
        try:
            await collect_before(stop, system, collect, is_helping=True)
        except TimeoutError:
            clean = False
    # Also of rounds that a stop ended.
    writer.write(pickle.dumps((clean, [result for round_ in rounds for result in round_.results])))
    writer.close()
    # Whoever called may be gone by now, and wants to know nothing any more.
    with suppress(ConnectionError):
        await writer.wait_closed()


async def _stop_at_end(reader: asyncio.StreamReader, stop: asyncio.Event) -> None:
    with suppress(ConnectionError):
        await reader.read()
    stop.set()


class Helpers:
    """Collectors that are called while much is due."""

    def __init__(
        self, system: System, forks: ForkServer, stop: asyncio.Event, results: list[VisitResult] | None
    ) -> None:
        self._system = system
        self._forks = forks
        self._stop = stop
        self._tasks: set[asyncio.Task[None]] = set()
        self._results = results
        #: How many read where nobody helps.
        self._parsers = system.parsers.size
        #: Whether one of them broke, so that what it had taken is due again.
        self.has_broken = False
        #: Whether one of them had to leave something unfinished at the stop.
        self.was_cut_off = False

    def call(self, due: int) -> None:
        """Have others help where so many are due; nothing while they are at it. They bring some of the parsers."""
        if self._tasks or self._stop.is_set():
            return
        others = self._forks.collectors - 1 if due >= MANY_DUE else 0
        brought = others * _parsers_each(self._parsers, self._forks.collectors)
        self._system.parsers.size = max(1, self._parsers - brought)
        for _ in range(others):
            task = asyncio.create_task(self._have_one_collect())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def finish(self) -> None:
        """Wait until all of them are done."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def cut_off(self) -> None:
        """Let them cut off what they are at, as was done here: each gives its leases back. Not for ever."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_LEAVE_SECONDS)

    async def end(self) -> None:
        """Those that are left, at once."""
        for task in self._tasks:
            task.cancel()
        await self.finish()

    async def _have_one_collect(self) -> None:
        share = self._system.collector.concurrency // self._forks.collectors
        async with self._system.collector.lending(share):
            if not self._stop.is_set():
                await self._follow(self._forks.fork())

    async def _follow(self, line: socket.socket) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=line)
        telling = asyncio.create_task(self._tell_to_stop(writer))
        pid = 0
        try:
            (pid,) = _PID.unpack(await reader.readexactly(_PID.size))
            clean, results = pickle.loads(await reader.read())  # noqa: S301 - it is our own
            if self._results is not None:
                self._results += results
            self.was_cut_off |= not clean
        except (asyncio.IncompleteReadError, EOFError, pickle.UnpicklingError, ConnectionError):
            from loguru import logger

            self.has_broken = True
            self.was_cut_off |= self._stop.is_set()
            logger.error("a collector process ended before it was done; what it had taken is taken over")
        except asyncio.CancelledError:
            # Whoever insists on the stop does not wait: what it had taken is taken over when its leases run out.
            if pid:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            raise
        finally:
            telling.cancel()
            writer.close()

    async def _tell_to_stop(self, writer: asyncio.StreamWriter) -> None:
        await self._stop.wait()
        writer.write_eof()


@asynccontextmanager
async def helpers(
    system: System, forks: ForkServer, stop: asyncio.Event, *, results: list[VisitResult] | None = None
) -> AsyncIterator[Helpers]:
    """Have more collectors at work whenever much is due; at the end those that are left are waited for.

    What they did is added to `results`, for whoever wants to know: one that goes on for months does not.
    """
    ours = Helpers(system, forks, stop, results)
    system.collector.when_due = ours.call
    try:
        yield ours
        await ours.finish()
    except TimeoutError:
        await ours.cut_off()
        raise
    finally:
        system.collector.when_due = None
        await ours.end()
