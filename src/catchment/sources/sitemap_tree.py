"""The tree of a site's sitemaps, read as it arrives. A branch that did not change is not even downloaded."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta

from catchment.domain.candidate import (
    KnownListing,
    Listed,
    Listing,
    ListingPage,
    ListingRead,
    ListingWarning,
    Told,
    Unchanged,
)
from catchment.domain.item import short_hash
from catchment.errors import HttpError, ParseError, ParserFailed, VisitError
from catchment.fetch.body import StreamedResponse
from catchment.fetch.client import Request
from catchment.fetch.freshness import Validators
from catchment.inflate import GZIP_MAGIC
from catchment.parse.sitemap import SitemapEntry, read_portion
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


#: Entries that are handed over together.
PAGE_LENGTH = 1000
MAX_DEPTH, MAX_DOCUMENTS = 3, 5000
#: Of one document. The protocol allows half as many; each is stored, so that without an end nobody knew when it came.
MAX_PAGES = 100_000
#: So many indexes one after the other that lead to no sitemap with pages go round in a circle: what further ones list
#: is not followed, and after many more that is all.
MAX_BARREN_INDEXES, MAX_CIRCLING_INDEXES = 25, 250
#: A lastmod may be a mere date in any time zone: only what is older than this when it was read tells of all changes.
SURE_AFTER = timedelta(hours=38)
#: However the index praises it, a document is asked for again after this.
TRUSTED_FOR = timedelta(days=7)

Open = Callable[[Request], AbstractAsyncContextManager[StreamedResponse]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SitemapDocument:
    """A sitemap that is still to be read."""

    url: str
    #: What the index above says of it.
    lastmod: datetime | None = None
    depth: int = 0


class SitemapTree:
    def __init__(self, stream: Open, parsers: ParserPool, *, keeps: Callable[[str], bool], now: datetime) -> None:
        self._stream = stream
        #: One process at most, which remembers what it has begun to read.
        self._parsers = parsers
        self._keeps = keeps
        self._now = now
        #: The next one last.
        self._ahead: list[SitemapDocument] = []
        self._met: set[str] = set()
        self._read = 0
        #: Indexes since the last sitemap with pages.
        self._barren = 0
        self._is_circling = False
        self._failures: dict[str, VisitError] = {}

    async def walk(self, roots: Iterable[str], known: Mapping[bytes, KnownListing]) -> AsyncIterator[Told]:
        """Every sitemap below the roots, each branch to its end. One that fails is remarked upon, unless none could be
        read.
        """
        self._meet(SitemapDocument(url=root) for root in roots)
        while self._ahead and self._barren < MAX_CIRCLING_INDEXES:
            document = self._ahead.pop()
            async for told in self._visit(document, known.get(short_hash(document.url))):
                yield told
        for remark in self._remarks():
            yield ListingWarning(message=remark)
        # Not sooner: what is vouched for is not asked for again in this round, and a failed visit is gone on with.
        for url in self._failures:
            yield Unchanged(url=url)

    def _remarks(self) -> Iterator[str]:
        """What was left out. An error where that is everything."""
        if self._failures and not self._read:
            raise next(iter(self._failures.values()))
        if self._is_circling:
            circle = f"{MAX_BARREN_INDEXES} sitemap indexes in a row lead only to further ones, which are not followed"
            if not self._read:
                raise ParseError(f"{circle}; give the address of a sitemap that lists pages.")
            yield circle
        if len(self._met) >= MAX_DOCUMENTS:
            yield f"it has more sitemaps than the {MAX_DOCUMENTS} that are read"
        for url, error in self._failures.items():
            yield f"the sitemap {url} is passed over this time: {error}"

    def _meet(self, documents: Iterable[SitemapDocument]) -> None:
        met = []
        for document in documents:
            if document.url not in self._met and len(self._met) < MAX_DOCUMENTS and document.depth <= MAX_DEPTH:
                self._met.add(document.url)
                met.append(document)
        self._ahead += reversed(met)

    def _count_read(self) -> None:
        self._read += 1
        self._barren = 0

    async def _visit(self, document: SitemapDocument, known: KnownListing | None) -> AsyncIterator[Told]:
        if known is not None and known.is_done:
            self._count_read()
        elif known is not None and _is_surely_same(document, known, self._now):
            self._count_read()
            yield Unchanged(url=document.url)
        else:
            try:
                async for told in self._download(document, known):
                    yield told
            except VisitError as error:
                if isinstance(error, HttpError) and error.retry_after is not None:
                    raise
                self._failures[document.url] = error

    async def _download(self, document: SitemapDocument, known: KnownListing | None) -> AsyncIterator[Told]:
        async with self._stream(Request(url=document.url, validators=_validators(known))) as answer:
            if answer.not_modified:
                self._count_read()
                yield Unchanged(url=document.url)
                return
            reading = _Reading(document, SitemapReader(self._parsers, answer.url), self._keeps)
            async for chunk in answer:
                for page in await reading.feed(chunk):
                    yield page
                if reading.is_full:
                    break
            else:
                for page in await reading.close():
                    yield page
            async for told in self._conclude(document, reading, answer):
                yield told

    async def _conclude(
        self, document: SitemapDocument, reading: _Reading, answer: StreamedResponse
    ) -> AsyncIterator[Told]:
        if reading.is_full:
            yield ListingWarning(
                message=f"the sitemap {document.url} lists more than the {MAX_PAGES} pages that are read of one; "
                "a site with more has several"
            )
        elif not reading.is_whole:
            yield Unchanged(url=document.url)
            yield ListingWarning(
                message=f"the sitemap {document.url} is cut off; what it may have listed counts as listed"
            )
        if not reading.children and (reading.is_whole or reading.is_full):
            # One with children is read every time: what it says of them is what saves asking for them.
            validators = Validators.from_headers(answer.headers)
            yield ListingRead(
                listing=Listing(
                    url=document.url,
                    lastmod=document.lastmod,
                    etag=validators.etag,
                    last_modified=validators.last_modified,
                )
            )
        if reading.children:
            self._follow(reading.children)
        else:
            self._count_read()

    def _follow(self, children: Iterable[SitemapDocument]) -> None:
        self._barren += 1
        if self._barren >= MAX_BARREN_INDEXES:
            self._is_circling = True
            self._ahead = [document for document in self._ahead if document.depth <= 1]
        if not self._is_circling:
            self._meet(children)


class _Reading:
    """One document on its way in: what it lists page by page, and the sitemaps below it."""

    def __init__(self, document: SitemapDocument, reader: SitemapReader, keeps: Callable[[str], bool]) -> None:
        self._document = document
        self._reader = reader
        self._keeps = keeps
        self._pages: list[Listed] = []
        self._room = MAX_PAGES
        self.is_full = False
        self.children: list[SitemapDocument] = []

    @property
    def is_whole(self) -> bool:
        return self._reader.is_whole

    async def feed(self, chunk: bytes) -> list[ListingPage]:
        self._sort(await self._reader.feed(chunk))
        return self._listing_pages(PAGE_LENGTH)

    async def close(self) -> list[ListingPage]:
        self._sort(await self._reader.close())
        return self._listing_pages(1)

    def _sort(self, entries: Iterable[SitemapEntry]) -> None:
        for entry in entries:
            if entry.is_sitemap:
                below = SitemapDocument(url=entry.url, lastmod=entry.lastmod, depth=self._document.depth + 1)
                if len(self.children) < MAX_DOCUMENTS:
                    self.children.append(below)
            elif self._keeps(entry.url):
                if self._room <= 0:
                    self.is_full = True
                    return
                self._room -= 1
                facts = {"title": entry.title} if entry.title else None
                self._pages.append(Listed(entry.url, entry.lastmod, "", facts))

    def _listing_pages(self, least: int) -> list[ListingPage]:
        """The pages so far, cut to size, once there are enough of them or no more are taken."""
        if len(self._pages) < least and not self.is_full:
            return []
        pages, self._pages = self._pages, []
        return [
            ListingPage(url=self._document.url, listed=pages[start : start + PAGE_LENGTH])
            for start in range(0, len(pages), PAGE_LENGTH)
        ]


def _validators(known: KnownListing | None) -> Validators | None:
    if known is None:
        return None
    return Validators(etag=known.listing.etag, last_modified=known.listing.last_modified)


def _is_surely_same(document: SitemapDocument, known: KnownListing, now: datetime) -> bool:
    """Its index says the same of it as when it was read, and that was said long enough before."""
    return (
        document.lastmod is not None
        and document.lastmod == known.listing.lastmod
        and document.lastmod + SURE_AFTER <= known.read_at
        and now - known.read_at < TRUSTED_FOR
    )
