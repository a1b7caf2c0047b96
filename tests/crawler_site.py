"""The crawler and its API on a simulated Xiaohongshu and Weibo, with cookies in its pool."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import httpx

from catchment.bootstrap import System, open_system
from catchment.clock import Clock
from catchment.domain.note import NoteRef, Platform, Search
from catchment.settings import Settings
from catchment.simulator.server import SimulatedWeb
from catchment.simulator.services.weibo import WeiboService
from catchment.simulator.services.xhs import XhsService
from catchment.simulator.world import World
from catchment.web.app import create_app
from planted import MARKER

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ADMIN_KEY, SERVICE_KEY = "admin-key-of-the-environment", "service-key-of-the-environment"
MASTER_KEY = "a passphrase that is long enough for anybody"


def session_of(name: str) -> str:
    """By this the simulated platforms know a cookie."""
    return f"{MARKER}-of-{name}"


def cookie_value(name: str, platform: Platform = Platform.XHS) -> str:
    if platform is Platform.XHS:
        return f"a1=18c5{'0' * 48}; web_session={session_of(name)}; webId=4f5e6d7c8b9a"
    return f"SUB={session_of(name)}; SSOLoginState=1772366400; WBPSESS=x"


@dataclass(frozen=True, kw_only=True)
class CrawlerSite:
    system: System
    client: httpx.AsyncClient
    xhs: XhsService
    weibo: WeiboService
    keys: dict[str, str]

    async def ask(self, method: str, path: str, who: str | None = "reader", **options: Any) -> httpx.Response:
        headers = {**({"X-API-Key": self.keys[who]} if who else {}), **options.pop("headers", {})}
        return await self.client.request(method, path, headers=headers, **options)

    async def post(self, path: str, body: Any = None, who: str | None = "reader", **options: Any) -> httpx.Response:
        return await self.ask("POST", path, who, json=body, **options)

    async def get(self, path: str, who: str | None = "reader", **options: Any) -> httpx.Response:
        return await self.ask("GET", path, who, **options)

    async def add_cookies(self, *names: str, platform: Platform = Platform.XHS) -> None:
        """The first is the first to be lent."""
        for name in names:
            await self.system.cookies.add(name, platform, cookie_value(name, platform))

    async def refs(self, count: int, platform: Platform = Platform.XHS) -> list[NoteRef]:
        page = (await self.system.reader.search(platform, Search(keyword="咖啡"))).result()
        return [card.ref for card in page.cards[:count]]

    def url_of(self, ref: NoteRef) -> str:
        return f"https://www.xiaohongshu.com/explore/{ref.note_id}?xsec_token={ref.token}&xsec_source=pc_search"

    async def urls(self, count: int) -> list[str]:
        return [self.url_of(ref) for ref in await self.refs(count)]


@asynccontextmanager
async def crawler_site(store_url: str, clock: Clock, **settings: Any) -> AsyncIterator[CrawlerSite]:
    """In no hurry-sparing mood: requests go out side by side and without a pause, unless the settings say so."""
    world = World(seed=1, sites=1, started_at=START)
    xhs, weibo = XhsService(world), WeiboService(world)
    places = {"/api/sns": xhs, "/explore": xhs, "/website-login": xhs, **weibo.places()}
    async with SimulatedWeb(world, hosts=0, now=clock.now, places=places) as web:
        usual: dict[str, Any] = {
            "database_url": store_url,
            "allow_networks": "127.0.0.1",
            "api_key": SERVICE_KEY,
            "admin_api_key": ADMIN_KEY,
            "cookie_master_key": MASTER_KEY,
            "crawl_spacing_seconds": 0.0,
            "crawl_at_once": 10,
            "xhs_base_url": web.url(""),
            "xhs_site_url": web.url(""),
            "weibo_base_url": web.url(""),
        }
        async with open_system(Settings(**{**usual, **settings}), clock=clock) as system:
            reader = await system.accounts.add_user("reader@example.org", name="Reader")
            key = (await system.accounts.create_key("laptop", user_id=reader.id)).secret
            transport = httpx.ASGITransport(create_app(system))
            async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
                keys = {"reader": key, "admin": ADMIN_KEY, "service": SERVICE_KEY}
                yield CrawlerSite(system=system, client=client, xhs=xhs, weibo=weibo, keys=keys)
