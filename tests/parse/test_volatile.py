"""Words on a page that change by themselves."""

from __future__ import annotations

import pytest

from catchment.parse.watch import MAX_SEARCHED, steady

pytestmark = pytest.mark.proves("R-47")


@pytest.mark.parametrize(
    "words", ["1,231 views", "12.5k views", "3 Aufrufe", "1'234 visits", "Likes: 1.234", "99 次浏览"]
)
def test_a_count_of_those_who_looked_is_left_out(words: str) -> None:
    assert steady(f"Before {words} after") == "Before after"


def test_a_long_text_is_searched_only_at_its_beginning() -> None:
    text = "7 views " + "12.5," * (MAX_SEARCHED // 5) + " 8 views"
    assert steady(text) == steady("12.5," * (MAX_SEARCHED // 5)) + " 8 views"
