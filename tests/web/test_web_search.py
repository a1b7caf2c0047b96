"""Searching and reading items over HTTP."""

from __future__ import annotations

from datetime import timedelta

import pytest
from web_site import Site

from catchment.clock import ManualClock
from catchment.domain.item import make_item
from catchment.domain.source import Source
from catchment.store import items
from stores import on_sqlite_alone


async def found(site: Site, query: str, who: str = "alice") -> list[str]:
    answer = await site.get(f"/api/items?{query}", who)
    assert answer.status_code == 200, answer.text
    return [item["title"] for item in answer.json()["items"]]


async def edit(site: Site, source: Source, key: str, **values: str) -> None:
    item = make_item(native_id=key, **{"title": key, **values})
    await site.system.store.write(items.update_changed, [(source.id, item)], now=site.system.clock.now())


@on_sqlite_alone
@pytest.mark.proves("G-06", "G-13")
async def test_what_was_just_stored_is_found_in_chinese_and_english(site: Site):
    source = await site.add_source(site.alice, "hers")
    await site.add_items(source, "人工智能 and chips", "Weather")
    assert await found(site, "q=智能") == ["人工智能 and chips"]
    assert await found(site, "q=WEATHER") == ["Weather"]
    assert await found(site, "q=chips+-weather") == ["人工智能 and chips"]
    assert sorted(await found(site, "")) == ["Weather", "人工智能 and chips"]


@pytest.mark.proves("G-06", "G-13", "A-25")
@pytest.mark.parametrize("path", ["/api/items?q=secret", "/api/items", "/api/items?q=secret&source_id={id}"])
async def test_a_search_shows_to_each_caller_what_the_other_routes_show_them(site: Site, path: str):
    hers = await site.add_source(site.alice, "hers")
    await site.add_items(hers, "secret hers")
    everybodys = await site.add_source(site.alice, "everybodys", public=True)
    await site.add_items(everybodys, "secret of all")
    path = path.replace("{id}", str(hers.id))
    assert (await site.get(path)).status_code == 401
    other = path.replace("/api/items", "/api/raw-items").replace("q=secret&", "").replace("?q=secret", "")
    for who in ("alice", "bob", "service", "admin"):
        seen = {item["title"] for item in (await site.get(other, who)).json()}
        assert set(await found(site, path.partition("?")[2], who)) == seen, who
    [one] = [item for item in (await site.get("/api/items", "alice")).json()["items"] if item["title"] == "secret hers"]
    statuses = [(await site.get(f"/api/items/{one['id']}", who)).status_code for who in (None, "alice", "bob", "admin")]
    assert statuses == [401, 200, 404, 200]


@pytest.mark.proves("G-13")
@pytest.mark.parametrize("query", ["q=word", ""])
async def test_pages_follow_one_another_by_cursor(lean_site: Site, clock: ManualClock, query: str):
    source = await lean_site.add_source(lean_site.alice, "hers")
    for number in range(5):
        await lean_site.add_items(source, f"word {number}")
        clock.advance(timedelta(minutes=1))
    seen, cursor = [], ""
    for _ in range(3):
        body = (await lean_site.get(f"/api/items?{query}&limit=2{cursor}", "alice")).json()
        seen.append([item["title"] for item in body["items"]])
        cursor = f"&cursor={body['next_cursor']}"
    assert seen == [["word 4", "word 3"], ["word 2", "word 1"], ["word 0"]]
    assert body["next_cursor"] is None


@pytest.mark.proves("G-06")
@pytest.mark.parametrize(
    "query",
    ["q=人", "q=-word", "q=!!!", "q=ab*", "q=word&cursor=nonsense", "cursor=x", "since=2026-03-02&until=2026-03-01"],
)
async def test_what_cannot_be_searched_is_refused_with_a_sentence(lean_site: Site, query: str):
    answer = await lean_site.get(f"/api/items?{query}", "alice")
    assert answer.status_code == 422
    assert answer.json()["detail"].endswith(".")


@pytest.mark.proves("G-06", "G-13")
async def test_an_item_is_read_with_its_source_links_and_edits(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "hers", tags=("red",))
    first = make_item(
        native_id="a", title="Old title", content='<p>One <a href="https://x.example/?a=1&amp;b=2">two</a></p>'
    )
    await site.system.store.write(items.insert_new, [(source.id, first)], now=clock.now())
    clock.advance(timedelta(hours=1))
    await edit(
        site, source, "a", title="New title", content='<p>One <a href="https://x.example/?a=1&amp;b=2">three</a></p>'
    )
    [listed] = (await site.get("/api/items", "alice")).json()["items"]
    shown = (await site.get(f"/api/items/{listed['id']}", "alice")).json()
    assert shown["source"] == {"id": source.id, "name": "hers", "type": "rss", "tags": ["red"], "is_public": False}
    assert shown["links"] == ["https://x.example/?a=1&b=2"]
    [change] = shown["edits"]
    assert change["revision"] == 1
    assert change["at"] == "2026-03-01T13:00:00.000Z"
    assert change["title"] == [
        {"kind": "removed", "text": "Old"},
        {"kind": "added", "text": "New"},
        {"kind": "same", "text": " title"},
    ]
    assert [one["text"] for one in change["text"]] == ["One ", "two", "three"]


@pytest.mark.proves("G-06")
async def test_a_search_is_saved_as_a_feed_that_shows_what_it_finds_at_once(site: Site, clock: ManualClock):
    hers = await site.add_source(site.alice, "hers")
    his = await site.add_source(site.bob, "his")
    await site.add_items(hers, "人工智能 one", "Weather")
    await site.add_items(his, "人工智能 of his")
    saved = await site.post("/api/feeds", "alice", json={"slug": "ai", "filter": {"q": "智能 -spam"}})
    assert saved.status_code == 201, saved.text
    address = f"/feeds/ai.json?token={saved.json()['token']}"

    async def shown() -> list[str]:
        answer = await site.get(address)
        assert answer.status_code == 200, answer.text
        return [item["title"] for item in answer.json()["items"]]

    assert (await site.get("/feeds/ai.json")).status_code in {401, 403, 404}
    assert await shown() == ["人工智能 one"]
    clock.advance(timedelta(minutes=1))
    await site.add_items(hers, "智能 two", "智能 spam", "Sun")
    assert await shown() == ["智能 two", "人工智能 one"], "before anything was taken into the index"
    await site.system.items.take_in()
    await edit(site, hers, "智能 two", title="something else")
    assert await shown() == ["人工智能 one"]
    wrong = await site.post("/api/feeds", "alice", json={"slug": "one", "filter": {"q": "人"}})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "filter")
