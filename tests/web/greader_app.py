"""A reader app at the Google Reader API, as a test holds it: signed in, with its headers and its token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx
from web_site import Site

READ, STARRED = "user/-/state/com.google/read", "user/-/state/com.google/starred"
KEPT_UNREAD, ALL = "user/-/state/com.google/kept-unread", "user/-/state/com.google/reading-list"
API = "/greader/reader/api/0"


@dataclass(frozen=True, kw_only=True)
class ReaderApp:
    site: Site
    auth: str
    post_token: str = ""

    async def get(self, path: str, **params: Any) -> httpx.Response:
        url = path if path.startswith("/") else f"{API}/{path}"
        return await self.site.client.get(url, params=params or None, headers=self._headers)

    async def post(self, path: str, **fields: Any) -> httpx.Response:
        data = {**fields, "T": self.post_token}
        return await self.site.client.post(f"{API}/{path}", data=data, headers=self._headers)

    async def json(self, path: str, **params: Any) -> Any:
        answer = await self.get(path, **params)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def done(self, path: str, **fields: Any) -> None:
        answer = await self.post(path, **fields)
        assert (answer.status_code, answer.text) == (200, "OK")

    async def ids(self, stream: str = ALL, **params: Any) -> list[int]:
        refs = (await self.json("stream/items/ids", s=stream, **params))["itemRefs"]
        return [int(ref["id"]) for ref in refs]

    async def titles(self, stream: str = ALL, **params: Any) -> list[str]:
        return [one["title"] for one in (await self.json(f"stream/contents/{stream}", **params))["items"]]

    async def unread(self) -> dict[str, int]:
        return {one["id"]: one["count"] for one in (await self.json("unread-count"))["unreadcounts"]}

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"GoogleLogin auth={self.auth}"}


async def log_in(site: Site, email: str, password: str, **fields: str) -> httpx.Response:
    fields = {"Email": email, "Passwd": password, **fields}
    return await site.client.post("/greader/accounts/ClientLogin", data=fields)


async def app_of(site: Site, who: str) -> ReaderApp:
    answer = await log_in(site, f"{who}@example.org", site.keys[who])
    assert answer.status_code == 200, answer.text
    auth = dict(line.split("=", 1) for line in answer.text.splitlines())["Auth"]
    token = await ReaderApp(site=site, auth=auth).get("token")
    return ReaderApp(site=site, auth=auth, post_token=token.text)
