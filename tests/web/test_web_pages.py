"""The pages, as a browser gets them and, where there is one, as it shows them."""

from __future__ import annotations

import html
import re

import pytest
from browser import Page
from fastapi import HTTPException, Request
from web_site import Site

from catchment.domain.caller import OPERATOR, Caller
from catchment.domain.item import make_item
from catchment.manage.catalog import Draft
from catchment.store import items
from catchment.web import auth
from catchment.web.dashboard import percent
from catchment.web.routes.dashboard import MAX_ROWS


async def test_a_stranger_sees_public_sources_and_how_to_sign_in(lean_site: Site):
    await lean_site.add_source(lean_site.alice, "hidden")
    await lean_site.add_source(None, "open", public=True)
    page = await lean_site.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["cache-control"] == "no-store"
    assert "open" in page.text
    assert "hidden.example" not in page.text
    assert ">hidden<" not in page.text
    assert '<a href="/signin">Sign in to see the rest.</a>' in page.text


async def test_a_stranger_is_not_told_to_add_a_first_source_where_others_have_theirs(lean_site: Site):
    await lean_site.add_source(lean_site.alice, "hidden")
    text = (await lean_site.get("/")).text
    assert text.count("No source is public.") == 2, "under the heading, and where they would be"
    assert '<p class="lede" id="lede">No source is public.</p>' in (await lean_site.get("/sources")).text
    assert "Paste an address" not in text
    assert "Paste an address" in (await lean_site.get("/", "bob")).text, "whoever is known may add one"


async def test_the_page_has_tiles_sources_with_their_reason_and_latest_items(site: Site):
    source = await site.add_source(site.alice, "feed")
    await site.add_items(source, "an item")
    text = (await site.get("/", "alice")).text
    assert "Signed in as Alice" in text
    for words in ("New items", "all active", "Collector", "Not running", "as soon as the collector looks", "an item"):
        assert words in text
    assert re.search(r'href="/items/\d+">an item<', text)
    assert "/signout" in text


def test_a_rate_is_told_as_all_only_where_it_is_all():
    told = [percent(119_968, 120_000), percent(9_996, 10_000), percent(7, 7), percent(0, 7), percent(0, 0)]
    assert told == ["99.9%", "99.9%", "100.0%", "0.0%", "–"]


def test_a_rate_is_rounded():
    told = [percent(21, 27), percent(2, 3), percent(1, 3), percent(57, 100), percent(1, 16)]
    assert told == ["77.8%", "66.7%", "33.3%", "57.0%", "6.3%"]


@pytest.mark.parametrize(
    ("path", "accept", "words"),
    [
        ("/", "zh-CN,zh;q=0.9", "最新条目"),
        ("/?lang=zh", "en", "最新条目"),
        ("/?lang=en", "zh", "Latest items"),
        ("/signin", "zh", "API 密钥"),
    ],
)
async def test_pages_speak_english_and_chinese(lean_site: Site, path: str, accept: str, words: str):
    page = await lean_site.get(path, headers={"Accept-Language": accept})
    assert words in page.text


async def test_what_strangers_wrote_is_text_on_our_page_and_never_a_script(lean_site: Site):
    source = await lean_site.add_source(None, "feed", public=True)
    evil = [
        make_item(native_id="1", title="<script>alert(1)</script>", url="javascript:alert(1)"),
        make_item(
            native_id="2", title='"><img src=x onerror=alert(1)>', url='https://x.example/"onmouseover="alert(1)'
        ),
        make_item(native_id="3", title="data", url="data:text/html,<script>alert(1)</script>"),
        make_item(native_id="4", title="broken", url="http://[::1"),
    ]
    await lean_site.system.store.write(
        items.insert_new, [(source.id, item) for item in evil], now=lean_site.system.clock.now()
    )
    text = (await lean_site.get("/")).text
    assert "<script>alert" not in text
    assert "<img" not in text
    assert 'href="javascript' not in text
    assert 'href="data' not in text
    assert '"onmouseover="' not in text
    assert html.escape("<script>alert(1)</script>") in text


async def test_the_page_needs_nothing_from_elsewhere_and_no_inline_script(lean_site: Site):
    text = (await lean_site.get("/")).text
    assert not re.search(r"<script(?![^>]*src=)", text)
    assert not re.search(r"\sstyle=|\son\w+=", text)
    for address in re.findall(r'(?:src|href)="([^"]+)"', text):
        assert address.startswith(("/", "?", "#")), address
    for path in re.findall(r'"(/static/[^"]+)"', text):
        assert (await lean_site.get(path)).status_code == 200


async def test_with_very_many_sources_the_page_stays_light_and_says_how_many_more(lean_site: Site):
    drafts = [
        Draft(type="rss", config={"url": f"https://s{number}.example/feed"}, is_public=True) for number in range(2000)
    ]
    await lean_site.system.catalog.add_many(drafts, OPERATOR)
    page = await lean_site.get("/")
    assert page.text.count("data-row") == MAX_ROWS
    assert "All 2,000 sources" in page.text
    assert len(page.content) < 60_000


TITLES = "[...document.querySelectorAll('.items a')].map((link) => link.textContent).join()"


@pytest.mark.browser
@pytest.mark.proves("F-06")
@pytest.mark.parametrize(
    ("lang", "live", "heading", "colours", "ink"),
    [
        ("en", "live", "Latest items", "light", "rgb(24, 33, 31)"),
        ("zh", "实时", "最新条目", "dark", "rgb(228, 234, 231)"),
    ],
)
async def test_a_browser_shows_the_page_and_is_told_news_live(
    lean_site: Site, served_url: str, page: Page, lang: str, live: str, heading: str, colours: str, ink: str
):
    source = await lean_site.add_source(None, "feed", public=True)
    await lean_site.add_items(source, "before")
    await page.prefer(colours)
    await page.open(f"{served_url}/?lang={lang}")
    assert await page.until("document.querySelector('#live.live')?.textContent") == live
    assert await page.evaluate(TITLES) == "before"
    assert heading in await page.evaluate("document.body.innerText")
    assert await page.evaluate("getComputedStyle(document.body).color") == ink

    await lean_site.add_items(source, "after")
    assert await page.until(f"{TITLES}.includes('after') && {TITLES}") == "after,before"
    assert await page.evaluate("document.querySelector('td.number').textContent") == "2"


@pytest.mark.browser
@pytest.mark.proves("F-06")
async def test_a_browser_that_was_refused_listens_again(
    lean_site: Site, served_url: str, page: Page, monkeypatch: pytest.MonkeyPatch
):
    """As by a proxy while the server behind it restarts."""
    refusals, resolve = iter(range(2)), auth.resolve_caller

    async def refused_at_first(request: Request) -> Caller:
        if request.url.path == "/api/events" and next(refusals, None) is not None:
            raise HTTPException(502)
        return await resolve(request)

    monkeypatch.setattr(auth, "resolve_caller", refused_at_first)
    source = await lean_site.add_source(None, "feed", public=True)
    await page.open(served_url)
    await page.until("document.querySelector('#live.reconnecting')")
    await page.until("document.querySelector('#live.live')")
    assert next(refusals, None) is None
    await lean_site.add_items(source, "after")
    assert await page.until(f"{TITLES}.includes('after') && {TITLES}") == "after"


@pytest.mark.browser
async def test_a_browser_signs_in_with_a_key_and_out_again(lean_site: Site, served_url: str, page: Page):
    await lean_site.add_source(lean_site.alice, "hers")
    await page.open(f"{served_url}/signin")
    await page.until("document.querySelector('#key')")
    key = lean_site.keys["alice"]
    await page.evaluate(
        f"document.querySelector('#key').value = '{key}', document.querySelector('#key').form.requestSubmit()"
    )
    assert await page.until("document.querySelector('tbody .name')?.textContent") == "hers"
    await page.evaluate("document.querySelector('nav button').click()")
    assert await page.until("document.querySelector('.hint')?.textContent")
    assert await page.evaluate("document.querySelectorAll('tbody tr').length") == 0


@pytest.mark.browser
async def test_what_strangers_wrote_does_not_run_in_a_browser(lean_site: Site, served_url: str, page: Page):
    source = await lean_site.add_source(None, "feed", public=True)
    await page.open(served_url)
    await page.until("document.querySelector('#live.live')")
    evil = make_item(native_id="1", title="<img src=x onerror='window.ran = 1'>", url="javascript:window.ran = 1")
    await lean_site.system.store.write(items.insert_new, [(source.id, evil)], now=lean_site.system.clock.now())
    await page.until("document.querySelector('.items a')")
    await page.evaluate("document.querySelector('.items a').click()")
    assert await page.evaluate("window.ran") is None
    assert await page.evaluate("document.querySelector('.items a').hasAttribute('href')") is False


@pytest.mark.proves("G-11")
@pytest.mark.parametrize(("language", "told"), [("en", "There is no page at this address"), ("zh", "这个地址没有页面")])
async def test_an_address_that_leads_nowhere_is_told_in_plain_words(lean_site: Site, language: str, told: str):
    for path, status in (("/sources/abc", 404), ("/items/0", 404), ("/alerts/act", 405), ("/nowhere", 404)):
        page = await lean_site.get(f"{path}?lang={language}", "alice", headers={"Accept": "text/html"})
        assert (page.status_code, told in page.text) == (status, True), path
    assert (await lean_site.get("/sources/abc", "alice")).status_code == 422
    headers = {"Accept": "text/html", "Referer": "http://catchment.test/sources"}
    sent = await lean_site.post("/sources/import", "alice", files={"file": b"x" * 2_000_000}, headers=headers)
    page = await lean_site.get(f"{sent.headers['location']}?lang={language}", "alice")
    assert {"en": "larger than 1 MB", "zh": "发送的内容超过 1 MB 的上限"}[language] in page.text
