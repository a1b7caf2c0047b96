"""The contract of a source type: what a plug-in is given, and what it gives back.

A fetcher knows one type. It never sees the database: it gets a context and returns what it found, with whatever it
wants to remember. Where there is too much to bring home at once, a crawling type takes its place: it lists what there
is, the engine remembers that and says which details to fetch. Everything that goes wrong on the way is a VisitError.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from catchment.domain.candidate import CandidatePolicy, KnownListing, Listed, Told
    from catchment.domain.item import Item
    from catchment.domain.note import Crawled
    from catchment.domain.source import Source
    from catchment.domain.visit import Fetched
    from catchment.fetch.freshness import Validators
    from catchment.fetch.options import SourceClient
    from catchment.sandbox.pool import Parsers
    from catchment.settings import Settings
    from catchment.sources.platforms.reader import PlatformReader
    from catchment.sources.x.fetchers import TweetCache
    from catchment.sources.x.scrape import Scraper


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    source: Source
    #: When the visit began.
    now: datetime
    #: The way out, which asks in the manner that the source's options say.
    http: SourceClient
    #: Who reads what came, where it holds up nobody who is served.
    parsers: Parsers


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A source that something pasted stands for."""

    type: str
    config: Mapping[str, Any]
    name: str
    #: Why it is taken for that, in one sentence.
    why: str


class Fetcher(Protocol):
    """One type. Beside these, it may declare facts about itself, which `sources/registry.py` tells:

    `default_minutes`, `needed_key` (a setting), `display_names` (by language), `config_keys`, `host`,
    `recognise(pasted)` for the addresses of its service, and `suggest(text)` where any text will do.
    """

    #: The name of the type, as in `sources.type`.
    type: str

    def identity(self, config: Mapping[str, Any]) -> str:
        """What makes two sources of this type the same one; BadConfig says what is wrong with the config."""
        ...

    async def fetch(self, context: Context) -> Fetched:
        """Visit the source once."""
        ...


@runtime_checkable
class Previewable(Protocol):
    """A fetcher whose visits cost something: a look before it is added costs less."""

    async def preview(self, context: Context) -> Fetched:
        """Some of what a visit would bring."""
        ...


class Detail(NamedTuple):
    """What fetching a candidate brought."""

    item: Item
    #: The note that the item was made of, where it is one: notes have a table of their own.
    note: Crawled | None = None
    #: What to ask with whether it changed, where it can be asked so.
    validators: Validators | None = None


class CrawlSession(Protocol):
    """One visit of a crawling type."""

    policy: CandidatePolicy
    #: Where it leads: a crawl to another place starts afresh.
    address: str
    #: What the place is called.
    name: str
    #: What only one crawl at a time goes along; the others come back later.
    lane: asyncio.Lock | None

    def list_pages(self, known: Mapping[bytes, KnownListing]) -> AsyncIterator[Told]:
        """List what there is, document by document, in pages of about a thousand.

        `known` are the documents that were read before, by the `short_hash` of their address: one that did not change,
        or that was looked at in this round already, need not be read again.
        """
        ...

    async def detail(self, listed: Listed) -> Detail:
        """Fetch what was listed. A VisitError counts against this one alone."""
        ...


@runtime_checkable
class Rechecker(Protocol):
    """A crawl that can ask whether a detail changed where its listing does not tell."""

    async def recheck(self, listed: Listed, validators: Validators) -> Detail | None:
        """The detail as it is now; None when it did not change."""
        ...


@runtime_checkable
class CrawlingType(Protocol):
    """A type whose sources list far more than is fetched at one visit."""

    #: The name of the type, as in `sources.type`.
    type: str

    def identity(self, config: Mapping[str, Any]) -> str:
        """As with a fetcher."""
        ...

    def start_crawl(self, context: Context) -> CrawlSession:
        """Begin a visit; BadConfig says what is wrong with the config."""
        ...


SourceType = Fetcher | CrawlingType


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What types that come along are made of, by `from_parts`; what only some need is made when they ask."""

    settings: Settings
    #: None without a key of X.
    scraper: Callable[[], Scraper | None] = lambda: None
    tweets: Callable[[], TweetCache] | None = None
    reader: Callable[[], PlatformReader] | None = None
