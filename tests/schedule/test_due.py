"""When a source is looked at next."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catchment.domain.source import NextCheck, PausedBy, Why
from catchment.schedule.due import (
    FIRST_RETRY,
    MAX_BACK_OFF,
    MAX_PATIENCE,
    Cadence,
    after_failure,
    after_interval_change,
    after_pause_by_error,
    after_success,
    back_off,
    next_fetch_at,
)
from source_factory import START, make_source

HOUR = timedelta(hours=1)
intervals = st.timedeltas(min_value=timedelta(minutes=1), max_value=timedelta(days=365))
waits = st.one_of(st.none(), st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400)))


def cadence(interval=4 * HOUR, probe_after=24 * HOUR):
    return Cadence(interval=interval, probe_after=probe_after)


@pytest.mark.proves("A-11")
@pytest.mark.parametrize(
    ("failures", "interval", "expected"),
    [
        (1, 4 * HOUR, timedelta(minutes=5)),  # the first is soon tried again
        (1, timedelta(minutes=2), timedelta(minutes=2)),  # but not later than usual
        (2, HOUR, HOUR),
        (3, HOUR, 2 * HOUR),
        (4, HOUR, 4 * HOUR),
        (4, 10 * HOUR, 24 * HOUR),  # never longer than a day
        (1000, HOUR, 24 * HOUR),
    ],
)
def test_failures_back_off_as_documented(failures, interval, expected):
    assert back_off(failures, interval) == expected


@pytest.mark.proves("A-11")
@given(st.integers(min_value=1, max_value=10_000), intervals)
def test_back_off_never_shrinks_and_never_passes_a_day(failures, interval):
    assert back_off(failures, interval) <= back_off(failures + 1, interval) <= MAX_BACK_OFF
    assert back_off(1, interval) <= FIRST_RETRY


@pytest.mark.proves("A-30")
@given(intervals, waits)
def test_after_success_the_server_can_ask_for_more_time_but_not_for_less_nor_for_ever(interval, fresh):
    check = after_success(START, cadence(interval), fresh_for=fresh)
    assert START + interval <= check.at <= START + max(interval, MAX_PATIENCE)
    assert (check.why is Why.SERVER_CACHE) == (fresh is not None and min(fresh, MAX_PATIENCE) > interval)


@pytest.mark.proves("A-30")
@given(st.integers(min_value=1, max_value=4), intervals, waits)
@example(1, HOUR, timedelta(days=400))
def test_retry_after_is_honoured_under_a_cap_of_a_day(failures, interval, retry_after):
    check = after_failure(START, cadence(interval), failures=failures, retry_after=retry_after)
    assert START < check.at <= START + MAX_PATIENCE
    if retry_after is not None:
        assert check.at >= START + min(retry_after, MAX_PATIENCE)


@pytest.mark.proves("A-15")
def test_next_fetch_is_the_last_one_plus_the_interval():
    source = make_source(last_fetched_at=START)
    assert next_fetch_at(source, HOUR) == START + HOUR


@pytest.mark.proves("A-15")
@pytest.mark.parametrize(
    "source",
    [
        make_source(last_fetched_at=None),
        make_source(last_fetched_at=START, is_active=False, paused_by=PausedBy.PERSON),
        make_source(last_fetched_at=START, is_active=False, paused_by=PausedBy.ERROR),
        make_source(last_fetched_at=START, is_deleted=True),
    ],
)
def test_next_fetch_is_unknown_for_what_was_never_fetched_or_is_paused(source):
    assert next_fetch_at(source, HOUR) is None


@pytest.mark.proves("A-29")
def test_a_source_paused_by_errors_is_probed_later_or_never():
    assert after_pause_by_error(START, cadence()) == NextCheck(at=START + 24 * HOUR, why=Why.PROBE)
    assert after_pause_by_error(START, cadence(probe_after=None)) == NextCheck(at=None, why=None)


class TestAfterTheIntervalChanged:
    @pytest.mark.proves("A-23")
    def test_a_healthy_source_moves_with_it(self):
        source = make_source(last_fetched_at=START, next_check=NextCheck(at=START + 4 * HOUR, why=Why.INTERVAL))
        assert after_interval_change(source, cadence(HOUR)) == NextCheck(at=START + HOUR, why=Why.INTERVAL)

    def test_one_that_was_never_fetched_stays_due(self):
        source = make_source()
        assert after_interval_change(source, cadence(HOUR)) == source.next_check

    def test_one_that_is_paused_stays_paused(self):
        source = make_source(is_active=False, paused_by=PausedBy.PERSON, next_check=NextCheck(at=None, why=None))
        assert after_interval_change(source, cadence(HOUR)).at is None

    def test_what_the_server_asked_for_stays(self):
        asked = NextCheck(at=START + 10 * HOUR, why=Why.SERVER_CACHE)
        source = make_source(last_fetched_at=START, next_check=asked)
        assert after_interval_change(source, cadence(HOUR)) == asked

    def test_a_back_off_is_computed_anew(self):
        source = make_source(
            last_fetched_at=START,
            last_attempt_at=START,
            fetch_error_count=3,
            next_check=NextCheck(at=START + 8 * HOUR, why=Why.BACK_OFF),
        )
        assert after_interval_change(source, cadence(HOUR)) == NextCheck(at=START + 2 * HOUR, why=Why.BACK_OFF)
