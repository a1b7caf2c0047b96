"""One look at a timeline: how many to ask for, the pages, what is on them, and when enough is known.

Client, parser, validator and limits do not know each other; they meet here. Nothing is stored: what came is a `Scrape`
for whoever asked, a source's visit or a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from sys import maxsize
from typing import Protocol

from catchment.domain.tweet import Depth, FetchStats, Reach, Scrape, Tweet
from catchment.errors import VisitError
from catchment.sources.x.client import SendRequest, TweetTimeline, XClient, XError
from catchment.sources.x.parser import Invalid, Parsed, parse_page, validate

EMPTY_UNTIL_LEAST = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRules:
    default: int = 100
    least: int = 10
    most: int = 300
    #: The weight of the latest fetch in the smoothed rate.
    alpha: float = 0.3
    margin: float = 1.2


def next_limit(stats: FetchStats | None, rules: LimitRules) -> int:
    """Twice as many after a fetch that was all new, few after nothing three times, else what is expected to be new."""
    if stats is None or not stats.total_fetches:
        return rules.default
    if 0 < stats.last_new_count == stats.last_fetched_count:
        return _within(stats.last_fetched_count * 2, rules)
    if stats.consecutive_empty_fetches >= EMPTY_UNTIL_LEAST:
        return rules.least
    if stats.avg_new_rate > 0 and stats.last_new_count > 0:
        return _within(int(stats.last_new_count / stats.avg_new_rate * rules.margin), rules)
    return rules.default


def stats_after(
    stats: FetchStats | None, *, username: str, fetched: int, new: int, at: datetime, alpha: float
) -> FetchStats:
    """The statistics once a fetch succeeded. One that fetched nothing says nothing about the rate."""
    return FetchStats(
        username=username,
        last_fetch_at=at,
        last_fetched_count=fetched,
        last_new_count=new,
        total_fetches=(stats.total_fetches if stats else 0) + 1,
        avg_new_rate=_rate(stats, fetched, new, alpha),
        consecutive_empty_fetches=0 if new else (stats.consecutive_empty_fetches if stats else 0) + 1,
    )


def _rate(stats: FetchStats | None, fetched: int, new: int, alpha: float) -> float:
    if not fetched:
        return stats.avg_new_rate if stats else 0.0
    rate = new / fetched
    return rate if stats is None else min(1.0, alpha * rate + (1 - alpha) * stats.avg_new_rate)


def _within(limit: int, rules: LimitRules) -> int:
    return max(rules.least, min(limit, rules.most))


class ScrapeHistory(Protocol):
    """What is known of earlier scrapes."""

    async def stats(self, subject: str) -> FetchStats | None:
        """None where there are none, or where they cannot be read: a scrape does without."""
        ...

    async def known(self, tweet_ids: Sequence[str], *, by: datetime) -> set[str]:
        """Those of the ids that were stored by then."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What is wanted of a timeline, and what is known of it."""

    timeline: TweetTimeline
    stats: FetchStats | None
    #: How many tweets the statistics suggest, and how many the caller wants at most.
    limit: int
    most: int | None
    window: Window
    depth: Depth
    is_first: bool

    @property
    def asked(self) -> int:
        if self.depth is Depth.FULL:
            return maxsize
        return self.most if self.most and self.depth is Depth.LIMIT else min(self.limit, self.most or self.limit)


@dataclass(slots=True)
class _Buffer:
    """What has come so far."""

    tweets: dict[str, Tweet] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    unusable: int = 0
    pinned: set[str] = field(default_factory=set)
    #: It came to what was known, or to the end of the timeline.
    met: bool = False
    #: It read on below what was known.
    is_below: bool = False

    def take(self, parsed: Parsed) -> list[Tweet]:
        """Add a page; returns its usable tweets, in order."""
        self.warnings += parsed.warnings
        self.unusable += parsed.unusable
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
    def __init__(self, *, client: XClient, history: ScrapeHistory, rules: LimitRules, early_stop: int) -> None:
        self._client = client
        self._history = history
        self._rules = rules
        self._early_stop = early_stop

    async def scrape(
        self,
        http: SendRequest,
        timeline: TweetTimeline,
        *,
        most: int | None = None,
        window: Window = ALWAYS,
        depth: Depth = Depth.NEWS,
        is_first: bool = False,
    ) -> Scrape:
        """Look once. `most` caps what is asked for and given back. The first look begins with what was previewed.

        What breaks off in the middle gives back what came until then, as it was paid for; what fails at once is raised.
        """
        stats = await self._history.stats(timeline.subject)
        limit = next_limit(stats, self._rules)
        look = _Look(
            timeline=timeline, stats=stats, limit=limit, most=most, window=window, depth=depth, is_first=is_first
        )
        buffer = _Buffer()
        try:
            await self._fill(buffer, http, look)
        except VisitError as error:
            if not buffer.tweets:
                raise
            trouble = error.trouble if isinstance(error, XError) else None
            return replace(_scrape(look, buffer, Reach.PART), broken_off=str(error), trouble=trouble)
        return _scrape(look, buffer, self._reach(look, buffer))

    async def preview(self, http: SendRequest, timeline: TweetTimeline) -> Sequence[Tweet]:
        """What is on the first page, for somebody who wants to see what there is."""
        page = await self._client.preview(http, timeline)
        return _Buffer().take(parse_page(page.body, author=timeline.author))

    async def _fill(self, buffer: _Buffer, http: SendRequest, look: _Look) -> None:
        count, cursor = 0, None
        is_enough = bool(self._early_stop) and look.depth is Depth.NEWS
        async for page in self._client.pages(http, look.timeline, limit=look.asked, is_first=look.is_first):
            buffer.is_below = buffer.met
            tweets = buffer.take(parse_page(page.body, author=look.timeline.author))
            in_order = [tweet for tweet in tweets if tweet.tweet_id not in buffer.pinned]
            buffer.met = buffer.met or await self._meets_known(in_order, look.stats)
            if any(map(look.window.is_after, in_order)) or (buffer.met and is_enough):
                return
            count, cursor = count + page.count, page.next_cursor
        buffer.met = buffer.met or cursor is None or count < look.asked

    async def _meets_known(self, tweets: Sequence[Tweet], stats: FetchStats | None) -> bool:
        """Whether the page runs into what the last look that was read to its end has left: older pages would bring
        nothing new. What was stored since does not count, as there may be a hole below it.
        """
        if stats is None or not tweets:
            return False
        ids = [tweet.tweet_id for tweet in tweets]
        return longest_run(ids, await self._history.known(ids, by=stats.last_fetch_at)) >= max(self._early_stop, 1)

    def _reach(self, look: _Look, buffer: _Buffer) -> Reach:
        # What lies below what was known is no news, and says nothing about how many there will be.
        if look.window != ALWAYS or (buffer.is_below and look.depth is not Depth.NEWS):
            return Reach.PART
        is_cut = look.most is not None and len(buffer.tweets) > look.most
        # Below what came at first nothing is missing, unless that is too little to be run into.
        is_first = look.stats is None and (look.most is None or look.most >= self._early_stop)
        if is_first or (buffer.met and not is_cut):
            return Reach.END
        if look.asked < look.limit or is_cut:
            return Reach.PART
        # Below the highest limit nobody ever looks.
        return Reach.LIMIT if look.limit < self._rules.most else Reach.END


def _scrape(look: _Look, buffer: _Buffer, reach: Reach) -> Scrape:
    wanted = [tweet for tweet in buffer.tweets.values() if look.window.holds(tweet)]
    return Scrape(
        subject=look.timeline.subject,
        tweets=tuple(wanted[: look.most]),
        warnings=tuple(buffer.warnings),
        unusable=buffer.unusable,
        reach=reach,
    )


def longest_run(ids: Sequence[str], known: AbstractSet[str]) -> int:
    """How many known ones stand together at most."""
    longest = run = 0
    for one in ids:
        run = run + 1 if one in known else 0
        longest = max(longest, run)
    return longest
