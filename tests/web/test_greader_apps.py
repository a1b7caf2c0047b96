"""What other published apps ask of the Google Reader API, in their order and their spelling, and what each must find.

Each reads more strictly than the API asks for: what is missing or of another kind ends its whole sync.
"""

from __future__ import annotations

from typing import Any

import pytest
from greader_app import ALL, API, KEPT_UNREAD, READ, STARRED, app_of
from web_site import Site

from catchment.domain.caller import OPERATOR
from catchment.domain.item import make_item
from catchment.manage.catalog import Draft
from catchment.store import items
from catchment.web.greader import routes
from catchment.web.middleware import path_below
from stores import on_sqlite_alone

pytestmark = [on_sqlite_alone, pytest.mark.proves("H-01")]
LOGIN = "/greader/accounts/ClientLogin"


async def bare_items(site: Site) -> None:
    """Beside an ordinary item one that has neither title nor address, and one that has nothing but a file."""
    source = await site.add_source(site.alice, "blog", tags=("Tech",))
    await site.add_items(source, "ordinary")
    file = {"enclosures": [{"url": "https://blog.example/a.mp3", "type": "audio/mpeg", "length": 7}]}
    bare = [
        make_item(url="", title="", native_id="note", content="<p>A note &amp; no more</p>"),
        make_item(url="", title="", native_id="file", content="", metadata=file),
    ]
    found = [(source.id, one) for one in bare]
    await site.system.store.write(items.insert_new, found, now=site.system.clock.now())


async def test_every_item_has_an_address_and_a_title_for_apps_that_cannot_do_without(site: Site):
    await bare_items(site)
    app = await app_of(site, "alice")
    found = (await app.json("stream/contents", output="json", n=125))["items"]
    for one in found:
        assert one["title"].strip()
        assert [link["href"] for link in one["canonical"]] == [link["href"] for link in one["alternate"]]
        assert one["canonical"][0]["href"].startswith("http")
    assert {one["title"] for one in found} >= {"ordinary", "A note & no more"}
    own = [one for one in found if one["canonical"][0]["href"].endswith(f"/items/{int(one['id'][-16:], 16)}")]
    assert len(own) == 2


async def test_readrops_signs_in_by_a_form_of_several_parts(site: Site):
    fields = {"Email": (None, "alice@example.org"), "Passwd": (None, site.keys["alice"])}
    answer = await site.client.post(LOGIN, files=fields)
    assert (answer.status_code, "Auth=" in answer.text) == (200, True), answer.text
    wrong = await site.client.post(LOGIN, files={**fields, "Passwd": (None, "wrong")})
    assert wrong.status_code == 401
    broken = await site.client.post(LOGIN, content=b"x", headers={"Content-Type": "multipart/form-data"})
    assert broken.status_code == 400


async def test_capy_reader_signs_in_by_the_query(site: Site):
    asked = {"Email": "alice@example.org", "Passwd": site.keys["alice"]}
    assert "Auth=" in (await site.client.post(LOGIN, params=asked)).text


async def test_read_you_writes_an_address_twice_and_escapes_it_once(site: Site):
    address = "https://news.example/feed?a=1&b=2"
    draft = Draft(type="rss", config={"url": address}, name="news", is_public=True)
    source = await site.system.catalog.add(draft, OPERATOR)
    app = await app_of(site, "alice")
    path = f"{API}/subscription/quickadd?output=json&quickadd={address}"
    form = {"quickadd": address, "T": app.post_token}
    headers = {"Authorization": f"GoogleLogin auth={app.auth}"}
    answer = await site.client.post(path, data=form, headers=headers)
    assert answer.json()["streamId"] == f"feed/{source.id}"


def kinds(value: Any) -> Any:
    return {name: type(inner) for name, inner in value.items()}


async def test_newsflash_finds_every_field_of_the_kind_that_it_reads(site: Site):
    await bare_items(site)
    app = await app_of(site, "alice")
    (feed,) = (await app.json("subscription/list"))["subscriptions"]
    texts = ("id", "title", "url", "htmlUrl", "iconUrl", "sortid")
    assert kinds(feed) == {**dict.fromkeys(texts, str), "categories": list, "firstitemmsec": str}
    stream = await app.json(f"stream/contents/{ALL}", n=1000)
    assert (type(stream["id"]), type(stream["updated"])) == (str, int)
    assert "self" not in stream, "an object to some, a list to others"
    for one in stream["items"]:
        texts = ("id", "title", "author", "timestampUsec", "crawlTimeMsec")
        lists = ("categories", "alternate", "canonical")
        whole = {**dict.fromkeys(texts, str), **dict.fromkeys(lists, list), "published": int, "updated": int}
        assert kinds(one) | {"enclosure": list} == {**whole, "enclosure": list, "origin": dict, "summary": dict}
        assert kinds(one["origin"]) == {"streamId": str, "title": str, "htmlUrl": str}
        assert type(one["summary"]["content"]) is str
        assert all(kinds(file) == {"href": str, "type": str, "length": int} for file in one.get("enclosure", ()))
    counts = await app.json("unread-count")
    assert type(counts["max"]) is int
    assert kinds(counts["unreadcounts"][0]) == {"id": str, "count": int, "newestItemTimestampUsec": str}


async def test_a_sync_of_fluent_reader_and_one_of_readrops(site: Site):
    await bare_items(site)
    app = await app_of(site, "alice")
    unread = await app.ids(ALL, output="json", xt=READ, n=1000)
    whole = (await app.json("stream/contents", output="json", n=125))["items"]
    assert [int(one["id"].rpartition("/")[2], 16) for one in whole] == unread
    await app.done("edit-tag", i=[str(one) for one in unread[:2]], a=READ)
    await app.done("edit-tag", i=str(unread[2]), a=STARRED)
    assert await app.ids(ALL, xt=READ, n=2**31 - 1) == unread[2:]
    assert await app.ids(ALL, xt="user/-/state/com.google/unread", n=2500) == unread[:2]
    left = await app.json(f"stream/contents/{ALL}", xt=[READ, STARRED], n=2**31 - 1)
    assert left["items"] == []
    await app.done("mark-all-as-read", s=whole[0]["origin"]["streamId"])
    assert await app.ids(ALL, xt=READ) == []


async def test_a_sync_of_twine_that_asks_since_before_there_were_computers(site: Site):
    await bare_items(site)
    app = await app_of(site, "alice")
    for path in ("stream/contents", "stream/contents/reading-list"):
        found = await app.json(path, s=ALL, n=1000, ot=-3217862419201, c="", output="json")
        assert len(found["items"]) == 3, path
    (first, *_) = unread = await app.ids(ALL, xt=READ, n=50_000)
    long = f"tag:google.com,2005:reader/item/{first:016x}"
    headers = {"Authorization": f"GoogleLogin auth={app.auth}"}
    marked = await site.client.post(f"{API}/edit-tag", data={"i": [long], "a": READ}, headers=headers)
    assert (marked.status_code, marked.text) == (200, "OK")
    assert await app.ids(READ, n=50_000) == [first]
    assert await app.ids(ALL, xt=READ, n=50_000) == unread[1:]


async def test_a_sync_of_rss_guard_that_asks_for_ten_thousand_at_once_and_goes_where_freshrss_has_it(site: Site):
    await bare_items(site)
    headers, served = {}, "/greader/api/greader.php"
    signing = {"Email": "alice@example.org", "Passwd": site.keys["alice"]}
    for base in ("/api/greader.php", served):
        answer = await site.client.post(f"{base}/accounts/ClientLogin", data=signing)
        assert answer.status_code == 200, base
        headers = {"Authorization": f"GoogleLogin auth={answer.text.split('Auth=')[1].strip()}"}
    api = f"{served}/reader/api/0"
    asked = {"output": "json", "n": "200000", "s": ALL, "ot": "1700000000"}
    refs = (await site.client.get(f"{api}/stream/items/ids", params=asked, headers=headers)).json()["itemRefs"]
    known = [f"tag:google.com,2005:reader/item/{int(one['id']):016x}" for one in refs]
    gone = [f"tag:google.com,2005:reader/item/{number:016x}" for number in range(10_000, 19_996)]
    body = {"i": [*known, *gone]}
    answer = await site.client.post(f"{api}/stream/items/contents?output=json&n=200000", data=body, headers=headers)
    assert answer.status_code == 200, answer.text
    assert [one["id"] for one in answer.json()["items"]] == known
    assert "continuation" not in answer.json()


@pytest.mark.parametrize(
    ("path", "root", "led_to"),
    [
        ("/api/greader.php/reader/api/0/token", "", "/greader/reader/api/0/token"),
        ("/sub/greader/api/greader.php/accounts/ClientLogin", "/sub", "/sub/greader/accounts/ClientLogin"),
        ("/api/greader.php/accounts/ClientLogin", "/sub", "/sub/greader/accounts/ClientLogin"),
        ("/greader/reader/atom/feed/https://a.example/api/greader.php/x", "", None),
        ("/api/greader.phpx/accounts", "", None),
    ],
)
def test_where_freshrss_has_it_is_where_we_have_it(path: str, root: str, led_to: str | None):
    assert path_below(root, path) == (led_to or path)


async def test_a_sync_of_liferea_whose_token_stands_in_every_body(site: Site):
    await bare_items(site)
    app = await app_of(site, "alice")
    (feed,) = (await app.json("subscription/list", output="json"))["subscriptions"]
    refs = await app.json("stream/items/ids", s=feed["id"], client="liferea", n=50, output="json", merge="true")
    ids = [one["id"] for one in refs["itemRefs"]]
    headers = {"Authorization": f"GoogleLogin auth={app.auth}"}
    asked = {"output": "json", "mediaRss": "true", "T": app.auth, "i": ids}
    whole = await site.client.post(f"{API}/stream/items/contents", data=asked, headers=headers)
    guid = whole.json()["items"][0]["id"]
    edit = {"i": guid, "s": f"user/{feed['url']}", "ac": "edit-tags", "async": "true"}
    await app.done("edit-tag", a=READ, **edit)
    await app.done("edit-tag", a=KEPT_UNREAD, r=READ, **edit)
    await app.done("edit-tag", a="user/-/state/com.google/tracking-kept-unread", **edit)
    assert len(await app.ids(ALL, xt=READ)) == 3
    await app.done("subscription/edit", s=feed["id"], i="null", ac="unsubscribe")
    assert (await app.json("subscription/list"))["subscriptions"] == []


async def test_a_stream_is_counted_up_to_a_bound(site: Site, monkeypatch: pytest.MonkeyPatch):
    await bare_items(site)
    app = await app_of(site, "alice")
    assert [(await app.get("stream/items/count", s=one)).text for one in (ALL, READ)] == ["3", "0"]
    monkeypatch.setattr(routes, "MAX_COUNTED", 2)
    assert (await app.get("stream/items/count", s=ALL)).text == "2"
