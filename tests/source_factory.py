"""Sources for tests that need no store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from catchment.domain.source import NextCheck, Source, Why

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def make_source(**values: Any) -> Source:
    defaults: dict[str, Any] = {
        "id": 1,
        "name": "A source",
        "type": "rss",
        "config": {},
        "identity": "x",
        "is_active": True,
        "paused_by": None,
        "is_public": False,
        "is_deleted": False,
        "created_by": None,
        "tags": (),
        "created_at": START,
        "updated_at": START,
        "last_fetched_at": None,
        "last_attempt_at": None,
        "fetch_count": 0,
        "fetch_error_count": 0,
        "last_error": None,
        "next_check": NextCheck(at=START, why=Why.NEW),
        "memory": {},
    }
    return Source(**{**defaults, **values})
