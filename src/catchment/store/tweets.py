"""Tweets in the store: each once, whoever found it, and read back without missing any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Connection, Row, bindparam, func, literal, select, text, tuple_
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, ProgrammingError

from catchment.domain.tweet import ReferenceType, StoredTweet, Tweet
from catchment.store.bulk import BulkInsert
from catchment.store.platform_tables import tweets
from catchment.store.types import UtcDateTime, read_one

#: Ids looked up by one statement.
LOOKED_UP: Final = 5000
_LOCK: Final = 0x7477656574
#: What a value that no column can hold leads to.
_UNSTORABLE: Final = (DataError, IntegrityError, InterfaceError, ProgrammingError, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveResult:
    """Every tweet that was handed over is counted once."""

    #: In the order of storing.
    new_ids: tuple[str, ...] = ()
    skipped: int = 0
    errors: int = 0

    @property
    def success(self) -> int:
        return len(self.new_ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedQuery:
    """What was stored in a window of time, in the order of storing."""

    since: datetime | None
    #: None for no end. The clocks of those who store differ: with the reader's as an end, a cursor would get past a
    #: tweet that is stamped ahead of it.
    until: datetime | None = None
    #: Only what comes after the tweet of this id.
    after_id: int = 0
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TweetQuery:
    """Tweets by when they were written, the newest first."""

    author: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    #: Only what comes after this one: when it was written, and its id.
    after: tuple[datetime, int] | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TweetPage:
    tweets: tuple[StoredTweet, ...]
    #: Of all pages together, whatever the page began with.
    total: int
    has_more: bool


def save_tweets(conn: Connection, found: Sequence[Tweet], *, now: datetime) -> SaveResult:
    """Store those that are not there yet. One that cannot be stored is counted and keeps no other from it."""
    _let_no_other_save(conn)
    # Timelines list the newest first; the feed gives out in the order of storing.
    unique = {tweet.tweet_id: tweet for tweet in reversed(found)}
    known = known_ids(conn, list(unique))
    fresh = [tweet for tweet_id, tweet in unique.items() if tweet_id not in known]
    stored = _insert_what_can_be(conn, fresh, now)
    return SaveResult(
        new_ids=tuple(tweet.tweet_id for tweet in stored),
        skipped=len(found) - len(fresh),
        errors=len(fresh) - len(stored),
    )


def known_ids(conn: Connection, tweet_ids: Sequence[str], *, by: datetime | None = None) -> set[str]:
    """Those of the ids that are stored, or were by some moment."""
    wanted = _KNOWN if by is None else _KNOWN.where(tweets.c.db_created_at <= by)
    parts = (tweet_ids[start : start + LOOKED_UP] for start in range(0, len(tweet_ids), LOOKED_UP))
    return {tweet_id for part in parts for tweet_id in conn.execute(wanted, {"ids": part}).scalars()}


def get_tweet(conn: Connection, tweet_id: str) -> StoredTweet | None:
    return read_one(conn, select(tweets).where(tweets.c.tweet_id == tweet_id), _stored)


def get_tweets_by_author(conn: Connection, author_username: str, *, limit: int = 100) -> list[StoredTweet]:
    """The newest first, whatever the case of the name."""
    return list(list_tweets(conn, TweetQuery(author=author_username, limit=limit)).tweets)


def list_tweets(conn: Connection, query: TweetQuery) -> TweetPage:
    wanted = _written(query)
    statement = select(tweets).where(*wanted).order_by(tweets.c.created_at.desc(), tweets.c.id.desc())
    if query.after is not None:
        moment, tweet = query.after
        place = tuple_(literal(moment, UtcDateTime), literal(tweet, BigInteger))
        statement = statement.where(tuple_(tweets.c.created_at, tweets.c.id) < place)
    rows = conn.execute(statement.limit(query.limit + 1).offset(query.offset))
    return _page(conn, rows, wanted, query.limit)


def feed_page(conn: Connection, query: FeedQuery) -> TweetPage:
    wanted = []
    if query.since is not None:
        wanted.append(tweets.c.db_created_at >= query.since)
    if query.until is not None:
        wanted.append(tweets.c.db_created_at < query.until)
    statement = select(tweets).where(*wanted, tweets.c.id > query.after_id).order_by(tweets.c.id)
    return _page(conn, conn.execute(statement.limit(query.limit + 1)), wanted, query.limit)


def _page(conn: Connection, rows: Iterable[Row[Any]], wanted: Sequence[ColumnElement[bool]], limit: int) -> TweetPage:
    """From one row more than fits, which tells whether there are more."""
    found = [_stored(row) for row in rows]
    total = conn.execute(select(func.count()).select_from(tweets).where(*wanted)).scalar_one()
    return TweetPage(tweets=tuple(found[:limit]), total=total, has_more=len(found) > limit)


def _written(query: TweetQuery) -> list[ColumnElement[bool]]:
    wanted = []
    if query.author is not None:
        wanted.append(tweets.c.author == query.author.lower())
    if query.since is not None:
        wanted.append(tweets.c.created_at >= query.since)
    if query.until is not None:
        wanted.append(tweets.c.created_at < query.until)
    return wanted


def _let_no_other_save(conn: Connection) -> None:
    """Until this transaction ends. Ids are given out before others can see their rows: were two to save at once, a
    reader could see the higher ids, remember them as its cursor, and never look for the lower ones.
    """
    if conn.dialect.name == "postgresql":
        conn.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})


def _insert_what_can_be(conn: Connection, fresh: Sequence[Tweet], now: datetime) -> Sequence[Tweet]:
    """All at once; where that fails one by one, so that only the culprit is left out."""
    if not fresh or _inserted(conn, fresh, now):
        return fresh
    return [tweet for tweet in fresh if _inserted(conn, [tweet], now)]


def _inserted(conn: Connection, some: Sequence[Tweet], now: datetime) -> bool:
    try:
        with conn.begin_nested():
            _insert(conn, [_row(tweet) for tweet in some], db_created_at=now, db_updated_at=now)
    except _UNSTORABLE:
        return False
    return True


def _row(tweet: Tweet) -> tuple[Any, ...]:
    return (*tweet, tweet.author_username.lower())


def _stored(row: Row[Any]) -> StoredTweet:
    values = row._asdict()
    tweet = Tweet(**{name: values[name] for name in Tweet._fields})
    return StoredTweet(
        tweet=tweet._replace(
            reference_type=ReferenceType(row.reference_type) if row.reference_type else None,
            media=tuple(row.media),
            referenced_tweet_media=tuple(row.referenced_tweet_media),
            urls=tuple(row.urls),
            hashtags=tuple(row.hashtags),
        ),
        id=row.id,
        db_created_at=row.db_created_at,
        db_updated_at=row.db_updated_at,
    )


_KNOWN = select(tweets.c.tweet_id).where(tweets.c.tweet_id.in_(bindparam("ids", expanding=True)))
_insert = BulkInsert(tweets, varying=[*Tweet._fields, "author"], same=["db_created_at", "db_updated_at"])
