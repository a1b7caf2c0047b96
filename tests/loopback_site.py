"""A small web site on a real socket that says exactly the bytes it is told to, and a name service beside it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from ssl import SSLContext

from catchment.fetch.client import HttpClient

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Script = Callable[[asyncio.StreamWriter], Awaitable[None]]


def answer(status: int = 200, body: bytes = b"", **headers: str) -> bytes:
    fields = {"Content-Length": str(len(body))} | {name.replace("_", "-"): text for name, text in headers.items()}
    head = "".join(f"{name}: {text}\r\n" for name, text in fields.items())
    return f"HTTP/1.1 {status} Told\r\n{head}\r\n".encode() + body


class Site:
    """Answers each path with the bytes or the script given for it, and remembers what it was asked."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes | Script] = {}
        self.asked: list[str] = []
        self.connections = 0
        self.port = 0
        self.visits: set[asyncio.Task[None]] = set()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        visit = asyncio.current_task()
        self.visits.add(visit)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.asked.append(head.decode())
                if announced := re.search(rb"Content-Length: (\d+)", head):
                    await reader.readexactly(int(announced[1]))
                await self._answer(head.split(b" ")[1].decode().partition("?")[0], writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.visits.discard(visit)
            writer.transport.abort()

    async def _answer(self, path: str, writer: asyncio.StreamWriter) -> None:
        page = self.pages.get(path, answer(404))
        if isinstance(page, bytes):
            writer.write(page)
            await writer.drain()
        else:
            await page(writer)

    async def hang_up(self) -> None:
        for visit in self.visits:
            visit.cancel()
        await asyncio.gather(*self.visits, return_exceptions=True)


@asynccontextmanager
async def opened(*, tls: SSLContext | None = None) -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
        await site.hang_up()
        await server.wait_closed()


class FakeNames:
    """A name service whose answers are listed beforehand; the last one stays."""

    def __init__(self, **answers: list[list[str]]) -> None:
        self.answers = {name.replace("_", "."): list(lists) for name, lists in answers.items()}
        self.lookups = 0

    async def __call__(self, host: str, port: int) -> list[str]:
        self.lookups += 1
        lists = self.answers[host]
        return lists.pop(0) if len(lists) > 1 else lists[0]

    def close(self) -> None:
        """Nothing is held."""


MakeClient = Callable[..., HttpClient]
