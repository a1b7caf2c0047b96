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
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
_UTC_ZONES = frozenset({"GMT", "UTC", "UT", "Z", "+0000", "-0000"})
# Hours from UTC of the zones that feeds name, beside those that RFC 822 knows.
_ZONES = {
    "WET": 0, "BST": 1, "WEST": 1, "CET": 1, "MEZ": 1, "CEST": 2, "MESZ": 2, "EET": 2, "SAST": 2, "EEST": 3, "MSK": 3,
    "HKT": 8, "SGT": 8, "AWST": 8, "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
    "AKST": -9, "AKDT": -8, "HST": -10,
}  # fmt: skip
_ZONE = re.compile(r"([A-Z]{3,4})\Z")
# "March 4, 2026 12:00 UTC"
_MONTH_FIRST = re.compile(
    r"(?:[A-Za-z]{3,9},?\s)?(?P<month>[A-Za-z]{3})[a-z]{0,6}\.?\s(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s(?P<year>\d{4}),?(?P<time>.*)",
    re.ASCII | re.DOTALL,
)
_DAY_ALONE = re.compile(r"\d{1,2}\s[A-Za-z]{3,9}\s\d{4}\Z", re.ASCII)
_PROPER_LENGTH = len("Sun, 01 Mar 2026 08:00:00 ")


def parse_date(text: str) -> datetime | None:
    """An ISO 8601 or RFC 822 date in UTC; None for nonsense. A date without a zone is taken as UTC."""
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    moment = _from_proper_rfc822(text) if text[3:5] == ", " else None
    if moment is None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = _from_rfc822(text) or _from_words(text)
    return None if moment is None else _plausible(moment)


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


def _from_proper_rfc822(text: str) -> datetime | None:
    """As nearly all feeds write it, in a tenth of the time that it takes to read any other way to."""
    month = _MONTHS.get(text[8:11].lower())
    if month is None or text[_PROPER_LENGTH:] not in _UTC_ZONES:
        return None
    try:
        day, year, hour, minute, second = (
            int(text[5:7]), int(text[12:16]), int(text[17:19]), int(text[20:22]), int(text[23:25])
        )  # fmt: skip
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _from_rfc822(text: str) -> datetime | None:
    zone = _ZONE.search(text)
    if zone and (hours := _ZONES.get(zone[1])) is not None:
        text = f"{text[: zone.start()]}{hours:+03d}00"
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _from_words(text: str) -> datetime | None:
    """Where the month comes first, or no time is given."""
    if _DAY_ALONE.search(text):
        return _from_rfc822(f"{text} 00:00:00")
    found = _MONTH_FIRST.match(text)
    if found is None or found["month"].lower() not in _MONTHS:
        return None
    return _from_rfc822(f"{found['day']} {found['month']} {found['year']} {found['time'].strip() or '00:00:00'}")


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
