"""The source types there are: those that come along, by name, and those of installed packages.

A type declares its facts in its own file; whoever needs one asks here. The file of a type that comes along is imported
when that type is first asked for, so that collecting a feed loads what reads feeds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from threading import RLock
from typing import Any, NamedTuple

from yarl import URL

from catchment.domain.confidential import address_of
from catchment.domain.options import without_options
from catchment.domain.source import MAX_NAME
from catchment.errors import SettingsError
from catchment.fetch.pacing import host_of
from catchment.sources.base import CrawlingType, Fetcher, Parts, SourceType, Suggestion

#: The entry points by which packages bring types of their own.
GROUP = "catchment.sources"
#: What is followed where there is no address, and how such names begin.
_NAMED_BY = {"handle": "@", "subreddit": "r/", "keyword": ""}
#: The types that come along: the module below this folder, and the class in it.
BUILT_IN: Mapping[str, str] = {
    "rss": "rss:RssFetcher",
    "sitemap": "sitemap:SitemapType",
    "website": "website:WebsiteFetcher",
    "digest_feed": "rss:DigestFeedFetcher",
    "hackernews": "hackernews:HackerNewsFetcher",
    "reddit": "reddit:RedditFetcher",
    "github_trending": "github_trending:GithubTrendingFetcher",
    "custom_api": "custom_api:CustomApiFetcher",
    "twitter_feed": "x.fetchers:TwitterFeedFetcher",
    "twitter_list": "x.fetchers:TwitterListFetcher",
    "twitter_bookmarks": "x.fetchers:TwitterBookmarks",
    "xhs_search": "platforms.search:XhsSearch",
    "weibo_search": "platforms.search:WeiboSearch",
    "douyin_search": "platforms.search:DouyinSearch",
}
#: How often a source is looked at whose type does not say.
FALLBACK_MINUTES = 240


class KnownFacts(NamedTuple):
    """What a list of sources tells of a type. The type's own file says the same."""

    default_minutes: int = FALLBACK_MINUTES
    is_crawled: bool = False


#: Of those that come along and work wherever they are: whoever only lists sources need not load what fetches them.
AT_HAND: Mapping[str, KnownFacts] = {
    "rss": KnownFacts(),
    "sitemap": KnownFacts(is_crawled=True),
    "website": KnownFacts(),
    "digest_feed": KnownFacts(),
    "hackernews": KnownFacts(default_minutes=60),
    "reddit": KnownFacts(default_minutes=60),
    "github_trending": KnownFacts(),
    "custom_api": KnownFacts(default_minutes=120),
}


class Registry:
    """The source types there are, by name. Without parts, only those that are given."""

    def __init__(self, installed: Iterable[SourceType] = (), *, parts: Parts | None = None) -> None:
        self._parts = parts
        self._making = RLock()
        self._classes: dict[str, Any] = {}
        # Told apart once: to ask a thing each time what it can do costs a tenth of a visit.
        self._fetchers: dict[str, Fetcher | None] = {}
        self._crawling_types: dict[str, CrawlingType | None] = {}
        for known in installed:
            if known.type in self:
                raise SettingsError(f"two fetchers claim the source type {known.type!r}")
            self._take_in(known.type, known)

    def __iter__(self) -> Iterator[str]:
        """Every type that is known, also one that nothing here can fetch."""
        return iter({**(BUILT_IN if self._parts else {}), **self._fetchers})

    def __contains__(self, source_type: str) -> bool:
        return source_type in self._fetchers or (self._parts is not None and source_type in BUILT_IN)

    def fetcher(self, source_type: str) -> Fetcher | None:
        self._make(source_type)
        return self._fetchers.get(source_type)

    def crawling_type(self, source_type: str) -> CrawlingType | None:
        self._make(source_type)
        return self._crawling_types.get(source_type)

    def get(self, source_type: str) -> SourceType | None:
        """What visits sources of this type; None where nothing here can."""
        return self.fetcher(source_type) or self._crawling_types.get(source_type)

    def can_fetch(self, source_type: str) -> bool:
        return self._at_hand(source_type) is not None or self.get(source_type) is not None

    def is_crawled(self, source_type: str) -> bool:
        """Whether its sources are explored, by crawls that store items before they are over."""
        known = self._at_hand(source_type)
        return known.is_crawled if known else self.crawling_type(source_type) is not None

    def default_minutes(self, source_type: str) -> int:
        """How often its sources are looked at unless somebody says otherwise."""
        known = self._at_hand(source_type)
        minutes: int = known.default_minutes if known else self._fact(source_type, "default_minutes", FALLBACK_MINUTES)
        return minutes

    def needed_key(self, source_type: str) -> str | None:
        """The setting without which its sources cannot be fetched."""
        key: str | None = None if self._at_hand(source_type) else self._fact(source_type, "needed_key", None)
        return key

    def why_skipped(self, source_type: str) -> str:
        """Why nothing here can fetch its sources; nothing where something can."""
        if self.can_fetch(source_type):
            return ""
        if key := self.needed_key(source_type):
            return (
                f"{self.display_name(source_type)} gives nothing without a key: set {key}; until then this is skipped"
            )
        return f"there is no fetcher for the type {source_type!r} yet, so it will be skipped"

    def display_name(self, source_type: str, language: str = "en") -> str:
        """What people call it."""
        names: Mapping[str, str] = self._fact(source_type, "display_names", {})
        return names.get(language) or names.get("en") or source_type

    def config_keys(self, source_type: str) -> frozenset[str] | None:
        """What the config of such a source may hold beside options; None where its type does not say."""
        keys: frozenset[str] | None = self._fact(source_type, "config_keys", None)
        return keys

    def identity(self, source_type: str, config: Mapping[str, Any]) -> str:
        """What makes two sources the same one; of a type that nothing can fetch, everything in its config does."""
        known = self.get(source_type)
        return known.identity(config) if known else json.dumps(without_options(config), sort_keys=True)

    def host(self, source_type: str, config: Mapping[str, Any]) -> str | None:
        """The host that visits to this source ask: that of the service, or of the address in its config."""
        # A type whose sources are all at one host, which their configs do not name, says it itself.
        host: str | None = getattr(self.get(source_type), "host", None)
        return host or host_of(address_of(config) or "")

    def suggest(self, source_type: str, text: str) -> Suggestion | None:
        """What text stands for that was pasted for this type; None where only an address will do."""
        suggest: Callable[[str], Suggestion] | None = self._fact(source_type, "suggest", None)
        return suggest(text) if suggest else None

    def recognise(self, pasted: str) -> Suggestion | None:
        """What the first type that knows the pasted text takes it for."""
        for name in self:
            recognise: Callable[[str], Suggestion | None] | None = self._fact(name, "recognise", None)
            if recognise is not None and (found := recognise(pasted)) is not None:
                return found
        return None

    def _at_hand(self, source_type: str) -> KnownFacts | None:
        """What is known of a type without loading it; None of others, also where somebody brought one of that name."""
        return AT_HAND.get(source_type) if self._parts is not None else None

    def _fact(self, source_type: str, name: str, default: Any) -> Any:
        """As the type declares it; its class does where it cannot be made."""
        known = self.get(source_type) or self._classes.get(source_type)
        return getattr(known, name, default)

    def _make(self, source_type: str) -> None:
        if self._parts is None or source_type in self._fetchers or source_type not in BUILT_IN:
            return
        module, _, name = BUILT_IN[source_type].partition(":")
        # The store's threads ask as well, and a type is made once.
        with self._making:
            if source_type not in self._fetchers:
                known = getattr(import_module(f"catchment.sources.{module}"), name)
                self._classes[source_type] = known
                self._take_in(source_type, known.from_parts(self._parts) if hasattr(known, "from_parts") else known())

    def _take_in(self, source_type: str, made: SourceType | None) -> None:
        self._crawling_types[source_type] = made if isinstance(made, CrawlingType) else None
        # Last, as it says that the type is made.
        self._fetchers[source_type] = None if isinstance(made, CrawlingType) else made


def installed_types(complain: Callable[[str], None]) -> list[SourceType]:
    """One for each entry point; one that cannot be loaded is complained about and left out."""
    loaded = [_load(point, complain) for point in plug_ins()]
    return [known for known in loaded if known is not None]


@cache
def plug_ins() -> Sequence[EntryPoint]:
    """Looked for once: it takes a look at every package there is."""
    return sorted(entry_points(group=GROUP), key=lambda point: point.name)


def _load(point: EntryPoint, complain: Callable[[str], None]) -> SourceType | None:
    try:
        known: SourceType = point.load()()
    except Exception as error:  # noqa: BLE001 - the edge: whatever a stranger's package does at import, ours goes on
        complain(f"the source type {point.name!r} ({point.value}) cannot be loaded: {error!r}")
        return None
    return known


def default_name(source_type: str, config: Mapping[str, Any]) -> str:
    """The host where there is an address, with the path of a watched page; else what it follows, or the type."""
    url = config.get("url")
    if isinstance(url, str) and (host := URL(url).host):
        page = host + URL(url).path.rstrip("/") if source_type == "website" else host
        return page if _fits_as_name(page) else host
    said = ((config.get(key), before) for key, before in _NAMED_BY.items())
    names = (
        before + text.strip().removeprefix(before) for text, before in said if isinstance(text, str) and text.strip()
    )
    return next(filter(_fits_as_name, names), source_type)


def _fits_as_name(text: str) -> bool:
    return text.isprintable() and len(text) <= MAX_NAME
