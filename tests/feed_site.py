"""A web site with feeds on a real socket, whose answers a test scripts and whose visitors it counts."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from aiohttp import web

Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


def rss(*ids: str, title: str = "A feed", body: str = "Words") -> str:
    """An RSS feed with an item for each id."""
    items = "".join(
        f"<item><guid isPermaLink='false'>{one}</guid><title>Title {one}</title><link>https://example.org/{one}</link>"
        f"<pubDate>Sun, 01 Mar 2026 08:00:00 GMT</pubDate><description>{body} of {one}</description></item>"
        for one in ids
    )
    return (
        f"<?xml version='1.0' encoding='utf-8'?><rss version='2.0'><channel><title>{title}</title>"
        f"<link>https://example.org/</link>{items}</channel></rss>"
    )


class FeedSite:
    """Answers each path with what it was given; what was asked for is counted."""

    def __init__(self, *, port: int = 0) -> None:
        self.hits: Counter[str] = Counter()
        self.requests: list[web.BaseRequest] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self._answers: dict[str, Answer] = {}
        self._server = web.Server(self._handle)
        self._runner = web.ServerRunner(self._server, shutdown_timeout=0.1)
        self.port = port

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    def url(self, path: str = "/feed") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def feed(self, *ids: str, path: str = "/feed", body: str = "Words", headers: dict[str, str] | None = None) -> str:
        """Serve a feed with these items; returns its address."""
        return self.serve(rss(*ids, body=body), path=path, headers=headers)

    def serve(self, text: str, *, path: str = "/feed", status: int = 200, headers: dict[str, str] | None = None) -> str:
        async def answer(_: web.Request) -> web.StreamResponse:
            return web.Response(body=text.encode(), status=status, headers=headers, content_type="text/xml")

        return self.script(answer, path=path)

    def script(self, answer: Answer, *, path: str = "/feed") -> str:
        self._answers[path] = answer
        return self.url(path)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.hits[request.path] += 1
        self.requests.append(request)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            answer = self._answers.get(request.path)
            return await answer(request) if answer else web.Response(status=404)  # type: ignore[arg-type]
        finally:
            self.in_flight -= 1


class Gate:
    """An answer that waits: a test sees that somebody has come, and lets them pass."""

    def __init__(self, text: str) -> None:
        self.arrived = asyncio.Semaphore(0)
        self.opened = asyncio.Event()
        self._text = text

    async def __call__(self, _: web.Request) -> web.StreamResponse:
        self.arrived.release()
        await self.opened.wait()
        return web.Response(body=self._text.encode(), content_type="text/xml")
