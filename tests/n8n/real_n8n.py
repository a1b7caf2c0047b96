"""A real n8n on the command line, with a database of its own; and the Catchment that its workflows call."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from catchment.simulator.server import SimulatedWeb
from catchment.simulator.services.xhs import XhsService
from cli.command import Command, Process

KEY = "the key of the workflows"
#: A command of n8n takes five seconds to start, and a crawl may have to wait and try again.
PATIENCE_SECONDS = 200
#: Nothing is told to anybody, and Code nodes may read the environment, as docs/n8n.md says.
QUIET = {
    "N8N_DIAGNOSTICS_ENABLED": "false",
    "N8N_VERSION_NOTIFICATIONS_ENABLED": "false",
    "N8N_TEMPLATES_ENABLED": "false",
    "N8N_LICENSE_AUTO_RENEW_ENABLED": "false",
    "N8N_BLOCK_ENV_ACCESS_IN_NODE": "false",
}


@dataclass(frozen=True, kw_only=True)
class Ended:
    code: int
    said: str


@dataclass(frozen=True, kw_only=True)
class RealN8n:
    command: Path
    home: Path

    async def __call__(self, *words: str, **env: str) -> Ended:
        process = await asyncio.create_subprocess_exec(
            self.command,
            *words,
            cwd=self.home,
            env=self._environment(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                said, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode is not None
        return Ended(code=process.returncode, said=said.decode())

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        ours = {"PATH": os.environ["PATH"], "HOME": str(self.home), "N8N_USER_FOLDER": str(self.home)}
        # Those that run at the same time must not share it.
        return {**ours, **QUIET, "N8N_RUNNERS_BROKER_PORT": str(_free_port()), **more}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


@dataclass(frozen=True, kw_only=True)
class Station:
    """A Catchment that serves but does not collect by itself, the platform it reads, and the n8n that drives it."""

    url: str
    process: Process
    command: Command
    #: What its commands need to know as well.
    settings: Mapping[str, str]
    web: SimulatedWeb
    xhs: XhsService
    n8n: RealN8n

    async def execute(self, workflow_id: str) -> Ended:
        return await self.n8n("execute", f"--id={workflow_id}", CATCHMENT_URL=self.url, CATCHMENT_API_KEY=KEY)

    async def run(self, *words: str, stdin: str | None = None) -> None:
        ended = await asyncio.to_thread(self.command, *words, stdin=stdin, **self.settings)
        assert ended.exit_code == 0, ended.output

    async def add_cookie(self, name: str, session: str, *options: str) -> None:
        value = f"a1=0123456789abcdef; webId=fedcba9876543210; web_session={session}"
        await self.run("cookies", "add", "--name", name, "--platform", "xhs", *options, stdin=value)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        async with (
            aiohttp.ClientSession(headers={"X-API-Key": KEY}) as caller,
            caller.post(f"{self.url}{path}", json=body or {}) as answer,
        ):
            return await answer.json()

    def rows(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with sqlite3.connect(self.command.home / "catchment.sqlite3") as database:
            found = database.execute(statement, values).fetchall()
        database.close()
        return found
