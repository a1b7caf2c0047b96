"""A user of X whom the scraper follows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    id: int
    #: Normalised: without `@`, in lower case.
    username: str
    added_at: datetime
    reason: str
    added_by: str
    is_active: bool
