"""Feeds out: a saved view of what was collected, published under a short name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from enum import StrEnum
from typing import Any

from catchment.domain.caller import Caller
from catchment.domain.filters import Filters, read_filters
from catchment.domain.item import Item
from catchment.domain.search import read_query
from catchment.errors import InvalidInput


class DigestType(StrEnum):
    FOUR_HOURS = "4h"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDigest:
    type: DigestType
    content: str
    created_at: datetime
    metadata: Mapping[str, Any] = field(default_factory=dict)
    #: None makes it everybody's.
    user_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    id: int
    type: DigestType
    content: str
    metadata: Mapping[str, Any]
    user_id: int | None
    created_at: datetime


MAX_SLUG = 60


def slug_of(name: str, *, otherwise: str) -> str:
    """The name in small Latin letters and digits; `otherwise` when it has none."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:MAX_SLUG].strip("-") or otherwise


def free_slug(wanted: str, taken: Collection[str]) -> str:
    """The slug itself, or with the first number that is free."""
    slug, number = wanted, 0
    while slug in taken:
        number += 1
        slug = f"{wanted}-{number}"
    return slug


LIMIT, MAX_LIMIT = 50, 500
MAX_NAMED, MAX_NAME, MAX_SEARCH, MAX_DAYS = 500, 200, 500, 36_500
MAX_ID = 2**63 - 1
_SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,98}[a-z0-9])?")
_KEYS = frozenset({"sources", "types", "tags", "include", "exclude", "search", "q", "since_days", "limit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFilter:
    """Which items a feed shows. What is empty does not narrow it."""

    sources: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    #: Of the sources; one that fits is enough.
    tags: tuple[str, ...] = ()
    rules: Filters = field(default_factory=Filters)
    #: Each of its words is somewhere in the title or the text, whatever its case.
    search: str = ""
    #: A search as `domain/search.py` reads it; its finds are narrowed by the rest.
    q: str = ""
    #: Whole days in UTC, today included.
    since_days: int | None = None
    limit: int = LIMIT

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(self.search.casefold().split())

    def looks_inside(self) -> bool:
        """Whether items have to be read to know if they belong."""
        return bool(self.rules or self.words or self.q)

    def since(self, now: datetime) -> datetime | None:
        """A day's beginning, so that what is shown changes by the clock at midnight and at no other time."""
        if self.since_days is None:
            return None
        first = max(now.date().toordinal() - self.since_days + 1, 1)
        return datetime.combine(datetime.fromordinal(first), time.min, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewFeed:
    slug: str
    title: str
    description: str
    link: str
    language: str
    #: As `read_feed_filter` takes it.
    filter: Mapping[str, Any]
    is_public: bool
    token_hash: str | None
    owner_id: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFeed:
    id: int
    slug: str
    #: Empty texts are filled in from the source, where the feed shows exactly one.
    title: str = ""
    description: str = ""
    link: str = ""
    language: str = ""
    filter: FeedFilter
    is_public: bool
    token_hash: str | None = None
    #: Whoever made it. Nobody for the operator, the service and an admin's key.
    owner_id: int | None = None
    #: Whether the owner, as they are now, sees every source; else their own and what is public.
    sees_all: bool
    #: Whether the owner is disabled: then it is there for nobody but those who see everything.
    is_stopped: bool = False
    #: Counts its changes.
    version: int = 0
    created_at: datetime
    updated_at: datetime

    def may_be_seen_by(self, caller: Caller) -> bool:
        return (self.is_public and not self.is_stopped) or caller.sees_all or caller.owns(self.owner_id)

    def may_be_changed_by(self, caller: Caller) -> bool:
        return caller.may_change_what_is_of(self.owner_id)

    def shown(self) -> dict[str, Any]:
        """As API and command line give it out; what it filters by is for those who may change it."""
        named = {name: getattr(self, name) for name in ("id", "slug", "title", "description", "link", "language")}
        made = {"created_at": self.created_at, "updated_at": self.updated_at}
        return {
            **named,
            "public": self.is_public,
            "owner_id": self.owner_id,
            "filter": filter_shape(self.filter),
            **made,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownItem:
    """An item with what a feed needs to know about it."""

    item: Item
    source_id: int
    source_type: str
    fetched_at: datetime
    updated_at: datetime | None

    @property
    def changed_at(self) -> datetime:
        return self.updated_at or self.fetched_at


def check_slug(value: str) -> str:
    if not _SLUG.fullmatch(value):
        raise InvalidInput(
            "A feed's short name has 1 to 100 small letters, digits and hyphens, and no hyphen at its ends.",
            field="slug",
        )
    return value


def read_feed_filter(value: Any) -> FeedFilter:
    """From `{"sources": [1], "tags": ["news"], "search": "…", "include": […], "limit": 50}`, or InvalidInput."""
    if not isinstance(value, Mapping) or not set(value) <= _KEYS:
        raise _wrong(f"A filter is an object with any of {', '.join(sorted(_KEYS))}.")
    days = value.get("since_days")
    return FeedFilter(
        sources=tuple(_whole(one, "a source's id", MAX_ID) for one in _some(value, "sources")),
        types=tuple(_text(one, "a source type") for one in _some(value, "types")),
        tags=tuple(_text(one, "a tag") for one in _some(value, "tags")),
        rules=read_filters({key: value[key] for key in ("include", "exclude") if key in value}),
        search=_search(value.get("search", "")),
        q=_query(value.get("q", "")),
        since_days=None if days is None else _whole(days, "since_days", MAX_DAYS),
        limit=_whole(value.get("limit", LIMIT), "limit", MAX_LIMIT),
    )


def filter_shape(wanted: FeedFilter) -> dict[str, Any]:
    """The filter as `read_feed_filter` takes it, without what does not narrow."""
    rules = {
        name: [{"field": rule.field, "pattern": rule.pattern} for rule in given]
        for name, given in (("include", wanted.rules.include), ("exclude", wanted.rules.exclude))
    }
    shape = {
        "sources": list(wanted.sources),
        "types": list(wanted.types),
        "tags": list(wanted.tags),
        **rules,
        "search": wanted.search,
        "q": wanted.q,
        "since_days": wanted.since_days,
    }
    return {**{name: value for name, value in shape.items() if value}, "limit": wanted.limit}


def _some(value: Mapping[str, Any], key: str) -> list[Any]:
    found = value.get(key, [])
    if not isinstance(found, list) or len(found) > MAX_NAMED:
        raise _wrong(f"{key} is a list of at most {MAX_NAMED}.")
    return found


def _whole(value: Any, what: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise _wrong(f"{what} is a whole number of 1 to {most}.")
    return value


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= MAX_NAME:
        raise _wrong(f"{what} is a text of 1 to {MAX_NAME} characters.")
    return value


def _search(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MAX_SEARCH:
        raise _wrong(f"search is a text of at most {MAX_SEARCH} characters.")
    return " ".join(value.split())


def _query(value: Any) -> str:
    q = _search(value)
    if q:
        try:
            read_query(q)
        except InvalidInput as error:
            raise _wrong(f"q: {error}") from error
    return q


def _wrong(message: str) -> InvalidInput:
    return InvalidInput(message, field="filter")
