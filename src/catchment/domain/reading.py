"""What somebody reads in an app: streams of items, what they did with each, and what they follow. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from catchment.domain.feed import ShownItem
from catchment.domain.item import checked_line
from catchment.errors import InvalidInput

MAX_LABEL, MAX_FOLDERS = 100, 50


class StreamKind(StrEnum):
    #: Everything that is followed.
    ALL = "reading-list"
    #: One source, by its number.
    SOURCE = "source"
    #: What is followed in a folder, and the items that have this label themselves.
    LABEL = "label"
    READ = "read"
    UNREAD = "unread"
    #: Explicitly unread, whatever was marked as read around it.
    KEPT_UNREAD = "kept-unread"
    STARRED = "starred"
    #: A state that we do not keep, such as `broadcast`: nothing is in it.
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    kind: StreamKind
    source_id: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where an item stands in every stream: they are sorted by when it was fetched."""

    fetched_at: datetime
    item_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamQuery:
    stream: Stream
    #: Only what is in all of these too, and in none of those.
    within: tuple[Stream, ...] = ()
    without: tuple[Stream, ...] = ()
    #: Fetched then or later, and before then.
    since: datetime | None = None
    until: datetime | None = None
    oldest_first: bool = False
    #: Where the page before this one ended.
    after: Position | None = None
    limit: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRef:
    at: Position
    source_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPage:
    refs: Sequence[ItemRef]
    #: Where the next page goes on, if there is one.
    next: Position | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """A source as somebody follows it."""

    source_id: int
    type: str
    config: Mapping[str, Any]
    #: Whose it is.
    created_by: int | None
    #: As the source itself has them.
    name: str
    tags: tuple[str, ...]
    #: Their own name for it, and their own folders; None for those of the source.
    own_title: str | None
    own_folders: tuple[str, ...] | None
    since: datetime

    @property
    def title(self) -> str:
        return self.own_title or self.name

    @property
    def folders(self) -> tuple[str, ...]:
        return self.tags if self.own_folders is None else self.own_folders


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadItem:
    """An item with what its reader did with it."""

    id: int
    shown: ShownItem
    #: What its reader calls the source, and where they keep it; nothing where they do not follow it.
    source_title: str
    folders: tuple[str, ...]
    is_read: bool
    is_kept_unread: bool
    is_starred: bool
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadCount:
    source_id: int
    #: Where its reader keeps the source.
    folders: Sequence[str]
    unread: int
    newest_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """What to do with items; None leaves it as it is."""

    is_read: bool | None = None
    is_starred: bool | None = None
    add_labels: tuple[str, ...] = ()
    remove_labels: tuple[str, ...] = ()


def checked_label(text: str) -> str:
    return checked_line(text, "label", most=MAX_LABEL)


def with_folders(folders: Sequence[str], *, add: Sequence[str] = (), remove: Sequence[str] = ()) -> tuple[str, ...]:
    kept = [folder for folder in folders if folder not in remove]
    changed = tuple(dict.fromkeys([*kept, *add]))
    if len(changed) > MAX_FOLDERS:
        raise InvalidInput(f"A subscription is in {MAX_FOLDERS} folders at most.", field="label")
    return changed
