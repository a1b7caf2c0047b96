"""Whether what was read is a tweet, and how its text is kept. Pure.

The text stays as it came but for whitespace and the length that X itself allows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from catchment.domain.tweet import Tweet, TweetFields

MOST_CHARS: Final = 25_000
REQUIRED: Final = ("tweet_id", "text", "created_at", "author_username")
#: An empty text is a tweet of pictures alone.
_MAY_BE_EMPTY: Final = frozenset({"text"})
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalid:
    #: The required fields that are not there.
    missing: tuple[str, ...]


def validate(fields: TweetFields) -> Tweet | Invalid:
    missing = tuple(name for name in REQUIRED if _is_missing(name, fields.get(name)))
    if missing:
        return Invalid(missing=missing)
    cleaned: TweetFields = {**fields, "text": clean(fields["text"]), "created_at": in_utc(fields["created_at"])}
    if "referenced_tweet_text" in fields:
        cleaned["referenced_tweet_text"] = clean(fields["referenced_tweet_text"])
    return Tweet(**cleaned)


def clean(text: str) -> str:
    return _SPACE.sub(" ", text).strip()[:MOST_CHARS].rstrip()


def in_utc(moment: datetime) -> datetime:
    """A time without a zone is UTC; so is one whose zone would lead out of the calendar."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)


def _is_missing(name: str, value: object) -> bool:
    return value is None or (not value and name not in _MAY_BE_EMPTY)
