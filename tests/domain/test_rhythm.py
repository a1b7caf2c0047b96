"""How a source's rhythm is learned, and what follows from it."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.rhythm import (
    LEAST_SQUEEZED,
    MAX_SQUEEZE,
    QUIET_LEAST,
    RELAX_AFTER,
    Rhythm,
    from_json,
    learn,
    mark_gap,
    to_json,
)
from catchment.domain.source import Why
from catchment.schedule.due import Bounds, Cadence, after_success, regular_check
from source_factory import START, make_source

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
BOUNDS = Bounds(floor=timedelta(minutes=15), ceiling=DAY)

moments = st.datetimes().map(lambda moment: moment.replace(tzinfo=START.tzinfo))
published = st.lists(st.none() | moments, max_size=40)
spans = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=400))


def hourly(count: int = 10, *, start=START) -> Rhythm:
    """A source that published every hour up to now."""
    return learn(Rhythm(), [start - number * HOUR for number in range(count)], start)


def test_the_dates_of_a_first_visit_tell_the_rhythm_at_once():
    rhythm = hourly()
    assert rhythm.spacing == pytest.approx(3600)
    assert rhythm.silence == pytest.approx(3600)
    assert rhythm.last_new_at == START


def test_items_without_dates_are_taken_to_have_come_evenly_since_the_last():
    rhythm = learn(Rhythm(), [None] * 5, START)
    assert rhythm.known == 0
    rhythm = learn(rhythm, [None] * 4, START + 8 * HOUR)
    assert rhythm.spacing == pytest.approx(2 * 3600)
    assert rhythm.known == 4


def test_dates_from_the_future_do_not_count():
    assert learn(hourly(), [START + 900 * DAY], START + HOUR).spacing == pytest.approx(3600)


@given(history=st.lists(st.tuples(spans, published), max_size=8))
def test_whatever_dates_come_the_rhythm_stays_sane_and_survives_the_store(history):
    rhythm, now = Rhythm(), START
    for span, dates in history:
        now += span
        rhythm = learn(rhythm, dates, now)
        assert rhythm.spacing >= 0
        assert rhythm.silence >= 0
        assert from_json(json.loads(json.dumps(to_json(rhythm)))) == rhythm
        if dates:
            assert rhythm.last_new_at == now
        adapted = rhythm.adapted(now, floor=BOUNDS.floor, ceiling=BOUNDS.ceiling)
        assert adapted is None or BOUNDS.floor <= adapted <= BOUNDS.ceiling


def test_a_source_is_quiet_once_it_is_silent_far_longer_than_ever():
    source = make_source(rhythm=hourly())
    assert not source.is_quiet(START + QUIET_LEAST - HOUR)
    assert source.is_quiet(START + QUIET_LEAST)


def test_a_weekly_source_is_not_quiet_after_a_day_but_after_ten_weeks():
    weekly = learn(Rhythm(), [START - number * 7 * DAY for number in range(8)], START)
    source = make_source(rhythm=weekly)
    assert not source.is_quiet(START + 60 * DAY)
    assert source.is_quiet(START + 71 * DAY)


def test_a_source_that_is_hardly_known_is_never_called_quiet():
    assert not make_source(rhythm=hourly(3)).is_quiet(START + 1000 * DAY)


def test_a_paused_source_is_not_called_quiet():
    assert not make_source(rhythm=hourly(), is_active=False).is_quiet(START + 1000 * DAY)


def test_an_adapted_interval_looks_twice_for_each_item_to_be_expected_and_says_so():
    cadence = Cadence(interval=4 * HOUR, probe_after=None, adapt=BOUNDS)
    check = after_success(START, cadence, fresh_for=None, rhythm=hourly())
    assert (check.at, check.why) == (START + HOUR / 2, Why.ADAPTED)


def test_an_adapted_interval_grows_while_nothing_comes_up_to_the_ceiling():
    rhythm = hourly()
    waits = [rhythm.adapted(START + n * DAY, floor=BOUNDS.floor, ceiling=BOUNDS.ceiling) for n in range(10)]
    assert waits == sorted(waits)
    assert waits[-1] == DAY


def test_adapting_waits_until_the_rhythm_is_known():
    cadence = Cadence(interval=4 * HOUR, probe_after=None, adapt=BOUNDS)
    assert after_success(START, cadence, fresh_for=None, rhythm=Rhythm()).why is Why.INTERVAL


def test_two_windows_without_a_common_item_are_a_gap_that_shortens_the_interval():
    rhythm = mark_gap(hourly(), START, new=30, known=0)
    assert rhythm.gap_at == START
    check = regular_check(START, Cadence(interval=4 * HOUR, probe_after=None), rhythm)
    assert (check.at, check.why) == (START + 2 * HOUR, Why.GAP)


@pytest.mark.parametrize(("new", "known"), [(30, 1), (2, 0), (0, 0)])
def test_a_common_item_or_too_few_items_are_no_gap(new, known):
    assert mark_gap(hourly(), START, new=new, known=known).gap_at is None


def test_a_first_visit_is_no_gap():
    assert mark_gap(Rhythm(), START, new=30, known=0).gap_at is None


def test_the_mark_goes_when_windows_meet_again_while_the_interval_is_let_out_slowly():
    rhythm = mark_gap(mark_gap(hourly(), START, new=9, known=0), START + HOUR, new=9, known=0)
    met = mark_gap(rhythm, START + 2 * HOUR, new=1, known=8)
    assert met.gap_at is None
    shortened = [met.squeezed(8 * HOUR, START + HOUR + n * RELAX_AFTER) for n in range(3)]
    assert shortened == [2 * HOUR, 4 * HOUR, 8 * HOUR]


@given(interval=st.timedeltas(min_value=timedelta(minutes=1), max_value=timedelta(days=365)), gaps=st.integers(0, 50))
def test_no_number_of_gaps_squeezes_an_interval_below_its_floor_or_lengthens_it(interval, gaps):
    rhythm = hourly()
    for _ in range(gaps):
        rhythm = mark_gap(rhythm, START, new=9, known=0)
    squeezed = rhythm.squeezed(interval, START)
    assert min(interval, LEAST_SQUEEZED) <= squeezed <= interval
    assert squeezed >= interval / 2**MAX_SQUEEZE
