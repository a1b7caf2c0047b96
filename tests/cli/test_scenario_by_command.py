"""`catchment demo --scenario cookies`, as a process of its own: alerts fire, are told, and resolve."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import aiohttp
import pytest
from command import Command, Process, Start

from catchment.domain.alert_rules import AlertRule
from eventually import eventually
from planted import planted_cookie

READY = "Catchment is at "
ADMIN = {"X-API-Key": "sesame"}
EXPECTED = {AlertRule.COOKIE_EXHAUSTED: "P0", AlertRule.API_SUCCESS_RATE_LOW: "P1", AlertRule.PROCESSING_BACKLOG: "P2"}


class Watcher:
    """Looks at the inbox and at the API from outside."""

    def __init__(self, browser: aiohttp.ClientSession, *, api: str, inbox: str) -> None:
        self._browser = browser
        self._api = api
        self._inbox = inbox

    async def letters(self) -> list[dict[str, Any]]:
        """What was posted about the three rules, in its order."""
        posted = await self._get(self._inbox)
        return [letter["said"] for letter in posted["letters"] if letter["said"]["alert"] in EXPECTED]

    async def alerts(self, state: str) -> dict[str, str]:
        """Those of the three rules that are open, or were of late, with their severities."""
        shown = (await self._get(f"{self._api}/api/alerts"))[state]
        return {alert["rule"]: alert["severity"] for alert in shown if alert["rule"] in EXPECTED}

    async def are_told(self, state: str) -> bool:
        return {letter["alert"] for letter in await self.letters() if letter["state"] == state} == EXPECTED.keys()

    async def _get(self, url: str) -> Any:
        async with self._browser.get(url, headers=ADMIN) as answer:
            assert answer.status == 200
            return await answer.json()


async def started(start: Start, *words: str) -> tuple[Process, str, str]:
    """The demo with its address and that of its inbox."""
    process = await start("demo", "--port", "0", "--sites", "2", *words, ADMIN_API_KEY="sesame")
    inbox = (await process.says("Alerts are posted to")).partition("http")[2].partition(",")[0]
    url = (await process.says(READY)).removeprefix(READY)
    return process, url, f"http{inbox}"


@pytest.mark.docs
@pytest.mark.proves("E-12", "F-02")
async def test_cookies_die_alerts_fire_new_cookies_come_and_the_alerts_resolve(start: Start) -> None:
    process, url, inbox = await started(start, "--scenario", "cookies", "--speed", "600")
    async with aiohttp.ClientSession() as browser:
        watcher = Watcher(browser, api=url, inbox=inbox)

        async def all_fire() -> bool:
            return await watcher.alerts("open") == EXPECTED

        async def ends_are_told() -> bool:
            return await watcher.are_told("resolved")

        await eventually(all_fire)
        await eventually(ends_are_told)
        await process.says("That was all.")
        assert await watcher.alerts("open") == {}
        assert await watcher.alerts("recent") == EXPECTED
        told = Counter((letter["alert"], letter["state"], letter["severity"]) for letter in await watcher.letters())
        assert told == Counter((rule, state, EXPECTED[rule]) for rule in EXPECTED for state in ("firing", "resolved"))
    process.signal(signal.SIGINT)
    assert await process.ends() == 0
    said = "".join(process.said)
    for sentence in ("logs out demo-xhs-1", "COOKIE_EXHAUSTED fires", "has a new value now", "BACKLOG is resolved"):
        assert sentence in said
    assert "Traceback" not in said
    assert "web_session" not in said


@pytest.mark.docs
@pytest.mark.proves("A-12")
async def test_a_scenario_that_is_stopped_in_the_middle_ends_cleanly(start: Start) -> None:
    process, *_ = await started(start, "--scenario", "cookies", "--speed", "600")
    await process.says("has a new value now")
    process.signal(signal.SIGTERM)
    assert await process.ends() == 0
    assert "Traceback" not in "".join(process.said)


def test_a_demo_keeps_away_from_cookies_that_are_not_its_own(catchment: Command) -> None:
    key = {"COOKIE_MASTER_KEY": "a test passphrase of more than 32 characters"}
    words = ("cookies", "add", "--name", "mine", "--platform", "xhs")
    added = catchment(*words, stdin=planted_cookie(), **key)
    assert added.exit_code == 0, added.output
    refused = catchment("demo", "--port", "0", "--sites", "1", **key)
    assert refused.exit_code == 1
    assert "mine" in refused.stderr
    assert "another" in refused.stderr
