from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from time import struct_time

import fastfeedparser.main
import pytest
from feed_documents import rss
from hypothesis import given
from hypothesis import strategies as st

from catchment.parse import slow
from catchment.parse.dates import from_struct, parse_date, parse_feed_date
from catchment.parse.feed import Feed, parse_feed

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


def read_thoroughly(body: bytes) -> Feed:
    return slow.read(body, "")


both_ways = pytest.mark.parametrize("read", [parse_feed, read_thoroughly], ids=["quick", "thorough"])


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-04T12:00:00Z",
        "2026-03-04T13:00:00+01:00",
        "2026-03-04T12:00:00",
        "2026-03-04 12:00:00",
        "20260304T120000Z",
        "Wed, 04 Mar 2026 12:00:00 GMT",
        "Wed, 04 Mar 2026 07:00:00 EST",
        "4 Mar 2026 12:00:00 +0000",
        "  2026-03-04T12:00:00.000Z\n",
    ],
)
def test_usual_forms_of_a_date_are_read_as_utc(text: str):
    assert parse_date(text) == NOON
    assert parse_date(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    ["", "soon", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-10:00", "1970-01-01T00:00:00Z", "2026-02-30", "1" * 99],
)
def test_nonsense_and_absurd_years_are_no_date(text: str):
    assert parse_date(text) is None


@pytest.mark.parametrize(
    "text",
    ["Wed, 04 Mar 2026 12:00:00 GMT", "Wed, 4 Mar 26 12:00 UT", "2026-03-04T12:00:00Z"],
)
@both_ways
def test_dates_in_feeds_are_read_quick_or_thorough(text: str, read):
    (entry,) = read(rss(f"<item><title>fish</title><pubDate>{text}</pubDate></item>")).entries
    assert entry.published == NOON


def test_dates_in_words_are_read():
    (entry,) = parse_feed(rss("<item><title>a</title><pubDate>March 4, 2026 12:00 UTC</pubDate></item>")).entries
    assert entry.published == NOON


@both_ways
@pytest.mark.parametrize("text", ["not a date", "Wed, 04 Mar 0026 12:00:00 GMT", "31 Feb 2026 12:00:00 GMT"])
def test_bad_dates_in_feeds_are_none(text: str, read):
    (entry,) = read(rss(f"<item><title>fish</title><pubDate>{text}</pubDate></item>")).entries
    assert entry.published is None


_OFFSETS = st.integers(-12 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(1971, 1, 1), datetime(2098, 1, 1), timezones=_OFFSETS))  # noqa: DTZ001
def test_what_is_written_properly_is_read_back(moment: datetime):
    assert parse_date(moment.isoformat()) == moment
    assert parse_date(format_datetime(moment)) == moment.replace(microsecond=0)


@given(st.text(max_size=70))
def test_any_text_gives_a_date_in_utc_or_none(text: str):
    moment = parse_date(text)
    assert moment is None or moment.tzinfo is UTC


def test_leap_seconds_and_impossible_moments_are_survived():
    assert from_struct(struct_time((2016, 12, 31, 23, 59, 60, 5, 366, 0))).second == 59
    assert from_struct(struct_time((2016, 13, 31, 23, 59, 60, 5, 366, 0))) is None
    assert from_struct(None) is None


@pytest.mark.proves("R-19")
@pytest.mark.parametrize(
    "text",
    [
        "March 4, 2026 12:00 UTC",
        "Wed Mar  4 12:00:00 2026",
        "Wed Mar 04 12:00:00 GMT 2026",
        "4th March 2026, 12:00 pm",
        "Wednesday, 4 March 2026 at 12:00",
        "Wed, 04 Mar 2026 13:00:00 CET",
        "Wed, 4 Mar 26 07:00 EST",
        "04-Mar-2026 12:00:00 GMT+00:00",
        "04 Mar 26 1200 GMT",
        "2026/3/4 12:00:00",
        "1772625600",
        "1772625600000",
    ],
)
def test_dates_as_feeds_write_them_are_read_by_our_own_rules(text: str):
    assert parse_feed_date(text) == NOON


@given(st.text(max_size=300) | st.from_regex(r"[A-Za-z]{3} [0-9]{1,2} [A-Za-z]{3,9} [0-9:+ -]{1,20}", fullmatch=True))
def test_any_text_in_a_feed_gives_a_date_in_utc_or_none(text: str):
    moment = parse_feed_date(text)
    assert moment is None or moment.tzinfo is UTC


@pytest.mark.proves("R-19")
def test_dates_that_cannot_be_read_are_given_to_nobody_else(monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    for name in ("_slow_dateparser", "_slow_dateutil_parse"):
        monkeypatch.setattr(fastfeedparser.main, name, asked.append)
    texts = ["le 4 juin 2026", "昨天 12:00", "32 Smarch 2026", "yesterday at 5", "1" * 60]
    items = "".join(f"<item><title>{text}</title><pubDate>{text}</pubDate></item>" for text in texts)
    entries = [*parse_feed(rss(items)).entries, *parse_feed(rss(items + "<item><title>&")).entries]
    assert len(entries) >= len(texts)
    assert {entry.published for entry in entries} == {None}
    assert asked == []
