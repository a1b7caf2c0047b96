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
from catchment.sources.base import Context, Fetcher, Suggestion
from catchment.sources.config import text, texts
from catchment.sources.x.client import SpendingLog, TweetTimeline, XClient, list_timeline, user_timeline
from catchment.sources.x.scrape import LimitRules, ScrapeHistory, Scraper

USER, LIST = "twitter_feed", "twitter_list"
TITLE_CHARS: Final = 120
_SITE = r"(?:https?://)?(?:www\.|mobile\.)?(?:x|twitter)\.com"
_LIST_URL = re.compile(rf"(?:{_SITE}/i/lists/)?(?P<id>\d{{1,20}})/?(?:\?.*)?", re.IGNORECASE)
_PROFILE = re.compile(rf"(?:@|{_SITE}/)(?P<name>\w{{1,15}})/?(?:\?.*)?", re.IGNORECASE | re.ASCII)
#: Paths of the site that are no users.
_NOT_USERS: Final = frozenset({"home", "i", "explore", "search", "settings", "messages", "notifications", "hashtag"})


class TweetCache(Protocol):
    """Tweets that somebody else has already fetched."""

    async def fetched_lately(self, source: Source, subject: str) -> Sequence[Tweet] | None:
        """Of a user that was scraped since the source's last visit, and less than its interval ago, the stored tweets;
        None for anybody else.
        """
        ...


class TwitterFeedFetcher:
    type = USER
    config_keys = frozenset({"handle", "keywords"})

    def __init__(self, scraper: Scraper, shelf: TweetCache) -> None:
        self._scraper = scraper
        self._shelf = shelf

    def identity(self, config: Mapping[str, Any]) -> str:
        keywords = sorted({word.casefold() for word in texts(config, "keywords")})
        return "\0".join([_handle(config), *keywords])

    def recognise(self, pasted: str) -> Suggestion | None:
        found = _PROFILE.fullmatch(pasted.strip())
        if found is None or found["name"].lower() in _NOT_USERS:
            return None
        name = found["name"]
        return Suggestion(type=USER, config={"handle": f"@{name}"}, name=f"@{name}", why="It is a user of X.")

    async def preview(self, context: Context) -> Fetched:
        username, keywords = _wanted(context.source.config)
        shelved = await self._shelf.fetched_lately(context.source, username)
        tweets = shelved or await self._scraper.preview(context.http, user_timeline(username))
        return Fetched(title=f"@{username}", items=_items(tweets, keywords))

    async def fetch(self, context: Context) -> Fetched:
        username, keywords = _wanted(context.source.config)
        shelved = await self._shelf.fetched_lately(context.source, username)
        if shelved is not None:
            return Fetched(title=f"@{username}", items=_items(shelved, keywords), memory=context.source.memory)
        return await _look(self._scraper, context, user_timeline(username), keywords, title=f"@{username}")


class TwitterListFetcher:
    type = LIST
    config_keys = frozenset({"list_url", "keywords"})

    def __init__(self, scraper: Scraper, *, path: str) -> None:
        self._scraper = scraper
        self._path = path

    def identity(self, config: Mapping[str, Any]) -> str:
        return _list_id(config)

    def recognise(self, pasted: str) -> Suggestion | None:
        found = _LIST_URL.fullmatch(pasted.strip())
        if found is None or pasted.strip().isdigit():
            return None
        url = f"https://x.com/i/lists/{found['id']}"
        return Suggestion(type=LIST, config={"list_url": url}, name=f"X list {found['id']}", why="It is a list of X.")

    async def preview(self, context: Context) -> Fetched:
        list_id = _list_id(context.source.config)
        tweets = await self._scraper.preview(context.http, list_timeline(list_id, path=self._path))
        return Fetched(title=f"X list {list_id}", items=_items(tweets, []))

    async def fetch(self, context: Context) -> Fetched:
        list_id = _list_id(context.source.config)
        timeline = list_timeline(list_id, path=self._path)
        return await _look(self._scraper, context, timeline, [], title=f"X list {list_id}")


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
    words = f"{tweet.text} {tweet.referenced_tweet_text or ''}".casefold()
    return not keywords or any(keyword in words for keyword in keywords)


def item_of(tweet: Tweet) -> Item:
    """A tweet as an item. Its key is an address without the username, which people change."""
    return make_item(
        native_id=f"https://x.com/i/status/{tweet.tweet_id}",
        url=tweet.url,
        title=_title(tweet.text) or tweet.url,
        author=tweet.author_display_name or tweet.author_username,
        # The content of items is HTML; the text of tweets is not.
        content=html.escape(tweet.text, quote=False),
        published_at=tweet.created_at,
        metadata=_metadata(tweet),
    )


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
        ledger=memory,
        # The key's allowance is for all collector processes together.
        requests_per_second=settings.twitter_requests_per_second / settings.processes,
        max_retries=settings.twitter_max_retries,
    )
    rules = LimitRules(
        default=settings.scraper_limit,
        least=settings.scraper_min_limit,
        most=settings.scraper_max_limit,
        alpha=settings.scraper_ema_alpha,
    )
    return Scraper(client=client, books=memory, rules=rules, early_stop=settings.scraper_early_stop_threshold)


def x_fetchers(settings: Settings, scraper: Scraper | None, shelf: TweetCache) -> list[Fetcher]:
    """None without a scraper: such sources are skipped, as those of any type that nobody knows."""
    if scraper is None:
        return []
    return [TwitterFeedFetcher(scraper, shelf), TwitterListFetcher(scraper, path=settings.twitter_list_path)]
