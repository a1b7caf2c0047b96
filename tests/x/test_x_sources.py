"""X as sources of the engine: items and tweets in one transaction, shared among sources, capped in cost."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from bench import simulated_x as x
from bench.simulated_x import XProvider, timeline, tweet_id
from x_provider import KEY, START

from catchment.bootstrap import System
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.scrape_task import ScrapeOrder
from catchment.errors import BadConfig
from catchment.manage.resolve import Pasted
from catchment.redact import redact_text
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.world import World
from catchment.sources.x.fetchers import TwitterFeedFetcher, TwitterListFetcher
from catchment.store import alert_queries, spending, tweets
from catchment.store.spending import Period, Spent
from catchment.store.tweets import TweetQuery
from catchment.x import end_of
from collecting import add, collect, collect_one, get, stored
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

HALF_HOUR = timedelta(minutes=30)


@pytest.fixture
def provider() -> XProvider:
    ada = timeline("Ada", 25, at=START)
    return XProvider(key=KEY, users={"ada": ada, "bob": timeline("bob", 5, at=START)}, lists={"77": ada[:10]})


@asynccontextmanager
async def engine(open_test_system, clock: ManualClock, provider: XProvider, **settings) -> AsyncIterator[System]:
    world = World(seed=1, sites=1, started_at=START)
    async with SimulatedWeb(world, hosts=0, now=clock.now, places={"/twitter": provider}) as web:
        defaults = {
            "twitter_api_key": KEY,
            "twitter_base_url": web.url("/twitter"),
            "twitter_requests_per_second": 1000.0,
            "twitter_max_retries": 0,
        }
        async with open_test_system(**{**defaults, **settings}) as system:
            yield system


@pytest.fixture
async def system(open_test_system, clock, provider) -> AsyncIterator[System]:
    async with engine(open_test_system, clock, provider) as system:
        yield system


async def follow(system: System, handle: str = "@Ada", **values):
    config = values.pop("config", {"handle": handle})
    return await add(system, "", **{"type": "twitter_feed", "config": config, "name": handle, **values})


async def scrape_by_hand(system: System, **values) -> int:
    """How many tweets of Ada came that were new."""
    task = await system.scraping.scrape(ScrapeOrder(usernames=("ada",), **values))
    return task.report["new_tweets"]


async def at_its_next_check(system: System, clock: ManualClock, source) -> int:
    """How many items came when the source was due."""
    clock.advance((await get(system, source)).next_check.at - clock.now())
    [result] = await collect(system)
    assert result.error is None
    return result.inserted


async def tweets_stored(system: System) -> int:
    return (await system.store.read(tweets.list_tweets, TweetQuery(limit=1))).total


@pytest.mark.proves("A-31", "D-09", "D-16")
async def test_a_users_tweets_become_items_and_tweets(system):
    source = await follow(system)
    [result] = await collect(system)
    assert (result.inserted, result.error) == (25, None)
    found = {item.metadata["tweet_id"]: item for item in await stored(system)}
    one = found[tweet_id("Ada", 0)]
    assert one.url == f"https://x.com/Ada/status/{tweet_id('Ada', 0)}"
    assert (one.author, one.title) == ("Ada", "Note 0 of Ada: rain & <b>bold</b> claims over two lines")
    assert one.published_at == START - HALF_HOUR * 24
    assert found[tweet_id("Ada", 1)].metadata["urls"] == ["https://example.org/1"]
    assert await tweets_stored(system) == 25
    stats = await system.store.read(spending.get_stats, "ada")
    assert (stats.last_fetched_count, stats.last_new_count, stats.total_fetches) == (25, 25, 1)
    assert (await get(system, source)).fetch_error_count == 0


@pytest.mark.proves("D-20")
async def test_text_is_stored_as_it_came_and_escaped_where_it_is_html(system):
    await follow(system)
    await collect(system)
    kept = await system.store.read(tweets.get_tweet, tweet_id("Ada", 0))
    assert kept.tweet.text == "Note 0 of Ada: rain & <b>bold</b> claims over two lines"
    [item] = [one for one in await stored(system) if one.metadata["tweet_id"] == tweet_id("Ada", 0)]
    assert item.content == "Note 0 of Ada: rain &amp; &lt;b&gt;bold&lt;/b&gt; claims over two lines"


@pytest.mark.proves("D-09", "D-20")
async def test_an_item_says_what_its_author_wrote_where_x_escaped_it(open_test_system, clock):
    sent = "Q&amp;A: is 1 &lt; 2, and what is &amp;lt;?"
    ada = [{**one, "text": sent} for one in timeline("ada", 1, at=START)]
    async with engine(open_test_system, clock, XProvider(key=KEY, users={"ada": ada})) as system:
        await follow(system, config={"handle": "@ada", "keywords": ["q&a"]})
        await collect(system)
        [item] = await stored(system)
        kept = await system.store.read(tweets.get_tweet, ada[0]["id"])
    assert item.title == "Q&A: is 1 < 2, and what is &lt;?"
    assert item.content == "Q&amp;A: is 1 &lt; 2, and what is &amp;lt;?"
    assert kept.tweet.text == sent, "the row is not as it came"


PASTED = Pasted(text="@gil")


@pytest.fixture
def long_provider() -> XProvider:
    gil = timeline("gil", 90, at=START)
    return XProvider(key=KEY, users={"gil": gil}, lists={"9": gil})


async def spent(system: System) -> int:
    return (await system.store.read(spending.spent, system.clock.now().date())).day


@on_both_stores
@pytest.mark.proves("R-30")
# Nobody says whose some tweets of a list are.
@pytest.mark.parametrize(("text", "count"), [("@gil", 90), ("https://x.com/i/lists/9", 81)])
async def test_a_preview_is_one_page_that_is_not_paid_for_again(open_test_system, clock, long_provider, text, count):
    async with engine(open_test_system, clock, long_provider) as system:
        resolved = await system.resolver.resolve(Pasted(text=text), OPERATOR)
        again = await system.resolver.resolve(Pasted(text=text), OPERATOR)
        assert (len(resolved.preview), again) == (5, resolved)
        assert (len(long_provider.requests), await spent(system)) == (1, 1)
    async with engine(open_test_system, clock, long_provider) as system:
        await follow(system, type=resolved.type, config=resolved.config)
        await collect(system)
        assert len(await stored(system)) == count
        assert (len(long_provider.requests), await spent(system)) == (5, 5), "five pages in all"


@on_both_stores
@pytest.mark.proves("R-30")
async def test_a_preview_may_hold_what_no_store_takes_as_it_is(open_test_system, clock, long_provider):
    long_provider.users["gil"][0]["text"] = "half a pair \ud800 and a \0"
    async with engine(open_test_system, clock, long_provider) as system:
        resolved = await system.resolver.resolve(PASTED, OPERATOR)
        assert (resolved.doubt, len(resolved.preview)) == (None, 5)
        assert await system.resolver.resolve(PASTED, OPERATOR) == resolved


@pytest.mark.proves("R-30")
async def test_a_preview_that_is_old_is_not_taken_for_what_is_there_now(open_test_system, clock, long_provider):
    async with engine(open_test_system, clock, long_provider) as system:
        resolved = await system.resolver.resolve(PASTED, OPERATOR)
        clock.advance(timedelta(hours=2))
        await follow(system, config=resolved.config)
        await collect(system)
        assert len(long_provider.requests) == 1 + 5


@pytest.mark.proves("R-30")
async def test_a_later_visit_looks_for_itself(open_test_system, clock, long_provider):
    async with engine(open_test_system, clock, long_provider) as system:
        await follow(system, "@gil")
        await collect(system)
        await system.resolver.resolve(Pasted(text="@gil", config={"keywords": ["rain"]}), OPERATOR)
        clock.advance(HALF_HOUR)
        before = len(long_provider.requests)
        await collect(system)
        assert len(long_provider.requests) > before


@pytest.mark.proves("D-09")
async def test_a_tweet_is_one_row_and_an_item_of_every_source_that_lists_it(system, clock):
    await follow(system)
    await add(system, "", type="twitter_list", config={"list_url": "https://x.com/i/lists/77"}, name="List")
    results = {result.name: result for result in await collect(system)}
    assert (results["@Ada"].inserted, results["List"].inserted) == (25, 9)
    assert await tweets_stored(system) == 25
    assert len(await stored(system)) == 34
    assert (await system.store.read(spending.get_stats, "list:77")).last_fetched_count == 9


@pytest.mark.proves("D-09")
async def test_a_user_scraped_less_than_the_interval_ago_is_not_fetched_twice(system, clock, provider):
    await follow(system)
    await collect(system)
    asked = len(provider.requests)
    clock.advance(timedelta(minutes=10))
    other = await follow(system, config={"handle": "ada", "keywords": ["NOTE 1"]})
    [result] = await collect(system)
    assert (result.source_id, result.inserted) == (other.id, 6)
    assert len(provider.requests) == asked
    clock.advance(timedelta(minutes=20))
    await collect(system)
    assert len(provider.requests) > asked


@pytest.mark.proves("D-09")
async def test_a_source_that_is_due_before_its_interval_is_over_looks_for_itself(system, clock, provider):
    source = await follow(system)
    await collect(system)
    provider.users["ada"] = timeline("Ada", 425, at=START)
    await at_its_next_check(system, clock, source)
    for count in (430, 435, 440):
        assert (await get(system, source)).next_check.at - clock.now() < HALF_HOUR, "after a gap it is visited sooner"
        provider.users["ada"] = timeline("Ada", count, at=START)
        asked = len(provider.requests)
        assert await at_its_next_check(system, clock, source) >= 5
        assert len(provider.requests) > asked


@on_both_stores
@pytest.mark.proves("D-06", "D-09")
async def test_a_scrape_of_some_time_alone_says_nothing_about_the_timeline(system, clock, provider):
    source = await follow(system)
    await collect(system)
    before = await system.store.read(spending.get_stats, "ada")
    clock.advance(timedelta(minutes=29))
    provider.users["ada"] = timeline("Ada", 40, at=START)
    assert await scrape_by_hand(system, limit=100, until=START - timedelta(days=2000)) == 0
    assert await system.store.read(spending.get_stats, "ada") == before
    assert await system.store.read(alert_queries.last_read_of_x) == clock.now(), "but that the key is good"
    assert await at_its_next_check(system, clock, source) == 15


@on_both_stores
@pytest.mark.parametrize("by_hand", [[{"limit": 20}], [{"limit": 20}, {"limit": 20}], [{"limit": 7}, {"limit": 30}]])
@pytest.mark.proves("D-06", "D-09")
async def test_what_a_scrape_by_hand_left_below_its_limit_is_not_lost(system, clock, provider, by_hand):
    source = await follow(system)
    await collect(system)
    provider.users["ada"] = timeline("Ada", 85, at=START)
    for options in by_hand:
        clock.advance(timedelta(minutes=5))
        await scrape_by_hand(system, **options)
    assert [await at_its_next_check(system, clock, source) for _ in range(2)] == [60, 0]
    assert (len(await stored(system)), await tweets_stored(system)) == (85, 85)
    asked = len(provider.requests)
    await at_its_next_check(system, clock, source)
    assert len(provider.requests) == asked + 1, "where nothing is missing, one page tells so"


@pytest.mark.proves("D-06", "D-09")
async def test_a_page_that_a_scrape_by_hand_gave_back_in_part_is_read_again(system, clock, provider):
    source = await follow(system)
    await collect(system)
    provider.users["ada"] = timeline("Ada", 35, at=START)
    clock.advance(timedelta(minutes=5))
    assert await scrape_by_hand(system, limit=7) == 7
    assert await at_its_next_check(system, clock, source) == 10
    assert await tweets_stored(system) == 35


@on_both_stores
@pytest.mark.proves("D-06", "D-09")
async def test_after_a_visit_that_was_all_new_each_goes_twice_as_deep_until_nothing_is_missing(system, clock, provider):
    source = await follow(system)
    await collect(system)
    for _ in range(3):
        await at_its_next_check(system, clock, source)
    provider.users["ada"] = timeline("Ada", 25 + 130, at=START)
    brought = [await at_its_next_check(system, clock, source) for _ in range(5)]
    assert brought == [20, 20, 40, 50, 0]
    stats = await system.store.read(spending.get_stats, "ada")
    assert (stats.last_fetch_at, stats.last_fetched_count) == (clock.now(), 20)


@on_both_stores
@pytest.mark.proves("D-06", "D-09")
async def test_what_lies_deeper_than_the_highest_limit_is_given_up(open_test_system, clock, provider):
    async with engine(open_test_system, clock, provider, scraper_max_limit=100) as system:
        source = await follow(system)
        await collect(system)
        provider.users["ada"] = timeline("Ada", 425, at=START)
        brought = [await at_its_next_check(system, clock, source) for _ in range(4)]
        assert sum(brought) == 100
        asked = len(provider.requests)
        assert await at_its_next_check(system, clock, source) == 0
        assert len(provider.requests) == asked + 1


@on_both_stores
@pytest.mark.proves("D-09")
async def test_tweets_that_came_by_another_timeline_do_not_keep_a_list_from_reading_on(system, clock, provider):
    await follow(system)
    listing = await add(system, "", type="twitter_list", config={"list_url": "77"}, name="List")
    await collect(system)
    clock.advance(HALF_HOUR)
    provider.users["ada"] = timeline("Ada", 45, at=START)
    provider.lists["77"] = [*provider.users["ada"][:20], *timeline("bob", 20, at=START), *provider.lists["77"]]
    assert await scrape_by_hand(system) == 20
    for _ in range(3):
        await collect_one(system, listing.id)
    # Two of the twenty do not say whose they are.
    assert len([item for item in await stored(system) if item.author == "Bob"]) == 18


@pytest.mark.proves("D-09")
async def test_keywords_choose_items_but_every_tweet_that_was_paid_for_is_kept(system):
    await follow(system, config={"handle": "ada", "keywords": ["ORIGINAL says"]})
    [result] = await collect(system)
    assert result.inserted == 3
    assert await tweets_stored(system) == 25


@pytest.mark.proves("D-04")
async def test_items_and_tweets_are_stored_together_or_not_at_all(system, monkeypatch):
    await follow(system)

    def fail(*_args, **_more):
        raise ValueError("the disk says no")

    monkeypatch.setattr("catchment.store.spending.put_stats", fail)
    [result] = await collect(system)
    assert "the disk says no" in result.error
    assert (await stored(system), await tweets_stored(system)) == ([], 0)


@pytest.mark.proves("D-01")
async def test_spending_is_counted_and_at_the_cap_sources_wait_for_the_next_day(open_test_system, clock, provider, log):
    async with engine(open_test_system, clock, provider, twitter_daily_pages=2) as system:
        await follow(system)
        await collect(system)
        bob = await follow(system, "bob")
        [result] = await collect(system)
        assert "TWITTER_DAILY_PAGES" in result.error
        assert any("TWITTER_DAILY_PAGES" in line for line in log)
        assert (await get(system, bob)).next_check.at == START.replace(hour=0) + timedelta(days=1)
        assert await system.store.read(spending.spent, START.date()) == Spent(day=2, month=2)
        assert len(provider.requests) == 2
        clock.advance(timedelta(days=1))
        assert [one.error for one in await collect(system)] == [None, None]


@pytest.mark.parametrize(
    ("period", "now", "end"),
    [
        (Period.DAY, datetime(2026, 12, 31, 23, 59, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        (Period.MONTH, datetime(2026, 12, 31, 23, 59, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)),
        (Period.MONTH, datetime(2026, 2, 1, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_a_cap_holds_to_the_end_of_its_period(period, now, end):
    assert end_of(period, now) == end


async def test_what_came_before_the_cap_is_kept_and_the_rest_is_warned_of(open_test_system, clock, provider, log):
    async with engine(open_test_system, clock, provider, twitter_daily_pages=1) as system:
        await follow(system)
        [result] = await collect(system)
        assert (result.inserted, result.error) == (20, None)
        assert any("broken off after 20 tweets" in line for line in log)
        # It says nothing about how much there is, so the next visit is not held back by it.
        assert await system.store.read(spending.get_stats, "ada") is None


@on_both_stores
@pytest.mark.proves("D-09")
async def test_what_lies_below_where_a_visit_broke_off_comes_with_the_next(open_test_system, clock, provider):
    async with engine(open_test_system, clock, provider, twitter_daily_pages=4) as system:
        source = await follow(system)
        await collect(system)
        provider.users["ada"] = timeline("Ada", 25 + 50, at=START)
        assert await at_its_next_check(system, clock, source) == 40
        clock.advance(timedelta(days=1))
        [result] = await collect(system)
        assert (result.inserted, await tweets_stored(system)) == (10, 75)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (x.out_of_credit(), "out of credit"),
        (x.user_not_found(), "User not found"),
        (x.too_fast(), "fewer requests"),
        (x.broken(), "in trouble (HTTP 502)"),
    ],
)
@pytest.mark.proves("D-01")
async def test_what_the_provider_refuses_fails_that_source_alone(system, provider, answer, words, log):
    bad, _good = await follow(system), await follow(system, "bob")
    provider.fail("ada", answer)
    results = {result.source_id: result for result in await collect(system)}
    assert words in results.pop(bad.id).error
    assert [result.error for result in results.values()] == [None]
    assert KEY not in "".join(log)


@pytest.mark.proves("A-31")
async def test_without_a_key_such_sources_are_skipped_and_warned_of_once(open_test_system, clock, provider, log):
    async with engine(open_test_system, clock, provider, twitter_api_key="") as system:
        source = await follow(system)
        assert (
            await collect_one(system, source.id)
        ).skipped == "no fetcher for type 'twitter_feed': set TWITTER_API_KEY"
        await collect_one(system, source.id)
    warned = [line for line in log if "no fetcher for type 'twitter_feed': set TWITTER_API_KEY" in line]
    assert [redact_text(line).endswith("TWITTER_API_KEY; such sources are skipped until then") for line in warned] == [
        True
    ]
    assert provider.requests == []


async def test_a_bad_tweet_is_logged_with_its_source(system, provider, log):
    provider.users["bob"].append({"id": "13", "text": "no date", "author": {"userName": "bob"}})
    source = await follow(system, "bob")
    await collect(system)
    assert any(f"source {source.id}" in line and "tweet 13 lacks created_at" in line for line in log)


@pytest.mark.parametrize("handle", ["", "a b", "x" * 16, ",".join(["@a"] * 600), 7, None])
def test_a_handle_that_can_be_nobody_is_refused(handle):
    with pytest.raises(BadConfig):
        TwitterFeedFetcher(None, None).identity({"handle": handle})


def test_sources_of_one_handle_are_one_unless_their_keywords_differ():
    identity = TwitterFeedFetcher(None, None).identity
    assert identity({"handle": "@Ada"}) == identity({"handle": "ada", "keywords": []})
    assert identity({"handle": "ada", "keywords": ["B", "a"]}) == identity({"handle": "ada", "keywords": ["A", "b"]})
    assert identity({"handle": "ada"}) != identity({"handle": "ada", "keywords": ["a"]})


@pytest.mark.parametrize("url", ["https://x.com/i/lists/77", "https://twitter.com/i/lists/77?s=20", "77"])
def test_a_list_is_known_by_its_number(url):
    assert TwitterListFetcher(None, path="list/tweets").identity({"list_url": url}) == "77"


@pytest.mark.parametrize("url", ["", "https://x.com/ada", "https://evil.example/i/lists/77", "seven"])
def test_what_is_no_list_is_refused(url):
    with pytest.raises(BadConfig):
        TwitterListFetcher(None, path="list/tweets").identity({"list_url": url})


@pytest.mark.parametrize(
    "pasted", ["@Ada_1", "https://x.com/Ada_1", "twitter.com/Ada_1/", "https://www.x.com/Ada_1?s=20"]
)
def test_a_pasted_user_is_recognised(pasted):
    found = TwitterFeedFetcher(None, None).recognise(pasted)
    assert (found.type, found.config) == ("twitter_feed", {"handle": "@Ada_1"})


def test_other_things_are_not_taken_for_users_or_lists():
    user, of_list = TwitterFeedFetcher(None, None), TwitterListFetcher(None, path="list/tweets")
    for pasted in ("ada", "https://x.com/home", "https://example.org/@ada", "77", ""):
        assert (user.recognise(pasted), of_list.recognise(pasted)) == (None, None)
    assert of_list.recognise("https://x.com/i/lists/77").config == {"list_url": "https://x.com/i/lists/77"}
