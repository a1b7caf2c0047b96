"""Notes: what people post on the platforms that are searched by keyword, in one shape for all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Platform(StrEnum):
    XHS = "xhs"
    DOUYIN = "dy"
    WEIBO = "wb"


class NoteType(StrEnum):
    NORMAL = "normal"
    VIDEO = "video"


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRef:
    """Which note. Some platforms only show one to whoever brings the token of the listing that named it."""

    platform: Platform
    note_id: str
    token: str | None = None
    #: The listing that the token belongs to, as the platform calls it.
    token_source: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    id: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """None where the platform does not say."""

    likes: int | None = None
    collects: int | None = None
    comments: int | None = None
    shares: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    id: str
    content: str
    author: Author
    created_at: datetime | None
    likes: int | None
    #: How many replies it has, of which some may be here.
    reply_count: int = 0
    replies: tuple[Comment, ...] = ()
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    ref: NoteRef
    url: str
    title: str
    content: str
    type: NoteType
    author: Author
    published_at: datetime | None
    updated_at: datetime | None
    counts: Counts
    images: tuple[str, ...] = ()
    video_url: str | None = None
    tags: tuple[str, ...] = ()
    comments: tuple[Comment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteCard:
    """A note as a search shows it: enough to choose it by."""

    ref: NoteRef
    url: str
    title: str
    type: NoteType
    author: Author
    counts: Counts
    published_at: datetime | None = None


class Sort(StrEnum):
    GENERAL = "general"
    NEWEST = "newest"
    POPULAR = "popular"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    keyword: str
    page: int = 1
    page_size: int = 20
    sort: Sort = Sort.GENERAL
    #: None is both.
    type: NoteType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    cards: tuple[NoteCard, ...]
    has_more: bool


#: The version of the shape that notes are stored in; a part of the key by which a note is written once.
_VERSION = "v1"


def idempotency_key(note_id: str) -> str:
    return f"{note_id}_{_VERSION}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawled:
    """A note together with how it was come by, ready to be written."""

    note: Note
    #: `exec_meta`: request_id, crawled_at, source_keyword, workflow_trace_id, latency_ms, retry_count.
    how: Mapping[str, Any] = field(default_factory=dict)


class Action(StrEnum):
    CREATED = "created"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a write came to: of two writes of one note the second is skipped, and names what the first one made."""

    id: int
    action: Action


#: A number with more digits than anybody ever counted is none.
_COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([千万亿kKwW]?)\+?")
_UNITS = {"": 1, "千": 1_000, "万": 10_000, "w": 10_000, "亿": 100_000_000, "k": 1_000}
_MOST_COUNT = 2**63 - 1


def read_count(shown: object) -> int | None:
    """A count as platforms show it to people: `3,456`, `1.2万`, `10+`; None where there is none to read."""
    if isinstance(shown, bool):
        return None
    if isinstance(shown, int):
        return min(max(0, shown), _MOST_COUNT)
    if not isinstance(shown, str):
        return None
    match = _COUNT.fullmatch(shown.replace(",", "").strip())
    return min(round(float(match[1]) * _UNITS[match[2].lower()]), _MOST_COUNT) if match else None
