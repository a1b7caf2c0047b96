"""Web sites: followed by the feed that the page names, else the page itself is watched.

The feed's address is remembered, and looked for again when the feed fails. Without a feed, a page whose main text
changed is a new item. With `selector` only the chosen element counts, and with `item_selector` every element that
fits is an item; in both cases the page is what was asked for, so no feed is looked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from yarl import URL

from catchment.domain.filters import check_pattern, without_matches
from catchment.domain.item import Item, Reading, make_item, short_hash
from catchment.domain.source import CHANGES, NOISY_AFTER
from catchment.domain.visit import Fetched
from catchment.errors import BadAnswer, BadConfig, HttpError, ParseError, RefusedAddress, VisitError
from catchment.fetch.client import Request, Response
from catchment.parse.discovery import Discovery, discover, is_page, is_title_of_comments, refresh_of
from catchment.parse.tree import compile_selector
from catchment.parse.watch import ListedLink, ListShape, Passage, read_chosen, read_listed, read_main, steady
from catchment.sources.base import Context
from catchment.sources.config import text, texts
from catchment.sources.items import read_items
from catchment.sources.page import READ_KEYS, DocumentReader, read_apart, visit_document, visit_page

FEED = "feed"
#: What is remembered of a watched page: what it last was, and when it was told that it always changes.
STATE, TOLD_AT = "state", "told_at"
#: How often that is told.
TOLD_EVERY = timedelta(hours=20)
#: Pages that one after the other send browsers on.
MAX_REFRESHES = 3
MAX_PATTERNS = 20
#: Feeds that a page names and that are tried, one after the other.
MAX_FEEDS = 3
_GONE = frozenset({404, 410})
_SELECTORS = ("selector", "item_selector", "link_selector", "text_selector")
_READABLE = ("html", "xml", "text/", "json")


class WebsiteFetcher:
    type = "website"
    display_names: Mapping[str, str] = {"en": "Web page", "zh": "网页"}
    default_minutes = 240
    config_keys = frozenset({"url", "ignore_patterns", *_SELECTORS})

    def identity(self, config: Mapping[str, Any]) -> str:
        address = str(URL(_watched(config).address).with_fragment(None))
        return " ".join([address, *(f"{name}={value}" for name, value in _selectors(config).items())])

    async def fetch(self, context: Context) -> Fetched:
        selectors = _selectors(context.source.config)
        if selectors:
            read = partial(read_chosen_parts, watched=_watched(context.source.config), selectors=selectors)
            fetched = await _visit(context, read_apart(context, read))
            # A list with something new at every visit is what lists are for.
            return _damped(context, fetched) if "selector" in selectors else fetched
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
        fetched = await _visit(context, page.read)
        named = page.seen.news_feeds
        for feed in [*named, *page.seen.linked_feeds][:MAX_FEEDS]:
            if failed is not None and feed == failed.feed:
                if not _is_gone(failed.error):
                    raise failed.error
                continue
            try:
                followed = await _follow(_without_memory(context), feed)
            except VisitError as error:
                if feed in named and not is_lasting(error):
                    raise
            else:
                if not is_title_of_comments(followed.title):
                    return followed
        return replace(fetched, is_window=True) if page.is_feed else _damped(context, fetched)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """Where a page is asked for every time, and what of its text is no matter."""

    address: str
    ignored: tuple[str, ...] = ()

    def words_of(self, text: str) -> str:
        """What makes a text another one."""
        return without_matches(steady(text), self.ignored)


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

    async def read(self, response: Response) -> Reading:
        found = await self._context.parsers.read(
            read_unknown,
            response.body,
            url=response.url,
            content_type=response.content_type,
            watched=_watched(self._context.source.config),
        )
        self.seen, self.is_feed = found.seen, found.is_feed
        return found.reading


class PageReading(NamedTuple):
    reading: Reading
    #: What the page says about its site; nothing where it is a feed.
    seen: Discovery
    is_feed: bool


def read_unknown(body: bytes, *, url: str, content_type: str, watched: Watched) -> PageReading:
    """Read a page of which nothing is known: it may be a feed, may name some, or have only a text."""
    if not is_page(body):
        try:
            reading = read_items(body, url=url, content_type=content_type)
        except ParseError:
            pass  # no feed, so it is a page
        else:
            return PageReading(reading, Discovery(), is_feed=True)
    seen = discover(body, url=url, content_type=content_type)
    reading = Reading(*read_page(body, watched=watched, url=url, content_type=content_type))
    return PageReading(reading, seen, is_feed=False)


def read_chosen_parts(
    body: bytes, *, url: str, content_type: str, watched: Watched, selectors: Mapping[str, str]
) -> tuple[str, tuple[Item, ...]]:
    """Read what the selectors of a source choose."""
    _check_readable(content_type)
    if "selector" in selectors:
        passage = read_chosen(body, selectors["selector"], url=url, content_type=content_type)
        return passage.title, (_state(passage, watched),)
    shape = ListShape(
        item=selectors["item_selector"],
        link=selectors.get("link_selector"),
        text=selectors.get("text_selector"),
    )
    title, listed = read_listed(body, shape, url=url, content_type=content_type)
    return title, tuple(_listed_item(one, watched) for one in listed)


def read_page(body: bytes, *, watched: Watched, url: str, content_type: str) -> tuple[str, tuple[Item, ...]]:
    """The title of a page, and the page as it is now as its one item. `url` is where it was found this time."""
    _check_readable(content_type)
    passage = read_main(body, url=url, content_type=content_type)
    return passage.title, (_state(passage, watched),)


def is_lasting(error: VisitError) -> bool:
    """Whether a feed is not there at all, or not for us, rather than out of order for now."""
    return isinstance(error, ParseError | RefusedAddress) or _is_gone(error)


def _is_gone(error: VisitError) -> bool:
    return isinstance(error, HttpError) and error.status in _GONE


async def _follow(context: Context, feed: str) -> Fetched:
    fetched = await visit_page(context, Request(url=feed), read_items, is_window=True)
    return replace(fetched, memory={**fetched.memory, FEED: feed})


async def _visit(context: Context, read: DocumentReader) -> Fetched:
    """Visit the page, or the one that it sends every browser on to."""
    asked = [_url(context.source.config)]
    while len(asked) <= MAX_REFRESHES + 1:
        try:
            judge = partial(_look_for_refresh, asked=asked)
            fetched = await visit_document(context, Request(url=asked[-1]), read, judge=judge)
        except _SentOn as sent_on:
            asked, context = [*asked, sent_on.target], _without_memory(context)
        else:
            # What the one page is known by says nothing of the other, which is asked for first.
            return replace(fetched, memory={}) if len(asked) > 1 else fetched
    raise BadAnswer(f"{asked[-1]} sends browsers on and on, from one page to the next; give the address of the last.")


class _SentOn(VisitError):
    def __init__(self, target: str) -> None:
        super().__init__(f"The page sends every browser on to {target}.")
        self.target = target


def _look_for_refresh(response: Response, _: datetime, *, asked: Sequence[str]) -> None:
    if target := refresh_of(response.body, response.url, *asked):
        raise _SentOn(target)


def _damped(context: Context, fetched: Fetched) -> Fetched:
    """A page that changes at every visit is told of once a day, until it stays the same for a visit."""
    before, now = context.source.memory, context.now
    state = [item.key for item in fetched.items] if not fetched.unchanged else before.get(STATE)
    changes = before.get(CHANGES, 0) + 1 if state != before.get(STATE) and STATE in before else 0
    memory = {**fetched.memory, STATE: state, CHANGES: changes, TOLD_AT: before.get(TOLD_AT)}
    if changes < NOISY_AFTER or _is_due(before.get(TOLD_AT), now):
        return replace(fetched, memory={**memory, TOLD_AT: now.isoformat()} if fetched.items else memory)
    # What is held back is to be read again: it may be what the page settles on.
    return replace(fetched, items=(), memory={key: memory[key] for key in memory.keys() - READ_KEYS})


def _is_due(told_at: str | None, now: datetime) -> bool:
    return told_at is None or now - datetime.fromisoformat(told_at) >= TOLD_EVERY


def _without_memory(context: Context) -> Context:
    """What is remembered of the feed says nothing about the page, nor of one feed about another."""
    return replace(context, source=replace(context.source, memory={}))


def _state(passage: Passage, watched: Watched) -> Item:
    """One item for each state of the text."""
    words = watched.words_of(passage.text) or passage.title
    item = make_item(
        native_id=_known_by(watched.address, words),
        url=watched.address,
        title=passage.title or watched.address,
        content=passage.html,
    )
    return _told_by_words(item, words)


def _listed_item(listed: ListedLink, watched: Watched) -> Item:
    words = watched.words_of(listed.text)
    item = make_item(
        native_id=listed.url or _known_by(watched.address, words),
        url=listed.url or watched.address,
        title=listed.title or listed.url,
        content=listed.html,
        published_at=listed.published,
    )
    return _told_by_words(item, words)


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


def _watched(config: Mapping[str, Any]) -> Watched:
    ignored = texts(config, "ignore_patterns", most=MAX_PATTERNS)
    for pattern in ignored:
        check_pattern(pattern)
    return Watched(address=_url(config), ignored=ignored)


def _selectors(config: Mapping[str, Any]) -> dict[str, str]:
    given = {name: text(config, name, example="article h2") for name in _SELECTORS if config.get(name) is not None}
    for selector in given.values():
        compile_selector(selector)
    if "selector" in given and len(given) > 1:
        raise BadConfig("A page is watched by selector, or listed by item_selector; the config has both.")
    if given and "selector" not in given and "item_selector" not in given:
        raise BadConfig("link_selector and text_selector are parts of an item: item_selector says which.")
    return given
