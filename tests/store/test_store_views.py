"""What a published feed costs the store: told by plans and rows, on both stores."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Connection, event, text

from catchment.bootstrap import System
from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.domain.feed import SavedFeed
from catchment.domain.item import make_item
from catchment.domain.source import NewSource
from catchment.manage.catalog import Change, Draft
from catchment.manage.feeds import FeedChange, FeedDraft
from catchment.publish.feed import FeedFormat
from catchment.store import feeds, items, sources, views
from catchment.store.database import Store

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SOURCES, ITEMS = 1000, 8


def fill(conn: Connection) -> None:
    new = [NewSource(name=str(n), type="rss", config={}, identity=str(n), is_public=True) for n in range(SOURCES)]
    stored = sources.add_all(conn, new, now=NOW)
    for number in range(ITEMS):
        made = [(source.id, make_item(native_id=str(number), title="t")) for source in stored]
        for start in range(0, SOURCES, 50):
            items.insert_new(conn, made[start : start + 50], now=NOW + timedelta(hours=number, seconds=start))
    items.update_changed(
        conn, [(one.id, make_item(native_id="1", title="new")) for one in stored[:50]], now=NOW + timedelta(days=1)
    )
    conn.execute(text("ANALYZE"))


def scans(conn: Connection, work: Any) -> list[tuple[str, int]]:
    """(how, rows) of each table or index that the work reads; SQLite tells how, and PostgreSQL the rows as well."""
    sent: list[tuple[str, Any]] = []

    def note(_conn: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        sent.append((statement, parameters))

    event.listen(conn, "before_cursor_execute", note)
    work(conn)
    event.remove(conn, "before_cursor_execute", note)
    found: list[tuple[str, int]] = []
    for statement, parameters in sent:
        if conn.dialect.name == "sqlite":
            plan = conn.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            found += [(row[-1], 0) for row in plan if row[-1].startswith(("SCAN", "SEARCH"))]
        else:
            [[plans]] = conn.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", parameters)
            found += nodes((plans if isinstance(plans, list) else json.loads(plans))[0]["Plan"])
    return found


def nodes(plan: dict[str, Any]) -> list[tuple[str, int]]:
    name = plan.get("Relation Name") or plan.get("Index Name")
    removed = plan.get("Rows Removed by Filter", 0)
    rows = round((plan["Actual Rows"] + removed) * plan["Actual Loops"])
    own = [(f"{plan['Node Type']} {name}", rows)] if name else []
    return own + [one for inner in plan.get("Plans", []) for one in nodes(inner)]


@pytest.fixture
async def system_of_many(system: System) -> System:
    await system.store.write(fill)
    return system


async def saved(store: Store, slug: str) -> SavedFeed:
    feed = await store.read(feeds.find, slug)
    assert feed is not None
    return feed


@pytest.mark.parametrize("wanted", [{"sources": [5, 6]}, {}, {"types": ["rss"]}, {"tags": ["x"]}])
async def test_the_mark_of_a_feed_is_read_without_any_item(system_of_many: System, wanted: dict[str, Any]):
    system = system_of_many
    await system.feeds.add(FeedDraft(slug="view", filter=wanted), OPERATOR)
    state = await system.store.read(views.look, "view", None)
    assert state is not None
    read = await system.store.read(scans, lambda conn: views.look(conn, "view", state.query))
    assert read
    assert not [how for how, _ in read if "raw_items" in how]
    if "sources" in wanted:
        # Of feeds and users there are few: PostgreSQL may well read them all.
        assert not [how for how, _ in read if how in {"Seq Scan changes", "Seq Scan sources"}], read
        assert not [how for how, _ in read if how.startswith("SCAN") and "counted" not in how and "anon" not in how], (
            read
        )
        assert sum(rows for _, rows in read) < 20


async def test_the_items_of_a_feed_are_found_by_index_and_in_its_order(system_of_many: System):
    system = system_of_many
    await system.feeds.add(FeedDraft(slug="all", filter={}), OPERATOR)
    await system.feeds.add(FeedDraft(slug="few", filter={"sources": [5]}), OPERATOR)
    for slug in ("all", "few"):
        feed = await saved(system.store, slug)
        read = await system.store.read(
            scans, lambda conn, feed=feed: views.read_items(conn, feed, lambda _: True, since=None)
        )
        of_items = [(how, rows) for how, rows in read if "raw_items" in how]
        assert of_items
        assert not [how for how, _ in of_items if how in {"Seq Scan raw_items", "SCAN raw_items"}], of_items
        assert sum(rows for _, rows in of_items) <= 8 * feed.filter.limit, of_items
        _, found = await system.store.read(views.read_items, feed, lambda _: True, since=None)
        moments = [shown.changed_at for shown in found]
        assert moments == sorted(moments, reverse=True)
        assert len(found) == (50 if slug == "all" else ITEMS)


@pytest.mark.proves("G-07")
@pytest.mark.parametrize("wanted", [{}, {"q": "river"}], ids=["all", "search"])
async def test_of_what_came_together_the_last_published_comes_first_in_a_feed(system: System, wanted: dict[str, Any]):
    source = await system.catalog.add(Draft(type="rss", config={"url": "https://s.example/"}), OPERATOR)
    ages = {"river 3": 3, "river 1": 1, "river 40": 40, "river undated": None, "river 6": 6}
    made = [
        make_item(native_id=title, title=title, published_at=None if days is None else NOW - timedelta(days=days))
        for title, days in ages.items()
    ]
    await system.store.write(items.insert_new, [(source.id, item) for item in made], now=NOW)
    await system.feeds.add(FeedDraft(slug="view", filter=wanted), OPERATOR)
    feed = await saved(system.store, "view")
    _, found = await system.store.read(views.read_items, feed, lambda _: True, since=None)
    assert [one.item.title.split()[-1] for one in found] == ["1", "3", "6", "40", "undated"]


@pytest.mark.proves("B-10")
@pytest.mark.parametrize("seed", range(2))
async def test_whatever_happens_the_same_tag_is_always_the_same_document(system: System, clock: ManualClock, seed: int):
    """A long walk of every kind of change; and whenever a document changed, so has its tag."""
    chance = random.Random(seed)
    alice = await system.accounts.add_user("alice@example.org", name="Alice")
    owner = Caller(role=Role.USER, user_id=alice.id)
    made = [
        await system.catalog.add(
            Draft(type="rss", config={"url": f"https://s{n}.example/"}, is_public=n % 2 == 0), OPERATOR
        )
        for n in range(4)
    ]
    for slug, wanted, who in (
        ("all", {}, OPERATOR),
        ("hers", {}, owner),
        ("tagged", {"tags": ["a"]}, owner),
        ("one", {"sources": [made[0].id], "limit": 3}, owner),
        ("words", {"search": "7", "since_days": 2}, OPERATOR),
    ):
        await system.feeds.add(FeedDraft(slug=slug, filter=wanted, is_public=True), who)
    known: dict[str, bytes] = {}
    for step in range(30):
        clock.advance(timedelta(seconds=chance.choice([0, 0, 1, 40_000])))
        await change_something(system, clock, chance, [source.id for source in made], step)
        for slug in ("all", "hers", "tagged", "one", "words"):
            system.renderer._cache._kept.clear()
            rendered = await system.renderer.look(slug, FeedFormat.JSON, folder_url="https://x.example")
            assert rendered is not None
            assert known.setdefault(rendered.tag, document := await system.renderer.document(rendered)) == document


async def change_something(
    system: System, clock: ManualClock, chance: random.Random, ids: list[int], step: int
) -> None:
    source_id, now = chance.choice(ids), clock.now()
    item = make_item(native_id=str(chance.randrange(8)), title=f"Title {step}")
    match chance.randrange(6):
        case 0 | 1:
            known = await system.store.read(items.remembered, source_id, [item.key])
            change = items.update_changed if known else items.insert_new
            await system.store.write(change, [(source_id, item)], now=now)
        case 2:
            await system.store.write(items.delete_old, now=now, keep=timedelta(hours=12), limit=chance.randrange(1, 4))
        case 3:
            tags = chance.choice([(), ("a",), ("b",)])
            await system.catalog.change(source_id, Change(tags=tags, name=f"Name {step}"), OPERATOR)
        case 4:
            await system.catalog.change(source_id, Change(is_public=chance.random() < 0.5), OPERATOR)
        case _:
            slug = chance.choice(["all", "hers", "one"])
            await system.feeds.change(slug, FeedChange(title=f"Feed {step}"), OPERATOR)
