"""X's provider on a real socket, whose answers a test can hold up and whose visitors it counts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from aiohttp import web
from bench.simulated_x import XProvider, timeline

from catchment.simulator.messages import IncomingRequest
from feed_site import FeedSite

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
KEY = "the-key-nobody-may-see"


class XSite(FeedSite):
    """Users by name, each with so many tweets."""

    def __init__(self, **users: int) -> None:
        super().__init__()
        self.provider = XProvider(key=KEY, users={name: timeline(name, users[name], at=START) for name in users})
        #: Released for each request that is held up.
        self.arrived = asyncio.Semaphore(0)
        self._held: set[str] | None = set()
        self._opened = asyncio.Event()
        self.script(self._answer, path="/twitter/user/last_tweets")

    def settings(self, **more: Any) -> dict[str, Any]:
        """For a system that asks here, and does not try again."""
        defaults = {
            "twitter_api_key": KEY,
            "twitter_base_url": self.url("/twitter"),
            "twitter_requests_per_second": 1000.0,
            "twitter_max_retries": 0,
        }
        return {**defaults, **more}

    def environment(self, **more: str) -> dict[str, str]:
        """The same for a process."""
        defaults = {
            "TWITTER_API_KEY": KEY,
            "TWITTER_BASE_URL": self.url("/twitter"),
            "TWITTER_REQUESTS_PER_SECOND": "1000",
            "TWITTER_MAX_RETRIES": "0",
        }
        return {**defaults, **more}

    def hold(self, *names: str) -> None:
        """Let these users wait for an answer, or all of them, until released."""
        self._held = set(names) or None
        self._opened.clear()

    def release(self) -> None:
        self._opened.set()

    def asked_for(self) -> list[str]:
        return [request.query["userName"] for request in self.requests]

    async def _answer(self, request: web.IncomingRequest) -> web.StreamResponse:
        if self._held is None or request.query["userName"] in self._held:
            self.arrived.release()
            await self._opened.wait()
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = IncomingRequest(
            method="GET", path=request.path, query=request.query_string, headers=headers, body=b"", at=START
        )
        answer = self.provider(asked)
        return web.Response(status=answer.status, body=answer.body, headers=dict(answer.headers))
