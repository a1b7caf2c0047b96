from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from feed_documents import rss
from hypothesis import given
from hypothesis import strategies as st

from catchment.parse import dates
from catchment.parse.dates import parse_date, parse_feed_date
from catchment.parse.feed import parse_feed

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


#: A document that is well-formed, and one that has to be made so.
WAYS = {"whole": "", "damaged": "<item><title>1 < 2</title></item>"}
both_ways = pytest.mark.parametrize("damage", WAYS.values(), ids=WAYS)


def date_of(written: str, damage: str) -> datetime | None:
    return parse_feed(rss(f"<item><title>fish</title><pubDate>{written}</pubDate></item>{damage}")).entries[0].published


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
    [
        "Wed, 04 Mar 2026 12:00:00 GMT",
        "Wed, 4 Mar 26 12:00 UT",
        "Wed, 04 Mar 2026 13:00:00 CET",
        "2026-03-04T12:00:00Z",
        "2026/3/4 12:00:00",
        "March 4, 2026 12:00 UTC",
    ],
)
@both_ways
def test_dates_in_feeds_are_read_whether_the_document_is_whole_or_damaged(text: str, damage: str):
    assert date_of(text, damage) == NOON


@both_ways
@pytest.mark.parametrize("text", ["not a date", "Wed, 04 Mar 0026 12:00:00 GMT", "31 Feb 2026 12:00:00 GMT"])
def test_bad_dates_in_feeds_are_none(text: str, damage: str):
    assert date_of(text, damage) is None


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
    assert parse_feed_date("31 Dec 2016 23:59:60 GMT").second == 59
    assert parse_feed_date("31 Feb 2016 23:59:59 GMT") is None


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
def test_dates_that_cannot_be_read_are_none_and_nobody_else_is_asked():
    texts = ["le 4 brumaire 2026", "昨天 12:00", "32 Smarch 2026", "yesterday at 5", "1" * 60]
    items = "".join(f"<item><title>{text}</title><pubDate>{text}</pubDate></item>" for text in texts)
    entries = [*parse_feed(rss(items)).entries, *parse_feed(rss(items + "<item><title>&")).entries]
    assert len(entries) >= len(texts)
    assert {entry.published for entry in entries} == {None}
    assert not {"dateparser", "dateutil"} & {name.partition(".")[0] for name in vars(dates)}


@pytest.mark.proves("R-19")
@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01 08:00:00 +0000 UTC", "2026-03-01T08:00:00"),
        ("2026-03-01 08:00:00.123456 UTC", "2026-03-01T08:00:00"),
        ("2026-03-01 08:00:00 EST", "2026-03-01T13:00:00"),
        ("2026-03-01T08:00:00 PDT", "2026-03-01T15:00:00"),
        ("2026-03-01 8:00 PM", "2026-03-01T20:00:00"),
        ("2026-03-01T08:00:00-5:00", "2026-03-01T13:00:00"),
        ("2026-03-01T24:00:00Z", "2026-03-02T00:00:00"),
        ("2026-060", "2026-03-01T00:00:00"),
        ("2026-060T08:00:00Z", "2026-03-01T08:00:00"),
        ("2024-366T08:00:00+01:00", "2024-12-31T07:00:00"),
        ("2026-03-01T08:00:9+01:00", "2026-03-01T07:00:09"),
        ("2026-3-1 8:5:9", "2026-03-01T08:05:09"),
        ("Fri, 2006/09/15 08:19:53 EDT", "2006-09-15T12:19:53"),
        ("2026 Mar 01", "2026-03-01T00:00:00"),
        ("3/1/2026 8:00:00 AM", "2026-03-01T08:00:00"),
        ("03/01/2026 08:00:00", "2026-03-01T08:00:00"),
        ("13/03/2026 08:00:00", "2026-03-13T08:00:00"),
        ("Sun, 01 Mar 2026 08:00:00 +01", "2026-03-01T07:00:00"),
        ("Sun, 01 Mar 2026 08:00:00 GMT+1", "2026-03-01T07:00:00"),
        ("2026-03-01 08:00:00 UTC+8", "2026-03-01T00:00:00"),
        ("2026-03-01 08:00:00 UTC+8 (CST)", "2026-03-01T00:00:00"),
        ("Sun, 01 Mar 2026 08:00:00 -0330", "2026-03-01T11:30:00"),
        ("Sunday, March 1, 2026 - 8:00pm", "2026-03-01T20:00:00"),
        ("Sunday, March 1, 2026 - 08:00 CET", "2026-03-01T07:00:00"),
        ("March 1, 2026, 8:00 p.m.", "2026-03-01T20:00:00"),
        ("Mar. 1, 2026, 8:00 a.m. EST", "2026-03-01T13:00:00"),
        ("Sun, 1 Mar 2026 8:00:00 PM -0700", "2026-03-02T03:00:00"),
        ("Sun, 01 Mar 2026 08:00:00 MST-07:00", "2026-03-01T15:00:00"),
        ("Sun, 01 Mar 2026 08:00:00 MST -0700", "2026-03-01T15:00:00"),
        ("Sun , 01 Mar 2026 08:00:00 EST", "2026-03-01T13:00:00"),
        ("Sun, Mar 01,2026 08:00:00 EST", "2026-03-01T13:00:00"),
        ("2026-03-01 at 08:00:00", "2026-03-01T08:00:00"),
        ("2026-03-01T08:00:00-05:00Z", "2026-03-01T13:00:00"),
        ("2026-03-01T08:00:00+01:00[Europe/Paris]", "2026-03-01T07:00:00"),
        ("Sun, 01 Mar 2026 08:00:00 Europe/Brussels", "2026-03-01T07:00:00"),
        ("2026-07-01 08:00:00 America/Los_Angeles", "2026-07-01T15:00:00"),
        ("2026-03-01 08:00:00 Nowhere/At_All", "2026-03-01T08:00:00"),
        ("2026-03-01 08:00:00 America/Argentina", "2026-03-01T08:00:00"),
        ("01-03-2026 08:00", "2026-03-01T08:00:00"),
        ("Mar. 2026", "2026-03-01T00:00:00"),
        (
            "Sun Mar 01 2026 08:00:00 GMT+0100 (Central European Standard Time)",
            "2026-03-01T07:00:00",
        ),
    ],
)
def test_dates_as_programs_write_them_are_read(text: str, moment: str):
    assert parse_feed_date(text) == datetime.fromisoformat(moment).replace(tzinfo=UTC)


@pytest.mark.proves("R-19")
@pytest.mark.parametrize(
    "text",
    [
        "202603010800",
        "Sun, 30 Nov -0001 00:00:00 +0000",
        "0001-01-01 00:00:00 +0000 UTC",
        "4 Mar 0026 12:00",
        "13/13/2026",
        "2026-13-01",
        "2026-000",
        "2026-366",
        "2026-060T25:00:00Z",
        "9999-999",
        "2026-03-01T24:30:00Z",
        "2026-03-01 08:00:00 +99",
        "9999-12-31T24:00:00Z",
        "Copyright 2026",
        "(2026)",
    ],
)
def test_what_only_looks_like_a_date_is_none(text: str):
    assert parse_feed_date(text) is None


@both_ways
@pytest.mark.parametrize(
    "written",
    [
        "2026年3月4日 12:00",
        "2026年03月04日12时00分00秒",
        "2026년 3월 4일 12:00",
        "Mi, 04 Mär 2026 13:00:00 +0100",
        "Mittwoch, 4. März 2026, 12:00",
        "mer. 4 mars 2026 12:00",
        "ср, 04 мар 2026 15:00:00 +0300",
        "04.03.2026 12:00",
        "mié, 04 mar 2026 12:00:00 GMT",
    ],
)
def test_dates_in_the_language_of_the_machine_that_wrote_them_are_read(written: str, damage: str):
    assert date_of(written, damage) == NOON


@pytest.mark.parametrize("written", ["昨天 12:00", "31.02.2026", "14.14.2026", "Mi, 04 Xyz 2026", "年" * 64, "dez"])
def test_what_looks_like_a_date_of_another_language_and_is_none_is_none(written: str):
    assert parse_feed_date(written) is None
