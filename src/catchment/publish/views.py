"""A saved view as a feed. Pure: the same view and items give the same feed, now and in a year.

The renderer below keeps what it rendered for as long as it holds.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit
from uuid import UUID, uuid5
from weakref import WeakValueDictionary

from catchment import __version__
from catchment.clock import Clock
from catchment.domain.account import User
from catchment.domain.feed import Digest, DigestType, FeedFilter, SavedFeed, ShownItem
from catchment.domain.search import item_tokens, read_query
from catchment.domain.source import ADDRESS_KEY, CHANNEL_KEY, Source
from catchment.parse.html import plain_text
from catchment.parse.json_values import list_at
from catchment.publish.feed import UNKNOWN_FILE, Enclosure, Feed, FeedEntry, FeedFormat
from catchment.store import views
from catchment.store.database import Store
from catchment.store.views import FeedState, FeedStateQuery, Glance

_TITLES = {
    DigestType.FOUR_HOURS: "Digest of {end:%Y-%m-%d %H:%M} UTC",
    DigestType.DAILY: "Daily digest of {end:%Y-%m-%d}",
    DigestType.WEEKLY: "Weekly digest up to {end:%Y-%m-%d}",
    DigestType.MONTHLY: "Monthly digest up to {end:%Y-%m-%d}",
}


def digest_feed(user: User, digests: Iterable[Digest], *, base_url: str, path: str) -> Feed:
    base = base_url.rstrip("/")
    home = f"{base}/feed/{user.slug}"
    return Feed(
        title=f"Digests of {user.name}",
        description=f"What {user.name} follows, summed up.",
        home_url=home,
        self_url=f"{base_url.rstrip('/')}{path}",
        entries=tuple(_digest_entry(digest, base) for digest in digests),
    )


def digest_title(digest: Digest) -> str:
    return _TITLES[digest.type].format(end=digest.created_at)


def _digest_entry(digest: Digest, base_url: str) -> FeedEntry:
    return FeedEntry(
        id=f"catchment-digest-{digest.id}",
        url=f"{base_url}/digests/{digest.id}",
        title=digest_title(digest),
        text=digest.content,
        published_at=digest.created_at,
    )


#: Text of all entries together; entries beyond it have a title and a link only, or a feed could be of any size.
MAX_CONTENT_CHARS = 8 * 1024 * 1024
#: All of an item's text is searched, however long.
_ALL = 2**31
#: Types whose items are pages.
_OF_PAGES = frozenset({"sitemap"})
_NAMESPACE = UUID("6f0ab8f5-2c3f-5d0b-9a37-9f2d1c54f0c3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a document is: the folder of the feeds, and its own place."""

    folder_url: str
    self_url: str


def keeps(wanted: FeedFilter, shown: ShownItem) -> bool:
    """Whether the item is one that the view shows, as far as its words tell."""
    return wanted.rules.keeps(shown.item) and _is_found(wanted.words, shown) and _is_hit(wanted.q, shown)


def view_feed(
    saved: SavedFeed, source: Source | None, items: Sequence[ShownItem], *, address: Address, hub_url: str
) -> Feed:
    """`source` is given when the view shows exactly one: what the view does not say of itself, the source says."""
    channel = _channel(source)
    name = saved.title or channel.text("title") or (source.name if source else saved.slug)
    return Feed(
        title=name,
        description=saved.description or channel.text("description") or name,
        home_url=saved.link or channel.link() or address.folder_url,
        self_url=address.self_url,
        entries=within_bounds([entry_of(shown) for shown in items]),
        updated_at=saved.updated_at,
        language=saved.language or channel.text("language"),
        ttl_minutes=channel.ttl_minutes(),
        hub_url=hub_url,
    )


def entry_id(source_id: int, key: str) -> str:
    """Names an item of a source for ever, whatever becomes of its title, its address and the source's own address."""
    return uuid5(_NAMESPACE, f"{source_id}\n{key}").urn


def _id_of(shown: ShownItem) -> str:
    """A page of a site is named by its address, which outlives a lost state and is the same in full runs."""
    return shown.item.url if shown.source_type in _OF_PAGES else entry_id(shown.source_id, shown.item.key)


def _is_found(words: Sequence[str], shown: ShownItem) -> bool:
    if not words:
        return True
    text = f"{shown.item.title}\n{plain_text(shown.item.content, _ALL)}".casefold()
    return all(word in text for word in words)


def _is_hit(q: str, shown: ShownItem) -> bool:
    """The index may be behind, so the item itself is asked."""
    if not q:
        return True
    item = shown.item
    return read_query(q).finds(item_tokens(title=item.title, author=item.author, content=item.content, mark="_"))


def entry_of(shown: ShownItem) -> FeedEntry:
    item = shown.item
    return FeedEntry(
        id=_id_of(shown),
        url=item.url,
        title=item.title,
        html=item.content,
        author=item.author,
        published_at=item.published_at or shown.fetched_at,
        updated_at=shown.updated_at,
        categories=tuple(tag for tag in list_at(item.metadata, "tags") if isinstance(tag, str) and tag),
        enclosures=tuple(_enclosure(one) for one in list_at(item.metadata, "enclosures") if _is_enclosure(one)),
    )


def within_bounds(entries: Sequence[FeedEntry]) -> tuple[FeedEntry, ...]:
    """The same, without the content of those that come after `MAX_CONTENT_CHARS`."""
    bounded, left = [], MAX_CONTENT_CHARS
    for entry in entries:
        left -= len(entry.html)
        bounded.append(entry if left >= 0 else replace(entry, html=""))
    return tuple(bounded)


def _is_enclosure(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("url"), str) and bool(value["url"])


def _enclosure(value: Mapping[str, Any]) -> Enclosure:
    kind, length = value.get("type"), value.get("length")
    return Enclosure(
        url=value["url"],
        type=kind if isinstance(kind, str) and "/" in kind else UNKNOWN_FILE,
        length=length if isinstance(length, int) and length > 0 else 0,
    )


class _Channel:
    """How a source's config wants its feed to look; whatever in it makes no sense counts as not said."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given

    def text(self, key: str) -> str:
        value = self._given.get(key)
        return value.strip() if isinstance(value, str) else ""

    def link(self) -> str:
        link = self.text("link")
        return link if link.startswith(("https://", "http://")) else ""

    def ttl_minutes(self) -> int:
        value = self._given.get("ttl")
        return value if isinstance(value, int) and value > 0 else 0


def _channel(source: Source | None) -> _Channel:
    given = source.config.get(CHANNEL_KEY) if source else None
    return _Channel(given if isinstance(given, Mapping) else {})


_SUFFIXES = {".atom": FeedFormat.ATOM, ".json": FeedFormat.JSON}


def site_feed(source: Source, shown: Sequence[ShownItem], *, served_at: str) -> Feed:
    """`served_at` is where the document will be, unless the channel says it; empty when nobody knows."""
    sitemap = urlsplit(str(source.config[ADDRESS_KEY]))
    home = f"{sitemap.scheme}://{sitemap.netloc}"
    address = Address(folder_url=home, self_url=_said_address(source) or served_at)
    return view_feed(_whole(source), source, shown, address=address, hub_url="")


def format_of(file_name: str) -> FeedFormat:
    """By how the name ends; whatever says nothing is RSS."""
    suffix = file_name[file_name.rfind(".") :].lower() if "." in file_name else ""
    return _SUFFIXES.get(suffix, FeedFormat.RSS)


def _whole(source: Source) -> SavedFeed:
    """The view that nobody saved: all of one source."""
    return SavedFeed(
        id=0,
        slug="site",
        filter=FeedFilter(sources=(source.id,)),
        is_public=True,
        sees_all=True,
        created_at=source.created_at,
        updated_at=source.created_at,
    )


def _said_address(source: Source) -> str:
    """Where the channel says that its document is, if it does."""
    return str((source.config.get(CHANNEL_KEY) or {}).get("self_url") or "")


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
MAX_QUERIES = 1000


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
        self._queries: dict[str, FeedStateQuery] = {}
        self._looks: Shared[FeedState | None] = Shared()
        self._cache = _DocumentCache()
        # One at a time: whoever waits finds it rendered.
        self._rendering = asyncio.Lock()

    async def look(self, slug: str, format_: FeedFormat, *, folder_url: str) -> RenderedFeed | None:
        state = await self._looks.share(slug, lambda: self._look(slug))
        return self._rendered_feed(state, format_, folder_url) if state else None

    async def document(self, rendered: RenderedFeed) -> bytes:
        """The document. Should something have changed meanwhile it may be newer than its tag, never older."""
        body = self._cache.get(rendered)
        if body is not None:
            return body
        async with self._rendering:
            body = self._cache.get(rendered)
            if body is None:
                body = await self._render(rendered)
                self._cache.put(rendered, body)
        return body

    async def preview(self, feed: SavedFeed, *, look_at: int, show: int) -> Glance:
        """What the feed would show, whether it was saved or not, by a look at the newest items."""
        since, fits = feed.filter.since(self._clock.now()), partial(keeps, feed.filter)
        return await self._store.read(views.glance, feed, fits, since=since, look_at=look_at, show=show)

    async def _look(self, slug: str) -> FeedState | None:
        state = await self._store.read(views.look, slug, self._queries.get(slug))
        if state is not None:
            if len(self._queries) >= MAX_QUERIES:
                self._queries.clear()
            self._queries[slug] = state.query
        return state

    def _rendered_feed(self, state: FeedState, format_: FeedFormat, folder_url: str) -> RenderedFeed:
        feed, mark = state.query.feed, state.mark
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

    async def _render(self, rendered: RenderedFeed) -> bytes:
        feed = rendered.feed
        since = feed.filter.since(self._clock.now())
        source, items = await self._store.read(views.read_items, feed, partial(keeps, feed.filter), since=since)
        document = view_feed(feed, source, items, address=rendered.address, hub_url=self._hub_url)
        # Large feeds take a while to write; others are served meanwhile.
        return await asyncio.to_thread(rendered.format.write, document)


class _DocumentCache:
    """What was rendered last of each document, the least asked for thrown out when it gets too much."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._bytes = 0

    def get(self, rendered: RenderedFeed) -> bytes | None:
        tag, body = self._kept.get(rendered.address.self_url, ("", b""))
        if tag != rendered.tag:
            return None
        self._kept.move_to_end(rendered.address.self_url)
        return body

    def put(self, rendered: RenderedFeed, body: bytes) -> None:
        _, before = self._kept.pop(rendered.address.self_url, ("", b""))
        self._kept[rendered.address.self_url] = (rendered.tag, body)
        self._bytes += len(body) - len(before)
        while self._bytes > MAX_KEPT_BYTES:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= len(oldest)
