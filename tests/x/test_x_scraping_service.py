"""Scrape tasks: users side by side, in one process or several, and whatever may end them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from aiohttp import web
from bench import simulated_x as x
from bench.simulated_x import tweet, tweet_id

from catchment.bootstrap import System
from catchment.cli.up import follow_environment
from catchment.domain.outbox import Topic
from catchment.domain.run import SCRAPER_JOB
from catchment.domain.scrape_task import ScrapeOrder, ScrapeTask, TaskStatus
from catchment.domain.tweet import Depth
from catchment.engine.leases import recover
from catchment.errors import Conflict, InvalidInput, NotFound, StoreError, TooManyAttempts
from catchment.jobs.builtin import ALERTS, CLEANUP, OUTBOX
from catchment.manage.webhooks import SUMMARIZATION, NewWebhook
from catchment.store import alerts, jobs, spending, tweets
from catchment.store.tweets import TweetQuery
from catchment.web.metrics import Metrics, read_numbers
from collecting import add, collect
from eventually import eventually
from feed_site import FeedSite
from stores import on_both_stores, on_sqlite_alone
from x_site import KEY, START, XSite

pytestmark = on_sqlite_alone

REPORT = {
    "total_users",
    "successful_users",
    "failed_users",
    "total_tweets",
    "new_tweets",
    "skipped_tweets",
    "total_errors",
    "elapsed_seconds",
}
LONG_ENOUGH = timedelta(seconds=61)


@pytest.fixture
async def site() -> AsyncIterator[XSite]:
    async with XSite(ada=25, bob=5, cy=3, dora=2, eve=1) as site:
        yield site
        site.release()


@pytest.fixture
async def system(open_test_system, site) -> AsyncIterator[System]:
    async with open_test_system(**site.settings()) as system:
        yield system


@pytest.fixture
async def other(open_test_system, site, system) -> AsyncIterator[System]:
    """A second process on the same store, as far as the store can tell."""
    async with open_test_system(**site.settings()) as other:
        yield other


def order(*usernames: str, **more) -> ScrapeOrder:
    return ScrapeOrder(usernames=usernames, asked_by="test", **more)


async def tweets_stored(system: System) -> int:
    return (await system.store.read(tweets.list_tweets, TweetQuery(limit=1))).total


async def is_over(system: System, task_id: str) -> ScrapeTask:
    async def over() -> ScrapeTask | None:
        task = await system.scraping.get(task_id)
        return None if task.status is TaskStatus.RUNNING else task

    return await eventually(over)


async def is_known(system: System, task_id: str, done: int) -> ScrapeTask:
    """The task once so many of its users are done."""

    async def known() -> ScrapeTask | None:
        task = await system.scraping.get(task_id)
        return task if len(task.outcomes) >= done else None

    return await eventually(known)


def by_user(task: ScrapeTask) -> dict[str, tuple[bool, int, int]]:
    return {one.username: (one.success, one.fetched, one.new) for one in task.outcomes}


@pytest.mark.proves("D-05")
async def test_the_report_tells_what_came_of_everybody(system, clock):
    await system.scraping.scrape(order("bob"))
    task = await system.scraping.scrape(order("ada", "bob"))
    assert task.status is TaskStatus.COMPLETED
    assert set(task.report) == REPORT
    assert task.report == {
        "total_users": 2,
        "successful_users": 2,
        "failed_users": 0,
        "total_tweets": 30,
        "new_tweets": 25,
        "skipped_tweets": 5,
        "total_errors": 0,
        "elapsed_seconds": 0,
    }
    assert by_user(task) == {"ada": (True, 25, 25), "bob": (True, 5, 0)}
    assert task.progress == {"current": 2, "total": 2, "percentage": 100}
    assert await tweets_stored(system) == 30


@pytest.fixture
async def deep(open_test_system) -> AsyncIterator[tuple[XSite, System]]:
    """A user of 120 tweets."""
    async with XSite(gil=120) as site, open_test_system(**site.settings()) as system:
        yield site, system


@pytest.mark.proves("R-28")
async def test_an_explicit_limit_reads_that_far_also_below_what_is_known(deep):
    site, system = deep
    first = await system.scraping.scrape(order("gil", limit=30, depth=Depth.LIMIT))
    assert by_user(first) == {"gil": (True, 30, 30)}
    rest = await system.scraping.scrape(order("gil", limit=1000, depth=Depth.LIMIT))
    assert by_user(rest) == {"gil": (True, 120, 90)}
    assert len(site.requests) == 2 + 6


@on_both_stores
@pytest.mark.proves("R-28")
async def test_a_full_scrape_reads_to_the_end_of_the_timeline(deep):
    _, system = deep
    await system.scraping.scrape(order("gil", limit=30, depth=Depth.LIMIT))
    assert by_user(await system.scraping.scrape(order("gil", depth=Depth.FULL))) == {"gil": (True, 120, 90)}


@on_both_stores
@pytest.mark.proves("R-28")
async def test_reading_below_what_is_known_leaves_the_statistics_of_the_news_as_they_are(deep):
    _, system = deep
    await system.scraping.scrape(order("gil"))
    before = await system.store.read(spending.get_stats, "gil")
    await system.scraping.scrape(order("gil", depth=Depth.FULL))
    assert await system.store.read(spending.get_stats, "gil") == before


@pytest.mark.proves("R-28")
@pytest.mark.parametrize("how", [{"depth": Depth.FULL}, {"depth": Depth.LIMIT, "limit": 1000}])
async def test_reading_deep_stays_within_what_may_be_spent(open_test_system, how):
    async with XSite(gil=120) as site, open_test_system(**site.settings(twitter_daily_pages=4)) as system:
        await system.scraping.scrape(order("gil", limit=30, depth=Depth.LIMIT))
        task = await system.scraping.scrape(order("gil", **how))
        assert len(site.requests) == 4
        assert by_user(task) == {"gil": (False, 40, 10)}
        assert "TWITTER_DAILY_PAGES" in task.outcomes[0].error_message


@on_both_stores
@pytest.mark.proves("D-05")
@pytest.mark.parametrize("at_once", [1, 3])
async def test_users_are_scraped_side_by_side_but_never_more_than_allowed(open_test_system, site, at_once):
    async with open_test_system(**site.settings(scraper_concurrency=at_once)) as system:
        site.hold()
        task = await system.scraping.start(order("ada", "bob", "cy", "dora", "eve"))
        for _ in range(at_once):
            await asyncio.wait_for(site.arrived.acquire(), 10)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(site.arrived.acquire(), 0.5)
        site.release()
        assert (await is_over(system, task.task_id)).report["successful_users"] == 5
    assert site.most_in_flight == at_once


@pytest.mark.proves("D-05")
async def test_progress_is_seen_while_the_task_runs_by_any_process(system, other, site):
    site.hold("ada")
    task = await system.scraping.start(order("ada", "bob", "cy"))
    seen = await is_known(other, task.task_id, 2)
    assert seen.status is TaskStatus.RUNNING
    assert seen.progress == {"current": 2, "total": 3, "percentage": 66.67}
    assert (seen.report, seen.result, seen.completed_at) == (None, None, None)
    assert await tweets_stored(other) == 8, "what came is stored as it comes"
    site.release()
    assert (await is_over(other, task.task_id)).progress["percentage"] == 100


@pytest.mark.proves("D-05")
async def test_one_users_failure_is_nobody_elses(system, site, log):
    site.provider.fail("ada", x.user_not_found())
    site.provider.fail("cy", x.out_of_credit())
    site.provider.fail("dora", x.too_fast())
    task = await system.scraping.scrape(order("ada", "bob", "cy", "dora", "eve"))
    assert (task.status, task.error) == (TaskStatus.COMPLETED, None)
    said = {one.username: one.error_message for one in task.outcomes}
    assert "User not found" in said.pop("ada")
    assert "out of credit" in said.pop("cy")
    assert "fewer requests" in said.pop("dora")
    assert said == {"bob": None, "eve": None}
    assert (task.report["successful_users"], task.report["failed_users"], task.report["total_errors"]) == (2, 3, 3)
    assert KEY not in "".join(log)
    assert not [line for line in log if "UserOutcome" in line], "people read it"


@pytest.mark.proves("D-05", "D-19")
async def test_even_a_mistake_of_ours_is_one_users_alone_and_logged_with_its_stack(system, site, log, monkeypatch):
    from catchment.sources.x import scrape

    def parse(body, *, author):
        if author == "ada":
            raise KeyError("a shape that nobody thought of")
        return parsed(body, author=author)

    parsed = scrape.parse_page
    monkeypatch.setattr(scrape, "parse_page", parse)
    task = await system.scraping.scrape(order("ada", "bob"))
    assert by_user(task) == {"ada": (False, 0, 0), "bob": (True, 5, 5)}
    [line] = [line for line in log if line.startswith("ERROR")]
    assert task.task_id in line
    assert "@ada" in line
    assert "Traceback" in line


@pytest.mark.proves("D-05")
async def test_somebody_who_never_wrote_is_a_success(system):
    task = await system.scraping.scrape(order("nobody"))
    assert by_user(task) == {"nobody": (True, 0, 0)}
    assert task.outcomes[0].error_message is None


@pytest.mark.proves("D-05")
async def test_nobody_at_all_is_completed_with_zeros(system):
    task = await system.scraping.scrape(order())
    assert task.status is TaskStatus.COMPLETED
    assert set(task.report.values()) == {0}
    assert task.progress == {"current": 0, "total": 0, "percentage": 0}


@pytest.mark.proves("D-02")
async def test_a_bad_tweet_is_counted_and_told_with_its_task(system, site, log):
    site.provider.users["bob"].append({"id": "13", "text": "no date", "author": {"userName": "bob"}})
    task = await system.scraping.scrape(order("bob"))
    assert by_user(task) == {"bob": (True, 5, 5)}
    assert task.report["total_errors"] == 1
    assert any(task.task_id in line and "tweet 13 lacks created_at" in line for line in log)


@pytest.mark.proves("D-01", "D-05")
async def test_a_refused_key_ends_the_task_and_asks_for_nobody_else(open_test_system, site, log):
    async with open_test_system(**site.settings(scraper_concurrency=1, twitter_api_key="wrong")) as system:
        task = await system.scraping.scrape(order("ada", "bob", "cy"))
    assert task.status is TaskStatus.FAILED
    assert "check TWITTER_API_KEY" in task.error
    assert site.asked_for() == ["ada"]
    assert by_user(task) == {"ada": (False, 0, 0)}
    assert (task.report["total_users"], task.report["failed_users"]) == (3, 1)
    assert any(line.startswith("ERROR") and "check TWITTER_API_KEY" in line for line in log)


@pytest.mark.proves("D-01", "D-05", "D-18")
async def test_a_cap_ends_the_task_and_keeps_what_was_paid_for(open_test_system, site, clock):
    async with open_test_system(**site.settings(scraper_concurrency=1, twitter_daily_pages=2)) as system:
        task = await system.scraping.scrape(order("bob", "ada", "cy", "dora"))
        assert task.status is TaskStatus.FAILED
        assert "TWITTER_DAILY_PAGES" in task.error
        assert by_user(task) == {"bob": (True, 5, 5), "ada": (False, 20, 20), "cy": (False, 0, 0)}
        assert task.report["total_errors"] == 2
        assert await tweets_stored(system) == 25
        assert len(site.requests) == 2
        # Until tomorrow there is no point in asking, and it is said how long that is.
        with pytest.raises(TooManyAttempts, match="TWITTER_DAILY_PAGES") as refused:
            await system.scraping.start(order("dora"))
        assert refused.value.retry_after == 12 * 3600
        clock.advance(timedelta(hours=12))
        rest = await system.scraping.scrape(order("cy", "dora"))
        assert rest.report["successful_users"] == 2


@pytest.mark.proves("D-06")
async def test_what_broke_off_keeps_what_came_and_says_nothing_of_how_much_there_is(system, site):
    # The second page fails, whoever asks.
    pages = iter([None, x.broken()])
    page = site.provider._page
    site.provider._page = lambda *asked: next(pages) or page(*asked)
    task = await system.scraping.scrape(order("ada"))
    assert by_user(task) == {"ada": (False, 20, 20)}
    assert "HTTP 502" in task.outcomes[0].error_message
    assert await tweets_stored(system) == 20
    assert await system.store.read(spending.get_stats, "ada") is None


@on_both_stores
@pytest.mark.proves("D-05", "D-06")
async def test_a_limit_and_a_window_of_time_are_kept_to(system):
    task = await system.scraping.scrape(order("ada", limit=7))
    assert by_user(task) == {"ada": (True, 7, 7)}
    assert task.limit == 7
    since, until = START - timedelta(minutes=30 * 12), START - timedelta(minutes=30 * 9)
    task = await system.scraping.scrape(order("ada", since=since, until=until))
    assert by_user(task) == {"ada": (True, 3, 3)}


@pytest.mark.proves("D-07")
async def test_a_user_who_is_being_scraped_cannot_be_scraped_beside_by_any_process(system, other, site):
    site.hold("ada")
    task = await system.scraping.start(order("ada", "bob"))
    await is_known(system, task.task_id, 1)
    for service in (system.scraping, other.scraping):
        with pytest.raises(Conflict, match="@ada is being scraped"):
            await service.start(order("cy", "ada"))
    # Bob is done with, and of the task that came to nothing no trace is left.
    assert (await other.scraping.scrape(order("bob", "cy"))).report["successful_users"] == 2
    site.release()
    await is_over(system, task.task_id)
    assert (await other.scraping.scrape(order("ada"))).report["successful_users"] == 1
    assert len(await other.scraping.list()) == 3


@on_both_stores
@pytest.mark.proves("D-07")
async def test_of_many_who_ask_for_the_same_at_once_one_is_served(system, other, site):
    site.hold()
    asking = [
        service.start(order(*names))
        for names in (("ada", "bob"), ("bob", "ada"))
        for service in (system.scraping, other.scraping)
    ]
    answers = await asyncio.gather(*asking, return_exceptions=True)
    assert [type(one) for one in answers].count(Conflict) == 3
    [task] = [one for one in answers if isinstance(one, ScrapeTask)]
    site.release()
    assert (await is_over(system, task.task_id)).status is TaskStatus.COMPLETED


@pytest.mark.proves("D-07")
@pytest.mark.parametrize("where", ["here", "in another process"])
async def test_a_cancelled_task_stores_nothing_more_and_frees_its_users(system, other, site, where, log):
    site.hold("ada")
    task = await system.scraping.start(order("ada", "bob"))
    await is_known(system, task.task_id, 1)
    service = (system if where == "here" else other).scraping
    cancelled = await service.cancel(task.task_id)
    assert (cancelled.status, cancelled.error) == (TaskStatus.CANCELLED, "cancelled")
    assert by_user(cancelled) == {"bob": (True, 5, 5)}
    again = await other.scraping.start(order("ada"))
    site.release()
    assert (await is_over(other, again.task_id)).report["new_tweets"] == 25
    await system.scraping.close()
    assert await system.scraping.get(task.task_id) == cancelled
    assert any("somebody else ended it" in line for line in log) == (where == "in another process")


async def test_to_cancel_what_is_over_changes_nothing(system):
    task = await system.scraping.scrape(order("bob"))
    assert await system.scraping.cancel(task.task_id) == task


@on_both_stores
@pytest.mark.proves("D-07")
async def test_only_a_task_that_is_over_can_be_forgotten(system, site):
    site.hold()
    task = await system.scraping.start(order("bob"))
    with pytest.raises(Conflict, match="cancel it first"):
        await system.scraping.forget(task.task_id)
    site.release()
    await is_over(system, task.task_id)
    await system.scraping.forget(task.task_id)
    for ask in (system.scraping.get, system.scraping.forget, system.scraping.cancel):
        with pytest.raises(NotFound):
            await ask(task.task_id)


@pytest.mark.proves("D-07")
async def test_tasks_are_listed_by_status_the_newest_first(system, site):
    done = [(await system.scraping.scrape(order(name))).task_id for name in ("bob", "cy")]
    site.hold()
    running = await system.scraping.start(order("dora"))
    listed = {status: [one.task_id for one in await system.scraping.list(status=status)] for status in TaskStatus}
    assert listed["completed"] == done[::-1]
    assert listed["running"] == [running.task_id]
    assert [one.task_id for one in await system.scraping.list()] == [running.task_id, *done[::-1]]
    site.release()
    await is_over(system, running.task_id)


@pytest.mark.proves("D-07")
async def test_a_system_that_closes_says_interrupted_and_frees_the_users(open_test_system, other, site):
    site.hold("ada")
    async with open_test_system(**site.settings()) as system:
        task = await system.scraping.start(order("ada", "bob"))
        await is_known(system, task.task_id, 1)
    found = await other.scraping.get(task.task_id)
    assert (found.status, found.error) == (TaskStatus.FAILED, "interrupted")
    assert by_user(found) == {"bob": (True, 5, 5)}
    site.release()
    again = await other.scraping.scrape(order("ada", "bob"))
    assert (again.report["new_tweets"], again.report["skipped_tweets"]) == (25, 5)


@pytest.mark.proves("D-07")
async def test_a_process_that_is_gone_leaves_an_interrupted_task_and_nothing_is_lost_or_doubled(
    system, other, site, clock
):
    site.hold("ada")
    lost = await system.scraping.start(order("ada", "bob"))
    await is_known(system, lost.task_id, 1)
    clock.advance(LONG_ENOUGH)
    assert len(await recover(other.store, clock)) == 2, "the task and the user it still held"
    found = await other.scraping.get(lost.task_id)
    assert (found.status, found.error) == (TaskStatus.FAILED, "interrupted")
    assert found.progress["current"] == 1
    again = await other.scraping.start(order("ada", "bob"))
    site.release()
    again = await is_over(other, again.task_id)
    assert (again.report["new_tweets"], again.report["skipped_tweets"]) == (25, 5)
    # The one that was thought dead wakes up, and finds that its work is not wanted any more.
    await asyncio.wait_for(asyncio.gather(*system.scraping._tasks.values()), 10)
    assert await other.scraping.get(lost.task_id) == found
    assert await tweets_stored(other) == 30
    stats = await other.store.read(spending.get_stats, "ada")
    assert stats.total_fetches == 1


@pytest.mark.proves("D-07")
async def test_whoever_scrapes_next_frees_the_users_of_the_dead_by_itself(system, other, site, clock):
    site.hold()
    lost = await system.scraping.start(order("bob"))
    await site.arrived.acquire()
    clock.advance(LONG_ENOUGH)
    again = await other.scraping.start(order("bob"))
    site.release()
    assert (await is_over(other, again.task_id)).status is TaskStatus.COMPLETED
    assert (await other.scraping.get(lost.task_id)).error == "interrupted"


@pytest.mark.proves("D-08")
async def test_the_scheduled_scrape_does_not_wait_for_the_dead(system, other, site, clock):
    await follow(other, "bob")
    site.hold("ada")
    await system.scraping.start(order("ada"))
    await site.arrived.acquire()
    clock.advance(LONG_ENOUGH)
    ok, message = await scheduled_beside(other, clock)
    assert ok
    assert "5 new" in message


@pytest.mark.proves("D-05")
async def test_a_store_that_fails_in_the_middle_fails_the_task_with_its_reason(system, monkeypatch, log):
    def fail(*_args, **_more):
        raise StoreError("the disk says no")

    monkeypatch.setattr("catchment.store.spending.put_stats", fail)
    task = await system.scraping.scrape(order("bob"))
    assert (task.status, task.error) == (TaskStatus.FAILED, "the disk says no")
    assert await tweets_stored(system) == 0, "tweets and what is noted of them are one transaction"
    assert (await system.scraping.list(status=TaskStatus.RUNNING)) == []


@pytest.mark.proves("D-07")
async def test_tasks_are_forgotten_a_day_after_they_ended(system, clock):
    await system.jobs.prepare()
    old = await system.scraping.scrape(order("bob"))
    clock.advance(timedelta(hours=23))
    await system.jobs.look_after(CLEANUP)
    assert await system.scraping.get(old.task_id) == old
    newer = await system.scraping.scrape(order("cy"))
    clock.advance(timedelta(hours=2))
    await system.jobs.look_after(CLEANUP)
    assert [one.task_id for one in await system.scraping.list()] == [newer.task_id]


# By the schedule.


async def scheduled(system: System, clock) -> tuple[bool | None, str]:
    """Let the schedule's hour come; how it went."""
    await system.jobs.prepare()
    clock.advance(timedelta(hours=12))
    await system.jobs.look_after(SCRAPER_JOB)
    state = await system.store.read(jobs.get, SCRAPER_JOB)
    return state.last_ok, state.last_message


async def follow(system: System, *names: str) -> None:
    for name in names:
        await system.follows.add(name, reason="news", added_by="test")


@pytest.mark.proves("D-08")
async def test_the_schedule_scrapes_those_who_are_followed(open_test_system, site, clock):
    async with open_test_system(**site.settings(scraper_usernames="dora, @Eve")) as system:
        await follow(system, "bob", "cy")
        await follow(system, "ada")
        await system.follows.remove("ada")
        ok, message = await scheduled(system, clock)
        assert ok is True
        assert "8 new" in message
        [task] = await system.scraping.list()
        assert set(task.usernames) == {"bob", "cy"}
        assert (task.asked_by, task.limit) == ("schedule", None)


@pytest.mark.proves("D-08")
async def test_while_nobody_is_followed_the_environments_users_are_scraped(open_test_system, site, clock):
    async with open_test_system(**site.settings(scraper_usernames="dora, @Eve,dora")) as system:
        await scheduled(system, clock)
        [task] = await system.scraping.list()
        assert task.usernames == ("dora", "eve")


@pytest.mark.proves("D-05", "D-08")
async def test_a_scheduled_scrape_is_left_out_while_any_other_runs(system, other, site, clock, log):
    await follow(system, "bob")
    site.hold()
    running = await other.scraping.start(order("ada"))
    assert await scheduled_beside(system, clock) == (True, "left out: another scrape is still running")
    assert any(line.startswith("WARNING") and "another scrape is still running" in line for line in log)
    site.release()
    await is_over(other, running.task_id)
    ok, _ = await scheduled(system, clock)
    assert ok
    assert len(await system.scraping.list()) == 2


async def scheduled_beside(system: System, clock) -> tuple[bool | None, str]:
    """The same while something runs whose lease must not run out by the moved clock."""
    await system.jobs.prepare()
    await system.store.write(jobs.set_due, SCRAPER_JOB, clock.now())
    await system.jobs.look_after(SCRAPER_JOB)
    state = await system.store.read(jobs.get, SCRAPER_JOB)
    return state.last_ok, state.last_message


@pytest.mark.proves("D-08")
async def test_with_nobody_to_scrape_the_scheduled_scrape_is_left_out(system, clock, log):
    ok, message = await scheduled(system, clock)
    assert ok
    assert message.startswith("left out: nobody is followed")
    assert any(line.startswith("WARNING") and "nobody is followed" in line for line in log)
    assert await system.scraping.list() == []


@pytest.mark.proves("D-08")
async def test_without_a_key_the_scheduled_scrape_is_left_out_and_one_by_hand_refused(open_test_system, site, clock):
    async with open_test_system(**site.settings(twitter_api_key="")) as system:
        await follow(system, "bob")
        ok, message = await scheduled(system, clock)
        assert ok
        assert "TWITTER_API_KEY" in message
        with pytest.raises(InvalidInput, match="TWITTER_API_KEY"):
            await system.scraping.start(order("bob"))
    assert site.requests == []


@pytest.mark.proves("D-14")
async def test_a_scheduled_scrape_that_fails_says_so_and_the_next_one_runs(open_test_system, site, clock):
    async with open_test_system(**site.settings()) as system:
        await follow(system, "bob")
        site.provider.fail("bob", x.wrong_key())
        ok, message = await scheduled(system, clock)
        assert not ok
        assert "check TWITTER_API_KEY" in message
        ok, message = await scheduled(system, clock)
        assert ok
        assert "5 new" in message


@pytest.mark.proves("D-08")
async def test_at_the_cap_the_scheduled_scrape_is_left_out(open_test_system, site, clock):
    async with open_test_system(**site.settings(twitter_monthly_pages=1)) as system:
        await follow(system, "bob")
        assert (await scheduled(system, clock))[0] is True
        ok, message = await scheduled(system, clock)
        assert ok
        assert "TWITTER_MONTHLY_PAGES" in message
        assert len(site.requests) == 1


@pytest.mark.proves("D-21")
async def test_by_hand_scraping_works_while_the_scheduled_one_is_off(open_test_system, site):
    async with open_test_system(**site.settings(scraper_enabled=False)) as system:
        await system.jobs.prepare()
        assert SCRAPER_JOB not in system.jobs
        assert (await system.scraping.scrape(order("bob"))).report["new_tweets"] == 5


# What others are told of.


class Summariser:
    """Takes in the ids of new tweets, unless it is broken."""

    def __init__(self, site: FeedSite) -> None:
        self.told: list[list[str]] = []
        self.is_broken = False
        self.url = site.script(self._answer, path="/summarise")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        if self.is_broken:
            return web.Response(status=500)
        self.told.append((await request.json())["tweet_ids"])
        return web.Response(status=204)


@pytest.mark.proves("D-10")
async def test_the_summariser_is_told_of_new_tweets_only_and_its_failure_changes_nothing(
    open_test_system, site, clock, tmp_path
):
    summariser = Summariser(site)
    settings = {"summarization_enabled": True, "summarization_url": summariser.url, "home": tmp_path / "home"}
    async with open_test_system(**site.settings(**settings)) as system:
        await follow_environment(system)
        await system.jobs.prepare()
        summariser.is_broken = True
        task = await system.scraping.scrape(order("bob"))
        assert task.report["new_tweets"] == 5
        await deliver(system, clock)
        assert (await system.scraping.get(task.task_id)) == task
        site.provider.users["bob"].insert(0, tweet("bob", 5, START))
        await system.scraping.scrape(order("bob"))
        await system.scraping.scrape(order("bob"))
        summariser.is_broken = False
        clock.advance(timedelta(minutes=2))
        await deliver(system, clock)
        await deliver(system, clock)
    assert [sorted(ids) for ids in summariser.told] == [
        [tweet_id("bob", number) for number in range(5)],
        [tweet_id("bob", 5)],
    ]


@pytest.mark.proves("D-10")
async def test_the_summariser_is_as_the_environment_says_at_each_start(open_test_system, site, tmp_path):
    wanted = {"summarization_url": site.url("/summarise"), "home": tmp_path / "home"}
    for is_enabled in (False, True, True, False):
        async with open_test_system(**wanted, summarization_enabled=is_enabled) as system:
            await follow_environment(system)
            active = [hook.name for hook in await system.webhooks.list() if hook.is_active]
            assert active == [SUMMARIZATION] * is_enabled


async def deliver(system: System, clock) -> None:
    clock.advance(timedelta(seconds=11))
    await system.jobs.look_after(OUTBOX)


@pytest.mark.proves("D-01")
@pytest.mark.parametrize(
    ("answer", "alert"),
    [(x.wrong_key, "X_KEY_REFUSED"), (x.too_fast, "X_RATE_LIMITED"), (x.out_of_credit, "X_NO_CREDIT")],
)
async def test_what_a_person_must_mend_is_told_once_to_whoever_listens(system, site, answer, alert):
    async with FeedSite() as receiver:
        url = receiver.serve("", path="/alerts")
        await system.webhooks.add(NewWebhook(name="alerts", url=url, topics=(Topic.ALERT,)))
        for name in ("ada", "bob", "cy"):
            site.provider.fail(name, answer())
        await system.scraping.scrape(order("ada", "bob", "cy"))
        await system.jobs.prepare()
        await system.jobs.look_after(ALERTS)
        [delivery] = await system.webhooks.deliveries()
    assert (delivery.topic, delivery.payload["alert"]) == ("alert", alert)
    assert KEY not in str(delivery.payload)


async def firing(system: System, clock) -> set[str]:
    clock.advance(timedelta(seconds=31))
    await system.jobs.look_after(ALERTS)
    return {alert.rule for alert in await system.store.read(alerts.list_known) if alert.is_firing}


@pytest.mark.proves("R-29")
async def test_a_scheduled_scrape_that_fails_for_everybody_fails_the_job_and_fires_until_one_succeeds(
    system, site, clock, log
):
    await follow(system, "bob", "cy")
    for name in ("bob", "cy"):
        site.provider.fail(name, x.broken())
    ok, message = await scheduled(system, clock)
    assert ok is False
    assert "failed for everybody" in message
    assert "502" in message
    assert any(line.startswith("WARNING") and "scraper_job" in line and "502" in line for line in log)
    assert not any("Traceback" in line for line in log)
    assert await firing(system, clock) == {"X_SCRAPE_FAILED"}
    assert (await scheduled(system, clock))[0] is True
    assert await firing(system, clock) == set()


@pytest.mark.proves("R-29")
@pytest.mark.parametrize(
    ("answer", "rule", "words"),
    [(x.too_fast, "X_RATE_LIMITED", "QPS limit"), (x.out_of_credit, "X_NO_CREDIT", "Credits is not enough")],
)
async def test_a_limit_of_the_provider_fails_the_job_and_fires_though_others_fared_better(
    open_test_system, site, clock, log, answer, rule, words
):
    async with open_test_system(**site.settings(scraper_concurrency=1)) as system:
        await follow(system, "ada", "bob", "cy")
        site.provider.fail("cy", answer())
        ok, message = await scheduled(system, clock)
        assert (ok, words in message) == (False, True)
        assert any(line.startswith("WARNING") and words in line for line in log)
        assert rule in await firing(system, clock)


@pytest.mark.proves("R-29")
async def test_a_limit_that_is_met_on_the_second_page_counts_as_much(system, site, clock):
    await follow(system, "ada", "bob")
    answers = iter([None, x.too_fast()])
    page = site.provider._page

    def second_fails(path, name, cursor):
        return (next(answers, None) if name == "ada" else None) or page(path, name, cursor)

    site.provider._page = second_fails
    ok, message = await scheduled(system, clock)
    assert (ok, "QPS limit" in message) == (False, True)
    assert "X_RATE_LIMITED" in await firing(system, clock)


@pytest.mark.proves("R-29")
async def test_a_source_that_meets_the_end_of_the_credit_fires_as_well(system, site, clock):
    await system.jobs.prepare()
    site.provider.fail("ada", x.out_of_credit())
    await add(system, "", type="twitter_feed", config={"handle": "@ada"}, name="@ada")
    await collect(system)
    assert "X_NO_CREDIT" in await firing(system, clock)


@pytest.mark.proves("R-29")
async def test_tasks_failures_and_pages_are_in_the_metrics(system, site):
    site.provider.fail("cy", x.user_not_found())
    await system.scraping.scrape(order("ada", "cy"))
    shown = Metrics().render(await read_numbers(system)).decode()
    for line in (
        'catchment_x_tasks_24h{status="completed"} 1.0',
        'catchment_x_tasks_24h{status="failed"} 0.0',
        "catchment_x_failures_24h 1.0",
        'catchment_x_pages{period="day"} 3.0',
        'catchment_x_pages{period="month"} 3.0',
    ):
        assert line in shown
