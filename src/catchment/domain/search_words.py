"""What may be said of a search, in a request or in a source's config: our words, and those of the platforms."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from catchment.domain.note import NoteType, Sort


class SortType(StrEnum):
    """Ours, and what Xiaohongshu calls them."""

    GENERAL = "general"
    NEWEST = "newest"
    POPULAR = "popular"
    TIME_DESCENDING = "time_descending"
    POPULARITY_DESCENDING = "popularity_descending"

    @property
    def sort(self) -> Sort:
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
    SortType.GENERAL: Sort.GENERAL,
    SortType.NEWEST: Sort.NEWEST,
    SortType.TIME_DESCENDING: Sort.NEWEST,
    SortType.POPULAR: Sort.POPULAR,
    SortType.POPULARITY_DESCENDING: Sort.POPULAR,
}
_TYPES: Final = {TypeNumber.ANY: None, TypeNumber.VIDEO: NoteType.VIDEO, TypeNumber.NORMAL: NoteType.NORMAL}
