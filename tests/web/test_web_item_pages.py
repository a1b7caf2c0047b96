"""The pages of items, feeds and digests: without scripts by plain forms, and in a browser where they move."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest
from browser import CHROMIUM
from playwright.async_api import Browser, ViewportSize, async_playwright, expect
from playwright.async_api import Page as Tab
from web_site import Site

from catchment.clock import ManualClock, iso
from catchment.domain.caller import OPERATOR
from catchment.domain.feed import DigestType, NewDigest
from catchment.domain.item import Item, make_item
from catchment.domain.source import Source
from catchment.manage.catalog import Change
from catchment.manage.feeds import FeedDraft
from catchment.store import digests, items, search
from catchment.web.csrf import SESSION_COOKIE, TOKEN_FIELD, token_of
from catchment.web.routes import feed_pages
from catchment.web.routes.item_pages import PAGE_ITEMS, excerpt_of, pattern_of

HOSTILE = '"><script>window.ran=1</script><img src=x onerror=window.ran=1>{{7*7}}'
HOSTILE_HTML = (
    '<p onclick="window.ran=1">said <script>window.ran=1</script><img src="https://spy.example/p.gif" alt="a cat"'
    ' onerror="window.ran=1"><a href="javascript:window.ran=1">go</a><a href="https://b.example/"><img'
    ' src="https://spy.example/q.gif"></a></p><video src="https://spy.example/v.mp4" poster="https://spy.example/w.jpg">'
    '</video><iframe src="https://spy.example/"></iframe><h1>Heading</h1><style>body{display:none}</style>'
    "<form action=/signout method=post><button>x</button></form>"
)


@pytest.fixture
async def alices(lean_site: Site) -> Site:
    """Her browser is signed in."""
    answer = await lean_site.post("/signin", data={"key": lean_site.keys["alice"]})
    assert answer.status_code == 303
    return lean_site


async def send(site: Site, path: str, **fields: Any) -> httpx.Response:
    token = {TOKEN_FIELD: token_of(site.client.cookies[SESSION_COOKIE])}
    return await site.post(path, data={**token, **fields}, headers={"Accept": "text/html,*/*"})


async def keep(site: Site, source: Source, *found: Item) -> list[int]:
    await site.system.store.write(items.insert_new, [(source.id, one) for one in found], now=site.system.clock.now())
    listed = (await site.get(f"/api/items?source_id={source.id}&limit=100", "service")).json()["items"]
    return [one["id"] for one in listed]


async def titles(site: Site, query: str = "", who: str | None = "alice") -> list[str]:
    page = await site.get(f"/items?{query}", who)
    found = re.findall(r'data-open href="[^"]+">(.+?)</a>', page.text)
    return [one.replace("<mark>", "").replace("</mark>", "") for one in found]


@pytest.mark.proves("G-06")
async def test_items_are_found_by_words_source_tag_type_and_time(site: Site, clock: ManualClock):
    news = await site.add_source(site.alice, "news", tags=("daily",))
    blog = await site.add_source(site.alice, "blog")
    hidden = await site.add_source(site.bob, "hidden")
    await keep(site, news, make_item(native_id="1", title="内容采集系统", content="<p>每天采集</p>"))
    clock.advance(timedelta(days=10))
    await keep(site, blog, make_item(native_id="2", title="Rivers of Europe", content="The Danube"))
    await keep(site, hidden, make_item(native_id="3", title="Rivers of Bob"))
    assert await titles(site) == ["Rivers of Europe", "内容采集系统"]
    assert await titles(site, "q=采集") == ["内容采集系统"]
    assert await titles(site, "q=danube") == ["Rivers of Europe"]
    assert await titles(site, "q=rivers", "bob") == ["Rivers of Bob"]
    assert await titles(site, "q=rivers", "admin") == ["Rivers of Bob", "Rivers of Europe"]
    assert await titles(site, "source=news") == ["内容采集系统"]
    assert await titles(site, f"source={blog.id}") == ["Rivers of Europe"]
    assert await titles(site, "tag=daily&type=rss") == ["内容采集系统"]
    page = (await site.get("/items?tag=daily&type=rss", "alice")).text
    assert (page.count(">daily</option>"), page.count('<option value="rss"')) == (1, 1), "what is chosen is there once"
    assert await titles(site, "days=7") == ["Rivers of Europe"]
    assert await titles(site, "days=nonsense&q=%00") == ["Rivers of Europe", "内容采集系统"]
    assert "There is no source hidden." in (await site.get("/items?source=hidden", "alice")).text
    assert f"There is no source {hidden.id}." in (await site.get(f"/items?source={hidden.id}", "alice")).text
    assert (await site.get("/items", headers={"Accept": "text/html"})).headers["location"] == "/signin?then=%2Fitems"


@pytest.mark.proves("G-06")
@pytest.mark.parametrize("words", ["", "q=采集&"])
async def test_a_span_of_time_is_that_of_the_writing_where_it_is_told(lean_site: Site, words: str):
    source = await lean_site.add_source(lean_site.alice, "new")
    now = lean_site.system.clock.now()
    old, new = now - timedelta(days=40), now - timedelta(days=3)
    await keep(
        lean_site,
        source,
        make_item(native_id="1", title="采集旧文", published_at=old),
        make_item(native_id="2", title="采集新文", published_at=new),
        make_item(native_id="3", title="采集无日期"),
    )
    assert await titles(lean_site, f"{words}days=7") == ["采集新文", "采集无日期"]
    assert await titles(lean_site, f"{words}days=365") == ["采集新文", "采集旧文", "采集无日期"]


@pytest.mark.proves("G-06")
async def test_a_list_by_when_items_were_collected_tells_that_and_when_they_were_published(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "new")
    now = lean_site.system.clock.now()
    await keep(
        lean_site,
        source,
        make_item(native_id="1", title="Old", published_at=now - timedelta(days=3)),
        make_item(native_id="2", title="Fresh", published_at=now - timedelta(minutes=3)),
        make_item(native_id="3", title="Undated"),
    )
    for path in ("/items", f"/sources/{source.id}", "/feeds/new"):
        page = (await lean_site.get(path, "alice")).text
        times = re.findall(r'<span class="times[^>]*>(.*?)</small>', page)
        told = sorted(re.sub(r'<time datetime="([^"]+)">.*?</time>|</?span>', r"\1", one) for one in times)
        assert told == [iso(now), iso(now), f"published {iso(now - timedelta(days=3))} · collected {iso(now)}"], path


@pytest.mark.proves("G-06")
async def test_a_search_that_is_slow_by_design_is_refused_in_words(lean_site: Site):
    for query, english, chinese in (
        ("采", "One character alone (采)", "单个字（采）"),
        ("-only", "Name a word to look for as well", "还需填写要查找的词"),
        ("a*", "begins too many words", "开头的词太多"),
    ):
        answer = await lean_site.get("/items", "alice", params={"q": query, "lang": "en"})
        assert answer.status_code == 422
        assert english in html.unescape(answer.text)
        assert chinese in (await lean_site.get("/items", "alice", params={"q": query, "lang": "zh"})).text
    assert (await lean_site.get("/items?cursor=nonsense", "alice")).status_code == 422


@pytest.mark.proves("G-06")
@pytest.mark.parametrize("query", ["", "q=number"])
async def test_pages_follow_each_other_by_the_address(lean_site: Site, query: str):
    source = await lean_site.add_source(lean_site.alice, "many")
    await lean_site.add_items(source, *(f"number {n}" for n in range(PAGE_ITEMS + 5)))
    first = (await lean_site.get(f"/items?{query}", "alice")).text
    [older] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = await titles(lean_site, html.unescape(older).partition("?")[2])
    assert len(second) == 5
    assert len({*second, *await titles(lean_site, query)}) == PAGE_ITEMS + 5


@pytest.mark.proves("G-06")
async def test_an_item_is_read_sanitised_and_asks_no_stranger_for_anything(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "feed", tags=(HOSTILE,))
    await lean_site.system.catalog.change(source.id, Change(name=HOSTILE), OPERATOR)
    item = make_item(native_id="1", title=HOSTILE, url="javascript:window.ran=1", author=HOSTILE, content=HOSTILE_HTML)
    [number] = await keep(lean_site, source, item)
    page = (await lean_site.get(f"/items/{number}", "alice")).text
    for path in (f"/items/{number}", f"/items/{number}?lang=zh", "/items", "/items?q=said", "/feeds/new?q=said"):
        text = (await lean_site.get(path, "alice")).text
        for bad in (
            "<script>window",
            'src="http',
            "<video",
            "<iframe",
            "<style",
            'href="javascript',
            "/signout method",
        ):
            assert bad not in text, (path, bad)
        assert not re.search(r"\sstyle=|\son\w+=[\"']", text), path
        assert "{{7*7}}" in text, path
    assert re.search(
        r'<a href="https://spy.example/p.gif"[^>]*><img src="/pictures/[0-9a-f]{64}/\d+\?url=[^"]+" alt="a cat"', page
    )
    assert "[Recording]" in page
    assert page.count("<h1") == 1
    # No link is within another.
    assert re.search(r'href="https://b.example/"[^>]*><img [^>]*alt="Picture"[^>]*></a>', page)


@pytest.mark.proves("G-06")
async def test_an_items_edits_are_shown_as_differences(lean_site: Site, clock: ManualClock):
    source = await lean_site.add_source(lean_site.alice, "feed")
    [number] = await keep(
        lean_site, source, make_item(native_id="1", title="Old title", content="<p>It rains today</p>")
    )
    clock.advance(timedelta(hours=1))
    edited = make_item(native_id="1", title="New title", content="<p>It snows today</p>")
    await lean_site.system.store.write(items.update_changed, [(source.id, edited)], now=clock.now())
    page = (await lean_site.get(f"/items/{number}", "alice")).text
    assert "<del>Old</del><ins>New</ins> title" in page
    assert "It <del>rains</del><ins>snows</ins> today" in page
    assert "edited" in (await lean_site.get("/items", "alice")).text


@pytest.mark.proves("G-06")
async def test_nobody_reads_the_items_of_a_source_that_they_may_not_see(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "hers")
    [number] = await keep(lean_site, source, make_item(native_id="1", title="Her item"))
    for who, status in (("alice", 200), ("admin", 200), ("bob", 404), (None, 303)):
        answer = await lean_site.get(f"/items/{number}", who, headers={"Accept": "text/html"})
        assert answer.status_code == status, who
        assert ("Her item" in answer.text) == (status == 200)
    assert (await lean_site.get("/items/999999", "alice")).status_code == 404
    assert 'href="/items"' not in (await lean_site.get("/")).text
    assert 'href="/items"' in (await lean_site.get("/", "alice")).text


def test_an_excerpt_is_around_the_hit_and_marks_it():
    text = f"<p>{'before ' * 100}The <b>Danube</b> flows {'after ' * 100}</p>"
    excerpt = excerpt_of(text, pattern_of('"danube flows" -rhine'))
    assert "<mark>Danube flows</mark>" in excerpt
    assert excerpt.startswith("…")
    assert excerpt.endswith("…")
    assert excerpt_of("a < b & c", pattern_of("b")) == "a &lt; <mark>b</mark> &amp; c"
    assert excerpt_of("每天采集内容", pattern_of("采集")) == "每天<mark>采集</mark>内容"
    assert excerpt_of("", pattern_of("")) == ""


def _addresses(text: str) -> list[str]:
    return [html.unescape(one) for one in re.findall(r'id="address-\w+" value="([^"]+)"', text)]


@pytest.mark.proves("G-06", "G-07")
async def test_a_search_is_saved_as_a_feed_by_plain_forms_and_fetched_by_its_address(alices: Site):
    source = await alices.add_source(alices.alice, "news", tags=("daily",))
    await alices.add_items(source, "About rivers", "About lakes", "关于河流")
    page = (await alices.get("/items?q=rivers&tag=daily&days=7")).text
    [link] = re.findall(r'href="(/feeds/new[^"]+)"', page)
    assert 'name="types"' not in (await alices.get("/feeds/new")).text, "there is one type, and nothing to choose"
    assert 'name="types"' in (await alices.get("/feeds/new?type=sitemap")).text
    builder = (await alices.get(html.unescape(link))).text
    assert "Items now: 1." in builder
    assert "About rivers" in builder
    assert "About lakes" not in builder
    made = await send(alices, "/feeds/new", do="save", title="Rivers", q="rivers", tags="daily", days="7", limit="20")
    assert made.status_code == 200
    found = _addresses(made.text)
    assert [one.partition("?")[0] for one in found] == [
        f"http://catchment.test/feeds/rivers.{n}" for n in ("rss", "atom", "json")
    ]
    alices.client.cookies.clear()
    for address in found:
        answer = await alices.get(address.removeprefix("http://catchment.test"))
        assert answer.status_code == 200
        assert "About rivers" in answer.text
        assert "About lakes" not in answer.text
    assert (await alices.get("/feeds/rivers.rss")).status_code == 404


@pytest.mark.proves("G-06", "S-03")
async def test_the_preview_looks_at_the_newest_items_and_says_where_there_are_more(
    alices: Site, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(feed_pages, "MAX_LOOKED_AT", 3)
    source = await alices.add_source(alices.alice, "news")
    await alices.add_items(source, "Old river", *(f"Lake {number}" for number in range(4)))
    await alices.system.store.write(search.take_in)

    async def said(**fields: str) -> str:
        page = (await send(alices, "/feeds/new", do="preview", sources="news", **fields)).text
        return re.findall(r'id="feed-preview".*?<p class="lede">([^<]+)</p>', page, re.DOTALL)[0]

    assert await said() == "Items now: 3 or more."
    preview = (await send(alices, "/feeds/new", do="preview", q="river")).text
    assert "<b>Old river</b><small><span>news</span>" in preview
    assert await said(include="Lake") == "Items now: 3 or more."
    assert await said(q="lake") == "Items now: 3 or more."
    assert await said(q="river") == "Items now: 1.", "the index tells where to look"
    assert await said(include="mountain") == "None of the newest items fits; older ones may."
    monkeypatch.setattr(feed_pages, "MAX_LOOKED_AT", 5)
    assert await said(include="Lake") == "Items now: 4."


@pytest.mark.proves("G-07")
@pytest.mark.parametrize(
    ("language", "said"), [("en", "As readers get them: the last new or changed first"), ("zh", "与阅读器所见一致")]
)
async def test_the_preview_says_in_which_order_a_feed_has_what_a_search_lists_otherwise(
    alices: Site, language: str, said: str
):
    assert said not in (await alices.get(f"/feeds/new?lang={language}")).text, "nothing is in any order"
    await alices.add_items(await alices.add_source(alices.alice, "news"), "Old river", "Lake")
    assert said in (await alices.get(f"/feeds/new?lang={language}")).text


@pytest.mark.proves("G-07")
@pytest.mark.parametrize(
    ("language", "said"), [("en", "As it stands the address is {}"), ("zh", "目前的地址是 {}")]
)  # fmt: skip
async def test_the_address_that_a_new_feed_will_have_is_shown_before_it_is_saved(
    alices: Site, language: str, said: str
):
    async def told(**fields: str) -> str:
        page = (await send(alices, f"/feeds/new?lang={language}", do="preview", **fields)).text
        [small] = re.findall(r'<small id="slug-help">([^<]+)</small>', page)
        assert page.index('name="slug"') < page.index("<details"), "it can be seen"
        return html.unescape(small)

    for fields, slug in (
        ({"title": "采集"}, "feed"),
        ({"title": "Réel News"}, "reel-news"),
        ({"slug": "caiji"}, "caiji"),
    ):
        assert said.format(f"http://catchment.test/feeds/{slug}.rss") in await told(**fields)
        await send(alices, "/feeds/new", do="save", q=f"about {slug}", **fields)
        assert (await alices.get(f"/api/feeds/{slug}", "alice")).status_code == 200
    assert "/feeds/feed-1.rss" in await told(title="新闻")
    for refused in ("caiji", "My Feed!"):
        assert ".rss" not in (instead := await told(slug=refused)), "no address that it will not have"
        assert instead.startswith("There will be no such address: " if language == "en" else "不能用作地址：")
        page = (await send(alices, "/feeds/new", do="save", title="x", slug=refused)).text
        assert re.findall(r'<input name="(\w+)"[^>]* autofocus', page) == ["slug"], "what is to be mended has the focus"


@pytest.mark.proves("G-06", "G-07")
@pytest.mark.parametrize(
    ("language", "said", "second"),
    [("en", "You have this search as a feed already:", "Save as a second feed"), ("zh", "该搜索已保存为订阅输出：", "另存为第二个")],
)  # fmt: skip
async def test_a_search_that_is_a_feed_already_is_said_to_be_and_saved_again_only_on_purpose(
    alices: Site, language: str, said: str, second: str
):
    await alices.system.feeds.add(FeedDraft(slug="house", title="House", filter={"q": "rivers"}), OPERATOR)
    address = f"/feeds/new?q=rivers&lang={language}"
    assert said not in (await alices.get(address)).text, "that of another is none of hers"
    await send(alices, "/feeds/new", do="save", title="Mine", q="rivers", limit="20")
    for page in (
        await alices.get(address),
        await send(alices, address, do="preview", q="rivers"),
        await send(alices, address, do="save", title="Again", q="rivers"),
    ):
        assert f'{said} <a class="link" href="/feeds/mine/edit">Mine</a>' in page.text
        assert second in page.text
    assert (await alices.get("/api/feeds/again", "alice")).status_code == 404
    assert said not in (await alices.get("/feeds/mine/edit")).text, "it is itself"
    assert said not in (await send(alices, address, do="preview", q="rivers", tags="daily")).text
    await send(alices, address, do="again", title="Again", q="rivers")
    assert (await alices.get("/api/feeds/again", "alice")).json()["filter"]["q"] == "rivers"


@pytest.mark.proves("G-07")
async def test_a_feed_is_edited_gets_a_new_token_and_is_deleted(alices: Site):
    source = await alices.add_source(alices.alice, "news")
    await alices.add_items(source, "One", "Two")
    first = _addresses((await send(alices, "/feeds/new", do="save", title="我的订阅", sources="news")).text)[0]
    assert "/feeds/feed.rss?token=" in first
    second = _addresses((await send(alices, "/feeds/new", do="save", title="我的订阅")).text)[0]
    assert "/feeds/feed-1.rss" in second, "a short name that is free"
    renewed = _addresses((await send(alices, "/feeds/feed/edit", do="token")).text)[0]
    edit = (await alices.get("/feeds/feed/edit")).text
    assert 'value="我的订阅"' in edit
    assert "Read it elsewhere" in edit
    assert "a token is shown only when it is made" in edit
    assert _addresses(edit) == [], "the token is known to nobody any more"
    assert re.search(r'name="sources"[^>]*>\s*news</textarea>', edit)
    saved = await send(
        alices, "/feeds/feed/edit", do="save", title="Renamed", sources=str(source.id), limit="1", exclude="title: Two"
    )
    assert saved.status_code == 303
    page = html.unescape((await alices.get("/feeds")).text)
    assert "Renamed was saved." in page
    shown = (await alices.get("/api/feeds/feed", "alice")).json()
    assert shown["filter"] == {
        "sources": [source.id], "exclude": [{"field": "title", "pattern": "Two"}], "limit": 1
    }  # fmt: skip
    statuses = [(await httpx_get(alices, one)).status_code for one in (first, renewed)]
    assert statuses == [404, 200]
    await send(alices, "/feeds/feed-1/edit", do="save", title="Open", public="on")
    shown_again = _addresses((await alices.get("/feeds/feed-1/edit")).text)
    assert [(await httpx_get(alices, one)).status_code for one in shown_again] == [200, 200, 200]
    gone = await send(alices, "/feeds/feed/edit", do="delete")
    assert "Renamed was deleted." in html.unescape((await alices.get(gone.headers["location"])).text)
    assert (await alices.get("/api/feeds/feed", "alice")).status_code == 404


async def httpx_get(site: Site, address: str) -> httpx.Response:
    """As a stranger."""
    transport = httpx.ASGITransport(site.app)
    async with httpx.AsyncClient(transport=transport) as client:
        return await client.get(address)


@pytest.mark.proves("G-07")
async def test_what_makes_no_sense_is_said_and_what_was_written_stays(alices: Site):
    for fields, english, chinese in (
        ({"q": "采"}, "One character alone (采)", "单个字（采）"),
        ({"limit": "many"}, "'many' is not a whole number of 1 or more.", "'many' 不是大于 0 的整数"),
        ({"limit": "501"}, "limit is a whole number of 1 to 500.", "limit 应为 1 到 500 的整数"),
        ({"sources": "nobody"}, "There is no source nobody.", "没有编号为 nobody 的信息源"),
        ({"slug": "Not One"}, "A feed's short name has", "短名称由"),
        ({"include": "title: ["}, "missing ]", "missing ]"),
    ):
        for language, words in (("en", english), ("zh", chinese)):
            answer = await send(alices, f"/feeds/new?lang={language}", do="save", title="Kept title", **fields)
            assert answer.status_code == 422, fields
            assert words in html.unescape(answer.text)
            assert 'value="Kept title"' in answer.text
    assert (await alices.get("/api/feeds", "alice")).json() == []


@pytest.mark.proves("G-07")
async def test_nobody_changes_the_feed_of_somebody_else(alices: Site):
    await send(alices, "/feeds/new", do="save", title="Hers", public="on")
    await send(alices, "/feeds/new", do="save", title="Secret", q="secret")
    alices.client.cookies.clear()
    await alices.post("/signin", data={"key": alices.keys["bob"]})
    page = (await alices.get("/feeds")).text
    assert "Hers" in page
    assert "Secret" not in page
    assert "/feeds/hers/edit" not in page
    assert (await alices.get("/feeds/hers/edit")).status_code == 303
    assert (await alices.get("/feeds/secret/edit")).status_code == 404
    for do in ("save", "token", "delete"):
        await send(alices, "/feeds/hers/edit", do=do, title="Stolen")
    assert (await alices.get("/api/feeds/hers", "alice")).json()["title"] == "Hers"
    forged = await alices.post("/feeds/new", data={"do": "save", "title": "forged"})
    assert forged.status_code == 403
    alices.client.cookies.clear()
    assert "/feeds/new" not in (await alices.get("/feeds")).text


@pytest.mark.proves("G-07", "G-11")
async def test_hostile_texts_of_feeds_stay_texts(alices: Site):
    made = await send(
        alices, "/feeds/new", do="save", slug="x", title=HOSTILE, q="said", tags=HOSTILE, description=HOSTILE
    )
    for text in (made.text, (await alices.get("/feeds")).text, (await alices.get("/feeds/x/edit")).text):
        assert "<script>window" not in text
        assert "<img" not in text
        assert "{{7*7}}" in text


@pytest.mark.proves("G-14")
async def test_a_digest_is_read_with_its_items_beside_it(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "hers")
    [number] = await keep(lean_site, source, make_item(native_id="1", title="Her item"))
    content = "# Rivers\n\n**Much** water ![a map](https://spy.example/m.png) <script>window.ran=1</script>\n\n|a|b|\n|-|-|\n|1|2|"
    new = NewDigest(
        type=DigestType.DAILY, content=content, created_at=lean_site.system.clock.now(), metadata={"items": [number]}
    )
    digest = await lean_site.system.store.write(digests.add, new)
    page = (await lean_site.get(f"/digests/{digest}", "alice")).text
    for words in ("<strong>Much</strong>", "<table>", "[Picture: a map]", f'href="/items/{number}">Her item'):
        assert words in page
    assert "<img" not in page
    assert "<script>window" not in page
    assert page.count("<h1") == 1
    assert "Her item" not in (await lean_site.get(f"/digests/{digest}")).text
    assert "每日摘要" in (await lean_site.get(f"/digests/{digest}?lang=zh", "alice")).text


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        await opened.close()


async def sign_in(tab: Tab, site: Site) -> None:
    await tab.goto("/signin")
    await tab.locator("summary").click()
    await tab.fill("#key", site.keys["alice"])
    await tab.locator("#key").press("Enter")
    await expect(tab.locator("h1")).to_have_text("Overview")


@pytest.mark.browser
@pytest.mark.proves("G-06", "G-07", "G-11")
@pytest.mark.parametrize("scripts", [True, False])
async def test_a_browser_searches_reads_and_saves_the_search_as_a_feed(
    lean_site: Site, served_url: str, browser: Browser, scripts: bool
):
    source = await lean_site.add_source(lean_site.alice, "news")
    river = make_item(native_id="1", title="About rivers", content=HOSTILE_HTML, url="https://a.example/1")
    await keep(lean_site, source, river, make_item(native_id="2", title="内容采集系统", content="每天采集"))
    tab = await browser.new_page(base_url=served_url, locale="en-US", java_script_enabled=scripts)
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    await sign_in(tab, lean_site)
    await tab.fill("#find", "采集")
    await tab.press("#find", "Enter")
    await expect(tab.locator("[data-open]")).to_have_text(["内容采集系统"])
    await expect(tab.locator("mark").first).to_have_text("采集")
    await tab.get_by_label("Search", exact=True).fill("rivers")
    await tab.get_by_label("Search", exact=True).press("Enter")
    await tab.get_by_role("link", name="About rivers", exact=True).click()
    await expect(tab.locator("h1")).to_have_text("About rivers")
    # A picture that cannot be had leaves its words, sooner or later.
    await expect(tab.get_by_alt_text("a cat").or_(tab.get_by_text("[a cat]"))).to_be_attached()
    await tab.go_back()
    await tab.get_by_role("link", name="Save as a feed", exact=True).click()
    await expect(tab.locator("#feed-preview .lede")).to_have_text("Items now: 1.")
    if scripts:
        await tab.get_by_label("Search for", exact=True).fill("")
        await expect(tab.locator("#feed-preview .lede")).to_have_text("Items now: 2.")
        await tab.get_by_label("Title", exact=True).fill("All rivers")
        await expect(tab.locator("#slug-help")).to_contain_text(f"{served_url}/feeds/all-rivers.rss")
        await tab.get_by_label("Title", exact=True).fill("rivers")
        await tab.get_by_label("Search for", exact=True).fill("采集")
        await expect(tab.locator("#feed-preview li b")).to_have_text(["内容采集系统"])
        await tab.get_by_label("Search for", exact=True).fill("rivers")
        assert await tab.evaluate("window.ran") is None
    await tab.get_by_role("button", name="Save", exact=True).click()
    address = await tab.locator("#address-rss").input_value()
    fetched = await httpx_get(lean_site, address)
    assert "About rivers" in fetched.text
    assert "采集" not in fetched.text
    assert [one for one in asked if not one.startswith(served_url)] == []


@pytest.mark.browser
@pytest.mark.proves("G-06", "G-11")
async def test_items_arrive_while_the_list_is_open_and_the_keyboard_walks_them(
    lean_site: Site, served_url: str, browser: Browser
):
    source = await lean_site.add_source(lean_site.alice, "news")
    await keep(lean_site, source, make_item(native_id="1", title="First"))
    tab = await browser.new_page(base_url=served_url, locale="en-US")
    await sign_in(tab, lean_site)
    await tab.goto("/items")
    await expect(tab.locator("#live")).to_have_text("live")
    await lean_site.add_items(source, "Second")
    await expect(tab.locator("[data-row]")).to_have_count(2)
    await tab.keyboard.press("j")
    await expect(tab.locator("[data-row].here")).to_have_count(1)
    await tab.keyboard.press("o")
    await expect(tab).to_have_url(re.compile(r"/items/\d+$"))


@pytest.mark.browser
@pytest.mark.proves("G-11")
@pytest.mark.parametrize("scripts", [True, False])
async def test_on_a_phone_neither_of_the_two_times_of_an_item_is_broken(
    lean_site: Site, served_url: str, browser: Browser, scripts: bool
):
    source = await lean_site.add_source(lean_site.alice, "harbour")
    now = lean_site.system.clock.now()
    item = make_item(native_id="1", title="Old", author="Somebody by the sea", published_at=now - timedelta(days=3))
    await lean_site.system.store.write(items.insert_new, [(source.id, item)], now=now)
    size: ViewportSize = {"width": 390, "height": 844}
    tab = await browser.new_page(base_url=served_url, locale="en-US", java_script_enabled=scripts, viewport=size)
    await sign_in(tab, lean_site)
    await tab.goto("/items")
    times = tab.locator(".items .times > span")
    await expect(times).to_have_count(2)
    lines = "(one) => new Set([...one.getClientRects()].map((part) => part.top)).size"
    assert [await one.evaluate(lines) for one in await times.all()] == [1, 1]
    left = "(one) => one.getBoundingClientRect().left"
    beginnings = [await one.evaluate(left) for one in (tab.locator(".items small > span").first, times.first)]
    assert beginnings[0] == beginnings[1], "below the source, where the eye is"


@pytest.mark.browser
@pytest.mark.proves("G-06", "G-11")
async def test_a_filter_that_is_walked_by_arrows_keeps_its_place(lean_site: Site, served_url: str, browser: Browser):
    tab = await browser.new_page(base_url=served_url, locale="en-US")
    await sign_in(tab, lean_site)
    await tab.goto("/items?q=rivers")
    await tab.get_by_label("Published").focus()
    for days in ("1", "7"):
        await tab.keyboard.press("ArrowDown")
        await tab.wait_for_url(f"**days={days}")
        await expect(tab.get_by_label("Published")).to_be_focused()
    await tab.goto("/items")
    await expect(tab.get_by_label("Published")).not_to_be_focused()


@pytest.mark.proves("G-06", "G-04")
async def test_what_a_list_led_to_leads_back_to_the_list_as_it_was(lean_site: Site):
    source = await lean_site.add_source(lean_site.alice, "news", tags=("每日",))
    await keep(lean_site, source, make_item(native_id="1", title="Rivers & seas"))
    for asked in ("/items?q=%22rivers%22&tag=%E6%AF%8F%E6%97%A5&days=7", "/sources?tag=%E6%AF%8F%E6%97%A5&sort=name"):
        listed = await lean_site.get(f"{asked}&lang=zh", "alice")
        one = html.unescape(re.search(r'data-open href="([^"]+)"', listed.text)[1])
        page = await lean_site.get(one, "alice")
        assert f'<a href="{html.escape(asked)}">←' in page.text
    # Nobody came from a list: there is the whole of it.
    assert '<a href="/items">←' in (await lean_site.get("/items/1", "alice")).text


FULL_STOP_IS_LEFT = """element => {
  const text = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
  const left = (at) => {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    return range.getBoundingClientRect().left;
  };
  return left(text.length - 1) < left(0);
}"""


@pytest.mark.browser
@pytest.mark.proves("G-06", "G-11")
async def test_what_runs_from_right_to_left_is_set_so_and_tears_nothing_beside_it(
    lean_site: Site, served_url: str, browser: Browser
):
    source = await lean_site.add_source(lean_site.alice, "دفتر")
    written = lean_site.system.clock.now() - timedelta(minutes=1)
    item = make_item(
        native_id="1",
        title="عند البحر.",
        author="صانع",
        content="<p>من قوس السوق.</p><p>The end.</p>",
        url="https://a.example/1",
        published_at=written,
    )
    await keep(lean_site, source, item)
    tab = await browser.new_page(base_url=served_url, locale="en-US")
    await sign_in(tab, lean_site)
    await tab.goto("/items")
    title = tab.locator(".items a").first
    assert await title.evaluate(FULL_STOP_IS_LEFT)
    await title.click()
    arabic, english = tab.locator("article p").first, tab.locator("article p").last
    assert [await one.evaluate(FULL_STOP_IS_LEFT) for one in (tab.locator("h1"), arabic, english)] == [
        True,
        True,
        False,
    ]
    assert await tab.locator(".lede time").evaluate("time => time.getClientRects().length") == 1
