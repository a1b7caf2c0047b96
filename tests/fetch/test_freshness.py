from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.fetch.freshness import LONGEST_WAIT, Validators, fresh_for, retry_after

pytestmark = pytest.mark.proves("A-30")

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
moments = st.integers(0, 2**32).map(lambda second: datetime.fromtimestamp(second, UTC))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Cache-Control": "max-age=600"}, timedelta(minutes=10)),
        ({"Cache-Control": 'public, Max-Age="600"'}, timedelta(minutes=10)),
        ({"Cache-Control": "max-age=600", "Age": "590"}, timedelta(seconds=10)),
        ({"Cache-Control": "max-age=600", "Age": "900"}, None),
        ({"Cache-Control": "max-age=0, must-revalidate"}, None),
        ({"Cache-Control": "max-age=600, no-cache"}, None),
        ({"Cache-Control": "no-store"}, None),
        ({"Cache-Control": "max-age=soon"}, None),
        ({"Cache-Control": "max-age=-5"}, None),
        ({"Cache-Control": "s-maxage=600"}, None),
        ({"Cache-Control": "max-age=" + "9" * 400}, LONGEST_WAIT),
        ({"Expires": "Sun, 01 Mar 2026 12:30:00 GMT"}, timedelta(minutes=30)),
        ({"Expires": "Sun, 01 Mar 2026 12:30:00 GMT", "Date": "Sun, 01 Mar 2026 12:20:00 GMT"}, timedelta(minutes=10)),
        ({"Expires": "0"}, None),
        ({"Expires": "-1"}, None),
        ({"Expires": "Sun, 01 Mar 2020 12:30:00 GMT"}, None),
        # max-age is the newer word and wins
        ({"Expires": "Sun, 01 Mar 2026 12:30:00 GMT", "Cache-Control": "max-age=60"}, timedelta(minutes=1)),
    ],
)
def test_an_answer_is_fresh_for_as_long_as_it_says(headers: dict[str, str], expected: timedelta | None) -> None:
    assert fresh_for(headers, NOW) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("", None),
        ("120", 120.0),
        (" 120 ", 120.0),
        ("1.5", 1.5),
        ("0", 0.0),
        ("-3", None),
        ("soon", None),
        ("٣", None),
        ("9" * 400, 86_400.0),
        ("Sun, 01 Mar 2026 12:01:00 GMT", 60.0),
        ("Sunday, 01-Mar-26 12:01:00 GMT", 60.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2036 11:00:00 GMT", 86_400.0),
        ("Sun, 99 Mar 2026 11:00:00 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str | None, expected: float | None) -> None:
    assert retry_after(value, NOW) == expected


@given(at=moments, now=moments)
def test_a_date_in_retry_after_is_never_past_and_never_over_a_day(at: datetime, now: datetime) -> None:
    wait = retry_after(format_datetime(at, usegmt=True), now)
    assert wait == min(max(0.0, (at - now).total_seconds()), 86_400.0)


@given(st.text(), st.text(), st.text(), st.text())
def test_any_text_gives_a_wait_within_a_day_or_none(cache: str, expires: str, age: str, date: str) -> None:
    headers = {"Cache-Control": cache, "Expires": expires, "Age": age, "Date": date}
    wait = fresh_for(headers, NOW)
    assert wait is None or timedelta(0) < wait <= LONGEST_WAIT
    seconds = retry_after(expires, NOW)
    assert seconds is None or 0 <= seconds <= 86_400


@given(seconds=st.integers(1, 10**9), age=st.integers(0, 10**9))
def test_age_shortens_and_a_day_caps(seconds: int, age: int) -> None:
    wait = fresh_for({"Cache-Control": f"max-age={seconds}", "Age": str(age)}, NOW)
    assert wait == (timedelta(seconds=min(seconds - age, 86_400)) if age < seconds else None)


def test_validators_come_from_an_answer_and_go_into_the_next_request() -> None:
    known = Validators.from_headers({"ETag": 'W/"a"', "Last-Modified": "yesterday"})
    assert known.as_headers() == {"If-None-Match": 'W/"a"', "If-Modified-Since": "yesterday"}
    assert Validators.from_headers({"ETag": "without-quotes"}).etag == "without-quotes"
    assert Validators.from_headers({}).as_headers() == {}


@pytest.mark.parametrize("etag", ["", "  ", "a\r\nX-Evil: 1", "x" * 5000, "*", '"a", "b"', 'W/"a", *'])
def test_a_validator_that_cannot_be_sent_back_is_dropped(etag: str) -> None:
    assert Validators.from_headers({"ETag": etag}) == Validators()
