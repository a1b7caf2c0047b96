"""X as sources: a user's tweets, perhaps only those with certain words, and the tweets of a list."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from catchment.domain.item import Item, make_item
from catchment.domain.source import Source
from catchment.domain.tweet import Scrape, Tweet, normal_username
from catchment.domain.visit import Fetched
from catchment.errors import BadConfig, InvalidInput
from catchment.settings import Settings
from catchment.sources.base import Context, Parts, Suggestion
from catchment.sources.config import path_of, text, texts, web_address
from catchment.sources.x.client import SpendingLog, TweetTimeline, XClient, list_timeline, user_timeline
from catchment.sources.x.scrape import LimitRules, ScrapeHistory, Scraper

USER, LIST = "twitter_feed", "twitter_list"
TITLE_CHARS: Final = 120
#: What X writes for the only characters that it escapes; the last may have hidden one of the others.
_ESCAPES: Final = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))
_HOSTS: Final = frozenset(f"{part}{site}.com" for part in ("", "www.", "mobile.") for site in ("x", "twitter"))
_SITE = r"(?:https?://)?(?:www\.|mobile\.)?(?:x|twitter)\.com"
_LIST_URL = re.compile(rf"(?:{_SITE}/i/lists/)?(?P<id>\d{{1,20}})/?(?:\?.*)?", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z0-9_]{1,15}")
#: Pages of the service itself, which look like names.
_PAGES: Final = re.compile(
    r"about|account|compose|download|explore|hashtag|home|i|intent|jobs|login|logout|messages|notifications"
    r"|privacy|search|settings|share|signup|tos|who_to_follow",
    re.IGNORECASE,
)


class TweetCache(Protocol):
    """Tweets that somebody else has already fetched."""

    async def fetched_lately(self, source: Source, subject: str) -> Sequence[Tweet] | None:
        """Of a user that was scraped since the source's last visit, and less than its interval ago, the stored tweets;
        None for anybody else.
        """
        ...


class TwitterFeedFetcher:
    type = USER
    display_names: Mapping[str, str] = {"en": "X", "zh": "X"}
    default_minutes = 30
    needed_key = "TWITTER_API_KEY"
    config_keys = frozenset({"handle", "keywords"})

    def __init__(self, scraper: Scraper, tweets: TweetCache) -> None:
        self._scraper = scraper
        self._tweets = tweets

    @classmethod
    def from_parts(cls, parts: Parts) -> TwitterFeedFetcher | None:
        scraper = parts.scraper()
        return cls(scraper, parts.tweets()) if scraper and parts.tweets else None

    def identity(self, config: Mapping[str, Any]) -> str:
        keywords = sorted({word.casefold() for word in texts(config, "keywords")})
        return "\0".join([_handle(config), *keywords])

    @staticmethod
    def recognise(pasted: str) -> Suggestion | None:
        match [pasted.strip()[1:]] if pasted.strip().startswith("@") else _path_on_x(pasted):
            case [name, *_] if _NAME.fullmatch(name) and not _PAGES.fullmatch(name):
                config = {"handle": f"@{name}"}
                return Suggestion(type=USER, config=config, name=f"@{name}", why="It is an account on X.")
        return None

    async def preview(self, context: Context) -> Fetched:
        username, keywords = _wanted(context.source.config)
        cached = await self._tweets.fetched_lately(context.source, username)
        tweets = cached or await self._scraper.preview(context.http, user_timeline(username))
        return Fetched(title=f"@{username}", items=_items(tweets, keywords))

    async def fetch(self, context: Context) -> Fetched:
        username, keywords = _wanted(context.source.config)
        cached = await self._tweets.fetched_lately(context.source, username)
        if cached is not None:
            return Fetched(title=f"@{username}", items=_items(cached, keywords), memory=context.source.memory)
        return await _look(self._scraper, context, user_timeline(username), keywords, title=f"@{username}")


class TwitterListFetcher:
    type = LIST
    display_names: Mapping[str, str] = {"en": "X", "zh": "X"}
    default_minutes = 30
    needed_key = "TWITTER_API_KEY"
    config_keys = frozenset({"list_url"})

    def __init__(self, scraper: Scraper, *, path: str) -> None:
        self._scraper = scraper
        self._path = path

    @classmethod
    def from_parts(cls, parts: Parts) -> TwitterListFetcher | None:
        scraper = parts.scraper()
        return cls(scraper, path=parts.settings.twitter_list_path) if scraper else None

    def identity(self, config: Mapping[str, Any]) -> str:
        return _list_id(config)

    @staticmethod
    def recognise(pasted: str) -> Suggestion | None:
        match _path_on_x(pasted):
            case ["i", "lists", number, *_] if number.isascii() and number.isdecimal():
                config = {"list_url": f"https://x.com/i/lists/{number}"}
                return Suggestion(type=LIST, config=config, name=f"X list {number}", why="It is a list on X.")
        return None

    async def preview(self, context: Context) -> Fetched:
        list_id = _list_id(context.source.config)
        tweets = await self._scraper.preview(context.http, list_timeline(list_id, path=self._path))
        return Fetched(title=f"X list {list_id}", items=_items(tweets, []))

    async def fetch(self, context: Context) -> Fetched:
        list_id = _list_id(context.source.config)
        timeline = list_timeline(list_id, path=self._path)
        return await _look(self._scraper, context, timeline, [], title=f"X list {list_id}")


class TwitterBookmarks:
    """A type that sources may have, and that nothing can fetch."""

    type = "twitter_bookmarks"
    display_names: Mapping[str, str] = {"en": "X bookmarks", "zh": "X 书签"}
    default_minutes = 60

    @classmethod
    def from_parts(cls, parts: Parts) -> None:  # noqa: ARG003 - as with the others
        return None


def _path_on_x(pasted: str) -> list[str]:
    url = web_address(pasted)
    return path_of(url) if url is not None and (url.host or "").rstrip(".").lower() in _HOSTS else []


async def _look(
    scraper: Scraper, context: Context, timeline: TweetTimeline, keywords: Sequence[str], *, title: str
) -> Fetched:
    is_first = context.source.last_fetched_at is None
    scrape = await scraper.scrape(context.http, timeline, is_first=is_first)
    return Fetched(
        title=title,
        items=_items(scrape.tweets, keywords),
        memory=context.source.memory,
        records=(scrape,),
        warnings=_warnings(scrape),
        is_window=not keywords,
    )


def _warnings(scrape: Scrape) -> tuple[str, ...]:
    if scrape.broken_off is None:
        return scrape.warnings
    return (*scrape.warnings, f"broken off after {len(scrape.tweets)} tweets: {scrape.broken_off}")


def _wanted(config: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Whose tweets, and which words they have to mention."""
    return _handle(config), [word.casefold() for word in texts(config, "keywords")]


def _handle(config: Mapping[str, Any]) -> str:
    try:
        return normal_username(text(config, "handle", example="@name"))
    except InvalidInput as error:
        raise BadConfig(str(error)) from error


def _list_id(config: Mapping[str, Any]) -> str:
    found = _LIST_URL.fullmatch(text(config, "list_url", example="https://x.com/i/lists/123"))
    if found is None:
        raise BadConfig("list_url is the address of a list, such as https://x.com/i/lists/123.")
    return found["id"]


def _items(tweets: Iterable[Tweet], keywords: Sequence[str]) -> tuple[Item, ...]:
    return tuple(item_of(tweet) for tweet in tweets if _mentions(tweet, keywords))


def _mentions(tweet: Tweet, keywords: Sequence[str]) -> bool:
    words = _written(f"{tweet.text} {tweet.referenced_tweet_text or ''}").casefold()
    return not keywords or any(keyword in words for keyword in keywords)


def item_of(tweet: Tweet) -> Item:
    """A tweet as an item. Its key is an address without the username, which people change."""
    text = _written(tweet.text)
    return make_item(
        native_id=f"https://x.com/i/status/{tweet.tweet_id}",
        url=tweet.url,
        title=_title(text) or tweet.url,
        author=tweet.author_display_name or tweet.author_username,
        # The content of items is HTML; the text of tweets is not.
        content=html.escape(text, quote=False),
        published_at=tweet.created_at,
        metadata=_metadata(tweet),
    )


def _written(text: str) -> str:
    """As its author wrote it."""
    for escape, character in _ESCAPES:
        text = text.replace(escape, character)
    return text


def _title(text: str) -> str:
    return text if len(text) <= TITLE_CHARS else text[: TITLE_CHARS - 1].rstrip() + "…"


def _metadata(tweet: Tweet) -> dict[str, Any]:
    found = tweet._asdict()
    for column in ("text", "created_at", "author_display_name"):
        del found[column]
    return {name: value for name, value in found.items() if value}


class Memory(ScrapeHistory, TweetCache, SpendingLog, Protocol):
    """All that X needs to have remembered."""


def make_scraper(settings: Settings, memory: Memory) -> Scraper | None:
    """None without a key."""
    if not settings.twitter_api_key:
        return None
    client = XClient(
        key=settings.twitter_api_key,
        base_url=settings.twitter_base_url,
        spending=memory,
        requests_per_second=settings.twitter_requests_per_second,
        max_retries=settings.twitter_max_retries,
    )
    rules = LimitRules(
        default=settings.scraper_limit,
        least=settings.scraper_min_limit,
        most=settings.scraper_max_limit,
        alpha=settings.scraper_ema_alpha,
    )
    return Scraper(client=client, history=memory, rules=rules, early_stop=settings.scraper_early_stop_threshold)
