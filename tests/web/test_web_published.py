"""Saved views, published: who reads what, and that a reader who is up to date costs next to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import feedparser
import httpx
import pytest
from sqlalchemy import Engine, event
from web_site import Site

from catchment.clock import ManualClock
from catchment.domain.caller import OPERATOR, Caller, Role
from catchment.domain.item import make_item
from catchment.domain.source import Source
from catchment.manage.catalog import Change
from catchment.publish.feed import FeedFormat
from catchment.publish.views import FeedRenderer
from catchment.store import items
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

SUFFIXES = ("rss", "atom", "json")


async def publish(site: Site, who: str = "admin", **body: Any) -> dict[str, Any]:
    answer = await site.post("/api/feeds", who, json={"slug": "view", "title": "A view", "public": True, **body})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


async def titles(site: Site, path: str = "/feeds/view.json", who: str | None = None) -> list[str]:
    answer = await site.get(path, who)
    assert answer.status_code == 200, answer.text
    return [item["title"] for item in answer.json()["items"]]


async def store(site: Site, source: Source, *, changed: bool = False, **values: Any) -> None:
    item = make_item(**{"native_id": "1", "title": "One", "url": "https://x.example/1", **values})
    await site.system.store.write(
        items.update_changed if changed else items.insert_new, [(source.id, item)], now=site.system.clock.now()
    )


@pytest.fixture
async def source(site: Site) -> Source:
    return await site.add_source(None, "open", public=True)


# What it shows


@pytest.mark.proves("B-10")
@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_a_view_is_published_in_every_format_with_its_own_address(site: Site, source: Source, suffix: str):
    await store(site, source, title="Water & <b>wine</b>", content="<p>All of it ]]&gt;</p>", author="Ada")
    made = await publish(site, description="What is new", language="en", link="https://site.example/")
    answer = await site.get(f"/feeds/view.{suffix}")
    assert (
        answer.headers["content-type"].partition(";")[0]
        == {
            "rss": "application/rss+xml",
            "atom": "application/atom+xml",
            "json": "application/feed+json",
        }[suffix]
    )
    assert made["urls"][suffix] == f"http://catchment.test/feeds/view.{suffix}"
    if suffix == "json":
        feed = answer.json()
        assert (feed["feed_url"], feed["home_page_url"]) == (made["urls"]["json"], "https://site.example/")
        assert feed["items"][0]["content_html"] == "<p>All of it ]]&gt;</p>"
        assert feed["items"][0]["authors"] == [{"name": "Ada"}]
        return
    parsed = feedparser.parse(answer.content)
    assert not parsed.bozo
    assert [link.href for link in parsed.feed.links if link.rel == "self"] == [made["urls"][suffix]]
    assert (parsed.feed.title, parsed.feed.language) == ("A view", "en")
    entry = parsed.entries[0]
    assert (entry.link, entry.author, entry.id[:9]) == ("https://x.example/1", "Ada", "urn:uuid:")
    assert entry.title in {"Water &amp; &lt;b&gt;wine&lt;/b&gt;", "Water & <b>wine</b>"}


@pytest.mark.proves("B-10", "B-22")
async def test_a_changed_item_keeps_its_id_and_rises_to_the_top(site: Site, source: Source, clock: ManualClock):
    await publish(site)
    await store(site, source, native_id="1", title="First")
    clock.advance(timedelta(hours=1))
    await store(site, source, native_id="2", title="Second")
    assert await titles(site) == ["Second", "First"]
    before = {item["title"]: item["id"] for item in (await site.get("/feeds/view.json")).json()["items"]}
    clock.advance(timedelta(hours=1))
    await store(site, source, changed=True, native_id="1", title="First, edited")
    feed = (await site.get("/feeds/view.json")).json()
    assert [item["title"] for item in feed["items"]] == ["First, edited", "Second"]
    assert feed["items"][0]["id"] == before["First"]
    assert feed["items"][0]["date_modified"] == "2026-03-01T14:00:00.000Z"
    parsed = feedparser.parse((await site.get("/feeds/view.rss")).content)
    assert parsed.entries[0].published == "Sun, 01 Mar 2026 14:00:00 +0000"


@pytest.mark.proves("B-10")
@pytest.mark.parametrize("suffix", SUFFIXES)
async def test_as_long_as_nothing_changes_every_byte_is_the_same(
    site: Site, source: Source, clock: ManualClock, suffix: str
):
    await site.add_items(source, *"abcdef")
    await publish(site)
    first = await site.get(f"/feeds/view.{suffix}")
    clock.advance(timedelta(days=3))
    again = FeedRenderer(store=site.system.store, clock=clock)
    rendered = await again.look("view", FeedFormat(suffix), folder_url="http://catchment.test/feeds")
    assert rendered is not None
    assert await again.document(rendered) == first.content
    assert first.headers["etag"] == f'"{rendered.tag}"'


@on_both_stores
async def test_a_view_is_narrowed_by_source_type_tag_words_rules_days_and_number(
    site: Site, source: Source, clock: ManualClock
):
    tagged = await site.add_source(None, "tagged", public=True, tags=("news", 'odd "tag" %'))
    await store(site, tagged, native_id="old", title="Old")
    clock.advance(timedelta(days=5))
    await store(site, source, native_id="1", title="STRASSE 100%", content="<p class='wide'>Äpfel &amp; birnen</p>")
    await store(site, tagged, native_id="2", title="Other", url="https://x.example/2", author="Ben")
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"Old", "STRASSE 100%", "Other"}),
        ({"sources": [source.id]}, {"STRASSE 100%"}),
        ({"sources": [4711]}, set()),
        ({"types": ["rss"]}, {"Old", "STRASSE 100%", "Other"}),
        ({"types": ["sitemap"]}, set()),
        ({"tags": ['odd "tag" %', "none"]}, {"Old", "Other"}),
        ({"tags": ["new"]}, set()),
        ({"search": "straße äPFEL"}, {"STRASSE 100%"}),
        ({"search": "& birnen"}, {"STRASSE 100%"}),
        ({"search": "100%"}, {"STRASSE 100%"}),
        ({"search": "1_0"}, set()),
        ({"search": "wide"}, set()),
        ({"include": [{"field": "author", "pattern": "^ben$"}]}, {"Other"}),
        ({"exclude": [{"field": "title", "pattern": "o"}]}, {"STRASSE 100%"}),
        ({"since_days": 5}, {"STRASSE 100%", "Other"}),
        ({"since_days": 6}, {"Old", "STRASSE 100%", "Other"}),
        ({"limit": 1, "tags": ["news"]}, {"Other"}),
    ]
    await publish(site)
    for wanted, expected in cases:
        assert (await site.put("/api/feeds/view", "admin", json={"filter": wanted})).status_code == 200
        assert set(await titles(site)) == expected, wanted


@on_both_stores
async def test_a_feed_of_one_source_takes_from_its_channel_what_it_does_not_say(site: Site, source: Source):
    channel = {"title": "Its own title", "link": "https://own.example/", "language": "de", "ttl": 30, "description": 5}
    config = {**source.config, "channel": channel}
    await site.system.catalog.change(source.id, Change(config=config), OPERATOR)
    await publish(site, title="", filter={"sources": [source.id]})
    feed = feedparser.parse((await site.get("/feeds/view.rss")).content).feed
    assert (feed.title, feed.link, feed.language, feed.ttl) == ("Its own title", "https://own.example/", "de", "30")
    assert feed.subtitle == "Its own title"
    await site.put("/api/feeds/view", "admin", json={"title": "Mine"})
    assert feedparser.parse((await site.get("/feeds/view.rss")).content).feed.title == "Mine"


# Who may read it


async def test_a_feed_shows_what_its_owner_may_see_and_nothing_else(site: Site, source: Source):
    hers, his = await site.add_source(site.alice, "hers"), await site.add_source(site.bob, "his")
    await store(site, source, native_id="0", title="open")
    await store(site, hers, native_id="1", title="hers")
    await store(site, his, native_id="2", title="his")
    await publish(site, "alice", slug="of-alice")
    await publish(site, "bob", slug="of-bob", filter={"sources": [hers.id, his.id, source.id]})
    await publish(site, "admin", slug="of-admin", public=False)
    assert set(await titles(site, "/feeds/of-alice.json")) == {"open", "hers"}
    assert set(await titles(site, "/feeds/of-bob.json")) == {"open", "his"}
    assert set(await titles(site, "/feeds/of-admin.json", "admin")) == {"open", "hers", "his"}


@on_both_stores
async def test_what_becomes_private_or_is_removed_leaves_the_feeds_of_others_at_once(site: Site):
    lent = await site.add_source(site.alice, "lent", public=True)
    await store(site, lent)
    await publish(site, "bob")
    assert await titles(site) == ["One"]
    alice = Caller(role=Role.USER, user_id=site.alice.id)
    await site.system.catalog.change(lent.id, Change(is_public=False), alice)
    assert await titles(site) == []
    await site.system.catalog.change(lent.id, Change(is_public=True), alice)
    assert await titles(site) == ["One"]
    await site.system.catalog.remove(lent.id, alice)
    assert await titles(site) == []


@on_both_stores
async def test_a_feed_of_somebodys_private_source_tells_nothing_of_it(site: Site):
    hers = await site.add_source(site.alice, "secret-name")
    await publish(site, "bob", title="", filter={"sources": [hers.id]})
    before = await site.get("/feeds/view.rss")
    await store(site, hers)
    after = await site.get("/feeds/view.rss")
    assert b"secret-name" not in before.content
    assert after.headers["etag"] == before.headers["etag"]


@on_both_stores
async def test_a_private_feed_opens_to_its_token_its_owner_and_an_admin(site: Site):
    made = await publish(site, "alice", public=False)
    token = made["token"]
    assert len(token) > 30
    path = "/feeds/view.rss"
    seen = {who: (await site.get(path, who)).status_code for who in (None, "bob", "alice", "service", "admin")}
    assert seen == {None: 404, "bob": 404, "alice": 200, "service": 200, "admin": 200}
    answer = await site.get(f"{path}?token={token}")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "private, no-cache")
    assert token.encode() not in answer.content
    for wrong in ("", "x", token[:-1], token + "x", "%00", quote("å")):
        assert (await site.get(f"{path}?token={wrong}")).status_code == 404
    assert "token" not in (await site.get("/api/feeds/view", "alice")).json()
    another = (await site.put("/api/feeds/view", "alice", json={"new_token": True})).json()["token"]
    assert (await site.get(f"{path}?token={token}")).status_code == 404
    assert (await site.get(f"{path}?token={another}")).status_code == 200


@on_both_stores
async def test_a_public_feed_that_is_made_private_gets_a_token(site: Site):
    assert "token" not in await publish(site, "alice")
    token = (await site.put("/api/feeds/view", "alice", json={"public": False})).json()["token"]
    assert (await site.get("/feeds/view.atom")).status_code == 404
    assert (await site.get(f"/feeds/view.atom?token={token}")).status_code == 200
    assert "token" not in (await site.put("/api/feeds/view", "alice", json={"public": True})).json()
    assert (await site.get("/feeds/view.atom")).status_code == 200


@on_both_stores
async def test_feeds_are_listed_changed_and_removed_by_whom_they_belong_to(site: Site):
    await publish(site, "alice", slug="open", filter={"search": "secret plan"})
    await publish(site, "alice", slug="closed", public=False)
    await publish(site, "service", slug="nobodys", public=False)

    async def listed(who: str | None) -> list[str]:
        return [feed["slug"] for feed in (await site.get("/api/feeds", who)).json()]

    assert await listed(None) == await listed("bob") == ["open"]
    assert await listed("alice") == ["closed", "open"]
    assert await listed("admin") == await listed("service") == ["closed", "nobodys", "open"]
    assert "filter" not in (await site.get("/api/feeds/open", "bob")).json()
    assert (await site.get("/api/feeds/open", "alice")).json()["filter"] == {"search": "secret plan", "limit": 50}
    for method in ("PUT", "DELETE"):
        answers = [
            (await site.ask(method, path, who, json={} if method == "PUT" else None)).status_code
            for path in ("/api/feeds/open", "/api/feeds/closed")
            for who in (None, "bob", "service")
        ]
        assert answers == [401, 403, 403, 401, 404, 403]
    assert (await site.delete("/api/feeds/closed", "alice")).status_code == 200
    assert (await site.delete("/api/feeds/open", "admin")).status_code == 200
    assert (await site.delete("/api/feeds/nobodys", "service")).status_code == 200
    assert await listed("admin") == []


@pytest.mark.parametrize(
    "body",
    [
        {"slug": ""},
        {"slug": "-x"},
        {"slug": "Upper"},
        {"slug": "a.b"},
        {"slug": "x" * 101},
        {"slug": "x", "title": "x" * 501},
        {"slug": "x", "title": "a\0b"},
        {"slug": "x", "link": "javascript:alert(1)"},
        {"slug": "x", "filter": []},
        {"slug": "x", "filter": {"colour": "blue"}},
        {"slug": "x", "filter": {"limit": 501}},
        {"slug": "x", "filter": {"limit": 0}},
        {"slug": "x", "filter": {"limit": True}},
        {"slug": "x", "filter": {"sources": ["1"]}},
        {"slug": "x", "filter": {"sources": [2**63]}},
        {"slug": "x", "filter": {"sources": 1}},
        {"slug": "x", "filter": {"tags": [""]}},
        {"slug": "x", "filter": {"search": 1}},
        {"slug": "x", "filter": {"since_days": 0}},
        {"slug": "x", "filter": {"include": [{"field": "title", "pattern": "("}]}},
    ],
)
async def test_what_is_no_feed_is_refused(lean_site: Site, body: dict[str, Any]):
    answer = await lean_site.post("/api/feeds", "admin", json=body)
    assert answer.status_code == 422, answer.text
    assert (await lean_site.get("/api/feeds", "admin")).json() == []


async def test_a_taken_short_name_is_a_conflict(site: Site):
    made = await publish(site, "alice", public=False)
    answer = await site.post("/api/feeds", "bob", json={"slug": "view"})
    assert (answer.status_code, answer.json()["existing_id"]) == (409, made["id"])


@pytest.mark.parametrize("path", ["/feeds/none.rss", "/feeds/%00.atom", "/feeds/王.json", "/api/feeds/%00"])
async def test_what_is_not_published_is_not_found(site: Site, path: str):
    assert (await site.get(path)).status_code == 404


# What a reader who is up to date costs


@contextmanager
def statements() -> Iterator[list[str]]:
    """Every SQL statement that is sent to either store."""
    sent: list[str] = []

    def note(_conn: Any, _cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", note)


@pytest.fixture
async def known(site: Site, source: Source, clock: ManualClock) -> httpx.Headers:
    """The headers of a feed with an item that somebody fetched a moment ago."""
    await store(site, source)
    await publish(site, filter={"sources": [source.id]})
    clock.advance(timedelta(hours=1))
    return (await site.get("/feeds/view.rss")).headers


async def ask_again(site: Site, known: httpx.Headers, suffix: str = "rss") -> int:
    answer = await site.get(f"/feeds/view.{suffix}", headers={"If-None-Match": known["etag"]})
    return answer.status_code


async def test_who_is_up_to_date_is_told_so_without_a_look_at_any_item(site: Site, known: httpx.Headers):
    for header, value in (("If-None-Match", known["etag"]), ("If-Modified-Since", known["last-modified"])):
        with statements() as sent:
            answer = await site.get("/feeds/view.rss", headers={header: value})
        assert (answer.status_code, answer.content) == (304, b"")
        assert (answer.headers["etag"], answer.headers["last-modified"]) == (known["etag"], known["last-modified"])
        assert not [statement for statement in sent if "raw_items" in statement]
        # BEGIN counts on SQLite.
        assert 0 < len(sent) <= 2


async def test_the_document_is_printed_once_for_all_who_ask(site: Site, known: httpx.Headers):
    with statements() as sent:
        assert (await site.get("/feeds/view.rss")).status_code == 200
    assert not [statement for statement in sent if "raw_items" in statement]


@pytest.mark.parametrize("header", ['W/"{}"', '"{}-gzip"', '"other", "{}"', "*"])
async def test_a_tag_is_known_again_in_the_forms_that_proxies_give_it(site: Site, known: httpx.Headers, header: str):
    sent = header.format(known["etag"].strip('"'))
    assert (await site.get("/feeds/view.rss", headers={"If-None-Match": sent})).status_code == 304


@pytest.mark.proves("F-07")
async def test_a_wrong_tag_wins_over_a_right_time_and_nonsense_is_no_time(site: Site, known: httpx.Headers):
    both = {"If-None-Match": '"x"', "If-Modified-Since": known["last-modified"]}
    assert (await site.get("/feeds/view.rss", headers=both)).status_code == 200
    too_far = ("1 Jan 99999999999999999999 00:00:00 GMT", "Mon, 01 Jan 0001 00:00:00 +1400")
    for value in ("yesterday", "", "Sun, 01 Mar 2026 11:59:59 GMT", *too_far):
        assert (await site.get("/feeds/view.rss", headers={"If-Modified-Since": value})).status_code == 200


async def test_each_format_has_a_tag_of_its_own(site: Site, known: httpx.Headers):
    assert [await ask_again(site, known, suffix) for suffix in SUFFIXES] == [304, 200, 200]


@pytest.mark.parametrize("change", ["insert", "update", "clean", "filter", "title", "rename", "remove"])
async def test_whatever_changes_what_a_feed_shows_changes_its_tag(
    site: Site, source: Source, known: httpx.Headers, clock: ManualClock, change: str
):
    assert await ask_again(site, known) == 304
    system = site.system
    match change:
        case "insert":
            await store(site, source, native_id="2")
        case "update":
            await store(site, source, changed=True, title="Edited")
        case "clean":
            clock.advance(timedelta(days=31))
            keep = timedelta(days=30)
            assert await system.store.write(items.delete_old, now=clock.now(), keep=keep, limit=10) == 1
        case "filter":
            await site.put("/api/feeds/view", "admin", json={"filter": {"search": "nothing"}})
        case "title":
            await site.put("/api/feeds/view", "admin", json={"title": "Another"})
        case "rename":
            await system.catalog.change(source.id, Change(name="Another"), OPERATOR)
        case "remove":
            await system.catalog.remove(source.id, OPERATOR)
    assert await ask_again(site, known) == 200


async def test_a_feed_that_takes_the_name_of_one_that_is_gone_is_another(
    site: Site, source: Source, known: httpx.Headers
):
    assert (await site.delete("/api/feeds/view", "admin")).status_code == 200
    assert await ask_again(site, known) == 404
    await publish(site, filter={"sources": [source.id], "search": "nothing"})
    assert await ask_again(site, known) == 200
    assert await titles(site) == []


@on_both_stores
async def test_an_owner_who_becomes_an_admin_shows_more_at_once(site: Site):
    await store(site, await site.add_source(site.bob, "his"))
    await publish(site, "alice", public=False)
    assert await titles(site, who="admin") == []
    await site.system.store.write(
        lambda conn: conn.exec_driver_sql(f"UPDATE users SET is_admin = true WHERE id = {site.alice.id}")
    )
    assert await titles(site, who="admin") == ["One"]


async def test_what_happens_elsewhere_leaves_a_feeds_tag_alone(site: Site, known: httpx.Headers):
    other = await site.add_source(None, "other", public=True)
    known = (await site.get("/feeds/view.rss")).headers  # a new source is a change of the catalogue
    await store(site, other)
    await publish(site, slug="another")
    assert await ask_again(site, known) == 304


async def test_a_feed_of_so_many_days_changes_at_midnight(site: Site, source: Source, clock: ManualClock):
    await store(site, source)
    await publish(site, filter={"since_days": 1})
    known = (await site.get("/feeds/view.rss")).headers
    clock.advance(timedelta(hours=11, minutes=59))
    assert await ask_again(site, known) == 304
    clock.advance(timedelta(minutes=1))
    assert await ask_again(site, known) == 200
    assert await titles(site) == []


@on_both_stores
async def test_the_page_lists_the_feeds_with_their_addresses_in_both_languages(site: Site):
    await publish(site, "alice", title="<i>Mine</i>")
    await publish(site, "alice", slug="closed", public=False)
    english = (await site.get("/feeds", "alice")).text
    assert "&lt;i&gt;Mine&lt;/i&gt;" in english
    assert all(f'href="/feeds/view.{suffix}"' in english for suffix in SUFFIXES)
    assert "whoever has its token" in english
    stranger = (await site.get("/feeds?lang=zh")).text
    assert "所有人" in stranger
    assert "closed" not in stranger
