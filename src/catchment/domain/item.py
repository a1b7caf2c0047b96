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
    # What it is known by is worked out where it is made, which for feeds is beside the event loop.
    #: What makes it one and the same within its source.
    key: str = field(init=False)
    #: What a reader would see of it, in 16 bytes: it differs when the item was edited.
    fingerprint: bytes = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", _key(self.native_id or self.url, self.title, self.content))
        object.__setattr__(self, "fingerprint", short_hash(f"{self.title}\0{self.url}\0{self.author}\0{self.content}"))


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


def _key(name: str, title: str, content: str) -> str:
    """The item's own id or URL, else a hash of its content."""
    if not name:
        return _digest(f"{title}\0{content}")
    return name if len(name) <= MAX_KEY else _digest(name)


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def short_hash(text: str) -> bytes:
    """16 bytes that stand for the text."""
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
