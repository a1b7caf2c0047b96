"""An item: what was collected, once."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

from catchment.errors import InvalidInput

# An escaped NUL, but not an escaped backslash before `u0000`.
_NUL_IN_JSON = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
# What is added to a link to tell who led somebody there, and never where it leads. Twice escaped, it is the same.
_TRACKER = (
    r"(?:amp;)?(?:utm_[a-z_]{1,30}|at_(?:medium|campaign|link_type)|fbclid|gclid|gclsrc|dclid|gbraid|wbraid|srsltid"
    r"|msclkid|yclid|ysclid|twclid|ttclid|li_fat_id|igshid|mc_[ce]id|_hs(?:enc|mi)|mkt_tok|_openstat)="
)
_IS_TRACKER = re.compile(_TRACKER, re.IGNORECASE)
_HAS_TRACKERS = re.compile(r"[?&]" + _TRACKER, re.IGNORECASE)


def is_storable(value: Any) -> bool:
    """Whether both stores can hold it and JSON can say it: no NUL, no half of a surrogate pair, no NaN."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (ValueError, RecursionError):
        return False
    return _NUL_IN_JSON.search(text) is None


def checked_line(text: str, what: str, *, most: int, least: int = 1, field: str | None = None) -> str:
    """One line of text as it is kept; InvalidInput says what it has to be, of the field that it is of."""
    line = " ".join(text.split())
    if not least <= len(line) <= most or not is_storable(line):
        raise InvalidInput(
            f"A {what} has {least} to {most} characters, none of them NUL or broken.", field=field or what
        )
    return line


#: Longer keys are hashed: an index row has room for no more.
MAX_KEY = 500


class Item(NamedTuple):
    """One thing a fetcher found, before it is known whether it is new. `make_item` makes them.

    A tuple rather than a dataclass: of everything there is, only items come by the million, and a tuple is made, sent
    to another process and stored in a quarter of the time.
    """

    #: What makes it one and the same within its source.
    key: str
    #: What a reader would see of it, in 16 bytes: it differs when the item was edited.
    fingerprint: bytes
    title: str
    url: str
    author: str
    content: str
    published_at: datetime | None
    metadata: Mapping[str, Any]


#: What an item says, as its fingerprint, on which page, and of when, if it tells.
Said: TypeAlias = tuple[bytes, str, datetime | None]


class Reading(NamedTuple):
    """What was read in a document."""

    title: str
    items: tuple[Item, ...]
    #: Something in the document could not be read as it was meant: texts may be less than what was written.
    is_damaged: bool = False
    #: What was odd, each in a sentence.
    warnings: tuple[str, ...] = ()
    #: Entries that made no sense.
    left_out: int = 0
    #: The end of the document is not there.
    is_cut_off: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        """For another process, field by field: item by item takes nearly twice as long to send and to receive."""
        title, items, *more = self
        return reading_of, (title, tuple(zip(*items, strict=True)), *more)


def reading_of(title: str, columns: Iterable[Iterable[Any]], *more: Any) -> Reading:
    return Reading(title, tuple(map(Item._make, zip(*columns, strict=True))), *more)


def make_item(
    *,
    native_id: str = "",
    url: str = "",
    title: str = "",
    author: str = "",
    content: str = "",
    published_at: datetime | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Item:
    """An item, known by its own id where it has one, else by the page that its URL leads to, else by its content."""
    page = page_of(url)
    key = _key(native_id or page, title, content)
    face = _whole_fingerprint(title, page, author, content)
    return Item(key, face, title, url, author, content, published_at, metadata or {})


def fingerprint(title: str, url: str, author: str, content: str) -> bytes:
    """What a reader would see of an item, in 16 bytes."""
    return _whole_fingerprint(title, page_of(url), author, content)


def page_of(url: str) -> str:
    """The link without what only tells who led there: with it or without it, it is the same page."""
    if "?" not in url or not _HAS_TRACKERS.search(url):
        return url
    address, mark, fragment = url.partition("#")
    page, _, query = address.partition("?")
    kept = "&".join(one for one in query.split("&") if not _IS_TRACKER.match(one))
    return f"{page}?{kept}{mark}{fragment}" if kept else page + mark + fragment


def former_key(item: Item) -> str:
    """What the item was known by when every part of a link counted."""
    page = page_of(item.url)
    return _key(item.url, "", "") if page != item.url and item.key == _key(page, "", "") else item.key


def known_by_page(item: Item) -> Item:
    """The same, without regard to an id of its own."""
    return item._replace(key=_key(page_of(item.url), item.title, item.content))


def former_fingerprint(item: Item) -> bytes:
    """The fingerprint of the item when every part of a link counted."""
    return _whole_fingerprint(item.title, item.url, item.author, item.content)


def _whole_fingerprint(title: str, url: str, author: str, content: str) -> bytes:
    return short_hash(f"{title}\0{url}\0{author}\0{content}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredItem:
    id: int
    source_id: int
    source_name: str
    type: str
    title: str
    url: str
    author: str
    content: str
    published_at: datetime | None
    fetched_at: datetime
    updated_at: datetime | None
    #: How often the content changed after it was first stored.
    revision: int
    metadata: Mapping[str, Any]


#: So many versions of an item are kept beside the present one, each up to so many characters.
MAX_VERSIONS, MAX_VERSION_CHARS = 5, 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemVersion:
    """What an item said before it was edited."""

    revision: int
    title: str
    content: str
    #: Since when it was like this.
    seen_at: datetime


def _key(name: str, title: str, content: str) -> str:
    """The item's own id or URL, else a hash of its content."""
    if not name:
        return content_key(title, content)
    return name if len(name) <= MAX_KEY else _digest(name.encode())


def content_key(title: str, content: str, encoding: str = "utf-8") -> str:
    """What an item is known by that has neither id nor URL: the bytes that its words came as."""
    return _digest(f"{title}\0{content}".encode(encoding, "xmlcharrefreplace"))


def _digest(content: bytes) -> str:
    return "sha256:" + hashlib.sha256(content).hexdigest()


def short_hash(text: str) -> bytes:
    """16 bytes that stand for the text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
