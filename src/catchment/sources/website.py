"""Web sites: followed by the feed that the page names, else the page itself is watched.

The feed's address is remembered, and looked for again when the feed fails. Without a feed, a page whose main text
changed is a new item. With `selector` only the chosen element counts, and with `item_selector` every element that
fits is an item; in both cases the page is what was asked for, so no feed is looked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from yarl import URL

from catchment.domain.item import Item, make_item, short_hash
from catchment.domain.visit import Fetched
from catchment.errors import BadConfig, HttpError, ParseError, RefusedAddress, VisitError
from catchment.fetch.client import Request, Response
from catchment.parse.discovery import Discovery, discover, is_page
from catchment.parse.tree import compile_selector
from catchment.parse.watch import Listed, ListShape, Passage, read_chosen, read_listed, read_main
from catchment.sources.base import Context
from catchment.sources.config import text
from catchment.sources.feed_items import read_items
from catchment.sources.page import visit_document, visit_page

FEED = "feed"
#: Feeds that a page names and that are tried, one after the other.
MOST_FEEDS = 3
_GONE = frozenset({404, 410})
_SELECTORS = ("selector", "item_selector", "link_selector", "text_selector")
_READABLE = ("html", "xml", "text/", "json")


class WebsiteFetcher:
    type = "website"

    def identity(self, config: Mapping[str, Any]) -> str:
        address = str(URL(_url(config)).with_fragment(None))
        return " ".join([address, *(f"{name}={value}" for name, value in _selectors(config).items())])

    async def fetch(self, context: Context) -> Fetched:
        selectors = _selectors(context.source.config)
        if selectors:
            read = partial(read_chosen_parts, address=_url(context.source.config), selectors=selectors)
            return await visit_page(context, _request(context), read)
        feed = context.source.memory.get(FEED)
        if feed is None:
            return await self._look(context)
        try:
            return await _follow(context, feed)
        except VisitError as error:
            return await self._look(_without_memory(context), failed=_Failed(feed=feed, error=error))

    async def _look(self, context: Context, *, failed: _Failed | None = None) -> Fetched:
        """Visit the page: follow a feed if it names one that can be read, else take the page as it is."""
        page = _Page(context)
        fetched = await visit_document(context, _request(context), page.read)
        for feed in page.seen.feeds[:MOST_FEEDS]:
            if failed is not None and feed == failed.feed:
                raise failed.error
            try:
                return await _follow(_without_memory(context), feed)
            except VisitError as error:
                if not is_lasting(error):
                    raise
        return replace(fetched, is_window=page.is_feed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failed:
    feed: str
    error: VisitError


class _Page:
    """Has a page read, and remembers what it says beside its items."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.seen = Discovery()
        self.is_feed = False

    async def read(self, response: Response) -> tuple[str, tuple[Item, ...]]:
        found = await self._context.parsers.read(
            read_unknown,
            response.body,
            address=_url(self._context.source.config),
            url=response.url,
            content_type=response.content_type,
        )
        self.seen, self.is_feed = found.seen, found.is_feed
        return found.title, found.items


class PageReading(NamedTuple):
    title: str
    items: tuple[Item, ...]
    #: What the page says about its site; nothing where it is a feed.
    seen: Discovery
    is_feed: bool


def read_unknown(body: bytes, *, address: str, url: str, content_type: str) -> PageReading:
    """Read a page of which nothing is known: it may be a feed, may name some, or have only a text."""
    if not is_page(body):
        try:
            title, items = read_items(body, url=url, content_type=content_type)
        except ParseError:
            pass  # no feed, so it is a page
        else:
            return PageReading(title, items, Discovery(), is_feed=True)
    seen = discover(body, url=url, content_type=content_type)
    title, items = read_page(body, address=address, url=url, content_type=content_type)
    return PageReading(title, items, seen, is_feed=False)


def read_chosen_parts(
    body: bytes, *, url: str, content_type: str, address: str, selectors: Mapping[str, str]
) -> tuple[str, tuple[Item, ...]]:
    """Read what the selectors of a source choose."""
    _check_readable(content_type)
    if "selector" in selectors:
        passage = read_chosen(body, selectors["selector"], url=url, content_type=content_type)
        return passage.title, (_state(passage, address),)
    shape = ListShape(
        item=selectors["item_selector"],
        link=selectors.get("link_selector"),
        text=selectors.get("text_selector"),
    )
    title, listed = read_listed(body, shape, url=url, content_type=content_type)
    return title, tuple(_listed_item(one, address) for one in listed)


def read_page(body: bytes, *, address: str, url: str, content_type: str) -> tuple[str, tuple[Item, ...]]:
    """The title of a page, and the page as it is now as its one item.

    `url` is where it was found this time, `address` where it is asked for every time.
    """
    _check_readable(content_type)
    passage = read_main(body, url=url, content_type=content_type)
    return passage.title, (_state(passage, address),)


def uses_selectors(config: Mapping[str, Any]) -> bool:
    """Whether a config asks for parts of the page itself."""
    return any(config.get(name) is not None for name in _SELECTORS)


def is_lasting(error: VisitError) -> bool:
    """Whether a feed is not there at all, or not for us, rather than out of order for now."""
    lasting = isinstance(error, ParseError | RefusedAddress)
    return lasting or (isinstance(error, HttpError) and error.status in _GONE)


async def _follow(context: Context, feed: str) -> Fetched:
    fetched = await visit_page(context, Request(url=feed), read_items, is_window=True)
    return replace(fetched, memory={**fetched.memory, FEED: feed})


def _request(context: Context) -> Request:
    return Request(url=_url(context.source.config))


def _without_memory(context: Context) -> Context:
    """What is remembered of the feed says nothing about the page, nor of one feed about another."""
    return replace(context, source=replace(context.source, memory={}))


def _state(passage: Passage, address: str) -> Item:
    """One item for each state of the text."""
    words = passage.text or passage.title
    item = make_item(
        native_id=_known_by(address, words),
        url=address,
        title=passage.title or address,
        content=passage.html,
    )
    return _told_by_words(item, words)


def _listed_item(listed: Listed, address: str) -> Item:
    item = make_item(
        native_id=listed.url or _known_by(address, listed.text),
        url=listed.url or address,
        title=listed.title or listed.url,
        content=listed.html,
        published_at=listed.published,
    )
    return _told_by_words(item, listed.text)


def _told_by_words(item: Item, words: str) -> Item:
    """Markup that is made anew for every visitor (blanks, tokens, signed addresses) is no edit: the words are."""
    return item._replace(fingerprint=short_hash(words))


def _known_by(address: str, words: str) -> str:
    return f"{address}#{hashlib.sha256(words.encode()).hexdigest()[:32]}"


def _check_readable(content_type: str) -> None:
    kind = content_type.partition(";")[0].strip().lower()
    if kind and not any(readable in kind for readable in _READABLE):
        raise ParseError(f"this is {kind}, which is neither a page nor a feed")


def _url(config: Mapping[str, Any]) -> str:
    return text(config, "url", example="https://example.org/")


def _selectors(config: Mapping[str, Any]) -> dict[str, str]:
    given = {name: text(config, name, example="article h2") for name in _SELECTORS if config.get(name) is not None}
    for selector in given.values():
        compile_selector(selector)
    if "selector" in given and len(given) > 1:
        raise BadConfig("A page is watched by selector, or listed by item_selector; the config has both.")
    if given and "selector" not in given and "item_selector" not in given:
        raise BadConfig("link_selector and text_selector are parts of an item: item_selector says which.")
    return given
