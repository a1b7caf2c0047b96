"""Notes: what people post on the platforms that are searched by keyword, in one shape for all of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, TypeAlias

#: Platform and idempotency key: what makes two copies the same one.
Identity: TypeAlias = tuple[str, str]

#: Waits after the first, second, … failure in a row; the last one again and again, as somebody may mend it any day.
WAITS = tuple(timedelta(minutes=minutes) for minutes in (1, 2, 5, 15, 30, 60))


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNote:
    """A note that is not in the table yet, in the words of that table."""

    id: int
    platform: str
    idempotency_key: str
    #: The source that it was found for; None once that is gone.
    topic_id: int | None
    note_id: str
    #: Where people see it.
    url: str
    #: None where the platform does not say.
    published_at: datetime | None
    title: str
    content: str
    note_type: str
    images: Sequence[str]
    video_url: str | None
    likes: int | None
    collects: int | None
    comments: int | None
    shares: int | None
    author_id: str
    author_name: str
    tags: Sequence[str]
    extracted_at: datetime
    exec_meta: Mapping[str, Any]
    #: Of collecting it.
    retry_count: int
    last_error_code: str | None
    #: To copy it, so far.
    attempts: int

    @property
    def identity(self) -> Identity:
        return self.platform, self.idempotency_key


def wait_after(failures: int, *, asked_for: float | None = None) -> timedelta:
    """How long to wait after so many failures in a row, and at least the seconds that the other side asked for."""
    rule = WAITS[min(max(failures, 1), len(WAITS)) - 1]
    return max(rule, timedelta(seconds=asked_for or 0))


class Platform(StrEnum):
    XHS = "xhs"
    DOUYIN = "dy"
    WEIBO = "wb"


#: What people call a platform.
DISPLAY_NAMES: Final = {Platform.XHS: "Xiaohongshu", Platform.WEIBO: "Weibo", Platform.DOUYIN: "Douyin"}
#: The source type that searches a platform.
SOURCE_TYPES: Final = {
    Platform.XHS: "xhs_search",
    Platform.WEIBO: "weibo_search",
    Platform.DOUYIN: "douyin_search",
}


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


class NoteSort(StrEnum):
    GENERAL = "general"
    NEWEST = "newest"
    POPULAR = "popular"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    keyword: str
    page: int = 1
    page_size: int = 20
    sort: NoteSort = NoteSort.GENERAL
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
_COUNT = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([千万萬亿億kKwW]?)\+?")
_UNITS = {
    "": 1, "千": 1_000, "k": 1_000, "万": 10_000, "萬": 10_000, "w": 10_000, "亿": 100_000_000, "億": 100_000_000,
}  # fmt: skip
_MAX_COUNT = 2**63 - 1


def read_count(shown: object) -> int | None:
    """A count as platforms show it to people: `3,456`, `1.2万`, `10+`; None where there is none to read."""
    if isinstance(shown, bool):
        return None
    if isinstance(shown, int):
        return min(max(0, shown), _MAX_COUNT)
    if not isinstance(shown, str):
        return None
    match = _COUNT.fullmatch(shown.replace(",", "").strip())
    return min(round(float(match[1]) * _UNITS[match[2].lower()]), _MAX_COUNT) if match else None


_HASH_LENGTH = 16
#: A name this short would still be readable between its first and its last letter.
_SHORT = 2


def hidden_author(author: Author) -> Author:
    return Author(id=hashed_id(author.id), name=masked_name(author.name))


def hashed_id(author_id: str) -> str:
    """Of nobody it stays nobody."""
    digest = hashlib.sha256(author_id.encode("utf-8", "surrogatepass")).hexdigest()
    return digest[:_HASH_LENGTH] if author_id else ""


def masked_name(name: str) -> str:
    if not name:
        return ""
    if len(name) <= _SHORT:
        return "*" if len(name) == 1 else f"{name[0]}*"
    return f"{name[0]}***{name[-1]}"


def without_authors(note: Note) -> Note:
    return replace(note, author=hidden_author(note.author), comments=comments_without_authors(note.comments))


def comments_without_authors(comments: Iterable[Comment]) -> tuple[Comment, ...]:
    return tuple(_hidden_comment(comment) for comment in comments)


def cards_without_authors(page: SearchPage) -> SearchPage:
    return replace(page, cards=tuple(_hidden_card(card) for card in page.cards))


def _hidden_card(card: NoteCard) -> NoteCard:
    return replace(card, author=hidden_author(card.author))


def _hidden_comment(comment: Comment) -> Comment:
    return replace(comment, author=hidden_author(comment.author), replies=comments_without_authors(comment.replies))


class SortType(StrEnum):
    """Ours, and what Xiaohongshu calls them."""

    GENERAL = "general"
    NEWEST = "newest"
    POPULAR = "popular"
    TIME_DESCENDING = "time_descending"
    POPULARITY_DESCENDING = "popularity_descending"

    @property
    def sort(self) -> NoteSort:
        return _SORTS[self]


class TypeNumber(StrEnum):
    """0 is both, 1 videos, 2 pictures and text."""

    ANY = "0"
    VIDEO = "1"
    NORMAL = "2"

    @property
    def type(self) -> NoteType | None:
        return _TYPES[self]


_SORTS: Final = {
    SortType.GENERAL: NoteSort.GENERAL,
    SortType.NEWEST: NoteSort.NEWEST,
    SortType.TIME_DESCENDING: NoteSort.NEWEST,
    SortType.POPULAR: NoteSort.POPULAR,
    SortType.POPULARITY_DESCENDING: NoteSort.POPULAR,
}
_TYPES: Final = {TypeNumber.ANY: None, TypeNumber.VIDEO: NoteType.VIDEO, TypeNumber.NORMAL: NoteType.NORMAL}
