"""The web application with people around it: nobody, two users, the service and an admin."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx
from fastapi import FastAPI

from catchment.bootstrap import System
from catchment.domain.account import User
from catchment.domain.caller import Caller, Role
from catchment.domain.item import make_item
from catchment.domain.source import Source
from catchment.manage.catalog import Draft
from catchment.store import items
from catchment.web.app import create_app
from catchment.web.server import serve_app

SERVICE_KEY, ADMIN_KEY = "service-key-of-the-environment", "admin-key-of-the-environment"
JWT_KEY = "the key that signs the login tokens of the tests"


def with_settings(system: System, **changed: Any) -> System:
    """Another system on the same store; whoever has it ask somebody closes it."""
    return System(replace(system.settings, **changed), system.clock, system.store)


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """On a real socket, for a real browser."""
    stop = asyncio.Event()
    ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve_app(app, host="127.0.0.1", port=0, stop=stop, on_ready=ready.set_result))
    yield await ready
    stop.set()
    await task


@dataclass(frozen=True, kw_only=True)
class Site:
    system: System
    app: FastAPI
    client: httpx.AsyncClient
    alice: User
    bob: User
    #: By who: alice, bob, service, admin.
    keys: dict[str, str]

    async def ask(self, method: str, path: str, who: str | None = None, **options: Any) -> httpx.Response:
        headers = {**({"X-API-Key": self.keys[who]} if who else {}), **options.pop("headers", {})}
        if (body := options.pop("json", None)) is not None:
            # Escaped by hand: the client itself cannot send what no encoding can hold.
            options["content"] = json.dumps(body)
            headers["Content-Type"] = "application/json"
        return await self.client.request(method, path, headers=headers, **options)

    async def get(self, path: str, who: str | None = None, **options: Any) -> httpx.Response:
        return await self.ask("GET", path, who, **options)

    async def post(self, path: str, who: str | None = None, **options: Any) -> httpx.Response:
        return await self.ask("POST", path, who, **options)

    async def put(self, path: str, who: str | None = None, **options: Any) -> httpx.Response:
        return await self.ask("PUT", path, who, **options)

    async def delete(self, path: str, who: str | None = None, **options: Any) -> httpx.Response:
        return await self.ask("DELETE", path, who, **options)

    async def add_source(self, owner: User | None, name: str, *, public: bool = False, **values: Any) -> Source:
        draft = Draft(type="rss", config={"url": f"https://{name}.example/feed"}, name=name, is_public=public, **values)
        role = Role.USER if owner else Role.SERVICE
        return await self.system.catalog.add(draft, Caller(role=role, user_id=owner.id if owner else None))

    async def add_items(self, source: Source, *titles: str) -> None:
        found = [
            (source.id, make_item(native_id=title, title=title, url=f"https://x.example/{title}")) for title in titles
        ]
        await self.system.store.write(items.insert_new, found, now=self.system.clock.now())


@asynccontextmanager
async def where_this_machine_may_be_asked(site: Site, *, allowed: str = "127.0.0.1") -> AsyncIterator[Site]:
    """The same people and store, with strangers that the test plays itself."""
    system = with_settings(site.system, allow_networks=allowed)
    app = create_app(system, look_seconds=0.02)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://catchment.test") as client:
        yield replace(site, system=system, app=app, client=client)
    await system.close()
