"""Dates as feeds write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import struct_time

# Before and after these, a date is a slip of a program: "0001-01-01", "9999-12-31".
_FIRST_YEAR = 1900
_LAST_YEAR = 2099
# A clock that was never set.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 64
# Above this, seconds would lie past the last year: they are milliseconds.
_MOST_SECONDS = 1e11
# A year, or more of a date, in the ways that ISO 8601 does not know or that sitemaps alone use.
_LOOSE = re.compile(
    r"(?P<year>\d{4})(?:[-/.](?P<month>\d{1,2})(?:[-/.](?P<day>\d{1,2})"
    r"(?:[T ]\s*(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2}))?)?)?)?\s*(?:Z|UTC|GMT)?\Z",
    re.ASCII | re.IGNORECASE,
)


def parse_date(text: str) -> datetime | None:
    """An ISO 8601 or RFC 822 date in UTC; None for nonsense. A date without a zone is taken as UTC."""
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment_or_none = _from_rfc822(text)
        if moment_or_none is None:
            return None
        moment = moment_or_none
    return _plausible(moment)


def parse_loose_date(text: str) -> datetime | None:
    """As `parse_date`, and also a year or month alone (its first moment), slashes, and lone digits."""
    moment = parse_date(text)
    if moment is not None:
        return moment
    found = _LOOSE.match(text.strip())
    if found is None:
        return None
    parts = {name: int(digits) for name, digits in found.groupdict().items() if digits is not None}
    try:
        return _plausible(datetime(**{"month": 1, "day": 1, **parts}, tzinfo=UTC))
    except ValueError:
        return None


def from_epoch(moment: object) -> datetime | None:
    """Seconds or milliseconds since 1970, as services write them; None for anything else."""
    if not isinstance(moment, int | float) or isinstance(moment, bool):
        return None
    try:
        return _plausible(datetime.fromtimestamp(moment / 1000 if moment > _MOST_SECONDS else moment, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def from_struct(parts: struct_time | None) -> datetime | None:
    """What feedparser found, which is UTC."""
    if parts is None:
        return None
    try:
        return _plausible(datetime(*parts[:5], second=min(parts[5], 59), tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def _from_rfc822(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _plausible(moment: datetime) -> datetime | None:
    if moment.tzinfo is not UTC:
        moment = _in_utc(moment)
    return moment if _FIRST_YEAR <= moment.year <= _LAST_YEAR and moment != _EPOCH else None


def _in_utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # the first or last day of the calendar
        return moment.replace(tzinfo=UTC)
