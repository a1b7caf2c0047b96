"""How often a source is looked at, and which setting wins."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.schedule.intervals import MAX_MINUTES, Intervals, read_chosen, read_minutes
from catchment.settings import Settings
from catchment.sources.base import Parts
from catchment.sources.registry import Registry
from source_factory import make_source

TYPES = Registry(parts=Parts(settings=Settings()))


def resolve(table=None, environment=None, file=None, warned=None):
    warned = [] if warned is None else warned
    chosen = read_chosen(
        table=table or {},
        environment=environment or {},
        file=file or {},
        warn=lambda place, value: warned.append((place, value)),
    )
    return Intervals(default=TYPES.default_minutes, chosen=chosen)


@pytest.mark.proves("A-27")
def test_each_type_has_its_documented_default():
    assert {name: resolve().minutes(name) for name in TYPES} == {
        "twitter_feed": 30,
        "twitter_list": 30,
        "twitter_bookmarks": 60,
        "hackernews": 60,
        "reddit": 60,
        "rss": 240,
        "digest_feed": 240,
        "github_trending": 240,
        "website": 240,
        "custom_api": 120,
        "sitemap": 240,
        "xhs_search": 120,
        "weibo_search": 120,
        "douyin_search": 120,
    }


@pytest.mark.proves("A-23", "A-27")
def test_a_type_nobody_knows_is_looked_at_every_four_hours():
    assert resolve().minutes("something_new") == 240


@pytest.mark.proves("A-23")
@pytest.mark.parametrize(
    ("own", "table", "environment", "file", "expected"),
    [
        (5, "10", "20", "30", 5),  # the source's own wish comes first
        (None, "10", "20", "30", 10),  # then the table
        (None, None, "20", "30", 20),  # then the environment
        (None, None, None, "30", 30),  # then the file
        (None, None, None, None, 240),  # then the default
        (None, "junk", "20", "30", 20),  # what is unusable is passed over
        (None, "0", "-3", "30", 30),
    ],
)
def test_the_interval_is_taken_from_the_first_place_that_has_one(own, table, environment, file, expected):
    intervals = resolve(
        table={"FETCH_INTERVAL_RSS": table} if table else {},
        environment={"rss": environment} if environment else {},
        file={"rss": file} if file else {},
    )
    source = make_source(config={"fetch_interval_minutes": own} if own else {})
    assert intervals.of(source) == timedelta(minutes=expected)


@pytest.mark.proves("A-24")
def test_keys_of_the_table_are_matched_whatever_their_case():
    assert resolve(table={"fetch_interval_Rss": "7"}).minutes("rss") == 7


@pytest.mark.proves("A-06")
@pytest.mark.parametrize("junk", ["", " ", "0", "-5", "abc", "1.5", "1e3", "9" * 5000, "٣x", "None", "NaN", "60 min"])
def test_junk_keeps_the_default_and_is_reported(junk):
    warned = []
    assert resolve(environment={"rss": junk}, warned=warned).minutes("rss") == 240
    assert warned == [("FETCH_INTERVAL_RSS (environment)", junk)]


@given(st.one_of(st.text(), st.integers(), st.floats(), st.none(), st.booleans()))
def test_reading_minutes_gives_a_sensible_number_or_nothing(value):
    minutes = read_minutes(value)
    assert minutes is None or 1 <= minutes <= MAX_MINUTES
