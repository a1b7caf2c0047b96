"""How many tweets to ask for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from x_provider import START

from catchment.domain.tweet import FetchStats, normal_username
from catchment.errors import InvalidInput
from catchment.sources.x.scrape import LimitRules, next_limit, stats_after

pytestmark = pytest.mark.proves("D-06")
RULES = LimitRules()


def stats(fetched: int = 100, new: int = 0, *, rate: float = 0.0, empty: int = 0, total: int = 5) -> FetchStats:
    return FetchStats(
        username="ada",
        last_fetch_at=START,
        last_fetched_count=fetched,
        last_new_count=new,
        total_fetches=total,
        avg_new_rate=rate,
        consecutive_empty_fetches=empty,
    )


@pytest.mark.parametrize(
    ("given_stats", "limit"),
    [
        (None, 100),
        (stats(50, 50, total=0), 100),
        (stats(50, 50, rate=1.0), 100),
        (stats(200, 200, rate=1.0), 300),
        (stats(3, 3, rate=1.0), 10),
        (stats(empty=3), 10),
        (stats(empty=5), 10),
        (stats(new=10, rate=0.2), 60),
        (stats(new=5, rate=0.5), 12),
        (stats(new=3, rate=0.01), 300),
        (stats(new=1, rate=0.9), 10),
        (stats(new=5, rate=0.1, empty=2), 60),
        (stats(empty=1), 100),
        (stats(fetched=0, new=0, rate=0.5, empty=1), 100),
    ],
)
def test_the_next_limit_follows_what_the_last_fetches_brought(given_stats, limit):
    assert next_limit(given_stats, RULES) == limit


@pytest.mark.parametrize(("fetched", "new", "rate", "empty"), [(100, 25, 0.25, 0), (0, 0, 0.0, 1), (50, 0, 0.0, 1)])
def test_the_first_fetch_begins_the_statistics(fetched, new, rate, empty):
    first = stats_after(None, username="ada", fetched=fetched, new=new, at=START, alpha=0.3)
    assert first == stats(fetched, new, rate=rate, empty=empty, total=1)


def test_later_fetches_are_smoothed_in():
    later = stats_after(stats(rate=0.5, empty=2), username="ada", fetched=100, new=10, at=START, alpha=0.3)
    assert later.avg_new_rate == pytest.approx(0.38)
    assert (later.total_fetches, later.consecutive_empty_fetches) == (6, 0)
    nothing = stats_after(later, username="ada", fetched=0, new=0, at=START, alpha=0.3)
    assert nothing.avg_new_rate == later.avg_new_rate
    assert nothing.consecutive_empty_fetches == 1


counts = st.integers(0, 1000)


@given(st.lists(st.tuples(counts, counts).map(lambda pair: (max(pair), min(pair))), max_size=20), st.floats(0.1, 0.9))
@pytest.mark.proves("D-17")
def test_whatever_was_fetched_rate_and_limit_stay_in_their_bounds(fetches, alpha):
    known = None
    for fetched, new in fetches:
        known = stats_after(known, username="ada", fetched=fetched, new=new, at=START, alpha=alpha)
        assert 0.0 <= known.avg_new_rate <= 1.0
        assert RULES.least <= next_limit(known, RULES) <= RULES.most
    assert (known.total_fetches if known else 0) == len(fetches)


@pytest.mark.parametrize(("given_name", "name"), [("@OpenAI", "openai"), (" ada_1 ", "ada_1"), ("A", "a")])
def test_names_are_known_in_one_form(given_name, name):
    assert normal_username(given_name) == name


@pytest.mark.parametrize("name", ["", "@", "a" * 16, "a b", "a-b", "@@a", "ä", "a,b"])
def test_what_cannot_be_a_name_is_refused(name):
    with pytest.raises(InvalidInput):
        normal_username(name)
