"""What can be exported, and in which columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from catchment.domain.caller import Caller
from catchment.errors import InvalidInput


class ExportKind(StrEnum):
    ITEMS = "items"
    NOTES = "notes"
    COMMENTS = "comments"
    TWEETS = "tweets"


class ExportFormat(StrEnum):
    CSV = "csv"
    JSONL = "jsonl"
    PARQUET = "parquet"


class ColumnKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    MOMENT = "moment"
    #: Lists and objects; where there are only cells, as JSON.
    JSON = "json"


#: A row by its columns.
ExportRow = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuery:
    """What somebody wants of what they may see."""

    what: ExportKind
    caller: Caller
    source_id: int | None = None
    #: By when it was collected; the second moment itself is not in it.
    since: datetime | None = None
    until: datetime | None = None

    def __post_init__(self) -> None:
        if self.what is ExportKind.TWEETS and self.source_id is not None:
            raise InvalidInput("Tweets belong to no source: export them without one.", field="source_id")


def _columns(*, numbers: str = "", moments: str = "", json: str = "", order: str) -> dict[str, ColumnKind]:
    kinds = {ColumnKind.NUMBER: numbers, ColumnKind.MOMENT: moments, ColumnKind.JSON: json}
    named = {name: kind for kind, names in kinds.items() for name in names.split()}
    return {name: named.get(name, ColumnKind.TEXT) for name in order.split()}


COLUMNS: Mapping[ExportKind, Mapping[str, ColumnKind]] = {
    ExportKind.ITEMS: _columns(
        numbers="id source_id revision",
        moments="published_at fetched_at updated_at",
        json="metadata",
        order="id source_id source_name source_type title url author content published_at fetched_at updated_at "
        "revision metadata",
    ),
    ExportKind.NOTES: _columns(
        numbers="id source_id likes collects comments shares",
        moments="published_at extracted_at",
        json="images tags",
        order="id platform note_id source_id url title content note_type author_id author_name likes collects comments "
        "shares images video_url tags published_at extracted_at",
    ),
    ExportKind.COMMENTS: _columns(
        numbers="source_id likes reply_count",
        order="platform note_id source_id id reply_to content author_id author_name created_at likes reply_count",
    ),
    ExportKind.TWEETS: _columns(
        moments="created_at db_created_at db_updated_at",
        json="media referenced_tweet_media urls hashtags counts",
        order="tweet_id text created_at author_username author_display_name referenced_tweet_id reference_type media "
        "referenced_tweet_text referenced_tweet_media referenced_tweet_author_username urls lang hashtags counts "
        "db_created_at db_updated_at",
    ),
}


def comment_rows(note: ExportRow, comments: Sequence[Mapping[str, Any]], reply_to: str = "") -> list[dict[str, Any]]:
    """Each comment of a note as a row, and each reply after what it replies to."""
    rows = []
    for comment in comments:
        rows.append({**note, **comment, "reply_to": reply_to})
        rows += comment_rows(note, comment.get("replies") or (), str(comment.get("id", "")))
    return rows
