from __future__ import annotations

import json
import re
import signal
import sqlite3
from asyncio import to_thread, wait_for
from collections.abc import AsyncIterator
from typing import Any

import pytest
from bench import simulated_x as x
from command import Command, Start, on_a_terminal

from catchment.bootstrap import open_system
from catchment.domain.run import SCRAPER_JOB
from catchment.settings import Settings
from x_site import KEY, XSite


@pytest.fixture
async def site() -> AsyncIterator[XSite]:
    async with XSite(ada=25, bob=5) as site:
        yield site
        site.release()


async def scraped(catchment: Command, site: XSite, *words: str, **env: str) -> tuple[int, str]:
    """How `x scrape` ended, and all that it said."""
    result = await catchment.aside("x", "scrape", *words, **site.environment(LOG_LEVEL="CRITICAL", **env))
    return result.exit_code, result.output


@pytest.mark.proves("D-05")
async def test_a_scrape_ends_with_a_table_of_users_and_the_report(catchment: Command, site: XSite) -> None:
    site.provider.fail("bob", x.user_not_found())
    code, said = await scraped(catchment, site, "@Ada,bob", "--limit", "7")
    assert code == 0, "one user's failure does not fail the task"
    assert re.search(r"@ada +yes +7 +7 +0 +0", said)
    assert re.search(r"@bob +no +0 +0 +0 +1 +.*User not found", said)
    assert re.search(r"total users +2", said)
    assert re.search(r"new tweets +7", said)
    assert KEY not in said


async def test_json_tells_the_whole_task(catchment: Command, site: XSite) -> None:
    code, said = await scraped(catchment, site, "bob", "--json")
    task: dict[str, Any] = json.loads(said)
    assert (code, task["status"], task["usernames"], task["limit"]) == (0, "completed", ["bob"], 100)
    assert task["progress"] == {"current": 1, "total": 1, "percentage": 100}
    assert task["result"]["new_tweets"] == 5
    assert task["result"]["users"][0]["username"] == "bob"


async def test_without_names_everybody_who_is_followed_is_scraped(catchment: Command, site: XSite) -> None:
    code, said = await scraped(catchment, site)
    assert code == 1
    assert "Nobody is followed" in said
    await to_thread(catchment.json, "x", "follow", "@bob")
    code, said = await scraped(catchment, site, "--json")
    assert (code, json.loads(said)["usernames"]) == (0, ["bob"])


async def test_a_scrape_that_cannot_be_is_exit_1_with_the_reason(catchment: Command, site: XSite) -> None:
    for words, env, reason in (
        (["b-b"], {}, "is not a user of X"),
        (["bob"], {"TWITTER_API_KEY": ""}, "set TWITTER_API_KEY"),
        (["bob"], {"TWITTER_API_KEY": "wrong"}, "check TWITTER_API_KEY"),
    ):
        code, said = await scraped(catchment, site, *words, **env)
        assert code == 1
        assert reason in said
    site.provider.fail("bob", x.user_not_found())
    code, said = await scraped(catchment, site, "bob")
    assert code == 1
    assert "no user could be scraped" in said


@pytest.mark.parametrize("limit", ["0", "1001", "ten"])
def test_a_limit_that_cannot_be_is_wrong_usage(catchment: Command, limit: str) -> None:
    assert catchment("x", "scrape", "bob", "--limit", limit).exit_code == 2


@pytest.mark.proves("D-07")
async def test_a_signal_cancels_the_scrape_and_keeps_what_came(start: Start, site: XSite, catchment: Command) -> None:
    site.hold("ada")
    process = await start("x", "scrape", "bob,ada", **site.environment())
    await wait_for(site.arrived.acquire(), 30)
    await process.says("@bob: 5 new of 5")
    process.signal(signal.SIGINT)
    assert await process.ends() == 1
    assert "Error: cancelled" in "".join(process.said)
    site.release()
    code, said = await scraped(catchment, site, "bob,ada", "--json")
    result = json.loads(said)["result"]
    assert (code, result["new_tweets"], result["skipped_tweets"]) == (0, 25, 5)


async def test_on_a_terminal_a_bar_shows_how_far_it_is(home, site: XSite) -> None:
    screen = await to_thread(on_a_terminal, home, "x", "scrape", "bob", **site.environment())
    assert "scraping" in screen
    assert "@bob" in screen


# Jobs.


@pytest.mark.proves("R-32")
async def test_the_list_of_jobs_reads_well(site: XSite, catchment: Command, sqlite_url: str) -> None:
    await to_thread(catchment, "x", "follow", "ada")
    settings = Settings(database_url=sqlite_url, allow_networks="127.0.0.1", **site.settings())
    async with open_system(settings) as system:
        await system.jobs.prepare()
        await system.jobs.look_after(SCRAPER_JOB)
    await to_thread(catchment, "jobs", "pause", "cleanup")
    said = (await to_thread(catchment, "jobs", "list")).stdout
    assert re.search(r"job +next run \(UTC\) +last run \(UTC\) +how it went", said)
    assert re.search(r"scraper_job +\d.* ok: 1 of 1 user\(s\), 25 new of 25 tweet\(s\)", said)
    assert re.search(r"cleanup +paused ", said)
    assert re.search(r"collector_tick +with each tick ", said)
    assert "{" not in said
    assert all(line == line.rstrip() or len(line) <= 200 for line in said.splitlines())


def test_jobs_are_listed_paused_and_resumed(catchment: Command) -> None:
    listed = {job["name"]: job for job in catchment.json("jobs", "list")}
    assert {"cleanup", "collector_tick", "outbox", "recovery", "scraper_job"} <= set(listed)
    assert listed["cleanup"]["is_paused"] is False
    assert "cleanup is paused." in catchment("jobs", "pause", "cleanup").stdout
    paused = {job["name"] for job in catchment.json("jobs", "list") if job["is_paused"]}
    assert paused == {"cleanup"}
    assert catchment.json("jobs", "resume", "cleanup")["is_paused"] is False
    assert "cleanup" in catchment("jobs", "list").stdout


def test_a_job_that_nobody_knows_is_exit_1_and_says_which_there_are(catchment: Command) -> None:
    result = catchment("jobs", "pause", "tea")
    assert result.exit_code == 1
    assert "cleanup" in result.stderr


@pytest.mark.proves("D-08")
def test_without_the_scheduled_scrape_its_job_is_not_there(catchment: Command) -> None:
    names = [job["name"] for job in catchment.json("jobs", "list", SCRAPER_ENABLED="false")]
    assert "scraper_job" not in names


# Hooks.


@pytest.mark.proves("D-10")
def test_a_webhook_is_added_told_and_removed(catchment: Command) -> None:
    url = "https://hooks.example/in/QpZsEcReTpAtH?token=abcdef"
    added = catchment.json("hooks", "add", url, "--name", "digest", "--topic", "items.new")
    assert (added["id"], added["topics"], len(added["secret"]) > 30) == (1, ["items.new"], True)
    for shown in (catchment("hooks", "list").stdout, catchment("hooks", "list", "--json").stdout):
        assert "digest" in shown
        assert added["secret"] not in shown
        assert "abcdef" not in shown
        assert "QpZsEcReTpAtH" not in shown
    pinged = catchment.json("hooks", "ping", "1")
    assert pinged["topic"] == "ping"
    assert f"Event {pinged['event_id']} is on its way again." in catchment("hooks", "redeliver", "1").stdout
    assert [one["event_id"] for one in catchment.json("hooks", "deliveries")] == [pinged["event_id"]]
    assert catchment.json("hooks", "deliveries", "--webhook", "2") == []
    assert catchment("hooks", "remove", "1").exit_code == 0
    assert catchment.json("hooks", "list") == []


@pytest.mark.proves("G-10")
def test_a_webhook_may_be_told_the_new_items_of_one_feed(catchment: Command) -> None:
    catchment.json("feeds", "create", "caiji", "--filter", '{"q": "采集"}')
    words = ("hooks", "add", "https://hooks.example/in", "--format", "slack", "--feed", "caiji")
    added = catchment.json(*words, "--name", "chat")
    assert (added["feed"], added["topics"]) == ("caiji", ["items.new"])
    assert "of new items those of the feed caiji." in catchment(*words, "--name", "other").stdout
    assert [hook["feed"] for hook in catchment.json("hooks", "list")] == ["caiji", "caiji"]
    assert "caiji" in catchment("hooks", "list").stdout


def test_a_webhooks_secret_is_told_once(catchment: Command) -> None:
    said = catchment("hooks", "add", "https://hooks.example/in", "--name", "digest").stdout
    assert "Secret (shown only now): " in said
    assert "items.new, tweets.new" in said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["add", "http://10.0.0.1/", "--name", "n"], "10.0.0.1"),
        (["add", "https://hooks.example/", "--name", "n", "--topic", "weather"], "items.new"),
        (["add", "https://hooks.example/", "--name", "n", "--feed", "nowhere"], "There is no feed nowhere."),
        (["remove", "7"], "There is no webhook 7."),
        (["ping", "7"], "There is no webhook 7."),
        (["redeliver", "7"], "There is no delivery 7."),
    ],
)
def test_what_cannot_be_is_exit_1_with_the_reason(catchment: Command, words: list[str], reason: str) -> None:
    result = catchment("hooks", *words)
    assert result.exit_code == 1
    assert reason in result.stderr


@pytest.mark.proves("R-29")
async def test_tasks_failures_and_pages_are_shown_by_command(catchment: Command, site: XSite) -> None:
    site.provider.fail("bob", x.user_not_found())
    await scraped(catchment, site, "ada,bob")
    for words in (("x",), ("x", "status"), ("status",)):
        said = (await to_thread(catchment, *words, TWITTER_DAILY_PAGES="10")).stdout
        assert re.search(r"scrapes in 24 hours +1 completed", said)
        assert re.search(r"users that failed +1", said)
        assert re.search(r"last failure +@bob: .*User not found", said)
        assert re.search(r"pages spent today +3 of 10", said)
    assert (await to_thread(catchment.json, "x", "status"))["pages_today"] == 3
    assert (await to_thread(catchment.json, "status"))["x"]["failed_users_24h"] == 1


@pytest.mark.proves("R-49")
def test_a_job_is_run_at_once_and_says_how_it_went(catchment: Command) -> None:
    ran = catchment("jobs", "run", "cleanup")
    assert (ran.exit_code, "item(s) cleaned" in ran.stdout) == (0, True)
    assert catchment.json("jobs", "run", "recovery")["last_ok"] is True
    assert catchment("jobs", "run", "tea").exit_code == 1
    result = catchment("jobs", "run", "collector_tick")
    assert (result.exit_code, "catchment collect" in result.stderr) == (1, True)


@pytest.mark.proves("R-49")
def test_a_job_that_another_process_runs_is_not_run_beside_it(catchment: Command) -> None:
    catchment.json("jobs", "list")
    with sqlite3.connect(catchment.home / "catchment.sqlite3") as conn:
        conn.execute(
            "INSERT INTO runs (kind, subject, owner, status, started_at, heartbeat_at, lease_until, progress) "
            "VALUES ('job', 'cleanup', 'elsewhere:1:x', 'running', ?, ?, '2999-01-01T00:00:00.000000+00:00', '{}')",
            ("2026-03-01T12:00:00.000000+00:00",) * 2,
        )
    result = catchment("jobs", "run", "cleanup")
    assert (result.exit_code, "running at this moment" in result.stderr) == (1, True)
