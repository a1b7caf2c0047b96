"""Copies of notes in a table outside that people work with: which note is to be copied, and when to try again. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

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
