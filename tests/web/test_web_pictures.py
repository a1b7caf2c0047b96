"""The pictures in what is read: through our guarded client, by an address that we signed, for who may see the item."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator

import pytest
from aiohttp import web
from browser import CHROMIUM
from playwright.async_api import async_playwright
from web_site import Site, served
from web_site import where_this_machine_may_be_asked as reader

from catchment.domain.item import make_item
from catchment.manage import items as reading
from catchment.store import items
from feed_site import FeedSite

GIF = bytes.fromhex("47494638396101000100800000ff0000ffffff21f90400000000002c00000000010001000002024401003b")
STARTS = {
    "image/png": b"\x89PNG\r\n\x1a\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": GIF,
    "image/webp": b"RIFF\x1a\x0a\x00\x00WEBPVP8 ",
    "image/avif": b"\x00\x00\x00\x1cftypavif",
}


@pytest.fixture
async def stranger() -> AsyncIterator[FeedSite]:
    async with FeedSite() as stranger:
        yield stranger


def hang_up(stranger: FeedSite, path: str, body: bytes, said: str = "image/png") -> str:
    """A picture at a stranger's wall."""

    async def answer(_: web.Request) -> web.StreamResponse:
        return web.Response(body=body, content_type=said)

    return stranger.script(answer, path=path)


async def hang_item(site: Site, *addresses: str) -> int:
    """An item of Alice's that shows these pictures."""
    source = await site.add_source(site.alice, f"wall{len(addresses)}")
    text = "<p>Look:</p>" + "".join(f'<img src="{html.escape(one)}" alt="a cat">' for one in addresses)
    await site.system.store.write(
        items.insert_new,
        [(source.id, make_item(native_id="1", title="Pictures", content=text))],
        now=site.system.clock.now(),
    )
    [listed] = (await site.get(f"/api/items?source_id={source.id}", "alice")).json()["items"]
    return int(listed["id"])


async def pictures_on(site: Site, item: int) -> list[str]:
    page = (await site.get(f"/items/{item}", "alice")).text
    return [html.unescape(one) for one in re.findall(r'<img src="([^"]+)"', page)]


@pytest.mark.proves("G-06")
@pytest.mark.parametrize("kind", STARTS)
async def test_a_picture_is_fetched_by_us_once_and_is_what_it_begins_as(lean_site: Site, stranger: FeedSite, kind: str):
    # What it says of itself does not count.
    address = hang_up(stranger, "/cat", STARTS[kind], "text/html")
    async with reader(lean_site) as site:
        item = await hang_item(site, address)
        [shown] = await pictures_on(site, item)
        assert shown.startswith("/pictures/")
        for _ in range(2):
            answer = await site.get(shown, "alice")
            assert (answer.status_code, answer.headers["content-type"]) == (200, kind)
            assert answer.content == STARTS[kind]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert "sandbox" in answer.headers["content-security-policy"]
            assert answer.headers["cache-control"].startswith("private")
    assert stranger.hits == {"/cat": 1}
    assert "Cookie" not in stranger.requests[0].headers
    assert "Referer" not in stranger.requests[0].headers


@pytest.mark.proves("G-06", "R-17")
async def test_no_address_is_asked_that_we_did_not_sign_and_nobody_sees_the_picture_of_what_they_may_not_read(
    lean_site: Site, stranger: FeedSite
):
    address, other = hang_up(stranger, "/cat", GIF), hang_up(stranger, "/other", GIF)
    async with reader(lean_site) as site:
        item, next_item = await hang_item(site, address), await hang_item(site, other, other)
        [shown] = await pictures_on(site, item)
        signature = shown.split("/")[2]
        for forged in (
            f"/pictures/{signature}/{item}?url={other}",
            f"/pictures/{signature}/{next_item}?url={address}",
            f"/pictures/{'0' * 64}/{item}?url={address}",
            f"/pictures/é/{item}?url={address}",
        ):
            assert (await site.get(forged, "admin")).status_code == 404, forged
        assert (await site.get(shown, "bob")).status_code == 404
        assert (await site.get(shown)).status_code == 303
    assert not stranger.hits


@pytest.mark.proves("A-14", "G-06")
async def test_what_is_no_picture_too_large_gone_or_in_a_private_network_is_refused(
    lean_site: Site, stranger: FeedSite, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reading, "MAX_PICTURE_BYTES", 100)
    bad = (
        hang_up(stranger, "/page", b"<script>window.ran=1</script>", "image/png"),
        hang_up(stranger, "/drawing", b"<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "image/svg+xml"),
        hang_up(stranger, "/large", GIF * 10),
        hang_up(stranger, "/nothing", b""),
        stranger.url("/gone"),
        "http://169.254.169.254/latest/meta-data",
    )
    async with reader(lean_site) as site:
        for shown in await pictures_on(site, await hang_item(site, *bad)):
            answer = await site.get(shown, "alice")
            assert answer.status_code == 404, shown
            assert "cannot be shown" in answer.json()["error"]
    stranger.hits.clear()
    async with reader(lean_site, allowed="") as site:
        for shown in await pictures_on(site, await hang_item(site, hang_up(stranger, "/cat", GIF), *bad)):
            assert (await site.get(shown, "alice")).status_code == 404, shown
    assert not stranger.hits


@pytest.mark.proves("G-06")
async def test_what_is_kept_at_hand_has_a_bound(lean_site: Site, stranger: FeedSite, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reading, "MAX_KEPT_BYTES", 2 * len(GIF))
    addresses = [hang_up(stranger, f"/{number}", GIF) for number in range(3)]
    async with reader(lean_site) as site:
        shown = await pictures_on(site, await hang_item(site, *addresses))
        for one in (*shown, shown[2], shown[0]):
            assert (await site.get(one, "alice")).status_code == 200
    assert stranger.hits == {"/0": 2, "/1": 1, "/2": 1}


@pytest.mark.browser
@pytest.mark.proves("G-06", "G-11")
async def test_a_browser_without_scripts_shows_the_picture_and_asks_only_us(lean_site: Site, stranger: FeedSite):
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    async with reader(lean_site) as site, served(site.app) as url, async_playwright() as playwright:
        item = await hang_item(site, hang_up(stranger, "/cat", GIF))
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = await browser.new_page(base_url=url, java_script_enabled=False)
        asked: list[str] = []
        tab.on("request", lambda request: asked.append(request.url))
        await tab.goto("/signin")
        await tab.locator("summary").click()
        await tab.fill("#key", site.keys["alice"])
        await tab.locator("#key").press("Enter")
        await tab.goto(f"/items/{item}", wait_until="networkidle")
        # The size is the picture's own: it came, and what it said in its place would be wider.
        box = await tab.locator(".prose img").bounding_box()
        assert box
        assert (box["width"], box["height"]) == (1, 1)
        assert [one for one in asked if not one.startswith(url)] == []
        await browser.close()
    assert stranger.hits == {"/cat": 1}
