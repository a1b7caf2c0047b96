"""A sitemap read as it arrives, in a process that whoever walks over a site has alone."""

from __future__ import annotations

import asyncio

from catchment.errors import ParserFailed
from catchment.inflate import GZIP_MAGIC
from catchment.parse.sitemap import SitemapEntry
from catchment.parse.sitemap_portions import read_portion
from catchment.sandbox.pool import ParserPool

#: So much is read at a time. Packed, it may unfold to two hundred times as much.
PORTION, PACKED_PORTION = 64 * 1024, 8 * 1024
#: What reading one document may take, the wait for it not counted: it may be as large as a hundred feeds.
MAX_SECONDS = 30.0


class SitemapReader:
    """Takes a document in chunks and gives its entries as soon as they are complete."""

    def __init__(self, parsers: ParserPool, url: str) -> None:
        self._parsers = parsers
        self._url = url
        self._is_begun = False
        self._portion = PACKED_PORTION
        self._seconds = 0.0
        self.is_whole = False

    async def feed(self, chunk: bytes) -> list[SitemapEntry]:
        if not self._is_begun and not GZIP_MAGIC.startswith(chunk[: len(GZIP_MAGIC)]):
            self._portion = PORTION
        entries: list[SitemapEntry] = []
        for start in range(0, len(chunk), self._portion):
            entries += await self._read(chunk[start : start + self._portion])
        return entries

    async def close(self) -> list[SitemapEntry]:
        return await self._read(b"", is_last=True)

    async def _read(self, portion: bytes, *, is_last: bool = False) -> list[SitemapEntry]:
        clock = asyncio.get_running_loop().time
        started, is_first, self._is_begun = clock(), not self._is_begun, True
        found = await self._parsers.read(read_portion, portion, url=self._url, is_first=is_first, is_last=is_last)
        self._seconds += clock() - started
        if self._seconds > MAX_SECONDS:
            raise ParserFailed(f"reading it took longer than {MAX_SECONDS:g} s")
        self.is_whole = found.is_whole
        return found.entries
