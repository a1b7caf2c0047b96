"""A digest: a summary of what was collected, written elsewhere and kept here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


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
