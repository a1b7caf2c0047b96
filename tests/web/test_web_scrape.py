"""Scraping by hand through the API, and the administration of jobs and webhooks."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from catchment.domain.run import COLLECTOR_TICK, SCRAPER_JOB
from catchment.jobs.builtin import CLEANUP, OUTBOX, RECOVERY
from catchment.web.app import create_app
from eventually import eventually
from stores import on_both_stores, on_sqlite_alone
from x_site import XSite

pytestmark = on_sqlite_alone

SCRAPE, JOBS, HOOKS = "/api/admin/scrape", "/api/admin/jobs", "/api/admin/webhooks"
KEYS = {"admin_api_key": "admin-key-0123456789", "api_key": "service-key-0123456789"}
ADMIN = {"X-API-Key": KEYS["admin_api_key"]}
SERVICE = {"X-API-Key": KEYS["api_key"]}


class Office:
    """A system, and an administrator at its API."""

    def __init__(self, system, client: httpx.AsyncClient) -> None:
        self.system = system
        self.client = client

    async def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.client.request(method, path, **{"headers": ADMIN, **options})

    async def scrape(self, **body: Any) -> httpx.Response:
        return await self.ask("POST", SCRAPE, json=body)

    async def task(self, task_id: str) -> dict[str, Any]:
        return (await self.ask("GET", f"{SCRAPE}/{task_id}")).json()

    async def is_over(self, task_id: str) -> dict[str, Any]:
        async def over() -> dict[str, Any] | None:
            task = await self.task(task_id)
            return None if task["status"] == "running" else task

        return await eventually(over)


@pytest.fixture
async def site() -> AsyncIterator[XSite]:
    async with XSite(ada=25, bob=5, cy=3) as site:
        yield site
        site.release()


@pytest.fixture
def open_office(open_test_system, site, tmp_path):
    @asynccontextmanager
    async def open_(**settings: Any) -> AsyncIterator[Office]:
        home = tmp_path / "home"
        async with open_test_system(**site.settings(**KEYS, home=home, **settings)) as system:
            await system.jobs.prepare()
            transport = httpx.ASGITransport(app=create_app(system))
            async with httpx.AsyncClient(transport=transport, base_url="http://catchment") as client:
                yield Office(system, client)

    return open_


@pytest.fixture
async def office(open_office) -> AsyncIterator[Office]:
    async with open_office() as office:
        yield office


@pytest.mark.proves("D-07")
async def test_a_scrape_is_taken_on_and_can_be_watched_to_its_end(office):
    answer = await office.scrape(usernames="@Ada,bob, ,ADA", limit=10)
    assert answer.status_code == 202
    assert answer.json()["status"] == "pending"
    task = await office.is_over(answer.json()["task_id"])
    assert set(task) == {
        "task_id",
        "task_name",
        "status",
        "created_at",
        "updated_at",
        "started_at",
        "completed_at",
        "progress",
        "result",
        "error",
        "metadata",
    }
    assert (task["status"], task["error"], task["task_name"]) == ("completed", None, "scrape")
    assert task["progress"] == {"current": 2, "total": 2, "percentage": 100}
    assert (task["result"]["total_users"], task["result"]["new_tweets"]) == (2, 15)
    assert {one["username"]: one["new"] for one in task["result"]["users"]} == {"ada": 10, "bob": 5}
    assert (task["metadata"]["usernames"], task["metadata"]["limit"]) == (["ada", "bob"], 10)
    assert task["created_at"].endswith("Z")


@pytest.mark.proves("D-07")
async def test_without_names_everybody_who_is_followed_is_scraped(office):
    nobody = await office.scrape()
    assert nobody.status_code == 400
    assert nobody.json()["field"] == "usernames"
    for name in ("bob", "cy", "ada"):
        await office.system.follows.add(name, reason="news", added_by="test")
    await office.system.follows.remove("ada")
    task = await office.is_over((await office.scrape()).json()["task_id"])
    assert task["metadata"]["usernames"] == ["bob", "cy"]
    assert task["metadata"]["limit"] == 100


@on_both_stores
@pytest.mark.proves("R-28")
async def test_a_limit_that_is_given_reads_below_what_is_known_and_full_to_the_end(office):
    for body, new in (({"limit": 5}, 5), ({"limit": 12}, 7), ({"full": True}, 13)):
        task = await office.is_over((await office.scrape(usernames="ada", **body)).json()["task_id"])
        assert task["result"]["new_tweets"] == new, body
    both = await office.scrape(usernames="ada", limit=5, full=True)
    assert (both.status_code, both.json()["field"]) == (400, "limit")


@pytest.mark.proves("R-32")
async def test_progress_is_told_in_whole_numbers(office):
    task = await office.is_over((await office.scrape(usernames="ada,bob")).json()["task_id"])
    assert json.dumps(task["progress"]) == '{"current": 2, "total": 2, "percentage": 100}'


@pytest.mark.proves("R-32")
@pytest.mark.parametrize("since", ["2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z"])
async def test_a_time_that_ends_before_it_begins_is_422_at_every_door(office, since):
    until = "2026-03-01T00:00:00Z"
    window = {"since": since, "until": until}
    scrape = await office.scrape(usernames="ada", **window)
    tweets = await office.client.get("/api/tweets", params=window, headers=ADMIN)
    feed = await office.client.get("/api/feed", params=window, headers=ADMIN)
    for answer in (scrape, tweets, feed):
        assert (answer.status_code, answer.json()["field"]) == (422, "since")


BAD = [
    ({"usernames": ""}, "usernames"),
    ({"usernames": " , ,"}, "usernames"),
    ({"usernames": "ada,b-b"}, "usernames"),
    ({"usernames": "x" * 16}, "usernames"),
    ({"usernames": "a b"}, "usernames"),
    ({"usernames": "@"}, "usernames"),
    ({"usernames": "ada\0"}, "usernames"),
    ({"usernames": ["ada"]}, "usernames"),
    ({"usernames": ",".join(f"u{number}" for number in range(1001))}, "usernames"),
    ({"usernames": "ada", "limit": 0}, "limit"),
    ({"usernames": "ada", "limit": 1001}, "limit"),
    ({"usernames": "ada", "limit": -1}, "limit"),
    ({"usernames": "ada", "limit": "ten"}, "limit"),
    ({"usernames": "ada", "limit": 1.5}, "limit"),
    ({"usernames": "ada", "limit": True}, "limit"),
    ({"usernames": "ada", "since": "yesterday"}, "since"),
    ([], "body"),
]


@pytest.mark.proves("D-07", "D-18")
async def test_what_cannot_be_is_400_with_the_name_of_the_field(office):
    for body, field in BAD:
        answer = await office.ask("POST", SCRAPE, json=body)
        assert (answer.status_code, answer.json()["field"]) == (400, field), body
        assert answer.json()["detail"].startswith(f"{field}: ")
    broken = await office.ask("POST", SCRAPE, content=b"{", headers={**ADMIN, "Content-Type": "application/json"})
    assert broken.status_code == 400
    unknown = await office.ask("GET", SCRAPE, params={"status": "asleep"})
    assert (unknown.status_code, unknown.json()["field"]) == (400, "status")
    assert (await office.ask("GET", SCRAPE)).json() == []


@pytest.mark.proves("D-07", "D-18")
async def test_who_is_being_scraped_is_409_even_among_others(office, site):
    site.hold()
    task_id = (await office.scrape(usernames="ada,bob")).json()["task_id"]
    overlap = await office.scrape(usernames="cy,@ADA")
    assert overlap.status_code == 409
    assert "@ada" in overlap.json()["detail"]
    assert (await office.ask("DELETE", f"{SCRAPE}/{task_id}")).status_code == 409
    apart = await office.scrape(usernames="cy")
    assert apart.status_code == 202
    site.release()
    await office.is_over(task_id)
    await office.is_over(apart.json()["task_id"])
    assert (await office.scrape(usernames="ada")).status_code == 202


@pytest.mark.proves("D-07")
async def test_tasks_are_listed_filtered_cancelled_and_forgotten(office, site):
    done = (await office.scrape(usernames="bob")).json()["task_id"]
    await office.is_over(done)
    site.hold()
    running = (await office.scrape(usernames="ada")).json()["task_id"]

    async def listed(**query: str) -> list[str]:
        return [one["task_id"] for one in (await office.ask("GET", SCRAPE, params=query)).json()]

    assert await listed() == [running, done]
    assert await listed(status="running") == [running]
    assert await listed(status="completed") == [done]
    assert await listed(status="pending") == []
    cancelled = await office.ask("POST", f"{SCRAPE}/{running}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert await listed(status="cancelled") == [running]
    forgotten = await office.ask("DELETE", f"{SCRAPE}/{running}")
    assert forgotten.status_code == 200
    assert running in forgotten.json()["message"]
    assert await listed() == [done]


@pytest.mark.proves("D-07", "D-18")
async def test_a_task_that_nobody_knows_is_404(office):
    path = f"{SCRAPE}/{uuid.uuid4()}"
    for method, suffix in (("GET", ""), ("DELETE", ""), ("POST", "/cancel")):
        answer = await office.ask(method, path + suffix)
        assert answer.status_code == 404
        assert "There is no scrape task" in answer.json()["detail"]


@pytest.mark.proves("D-18")
async def test_at_the_cap_a_scrape_is_429_and_says_when_to_come_back(open_office):
    async with open_office(twitter_daily_pages=1) as office:
        first = await office.is_over((await office.scrape(usernames="ada")).json()["task_id"])
        assert first["result"]["users"][0]["success"] is False
        assert "TWITTER_DAILY_PAGES" in first["result"]["users"][0]["error_message"]
        refused = await office.scrape(usernames="bob")
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "43200")
        assert "TWITTER_DAILY_PAGES" in refused.json()["detail"]


@pytest.mark.proves("D-18")
async def test_a_provider_that_does_not_answer_fails_the_user_while_the_route_never_waits(open_office, site):
    async with open_office(timeout_seconds=0.2) as office:
        site.hold("ada")
        answer = await asyncio.wait_for(office.scrape(usernames="ada,bob"), 10)
        assert answer.status_code == 202
        task = await office.is_over(answer.json()["task_id"])
    assert task["status"] == "completed"
    [failed] = [one for one in task["result"]["users"] if not one["success"]]
    assert failed["username"] == "ada"
    assert "took too long" in failed["error_message"]


@pytest.mark.proves("D-18")
async def test_without_a_key_for_x_a_scrape_is_400_and_says_what_to_set(open_office):
    async with open_office(twitter_api_key="") as office:
        answer = await office.scrape(usernames="ada")
    assert answer.status_code == 400
    assert "TWITTER_API_KEY" in answer.json()["detail"]


ADMINS_ONLY = [
    ("POST", SCRAPE),
    ("GET", SCRAPE),
    ("GET", f"{SCRAPE}/x"),
    ("DELETE", f"{SCRAPE}/x"),
    ("POST", f"{SCRAPE}/x/cancel"),
    ("GET", JOBS),
    ("POST", f"{JOBS}/{CLEANUP}/run"),
    ("POST", f"{JOBS}/{CLEANUP}/pause"),
    ("POST", f"{JOBS}/{CLEANUP}/resume"),
    ("GET", HOOKS),
    ("POST", HOOKS),
    ("GET", f"{HOOKS}/deliveries"),
    ("DELETE", f"{HOOKS}/1"),
]


@pytest.mark.proves("D-07", "C-51", "C-52", "C-53")
async def test_only_an_administrator_may(office):
    for method, path in ADMINS_ONLY:
        body = {"json": {"usernames": "bob", "name": "n", "url": "https://example.org/"}} if method == "POST" else {}
        nobody = await office.ask(method, path, headers={}, **body)
        assert (nobody.status_code, nobody.json()["detail"]) == (401, "未认证"), path
        user = await office.ask(method, path, headers=SERVICE, **body)
        assert (user.status_code, user.json()["detail"]) == (403, "需要管理员权限"), path
        english = await office.ask(method, path, headers={**SERVICE, "Accept-Language": "en"}, **body)
        assert english.json()["detail"] == "Administrator rights are needed"
    assert await office.system.scraping.list() == []


# Jobs.


async def test_every_job_is_listed_with_its_state(office):
    shown = {one["name"]: one for one in (await office.ask("GET", JOBS)).json()}
    assert set(shown) >= {COLLECTOR_TICK, CLEANUP, RECOVERY, OUTBOX, SCRAPER_JOB}
    assert (shown[CLEANUP]["is_paused"], shown[CLEANUP]["runs"], shown[CLEANUP]["last_ok"]) == (False, 0, None)
    assert shown[CLEANUP]["due_at"] == "2026-03-01T12:00:00.000Z"


@on_both_stores
@pytest.mark.proves("D-08")
async def test_a_job_runs_at_once_when_asked(office):
    await office.system.follows.add("bob", reason="news", added_by="test")
    assert (await office.ask("POST", f"{JOBS}/{SCRAPER_JOB}/run")).status_code == 202

    async def has_run() -> dict[str, Any] | None:
        state = await job(office, SCRAPER_JOB)
        return state if state["runs"] else None

    state = await eventually(has_run)
    assert state["last_ok"] is True
    assert "5 new" in state["last_message"]


@pytest.mark.proves("D-05")
async def test_a_job_that_runs_is_409(office, site):
    await office.system.follows.add("bob", reason="news", added_by="test")
    site.hold()
    assert (await office.ask("POST", f"{JOBS}/{SCRAPER_JOB}/run")).status_code == 202
    await asyncio.wait_for(site.arrived.acquire(), 10)
    assert (await office.ask("POST", f"{JOBS}/{SCRAPER_JOB}/run")).status_code == 409


async def test_a_job_is_paused_and_resumed(office):
    assert (await office.ask("POST", f"{JOBS}/{CLEANUP}/pause")).json()["is_paused"] is True
    assert (await job(office, CLEANUP))["is_paused"] is True
    await office.system.jobs.look_after(CLEANUP)
    assert (await job(office, CLEANUP))["runs"] == 0
    assert (await office.ask("POST", f"{JOBS}/{CLEANUP}/resume")).json()["is_paused"] is False
    await office.system.jobs.look_after(CLEANUP)
    assert (await job(office, CLEANUP))["runs"] == 1


async def test_a_job_that_nobody_knows_is_404(office):
    for what in ("run", "pause", "resume"):
        answer = await office.ask("POST", f"{JOBS}/tea/{what}")
        assert answer.status_code == 404
        assert CLEANUP in answer.json()["detail"], "it says which there are"


async def job(office: Office, name: str) -> dict[str, Any]:
    [found] = [one for one in (await office.ask("GET", JOBS)).json() if one["name"] == name]
    return found


# Webhooks.


async def add_hook(office: Office, **changes: Any) -> httpx.Response:
    body = {"name": "digest", "url": "https://hooks.example/in?token=abcdef", **changes}
    return await office.ask("POST", HOOKS, json=body)


@pytest.mark.proves("D-10")
async def test_a_webhooks_secret_is_shown_once_and_its_url_without_what_opens_doors(office):
    answer = await add_hook(office)
    assert answer.status_code == 201
    new = answer.json()
    assert (new["topics"], new["is_active"]) == (["items.new", "tweets.new", "alert"], True)
    shown = (await office.ask("GET", HOOKS)).text
    assert "digest" in shown
    for hidden in (new["secret"], "abcdef"):
        assert hidden not in shown
    for what in ("pause", "resume"):
        changed = await office.ask("POST", f"{HOOKS}/{new['id']}/{what}")
        assert changed.json()["is_active"] is (what == "resume")
        assert "abcdef" not in changed.text


async def test_a_webhook_that_cannot_be_is_refused(office):
    assert (await add_hook(office)).status_code == 201
    assert (await add_hook(office)).status_code == 409
    assert (await add_hook(office, name="n", topics=["weather"])).status_code == 422
    assert (await add_hook(office, name="n", topics=[])).status_code == 422
    assert (await add_hook(office, name=" ")).status_code == 422
    assert (await add_hook(office, name="n", url="http://10.0.0.1/")).status_code == 422
    assert (await add_hook(office, name="n", url="ftp://example.org/")).status_code == 422
    assert (await add_hook(office, name="n", url="http://10.0.0.1/", allow_private=True)).status_code == 201


@pytest.mark.proves("D-10")
async def test_a_delivery_can_be_seen_and_sent_again_under_its_id(office, site, clock):
    site.serve("", path="/hook", status=500)
    hook = (await add_hook(office, url=site.url("/hook"))).json()
    sent = (await office.ask("POST", f"{HOOKS}/{hook['id']}/ping")).json()
    await office.system.jobs.look_after(OUTBOX)
    [seen] = (await office.ask("GET", f"{HOOKS}/deliveries", params={"webhook_id": hook["id"]})).json()
    assert (seen["event_id"], seen["attempts"], seen["delivered_at"]) == (sent["event_id"], 1, None)
    assert "HTTP 500" in seen["last_error"]
    site.serve("", path="/hook")
    again = await office.ask("POST", f"{HOOKS}/deliveries/{seen['id']}/redeliver")
    assert (again.status_code, again.json()["event_id"]) == (202, sent["event_id"])
    await office.system.jobs.run_now(OUTBOX)

    async def delivered() -> str | None:
        return (await office.ask("GET", f"{HOOKS}/deliveries")).json()[0]["delivered_at"]

    await eventually(delivered)
    assert (await office.ask("GET", f"{HOOKS}/deliveries", params={"webhook_id": hook["id"] + 1})).json() == []


async def test_what_is_not_there_cannot_be_changed(office):
    for method, path in (
        ("DELETE", "/7"),
        ("POST", "/7/ping"),
        ("POST", "/7/pause"),
        ("POST", "/7/resume"),
        ("POST", "/deliveries/7/redeliver"),
    ):
        assert (await office.ask(method, HOOKS + path)).status_code == 404, path
    hook = (await add_hook(office)).json()
    assert (await office.ask("DELETE", f"{HOOKS}/{hook['id']}")).status_code == 200
    assert (await office.ask("GET", HOOKS)).json() == []
