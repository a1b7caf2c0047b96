"""Digests over HTTP, and the feeds made of them."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree as ET

import feedparser
import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from web_site import Site, with_settings

from catchment.clock import ManualClock
from catchment.publish.feed import Feed, FeedEntry, write_json_feed, write_rss
from catchment.web.app import create_app
from stores import on_sqlite_alone

NASTY = [
    "<script>alert('x')</script>",
    ']]> <![CDATA[ &amp; &lt; "quotes"',
    "control \x01\x08\x0b\x1f\x7f\ufffe characters",
    "emoji 🏞️ 👩‍👩‍👧, right to left \u202eמים\u202c, combining a\u0301",
    "长江流域 今日摘要\n第二行\ttab",
    "%s {0} ${x} {{y}} \\u0000",
]


async def add(site: Site, content: str, **values: object) -> int:
    body = {"type": "daily", "content": content, **values}
    answer = await site.post("/api/digests", "service", json=body)
    assert answer.status_code == 201, answer.text
    number: int = answer.json()["id"]
    return number


@pytest.mark.proves("A-25")
async def test_a_digest_is_taken_from_the_service_and_the_admin_alone(site: Site):
    body = {"type": "4h", "content": "# Today", "metadata": {"items": [1, 2]}, "created_at": "2026-02-01T10:00:00"}
    refused = await site.post("/api/digests", json=body)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid api key")
    assert (await site.post("/api/digests", "alice", json=body)).status_code == 403
    answer = await site.post("/api/digests", json=body, headers={"Authorization": f"Bearer {site.keys['service']}"})
    assert answer.status_code == 201
    assert (await site.get(f"/api/digests/{answer.json()['id']}")).json() == {
        "id": answer.json()["id"],
        "type": "4h",
        "content": "# Today",
        "metadata": {"items": [1, 2]},
        "user_id": None,
        "created_at": "2026-02-01T10:00:00.000Z",
    }


@pytest.mark.proves("A-25")
async def test_digests_are_listed_newest_first_everybodys_and_ones_own(site: Site, clock: ManualClock):
    everybodys = await add(site, "for all")
    clock.advance(timedelta(minutes=1))
    hers = await add(site, "for alice", user_id=site.alice.id, type="weekly")

    async def ids(path: str, who: str | None = None) -> list[int]:
        return [digest["id"] for digest in (await site.get(path, who)).json()]

    assert await ids("/api/digests") == await ids("/api/digests", "bob") == [everybodys]
    assert await ids("/api/digests", "alice") == await ids("/api/digests", "admin") == [hers, everybodys]
    assert await ids("/api/digests?type=weekly", "alice") == [hers]
    assert await ids("/api/digests?limit=1&offset=1", "alice") == [everybodys]
    assert (await site.get(f"/api/digests/{hers}", "bob")).status_code == 404
    assert (await site.get(f"/api/digests/{hers}", "alice")).json()["content"] == "for alice"


@pytest.mark.parametrize(
    "body",
    [
        {"type": "hourly", "content": "x"},
        {"type": "daily"},
        {"type": "daily", "content": "a\0b"},
        {"type": "daily", "content": "\ud800"},
        {"type": "daily", "content": "x", "metadata": {"a": "\0"}},
        {"type": "daily", "content": "x", "metadata": []},
        {"type": "daily", "content": "x", "user_id": 2**63},
        {"type": "daily", "content": "x", "user_id": 4711},
        {"type": "daily", "content": "x", "created_at": "soon"},
        {"type": "daily", "content": "x", "created_at": 12},
    ],
)
async def test_what_is_no_digest_is_refused(lean_site: Site, body: dict[str, object]):
    answer = await lean_site.post("/api/digests", "service", json=body)
    assert answer.status_code == 422, answer.text
    assert (await lean_site.get("/api/digests", "admin")).json() == []


@pytest.mark.proves("A-25")
async def test_a_users_digests_are_a_plain_list_a_json_feed_and_rss(site: Site, clock: ManualClock):
    first = await add(site, "for all")
    clock.advance(timedelta(hours=1))
    second = await add(site, "for alice", user_id=site.alice.id)
    await add(site, "for bob", user_id=site.bob.id)
    plain = (await site.get("/feed/alice", "alice")).json()
    assert (plain["user"], plain["total"]) == ({"name": "Alice", "slug": "alice"}, 2)
    assert [digest["id"] for digest in plain["digests"]] == [second, first]

    as_json = await site.get("/feed/alice.json", "alice")
    assert as_json.headers["content-type"].startswith("application/feed+json")
    feed = as_json.json()
    assert (feed["version"], feed["feed_url"]) == (
        "https://jsonfeed.org/version/1.1",
        "http://catchment.test/feed/alice.json",
    )
    assert [item["content_text"] for item in feed["items"]] == ["for alice", "for all"]
    assert feed["items"][0]["date_published"] == "2026-03-01T13:00:00.000Z"

    as_rss = await site.get("/feed/alice.rss", "alice")
    assert as_rss.headers["content-type"].startswith("application/rss+xml")
    parsed = feedparser.parse(as_rss.content)
    assert not parsed.bozo
    assert [entry.id for entry in parsed.entries] == [f"catchment-digest-{second}", f"catchment-digest-{first}"]
    assert parsed.entries[0].title == "Daily digest of 2026-03-01"
    assert not parsed.entries[0].guidislink


@pytest.mark.proves("A-25")
async def test_a_users_digests_are_at_the_public_address_if_there_is_one(lean_site: Site):
    number = await add(lean_site, "for all")
    transport = httpx.ASGITransport(create_app(with_settings(lean_site.system, public_url="https://feeds.example.org")))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8767") as client:
        feed = (await client.get("/feed/alice.json")).json()
    home = "https://feeds.example.org/feed/alice"
    assert (feed["feed_url"], feed["home_page_url"]) == (f"{home}.json", home)
    assert [item["url"] for item in feed["items"]] == [f"https://feeds.example.org/digests/{number}"]


@pytest.mark.proves("A-25")
async def test_feeds_can_be_narrowed_by_type_time_and_number(site: Site, clock: ManualClock):
    await add(site, "weekly", type="weekly")
    clock.advance(timedelta(hours=1))
    for number in range(60):
        await add(site, f"daily {number}")

    async def count(query: str) -> int:
        return len((await site.get(f"/feed/alice?{query}")).json()["digests"])

    assert await count("") == 10
    assert await count("limit=1000") == 50
    assert await count("type=weekly") == 1
    assert await count("type=weekly&since=2026-03-01T12:30:00Z") == 0
    assert (await site.get("/feed/alice.rss?type=hourly")).status_code == 422


@on_sqlite_alone
@pytest.mark.parametrize("path", ["/feed/nobody", "/feed/nobody.json", "/feed/nobody.rss", "/feed/%00", "/feed/王.rss"])
async def test_the_feed_of_nobody_is_not_found(site: Site, path: str):
    answer = await site.get(path)
    assert (answer.status_code, answer.json()["error"]) == (404, "user not found")


@on_sqlite_alone
async def test_nasty_texts_survive_every_format(site: Site):
    for text in NASTY:
        await add(site, text)
    assert [digest["content"] for digest in (await site.get("/feed/alice")).json()["digests"]] == NASTY[::-1]
    assert [item["content_text"] for item in (await site.get("/feed/alice.json")).json()["items"]] == NASTY[::-1]
    body = (await site.get("/feed/alice.rss")).content
    assert not feedparser.parse(body).bozo
    described = [node.text or "" for node in ET.fromstring(body).iter("description")][1:]
    assert described[-1] == "&lt;script&gt;alert('x')&lt;/script&gt;"
    assert "<script" not in "".join(described)
    assert "今日摘要<br>\n第二行" in described[1]


@given(text=st.text(st.characters(codec=None)), name=st.text())
def test_any_text_makes_a_feed_that_can_be_read_back(text: str, name: str):
    at = datetime(2026, 3, 1, tzinfo=UTC)
    entry = FeedEntry(id="1", url="https://x.example/1", title=text, text=text, published_at=at)
    feed = Feed(
        title=name, description=text, home_url="https://x.example/", self_url="https://x.example/f", entries=(entry,)
    )
    root = ET.fromstring(write_rss(feed))
    title = root.findtext("channel/item/title") or ""
    # XML reads every line end as a newline, and cannot hold some characters at all.
    assert len(title) == len(text.replace("\r\n", "\n"))
    assert json.loads(write_json_feed(feed))["items"][0]["content_text"] == text.encode("utf-8", "replace").decode()


async def test_a_long_digest_is_cut_in_rss_and_whole_elsewhere(lean_site: Site):
    await add(lean_site, "水" * 5000)
    described = feedparser.parse((await lean_site.get("/feed/alice.rss")).content).entries[0].summary
    assert described == "水" * 2000
    assert (await lean_site.get("/feed/alice.json")).json()["items"][0]["content_text"] == "水" * 5000


@on_sqlite_alone
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
async def test_a_digest_at_the_end_of_time_still_makes_a_feed(site: Site, moment: str):
    await add(site, "x", created_at=moment)
    for path in ("/feed/alice", "/feed/alice.rss", "/feed/alice.json", "/api/digests"):
        assert (await site.get(path)).status_code == 200


@on_sqlite_alone
@pytest.mark.proves("G-14")
@pytest.mark.parametrize("suffix", ["", ".json", ".rss"])
async def test_a_reader_who_has_the_digests_is_told_that_nothing_changed(site: Site, suffix: str):
    body = {"type": "daily", "content": "one"}
    await site.post("/api/digests", "service", json=body)
    address = f"/feed/{site.alice.slug}{suffix}"
    first = await site.get(address)
    known = {"If-None-Match": first.headers["etag"]}
    again = await site.get(address, headers=known)
    assert (again.status_code, again.content) == (304, b"")
    assert (await site.get(f"{address}?limit=1&type=4h", headers=known)).status_code == 200
    await site.post("/api/digests", "service", json={**body, "user_id": site.alice.id})
    assert (await site.get(address, "alice", headers=known)).status_code == 200
    assert (await site.get(address, headers=known)).status_code == 304, "a stranger does not see hers"


@pytest.mark.proves("G-14")
async def test_a_digest_has_a_page_with_its_markdown_and_the_items_it_is_made_of(site: Site):
    hers = await site.add_source(site.alice, "hers")
    await site.add_items(hers, "Her item")
    [item] = (await site.get("/api/items", "alice")).json()["items"]
    content = "# Today\n\n**good** <script>alert(1)</script> [bad](javascript:alert(2)) ![x](https://x.example/a.png)"
    body = {"type": "daily", "content": content, "metadata": {"items": [item["id"], "x", None, 10**30]}}
    digest_id = (await site.post("/api/digests", "service", json=body)).json()["id"]
    page = await site.get(f"/digests/{digest_id}", "alice")
    assert page.status_code == 200, page.text
    assert "<h2>Today</h2>" in page.text
    assert "<strong>good</strong>" in page.text
    assert "<script>alert" not in page.text
    assert "javascript:" not in page.text.partition("<article")[2].replace("[bad](javascript:", "")
    assert "Her item" in page.text
    for who in ("bob", None):
        assert "Her item" not in (await site.get(f"/digests/{digest_id}", who)).text
    private = {**body, "user_id": site.alice.id}
    digest_id = (await site.post("/api/digests", "service", json=private)).json()["id"]
    statuses = [(await site.get(f"/digests/{digest_id}", who)).status_code for who in (None, "bob", "alice", "admin")]
    assert statuses == [404, 404, 200, 200]
