"""The requests of NetNewsWire, in its order and its spelling, as its ReaderAPICaller sends them.

It knows items by decimal numbers, asks for them by hexadecimal ones without leading zeros, keeps its `Auth` and one
token for as long as it runs, and takes a missing `continuation` for the end.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import httpx
import pytest
from web_site import Site

from catchment.clock import ManualClock

pytestmark = pytest.mark.proves("H-01")
BASE = "/greader/reader/api/0"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
READ, STARRED = "user/-/state/com.google/read", "user/-/state/com.google/starred"


class NetNewsWire:
    def __init__(self, site: Site) -> None:
        self._client = site.client
        self._password = site.keys["alice"]
        self._auth = self._token = ""

    async def sign_in(self) -> None:
        body = f"Email=alice@example.org&Passwd={self._password}"
        answer = await self._client.post("/greader/accounts/ClientLogin", content=body, headers=FORM)
        lines = (line.split("=") for line in answer.text.split("\n"))
        self._auth = {parts[0]: parts[1] for parts in lines if len(parts) == 2}["Auth"]
        self._token = (await self._client.get(f"{BASE}/token", headers=self._headers)).text

    async def get(self, call: str) -> Any:
        answer = await self._client.get(f"{BASE}/{call}", headers=self._headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def post(self, call: str, body: str) -> httpx.Response:
        content = f"T={self._token}&{body}"
        answer = await self._client.post(f"{BASE}/{call}", content=content, headers={**self._headers, **FORM})
        assert answer.status_code == 200, answer.text
        return answer

    async def ids(self, query: str) -> list[str]:
        call = f"stream/items/ids?n=1000&output=json&{query}"
        page = await self.get(call)
        found = [ref["id"] for ref in page["itemRefs"]]
        while "continuation" in page:
            page = await self.get(f"{call}&c={page['continuation']}")
            found += [ref["id"] for ref in page["itemRefs"]]
        return found

    async def articles(self, ids: list[str]) -> list[dict[str, Any]]:
        named = "&".join(f"i=tag:google.com,2005:reader/item/{int(one):x}" for one in ids)
        items: list[dict[str, Any]] = (await self.post("stream/items/contents", f"output=json&{named}")).json()["items"]
        return items

    async def mark(self, ids: list[str], change: str) -> None:
        named = "&".join(f"i=tag:google.com,2005:reader/item/{int(one):016x}" for one in ids)
        assert (await self.post("edit-tag", f"{named}&{change}")).text == "OK"

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"GoogleLogin auth={self._auth}"}


async def test_a_sync_of_netnewswire_from_first_to_last(site: Site, clock: ManualClock):
    source = await site.add_source(site.alice, "blog", tags=("Tech",))
    await site.add_items(source, *(f"t{number}" for number in range(1200)))
    app = NetNewsWire(site)
    await app.sign_in()
    folders = [tag["id"] for tag in (await app.get("tag/list?output=json"))["tags"] if tag.get("type") == "folder"]
    assert folders == ["user/-/label/Tech"]
    (feed,) = (await app.get("subscription/list?output=json"))["subscriptions"]
    assert (feed["title"], feed["url"]) == ("blog", "https://blog.example/feed")
    assert feed["categories"] == [{"id": "user/-/label/Tech", "label": "Tech"}]

    since = int((clock.now() - timedelta(days=90)).timestamp())
    everything = "s=user/-/state/com.google/reading-list"
    assert len(set(await app.ids(f"{everything}&ot={since}"))) == 1200, "two pages, nothing twice"
    unread = await app.ids(f"{everything}&xt={READ}")
    assert await app.ids(f"s={STARRED}") == []
    articles = await app.articles(unread[:100])
    assert [one["title"] for one in articles] == [f"t{number}" for number in range(1199, 1099, -1)]
    assert {one["origin"]["streamId"] for one in articles} == {feed["id"]}
    assert [int(one["id"].rpartition("/")[2], 16) for one in articles] == [int(one) for one in unread[:100]]

    await app.mark(unread[:1000], f"a={READ}")
    await app.mark(unread[5:6], f"a={STARRED}")
    assert await app.ids(f"{everything}&xt={READ}") == unread[1000:]
    assert await app.ids(f"s={STARRED}") == unread[5:6]
    await app.mark(unread[:1], f"r={READ}")
    await app.mark(unread[5:6], f"r={STARRED}")
    assert await app.ids(f"{everything}&xt={READ}") == [unread[0], *unread[1000:]]
    assert await app.ids(f"s={STARRED}") == []


async def test_netnewswire_adds_renames_moves_and_removes_a_feed(site: Site):
    public = await site.add_source(site.bob, "news", public=True)
    await site.add_items(public, "one")
    app = NetNewsWire(site)
    await app.sign_in()
    added = (await app.post("subscription/quickadd", "quickadd=https://news.example/feed")).json()
    assert (added["numResults"], added["streamId"]) == (1, f"feed/{public.id}")
    assert len(await app.ids(f"s=feed/{public.id}&ot=1")) == 1
    change = f"s=feed/{public.id}&ac=edit"
    await app.post("subscription/edit", f"{change}&t=The%20news")
    await app.post("subscription/edit", f"{change}&a=user/-/label/A%26B")
    await app.post("subscription/edit", f"{change}&r=user/-/label/A%26B&a=user/-/label/C")
    await app.post("rename-tag", "s=user/-/label/C&dest=user/-/label/D")
    (feed,) = (await app.get("subscription/list?output=json"))["subscriptions"]
    assert (feed["title"], [one["label"] for one in feed["categories"]]) == ("The news", ["D"])
    await app.post("disable-tag", "s=user/-/label/D")
    await app.post("subscription/edit", f"s=feed/{public.id}&ac=unsubscribe")
    assert (await app.get("subscription/list?output=json"))["subscriptions"] == []
    assert (await app.post("subscription/quickadd", "quickadd=nowhere")).json()["numResults"] == 0
