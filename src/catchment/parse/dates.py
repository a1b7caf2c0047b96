"""Dates as feeds write them."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from time import struct_time

# Before and after these, a date is a slip of a program: "0001-01-01", "9999-12-31".
_FIRST_YEAR = 1900
_LAST_YEAR = 2099
# A clock that was never set.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 64


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
