"""Cursors: where a reader of a long list got to, in a form that nobody needs to understand but us."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

from catchment.errors import InvalidInput
from catchment.web.inputs import MOST_ID


def write_cursor(row_id: int, moment: datetime | None = None) -> str:
    """A row, after the moment that its list is sorted by if that is not the id alone."""
    place = [row_id, moment.isoformat() if moment else None]
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> int:
    """The row of a cursor without a moment; InvalidInput if it was not written by us."""
    try:
        return _read(cursor)[0]
    except (ValueError, TypeError, RecursionError) as error:
        raise _not_ours() from error


def read_timed_cursor(cursor: str) -> tuple[datetime, int]:
    try:
        row_id, written = _read(cursor)
        moment = datetime.fromisoformat(written)
        # Near the ends of time a moment of another zone is none in UTC.
        in_utc = moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise _not_ours() from error
    if moment.utcoffset() is None:
        raise _not_ours()
    return in_utc, row_id


def _read(cursor: str) -> tuple[int, str]:
    padded = cursor + "=" * (-len(cursor) % 4)
    row_id, written = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    if type(row_id) is not int or not 0 <= row_id <= MOST_ID:
        raise ValueError(row_id)
    return row_id, written


def _not_ours() -> InvalidInput:
    return InvalidInput("The cursor is none of ours: use next_cursor as it was given.", field="cursor")
