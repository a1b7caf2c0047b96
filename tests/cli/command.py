"""Ways to run the command line: within the test, or as a real process that can be signalled and killed."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from catchment.cli.main import app
from eventually import DEADLINE_SECONDS
from feed_site import Gate
from fork_server import ForkedProcess, ForkServer

# The runner would make all commands anew each time, which takes longer than most of them.
typer.testing._get_command = cache(get_command)

#: Nothing of the machine that runs the tests may reach the commands under test.
OURS = (
    "CATCHMENT_",
    "COLLECTOR_",
    "FETCH_INTERVAL_",
    "TWITTER_",
    "SCRAPER_",
    "AUTO_SUMMARIZATION_",
    "API_KEY",
    "ADMIN_API_KEY",
    "DATABASE_URL",
    "LOG_LEVEL",
)


def environment(home: Path, **more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
    return {**clean, "CATCHMENT_HOME": str(home), "CATCHMENT_ALLOW_NETWORKS": "127.0.0.1", **more}


class Command:
    """`catchment`, within the process of the test."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def __call__(self, *words: str, stdin: str | bytes | None = None, **env: str) -> Result:
        settings = {**dict.fromkeys(name for name in os.environ if name.startswith(OURS)), **environment(self.home)}
        result = CliRunner().invoke(app, words, input=stdin, env={**settings, **env})
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            # A person would see a traceback.
            raise result.exception
        return result

    async def aside(self, *words: str, **env: str) -> Result:
        """In a thread, while the test serves what the command asks for. No signal is heard there."""
        return await asyncio.to_thread(self, *words, **env)

    def json(self, *words: str, **env: str) -> Any:
        """What a command prints with --json: all of stdout must be it."""
        result = self(*words, "--json", **env)
        assert result.exit_code == 0, result.output
        return json.loads(result.stdout)


class Process:
    """`catchment` as a process of its own. What it says is read line by line."""

    def __init__(self, process: asyncio.subprocess.Process | ForkedProcess) -> None:
        self._process = process
        self.said: list[str] = []

    @classmethod
    async def fork(cls, server: ForkServer, home: Path, *words: str, **env: str) -> Process:
        """With all that it needs imported already."""
        return cls(await server.start("catchment.cli", *words, cwd=home, env=environment(home, **env)))

    @classmethod
    async def start(cls, home: Path, *words: str, **env: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "catchment.cli",
            *words,
            cwd=home,
            env=environment(home, **env),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        return cls(process)

    async def says(self, text: str) -> str:
        """The next line that holds the text."""
        assert self._process.stdout is not None
        async with asyncio.timeout(DEADLINE_SECONDS):
            while line := (await self._process.stdout.readline()).decode():
                self.said.append(line)
                if text in line:
                    return line.strip()
        raise AssertionError(f"it ended without saying {text!r}:\n{''.join(self.said)}")

    async def visits(self, gate: Gate) -> None:
        """It has come to the gate."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            await gate.arrived.acquire()

    @property
    def pid(self) -> int:
        return self._process.pid

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self._process.pid).children(recursive=True)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    async def ends(self) -> int:
        assert self._process.stdout is not None
        async with asyncio.timeout(DEADLINE_SECONDS):
            self.said.append((await self._process.stdout.read()).decode())
            return await self._process.wait()

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
        await self.ends()

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None


def on_a_terminal(home: Path, *words: str, typed: str = "", **env: str) -> str:
    """All that a person sees who runs a command at a terminal, and types this when it is their turn."""
    ours, theirs = pty.openpty()
    words = (sys.executable, "-m", "catchment.cli", *words)
    process = subprocess.Popen(
        words, cwd=home, env=environment(home, **env), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    screen = b""
    # The other end of a terminal that is gone is an error on Linux.
    with contextlib.suppress(OSError):
        while seen := os.read(ours, 65_536):
            screen += seen
    os.close(ours)
    process.wait(DEADLINE_SECONDS)
    return screen.decode()


Start = Callable[..., Awaitable[Process]]
