"""Processes of their own without the second that imports take: forked from one that has imported everything.

Each has a pid, output, signals and an exit code like one that was started from scratch, which takes `sys.executable`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

_MAX_REQUEST = 1 << 18


class ForkedProcess:
    """As one of asyncio's, as far as tests ask."""

    def __init__(self, pid: int, stdout: asyncio.StreamReader, told: asyncio.StreamReader) -> None:
        self.pid = pid
        self.stdout = stdout
        self.returncode: int | None = None
        self._watching = asyncio.create_task(self._watch(told))

    async def _watch(self, told: asyncio.StreamReader) -> int:
        self.returncode = int(await told.read())
        return self.returncode

    async def wait(self) -> int:
        return await asyncio.shield(self._watching)

    def send_signal(self, number: int) -> None:
        # That it is gone may not have been told yet.
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """Starts them. What it imports it does once, in a process that has no threads."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno())]
            self._server = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    async def start(self, module: str, *words: str, cwd: Path, env: dict[str, str]) -> ForkedProcess:
        """As `python -m` would; what it says on stdout and stderr is heard together."""
        (out, out_of_it), (told, told_of_it) = os.pipe(), os.pipe()
        request = json.dumps({"module": module, "words": words, "cwd": str(cwd), "env": env}).encode()
        socket.send_fds(self._control, [request], [out_of_it, told_of_it])
        os.close(out_of_it)
        os.close(told_of_it)
        stdout, news = await _reader_of(out), await _reader_of(told)
        return ForkedProcess(int(await news.readline()), stdout, news)

    def close(self) -> None:
        self._control.close()
        self._server.wait()


async def _reader_of(pipe: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, os.fdopen(pipe, "rb", 0))
    return reader


def tell_ends(running: dict[int, int]) -> None:
    """To whoever started them, and with which code."""
    for pid, told in [*running.items()]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del running[pid]
            os.write(told, b"%d" % os.waitstatus_to_exitcode(status))
            os.close(told)


def serve(control: socket.socket) -> str:
    """Fork whenever it is asked for. Returns in the new process, with the module that it is to run."""
    running: dict[int, int] = {}
    ended, ends = socket.socketpair()
    ended.setblocking(False)
    ends.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(ends.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([control, ended], [], [])
        if ended in ready:
            ended.recv(_MAX_REQUEST)
            tell_ends(running)
        if control not in ready:
            continue
        request, given, *_ = socket.recv_fds(control, _MAX_REQUEST, 2)
        if not request:
            # Whoever asks is gone.
            sys.exit()
        out, told = given
        pid = os.fork()
        if pid == 0:
            break
        os.write(told, b"%d\n" % pid)
        os.close(out)
        running[pid] = told
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for fd in (1, 2):
        os.dup2(out, fd)
    for fd in (out, told, *running.values()):
        os.close(fd)
    for one in (control, ended, ends):
        one.close()
    return _become(**json.loads(request))


def _become(module: str, words: list[str], cwd: str, env: dict[str, str]) -> str:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv = [module, *words]
    return module


def import_everything() -> None:
    import catchment.cli.collect
    import catchment.cli.up
    import catchment.web.app
    import catchment.web.server
    import catchment.workers  # noqa: F401
    from catchment.cli.collector_processes import import_what_collects

    import_what_collects()
    # What is there now is looked through by none of them.
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    import_everything()
    runpy.run_module(serve(socket.socket(fileno=int(sys.argv[1]))), run_name="__main__", alter_sys=True)
