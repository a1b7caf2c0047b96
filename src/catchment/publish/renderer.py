"""The press: prints saved feeds, and keeps what it printed for as long as it holds."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any, Generic, TypeVar
from weakref import WeakValueDictionary

from catchment import __version__
from catchment.clock import Clock
from catchment.domain.feed import SavedFeed
from catchment.publish.feed import FeedFormat
from catchment.publish.views import Address, keeps, view_feed
from catchment.store import views
from catchment.store.database import Store
from catchment.store.views import Question, Sighting

T = TypeVar("T")


class Shared(Generic[T]):
    """Whoever comes while the work is under way waits for the next time, which all who waited share. So nobody is given
    what was found before they asked.
    """

    def __init__(self) -> None:
        self._next: dict[str, asyncio.Task[T]] = {}
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def share(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        task = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._work(key, work))
        # One who gives up must not take the others along.
        return await asyncio.shield(task)

    async def _work(self, key: str, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        turn = self._turns.setdefault(key, asyncio.Lock())
        async with turn:
            del self._next[key]
            return await work()


MAX_KEPT_BYTES = 32 * 1024 * 1024
MAX_QUESTIONS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFeed:
    """A feed in one format as it is now. Its tag tells it from every other; no item was read to know it."""

    feed: SavedFeed
    format: FeedFormat
    address: Address
    tag: str
    changed_at: datetime


class FeedRenderer:
    def __init__(self, *, store: Store, clock: Clock, hub_url: str = "") -> None:
        self._store = store
        self._clock = clock
        self._hub_url = hub_url
        self._questions: dict[str, Question] = {}
        self._looks: Shared[Sighting | None] = Shared()
        self._shelf = _Shelf()
        # One at a time: whoever waits finds it printed.
        self._printing = asyncio.Lock()

    async def look(self, slug: str, format_: FeedFormat, *, folder_url: str) -> RenderedFeed | None:
        sighting = await self._looks.share(slug, lambda: self._look(slug))
        return self._edition(sighting, format_, folder_url) if sighting else None

    async def printed(self, edition: RenderedFeed) -> bytes:
        """The document. Should something have changed meanwhile it may be newer than its tag, never older."""
        body = self._shelf.get(edition)
        if body is not None:
            return body
        async with self._printing:
            body = self._shelf.get(edition)
            if body is None:
                body = await self._print(edition)
                self._shelf.put(edition, body)
        return body

    async def _look(self, slug: str) -> Sighting | None:
        sighting = await self._store.read(views.look, slug, self._questions.get(slug))
        if sighting is not None:
            if len(self._questions) >= MAX_QUESTIONS:
                self._questions.clear()
            self._questions[slug] = sighting.question
        return sighting

    def _edition(self, sighting: Sighting, format_: FeedFormat, folder_url: str) -> RenderedFeed:
        feed, mark = sighting.question.feed, sighting.mark
        # Everything that the document depends on.
        grounds = (
            __version__,
            feed.id,
            feed.version,
            feed.sees_all,
            mark.edits,
            mark.changes,
            feed.filter.since(self._clock.now()),
            format_.value,
            folder_url,
            self._hub_url,
        )
        return RenderedFeed(
            feed=feed,
            format=format_,
            address=Address(folder_url=folder_url, self_url=f"{folder_url}/{feed.slug}.{format_}"),
            tag=blake2b(repr(grounds).encode(), digest_size=16).hexdigest(),
            changed_at=max(feed.updated_at, mark.changed_at or feed.updated_at),
        )

    async def _print(self, edition: RenderedFeed) -> bytes:
        feed = edition.feed
        since = feed.filter.since(self._clock.now())
        source, items = await self._store.read(views.read_items, feed, partial(keeps, feed.filter), since=since)
        document = view_feed(feed, source, items, address=edition.address, hub_url=self._hub_url)
        # Large feeds take a while to write; others are served meanwhile.
        return await asyncio.to_thread(edition.format.write, document)


class _Shelf:
    """What was printed last of each document, the least asked for thrown out when it gets too much."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._bytes = 0

    def get(self, edition: RenderedFeed) -> bytes | None:
        tag, body = self._kept.get(edition.address.self_url, ("", b""))
        if tag != edition.tag:
            return None
        self._kept.move_to_end(edition.address.self_url)
        return body

    def put(self, edition: RenderedFeed, body: bytes) -> None:
        _, before = self._kept.pop(edition.address.self_url, ("", b""))
        self._kept[edition.address.self_url] = (edition.tag, body)
        self._bytes += len(body) - len(before)
        while self._bytes > MAX_KEPT_BYTES:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= len(oldest)
