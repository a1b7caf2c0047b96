"""What goes wrong in the demo, and is put right again: plays that go on by themselves and say what happens."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from catchment.cli.demo_cookies import COOKIES, give_cookie
from catchment.cli.printing import say
from catchment.domain.alert import Alert, Rule
from catchment.domain.caller import OPERATOR
from catchment.domain.cookie import CookieStatus
from catchment.domain.note import Platform
from catchment.errors import Conflict

if TYPE_CHECKING:
    from catchment.bootstrap import System
    from catchment.simulator.services.xhs import XhsService

T = TypeVar("T")

#: In the order of how soon each fires.
RULES: Final = (Rule.COOKIE_EXHAUSTED, Rule.API_SUCCESS_RATE_LOW, Rule.PROCESSING_BACKLOG)
#: So many notes are collected before anything goes wrong.
PEACEFUL_NOTES: Final = 5
LOOK_SECONDS: Final = 0.1
#: Nobody who watches wants to wait until it is time for a job that could as well be run by hand.
HURRY_SECONDS: Final = 0.5
#: So long all that fires can be looked at together.
SHOW_SECONDS: Final = 3.0


class Scenario(StrEnum):
    COOKIES = "cookies"


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieTrouble:
    """The cookies of Xiaohongshu die one after the other, what follows from that is told, and new ones end it."""

    system: System
    xhs: XhsService
    inbox: str

    async def play(self) -> None:
        from catchment.collect.beside import beside

        await self._begin()
        async with beside(self._hurry()):
            for name in COOKIES[Platform.XHS]:
                await self._lose(name)
            for rule in RULES:
                fires = await self._until(partial(self._alert, rule, is_open=True))
                _tell(f"{fires.severity} {rule} fires: {fires.message}")
            await asyncio.sleep(SHOW_SECONDS)
            await self._replace_all()
            async with asyncio.TaskGroup() as crawling:
                crawling.create_task(self._crawl())
                for rule in RULES:
                    over = await self._until(partial(self._alert, rule, is_open=False))
                    _tell(f"{over.severity} {rule} is resolved.")
            _tell(f"That was all. {self.inbox} shows every letter that was sent; the demo goes on until stopped.")

    async def _begin(self) -> None:
        _tell(f"Alerts are posted to {self.inbox}, and shown on the dashboard.")
        await self._until(self._is_collecting)
        _tell(f"{len(COOKIES[Platform.XHS])} cookies take turns at collecting what is found on Xiaohongshu.")

    async def _lose(self, name: str) -> None:
        from catchment.simulator.services.crawl import Kind

        self.xhs.trouble(Kind.LOGIN_EXPIRED, cookie=name)
        _tell(f"Xiaohongshu logs out {name}: its requests fail, and others take over.")
        status = await self._until(partial(self._lost_status, name))
        _tell(f"{name} has failed too often in a row, and is {status} from now on.")

    async def _replace_all(self) -> None:
        for name in COOKIES[Platform.XHS]:
            await give_cookie(self.system, Platform.XHS, name, session=f"{name}-renewed")
        _tell("Every cookie has a new value now, as `catchment cookies add` gives it, and the backlog is crawled.")

    async def _crawl(self) -> None:
        crawl = self.system.crawl
        await crawl.run(await crawl.keywords(platform=Platform.XHS), on_result=lambda _: None)

    async def _hurry(self) -> None:
        """Look for alerts, and deliver what is told of them, over and over."""
        from catchment.collect.duties import ALERTS, OUTBOX

        while True:
            for job in (ALERTS, OUTBOX):
                with suppress(Conflict):
                    await self.system.jobs.run_now(job)
            await asyncio.sleep(HURRY_SECONDS)

    async def _is_collecting(self) -> bool:
        used = [cookie.total_used for cookie in await self.system.cookies.list(Platform.XHS)]
        return sum(used) >= PEACEFUL_NOTES

    async def _lost_status(self, name: str) -> CookieStatus | None:
        status = (await self.system.cookies.get(name)).status
        return None if status is CookieStatus.ACTIVE else status

    async def _alert(self, rule: Rule, *, is_open: bool) -> Alert | None:
        from catchment.monitor.alerting import list_alerts

        shown = await self.system.store.read(list_alerts, OPERATOR, now=self.system.clock.now())
        return next((alert for alert in shown if alert.rule is rule and alert.is_open is is_open), None)

    async def _until(self, ask: Callable[[], Awaitable[T | None]]) -> T:
        while True:
            if answer := await ask():
                return answer
            await asyncio.sleep(LOOK_SECONDS)


def _tell(sentence: str) -> None:
    say(f"▸ {sentence}")
