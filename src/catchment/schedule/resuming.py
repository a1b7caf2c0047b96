"""What makes a paused source start again, as the store takes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from catchment.schedule.due import after_resume
from catchment.store.sources import schedule_columns


def resumed(now: datetime) -> dict[str, Any]:
    """Its failures are forgotten, and it is due at once."""
    return {
        "is_active": True,
        "paused_by": None,
        "fetch_error_count": 0,
        "last_error": None,
        "last_error_at": None,
        **schedule_columns(after_resume(now)),
    }
