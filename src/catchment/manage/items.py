"""Items as people look for them and read them: search, one by its number, what its edits changed, its pictures."""

from __future__ import annotations

import asyncio
import hmac
import re
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from html import unescape
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from catchment.crypto import same_secret
from catchment.domain.caller import Caller
from catchment.domain.differences import Difference, differences
from catchment.domain.item import MAX_VERSION_CHARS, ItemVersion, StoredItem
from catchment.domain.search import read_query, text_of_html
from catchment.domain.source import Source
from catchment.errors import BadBody, NotFound, StoreError, VisitError, or_not_found
from catchment.store import items, search, sources
from catchment.store.database import Store
from catchment.store.search import BATCH, FoundPage, ItemFilter, Place

if TYPE_CHECKING:
    from catchment.fetch.client import HttpClient

#: Before a search, what waits is taken in for so long and so far at most; the job goes on with the rest.
TAKE_IN_SECONDS, MAX_TAKEN_IN = 0.25, 500
MAX_LINKS = 100
_HREF = re.compile(r"""\s(?:href|src)=["'](https?://[^"']+)["']""")

#: A picture is handed on up to this size. The last ones stay at hand, so that who reads again asks nobody.
MAX_PICTURE_BYTES, MAX_KEPT_BYTES = 5 * 1024 * 1024, 32 * 1024 * 1024
PICTURES_AT_ONCE, PICTURE_SECONDS = 6, 15.0
#: How a picture begins tells what it is: what a stranger says of it may be wrong. SVG is a document with scripts.
_PICTURE_STARTS = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb".{4}ftypavi[fs]", re.DOTALL), "image/avif"),
)

#: How many items of how many.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """How an item came from one version to the next."""

    #: Counts from 1.
    revision: int
    at: datetime
    title: Sequence[Difference]
    text: Sequence[Difference]


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemView:
    item: StoredItem
    source: Source
    #: Addresses in its text, each once.
    links: Sequence[str]
    #: The newest first, as far as versions are kept.
    edits: Sequence[Edit]


class Items:
    def __init__(self, *, store: Store) -> None:
        self._store = store

    async def find(
        self, caller: Caller, wanted: ItemFilter, *, q: str = "", after: Place | None = None, limit: int
    ) -> FoundPage:
        """What the caller may see of what is asked for, the newest first; without `q` all of it."""
        query = read_query(q) if q.strip() else None
        if query is not None:
            await self._take_in_briefly()
        return await self._store.read(search.find, query, replace(wanted, caller=caller), after=after, limit=limit)

    async def get(self, item_id: int, caller: Caller) -> ItemView:
        view = await self._store.read(_view, item_id, ItemFilter(caller=caller))
        return or_not_found(view, f"There is no item {item_id}.")

    async def get_some(self, item_ids: Sequence[int], caller: Caller) -> Sequence[StoredItem]:
        """Those of them that are there for the caller, in the order given."""
        return await self._store.read(search.get_many, item_ids, ItemFilter(caller=caller))

    async def take_in(self, progress: Callable[[int], None] = lambda _: None) -> int:
        """Bring the search up to date with all that waits; how many items that were."""
        total = 0
        # Between two batches whoever waits for the writer has its turn.
        while await self._store.read(search.waiting, 1) and (taken := await self._store.write(search.take_in, BATCH)):
            total += taken
            progress(total)
        return total

    async def reindex(self, progress: Progress = lambda *_: None) -> int:
        """Make the index of the search anew. Meanwhile what is not taken in again yet is not found."""
        count = await self._store.write(search.start_over)
        return await self.take_in(lambda done: progress(done, count))

    async def index_bytes(self) -> int:
        return await self._store.read(search.size_bytes)

    async def _take_in_briefly(self) -> None:
        if not await self._store.read(search.waiting, 1):
            return
        taken = 0
        # What is there is found all the same.
        with suppress(TimeoutError, StoreError):
            async with asyncio.timeout(TAKE_IN_SECONDS):
                while taken < MAX_TAKEN_IN and (some := await self._store.write(search.take_in, BATCH)):
                    taken += some


def _view(conn: Connection, item_id: int, wanted: ItemFilter) -> ItemView | None:
    item = search.get(conn, item_id, wanted)
    source = sources.get(conn, item.source_id) if item else None
    if item is None or source is None:
        return None
    return ItemView(
        item=item, source=source, links=links_in(item.content), edits=edits_of(item, items.versions(conn, item_id))
    )


def links_in(content: str) -> list[str]:
    found = (unescape(address) for address in _HREF.findall(content))
    return list(dict.fromkeys(found))[:MAX_LINKS]


def edits_of(item: StoredItem, versions: Sequence[ItemVersion]) -> list[Edit]:
    """Each version compared with the one after it, the newest edit first."""
    now = ItemVersion(
        revision=item.revision, title=item.title, content=item.content, seen_at=item.updated_at or item.fetched_at
    )
    return [_edit(before, after) for after, before in zip([now, *versions], versions, strict=False)]


def _edit(before: ItemVersion, after: ItemVersion) -> Edit:
    return Edit(
        revision=after.revision,
        at=after.seen_at,
        title=differences(before.title, after.title),
        text=differences(_text(before), _text(after)),
    )


def _text(version: ItemVersion) -> str:
    """Cut alike, or what was not kept would seem to have been removed."""
    return " ".join(text_of_html(version.content[:MAX_VERSION_CHARS]).split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    media_type: str
    body: bytes


class Pictures:
    """The pictures in what somebody reads, fetched by us: their browser asks no stranger, who would learn of it.

    Only an address that we signed for an item is asked for, and only for who may see that item.
    """

    def __init__(self, *, http: HttpClient, items: Items, signing_key: Callable[[], bytes]) -> None:
        """The key is asked for when it is first needed: deriving it takes a while."""
        self._http = http
        self._items = items
        self._signing_key = signing_key
        self._kept: OrderedDict[str, Picture] = OrderedDict()
        self._turns = asyncio.Semaphore(PICTURES_AT_ONCE)

    def sign(self, item_id: int, url: str) -> str:
        key = hmac.digest(self._signing_key(), b"pictures", "sha256")
        return hmac.digest(key, f"{item_id}\0{url}".encode("utf-8", "replace"), "sha256").hex()

    async def get(self, signature: str, item_id: int, url: str, caller: Caller) -> Picture:
        if not same_secret(signature, self.sign(item_id, url)):
            raise NotFound("There is no such picture.")
        await self._items.get(item_id, caller)
        if url not in self._kept:
            async with self._turns:
                self._keep(url, await self._fetch(url))
        self._kept.move_to_end(url)
        return self._kept[url]

    async def _fetch(self, url: str) -> Picture:
        # A page with pictures is a handful of requests at once, as from any browser: the pace of collecting is another.
        from catchment.fetch.client import Request

        request = Request(url=url, headers={"Accept": "image/*"}, own_pace=True, timeout_seconds=PICTURE_SECONDS)
        try:
            async with self._http.stream(request) as answer:
                media_type = _media_type(await answer.body.peek(len("....ftypavif")))
                pieces, size = [], 0
                async for piece in answer:
                    pieces.append(piece)
                    size += len(piece)
                    if size > MAX_PICTURE_BYTES:
                        raise BadBody(f"it is larger than {MAX_PICTURE_BYTES:,} bytes")
        except VisitError as error:
            raise NotFound(f"The picture cannot be shown: {error}") from error
        return Picture(media_type=media_type, body=b"".join(pieces))

    def _keep(self, url: str, picture: Picture) -> None:
        self._kept[url] = picture
        while sum(len(one.body) for one in self._kept.values()) > MAX_KEPT_BYTES:
            self._kept.popitem(last=False)


def _media_type(start: bytes) -> str:
    found = next((media_type for pattern, media_type in _PICTURE_STARTS if pattern.match(start)), None)
    if found is None:
        raise BadBody("it is no picture of a kind that is shown")
    return found
