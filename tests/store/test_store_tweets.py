"""Tweets, statistics, spending and follows in both stores."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from catchment.domain.tweet import FetchStats, ReferenceType, Tweet
from catchment.store import spending, tweets
from catchment.store.database import Store, migration_engine, open_store
from catchment.store.migrate import migrate, migrate_url
from catchment.store.spending import Caps, Period, Spent
from catchment.store.tweets import FeedQuery, SaveResult, TweetQuery
from examples import at_most

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def tweet(number: int, **values) -> Tweet:
    defaults = {
        "tweet_id": str(number),
        "text": f"Tweet {number}",
        "created_at": NOW - MINUTE * number,
        "author_username": "Ada",
    }
    return Tweet(**{**defaults, **values})


async def save(store: Store, *found: Tweet, now: datetime = NOW) -> SaveResult:
    return await store.write(tweets.save_tweets, found, now=now)


@pytest.mark.proves("D-16", "D-20")
async def test_a_tweet_comes_back_as_it_was_stored(store):
    media = ({"media_key": "1", "type": "photo", "url": "u", "width": 3},)
    whole = tweet(
        1,
        text="<b>& 你好</b> 👋",
        author_display_name="Ada L.",
        referenced_tweet_id="9",
        reference_type=ReferenceType.QUOTED,
        media=media,
        referenced_tweet_text="what was quoted",
        referenced_tweet_media=media,
        referenced_tweet_author_username="Bob",
        urls=("https://example.org/",),
    )
    await save(store, whole)
    found = await store.read(tweets.get_tweet, "1")
    assert (found.tweet, found.db_created_at, found.db_updated_at) == (whole, NOW, NOW)
    assert await store.read(tweets.get_tweet, "2") is None


@pytest.mark.proves("D-16")
async def test_the_indexes_that_reading_leans_on_are_there(store):
    found = await store.read(lambda conn: {one["name"]: one for one in inspect(conn).get_indexes("tweets")})
    assert found["ix_tweets_tweet_id"]["unique"]
    assert found["ix_tweets_author_created_at"]["column_names"] == ["author", "created_at"]
    assert found["ix_tweets_db_created_at"]["column_names"] == ["db_created_at"]


@pytest.mark.proves("D-04")
async def test_saving_skips_what_is_there_and_counts_everything_once(store):
    first = await save(store, tweet(2), tweet(1), tweet(2, text="again"))
    assert (set(first.new_ids), first.skipped, first.errors) == ({"1", "2"}, 1, 0)
    second = await save(store, tweet(3), tweet(2, text="edited"), now=NOW + MINUTE)
    assert (second.new_ids, second.success, second.skipped) == (("3",), 1, 1)
    kept = await store.read(tweets.get_tweet, "2")
    assert (kept.tweet.text, kept.db_created_at) == ("Tweet 2", NOW)
    assert await store.read(tweets.known_ids, ["1", "2", "3", "4"]) == {"1", "2", "3"}
    assert await store.read(tweets.known_ids, ["1", "2", "3", "4"], by=NOW) == {"1", "2"}
    assert await save(store) == SaveResult()


@pytest.mark.proves("D-04")
async def test_a_tweet_that_cannot_be_stored_costs_no_other_its_place(store):
    bad = [tweet(10, text=None), tweet(11, text="half \ud800"), tweet(12, created_at=datetime(2026, 3, 1))]  # noqa: DTZ001
    result = await save(store, tweet(1), *bad, tweet(2), tweet(1))
    assert (set(result.new_ids), result.skipped, result.errors) == ({"1", "2"}, 1, 3)
    assert await store.read(tweets.known_ids, ["1", "2", "10", "11", "12"]) == {"1", "2"}


@pytest.mark.proves("D-04")
async def test_saving_is_one_transaction(store):
    def save_and_fail(conn):
        tweets.save_tweets(conn, [tweet(1), tweet(2, text=None)], now=NOW)
        raise RuntimeError("later in the same transaction")

    with pytest.raises(RuntimeError):
        await store.write(save_and_fail)
    assert not await store.read(tweets.known_ids, ["1"])


@pytest.mark.proves("D-04")
async def test_a_thousand_tweets_are_a_handful_of_statements(store):
    def counted(conn):
        sent = []
        event.listen(conn, "before_cursor_execute", lambda *given: sent.append(given[2]))
        result = tweets.save_tweets(conn, [tweet(number) for number in range(1000)], now=NOW)
        return result, len(sent)

    result, statements = await store.write(counted)
    assert result.success == 1000
    assert statements <= 16


@settings(max_examples=at_most(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(batches=st.lists(st.lists(st.integers(0, 12), max_size=10), max_size=6))
@pytest.mark.proves("D-04")
async def test_however_they_come_each_tweet_is_stored_once(sqlite_store, batches):
    before = await sqlite_store.read(tweets.list_tweets, TweetQuery())
    for batch in batches:
        result = await save(sqlite_store, *map(tweet, batch))
        assert result.success + result.skipped + result.errors == len(batch)
    after = await sqlite_store.read(tweets.list_tweets, TweetQuery())
    expected = {one.tweet.tweet_id for one in before.tweets} | {str(number) for batch in batches for number in batch}
    assert sorted(one.tweet.tweet_id for one in after.tweets) == sorted(expected)


@pytest.fixture
async def sqlite_store(sqlite_url):
    store = open_store(sqlite_url)
    await migrate(store)
    yield store
    await store.close()


@pytest.mark.proves("D-04")
async def test_tweets_are_found_by_author_in_any_case_newest_first(store):
    await save(store, tweet(3), tweet(1), tweet(2), tweet(4, author_username="Bob"))
    found = await store.read(tweets.get_tweets_by_author, "ADA", limit=2)
    assert [one.tweet.tweet_id for one in found] == ["1", "2"]
    assert found[0].tweet.author_username == "Ada"


@pytest.mark.proves("D-13")
async def test_pages_by_time_written_meet_each_tweet_once(store):
    await save(store, *(tweet(number, created_at=NOW - MINUTE * (number // 3)) for number in range(10)))
    query, seen = TweetQuery(limit=4), []
    while True:
        page = await store.read(tweets.list_tweets, query)
        seen += [one.tweet.tweet_id for one in page.tweets]
        assert page.total == 10
        if not page.has_more:
            break
        last = page.tweets[-1]
        query = TweetQuery(limit=4, after=(last.tweet.created_at, last.id))
    assert sorted(seen, key=int) == [str(number) for number in range(10)]
    assert [one.created_at for one in [await created(store, tweet_id) for tweet_id in seen]] == sorted(
        (NOW - MINUTE * (number // 3) for number in range(10)), reverse=True
    )


async def created(store: Store, tweet_id: str) -> Tweet:
    return (await store.read(tweets.get_tweet, tweet_id)).tweet


@pytest.mark.proves("D-13")
async def test_the_feed_goes_by_the_time_of_storing(store):
    await save(store, tweet(1), tweet(2))
    await save(store, tweet(3), now=NOW + MINUTE)
    page = await store.read(tweets.feed_page, FeedQuery(since=NOW + MINUTE, until=NOW + 2 * MINUTE, limit=10))
    assert [one.tweet.tweet_id for one in page.tweets] == ["3"]
    page = await store.read(tweets.feed_page, FeedQuery(since=NOW, until=NOW + MINUTE, limit=1))
    assert ([one.tweet.tweet_id for one in page.tweets], page.total, page.has_more) == (["2"], 2, True)


@pytest.mark.proves("D-13")
async def test_a_reader_with_a_cursor_misses_nothing_that_writers_store_meanwhile(store, store_url):
    """Writers on connections of their own, each with a clock of its own: some are late."""
    others = [open_store(store_url) for _ in range(3)]
    done = asyncio.Event()

    async def write(number: int, other: Store) -> None:
        for batch in range(15):
            found = [tweet(number * 1000 + batch * 10 + one) for one in range(5)]
            await save(other, *found, now=NOW - MINUTE * ((number * 7 + batch * 3) % 11))

    async def follow() -> list[str]:
        seen, after, last_look = [], 0, False
        while not last_look:
            last_look = done.is_set()
            query = FeedQuery(since=None, until=NOW + MINUTE, after_id=after, limit=7)
            while (page := await store.read(tweets.feed_page, query)).tweets:
                seen += [one.tweet.tweet_id for one in page.tweets]
                after = page.tweets[-1].id
                query = FeedQuery(since=None, until=NOW + MINUTE, after_id=after, limit=7)
        return seen

    async def write_all() -> None:
        await asyncio.gather(*(write(number, other) for number, other in enumerate(others)))
        done.set()

    seen, _ = await asyncio.gather(follow(), write_all())
    assert len(seen) == len(set(seen)) == 3 * 15 * 5
    for other in others:
        await other.close()


@pytest.mark.proves("D-13")
def test_who_saves_waits_for_whoever_saves_already(postgres_url):
    """Or a reader could see the later ids first, and never the earlier ones. SQLite has one writer anyway."""
    url = make_url(postgres_url)
    migrate_url(url)
    engine = migration_engine(url)
    with engine.begin() as first, engine.connect() as second:
        tweets.save_tweets(first, [tweet(1)], now=NOW)
        second.execute(text("SET LOCAL lock_timeout = '50ms'"))
        with pytest.raises(OperationalError, match="lock timeout"):
            tweets.save_tweets(second, [tweet(2)], now=NOW)
    engine.dispose()


@pytest.mark.proves("D-17")
async def test_statistics_are_kept_one_row_a_user(store):
    first = FetchStats(
        username="ada",
        last_fetch_at=NOW,
        last_fetched_count=100,
        last_new_count=25,
        total_fetches=1,
        avg_new_rate=0.25,
        consecutive_empty_fetches=0,
    )
    await store.write(spending.put_stats, first, now=NOW)
    assert await store.read(spending.get_stats, "ada") == first
    second = FetchStats(**{**{name: getattr(first, name) for name in first.__slots__}, "total_fetches": 2})
    await store.write(spending.put_stats, second, now=NOW + MINUTE)
    assert await store.read(spending.get_stats, "ada") == second
    assert await store.read(spending.get_stats, "bob") is None


async def test_pages_are_counted_by_day_up_to_the_caps(store):
    day, next_day, next_month = date(2026, 3, 30), date(2026, 3, 31), date(2026, 4, 1)
    caps = Caps(day=2, month=3)

    async def take(when: date) -> Period | None:
        return await store.write(spending.take_page, when, caps)

    assert [await take(day) for _ in range(3)] == [None, None, Period.DAY]
    assert [await take(next_day) for _ in range(2)] == [None, Period.MONTH]
    assert await take(next_month) is None
    assert await store.read(spending.spent, next_day) == Spent(day=1, month=3)
    assert await store.write(spending.take_page, next_day, Caps()) is None


async def test_of_many_takers_at_once_only_as_many_as_the_cap_get_a_page(store, store_url):
    others = [open_store(store_url) for _ in range(4)]
    asked = [other.write(spending.take_page, date(2026, 3, 1), Caps(day=5)) for other in others for _ in range(5)]
    refusals = await asyncio.gather(*asked)
    assert refusals.count(None) == 5
    for other in others:
        await other.close()
