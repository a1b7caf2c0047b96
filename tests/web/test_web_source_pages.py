"""The pages of sources: without scripts by plain forms, and in a browser where they move."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from zoneinfo import available_timezones

import httpx
import pytest
from browser import CHROMIUM
from playwright.async_api import Page as Tab
from playwright.async_api import async_playwright, expect
from sqlalchemy import Connection
from web_site import Site, with_settings

from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR
from catchment.domain.item import make_item
from catchment.domain.rhythm import Rhythm, to_json
from catchment.domain.run import RunKind
from catchment.domain.source import NextCheck, PausedBy, Source, Why
from catchment.domain.visit import Fetched
from catchment.fetch.pacing import Deferred
from catchment.manage.catalog import Change, Draft
from catchment.manage.discovery import judge
from catchment.manage.packs import STARTER_PACK
from catchment.manage.resolve import PreviewItem, Resolved, Resolver
from catchment.monitor.status import Language
from catchment.sources.rss import RssFetcher
from catchment.store import fetch_log, items, runs, sources
from catchment.store.fetch_log import LogLine
from catchment.web.app import create_app
from catchment.web.csrf import SESSION_COOKIE, TOKEN_FIELD, token_of
from catchment.web.pages import Watch, read_watched
from catchment.web.source_view import PAGE_ROWS
from catchment.web.translations import LANGUAGE_COOKIE

HTML = {"Accept": "text/html,*/*", "Referer": "http://catchment.test/sources"}
HOSTILE = '"><script>window.ran=1</script><img src=x onerror=window.ran=1>{{7*7}}'


@pytest.fixture
async def alices(lean_site: Site) -> Site:
    """Her browser is signed in."""
    answer = await lean_site.post("/signin", data={"key": lean_site.keys["alice"]})
    assert answer.status_code == 303
    return lean_site


async def send(site: Site, path: str, **fields: Any) -> httpx.Response:
    token = {TOKEN_FIELD: token_of(site.client.cookies[SESSION_COOKIE])}
    return await site.post(path, data={**token, **fields}, headers=HTML)


async def told(site: Site, answer: httpx.Response) -> str:
    """The page that a form led to."""
    assert answer.status_code == 303, answer.text
    return html.unescape((await site.get(answer.headers["location"])).text)


def resolve_as(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outside world: every address is a feed with one item, but for nonsense."""
    told_apart = Resolver._guess

    async def resolve(self: Resolver, pasted: Any, caller: Any) -> Resolved:
        told_apart(self, pasted, caller)
        preview = (PreviewItem(title="First item", url="https://a.example/1"),)
        config = {"url": pasted.text}
        why = "The page leads to this feed."
        return Resolved(type="rss", name=f"Feed of {pasted.text}", config=config, why=why, preview=preview)

    monkeypatch.setattr(Resolver, "resolve", resolve)


@pytest.mark.proves("G-03")
async def test_what_is_pasted_is_told_with_its_reason_and_followed(alices: Site, monkeypatch: pytest.MonkeyPatch):
    resolve_as(monkeypatch)
    page = await send(alices, "/sources/look", pasted="https://a.example/\nhttps://b.example/\nno such thing at all")
    text = html.unescape(page.text)
    for words in ("Feed of https://a.example/", "The page leads to this feed.", "First item", "Follow"):
        assert words in text
    assert "'no such thing at all' is not an http:// or https:// address" in text
    found = dict(re.findall(r'name="(found-\d)" value="([^"]+)"', page.text))
    fields = {name: html.unescape(value) for name, value in found.items()}
    answer = await send(alices, "/sources/follow", follow=["1", "2"], **fields, tags="news, 中文", interval="45")
    assert "You follow 2 more sources now. They are being fetched." in await told(alices, answer)
    listed = (await alices.get("/api/sources", "alice")).json()
    assert {(one["name"], one["fetch_interval_minutes"], tuple(one["tags"])) for one in listed} == {
        ("Feed of https://a.example/", 45, ("news", "中文")),
        ("Feed of https://b.example/", 45, ("news", "中文")),
    }
    again = await send(alices, "/sources/follow", follow="1", **fields)
    assert re.fullmatch(r"/sources/\d+", again.headers["location"])
    assert "You follow this already: here it is." in await told(alices, again)
    both = await send(alices, "/sources/follow", follow=["1", "2"], **fields)
    assert "Followed 0; 2 were there already, 0 could not be." in await told(alices, both)


@pytest.mark.proves("G-03")
@pytest.mark.parametrize(("language", "told"), [("en", "Already followed:"), ("zh", "已在关注：")])
async def test_what_is_followed_already_is_said_to_be_with_a_link(
    alices: Site, monkeypatch: pytest.MonkeyPatch, language: str, told: str
):
    resolve_as(monkeypatch)
    mine = await alices.add_source(alices.alice, "mine")
    hidden = await alices.add_source(alices.bob, "hidden")
    known, fresh = mine.config["url"], hidden.config["url"]
    page = (await send(alices, f"/sources/look?lang={language}", pasted=known)).text
    assert f'{told} <a class="link" href="/sources/{mine.id}">mine</a>' in page
    assert 'name="found-1"' not in page
    both = (await send(alices, f"/sources/look?lang={language}", pasted=f"{known}\n{fresh}")).text
    assert (both.count(told), 'name="found-1"' in both, 'name="found-2"' in both) == (1, False, True)


@pytest.mark.proves("G-03", "R-41")
async def test_what_lacks_its_key_is_followed_all_the_same(alices: Site):
    assert "You can follow it all the same." in (await send(alices, "/sources/look", pasted="@python")).text
    found = json.dumps({"type": "twitter_feed", "name": "@python", "config": {"handle": "python"}})
    answer = await send(alices, "/sources/follow", follow="1", **{"found-1": found})
    assert "You follow @python now. Not fetched yet: it needs a key: set " in await told(alices, answer)


@pytest.mark.proves("G-03")
async def test_what_is_not_there_is_followed_only_on_purpose_and_then_without_a_cross(
    alices: Site, monkeypatch: pytest.MonkeyPatch
):
    async def resolve(*_: Any) -> Resolved:
        config = {"url": "https://a.example/gone"}
        return Resolved(type="watch", name="", config=config, why="As it is spelt.", doubt="HTTP 404", is_missing=True)

    monkeypatch.setattr(Resolver, "resolve", resolve)
    page = (await send(alices, "/sources/look", pasted="https://a.example/gone")).text
    assert '<input type="hidden" name="follow" value="1">' in page, "there is nothing to choose from"
    assert re.search(r"<button[^>]*>Follow all the same</button>", page)
    assert "autofocus" not in page, "who pasted it goes on with the address"
    pasted = "https://a.example/gone\nhttps://a.example/too"
    two = (await send(alices, "/sources/look", pasted=pasted)).text
    assert two.count('type="checkbox" name="follow"') == 2
    none = await send(alices, "/sources/follow", pasted=pasted)
    assert none.status_code == 422
    assert "Nothing was chosen to be followed." in none.text
    assert f">\n{pasted}</textarea>" in none.text, "it is there to be chosen from once more"


def follow_form(page: str) -> dict[str, Any]:
    """What a browser sends of the form that follows what was found."""
    kept = re.findall(r'name="((?:found|name)-\d+|tags|interval|pasted)"[^>]*? value="([^"]*)"', page)
    chosen = re.findall(r'name="follow" value="(\d+)"(?: checked|>)', page)
    return {**{name: html.unescape(value) for name, value in kept}, "follow": chosen}


@pytest.mark.proves("G-03")
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("interval", ["1h", "0.5"])
async def test_what_is_refused_stays_with_all_that_was_typed_and_says_why(
    alices: Site, monkeypatch: pytest.MonkeyPatch, count: int, interval: str
):
    resolve_as(monkeypatch)
    lines = [f"https://{letter}.example/" for letter in "ab"[:count]]
    form = follow_form((await send(alices, "/sources/look", pasted="\n".join(lines))).text)
    typed = {"name-1": 'Mine "now"', "tags": "news, 中文", "interval": interval}
    refused = await send(alices, "/sources/follow", **{**form, **typed})
    assert refused.status_code == 422
    text = html.unescape(refused.text)
    assert text.count(f"The interval is a whole number of minutes, 1 to 525600; {interval!r} is not.") == 1
    assert "Followed 0" not in text
    assert text.count("<li>First item") == text.count("</span> The page leads to this feed.") == count
    again = follow_form(refused.text)
    assert {name: again[name] for name in typed} == typed
    assert again["follow"] == [str(place + 1) for place in range(count)]
    assert ">\n" + "\n".join(lines) + "</textarea>" in refused.text
    await send(alices, "/sources/follow", **{**again, "interval": "60"})
    listed = (await alices.get("/api/sources", "alice")).json()
    names = ['Mine "now"', "Feed of https://b.example/"][:count]
    assert {(one["name"], one["fetch_interval_minutes"]) for one in listed} == {(name, 60) for name in names}


@pytest.mark.proves("G-03")
async def test_what_alone_was_refused_of_several_is_left_with_its_reason(alices: Site, monkeypatch: pytest.MonkeyPatch):
    resolve_as(monkeypatch)
    lines = [f"https://{letter}.example/" for letter in "abc"]
    form = follow_form((await send(alices, "/sources/look", pasted="\n".join(lines))).text)
    within = json.loads(form["found-2"]) | {"config": {"url": "http://10.0.0.1/feed"}}
    some = await send(alices, "/sources/follow", **{**form, "found-2": json.dumps(within), "follow": ["1", "2"]})
    assert some.status_code == 200
    assert "Followed 1; 0 were there already, 1 could not be." in some.text
    assert "which is not a public address" in some.text
    left = follow_form(some.text)
    assert ([name for name in left if name.startswith("found-")], left["follow"]) == (["found-1", "found-2"], ["1"])
    none = await send(alices, "/sources/follow", **{**left, "follow": []})
    assert (none.status_code, none.text.count('name="found-')) == (422, 2), "nothing was chosen, and all is there"
    broken = json.loads(left["found-2"]) | {"type": "nonsense"}
    both = {**left, "found-2": json.dumps(broken), "follow": ["1", "2"]}
    apart = html.unescape((await send(alices, "/sources/follow", **both)).text)
    assert 'role="alert">Followed' not in apart.split("<form", 1)[0], "no line of what was done"
    assert "Followed 0; 0 were there already, 2 could not be." in apart
    for why in ("which is not a public address", "There is no source type 'nonsense'"):
        assert apart.count(why) == 1


@pytest.mark.proves("G-03")
@pytest.mark.parametrize(("lang", "told"), [("en", "answers in JSON, and is neither"), ("zh", "返回 JSON，既不是")])
async def test_json_that_is_pasted_is_told_how_it_is_followed(
    alices: Site, monkeypatch: pytest.MonkeyPatch, lang: str, told: str
):
    body = b'{"posts": [{"id": 1}]}'

    async def resolve(*_: Any) -> Resolved:
        judge(body, address="https://a.example/api", url="https://a.example/api", content_type="application/json")
        raise AssertionError("it is no page")

    monkeypatch.setattr(Resolver, "resolve", resolve)
    page = (await send(alices, f"/sources/look?lang={lang}", pasted="https://a.example/api")).text
    assert f"https://a.example/api {told}" in page
    assert "`catchment add URL --type custom_api`" in page
    assert 'name="follow"' not in page


@pytest.mark.proves("G-05")
async def test_an_address_that_is_refused_stays_to_be_mended_with_the_rest(alices: Site):
    mine = await alices.add_source(alices.alice, "mine")
    typed = {"name": "other", "url": "http://10.0.0.1/feed", "tags": "news", "config": "{}", "do": "save"}
    answer = await send(alices, f"/sources/{mine.id}/edit", **typed)
    assert answer.status_code == 422
    for kept in ('value="http://10.0.0.1/feed"', 'value="other"', 'value="news"', "which is not a public address"):
        assert kept in answer.text


@pytest.mark.proves("G-03")
async def test_a_list_is_imported_as_a_file_of_a_form(alices: Site):
    opml = b'<opml version="2.0"><body><outline text="A" xmlUrl="https://a.example/feed"/></body></opml>'
    token = {TOKEN_FIELD: token_of(alices.client.cookies[SESSION_COOKIE])}
    answer = await alices.post("/sources/import", data=token, files={"file": ("a.opml", opml)}, headers=HTML)
    assert "Imported 1 source." in await told(alices, answer)
    bad = b'<opml version="2.0"><body><outline text="Within" xmlUrl="http://10.0.0.1/feed"/><outline text="None" xmlUrl=""/>'
    bad += f'<outline text="{html.escape(HOSTILE)}" xmlUrl="gopher://b.example"/></body></opml>'.encode()
    for language, why in (("en", "not a public address"), ("zh", "不是公网地址")):
        file = {"file": ("b.opml", bad)}
        answer = await alices.post(f"/sources/import?lang={language}", data=token, files=file, headers=HTML)
        # Each that was refused has its line and its reason.
        assert re.search(rf"Within.*?10\.0\.0\.1.*?<td>[^<]*{why}", answer.text, re.DOTALL)
        assert "gopher://b.example" in answer.text
        assert "<script>window" not in answer.text
    alices.client.cookies.delete("catchment_language")
    assert (await alices.get("/sources/import")).headers["location"] == "/sources"
    forged = await alices.post("/sources/import", files={"file": ("a.opml", opml)})
    assert forged.status_code == 403
    assert "Choose a file" in await told(alices, await send(alices, "/sources/import"))


@pytest.mark.proves("G-04")
async def test_the_address_says_what_the_list_shows(site: Site):
    news = await site.add_source(site.alice, "news", tags=("daily", "中文"))
    await site.add_source(site.alice, "weather", tags=("daily",))
    await site.add_source(site.bob, "hidden")

    async def names(query: str, who: str | None = "alice") -> list[str]:
        return re.findall(r'data-open href="[^"]+">([^<]+)<', (await site.get(f"/sources?{query}", who)).text)

    assert sorted(await names("")) == ["news", "weather"]
    assert await names("sort=name") == ["news", "weather"]
    assert await names("q=WEATH") == ["weather"]
    assert await names("tag=中文") == ["news"]
    assert await names("health=waiting&type=rss&sort=name") == ["news", "weather"]
    assert await names("health=paused") == []
    await site.system.catalog.change(news.id, _paused(), OPERATOR)
    assert await names("health=paused") == ["news"]
    assert await names("health=nonsense&sort=nonsense&page=x&q=%00") == []
    assert await names("", None) == []
    assert await names("", "admin") != []


def _paused() -> Any:
    return Change(is_active=False)


@pytest.mark.proves("G-04", "G-11")
async def test_a_page_has_so_many_rows_and_stays_light(lean_site: Site):
    drafts = [Draft(type="rss", config={"url": f"https://s{n}.example/feed"}, is_public=True) for n in range(250)]
    added = await lean_site.system.catalog.add_many(drafts, OPERATOR)
    now = lean_site.system.clock.now()
    lines = [
        LogLine(source_id=one.source.id, started_at=now, finished_at=now + timedelta(seconds=back), ok=back % 5 > 0)
        for one in added
        for back in range(25)
    ]
    await lean_site.system.store.write(fetch_log.write, lines)
    page = await lean_site.get("/sources?sort=name&page=2", "admin")
    assert page.text.count("data-row") == PAGE_ROWS
    assert f"Page 2 of {-(-250 // PAGE_ROWS)}" in page.text
    assert "The last 20 visits; 4 failed" in page.text
    assert len(page.content) < 200_000
    beyond = await lean_site.get("/sources?sort=name&page=77", "admin")
    assert f"Page {-(-250 // PAGE_ROWS)} of {-(-250 // PAGE_ROWS)}" in beyond.text
    assert beyond.text.count("data-row") == (250 % PAGE_ROWS or PAGE_ROWS)


@pytest.mark.proves("G-04")
async def test_rows_are_paused_tagged_given_an_interval_and_deleted_by_one_form(alices: Site):
    ids = [(await alices.add_source(alices.alice, name)).id for name in ("one", "two")]
    answer = await send(alices, "/sources/act", do="pause", id=ids, back="/sources?sort=name")
    assert answer.headers["location"] == "/sources?sort=name"
    page = await told(alices, answer)
    assert "Paused: 2." in page
    assert f'<input type="hidden" name="ids" value="{ids[0]},{ids[1]}">' in page, "with how to take it back"
    await send(alices, "/sources/act", do="resume", ids=f"{ids[0]},{ids[1]}")
    await send(alices, "/sources/act", do="apply", id=ids, tag="read, later")
    await send(alices, "/sources/act", do="apply", id=ids, interval="90")
    seen = (await alices.get("/api/sources", "alice")).json()
    assert {(one["is_active"], tuple(one["tags"]), one["fetch_interval_minutes"]) for one in seen} == {
        (True, ("read", "later"), 90)
    }
    await send(alices, "/sources/act", do="pause", id=ids[0])
    page = await told(alices, await send(alices, "/sources/act", do="pause", id=ids))
    assert f'<input type="hidden" name="ids" value="{ids[1]}">' in page, "what was paused before stays so"
    assert "Choose at least one" in await told(alices, await send(alices, "/sources/act", do="pause"))
    assert "whole number of minutes" in await told(
        alices, await send(alices, "/sources/act", do="interval", id=ids, interval="soon")
    )
    assert "Deleted: one." in await told(alices, await send(alices, "/sources/act", do=f"delete {ids[0]}"))
    assert [one["id"] for one in (await alices.get("/api/sources", "alice")).json()] == [ids[1]]
    off = await send(alices, "/sources/act", do="pause", id=ids[1], back="https://evil.example/")
    assert off.headers["location"] == "/sources"


async def test_nobody_acts_on_the_sources_of_others_or_without_the_token(alices: Site):
    hers = await alices.add_source(alices.alice, "hers")
    his = await alices.add_source(alices.bob, "his", public=True)
    for do in ("pause", "fetch", "delete", "tag", "interval"):
        page = await told(alices, await send(alices, "/sources/act", do=do, id=his.id, tag="x", interval="5"))
        assert "belongs to somebody else" in page, do
        assert (await alices.post("/sources/act", data={"do": do, "id": hers.id})).status_code == 403
    assert (await send(alices, f"/sources/{his.id}/edit", name="mine", config="{}")).status_code in {303, 403}
    kept = {one["name"]: one["is_active"] for one in (await alices.get("/api/sources", "admin")).json()}
    assert kept == {"hers": True, "his": True}


@pytest.mark.proves("A-41", "G-05")
async def test_a_page_beside_a_collector_elsewhere_claims_nothing_and_leaves_the_visit_to_it(
    alices: Site, clock: ManualClock
):
    source = await alices.add_source(alices.alice, "hers")
    later = NextCheck(at=clock.now() + timedelta(days=1), why=None)
    await alices.system.store.write(sources.reschedule, [(source.id, later)])
    await send(alices, "/sources/act", do="fetch", id=source.id)
    assert [one.id for one in await alices.system.store.read(sources.due, now=clock.now(), limit=5, owner="x")] == [
        source.id
    ]


@pytest.fixture
async def failing(alices: Site, clock: ManualClock) -> Source:
    source = await alices.add_source(alices.alice, "feed")
    now = clock.now()
    error = "a.example refuses connections; check the address and port"
    await alices.add_items(source, "An item", "Another one")
    lines = [
        LogLine(source_id=source.id, started_at=now - timedelta(days=day, seconds=3), finished_at=now - timedelta(days=day),
                ok=day > 0, items=2, inserted=int(day > 0), error=None if day else error)
        for day in range(5)
    ]  # fmt: skip
    await alices.system.store.write(fetch_log.write, lines)
    values = {"fetch_error_count": 1, "last_error": error, "last_error_at": now}
    await alices.system.store.write(lambda conn: sources.change(conn, source.id, values, now=now))
    return source


@pytest.mark.proves("G-05")
@pytest.mark.parametrize(
    ("lang", "error", "button"),
    [("en", "a.example refuses connections", "Fetch now"), ("zh", "a.example 拒绝连接", "立即抓取")],
)
async def test_a_source_has_its_error_history_chart_and_log(
    alices: Site, failing: Source, lang: str, error: str, button: str
):
    text = (await alices.get(f"/sources/{failing.id}?lang={lang}")).text
    for words in (error, button, "An item", 'class="days"', 'class="chart"', "<caption>", "3.0 s"):
        assert words in text, words
    assert text.count("<rect class=") >= 30
    assert (await alices.get(f"/sources/{failing.id}", "bob")).status_code == 404


@pytest.mark.proves("G-05")
@pytest.mark.parametrize(
    ("zone", "lang", "said", "counts"),
    [
        ("", "en", "2026-01-31 to 2026-03-01, days in UTC", (3, 1)),
        ("../../etc/passwd", "en", "2026-01-31 to 2026-03-01, days in UTC", (3, 1)),
        ("Asia/Shanghai", "zh", "2026-01-31 至 2026-03-01（UTC+8）", (1, 3)),
        ("Asia/Kolkata", "en", "2026-01-31 to 2026-03-01, days in UTC+5:30", (2, 2)),
        ("America/St_Johns", "en", "2026-01-31 to 2026-03-01, days in UTC−3:30", (3, 1)),
    ],
)
async def test_days_are_those_of_whoever_looks_and_said_to_be(
    site: Site, clock: ManualClock, zone: str, lang: str, said: str, counts: tuple[int, int]
):
    source = await site.add_source(site.alice, "hers", public=True)
    for number, minutes in enumerate((21 * 60, 17 * 60 + 45, 17 * 60 + 15, 0)):
        at = clock.now() - timedelta(minutes=minutes)
        visit = LogLine(source_id=source.id, started_at=at, finished_at=at, ok=True, inserted=1)
        item = make_item(native_id=str(number), title="An item", url=f"https://x.example/{number}")
        await site.system.store.write(fetch_log.write, [visit])
        await site.system.store.write(items.insert_new, [(source.id, item)], now=at)
    text = (await site.get(f"/sources/{source.id}?lang={lang}", headers={"Cookie": f"catchment_zone={zone}"})).text
    captions = re.findall("<figcaption>(.*?)</figcaption>", text)
    assert [re.sub("<[^>]+>", "", caption) for caption in captions] == [said] * 2
    assert f'title="{zone if zone in available_timezones() else "UTC"}">UTC' in captions[0], "its exact name on hover"
    for day, count in zip(("2026-02-28", "2026-03-01"), counts, strict=True):
        visits_and_items = re.findall(rf"<title>{day}[:：]\D*(\d+)", text)
        assert visits_and_items == [str(count)] * 2


@pytest.mark.proves("G-05")
@pytest.mark.parametrize(
    ("lang", "failed", "known", "news"),
    [
        ("en", "The last visit, at {at}, failed. ", "The last visit, at {at}, found 2 items, all of them known already.", "Something new came last at {then}: 1 item."),
        ("zh", "上次抓取（{at}）失败。", "上次抓取（{at}）找到 2 条，全部是已有的。", "最近一次有新内容是 {then}：1 条。"),
    ],
)  # fmt: skip
async def test_a_source_says_under_its_name_why_nothing_came(
    alices: Site, failing: Source, clock: ManualClock, lang: str, failed: str, known: str, news: str
):
    at = clock.now() + timedelta(hours=1)

    async def lede() -> str:
        [sentences] = re.findall('<p class="lede" id="source-why">(.*?)</p>', (await alices.get(path)).text)
        return re.sub("<[^>]+>", "", sentences)

    path = f"/sources/{failing.id}?lang={lang}"
    then = f"{clock.now() - timedelta(days=1):%Y-%m-%d %H:%M} UTC"
    now = f"{clock.now():%Y-%m-%d %H:%M} UTC"
    assert await lede() == failed.format(at=now) + news.format(then=then), "its error has a place of its own"
    await alices.system.store.write(
        fetch_log.write, [LogLine(source_id=failing.id, started_at=at, finished_at=at, ok=True, items=2)]
    )
    assert (await lede()).startswith(known.format(at=f"{at:%Y-%m-%d %H:%M} UTC"))


@pytest.mark.proves("G-05", "G-12")
@pytest.mark.parametrize(
    ("has_brought", "lang", "why"),
    [
        (True, "en", "The last visit, at {at}, went well and brought nothing new. Something new came last at {then}."),
        (True, "zh", "上次抓取（{at}）成功，没有新内容。最近一次有新内容是 {then}。"),
        (False, "en", "The last visit, at {at}, found nothing at all: the place is empty, or it is another than it was. No visit brought anything yet."),
    ],
)  # fmt: skip
async def test_a_server_that_says_that_nothing_changed_is_not_called_empty(
    alices: Site, clock: ManualClock, has_brought: bool, lang: str, why: str
):
    source, at = await alices.add_source(alices.alice, "feed"), clock.now()
    then = at - timedelta(days=40)
    rhythm = {"rhythm": to_json(Rhythm(last_new_at=then))} if has_brought else {}
    await alices.system.store.write(lambda conn: sources.change(conn, source.id, rhythm, now=at))
    visit = LogLine(source_id=source.id, started_at=at, finished_at=at, ok=True)
    await alices.system.store.write(fetch_log.write, [visit])
    [lede] = re.findall('id="source-why">(.*?)</p>', (await alices.get(f"/sources/{source.id}?lang={lang}")).text)
    moments = {"at": f"{at:%Y-%m-%d %H:%M} UTC", "then": f"{then:%Y-%m-%d %H:%M} UTC"}
    assert re.sub("<[^>]+>", "", lede) == why.format(**moments)


@pytest.mark.proves("G-05")
async def test_a_source_is_edited_and_its_filter_tried_before_it_is_saved(alices: Site, failing: Source):
    path = f"/sources/{failing.id}/edit"
    form = {
        "name": "Renamed",
        "tags": "a",
        "interval": "30",
        "config": json.dumps({"url": "https://feed.example/feed"}),
    }
    tried = await send(alices, path, **form, include="title: Another", do="preview")
    assert "Keeps 1 of the last 2" in tried.text
    assert (await alices.get("/api/sources", "alice")).json()[0]["name"] == "feed", "nothing is saved yet"
    bad = await send(alices, path, **form, include="title: (", do="save")
    assert bad.status_code == 422
    assert "Renamed" in bad.text, "what was typed is still there"
    assert "Renamed was saved." in await told(alices, await send(alices, path, **form, include="Another", do="save"))
    [source] = (await alices.get("/api/sources", "alice")).json()
    assert source["config"]["filters"] == {"include": [{"field": "title", "pattern": "Another"}]}
    assert source["fetch_interval_minutes"] == 30


@pytest.mark.proves("G-05")
async def test_the_address_of_a_source_has_a_field_of_its_own(alices: Site, failing: Source):
    path = f"/sources/{failing.id}/edit"
    page = (await alices.get(path)).text
    [address] = re.findall('<input name="url"[^>]* value="([^"]*)"', page)
    assert address == failing.config["url"]
    assert address not in page.split('name="config"')[1], "and stands in no other"
    blank = await send(alices, path, name="feed", url="", config="{}", do="save")
    assert blank.status_code == 422
    moved = await send(alices, path, name="feed", url="https://moved.example/feed", config="{}", do="save")
    assert "feed was saved." in await told(alices, moved)
    [source] = (await alices.get("/api/sources", "alice")).json()
    assert source["config"] == {"url": "https://moved.example/feed"}


async def _opened(site: Site, path: str) -> dict[str, str]:
    """The fields of the edit form, as a browser would send them."""
    page = (await site.get(path)).text
    inputs = re.findall(r'<input (?:type="hidden" )?name="(was|name|url|tags|interval)"[^>]*? value="([^"]*)"', page)
    areas = re.findall(r'<textarea name="(\w+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    fields = {name: html.unescape(value) for name, value in [*inputs, *areas]}
    return {name: value if name == "was" else value.replace("\n", "\r\n") for name, value in fields.items()}


@pytest.mark.proves("G-05")
async def test_what_another_changed_while_the_form_was_open_is_kept(alices: Site, failing: Source):
    path = f"/sources/{failing.id}/edit"
    config = {"url": "https://feed.example/feed", "headers": {"X-Api-Key": "hunter2"}}
    keep = {"include": [{"field": "title", "pattern": "boats"}]}
    await alices.system.catalog.change(failing.id, Change(config={**config, "filters": keep}), OPERATOR)
    first, second = await _opened(alices, path), await _opened(alices, path)
    assert "hunter2" not in str(first)
    await send(alices, path, **{**first, "name": "Renamed"}, do="save")
    outside = Change(fetch_interval_minutes=45, tags=("x",), is_public=True)
    await alices.system.catalog.change(failing.id, outside, OPERATOR)
    assert "Keeps " in (await send(alices, path, **{**second, "exclude": "cars"}, do="preview")).text
    bad = await send(alices, path, **{**second, "exclude": "title: ("}, do="save")
    assert html.escape(second["was"], quote=True).replace("&quot;", "&#34;") in bad.text, "it is what it was made from"
    await send(alices, path, **{**second, "exclude": "cars"}, do="save")
    saved = await alices.system.catalog.get(failing.id, OPERATOR)
    assert (saved.name, saved.tags, saved.is_public) == ("Renamed", ("x",), True)
    kept = {key: saved.config[key] for key in ("url", "filters", "fetch_interval_minutes")}
    rules = {**keep, "exclude": [{"field": "title", "pattern": "cars"}]}
    assert kept == {"url": config["url"], "filters": rules, "fetch_interval_minutes": 45}
    await send(alices, path, **{**second, "name": "Mine", "tags": ""}, do="save")
    last = await alices.system.catalog.get(failing.id, OPERATOR)
    assert (last.name, last.tags) == ("Mine", ("x",)), "of a field that both changed the last holds"


@pytest.mark.proves("G-05")
async def test_a_tag_with_a_comma_that_is_stored_already_is_parted_only_where_tags_are_changed(
    alices: Site, failing: Source
):
    def keep(conn: Connection) -> None:
        sources.change(conn, failing.id, {"tags": ["a,two"]}, now=alices.system.clock.now())

    await alices.system.store.write(keep)
    path = f"/sources/{failing.id}/edit"
    await send(alices, path, **{**await _opened(alices, path), "name": "Renamed"}, do="save")
    assert (await alices.system.catalog.get(failing.id, OPERATOR)).tags == ("a,two",)
    await send(alices, path, **{**await _opened(alices, path), "tags": "a,two, b"}, do="save")
    assert (await alices.system.catalog.get(failing.id, OPERATOR)).tags == ("a", "two", "b")
    changed = {"tags": ["c,four"]}
    assert (await alices.put(f"/api/sources/{failing.id}", "alice", json=changed)).json()["tags"] == ["c", "four"]


@pytest.mark.proves("G-05")
@pytest.mark.parametrize("was", ["", "[", "[1]", '{"name": 1}', "[" * 100_000])
async def test_a_form_that_does_not_say_what_it_was_made_from_is_taken_as_it_is(
    alices: Site, failing: Source, was: str
):
    form = {"name": "New", "url": "https://feed.example/feed", "tags": "a", "config": "{}", "was": was}
    await send(alices, f"/sources/{failing.id}/edit", **form, do="save")
    saved = await alices.system.catalog.get(failing.id, OPERATOR)
    assert (saved.name, saved.tags) == ("New", ("a",))


@pytest.mark.proves("G-02")
async def test_starter_feeds_are_nobodys_choice_and_end_no_welcome(alices: Site):
    for draft in STARTER_PACK:
        await alices.system.catalog.add(draft, OPERATOR)
    await alices.post("/signin", data={"key": alices.keys["admin"]})
    page = html.unescape((await alices.get("/")).text)
    assert re.search(r"<details open><summary><h2>Welcome</h2>", page)
    assert "You follow them already: Hacker News" in page
    await alices.add_source(alices.alice, "own")
    page = (await alices.get("/")).text
    assert "Welcome: a password is still to be set" in page, "others have accounts, but no administrator has one"
    await alices.system.accounts.enrol("ada@example.org")
    assert 'action="/welcome/password"' in (await alices.get("/")).text, "nor does one who is no administrator"
    await alices.system.accounts.add_with_password("me@example.org", "long enough", is_admin=True)
    page = (await alices.get("/")).text
    assert 'id="welcome"' not in page, "an administrator has a password, and something is followed"


@pytest.mark.proves("G-01", "G-11")
@pytest.mark.parametrize(
    ("lang", "told"), [("en", "The network is away; nothing is lost"), ("zh", "网络不通；不会丢失内容")]
)
async def test_without_a_network_the_overview_blames_no_source(alices: Site, clock: ManualClock, lang: str, told: str):
    source = await alices.add_source(alices.alice, "feed")
    values = {"next_check_why": Why.OFFLINE, "last_attempt_at": clock.now()}
    await alices.system.store.write(lambda conn: sources.change(conn, source.id, values, now=clock.now()))
    start = {"owner": "h:1:x", "now": clock.now(), "until": clock.now() + timedelta(minutes=5)}
    await alices.system.store.write(runs.start, RunKind.COLLECTOR, "h:1:x", **start)
    page = (await alices.get(f"/?lang={lang}")).text
    assert re.search(f'<p class="lede" id="lede">{told}', page)
    assert "health=needs_you" not in page
    assert re.search(f'<p class="lede" id="lede">{told}', (await alices.get(f"/sources?lang={lang}")).text)


@pytest.mark.proves("G-01", "G-11")
@pytest.mark.parametrize("path", ["/", "/sources"])
async def test_while_nothing_collects_no_page_says_that_none_needs_anybody(alices: Site, path: str):
    assert "The collector is not running" not in (await alices.get(path)).text, "there is nothing to collect yet"
    await alices.add_source(alices.alice, "feed")
    page = (await alices.get(path)).text
    assert '<p class="lede" id="lede">The collector is not running' in page
    assert "none needs you" not in page


@pytest.mark.proves("G-01", "G-11")
@pytest.mark.parametrize(
    ("lang", "hours", "told"),
    [
        ("en", 24.0, "probed again in time"),
        ("en", 0.0, "not tried again by themselves: mend and resume them"),
        ("zh", 0.0, "不会自动重试，修复后请手动恢复"),
    ],
)
async def test_the_overview_promises_a_probe_only_where_there_is_one(
    lean_site: Site, clock: ManualClock, lang: str, hours: float, told: str
):
    source = await lean_site.add_source(lean_site.alice, "feed", public=True)
    values = {"is_active": False, "paused_by": PausedBy.ERROR}
    await lean_site.system.store.write(lambda conn: sources.change(conn, source.id, values, now=clock.now()))
    app = create_app(with_settings(lean_site.system, probe_hours=hours))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://catchment.test") as client:
        assert f"<b>1</b><small>{told}</small>" in re.sub(r"</?a[^>]*>", "", (await client.get(f"/?lang={lang}")).text)


@pytest.mark.proves("G-02")
async def test_a_new_store_welcomes_and_the_first_password_makes_an_administrator(keyless_system: Any):
    first = await keyless_system.accounts.ensure_first_key()
    transport = httpx.ASGITransport(create_app(keyless_system))
    async with httpx.AsyncClient(transport=transport, base_url="http://catchment.test") as client:
        assert "Welcome" not in (await client.get("/")).text, "a stranger can do nothing about it"
        await client.post("/signin", data={"key": first.secret})
        page = html.unescape((await client.get("/")).text)
        for words in (
            "Welcome",
            "Set a password",
            "Paste an address",
            "Import a list",
            "Take starter feeds",
            "network",
        ):
            assert words in page, words
        assert (await client.get("/sources")).status_code == 200, "no page is blocked"
        token = {TOKEN_FIELD: token_of(client.cookies[SESSION_COOKIE])}
        short = {**token, "email": "me@example.org", "password": "short"}
        await client.post("/welcome/password", data=short, headers=HTML)
        assert await keyless_system.accounts.list_users() == []
        answer = await client.post("/welcome/password", data={**short, "password": "long enough"})
        assert answer.status_code == 303
        assert 'href="/account"' in (await client.get("/")).text
    [user] = await keyless_system.accounts.list_users()
    assert (user.email, user.is_admin) == ("me@example.org", True)


@pytest.mark.proves("G-11")
async def test_only_a_chosen_language_is_kept(lean_site: Site):
    chinese = {"Accept-Language": "zh"}
    answer = await lean_site.get("/sources", headers=chinese)
    assert "信息源" in answer.text
    assert "set-cookie" not in answer.headers
    chosen = await lean_site.get("/sources?lang=en", headers=chinese)
    assert "Sources" in chosen.text
    assert "catchment_language=en" in chosen.headers["set-cookie"]
    assert "<h1>Sources</h1>" in (await lean_site.get("/sources", headers=chinese)).text


@pytest.mark.proves("G-11")
@pytest.mark.parametrize("path", ["/", "/sources", "/sources/1", "/sources/1/edit"])
async def test_hostile_texts_are_texts_in_every_field(alices: Site, path: str):
    draft = Draft(type="rss", config={"url": "https://a.example/feed"}, name=HOSTILE, tags=(HOSTILE[:90],))
    source = await alices.system.catalog.add(draft, OPERATOR)
    now = alices.system.clock.now()
    values = {"fetch_error_count": 1, "last_error": HOSTILE, "last_error_at": now, "created_by": alices.alice.id}
    await alices.system.store.write(lambda conn: sources.change(conn, source.id, values, now=now))
    evil = make_item(native_id="1", title=HOSTILE, url="javascript:alert(1)", author=HOSTILE)
    await alices.system.store.write(items.insert_new, [(source.id, evil)], now=now)
    line = LogLine(source_id=source.id, started_at=now, finished_at=now, ok=False, error=HOSTILE)
    await alices.system.store.write(fetch_log.write, [line])
    text = (await alices.get(path)).text
    assert "<script>window" not in text
    assert "<img" not in text
    assert 'href="javascript' not in text
    assert "{{7*7}}" in text
    assert not re.search(r"\sstyle=|\son\w+=[\"']", text)


@pytest.mark.proves("G-11")
async def test_behind_a_sub_path_every_address_has_it(lean_site: Site):
    transport = httpx.ASGITransport(create_app(with_settings(lean_site.system, public_url="https://example.org/catch")))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        for path in ("/sources", "/catch/sources", "/signin"):
            text = (await client.get(path)).text
            for address in re.findall(r'(?:src|href|action)="(/[^"]*)"', text):
                assert address.startswith("/catch/"), address
        assert (await client.get("/account")).headers["location"] == "/catch/signin?then=%2Faccount"
        for path in ("/catch/static/tokens.css", "/static/tokens.css", "/docs/ui/swagger-ui.css", "/catch"):
            assert (await client.get(path, follow_redirects=True)).status_code == 200, path
        for path in ("/api/sources/7", "/catch/api/sources/7"):
            answer = await client.get(path, headers={"Accept": "text/html"})
            assert answer.headers["content-type"] == "application/json", "programs get what they can read"


@pytest.fixture
async def tab(served_url: str, lean_site: Site) -> AsyncIterator[Tab]:
    """Alice's browser, signed in."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(base_url=served_url, locale="en-US")
        await page.goto("/signin")
        await page.locator("summary").click()
        await page.fill("#key", lean_site.keys["alice"])
        await page.locator("#key").press("Enter")
        await expect(page.locator("h1")).to_have_text("Overview")
        yield page
        await browser.close()


@pytest.mark.browser
@pytest.mark.proves("G-03", "G-11")
async def test_a_browser_pastes_looks_follows_and_changes_an_interval(
    lean_site: Site, tab: Tab, monkeypatch: pytest.MonkeyPatch
):
    resolve_as(monkeypatch)
    await tab.goto("/items")
    await tab.keyboard.press("a")
    field = tab.get_by_label("Paste an address", exact=True)
    await expect(field).to_be_focused()
    await tab.keyboard.type("https://a.example/")
    await field.press("Shift+Enter")
    assert await field.input_value() == "https://a.example/\n"
    await field.press("Enter")
    await expect(tab.get_by_text("The page leads to this feed.")).to_be_visible()
    await expect(tab.get_by_text("First item")).to_be_visible()
    await tab.get_by_role("button", name="Follow", exact=True).click()
    await expect(tab.locator("h1")).to_have_text("Feed of https://a.example/")
    await tab.get_by_label("Interval", exact=True).fill("77")
    await tab.get_by_label("Interval", exact=True).press("Enter")
    await expect(tab.locator("#source-state")).to_contain_text("77 min")
    await tab.get_by_role("button", name="Pause", exact=True).click()
    await expect(tab.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    await tab.get_by_role("button", name="Undo", exact=True).click()
    await expect(tab.get_by_role("button", name="Pause", exact=True)).to_be_visible()


@pytest.mark.browser
@pytest.mark.proves("G-05", "G-11")
async def test_a_browser_tells_its_zone_so_that_the_first_page_has_its_days_too(lean_site: Site, tab: Tab):
    source = await lean_site.add_source(lean_site.alice, "hers", public=True)
    await lean_site.add_items(source, "An item")
    assert tab.context.browser
    elsewhere = await tab.context.browser.new_page(timezone_id="Asia/Kathmandu", locale="en-US")
    await elsewhere.goto(f"{tab.url}sources/{source.id}")
    await expect(elsewhere.locator("figcaption")).to_contain_text("days in Nepal Time")


@pytest.mark.browser
@pytest.mark.proves("G-11")
@pytest.mark.parametrize(
    ("lang", "told"),
    [
        (
            "en",
            ["just now", "1 minute ago", "1 minute ago", "1 hour ago", "1 day ago", "1 day ago", "now", "in 2 hours"],
        ),
        ("zh", ["刚刚", "1 分钟前", "1 分钟前", "1 小时前", "1 天前", "1 天前", "现在", "2 小时后"]),
    ],
)
async def test_of_what_is_past_whole_days_hours_and_minutes_are_told(tab: Tab, lang: str, told: list[str]):
    minute, hour, day = 60, 3600, 86400
    past = [-20, -50, -1.9 * minute, -1.9 * hour, -37.5 * hour, -1.9 * day, 20, 1.9 * hour]
    await tab.goto(f"/sources?lang={lang}")
    said = await tab.evaluate(
        """async (past) => {
          const place = document.createElement("div");
          for (const seconds of past) {
            const time = document.createElement("time");
            time.setAttribute("datetime", new Date(Date.now() + seconds * 1000).toISOString());
            place.append(time);
          }
          const { tellTimes } = await import(document.querySelector('script[type="module"]').src.replace("catchment.js", "times.js"));
          tellTimes(place);
          return [...place.children].map((time) => time.textContent);
        }""",
        past,
    )
    assert said == told


@pytest.mark.browser
@pytest.mark.proves("G-03", "G-11")
async def test_where_there_is_no_keyboard_no_keys_are_spoken_of(lean_site: Site, tab: Tab):
    await tab.goto("/sources")
    assert await tab.locator("#pasted-help").inner_text() == (
        "Any address or name: a site, a feed, @handle, r/python. Enter looks it up, Shift+Enter adds a line."
    )
    assert tab.context.browser
    phone = await tab.context.browser.new_context(
        base_url=tab.url, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True
    )
    await phone.add_cookies(await tab.context.cookies())  # type: ignore[arg-type]
    page = await phone.new_page()
    await page.goto("/sources")
    assert await page.locator("#pasted-help").inner_text() == (
        "Any address or name: a site, a feed, @handle, r/python. Several can be pasted at once, one a line."
    )
    await expect(page.get_by_text("Choose the OPML export of any reader.")).to_be_visible()
    await expect(page.get_by_text("Drop the OPML export")).to_be_hidden()


@pytest.mark.browser
@pytest.mark.proves("G-03", "G-04", "G-11")
async def test_rows_come_and_change_while_the_list_is_open_and_the_keyboard_walks_them(lean_site: Site, tab: Tab):
    first = await lean_site.add_source(lean_site.alice, "first")
    await tab.goto("/sources?sort=name")
    await expect(tab.locator("#live")).to_have_text("live")
    second = await lean_site.add_source(lean_site.alice, "second")
    await expect(tab.locator("[data-row]")).to_have_count(2)
    await lean_site.system.catalog.change(first.id, _paused(), OPERATOR)
    await expect(tab.locator(f"#source-{first.id} .health")).to_have_text("paused")
    await tab.keyboard.press("j")
    await tab.keyboard.press("j")
    await expect(tab.locator(f"#source-{second.id}")).to_have_class(re.compile("here"))
    await tab.keyboard.press("p")
    await expect(tab.locator(f"#source-{second.id} .health")).to_have_text("paused")
    await expect(tab.locator(f"#source-{second.id}")).to_have_class(re.compile("here"))
    await tab.locator(f"#source-{second.id} [data-pause]").focus()
    await tab.keyboard.press("Enter")
    await expect(tab.locator(f"#source-{second.id} .health")).not_to_have_text("paused")
    await expect(tab.locator(f"#source-{second.id} [data-pause]")).to_be_focused()
    file = "const given = new DataTransfer(); given.items.add(new File([told], 'list.opml')); return given"
    told = '<opml version="2.0"><body><outline text="third" xmlUrl="https://third.example/feed"/></body></opml>'
    given = await tab.evaluate_handle(f"(told) => {{ {file} }}", told)
    await tab.dispatch_event("h1", "drop", {"dataTransfer": given})
    await expect(tab.locator("#notice")).to_contain_text("Imported 1")
    await tab.keyboard.press("?")
    await expect(tab.locator("#keyboard")).to_be_visible()
    await tab.keyboard.press("Escape")
    await tab.keyboard.press("/")
    await expect(tab.locator("#find")).to_be_focused()


@pytest.mark.proves("G-04")
async def test_what_was_deleted_comes_back_by_the_line_that_told_it_and_for_a_day_from_the_list(
    alices: Site, clock: ManualClock
):
    papers = [await alices.add_source(alices.alice, f"paper-{number}") for number in range(3)]
    await alices.add_items(papers[0], "An item")
    ids = [str(one.id) for one in papers]
    page = await told(alices, await send(alices, "/sources/act", do="delete", ids=",".join(ids), back="/sources"))
    assert "Deleted: 3." in page
    assert "Deleted within a day: 3" in page
    assert f'value="restore"><input type="hidden" name="ids" value="{",".join(ids)}"' in page
    page = await told(alices, await send(alices, "/sources/act", do="restore", ids=",".join(ids[:2]), back="/sources"))
    assert "Back again, with everything: 2." in page
    assert "An item" in (await alices.get(f"/sources/{ids[0]}")).text
    clock.advance(timedelta(hours=23))
    page = await told(alices, await send(alices, "/sources/act", do=f"restore {ids[2]}", back="/sources"))
    assert "Deleted within a day" not in page
    await send(alices, "/sources/act", do=f"delete {ids[2]}", back="/sources")
    clock.advance(timedelta(hours=25))
    assert "Deleted within a day" not in (await alices.get("/sources")).text
    late = await told(alices, await send(alices, "/sources/act", do=f"restore {ids[2]}", back="/sources"))
    assert "removed within the last day" in late


@pytest.mark.proves("G-04")
async def test_what_is_deleted_is_offered_back_to_nobody_else(alices: Site):
    source = await alices.add_source(alices.bob, "bobs-paper", public=True)
    await alices.system.catalog.remove(source.id, alices.bob.caller())
    assert "Deleted within a day" not in (await alices.get("/sources")).text
    refused = await told(alices, await send(alices, "/sources/act", do=f"restore {source.id}", back="/sources"))
    assert "There is no source" in refused


@pytest.mark.proves("G-04")
async def test_deleting_very_many_is_told_too_and_they_can_be_had_back(alices: Site):
    """More than the line that tells of it has room for: then the list of what was deleted has them."""
    ids = [(await alices.add_source(alices.alice, f"paper-{number}")).id for number in range(12)]
    fields = {"do": "delete", "ids": ",".join(map(str, ids)), "back": f"/sources?q={'x' * 2500}"}
    page = await told(alices, await send(alices, "/sources/act", **fields))
    assert "Deleted: 12." in page
    assert "Deleted within a day: 12" in page


@pytest.mark.proves("G-05", "G-11")
@pytest.mark.parametrize(
    ("visited", "said"),
    [
        ({"ok": True, "items": 9, "inserted": 3}, 'data-mood="ok" role="status"><p>Fetched: mine. 3 new.'),
        ({"ok": True, "items": 9}, 'data-mood="ok" role="status"><p>Fetched: mine. Nothing new.'),
        (
            {"ok": False, "error": "The server answered 500."},
            'data-mood="bad" role="status"><p>Could not be fetched: mine. The server answered 500.',
        ),
    ],
)
async def test_that_a_source_is_being_fetched_is_said_until_it_is(
    alices: Site, clock: ManualClock, visited: dict[str, Any], said: str
):
    mine = await alices.add_source(alices.alice, "mine")
    await logged(alices, mine, clock, ok=True, inserted=7)
    clock.advance(timedelta(minutes=1))
    page = await told(alices, await send(alices, "/sources/act", do=f"fetch {mine.id}", back=f"/sources/{mine.id}"))
    assert 'id="fetch-notice" data-mood="ok" role="status"><p>Fetching now: mine.' in page
    assert "asked_fetch" not in page.replace(address_listened_to(page), ""), "no link leads there"
    assert await notice_told_live(alices, page) in page
    await logged(alices, mine, clock, **visited)
    assert said in await notice_told_live(alices, page)
    again = await alices.get(f"/sources/{mine.id}")
    assert "fetch-notice" not in again.text, "it is said once"


@pytest.mark.proves("G-04", "G-11")
async def test_of_several_that_are_fetched_it_is_said_how_many_are_done(alices: Site, clock: ManualClock):
    some = [await alices.add_source(alices.alice, name) for name in ("one", "two", "three")]
    clock.advance(timedelta(minutes=1))
    page = await told(alices, await send(alices, "/sources/act", do="fetch", id=[str(source.id) for source in some]))
    assert "Fetching now: 0 of 3 sources are done." in page
    await logged(alices, some[0], clock, ok=True, inserted=4)
    assert "Fetching now: 1 of 3 sources are done." in await notice_told_live(alices, page)
    await logged(alices, some[1], clock, ok=False, error="no")
    later = NextCheck(at=clock.now() + timedelta(hours=1), why=Why.HOST_BUDGET)
    await alices.system.store.write(sources.reschedule, [(some[2].id, later)])
    assert "1 of 3 sources fetched: 4 new. The others could not be fetched." in await notice_told_live(alices, page)


@pytest.mark.proves("G-05")
async def test_a_fetch_that_was_put_off_says_until_when(alices: Site, clock: ManualClock):
    mine = await alices.add_source(alices.alice, "mine")
    page = await told(alices, await send(alices, "/sources/act", do=f"fetch {mine.id}"))
    later = NextCheck(at=clock.now() + timedelta(hours=1), why=Why.HOST_BUDGET)
    await alices.system.store.write(sources.reschedule, [(mine.id, later)])
    assert "mine: not fetched yet, waits for its turn at mine.example until " in await notice_told_live(alices, page)


PAUSED_TOLD = {
    "en": (
        "Fetching now: mine.",
        "mine: not fetched, paused by hand.",
        "mine: not fetched, waits for its turn at mine.example until {at} UTC. It is paused, so it is not fetched by itself",
    ),
    "zh": (
        "正在抓取：mine。",
        "mine：未抓取，已手动暂停。",
        "mine：未抓取，等待主机 mine.example 的请求配额，{at} UTC 轮到它。它已暂停，届时不会自动抓取",
    ),
}


@pytest.mark.proves("G-05", "G-11")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_paused_source_that_nobody_here_fetches_is_not_said_to_be_fetched(alices: Site, language: str):
    mine = await paused(alices, "mine")
    alices.client.cookies.set(LANGUAGE_COOKIE, language)
    page = await told(alices, await send(alices, "/sources/act", do=f"fetch {mine.id}"))
    assert f'data-mood="warn" role="status"><p>{PAUSED_TOLD[language][1]}' in page, "also without scripts"
    assert PAUSED_TOLD[language][1] in await notice_told_live(alices, page, language)


@pytest.mark.proves("G-05", "G-11")
@pytest.mark.parametrize("language", ["en", "zh"])
async def test_a_paused_source_whose_fetch_was_put_off_says_until_when_and_that_it_is_paused(
    alices: Site, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, language: str
):
    may_answer = asyncio.Event()

    async def fetch(*_: object) -> Fetched:
        await may_answer.wait()
        raise Deferred("mine.example", seconds=3600)

    monkeypatch.setattr(RssFetcher, "fetch", fetch)
    mine = await paused(alices, "mine")
    alices.client.cookies.set(LANGUAGE_COOKIE, language)
    async with alices.system.collector.working(grace_seconds=5):
        page = await told(alices, await send(alices, "/sources/act", do=f"fetch {mine.id}"))
        for said in (page, await notice_told_live(alices, page, language)):
            assert PAUSED_TOLD[language][0] in said
        may_answer.set()
        await alices.system.visits.wait()
        until = f"{clock.now() + timedelta(hours=1):%Y-%m-%d %H:%M}"
        said = await notice_told_live(alices, page, language)
    assert PAUSED_TOLD[language][2].format(at=until) in re.sub(r"</?time[^>]*>", "", said)


@pytest.mark.proves("G-05")
async def test_a_paused_source_that_somebody_else_fetches_is_said_to_be_fetched(alices: Site, clock: ManualClock):
    mine, until = await paused(alices, "mine"), clock.now() + timedelta(minutes=1)
    await alices.system.store.write(runs.claim_now, mine.id, owner="another", now=clock.now(), until=until)
    page = await told(alices, await send(alices, "/sources/act", do=f"fetch {mine.id}"))
    assert "Fetching now: mine." in page


@pytest.mark.proves("G-05", "G-11")
@pytest.mark.parametrize(("language", "promise"), [("en", "tried again later"), ("zh", "稍后重试")])
async def test_no_other_try_is_promised_of_a_paused_source_that_could_not_be_fetched(
    alices: Site, clock: ManualClock, language: str, promise: str
):
    resting, active = await paused(alices, "resting"), await alices.add_source(alices.alice, "active")
    alices.client.cookies.set(LANGUAGE_COOKIE, language)
    for source, is_promised in ((resting, False), (active, True)):
        page = await told(alices, await send(alices, "/sources/act", do=f"fetch {source.id}"))
        await logged(alices, source, clock, ok=False, error="x.example took too long to answer; tried again later")
        said = await notice_told_live(alices, page, language)
        assert 'data-mood="bad"' in said
        assert (promise in said) is is_promised


@pytest.mark.proves("G-05")
async def test_a_failure_from_before_it_was_resumed_is_not_said_to_be_none_of_its_own(alices: Site, clock: ManualClock):
    mine = await paused(alices, "mine")
    await logged(alices, mine, clock, ok=False, error="The server answered 500.")
    await send(alices, "/sources/act", do=f"resume {mine.id}")
    english, chinese = [html.unescape((await alices.get(f"/sources/{mine.id}?lang={x}")).text) for x in ("en", "zh")]
    for page, failed in ((english, ", failed. No visit brought anything yet."), (chinese, "）失败。至今没有")):
        assert failed in re.sub(r"</?time[^>]*>", "", page)


async def paused(site: Site, name: str) -> Source:
    source = await site.add_source(site.alice, name)
    await send(site, "/sources/act", do=f"pause {source.id}")
    return source


@pytest.mark.proves("G-13")
@pytest.mark.parametrize(
    "asked", ["{at}.0.{others}", "x.y", "9e9.1", "1" * 400 + ".0.1", "1.0.99999999999999999999999"]
)
async def test_nobody_hears_of_fetches_that_are_not_theirs(alices: Site, clock: ManualClock, asked: str):
    others = await alices.add_source(alices.bob, "hidden")
    await logged(alices, others, clock, ok=True, inserted=4)
    told_as = asked.format(at=0, others=others.id)
    assert await notice_told_live(alices, f'data-live-of="/sources?asked_fetch={told_as}"') == ""


async def logged(site: Site, source: Source, clock: ManualClock, **ended: Any) -> None:
    line = LogLine(source_id=source.id, started_at=clock.now(), finished_at=clock.now(), **ended)
    await site.system.store.write(fetch_log.write, [line])


def address_listened_to(page: str) -> str:
    found = re.search(r'data-live-of="([^"]+)"', page)
    assert found
    return html.unescape(found[1])


async def notice_told_live(site: Site, page: str, language: str = "en") -> str:
    """As it is sent to the browser that has this page open."""
    caller = await site.system.authenticator.identify(site.keys["alice"])
    assert caller
    watch = Watch(caller=caller, language=Language(language), page=address_listened_to(page))
    parts: dict[str, str] = json.loads(await read_watched(site.app, watch))["parts"]
    return html.unescape(parts.get("fetch-notice", ""))
