"""The web application on a store of either kind, and on SQLite alone where the store does not matter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import httpx
import pytest
from argon2 import PasswordHasher
from argon2.profiles import CHEAPEST
from browser import CHROMIUM, Page, opened_page
from web_site import ADMIN_KEY, JWT_KEY, SERVICE_KEY, Site, served

from catchment.bootstrap import System, open_system
from catchment.clock import ManualClock
from catchment.manage import logins
from catchment.settings import Settings
from catchment.web.app import create_app


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least of work for a password: nobody guesses those of tests."""
    monkeypatch.setattr(logins, "PasswordHasher", lambda: PasswordHasher.from_parameters(CHEAPEST))


@pytest.fixture
async def site(store_url: str, clock: ManualClock) -> AsyncIterator[Site]:
    async with _opened(store_url, clock) as system, _site(system) as site:
        yield site


@pytest.fixture
async def lean_site(sqlite_url: str, clock: ManualClock) -> AsyncIterator[Site]:
    async with _opened(sqlite_url, clock) as system, _site(system) as site:
        yield site


@pytest.fixture
async def keyless_system(sqlite_url: str, clock: ManualClock) -> AsyncIterator[System]:
    """A first start: no key in the environment, no user, no key."""
    settings = Settings(database_url=sqlite_url, jwt_secret_key=JWT_KEY)
    async with open_system(settings, clock=clock) as system:
        yield system


@pytest.fixture
async def served_url(lean_site: Site, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """On a real socket, for a real browser or reader; what starts one has a target of its own."""
    assert {"browser", "readers"} & {mark.name for mark in request.node.iter_markers()}, (
        "mark it `browser` or `readers`"
    )
    async with served(lean_site.app) as url:
        yield url


@pytest.fixture
async def page(tmp_path: Path) -> AsyncIterator[Page]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    async with opened_page(tmp_path / "profile") as page:
        yield page


def _opened(url: str, clock: ManualClock) -> AbstractAsyncContextManager[System]:
    settings = Settings(database_url=url, port=0, api_key=SERVICE_KEY, admin_api_key=ADMIN_KEY, jwt_secret_key=JWT_KEY)
    return open_system(settings, clock=clock)


@asynccontextmanager
async def _site(system: System) -> AsyncIterator[Site]:
    app = create_app(system, look_seconds=0.02)
    alice = await system.accounts.add_user("alice@example.org", name="Alice")
    bob = await system.accounts.add_user("bob@example.org", name="Bob")
    keys = {
        "alice": (await system.accounts.create_key("laptop", user_id=alice.id)).secret,
        "bob": (await system.accounts.create_key("phone", user_id=bob.id)).secret,
        "service": SERVICE_KEY,
        "admin": ADMIN_KEY,
    }
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        yield Site(system=system, app=app, client=client, alice=alice, bob=bob, keys=keys)
