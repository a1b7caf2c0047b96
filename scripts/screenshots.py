#!/usr/bin/env python3
"""Pictures of every page, for looking at: desktop and phone, light and dark, English and Chinese.

Three stores are shown: that of `catchment demo`, an empty one, and one with 10,000 sources after a day of
visits. The pages are those that the bar at the top leads to, with their tabs and the first thing that each lists, so
that a new page is in the pictures by itself. `--readme` makes the pictures of README and docs anew.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from playwright.async_api import Browser, Page, async_playwright
from sqlalchemy import Connection, bindparam, update

from catchment.bootstrap import System, open_system
from catchment.domain.alert import Alert
from catchment.domain.alert_rules import AlertRule, Severity
from catchment.domain.caller import OPERATOR
from catchment.domain.item import Item, make_item
from catchment.domain.source import PausedBy, Why
from catchment.logs import set_up_logs
from catchment.manage.catalog import Draft
from catchment.manage.feeds import FeedDraft
from catchment.settings import Settings
from catchment.store import alerts, items, tables
from catchment.store.bulk import BulkInsert
from catchment.web.app import create_app
from catchment.web.server import serve_app

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SIZES = {"desktop": (1280, 860), "phone": (390, 844)}
THEMES, LANGUAGES = ("light", "dark"), ("en", "zh")
ADMIN_KEY = "only-for-the-pictures-of-this-moment"
#: What README and docs show, by the name of the file: the address and the look.
SHOWN = {
    "dashboard.png": ("/", "desktop-light-en"),
    "dashboard.zh.png": ("/", "desktop-light-zh"),
    "source.png": ("first", "desktop-light-en"),
    "source.zh.png": ("first", "desktop-light-zh"),
    "sources.png": ("/sources", "desktop-light-en"),
    "items.zh.png": ("/items?q=咖啡", "desktop-dark-zh"),
    "feed.png": ("/feeds/new?q=boat", "desktop-light-en"),
    "platforms.png": ("/platforms", "desktop-dark-en"),
    "overview.phone.png": ("/", "phone-light-en"),
    "sources.phone.zh.png": ("/sources", "phone-dark-zh"),
}
#: What the large store is made of.
TYPES, TAGS = ("rss", "rss", "rss", "website", "sitemap"), ("news", "daily", "科技")
NAMES = (
    "Harbour Light {}",
    "河畔笔记 {}",
    "Hinterhof & Himmel {}",
    "Letters from a rather long way up the river, and from all that is on it {}",
)
TEXTS = (
    ("Mending a rowing boat by hand", "The trick is to leave the garden wall alone, and to come back with fresh eyes."),
    ("手冲咖啡｜日出之前的河湾", "雨从集市牌楼那边过来，铜铃亮得像一面镜子。有人在水闸边留下一只罗盘。"),
    ("What the weather vane taught us at low tide", "There is more than one way to carry a bee hotel."),
)
ERROR = "{0}.example answered HTTP 503 for https://{0}.example/feed: the server is in trouble: tried again later"
#: Of so many sources those with these remainders fail, for so long; every second of the latter is paused.
FAILING, _IN_TROUBLE, TROUBLE_HOURS = 2500, (5, 7), 8
_insert_visits = BulkInsert(
    tables.fetch_log, varying=("source_id", "started_at", "finished_at", "ok", "items", "inserted", "error")
)
#: What no list leads to.
BESIDE = ("/feeds/new", "/nowhere")
#: So often each source of the demo was visited on average before it is looked at, unless that takes longer.
ENOUGH_VISITS, PATIENCE_SECONDS = 2, 90
_ADDRESS = re.compile(rb"Catchment is at (http://\S+)")


@dataclass(frozen=True, kw_only=True)
class Look:
    size: str
    theme: str
    language: str

    @property
    def name(self) -> str:
        return f"{self.size}-{self.theme}-{self.language}"


@asynccontextmanager
async def demo() -> AsyncIterator[str]:
    """The address of a demo that has collected something."""
    with TemporaryDirectory() as home:
        environment = {**os.environ, "CATCHMENT_HOME": home, "ADMIN_API_KEY": ADMIN_KEY}
        command = (str(Path(sys.executable).parent / "catchment"), "demo", "--port", "0", "--sites", "40")
        process = await asyncio.create_subprocess_exec(*command, env=environment, stdout=asyncio.subprocess.PIPE)
        try:
            address = await _address_of(process)
            await _until_collected(address)
            yield address
        finally:
            process.terminate()
            await process.wait()


async def _address_of(process: asyncio.subprocess.Process) -> str:
    assert process.stdout
    async for line in process.stdout:
        if found := _ADDRESS.match(line):
            return found[1].decode()
    raise SystemExit("The demo did not start.")


async def _until_collected(address: str) -> None:
    async with httpx.AsyncClient(base_url=address, headers={"X-API-Key": ADMIN_KEY}, timeout=60) as client:
        for _ in range(PATIENCE_SECONDS):
            sources = (await client.get("/api/collector/status")).json()["sources"]
            if sources and sum(source["fetch_count"] for source in sources) >= ENOUGH_VISITS * len(sources):
                return
            await asyncio.sleep(1)


@asynccontextmanager
async def quiet_store(sources: int) -> AsyncIterator[str]:
    """A server over a store that nobody collects into."""
    with TemporaryDirectory() as home:
        settings = Settings(home=Path(home), port=0, admin_api_key=ADMIN_KEY)
        async with open_system(settings) as system:
            if sources:
                await fill(system, sources)
            stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
            serving = asyncio.create_task(
                serve_app(create_app(system), host="127.0.0.1", port=0, stop=stop, on_ready=ready.set_result)
            )
            yield await ready
            stop.set()
            await serving


async def fill(system: System, sources: int) -> None:
    """Sources of some types, as they are after a day of visits: most went well, a few fail, two were paused."""
    drafts = [
        Draft(
            type=TYPES[number % len(TYPES)],
            name=NAMES[number % len(NAMES)].format(number),
            config={"url": f"https://{number}.example/feed"},
            tags=TAGS[: number % 4],
            is_public=number % 40 == 0,
        )
        for number in range(1, sources + 1)
    ]
    for start in range(0, sources, 500):
        await system.catalog.add_many(drafts[start : start + 500], OPERATOR)
    await system.store.write(_fill_history, drafts, now=system.clock.now())
    await system.feeds.add(FeedDraft(slug="boats", title="Boats", filter={"q": "boat"}), OPERATOR)


def _fill_history(conn: Connection, drafts: Sequence[Draft], *, now: datetime) -> None:
    """The numbers of the sources are those of the drafts, from 1 on."""
    for hours in range(22, -1, -2):
        begin = now - timedelta(hours=hours)
        visits, found = [], []
        for number in range(1, len(drafts) + 1):
            at = begin - timedelta(seconds=number % 3000)
            if number % FAILING in _IN_TROUBLE and hours < TROUBLE_HOURS:
                visits.append((number, at, at + timedelta(seconds=4), False, 0, 0, ERROR.format(number)))
                continue
            brought = int((number + hours) % 10 == 0)
            visits.append((number, at, at + timedelta(seconds=1 + number % 3), True, 20, brought, None))
            found += [(number, _item(number, hours, at))] * brought
        _insert_visits(conn, visits)
        items.insert_new(conn, found, now=begin)
    state = [_state(number, now=now) for number in range(1, len(drafts) + 1)]
    conn.execute(update(tables.sources).where(tables.sources.c.id == bindparam("number")), state)
    broken = [
        Alert(
            rule=AlertRule.SOURCE_BROKEN,
            subject=str(number),
            severity=Severity.P2,
            message=f"{drafts[number - 1].name} is paused by errors: {ERROR.format(number)}",
            since=now - timedelta(hours=2),
            fired_at=now - timedelta(hours=2),
        )
        for number in range(1, len(drafts) + 1)
        if _is_paused(number)
    ]
    alerts.save(conn, broken, events={})


def _item(number: int, hours: int, at: datetime) -> Item:
    title, text = TEXTS[(number + hours) // 10 % len(TEXTS)]
    return make_item(
        native_id=str(hours),
        url=f"https://{number}.example/{hours}",
        title=title,
        author="Ada" if number % 3 else "",
        content=f"<p>{text}</p>",
        published_at=at - timedelta(hours=number % 7),
    )


def _is_paused(number: int) -> bool:
    return number % (2 * FAILING) == max(_IN_TROUBLE)


def _state(number: int, *, now: datetime) -> dict[str, Any]:
    last = now - timedelta(seconds=number % 3000)
    is_failing, is_paused = number % FAILING in _IN_TROUBLE, _is_paused(number)
    return {
        "number": number,
        "is_active": not is_paused,
        "paused_by": PausedBy.ERROR if is_paused else None,
        "last_fetched_at": last - timedelta(hours=TROUBLE_HOURS) if is_failing else last,
        "last_attempt_at": last,
        "fetch_count": 12,
        "fetch_error_count": 4 if is_failing else 0,
        "last_error": ERROR.format(number) if is_failing else None,
        "last_error_at": last if is_failing else None,
        "next_check_at": now + timedelta(hours=22 * is_paused, seconds=number % 3000),
        "next_check_why": Why.PROBE if is_paused else Why.BACK_OFF if is_failing else Why.INTERVAL,
    }


async def key_of_somebody(address: str) -> str:
    """Of an administrator who is a user, so that there is an account to look at."""
    async with httpx.AsyncClient(base_url=address, headers={"X-API-Key": ADMIN_KEY}, timeout=60) as client:
        answer = await client.post(
            "/api/admin/users", json={"email": "ada@example.org", "name": "Ada", "is_admin": True}
        )
        return str(answer.raise_for_status().json()["api_key"])


@asynccontextmanager
async def opened(browser: Browser, address: str, look: Look, key: str) -> AsyncIterator[Page]:
    width, height = SIZES[look.size]
    context = await browser.new_context(
        base_url=address,
        viewport={"width": width, "height": height},
        color_scheme=look.theme,  # type: ignore[arg-type]
        locale="zh-CN" if look.language == "zh" else "en-GB",
        device_scale_factor=1,
        # Who has no keys is told of none.
        has_touch=look.size == "phone",
        is_mobile=look.size == "phone",
        # What just changed is marked for seconds, which no picture should show.
        reduced_motion="reduce",
    )
    page = await context.new_page()
    if key:
        await page.goto("/signin")
        await page.locator("summary").click()
        await page.fill("#key", key)
        await page.locator("#key").press("Enter")
        await page.wait_for_url("**/")
    yield page
    await context.close()


async def pages_of(page: Page) -> list[str]:
    """Where the bar leads, with the tabs of each and the first thing that it lists."""
    found: dict[str, None] = {"/": None}
    for path in await _hrefs(page, "/", "#menu > a:not([hreflang]):not(.button)"):
        found[path] = None
        found.update(dict.fromkeys(await _hrefs(page, path, ".tabs a")))
    for path in list(found)[1:]:
        for one in (await _hrefs(page, path, "#main tbody [data-open], #main .items [data-open]"))[:1]:
            found[one] = None
            found.update(dict.fromkeys((await _hrefs(page, one, "a[data-edit]"))[:1]))
    return [*found, *BESIDE]


async def _hrefs(page: Page, path: str, selector: str) -> list[str]:
    await page.goto(path)
    hrefs = [str(await one.get_attribute("href")) for one in await page.locator(selector).all()]
    # A part of the same page is in its picture.
    return [href for href in hrefs if not href.startswith("#")]


async def look_at(page: Page, path: str, file: Path) -> None:
    await page.goto(path)
    await page.wait_for_timeout(150)
    await take_whole(page, file)
    wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        sys.stdout.write(f"{file.name}: {wide} pixels wider than the screen\n")


async def take_whole(page: Page, file: Path) -> None:
    """With a window as high as the page: else a bar at the bottom of the window would lie across the page, and what a
    phone is told would be what a desk is told.
    """
    size = page.viewport_size
    assert size
    height = await page.evaluate("document.documentElement.scrollHeight")
    await page.set_viewport_size({"width": size["width"], "height": max(height, size["height"])})
    await page.screenshot(path=file)
    await page.set_viewport_size(size)


async def take_all(browser: Browser, address: str, state: str, folder: Path, looks: Sequence[Look]) -> None:
    key = await key_of_somebody(address)
    plain = looks[0]
    async with opened(browser, address, plain, key) as page:
        paths = await pages_of(page)
    for look in looks:
        async with opened(browser, address, look, "") as page:
            await look_at(page, "/signin", folder / f"{state}-signin-{look.name}.png")
            await look_at(page, "/", folder / f"{state}-stranger-{look.name}.png")
        async with opened(browser, address, look, key) as page:
            for path in paths:
                await look_at(page, path, folder / f"{state}-{_named(path)}-{look.name}.png")
            if state == "demo":
                await page.goto("/sources")
                await page.locator("textarea[name=pasted]").fill("https://nowhere.example/\n@handle\nnot an address")
                await page.locator("textarea[name=pasted]").press("Enter")
                await page.locator("[data-ready]").wait_for()
                await take_whole(page, folder / f"{state}-paste-{look.name}.png")


def _named(path: str) -> str:
    return path.strip("/").partition("?")[0].replace("/", "-") or "overview"


async def take_for_readme(browser: Browser, address: str) -> None:
    key = await key_of_somebody(address)
    for name, (path, look_name) in SHOWN.items():
        size, theme, language = look_name.split("-")
        look = Look(size=size, theme=theme, language=language)
        async with opened(browser, address, look, key) as page:
            first = await _hrefs(page, "/sources?sort=name", "#rows [data-open]")
            await page.goto(first[0] if path == "first" else path)
            await page.wait_for_timeout(300)
            await page.screenshot(path=ROOT / "docs" / name)


async def main() -> None:
    set_up_logs(level="ERROR", form="text")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "screenshots", help="the folder")
    parser.add_argument("--sources", type=int, default=10_000, help="how many the large store has")
    parser.add_argument("--of", nargs="+", default=["demo", "empty", "many"], help="of these stores alone")
    parser.add_argument("--looks", default="", help="only those that begin so, such as phone-dark")
    parser.add_argument("--readme", action="store_true", help="only the pictures of the README")
    given = parser.parse_args()
    if CHROMIUM is None:
        raise SystemExit("No Chromium on this machine: install the package chromium.")
    every = [Look(size=size, theme=theme, language=one) for size, theme, one in product(SIZES, THEMES, LANGUAGES)]
    looks = [look for look in every if look.name.startswith(given.looks)]
    stores = {"demo": demo, "empty": partial(quiet_store, 0), "many": partial(quiet_store, given.sources)}
    given.to.mkdir(parents=True, exist_ok=True)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        if given.readme:
            async with demo() as address:
                await take_for_readme(browser, address)
            return
        for state in given.of:
            async with stores[state]() as address:
                await take_all(browser, address, state, given.to, looks)
    sys.stdout.write(f"The pictures are in {given.to}.\n")


if __name__ == "__main__":
    asyncio.run(main())
