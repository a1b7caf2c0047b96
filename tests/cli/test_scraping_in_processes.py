"""Scraping by real processes: two on one database, and one that is killed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest
from command import Process, Start

from catchment.jobs.scheduler import LOOK_SECONDS
from eventually import eventually
from stores import on_sqlite_alone
from x_site import XSite

pytestmark = on_sqlite_alone

READY = "Catchment is at "
ADMIN = {"X-API-Key": "sesame"}
SCHEDULE, SCRAPE = "/api/admin/scraping/schedule", "/api/admin/scrape"


@pytest.fixture
async def site() -> AsyncIterator[XSite]:
    async with XSite(ada=100, bob=5) as site:
        yield site
        site.release()


class Server:
    """`catchment up` without a collector, and its API."""

    def __init__(self, process: Process, client: aiohttp.ClientSession) -> None:
        self.process = process
        self.client = client

    async def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        async with self.client.request(method, path, json=body) as answer:
            assert answer.status in {200, 202}, await answer.text()
            return await answer.json()

    async def has_alarm(self) -> bool:
        return (await self.ask("GET", SCHEDULE))["job_active"]

    async def has_none(self) -> bool:
        return not await self.has_alarm()


@pytest.fixture
async def serve(start: Start, site: XSite, store_url: str) -> AsyncIterator[Any]:
    clients: list[aiohttp.ClientSession] = []

    async def serve_(**env: str) -> Server:
        ours = {"DATABASE_URL": store_url, "ADMIN_API_KEY": "sesame", **site.environment(**env)}
        process = await start("up", "--no-collect", "--no-starter", "--port", "0", **ours)
        url = (await process.says(READY)).removeprefix(READY)
        clients.append(aiohttp.ClientSession(url, headers=ADMIN))
        return Server(process, clients[-1])

    yield serve_
    for client in clients:
        await client.close()


@pytest.mark.timeout(120)
@pytest.mark.proves("D-15", "D-08", "C-31", "C-35")
async def test_of_two_processes_one_scrapes_and_both_know_the_schedule(serve: Any, site: XSite) -> None:
    # Nothing is due before an administrator says so.
    env = {"SCRAPER_USERNAMES": "bob", "SCRAPER_LAZY_START": "true"}
    one, other = await serve(**env), await serve(**env)
    assert not await one.has_alarm()
    assert not await other.has_alarm()
    # Late enough for both to have set their alarms to it.
    moment = datetime.now(UTC) + timedelta(seconds=LOOK_SECONDS + 5)
    await one.ask("PUT", f"{SCHEDULE}/next-run", {"next_run_time": moment.isoformat()})
    await eventually(other.has_alarm)
    assert datetime.now(UTC) < moment

    async def completed() -> Any:
        return await other.ask("GET", f"{SCRAPE}?status=completed")

    [task] = await eventually(completed)
    assert task["metadata"]["asked_by"] == "schedule"
    assert datetime.fromisoformat(task["created_at"]) >= moment - timedelta(milliseconds=1)

    async def goes_on() -> bool:
        shown = [await server.ask("GET", SCHEDULE) for server in (one, other)]
        return all(one["job_active"] and datetime.fromisoformat(one["next_run_time"]) > moment for one in shown)

    # By then the alarms of both have rung, and are set to the interval.
    await eventually(goes_on)
    assert len(await one.ask("GET", SCRAPE)) == 1
    assert site.asked_for() == ["bob"]
    [job] = [job for job in await one.ask("GET", "/api/admin/jobs") if job["name"] == "scraper_job"]
    assert (job["runs"], job["last_ok"]) == (1, True)
    # What one is told the other knows at its next look.
    await other.ask("POST", f"{SCHEDULE}/disable")
    await eventually(one.has_none)


@pytest.mark.timeout(120)
@pytest.mark.proves("D-07")
async def test_a_scrape_that_is_killed_says_interrupted_and_the_next_one_brings_all_of_it_once(
    serve: Any, site: XSite
) -> None:
    env = {"SCRAPER_LAZY_START": "true"}
    server = await serve(**env)
    site.hold("ada")
    task_id = (await server.ask("POST", SCRAPE, {"usernames": "ada,bob"}))["task_id"]

    async def has_bob() -> bool:
        return (await server.ask("GET", f"{SCRAPE}/{task_id}"))["progress"]["current"] == 1

    await eventually(has_bob)
    await site.arrived.acquire()
    await server.process.kill()
    server = await serve(**env)

    async def over() -> Any:
        task = await server.ask("GET", f"{SCRAPE}/{task_id}")
        return task if task["status"] != "running" else None

    killed = await eventually(over)
    assert (killed["status"], killed["error"]) == ("failed", "interrupted")
    assert killed["result"]["new_tweets"] == 5
    site.release()
    task_id = (await server.ask("POST", SCRAPE, {"usernames": "ada,bob"}))["task_id"]
    again = await eventually(over)
    assert again["status"] == "completed"
    assert (again["result"]["new_tweets"], again["result"]["skipped_tweets"]) == (100, 5)
    assert (await server.ask("GET", "/api/tweets?page_size=100"))["total"] == 105
