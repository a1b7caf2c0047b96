"""What the sites of one visit say in their robots.txt, asked for once each."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from yarl import URL

from catchment.errors import HttpError, RefusedAddress, SiteUnavailable, VisitError
from catchment.fetch.client import Request, Response
from catchment.parse.robots import Robots

Ask = Callable[[Request], Awaitable[Response]]
#: An address, and the seconds between requests that its site asks for.
SlowDown = Callable[[str, float], None]


class RobotsCache:
    def __init__(self, ask: Ask, *, home: URL, user_agent: str, slow_down: SlowDown | None = None) -> None:
        self._ask = ask
        #: Who minds the pauses that a site asks for; None where nobody has to.
        self._slow_down = slow_down
        #: The site of the visit: without its robots.txt there is nothing to do.
        self._home = home.origin()
        self._user_agent = user_agent
        #: What was found, or why nothing was: a robots.txt that fails is asked for once as well.
        self._known: dict[URL, Robots | VisitError] = {}
        self._lock = asyncio.Lock()

    async def check(self, url: str) -> None:
        """Raise RefusedAddress for a page that its site does not want read."""
        try:
            robots = await self.of(url)
        except VisitError as error:
            if URL(url).origin() != self._home:
                raise
            raise SiteUnavailable(
                f"robots.txt of {self._home.host} cannot be read, so that nothing may be: {error} "
                "Set respect_robots to false if you may read the site all the same.",
                retry_after=error.retry_after,
            ) from error
        if not robots.allows(self._user_agent, url):
            raise RefusedAddress(
                f"robots.txt of {URL(url).host} does not allow {url}; set respect_robots to false if you may read it."
            )

    async def of(self, url: str) -> Robots:
        origin = URL(url).origin()
        # Several pages of one site are asked for at once: the first of them asks for all.
        async with self._lock:
            if origin not in self._known:
                self._known[origin] = await self._fetch_or_fail(origin)
        found = self._known[origin]
        if isinstance(found, VisitError):
            raise found
        return found

    async def _fetch_or_fail(self, origin: URL) -> Robots | VisitError:
        try:
            robots = await self._fetch(origin)
        except VisitError as error:
            return error
        if self._slow_down is not None:
            self._slow_down(str(origin), robots.crawl_delay(self._user_agent) or 0.0)
        return robots

    async def _fetch(self, origin: URL) -> Robots:
        """A site without robots.txt allows everything; one whose robots.txt is out of order is left alone."""
        address = str(origin / "robots.txt")
        try:
            response = await self._ask(Request(url=address))
        except HttpError as error:
            if error.status == HTTPStatus.TOO_MANY_REQUESTS or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise
            return Robots()
        return await asyncio.to_thread(Robots.parse, response.body, address)
