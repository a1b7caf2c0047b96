"""One look at a timeline: how many to ask for, the pages, what is on them, and when enough is known.

Client, parser, validator and limits do not know each other; they meet here. Nothing is stored: what came is a `Scrape`
for whoever asked, a source's visit or a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from catchment.domain.tweet import FetchStats, Scrape, Tweet
from catchment.errors import VisitError
from catchment.sources.x.client import Sender, Timeline, XClient
from catchment.sources.x.limits import LimitRules, next_limit
from catchment.sources.x.parser import Parsed, parse_page
from catchment.sources.x.validator import Invalid, validate


class Books(Protocol):
    """What is known of earlier scrapes."""

    async def stats(self, subject: str) -> FetchStats | None:
        """None where there are none, or where they cannot be read: a scrape does without."""
        ...

    async def known(self, tweet_ids: Sequence[str]) -> set[str]:
        """Those of the ids that are stored."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """From when until when tweets are wanted; open where nothing is said."""

    since: datetime | None = None
    until: datetime | None = None

    def holds(self, tweet: Tweet) -> bool:
        return not self.is_after(tweet) and (self.until is None or tweet.created_at < self.until)

    def is_after(self, tweet: Tweet) -> bool:
        return self.since is not None and tweet.created_at < self.since


ALWAYS = Window()


@dataclass(slots=True)
class _Haul:
    """What has come so far."""

    tweets: dict[str, Tweet] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unusable: int = 0
    pinned: set[str] = field(default_factory=set)

    def take(self, parsed: Parsed) -> list[Tweet]:
        """Add a page; returns its usable tweets, in order."""
        self.warnings += parsed.warnings
        self.pinned |= parsed.pinned
        usable = []
        for fields in parsed.tweets:
            tweet = validate(fields)
            if isinstance(tweet, Invalid):
                self.unusable += 1
                self.warnings.append(f"tweet {fields.get('tweet_id', '?')} lacks {', '.join(tweet.missing)}")
            else:
                usable.append(tweet)
        self.tweets |= {tweet.tweet_id: tweet for tweet in usable if tweet.tweet_id not in self.tweets}
        return usable


class Scraper:
    def __init__(self, *, client: XClient, books: Books, rules: LimitRules, early_stop: int) -> None:
        self._client = client
        self._books = books
        self._rules = rules
        self._early_stop = early_stop

    async def scrape(
        self, http: Sender, timeline: Timeline, *, most: int | None = None, window: Window = ALWAYS
    ) -> Scrape:
        """Look once. `most` caps what is asked for and given back.

        What breaks off in the middle gives back what came until then, as it was paid for; what fails at once is raised.
        """
        limit = next_limit(await self._books.stats(timeline.subject), self._rules)
        haul = _Haul()
        try:
            await self._fill(haul, http, timeline, limit=min(limit, most or limit), window=window)
        except VisitError as error:
            if not haul.tweets:
                raise
            return self._scrape(timeline, haul, most, window, broken_off=str(error))
        return self._scrape(timeline, haul, most, window)

    async def _fill(self, haul: _Haul, http: Sender, timeline: Timeline, *, limit: int, window: Window) -> None:
        async for page in self._client.pages(http, timeline, limit=limit):
            tweets = haul.take(parse_page(page.body, author=timeline.author))
            in_order = [tweet for tweet in tweets if tweet.tweet_id not in haul.pinned]
            if any(map(window.is_after, in_order)) or await self._meets_known(in_order):
                return

    async def _meets_known(self, tweets: Sequence[Tweet]) -> bool:
        """Whether the page runs into what is stored: then older pages would bring nothing new."""
        if not self._early_stop or not tweets:
            return False
        ids = [tweet.tweet_id for tweet in tweets]
        return longest_run(ids, await self._books.known(ids)) >= self._early_stop

    def _scrape(
        self, timeline: Timeline, haul: _Haul, most: int | None, window: Window, *, broken_off: str | None = None
    ) -> Scrape:
        wanted = [tweet for tweet in haul.tweets.values() if window.holds(tweet)]
        return Scrape(
            subject=timeline.subject,
            tweets=tuple(wanted[:most]),
            warnings=tuple(haul.warnings),
            unusable=haul.unusable,
            broken_off=broken_off,
        )


def longest_run(ids: Sequence[str], known: AbstractSet[str]) -> int:
    """How many known ones stand together at most."""
    longest = run = 0
    for one in ids:
        run = run + 1 if one in known else 0
        longest = max(longest, run)
    return longest
