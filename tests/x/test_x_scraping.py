"""One look at a timeline, from the limit to the tweets."""

from __future__ import annotations

from datetime import timedelta

import pytest
from bench import simulated_x as x
from bench.simulated_x import XProvider, timeline, tweet, tweet_id
from x_provider import KEY, START, Bench, working

from catchment.domain.tweet import FetchStats, Reach, Scrape
from catchment.sources.x.client import XError, user_timeline
from catchment.sources.x.scrape import LimitRules, Scraper, Window

ADA = user_timeline("ada")


def provider(count: int = 100, **options) -> XProvider:
    return XProvider(key=KEY, users={"ada": timeline("ada", count, at=START)}, **options)


async def scrape(bench: Bench, *, early_stop: int = 5, **options) -> Scrape:
    scraper = Scraper(client=bench.client, history=bench.spending, rules=LimitRules(), early_stop=early_stop)
    return await scraper.scrape(bench.http, ADA, **options)


def stats(fetched: int = 100, new: int = 0, *, empty: int = 1) -> FetchStats:
    """As they are, it is the default that is asked for: 100."""
    return FetchStats(
        username="ada",
        last_fetch_at=START,
        last_fetched_count=fetched,
        last_new_count=new,
        total_fetches=4,
        avg_new_rate=0.2,
        consecutive_empty_fetches=empty,
    )


@pytest.mark.proves("D-06")
async def test_statistics_decide_how_many_pages_are_paid_for():
    async with working(provider()) as bench:
        assert len((await scrape(bench)).tweets) == 100
        assert bench.spending.pages == 5
        bench.spending.stats_of = stats(empty=3)
        # Ten would do, but a page is paid for as a whole, so it is kept as a whole.
        assert len((await scrape(bench)).tweets) == 20
        assert bench.spending.pages == 6


async def test_whoever_asks_for_fewer_gets_no_more():
    async with working(provider()) as bench:
        found = await scrape(bench, most=50)
    assert [one.tweet_id for one in found.tweets] == [tweet_id("ada", number) for number in range(99, 49, -1)]
    assert bench.spending.pages == 3


async def test_where_a_page_runs_into_what_is_known_paging_ends_but_nothing_new_is_lost():
    async with working(provider()) as bench:
        bench.spending.stats_of = stats()
        bench.spending.known_ids = {tweet_id("ada", number) for number in range(85, 91)}
        found = await scrape(bench)
        assert bench.spending.pages == 1
        assert len(found.tweets) == 20
        assert tweet_id("ada", 80) in {one.tweet_id for one in found.tweets}
        await scrape(bench, early_stop=0)
        assert bench.spending.pages == 1 + 5


async def test_a_pinned_tweet_is_no_sign_that_the_rest_is_known():
    pinned = tweet("ada", 3, START - timedelta(days=400))
    async with working(provider(40, pinned={"ada": pinned})) as bench:
        bench.spending.stats_of = stats()
        bench.spending.known_ids = {tweet_id("ada", 3)}
        found = await scrape(bench, early_stop=1, window=Window(since=START - timedelta(days=300)))
    assert bench.spending.pages == 2
    assert len(found.tweets) == 39


async def test_only_tweets_of_the_time_asked_for_are_given_and_older_pages_not_paid_for():
    window = Window(since=START - timedelta(minutes=30 * 25), until=START - timedelta(minutes=30))
    async with working(provider()) as bench:
        found = await scrape(bench, window=window)
    assert bench.spending.pages == 2
    assert [one.tweet_id for one in found.tweets] == [tweet_id("ada", number) for number in range(97, 73, -1)]


@pytest.mark.parametrize(
    ("before", "known", "options", "reach"),
    [
        (None, (), {}, Reach.END),
        (None, (), {"most": 20}, Reach.END),
        (None, (), {"most": 4}, Reach.PART),
        (stats(), (), {}, Reach.LIMIT),
        (stats(), (), {"early_stop": 0}, Reach.LIMIT),
        (stats(), (), {"most": 20}, Reach.PART),
        (stats(), (399,), {"early_stop": 0}, Reach.END),
        (stats(), (385, 386, 387, 388, 389), {}, Reach.END),
        (stats(), (385, 386, 387, 388, 389), {"most": 20}, Reach.END),
        # Of the page that meets what is known, the rest is left out.
        (stats(), (385, 386, 387, 388, 389), {"most": 7}, Reach.PART),
        (stats(200, 200), (), {}, Reach.END),
        (stats(200, 200), (), {"most": 100}, Reach.PART),
        (stats(), (385, 386, 387, 388, 389), {"window": Window(until=START)}, Reach.PART),
    ],
)
@pytest.mark.proves("D-06")
async def test_a_look_says_how_far_down_it_came(before, known, options, reach):
    async with working(provider(400)) as bench:
        bench.spending.stats_of = before
        bench.spending.known_ids = {tweet_id("ada", number) for number in known}
        assert (await scrape(bench, **options)).reach is reach


@pytest.mark.parametrize("count", [90, 100])
async def test_where_the_timeline_ends_there_is_nothing_below(count):
    async with working(provider(count)) as bench:
        bench.spending.stats_of = stats()
        assert (await scrape(bench)).reach is Reach.END


@pytest.mark.proves("D-02", "R-30")
async def test_what_cannot_be_used_is_told_and_counted():
    source = provider(3)
    source.users["ada"] += ["junk", {"id": "1", "text": "no date", "author": {"userName": "ada"}}]
    async with working(source) as bench:
        found = await scrape(bench)
    assert (len(found.tweets), found.unusable) == (3, 2)
    assert found.warnings == ("an entry is not a tweet but str", "tweet 1 lacks created_at")


async def test_what_came_before_a_failure_is_kept():
    source = provider()
    async with working(source, max_retries=0) as bench:
        bench.spending.cap = 2
        found = await scrape(bench)
    assert len(found.tweets) == 40
    assert (found.broken_off, found.reach) == ("the cap is reached", Reach.PART)


@pytest.mark.proves("D-01")
async def test_a_failure_at_the_first_page_is_raised():
    source = provider()
    source.fail("ada", x.user_not_found())
    async with working(source) as bench:
        with pytest.raises(XError, match="User not found"):
            await scrape(bench)


@pytest.mark.proves("D-01")
async def test_a_user_whom_nobody_knows_may_be_an_empty_success():
    async with working(XProvider(key=KEY, users={})) as bench:
        assert await scrape(bench) == Scrape(subject="ada")
