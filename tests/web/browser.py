"""A real browser without a screen, spoken to by its own protocol, so that tests wait for what is there and not for time."""

from __future__ import annotations

import asyncio
import base64
import itertools
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-port=0", "--window-size=1440,1000",
]  # fmt: skip
_WAIT = """new Promise((resolve) => {
  const look = () => { const found = (() => (%s))(); if (found) resolve(found); else setTimeout(look, 20); };
  look();
})"""


class Navigated(Exception):
    """The page went away while it was being asked."""


class Page:
    """The one tab of a browser."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._numbers = itertools.count(1)

    async def open(self, url: str) -> None:
        await self._say("Page.navigate", url=url)

    async def until(self, expression: str) -> Any:
        """What the expression comes to, as soon as it comes to something, on this page or the next."""
        while True:
            try:
                return await self.evaluate(_WAIT % expression)
            except Navigated:
                continue

    async def evaluate(self, expression: str) -> Any:
        said = await self._say("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    async def prefer(self, colours: str) -> None:
        await self._say("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])

    async def screenshot(self, path: Path) -> None:
        taken = await self._say("Page.captureScreenshot")
        await asyncio.to_thread(path.write_bytes, base64.b64decode(taken["data"]))

    async def _say(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        await self._socket.send_json({"id": number, "method": method, "params": params})
        while True:
            answer = await self._socket.receive_json()
            if answer.get("id") == number:
                if "navigated" in answer.get("error", {}).get("message", ""):
                    raise Navigated
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result


@asynccontextmanager
async def opened_page(profile: Path) -> AsyncIterator[Page]:
    assert CHROMIUM
    process = await asyncio.create_subprocess_exec(
        CHROMIUM,
        *_FLAGS,
        f"--user-data-dir={profile}",
        "about:blank",
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{await _address(process)}/json") as answer:
                [tab] = [one for one in await answer.json() if one["type"] == "page"]
            async with session.ws_connect(tab["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                yield Page(socket)
    finally:
        process.terminate()
        await process.communicate()


async def _address(process: asyncio.subprocess.Process) -> str:
    """Where the browser says that it listens."""
    assert process.stderr
    async for line in process.stderr:
        if b"DevTools listening on ws://" in line:
            return "http://" + line.decode().partition("ws://")[2].partition("/")[0]
    raise AssertionError("the browser did not start")
