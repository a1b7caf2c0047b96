"""The full-text index on both stores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from catchment.domain.caller import OPERATOR
from catchment.domain.item import make_item
from catchment.domain.search import read_query
from catchment.domain.source import NewSource, Source
from catchment.store import items, search, sources
from catchment.store.database import Store
from catchment.store.search import ItemFilter, Place

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
ALL = ItemFilter(caller=OPERATOR)


async def add_source(store: Store, name: str = "a", **values: object) -> Source:
    fields = {"type": "rss", "config": {}, "is_public": False, "created_by": None, "tags": (), "host": None, **values}
    return await store.write(sources.add, NewSource(name=name, identity=name, **fields), now=NOW)  # type: ignore[arg-type]


async def add_items(store: Store, source: Source, *titles: str, now: datetime = NOW, content: str = "") -> None:
    made = [(source.id, make_item(native_id=title, title=title, content=content)) for title in titles]
    await store.write(items.insert_new, made, now=now)


async def take_in(store: Store) -> int:
    total = 0
    while taken := await store.write(search.take_in, 3):
        total += taken
    return total


async def titles(store: Store, q: str, wanted: ItemFilter = ALL, limit: int = 50) -> list[str]:
    page = await store.read(search.find, read_query(q) if q else None, wanted, after=None, limit=limit)
    return [item.title for item in page.items]


@pytest.mark.proves("G-06")
async def test_words_of_two_chinese_characters_and_english_words_are_found(store: Store):
    source = await add_source(store)
    await add_items(
        store, source, "人工智能的发展", "Climate news", "股票 and shares", content="<p>机器<b>学习</b></p>"
    )
    assert await take_in(store) == 3
    assert await titles(store, "智能") == ["人工智能的发展"]
    assert await titles(store, "工智") == ["人工智能的发展"]
    assert await titles(store, "智人") == []
    assert await titles(store, "CLIMATE") == ["Climate news"]
    assert len(await titles(store, "机器学习")) == 3
    assert await titles(store, "机器 -climate shares") == ["股票 and shares"]
    assert await titles(store, "clim*") == ["Climate news"]
    assert await titles(store, '"news climate"') == []


@pytest.mark.proves("G-06")
async def test_an_edited_item_is_found_by_its_new_words_only(store: Store):
    source = await add_source(store)
    await add_items(store, source, "before", content="stays")
    await take_in(store)
    for title in ("between", "after"):
        changed = make_item(native_id="before", title=title, content="stays")
        await store.write(items.update_changed, [(source.id, changed)], now=NOW)
    await take_in(store)
    assert [await titles(store, q) for q in ("before", "between", "after", "stays")] == [[], [], ["after"], ["after"]]


@pytest.mark.proves("G-06")
async def test_a_cleaned_item_leaves_the_index(store: Store):
    source = await add_source(store)
    await add_items(store, source, "old one", "older one")
    await take_in(store)
    await add_items(store, source, "new one", now=NOW + timedelta(days=40))
    await store.write(items.delete_old, now=NOW + timedelta(days=40), keep=timedelta(days=30), limit=500)
    assert await titles(store, "one") == [], "what is gone is not shown, even before the index gives it up"
    assert await take_in(store) == 3
    assert await titles(store, "one") == ["new one"]
    assert await titles(store, "older") == []
    if store.url.get_backend_name() == "sqlite":
        # Raises where the index holds something that it should have given up.
        await store.write(
            lambda conn: conn.execute(text("INSERT INTO search_index(search_index) VALUES('integrity-check')"))
        )
        count = "SELECT count(*) FROM search_index WHERE search_index MATCH '\"0_one\"'"
    else:
        count = "SELECT count(*) FROM search_index"
    assert await store.read(lambda conn: conn.execute(text(count)).scalar_one()) == 1


async def test_an_item_whose_number_is_used_again_is_found_by_its_own_words(store: Store):
    source = await add_source(store)
    await add_items(store, source, "first")
    await take_in(store)
    await store.write(items.delete_old, now=NOW + timedelta(days=40), keep=timedelta(days=30), limit=500)
    await add_items(store, source, "second", now=NOW + timedelta(days=40))
    await take_in(store)
    assert [await titles(store, q) for q in ("first", "second")] == [[], ["second"]]


@pytest.mark.proves("G-06")
async def test_a_search_is_narrowed_by_source_tag_type_and_time(store: Store):
    news = await add_source(store, "news", tags=("daily", "red"))
    code = await add_source(store, "code", type="website", tags=("red",))
    await add_items(store, news, "word one")
    await add_items(store, code, "word two", now=NOW + timedelta(hours=1))
    await add_items(store, news, "word three", now=NOW + timedelta(hours=2))
    await take_in(store)

    def only(**values: object) -> ItemFilter:
        return ItemFilter(caller=OPERATOR, **values)  # type: ignore[arg-type]

    for q in ("word", ""):
        assert await titles(store, q) == ["word three", "word two", "word one"]
        assert await titles(store, q, only(source_id=news.id)) == ["word three", "word one"]
        assert await titles(store, q, only(tag="daily")) == ["word three", "word one"]
        assert await titles(store, q, only(tag="none")) == []
        assert await titles(store, q, only(type="website")) == ["word two"]
        assert await titles(store, q, only(since=NOW + timedelta(hours=1))) == ["word three", "word two"]
        assert await titles(store, q, only(until=NOW + timedelta(hours=1))) == ["word one"]
        assert await titles(store, q, only(tag="red", until=NOW + timedelta(hours=2))) == ["word two", "word one"]


@pytest.mark.proves("G-13")
@pytest.mark.parametrize("q", ["word", ""])
@pytest.mark.parametrize("named", [True, False])
async def test_pages_hold_everything_once(store: Store, monkeypatch: pytest.MonkeyPatch, q: str, named: bool):
    monkeypatch.setattr(search, "LOOK", 4)
    monkeypatch.setattr(search, "BLOCK", 8)
    source, other = await add_source(store), await add_source(store, "b")
    for number in range(30):
        await add_items(store, source, f"word {number}", now=NOW + timedelta(minutes=number // 3))
        await add_items(store, other, f"word other {number}", now=NOW + timedelta(minutes=number // 3))
    await take_in(store)
    wanted = ItemFilter(caller=OPERATOR, source_id=source.id) if named else ALL
    query, after, seen = read_query(q) if q else None, None, list[str]()
    while True:
        page = await store.read(search.find, query, wanted, after=after, limit=7)
        seen += [item.title for item in page.items]
        after = page.next
        if after is None:
            break
        assert len(page.items) == 7
    assert len(seen) == len(set(seen)) == (30 if named else 60)
    assert seen[0].endswith("29") or seen[0].endswith("28") or seen[0].endswith("27")


async def test_a_page_with_little_that_may_be_seen_is_short_and_goes_on(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search, "MAX_NAMED_SOURCES", 0)
    monkeypatch.setattr(search, "MAX_LOOKED_AT", 5)
    monkeypatch.setattr(search, "LOOK", 5)
    public, private = await add_source(store, is_public=True), await add_source(store, "b")
    await add_items(store, public, "word seen")
    await add_items(store, private, *(f"word {number}" for number in range(7)))
    await take_in(store)
    after: Place | None = None
    found = []
    for _ in range(3):
        page = await store.read(search.find, read_query("word"), ItemFilter(), after=after, limit=10)
        found += [item.title for item in page.items]
        after = page.next
        if after is None:
            break
    assert found == ["word seen"]
    assert after is None


@pytest.mark.proves("G-06")
async def test_only_what_a_caller_may_see_is_found(store: Store):
    public = await add_source(store, "public", is_public=True)
    private = await add_source(store, "private")
    gone = await add_source(store, "gone", is_public=True)
    for source in (public, private, gone):
        await add_items(store, source, f"word of {source.name}")
    await store.write(sources.delete, gone.id, now=NOW)
    await take_in(store)
    assert await titles(store, "word", ItemFilter()) == ["word of public"]
    assert sorted(await titles(store, "word")) == ["word of private", "word of public"]


@pytest.mark.proves("G-06")
async def test_the_index_can_be_made_anew(store: Store):
    source = await add_source(store)
    await add_items(store, source, *(f"word {number}" for number in range(10)))
    await take_in(store)
    assert await store.write(search.start_over) == 10
    assert await titles(store, "word") == []
    assert await store.read(search.waiting, 4) == 4
    assert await take_in(store) == 10
    assert len(await titles(store, "word")) == 10
    assert await store.read(search.size_bytes) > 0


async def test_an_item_that_names_every_limit_is_taken_in(store: Store):
    source = await add_source(store)
    texts = ["a " * 40_000, "".join(f"{n:064} " for n in range(20_000)), "漢" * 40_000, "'quote' \\ ' \" : * & |"]
    made = [(source.id, make_item(native_id=str(n), title=f"t{n}", content=one)) for n, one in enumerate(texts)]
    await store.write(items.insert_new, made, now=NOW)
    assert await take_in(store) == 4
    assert await titles(store, "quote t3") == ["t3"]
    assert await titles(store, "漢漢漢") == ["t2"]


@pytest.mark.proves("G-06")
async def test_earlier_versions_are_kept_up_to_five_and_go_with_the_item(store: Store):
    source = await add_source(store)
    await add_items(store, source, "v0")
    for number in range(1, 8):
        changed = make_item(native_id="v0", title=f"v{number}", content="x" * 30_000)
        await store.write(items.update_changed, [(source.id, changed)], now=NOW + timedelta(hours=number))
    [item] = (await store.read(search.find, None, ALL, after=None, limit=5)).items
    kept = await store.read(items.versions, item.id)
    assert [(one.revision, one.title, one.seen_at) for one in kept] == [
        (number, f"v{number}", NOW + timedelta(hours=number)) for number in (6, 5, 4, 3, 2)
    ]
    assert {len(one.content) for one in kept} == {20_000}
    await store.write(items.delete_old, now=NOW + timedelta(days=40), keep=timedelta(days=30), limit=500)
    assert await store.read(items.versions, item.id) == []
