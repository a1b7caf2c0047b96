"""The contract of a source type: what a plug-in is given, and what it gives back.

A fetcher knows one type. It never sees the database: it gets a context and returns what it found, with whatever it
wants to remember. Where there is too much to bring home at once, a crawling type takes its place: it lists what there
is, the engine remembers that and says which details to fetch. Everything that goes wrong on the way is a VisitError.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Protocol, runtime_checkable

from catchment.domain.candidate import CandidatePolicy, KnownListing, Listed, Told
from catchment.domain.confidential import address_of
from catchment.domain.item import Item
from catchment.domain.note import Crawled
from catchment.domain.options import without_options
from catchment.domain.source import Source
from catchment.domain.visit import Fetched
from catchment.errors import SettingsError
from catchment.fetch.freshness import Validators
from catchment.fetch.options import SourceClient
from catchment.fetch.pacing import host_of
from catchment.sandbox.pool import ParserPool


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    source: Source
    #: When the visit began.
    now: datetime
    #: The way out, which asks in the manner that the source's options say.
    http: SourceClient
    #: Who reads what came, where it holds up nobody.
    parsers: ParserPool


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A source that something pasted stands for."""

    type: str
    config: Mapping[str, Any]
    name: str
    #: Why it is taken for that, in one sentence.
    why: str


@runtime_checkable
class Recogniser(Protocol):
    """A fetcher that knows the addresses of its own service when it sees them."""

    def recognise(self, pasted: str) -> Suggestion | None:
        """What the pasted text stands for, by its text alone; None when it is not of this service."""
        ...


class Fetcher(Protocol):
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

    def explore(self, known: Mapping[str, KnownListing]) -> AsyncIterator[Told]:
        """List what there is, document by document, in stretches of about a thousand.

        `known` are the documents that were read before: one that did not change, or that was looked at in this round
        already, need not be read again.
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


class Registry:
    """The source types there are, by name."""

    def __init__(self, fetchers: Iterable[SourceType]) -> None:
        self._by_type: dict[str, SourceType] = {}
        # Told apart once: to ask a thing each time what it can do costs a tenth of a visit.
        self._fetchers: dict[str, Fetcher] = {}
        self._crawling_types: dict[str, CrawlingType] = {}
        for known in fetchers:
            if known.type in self._by_type:
                raise SettingsError(f"two fetchers claim the source type {known.type!r}")
            self._by_type[known.type] = known
            if isinstance(known, CrawlingType):
                self._crawling_types[known.type] = known
            else:
                self._fetchers[known.type] = known

    def fetcher(self, source_type: str) -> Fetcher | None:
        return self._fetchers.get(source_type)

    def crawling_type(self, source_type: str) -> CrawlingType | None:
        return self._crawling_types.get(source_type)

    def get(self, source_type: str) -> SourceType | None:
        return self._by_type.get(source_type)

    def config_keys(self, source_type: str) -> frozenset[str] | None:
        """What the config of such a source may hold beside options; None where its type does not say."""
        return getattr(self._by_type.get(source_type), "config_keys", None)

    def identity(self, source_type: str, config: Mapping[str, Any]) -> str:
        """What makes two sources the same one; of a type that nobody knows, everything in its config does."""
        fetcher = self._by_type.get(source_type)
        return fetcher.identity(config) if fetcher else json.dumps(without_options(config), sort_keys=True)

    def host(self, source_type: str, config: Mapping[str, Any]) -> str | None:
        """The host that visits to this source ask: that of the service, or of the address in its config."""
        # A type whose sources are all at one host, which their configs do not name, says it itself.
        host: str | None = getattr(self._by_type.get(source_type), "host", None)
        return host or host_of(address_of(config) or "")

    def recognise(self, pasted: str) -> Suggestion | None:
        """What the first fetcher that knows the pasted text takes it for."""
        for fetcher in self._by_type.values():
            if isinstance(fetcher, Recogniser) and (found := fetcher.recognise(pasted)) is not None:
                return found
        return None

    def __contains__(self, source_type: str) -> bool:
        return source_type in self._by_type

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_type)
