"""Counts as platforms show them to people."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.note import read_count

pytestmark = pytest.mark.proves("E-13")


@pytest.mark.parametrize(
    ("shown", "count"),
    [
        ("1.2万", 12_000),
        ("3,456", 3_456),
        ("10+", 10),
        ("100万+", 1_000_000),
        ("1.5亿", 150_000_000),
        ("1.2萬", 12_000),
        ("1.5億+", 150_000_000),
        ("2.3w", 23_000),
        ("4K", 4_000),
        ("3.5千", 3_500),
        (" 7 ", 7),
        (12, 12),
        (-3, 0),
        ("", None),
        ("赞", None),
        (None, None),
        (True, None),
        (2.5, None),
    ],
)
def test_a_count_is_read_as_people_mean_it(shown: object, count: int | None) -> None:
    assert read_count(shown) == count


@given(st.text() | st.integers() | st.from_regex(r"\d{1,500}(\.\d+)?[万亿k]?\+?", fullmatch=True))
def test_whatever_is_shown_gives_a_count_that_can_be_stored_or_none(shown: object) -> None:
    count = read_count(shown)
    assert count is None or 0 <= count < 2**63
