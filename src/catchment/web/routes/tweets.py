"""Tweets: by author and time, and as a feed that misses nothing; and who is followed for them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import Field

from catchment.domain.tweet import Follow, StoredTweet, normal_username
from catchment.errors import InvalidInput, or_not_found
from catchment.manage.follows import MAX_ADDED_BY, MAX_REASON
from catchment.store import tweets
from catchment.store.tweets import FeedQuery, TweetQuery
from catchment.web.auth import AdminOnly, Known, TheSystem
from catchment.web.errors import OF_A_BODY, problems
from catchment.web.inputs import In, Instant, Limit, Text, check_window, read_cursor, read_timed_cursor, write_cursor
from catchment.web.outputs import Moment, Out

follows_router = APIRouter(tags=["follows"], responses=problems(401))
ADMIN = "/api/admin/scraping/follows"

MAX_USERNAME = 50
Username = Annotated[Text, Path(max_length=MAX_USERNAME, description="With or without @, in any case.")]


class FollowOut(Out):
    id: int
    username: str
    added_at: Moment
    reason: str
    added_by: str
    is_active: bool


class FollowIn(In):
    username: Text = Field(max_length=MAX_USERNAME, examples=["@openai"])
    reason: Text = Field(min_length=1, max_length=MAX_REASON)
    added_by: Text = Field(min_length=1, max_length=MAX_ADDED_BY)


class FollowChange(In):
    answer = FollowOut

    reason: Text | None = Field(None, min_length=1, max_length=MAX_REASON, examples=["model news"])
    is_active: bool | None = None


@follows_router.get("/api/scraping/follows")
async def list_follows(system: TheSystem, _caller: Known) -> list[FollowOut]:
    """Whom the scraper follows now."""
    return _shown(await system.follows.list())


@follows_router.get(ADMIN, responses=problems(403, 422))
async def list_all_follows(
    system: TheSystem, _caller: AdminOnly, *, include_inactive: Annotated[bool, Query()] = False
) -> list[FollowOut]:
    """Whom the scraper follows, and whom it once did."""
    return _shown(await system.follows.list(include_inactive=include_inactive))


@follows_router.post(ADMIN, status_code=201, responses=problems(403, 409, *OF_A_BODY))
async def add_follow(system: TheSystem, _caller: AdminOnly, body: FollowIn) -> FollowOut:
    """Follow somebody. One who was given up is followed again."""
    added = await system.follows.add(body.username, reason=body.reason, added_by=body.added_by)
    return FollowOut.model_validate(added)


@follows_router.put(ADMIN + "/{username}", responses=problems(403, 404, *OF_A_BODY))
async def change_follow(system: TheSystem, _caller: AdminOnly, username: Username, body: FollowChange) -> FollowOut:
    changed = await system.follows.change(username, reason=body.reason, is_active=body.is_active)
    return FollowOut.model_validate(changed)


@follows_router.delete(ADMIN + "/{username}", status_code=204, responses=problems(403, 404, 422))
async def remove_follow(system: TheSystem, _caller: AdminOnly, username: Username) -> None:
    """Give somebody up. What was collected stays, and so does the entry, inactive."""
    await system.follows.remove(username)


def _shown(follows: list[Follow]) -> list[FollowOut]:
    return [FollowOut.model_validate(follow) for follow in follows]


MAX_LISTED = 100
router = APIRouter(prefix="/api", tags=["tweets"], responses=problems(401, 422))

Author = Annotated[Text | None, Query(max_length=50, description="With or without @, in any case.")]
Cursor = Annotated[Text | None, Query(max_length=200, description="`next_cursor` of the page before.")]
Until = Annotated[Instant | None, Query(description="Only what is older than this; a time without zone is UTC.")]
Since = Annotated[Instant | None, Query(description="Only what is as new as this; a time without zone is UTC.")]


class TweetOut(Out):
    """The text is as it came, and plain: whoever shows it as HTML escapes it."""

    tweet_id: str
    text: str
    created_at: Moment
    author_username: str
    author_display_name: str | None
    referenced_tweet_id: str | None
    reference_type: str | None
    media: list[dict[str, Any]]
    referenced_tweet_text: str | None
    referenced_tweet_media: list[dict[str, Any]]
    referenced_tweet_author_username: str | None
    urls: list[str]
    lang: str | None
    hashtags: list[str]
    counts: dict[str, int] = Field(description="`like_count` and others, as they were when the tweet was stored.")
    url: str
    db_created_at: Moment
    db_updated_at: Moment

    @classmethod
    def of(cls, stored: StoredTweet) -> TweetOut:
        return cls(
            **stored.tweet._asdict(),
            url=stored.tweet.url,
            db_created_at=stored.db_created_at,
            db_updated_at=stored.db_updated_at,
        )


class TweetsOut(Out):
    items: list[TweetOut]
    total: int
    page: int
    page_size: int
    total_pages: int
    #: Null on the last page.
    next_cursor: str | None


class TweetFeedOut(Out):
    items: list[TweetOut]
    count: int
    total: int
    since: Moment | None
    until: Moment
    has_more: bool
    #: Always there: whoever asks on with it gets every later tweet once.
    next_cursor: str


@router.get("/tweets")
async def list_tweets(
    system: TheSystem,
    _caller: Known,
    *,
    author: Author = None,
    since: Since = None,
    until: Until = None,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED, alias="page_size")] = 20,
    page: Annotated[int, Query(ge=1, le=1_000_000)] = 1,
    cursor: Cursor = None,
) -> TweetsOut:
    """Tweets by when they were written, the newest first. With a cursor the page's number does not count."""
    check_window(since, until)
    query = TweetQuery(
        author=normal_username(author) if author is not None else None,
        since=since,
        until=until,
        after=read_timed_cursor(cursor) if cursor is not None else None,
        limit=limit,
        offset=0 if cursor is not None else (page - 1) * limit,
    )
    found = await system.store.read(tweets.list_tweets, query)
    last = found.tweets[-1] if found.has_more else None
    return TweetsOut(
        items=[TweetOut.of(one) for one in found.tweets],
        total=found.total,
        page=page,
        page_size=limit,
        total_pages=-(-found.total // limit),
        next_cursor=write_cursor(last.id, last.tweet.created_at) if last else None,
    )


@router.get("/tweets/{tweet_id}", responses=problems(404))
async def get_tweet(
    system: TheSystem, _caller: Known, tweet_id: Annotated[Text, Path(max_length=255, pattern=r"^\d+$")]
) -> TweetOut:
    found = await system.store.read(tweets.get_tweet, tweet_id)
    return TweetOut.of(or_not_found(found, f"There is no tweet {tweet_id}."))


@router.get("/feed")
async def read_feed(
    system: TheSystem,
    _caller: Known,
    *,
    since: Since = None,
    until: Until = None,
    limit: Limit | None = None,
    cursor: Cursor = None,
) -> TweetFeedOut:
    """Tweets in the order in which they were stored, from `since` on or after a cursor.

    The window is about when a tweet was stored, not written. Asking on with `next_cursor`, now or any time later,
    gives what came since; moving `since` by hand may miss what was being stored at that moment.
    """
    if since is None and cursor is None:
        raise InvalidInput(
            "Say from when: since=2026-03-01T12:00:00Z, or the cursor of the page before.", field="since"
        )
    end = until or system.clock.now()
    check_window(since, end)
    most = system.settings.feed_max_tweets
    after_id = read_cursor(cursor) if cursor is not None else 0
    query = FeedQuery(since=since, until=until, after_id=after_id, limit=min(limit or most, most))
    found = await system.store.read(tweets.feed_page, query)
    return TweetFeedOut(
        items=[TweetOut.of(one) for one in found.tweets],
        count=len(found.tweets),
        total=found.total,
        since=since,
        until=end,
        has_more=found.has_more,
        next_cursor=write_cursor(found.tweets[-1].id if found.tweets else after_id),
    )
