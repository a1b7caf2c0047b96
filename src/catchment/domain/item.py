"""An item: what was collected, once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

#: Longer keys are hashed: an index row has room for no more.
MAX_KEY = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing a fetcher found, before it is known whether it is new."""

    #: The item's own id where it has one.
    native_id: str = ""
    url: str = ""
    title: str = ""
    author: str = ""
    content: str = ""
    published_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


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


def dedup_key(item: Item) -> str:
    """What makes the item one and the same within its source."""
    key = item.native_id or item.url or _digest("sha256:", item.title, item.content)
    return key if len(key) <= MAX_KEY else _digest("sha256:", key)


def fingerprint(item: Item) -> bytes:
    """What a reader would see of the item, in 16 bytes: it differs when the item was edited."""
    return _hash(item.title, item.url, item.author, item.content)


def memory_key(key: str) -> bytes:
    """The dedup key in the 16 bytes under which it stays remembered."""
    return _hash(key)


def _digest(prefix: str, *parts: str) -> str:
    return prefix + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _hash(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=16).digest()
