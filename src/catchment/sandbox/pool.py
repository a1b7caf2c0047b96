"""Parser processes: what strangers send is read where it holds up nobody, and where it can be ended.

A few processes, started when there is something to read and gone soon after there is nothing more. Each has a time
for every document and a limit to its memory. One that takes longer is killed; what it was reading is that source's
failure, what it had not begun goes to another.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, Final, ParamSpec, Protocol, Self, TypeVar

from catchment.errors import BadBody, BadConfig, InvalidInput, ParseError, ParserFailed, ParserUnavailable
from catchment.sandbox.process import BROKEN, NO_MEMORY_CODE, READY, BadMessage, Incoming, Task, name_of, pack

P = ParamSpec("P")
T = TypeVar("T")
SECONDS: Final = 5.0
IDLE_SECONDS: Final = 5.0
MAX_BYTES: Final = 512 * 1024 * 1024
#: Starting one takes a fifth of a second where there is little else to do.
_START_SECONDS: Final = 60.0
_MAX_FAILED_STARTS: Final = 3
#: So many documents are handed to a process at a time, so that it need not wait for the next.
_AHEAD: Final = 2
#: How many may have one alone at a time, and how long they may have nothing to read before it goes.
_MAX_ALONE: Final = 8
_ALONE_SECONDS: Final = 60.0
_ERRORS: Final = {error.__name__: error for error in (BadBody, BadConfig, InvalidInput, ParseError)}


@dataclass(slots=True, eq=False)
class _Job:
    message: bytes
    answer: asyncio.Future[Any]

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Parsers(Protocol):
    """Who reads documents for a source."""

    async def read(self, read: Callable[Concatenate[bytes, P], T], body: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        """What a reader makes of a body."""
        ...

    def one_alone(self) -> AbstractAsyncContextManager[ParserPool]:
        """One that remembers what it read before."""
        ...


class ParserPool:
    def __init__(
        self,
        *,
        size: int,
        seconds: float = SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.size = size
        self.seconds = seconds
        self.idle_seconds = idle_seconds
        self.max_bytes = max_bytes
        self._waiting: deque[_Job] = deque()
        #: Those that can be asked.
        self._processes: list[_ParserProcess] = []
        #: These, and those that start or end.
        self._alive: set[_ParserProcess] = set()
        self.is_closed = False
        self._starting = 0
        self._failed_starts = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._alone = asyncio.Semaphore(_MAX_ALONE)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def for_source(self, *, is_well: bool) -> Parsers:  # noqa: ARG002 - all are the same here
        """Who reads what comes from a source; one is well whose last visit was no failure."""
        return self

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes]

    async def read(self, read: Callable[Concatenate[bytes, P], T], body: bytes, *args: P.args, **kwargs: P.kwargs) -> T:
        """What a reader makes of a body, without holding up anybody; a ParserFailed when it takes too much of anything.

        A function that is none of ours, such as that of a plug-in, is run in a thread, which nobody can end.
        """
        function, bound = unbound(read)
        name = name_of(function)
        if name is None:
            return await asyncio.to_thread(read, body, *args, **kwargs)
        found: T = await self._run(Task(name, body, args, {**bound, **kwargs}))
        return found

    @asynccontextmanager
    async def one_alone(self) -> AsyncIterator[ParserPool]:
        """A pool of one, for whoever has it remember what it read before; it is started when it is asked something."""
        own = ParserPool(size=1, seconds=self.seconds, idle_seconds=_ALONE_SECONDS, max_bytes=self.max_bytes)
        async with self._alone, own:
            yield own

    async def _run(self, task: Task) -> Any:
        if self.is_closed:
            raise ParserUnavailable("nothing is read any more: it is stopping")
        job = _Job(pack(tuple(task)), asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self.hand_out()
        return await job.answer

    async def close(self) -> None:
        """End all processes, whatever they are at."""
        self.is_closed = True
        for process in self._alive:
            process.kill()
        if self._tasks:
            await asyncio.wait(self._tasks)
        while self._waiting:
            self._waiting.popleft().answer.cancel()

    def hand_out(self) -> None:
        """Give what is waiting to whoever is free, and start another process where nobody is."""
        while self._waiting and (process := self._freest()) is not None:
            job = self._waiting.popleft()
            if not job.answer.done():
                process.take(job)
        if self._waiting and not self.is_closed and len(self._processes) + self._starting < self.size:
            self._starting += 1
            self._spawn(self._start())

    def take_back(self, jobs: deque[_Job]) -> None:
        """What a process had not begun comes first at the next."""
        self._waiting.extendleft(reversed(jobs))
        jobs.clear()

    def drop(self, process: _ParserProcess) -> None:
        """Ask nothing more of it."""
        if process in self._processes:
            self._processes.remove(process)

    def is_ready(self, process: _ParserProcess) -> None:
        self._starting -= 1
        self._failed_starts = 0
        if self.is_closed:
            process.kill()
        else:
            self._processes.append(process)
            self.hand_out()

    def _freest(self) -> _ParserProcess | None:
        """An idle one, or one that has room, once there are as many as there may be."""
        if not self._processes:
            return None
        process = min(self._processes, key=_load)
        is_full = len(self._processes) + self._starting >= self.size
        return process if process.load < (_AHEAD if is_full else 1) else None

    async def _start(self) -> None:
        """Start a process and stay with it until it has ended."""
        process = _ParserProcess(self)
        self._alive.add(process)
        code = await process.live()
        self._alive.discard(process)
        if process.was_ready:
            process.tell_end(code)
        else:
            self._starting -= 1
            self._fail_start(code)
        self.hand_out()

    def _fail_start(self, code: int | str) -> None:
        self._failed_starts += 1
        if self._failed_starts < _MAX_FAILED_STARTS:
            return
        self._failed_starts = 0
        error = ParserUnavailable(f"no process that reads documents can be started ({code}); the log may say why")
        while self._waiting:
            self._waiting.popleft().fail(error)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name="parser-process")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class _ParserProcess(asyncio.Protocol):
    """One process, by the socket that is its standard input."""

    def __init__(self, pool: ParserPool) -> None:
        self._pool = pool
        self._loop = asyncio.get_running_loop()
        self._incoming = Incoming()
        #: The first of them is being read.
        self._jobs: deque[_Job] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._line: asyncio.Transport | None = None
        self._process: Process | None = None
        self._lost = asyncio.Event()
        self.was_ready = False

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    @property
    def load(self) -> int:
        return len(self._jobs)

    async def live(self) -> int | str:
        """From its start to its end; says how it ended."""
        try:
            await self._start()
            await self._lost.wait()
        except OSError as error:
            return error.strerror or str(error)
        finally:
            # Also one that is idle, or only hung up: it has nothing to lose.
            self._stop_timer()
            self.kill()
        assert self._process is not None
        return await self._process.wait()

    async def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._line, _ = await self._loop.create_unix_connection(lambda: self, sock=ours)
        # Before: on a busy machine it may have greeted us, and have been asked something, before its start is told.
        self._timer = self._loop.call_later(_START_SECONDS, self.kill)
        with theirs:
            self._process = await asyncio.create_subprocess_exec(
                *self._command(), stdin=theirs.fileno(), stdout=DEVNULL, env={}, start_new_session=True
            )

    def _command(self) -> list[str]:
        limits = (str(self._pool.max_bytes), str(self._pool.seconds))
        # Isolated: what is in its working directory or in variables is nothing to it.
        return [sys.executable, "-I", "-m", "catchment.sandbox.process", *limits]

    def take(self, job: _Job) -> None:
        assert self._line is not None
        self._jobs.append(job)
        self._line.write(job.message)
        if len(self._jobs) == 1:
            self._start_timer()

    def kill(self) -> None:
        """For real: it goes whatever it is doing."""
        if self._line is not None:
            self._line.abort()
        if self._process is not None and self._process.returncode is None:
            # Not by its own method, which would look for the exit code that the loop is waiting for.
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)

    def tell_end(self, code: int | str) -> None:
        """What it was reading when it died is to blame; the rest was not begun."""
        self._stop_timer()
        if self._jobs:
            self._jobs.popleft().fail(ParserFailed(self._reason(code)))
        self._pool.take_back(self._jobs)

    def _reason(self, code: int | str) -> str:
        if code == NO_MEMORY_CODE:
            return f"reading it took more than {self._pool.max_bytes >> 20} MiB of memory"
        how = f"signal {-code}" if isinstance(code, int) and code < 0 else f"exit code {code}"
        return f"reading it broke the process that did ({how})"

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._incoming.feed(data):
                self._hear(message)
        except (BadMessage, TypeError, ValueError, LookupError):
            # Not to be trusted any more; what it was reading made it so.
            self._pool.drop(self)
            self.kill()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._pool.drop(self)
        self._lost.set()

    def _hear(self, message: Any) -> None:
        if not self.was_ready:
            if message != READY:
                raise BadMessage("no greeting")
            self.was_ready = True
            self._start_timer()
            self._pool.is_ready(self)
            return
        error, found, is_worn = message
        # First, since a message may make none: then what was read is still here to be failed.
        failure = self._error(error, *found) if error else None
        job = self._jobs.popleft()
        if failure is not None:
            job.fail(failure)
        elif not job.answer.done():
            job.answer.set_result(found)
        if is_worn:
            self._retire()
        else:
            self._start_timer()
        self._pool.hand_out()

    def _error(self, name: str, message: str, more: dict[str, Any]) -> Exception:
        if name == BROKEN or name not in _ERRORS:
            return ParserFailed(f"reading it went wrong: {message}")
        error = _ERRORS[name](message)
        vars(error).update(more)
        return error

    def _start_timer(self) -> None:
        """For the document that is read now, or until it is idle for so long that it may go."""
        self._stop_timer()
        wait, then = (self._pool.seconds, self._overdue) if self._jobs else (self._pool.idle_seconds, self._retire)
        self._timer = self._loop.call_later(wait, then)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _overdue(self) -> None:
        self._pool.drop(self)
        self._jobs.popleft().fail(ParserFailed(f"reading it took longer than {self._pool.seconds:g} s"))
        self._pool.take_back(self._jobs)
        self.kill()
        self._pool.hand_out()

    def _retire(self) -> None:
        assert self._line is not None
        self._stop_timer()
        self._pool.drop(self)
        self._pool.take_back(self._jobs)
        self._line.close()


def unbound(function: Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """A function and what is given to it by name."""
    return (function.func, function.keywords) if isinstance(function, partial) else (function, {})


def _load(process: _ParserProcess) -> int:
    return process.load
