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
import os
import pickle
import signal
import socket
import struct
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import replace
from itertools import chain, islice
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

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
#: How often a collector says what it did.
_SEND_SECONDS = 0.2
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

    def __init__(self, line: socket.socket | None, *, collectors: int) -> None:
        self._line = line
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
                    self.collectors = 0
                raise
        return ours


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
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        _send(writer, os.getpid())
        async with open_system(settings, serves_nobody=True) as system, stop_on_signals() as stop:
            collector = system.collector
            order: Order = await _receive(reader)
            collector.concurrency = order.visits
            async with background_tasks(_stop_at_end(reader, stop)):
                clean = await _collect(system, order, stop, writer)
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


def _send(writer: asyncio.StreamWriter, message: object) -> None:
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
            async with background_tasks(_pass_on(self._stop, halt)), asyncio.TaskGroup() as tasks:
                for order in orders:
                    tasks.create_task(self._have_one_collect(round_, order, halt))
        finally:
            round_.close_others()

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

    def _do_without(self, error: OSError) -> None:
        from loguru import logger

        self._has_broken = True
        logger.error(
            "no collector process could be started ({}): what it was to collect is collected by this one", error
        )
        if not self._forks.collectors:
            logger.error("from now on this process collects alone, which is slower; start it anew to have others again")

    async def _follow(self, line: socket.socket, round_: Round, order: Order, halt: asyncio.Event) -> None:
        reader, writer = await asyncio.open_unix_connection(sock=line)
        ordering = asyncio.create_task(_give(order, writer, halt))
        pid = 0
        try:
            pid = await self._hear(reader)
            while isinstance(news := await self._hear(reader), list):
                for result in news:
                    round_.record_of_others(result)
            self.was_cut_off |= not news and self._stop.is_set()
        except (TimeoutError, asyncio.IncompleteReadError, EOFError, pickle.UnpicklingError, ConnectionError):
            from loguru import logger

            logger.error("a collector process ended before it was done; what it had taken is taken over")
            self._has_broken = True
            self.was_cut_off |= self._stop.is_set()
            _kill(pid)
            # What broke this one is not to break those that would take it over.
            halt.set()
            await _until_gone(reader)
        except asyncio.CancelledError:
            # Whoever insists on the stop does not wait: what it had taken is taken over when its leases run out.
            _kill(pid)
            raise
        finally:
            ordering.cancel()
            writer.close()

    async def _hear(self, reader: asyncio.StreamReader) -> Any:
        """What it says; TimeoutError when it has said nothing for longer than anything may hold it up."""
        async with asyncio.timeout(_SILENT_SECONDS + self._system.settings.parse_seconds):
            return await _receive(reader)


async def _pass_on(stop: asyncio.Event, halt: asyncio.Event) -> None:
    await stop.wait()
    halt.set()


async def _give(order: Order, writer: asyncio.StreamWriter, halt: asyncio.Event) -> None:
    """What to collect; and to begin nothing more, when it is time."""
    _send(writer, order)
    await halt.wait()
    writer.write_eof()


async def _until_gone(reader: asyncio.StreamReader) -> None:
    """Its line ends once it is: only then can its leases be told from those of one that is at work."""
    with suppress(TimeoutError, OSError):
        async with asyncio.timeout(_LEAVE_SECONDS):
            await reader.read()


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
