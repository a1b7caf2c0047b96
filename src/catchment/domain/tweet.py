"""A tweet as it is kept, what a scrape brought, and what is remembered about scraping somebody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple, TypedDict

from catchment.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    id: int
    #: Normalised: without `@`, in lower case.
    username: str
    added_at: datetime
    reason: str
    added_by: str
    is_active: bool


_USERNAME = re.compile(r"[a-z0-9_]{1,15}")


class ReferenceType(StrEnum):
    RETWEETED = "retweeted"
    QUOTED = "quoted"
    REPLIED_TO = "replied_to"


class Media(TypedDict, total=False):
    """As it is stored and shown; what is not known is left out."""

    media_key: str
    type: str
    #: The file itself; of a video the best there is.
    url: str
    preview_image_url: str
    width: int
    height: int
    alt_text: str


class TweetFields(TypedDict, total=False):
    """What could be read of a tweet, before anybody has checked that it is enough."""

    tweet_id: str
    text: str
    created_at: datetime
    author_username: str
    author_display_name: str
    referenced_tweet_id: str
    reference_type: ReferenceType
    media: tuple[Media, ...]
    referenced_tweet_text: str
    referenced_tweet_media: tuple[Media, ...]
    referenced_tweet_author_username: str
    urls: tuple[str, ...]
    lang: str
    hashtags: tuple[str, ...]
    counts: Mapping[str, int]


_NO_COUNTS: Final[Mapping[str, int]] = {}


class Tweet(NamedTuple):
    """A tuple for the same reason as `Item`: they are stored by the hundred thousand."""

    tweet_id: str
    text: str
    created_at: datetime
    #: In the case that its owner writes it.
    author_username: str
    author_display_name: str | None = None
    referenced_tweet_id: str | None = None
    reference_type: ReferenceType | None = None
    media: tuple[Media, ...] = ()
    referenced_tweet_text: str | None = None
    referenced_tweet_media: tuple[Media, ...] = ()
    referenced_tweet_author_username: str | None = None
    #: Where the links in the text lead.
    urls: tuple[str, ...] = ()
    lang: str | None = None
    #: Without `#`.
    hashtags: tuple[str, ...] = ()
    #: `like_count`, `retweet_count`, `reply_count`, `quote_count`, `view_count`, `bookmark_count`, as far as known.
    counts: Mapping[str, int] = _NO_COUNTS

    @property
    def url(self) -> str:
        return f"https://x.com/{self.author_username}/status/{self.tweet_id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredTweet:
    tweet: Tweet
    #: Rises with every tweet that is stored, in the order in which they come to be seen.
    id: int
    db_created_at: datetime
    db_updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchStats:
    """How much scraping a timeline brought so far."""

    #: A normalised username, or `list:<id>`.
    username: str
    #: When it was last read to its end, see `Reach.END`.
    last_fetch_at: datetime
    last_fetched_count: int
    last_new_count: int
    total_fetches: int
    #: Between 0 and 1, smoothed.
    avg_new_rate: float
    consecutive_empty_fetches: int


class Depth(StrEnum):
    """How far down a look at a timeline is to go."""

    #: Until it runs into what is known, as far as the statistics suggest.
    NEWS = "news"
    #: As many as were asked for, also below what is known.
    LIMIT = "limit"
    #: To the end of the timeline.
    FULL = "full"


class Reach(StrEnum):
    """How far down one look at a timeline came."""

    #: To what was known, or as far as anybody ever goes: nobody need look below again.
    END = "end"
    #: To the limit, with more to come: the next look has to go deeper.
    LIMIT = "limit"
    #: To where it was told to stop, or had to: it says nothing about the timeline.
    PART = "part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """What one look at a timeline brought: stored in one piece, whoever asked for it."""

    #: As in `FetchStats.username`.
    subject: str
    tweets: tuple[Tweet, ...] = ()
    #: Tweets that were passed over, and other oddities, each in a sentence.
    warnings: tuple[str, ...] = field(default=())
    #: Tweets that could not be used.
    unusable: int = 0
    reach: Reach = Reach.END
    #: Why it ended before it was done; what came until then is here.
    broken_off: str | None = None
    #: What kind of no ended it, where the provider gave one.
    trouble: str | None = None


def normal_username(given: str) -> str:
    """Without `@` and in lower case, as it is known everywhere; InvalidInput if it cannot be one."""
    name = given.strip().removeprefix("@").lower()
    if not _USERNAME.fullmatch(name):
        raise InvalidInput(
            f"{given[:40]!r} is not a user of X: 1 to 15 letters, digits or _, with or without @.", field="username"
        )
    return name
