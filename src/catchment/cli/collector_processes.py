"""Collectors for while many feeds are due, one for each core: processes on the same store, gone when all is done.

The process that calls them goes on with whatever else is due, and serves whoever asks; a round is its own all the same,
as it is told what becomes of each source. They read small feeds in place, since nobody waits for them: what breaks one
breaks nothing else: the others finish what they are at, and the next round is collected without them.

A process that has threads cannot be forked safely. So one is set aside before there are any, with all that was imported
by then and nothing to do but wait: collectors are forked from it within milliseconds, and share its memory. All of them
hang on a socket: when it ends, because this process is told to stop or is gone itself, they stop as if by a signal.
Signals of a terminal do not reach them, and one that reaches them all the same, as that of a service manager does, is
the same stop once more.
"""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import signal
import socket
import struct
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, redirect_stderr, suppress
from dataclasses import replace
from itertools import chain, islice
from math import inf
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from catchment.errors import CatchmentError

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.domain.host import DueSource
    from catchment.domain.visit import VisitResult
    from catchment.engine.round import Round
    from catchment.settings import Settings

#: With fewer feeds due it is not worth starting a process.
MANY_DUE = 200
#: So many requests in flight are worth a process of their own.
_IN_FLIGHT_EACH = 10
#: What comes in thousands. Other services are asked at a pace that this process keeps for itself.
_TYPES = frozenset({"rss", "digest_feed"})
_FORK = b"f"
_SIZE = struct.Struct("!I")
_CUT_OFF = 1
#: How often a collector says what it did: of one that is killed, what it did since is in nobody's count.
_SEND_SECONDS = 0.05
#: So much of what others have left is claimed from at a time.
_HELPED_AT_ONCE = 200
#: How long one that is well says nothing, beside the time that a document may take: on a machine that is overloaded.
_SILENT_SECONDS = 30.0
#: How much longer than this one another may take to leave.
_LEAVE_SECONDS = 10.0
_LOOK_SECONDS = 0.01


def collectors_at_most(settings: Settings) -> int:
    """How many are to collect while many feeds are due; 1 is this process alone."""
    wanted = settings.processes or os.cpu_count() or 1
    return max(1, min(wanted, settings.concurrency // _IN_FLIGHT_EACH))


class ForkServer:
    """The process that was set aside, as the one that set it aside sees it."""

    def __init__(self, line: socket.socket | None, *, collectors: int, pid: int = 0) -> None:
        self._line = line
        self._pid = pid
        #: How many collect side by side at most; none where they would be no more than this process alone, or cannot be
        #: forked any more.
        self.collectors = collectors

    def fork(self) -> socket.socket:
        """Start a collector. By the socket it is told what to collect, and says what becomes of it; once it is gone the
        socket ends. Raises OSError where there is no room for another socket, or nobody any more to fork it.
        """
        assert self._line is not None
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self._line, [_FORK], [theirs.fileno()])
            except OSError as error:
                ours.close()
                if isinstance(error, ConnectionError):
                    self.end()
                raise
        return ours

    def end(self) -> None:
        """It is gone, or does not answer: nobody is forked any more."""
        self.collectors = 0
        _kill(self._pid)


#: For whoever has no others beside it.
ALONE = ForkServer(None, collectors=0)


@contextmanager
def fork_server(settings: Settings) -> Iterator[ForkServer]:
    """Set a process aside, where more than one collector may be wanted; to be entered before there are threads."""
    collectors = collectors_at_most(settings) if hasattr(os, "fork") else 1
    if collectors == 1:
        yield ALONE
        return
    import_what_collects()
    ours, theirs = socket.socketpair()
    pid = _forked()
    if pid == 0:
        ours.close()
        _serve_forks(theirs, _share(settings, collectors))
    theirs.close()
    try:
        yield ForkServer(ours, collectors=collectors, pid=pid) if pid else ALONE
    finally:
        ours.close()
        if pid:
            _wait_for(pid, seconds=_LEAVE_SECONDS)


def _forked() -> int | None:
    """As `os.fork`; None, and a word about it, where there is no room for another process."""
    try:
        return os.fork()
    except OSError as error:
        from loguru import logger

        logger.warning("no process can be set aside ({}): this one collects alone", error)
        return None


def _wait_for(pid: int, *, seconds: float) -> None:
    """Until a child is gone; one that hangs is killed."""
    deadline = monotonic() + seconds
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        if monotonic() >= deadline:
            _kill(pid)
            deadline = inf
        sleep(_LOOK_SECONDS)


def import_what_collects() -> None:
    """Before a fork, so that it is there once for all; and before anybody is served, who would have to wait for it."""
    import catchment.bootstrap.engine
    import catchment.fetch.client
    import catchment.sandbox.in_place
    import catchment.sources.items
    import catchment.sources.rss  # noqa: F401
    from catchment.sources.registry import plug_ins

    plug_ins()


def _share(settings: Settings, collectors: int) -> Settings:
    """The settings of one of several. They have few documents read apart."""
    parsers = max(1, (settings.parsers or os.cpu_count() or 1) // collectors)
    return replace(settings, parsers=parsers, processes=1)


def _serve_forks(line: socket.socket, settings: Settings) -> NoReturn:
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    #: By the pid of each collector.
    lines: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, lambda *_: _reap(lines))
    while True:
        asked, sockets, _, _ = socket.recv_fds(line, len(_FORK), 1)
        if not asked:
            _end_all(lines, seconds=settings.stop_seconds + _LEAVE_SECONDS)
            os._exit(0)
        # One that ends at once is heard of when it is known.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        # Where none can be forked, the line ends as if it were gone.
        with suppress(OSError):
            pid = os.fork()
            if pid == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
                for other in (line.detach(), *lines.values()):
                    os.close(other)
                _be_collector(socket.socket(fileno=sockets[0]), settings)
            lines[pid] = sockets.pop()
        for unused in sockets:
            os.close(unused)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})


def _reap(lines: dict[int, int]) -> None:
    """At once: one that is gone must not look alive. Who asked for it hears of its end when it is not there."""
    with suppress(ChildProcessError):
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            os.close(lines.pop(pid))


def _end_all(lines: Mapping[int, int], *, seconds: float) -> None:
    """Whoever called is gone, so they stop by themselves; one that hangs does not."""
    deadline = monotonic() + seconds
    while lines and monotonic() < deadline:
        sleep(_LOOK_SECONDS)
    for pid in tuple(lines):
        _kill(pid)


def _be_collector(line: socket.socket, settings: Settings) -> NoReturn:
    """Whatever happens here ends here: what follows a fork is somebody else's."""
    code = _CUT_OFF
    try:
        from catchment.eventloop import run

        run(_collect_beside(line, settings))
        code = 0
    except CatchmentError as error:
        from loguru import logger

        logger.error("a collector process broke: {}", error)
    except BaseException as error:  # noqa: BLE001 - the edge of a process: it is told, and the code says it again
        from loguru import logger

        logger.opt(exception=error).error("a collector process broke")
    os._exit(code)


async def _collect_beside(line: socket.socket, settings: Settings) -> None:
    """Open the store, wait for what is to be collected, and say what becomes of it."""
    from catchment.bootstrap import open_system
    from catchment.cli.signals import stop_on_signals
    from catchment.eventloop import background_tasks

    reader, writer = await asyncio.open_unix_connection(sock=line)
    # Whoever called may be gone by now, and wants to know nothing any more.
    with suppress(ConnectionError, asyncio.IncompleteReadError), redirect_stderr(_CallersStderr(writer)):
        _send(writer, os.getpid())
        async with open_system(settings, serves_nobody=True) as system, stop_on_signals() as stop:
            collector = system.collector
            order: Order = await _receive(reader)
            collector.concurrency = order.visits
            async with background_tasks(_stop_at_end(reader, stop)):
                clean = await _collect(system, order, stop, writer)
        # After the last line of the log.
        await asyncio.sleep(0)
        _send(writer, clean)
        await writer.drain()


async def _collect(system: System, order: Order, stop: asyncio.Event, writer: asyncio.StreamWriter) -> bool:
    """Whether nothing was cut off."""
    from catchment.cli.signals import collect_before
    from catchment.domain.host import DueSource
    from catchment.eventloop import background_tasks

    news = _News(writer)

    async def collect() -> None:
        round_: Round | None = None
        for part in order.parts():
            due = list(map(DueSource, part))
            round_ = await system.collector.collect_these(due, on_round=news.follow, follows=round_)
            if not round_.results:
                break

    try:
        async with background_tasks(news.keep_sending()):
            await collect_before(stop, system, collect, is_helping=True)
    except TimeoutError:
        return False
    finally:
        # Also of a round that a stop ended.
        news.send()
    return True


class Order(NamedTuple):
    """What a collector is asked for."""

    #: How many visits it may have under way.
    visits: int
    #: The ids of sources, none of which shares its host.
    due: Sequence[int]
    #: What others have begun at the same time, the last of it first: whoever is done helps them while anything is left.
    of_others: Sequence[int]

    def parts(self) -> Iterator[Sequence[int]]:
        yield self.due
        for start in range(0, len(self.of_others), _HELPED_AT_ONCE):
            yield self.of_others[start : start + _HELPED_AT_ONCE]


def _orders(due: Sequence[int], *, collectors: int, visits: int) -> list[Order]:
    """A part for each, in the order of urgency. Who claimed the same would wait for each other all the time."""
    return [Order(visits, due[number::collectors], _of_others(due, number, collectors)) for number in range(collectors)]


def _of_others(due: Sequence[int], number: int, collectors: int) -> Sequence[int]:
    """All of them get on alike: what is left is at the end of every part."""
    return [id_ for place, id_ in enumerate(due) if place % collectors != number][::-1]


class _News:
    """Sends what becomes of the sources of some rounds."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._results: list[Sequence[VisitResult]] = []
        self._count = 0

    def follow(self, round_: Round) -> None:
        self._results.append(round_.results)

    async def keep_sending(self) -> None:
        """Also that there is none: who falls silent is taken for broken."""
        while True:
            await asyncio.sleep(_SEND_SECONDS)
            self.send()

    def send(self) -> None:
        news = list(islice(chain.from_iterable(self._results), self._count, None))
        _send(self._writer, news)
        self._count += len(news)


class _CallersStderr(io.TextIOBase):
    """The log goes to whoever called, which may have a progress bar in the same terminal."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._loop = asyncio.get_running_loop()

    def write(self, text: str) -> int:
        if self._writer.is_closing():
            return sys.__stderr__.write(text) if sys.__stderr__ else 0
        self._loop.call_soon_threadsafe(_send, self._writer, text)
        return len(text)


def _send(writer: asyncio.StreamWriter, message: object) -> None:
    if not writer.is_closing():
        data = pickle.dumps(message)
        writer.write(_SIZE.pack(len(data)) + data)


async def _receive(reader: asyncio.StreamReader) -> Any:
    (size,) = _SIZE.unpack(await reader.readexactly(_SIZE.size))
    return pickle.loads(await reader.readexactly(size))  # noqa: S301 - from a process with our own rights


async def _stop_at_end(reader: asyncio.StreamReader, stop: asyncio.Event) -> None:
    with suppress(ConnectionError):
        await reader.read()
    stop.set()
    from loguru import logger

    logger.info("a collector process: stop received")


class Helpers:
    """Collectors that are called while many feeds are due."""

    def __init__(self, system: System, forks: ForkServer, stop: asyncio.Event) -> None:
        self._system = system
        self._forks = forks
        self._stop = stop
        #: The lines of those that were forked before it was known for sure that they are needed.
        self._ready: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()
        #: Of those that are at work.
        self._pids: set[int] = set()
        #: One of them broke, maybe of what it read: what is left is collected here, where everything is read apart.
        self._has_broken = False
        #: Whether one of them had to leave something unfinished at the stop.
        self.was_cut_off = False

    async def prepare(self) -> None:
        """Have them open the store while this process puts it in order, if many feeds are due by the look of it."""
        from catchment.store import sources

        if not self._forks.collectors:
            return
        now = self._system.clock.now()
        if await self._system.store.read(sources.are_many_due, types=_TYPES, now=now, many=MANY_DUE):
            # Where they cannot be had, that is told when they are needed.
            with suppress(OSError):
                while len(self._ready) < self._forks.collectors:
                    self._ready.append(self._forks.fork())

    def divide(self, due: Sequence[DueSource]) -> tuple[Sequence[DueSource], Sequence[DueSource]]:
        """All feeds, where there are many, but of hosts that several share: their pace is kept by one process."""
        if not due or not self._forks.collectors or self._stop.is_set():
            return (), due
        if self._has_broken:
            self._has_broken = False
            return (), due
        theirs = [one for one in due if one.host is None and one.type in _TYPES]
        if len(theirs) < MANY_DUE:
            return (), due
        return theirs, [one for one in due if one.host is not None or one.type not in _TYPES]

    def collect(self, round_: Round, due: Sequence[DueSource], *, left_here: int) -> None:
        # What is left here wants a part of what may be under way as well.
        visits = self._system.collector.concurrency // (self._forks.collectors + (left_here > 0))
        orders = _orders([one.id for one in due], collectors=self._forks.collectors, visits=visits)
        task = asyncio.create_task(self._have_all_collect(round_, orders))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _have_all_collect(self, round_: Round, orders: Sequence[Order]) -> None:
        from catchment.eventloop import background_tasks

        halt = asyncio.Event()
        try:
            async with background_tasks(self._halt_at_stop(halt)), asyncio.TaskGroup() as tasks:
                for order in orders:
                    tasks.create_task(self._have_one_collect(round_, order, halt))
        finally:
            round_.close_others()

    async def _halt_at_stop(self, halt: asyncio.Event) -> None:
        """One that hangs has no longer than the others to leave."""
        await self._stop.wait()
        halt.set()
        await asyncio.sleep(self._system.settings.stop_seconds + _LEAVE_SECONDS)
        for pid in self._pids:
            _kill(pid)

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
        for line in self._ready:
            line.close()
        for task in self._tasks:
            task.cancel()
        await self.finish()

    async def _have_one_collect(self, round_: Round, order: Order, halt: asyncio.Event) -> None:
        async with self._system.collector.lending(order.visits):
            if halt.is_set() or not (self._ready or self._forks.collectors):
                return
            try:
                line = self._ready.pop() if self._ready else self._forks.fork()
            except OSError as error:
                self._do_without(error)
            else:
                await self._follow(line, round_, order, halt)

    async def _follow(self, line: socket.socket, round_: Round, order: Order, halt: asyncio.Event) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=line)
        ordering = asyncio.create_task(_give(order, writer, halt))
        pid = 0
        try:
            pid = await self._hear(reader)
            self._pids.add(pid)
            while not isinstance(news := await self._hear(reader), bool):
                _take_in(news, round_)
            self.was_cut_off |= not news and self._stop.is_set()
        except TimeoutError:
            # What broke this one is not to break those that would take it over.
            halt.set()
            if pid:
                await self._end_silent(pid, reader)
            else:
                self._forks.end()
                self._do_without("whoever starts it does not answer")
        except (asyncio.IncompleteReadError, EOFError, pickle.UnpicklingError, ConnectionError):
            halt.set()
            if pid:
                _kill(pid)
                self._tell_of_break("ended before it was done")
            else:
                self._do_without("there is no room for it")
        except asyncio.CancelledError:
            # Whoever insists on the stop does not wait: what it had taken is taken over when its leases run out.
            _kill(pid)
            raise
        finally:
            self._pids.discard(pid)
            ordering.cancel()
            writer.close()

    async def _hear(self, reader: asyncio.StreamReader) -> Any:
        """What it says; TimeoutError when it has said nothing for longer than anything may hold it up."""
        async with asyncio.timeout(self._longest_silence):
            return await _receive(reader)

    @property
    def _longest_silence(self) -> float:
        return _SILENT_SECONDS + self._system.settings.parse_seconds

    async def _end_silent(self, pid: int, reader: asyncio.StreamReader) -> None:
        _kill(pid)
        self._tell_of_break(f"said nothing for {self._longest_silence:g} s and was killed")
        # Its line ends once it is gone: only then can its leases be told from those of one that is at work.
        with suppress(TimeoutError, OSError):
            async with asyncio.timeout(_LEAVE_SECONDS):
                await reader.read()

    def _tell_of_break(self, what: str) -> None:
        from loguru import logger

        self._has_broken = True
        self.was_cut_off |= self._stop.is_set()
        logger.error("a collector process {}; what it had taken is taken over", what)

    def _do_without(self, why: object) -> None:
        from loguru import logger

        self._has_broken = True
        logger.error("a collector process could not be started ({}): its part is collected here, at the next look", why)
        if not self._forks.collectors:
            logger.error("from now on this process collects alone, which is slower; start it anew to have others again")


def _take_in(news: str | list[VisitResult], round_: Round) -> None:
    """Lines of its log, or what became of some sources."""
    if isinstance(news, str):
        sys.stderr.write(news)
        return
    for result in news:
        round_.record_of_others(result)


async def _give(order: Order, writer: asyncio.StreamWriter, halt: asyncio.Event) -> None:
    """What to collect; and to begin nothing more, when it is time."""
    _send(writer, order)
    await halt.wait()
    writer.write_eof()


def _kill(pid: int) -> None:
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@asynccontextmanager
async def helpers(system: System, forks: ForkServer, stop: asyncio.Event) -> AsyncIterator[Helpers]:
    """Have collectors at work whenever many feeds are due; at the end those that are left are waited for."""
    ours = Helpers(system, forks, stop)
    system.collector.others = ours
    try:
        yield ours
        await ours.finish()
    except TimeoutError:
        await ours.cut_off()
        raise
    finally:
        system.collector.others = None
        await ours.end()
