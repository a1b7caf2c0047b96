"""Dates as feeds write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

# Before and after these, a date is a slip of a program: "0001-01-01", "9999-12-31".
_FIRST_YEAR = 1900
_LAST_YEAR = 2099
# A clock that was never set.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 64
_MONTHS_OF_YEAR, _HOURS_OF_DAY = 12, 24
# Above this, seconds would lie past the last year: they are milliseconds.
_MAX_SECONDS = 1e11
#: Of years in two digits, these are of this century; three are those of a clock that counted from 1900.
_FIRST_SHORT_YEAR = 69
_TIME = r"(?P<hour>\d{1,2}):?(?P<minute>(?<=:)\d{1,2}|\d{2})(?::(?P<second>\d{1,2}))?(?:\.\d{1,9})?"
# After the offset its name may stand: "+0000 UTC".
_ZONE = r"(?: ?(?P<zone>[a-z]{1,5}|(?:gmt|utc)?[+-]\d{1,2}(?::?\d{2})?)(?:(?<=\d) [a-z]{1,5})?)?\Z"
_END = rf"(?: ?(?P<half>am|pm))?{_ZONE}"
# A year, or more of a date, in the ways that ISO 8601 does not know or that sitemaps alone use.
_LOOSE = re.compile(
    r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6}\.?,? )?"
    r"(?:(?P<year>\d{4})(?!-\d{3})(?:[-/. ](?P<month>\d{1,2}|[a-z]{3,9})(?:[-/. ](?P<day>\d{1,2})"
    rf"(?:(?:T|,? ){_TIME})?)?)?"
    # Whoever writes the year last, and slashes, is taken for an American.
    rf"|(?P<month_>\d{{1,2}})/(?P<day_>\d{{1,2}})/(?P<year_>\d{{4}})(?:,? {_TIME.replace('>', '_>')})?){_END}",
    re.ASCII | re.IGNORECASE,
)
# "March 4, 2026 12:00 UTC", "Wed Mar 4 12:00:00 2026", "4 March 2026, 1:30 pm".
_WORDS = re.compile(
    r"(?:[^\W\d_]{2,9}\.?,? )?(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?\.?[ -](?P<month>[a-z]{3,9})\.?,?[ -](?P<year>\d{2,4})"
    rf"(?:,? (?:at )?{_TIME})?"
    rf"|(?P<month_>[a-z]{{3,9}})\.? (?P<day_>\d{{1,2}})(?:st|nd|rd|th)?,?(?: {_TIME.replace('>', '_>')})?"
    rf",? (?P<year_>\d{{4}})(?:,? (?:at )?{_TIME.replace('>', '__>')})?){_END}",
    re.ASCII | re.IGNORECASE,
)
# The day of a year, by ISO 8601: "2026-063" is the fourth of March.
_ORDINAL = re.compile(r"(\d{4})-(\d{3})(?=T|\Z)", re.ASCII)
# The year before the first: "30 Nov -0001 00:00:00", which the library takes for a time and a zone.
_NEGATIVE_YEAR = re.compile(r"\d [a-z]{3,9} -\d", re.ASCII | re.IGNORECASE)
_MONTH_NAMES = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
#: By how they begin, in the languages in which programs write dates by the locale of their machine.
_OTHER_MONTHS = {
    "jän": 1, "janv": 1, "ene": 1, "gen": 1, "янв": 1, "févr": 2, "fév": 2, "fev": 2, "фев": 2, "mär": 3, "mrz": 3,
    "mrt": 3, "мар": 3, "avr": 4, "abr": 4, "апр": 4, "mai": 5, "mei": 5, "mag": 5, "май": 5, "мая": 5, "juin": 6,
    "giu": 6, "июн": 6, "juil": 7, "lug": 7, "июл": 7, "aoû": 8, "ago": 8, "авг": 8, "set": 9, "сен": 9, "okt": 10,
    "ott": 10, "out": 10, "окт": 10, "ноя": 11, "dez": 12, "déc": 12, "dic": 12, "дек": 12,
}  # fmt: skip
_MONTH_WORD = re.compile(rf"\b({'|'.join(sorted(_OTHER_MONTHS, key=len, reverse=True))})[^\W\d_]*+\.?")
_DOTTED = re.compile(r"^(\d{1,2})([.-])(\d{1,2})\2(\d{4})\b,?")
# What people write between the parts of a date, and what says no more than stands there already.
_HABITS = (
    (re.compile(r" ?, ?"), ", "),
    (re.compile(r" (?:-|at) (?=\d)"), " "),
    (re.compile(r"\b([ap])\.m\.", re.IGNORECASE), r"\1m"),
    # A zone beside its offset.
    (re.compile(r"\b(?![AP]M\b)[A-Z]{1,5} ?(?=[+-]\d\d:?\d\d\Z)"), ""),
    (re.compile(r"(?<=[+-]\d\d:\d\d)(?:Z|\[[\w/+-]+\])\Z"), ""),
    (re.compile(r"\A(?=[A-Za-z]{3,9}\.? \d{4}\Z)"), "1 "),
)
_PLACE = re.compile(r" ([A-Z][a-z]+/[A-Z][\w/+-]*)\Z", re.ASCII)
_WEEKDAY = re.compile(r"^[^\W\d_]{2,12}\.?(?:, ?| )(?=\d{1,2}\b)")
# The signs of Chinese, Japanese and Korean.
_SIGNS = str.maketrans("年년月월日일号时時시分분秒초：", "----   :::::  :")
_UTC_ZONES = frozenset({"GMT", "UTC", "UT", "Z", "+0000", "-0000"})
_PROPER_LENGTH = len("Sun, 01 Mar 2026 08:00:00 ")
_DIGITS = re.compile(r"\d{9,10}|\d{13}", re.ASCII)
#: Hours from UTC of zones that are named in feeds.
_ZONES = {
    "ut": 0, "utc": 0, "gmt": 0, "z": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "met": 1, "mest": 2,
    "mez": 1, "mesz": 2, "sast": 2, "eet": 2, "eest": 3, "msk": 3, "ist": 5.5, "hkt": 8, "sgt": 8, "awst": 8,
    "jst": 9, "kst": 9, "acst": 9.5, "acdt": 10.5, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13, "est": -5,
    "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7, "akst": -9, "akdt": -8, "hst": -10,
    "hast": -10, "hadt": -9,
}  # fmt: skip


def parse_date(text: str) -> datetime | None:
    """A date in UTC, by ISO 8601, RFC 822 or in English words; None for nonsense. One without a zone is taken as UTC.

    What cannot be read costs as little as what can: a feed may have tens of thousands of dates.
    """
    text = _without_remark(text.strip())
    if not text or len(text) > _LONGEST:
        return None
    moment = _from_proper_rfc822(text) if text[3:5] == ", " else None
    if moment is None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            moment = _from_ordinal(text) or _from_words(text) or _from_rfc822(text)
    return None if moment is None else _plausible(moment)


def parse_loose_date(text: str) -> datetime | None:
    """As `parse_date`, and also a year or month alone (its first moment), slashes, lone digits, and other languages."""
    text = " ".join(text[: 4 * _LONGEST].split())
    for habit, proper in _HABITS:
        text = habit.sub(proper, text)
    place = _PLACE.search(text)
    if place is None:
        return _loose(text) or _loose(_translated(text))
    moment = parse_loose_date(text[: place.start()])
    return None if moment is None else _plausible(_at(moment, place[1]))


def _at(moment: datetime, place: str) -> datetime:
    """The moment at which clocks in a place showed this time, if anybody knows the place."""
    try:
        return moment.replace(tzinfo=ZoneInfo(place))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return moment


def _loose(text: str) -> datetime | None:
    moment = parse_date(text)
    if moment is not None:
        return moment
    found = _LOOSE.match(_without_remark(text))
    if found is None:
        return None
    given = _given(found)
    if found["month_"] and int(given["month"]) > _MONTHS_OF_YEAR:
        given["month"], given["day"] = given["day"], given["month"]
    moment = _moment(given)
    return None if moment is None else _plausible(moment)


def parse_feed_date(text: str) -> datetime | None:
    """As `parse_loose_date`, and also as seconds or milliseconds since 1970."""
    if text[3:5] == ", " and (moment := _from_proper_rfc822(text)) is not None:
        return _plausible(moment)
    text = " ".join(text[: 4 * _LONGEST].split())
    return from_epoch(int(text)) if _DIGITS.fullmatch(text) else parse_loose_date(text)


def _translated(text: str) -> str:
    """A date of another language as it would be in English; its day of the week goes."""
    if len(text) > _LONGEST:
        return ""
    text = _WEEKDAY.sub("", text.lower()).translate(_SIGNS)
    text = _MONTH_WORD.sub(lambda word: _MONTH_NAMES[_OTHER_MONTHS[word[1]] - 1], text)
    return " ".join(_DOTTED.sub(r"\4-\3-\1", text).replace("- ", "-").split()).strip(":")


def from_epoch(moment: object) -> datetime | None:
    """Seconds or milliseconds since 1970, as services write them; None for anything else."""
    if not isinstance(moment, int | float) or isinstance(moment, bool):
        return None
    try:
        return _plausible(datetime.fromtimestamp(moment / 1000 if moment > _MAX_SECONDS else moment, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def _without_remark(text: str) -> str:
    """Without what stands in parentheses at its end: the zone once more, by its name."""
    return text.partition("(")[0].rstrip() if text.endswith(")") else text


def _from_proper_rfc822(text: str) -> datetime | None:
    """As nearly all feeds write it, in a tenth of the time that it takes to read any other way to."""
    month = _MONTHS.get(text[8:11].lower())
    if month is None or text[_PROPER_LENGTH:] not in _UTC_ZONES:
        return None
    try:
        return datetime.fromisoformat(f"{text[12:16]}-{month:02}-{text[5:7]}T{text[17:25]}+00:00")
    except ValueError:
        return None


def _from_ordinal(text: str) -> datetime | None:
    found = _ORDINAL.match(text)
    if found is None:
        return None
    year, number = map(int, found.groups())
    try:
        day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=number - 1)
        return datetime.fromisoformat(f"{day:%Y-%m-%d}{text[found.end() :]}") if day.year == year else None
    except (ValueError, OverflowError):
        return None


def _from_words(text: str) -> datetime | None:
    found = _WORDS.match(" ".join(text.split()))
    if found is None:
        return None
    return _moment(_given(found))


def _given(found: re.Match[str]) -> dict[str, str]:
    return {name.rstrip("_"): said.lower() for name, said in found.groupdict().items() if said}


def _moment(given: Mapping[str, str]) -> datetime | None:
    """What the parts of a date make, as far as they are given."""
    offset = _offset(given.get("zone", "utc"))
    month = _month(given.get("month", "1"))
    if month is None or offset is None:
        return None
    hour, minute = _of_day(int(given.get("hour", 0)), given.get("half", "")), int(given.get("minute", 0))
    # Midnight as the end of a day.
    is_end = hour == _HOURS_OF_DAY and minute == 0
    try:
        day = datetime(
            _whole_year(given["year"]),
            month,
            int(given.get("day", 1)),
            0 if is_end else hour,
            minute,
            min(int(given.get("second", 0)), 59),
            tzinfo=timezone(offset),
        )
    except ValueError:
        return None
    return day + timedelta(days=1) if is_end and day.year <= _LAST_YEAR else day


def _month(said: str) -> int | None:
    return int(said) if said.isdecimal() else _MONTHS.get(said[:3])


def _whole_year(said: str) -> int:
    """As RFC 2822 has it for two digits and three, and in earnest for four."""
    year = int(said)
    return year if len(said) > len("126") else year + (2000 if year < _FIRST_SHORT_YEAR else 1900)


def _of_day(hour: int, half: str) -> int:
    return hour if not half else hour % 12 + (12 if half == "pm" else 0)


def _offset(zone: str) -> timedelta | None:
    zone = zone.removeprefix("gmt").removeprefix("utc") or "utc"
    if zone[0] not in "+-":
        hours = _ZONES.get(zone)
        return None if hours is None else timedelta(hours=hours)
    digits = zone[1:].replace(":", "")
    hours_only = len(digits) <= len("00")
    offset = timedelta(hours=int(digits if hours_only else digits[:-2]), minutes=0 if hours_only else int(digits[-2:]))
    return None if offset >= timedelta(days=1) else -offset if zone[0] == "-" else offset


def _from_rfc822(text: str) -> datetime | None:
    if _NEGATIVE_YEAR.search(text):
        return None
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _plausible(moment: datetime) -> datetime | None:
    if moment.tzinfo is not UTC:
        moment = in_utc(moment)
    return moment if _FIRST_YEAR <= moment.year <= _LAST_YEAR and moment != _EPOCH else None


def in_utc(moment: datetime) -> datetime:
    """A time without a zone is UTC; so is one whose zone would lead out of the calendar."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)
