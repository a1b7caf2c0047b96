"""A body that is read as it arrives, so that it may be larger than anybody wants to hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Final, Self

import aiohttp
from yarl import URL

from catchment.fetch.body import Decoder
from catchment.fetch.failures import translating

_NOT_MODIFIED: Final = 304


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What an answer says before its body."""

    status: int
    #: Where the answer came from, after all redirects.
    url: str
    headers: Mapping[str, str]
    #: The new address, when every hop on the way to it was a permanent one.
    permanent_url: str | None = None

    @property
    def not_modified(self) -> bool:
        return self.status == _NOT_MODIFIED

    @property
    def content_type(self) -> str:
        """What it is said to be; "" where nothing is said."""
        return self.headers.get("Content-Type", "")


class Arriving:
    """The decoded pieces of one body, each given once."""

    def __init__(self, reply: aiohttp.ClientResponse, decoder: Decoder, url: URL) -> None:
        self._reply = reply
        self._decoder = decoder
        self._url = url
        self._pieces: Iterator[bytes] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while (piece := next(self._pieces, None)) is None:
            with translating(self._url):
                packed = await self._reply.content.readany()
            if not packed:
                self._decoder.finish()
                raise StopAsyncIteration
            self._pieces = self._decoder.feed(packed)
        return piece

    async def peek(self, size: int) -> bytes:
        """The start of the body, about so long, which is given again afterwards."""
        seen: list[bytes] = []
        while sum(map(len, seen)) < size and (piece := await anext(self, None)) is not None:
            seen.append(piece)
        self._pieces = chain(seen, self._pieces)
        return b"".join(seen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream(Head):
    """An answer whose body is still to come: `async for piece in stream`, once, while its context is open."""

    body: Arriving

    def __aiter__(self) -> Arriving:
        return self.body
