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


@pytest.mark.parametrize("words", ["12 comments", "1 comment", "3 replies", "4 Kommentare", "5 条评论", "6人点赞"])
def test_a_count_of_those_who_answered_is_left_out(words: str) -> None:
    assert steady(f"Before {words} after") == "Before after"


@pytest.mark.parametrize("words", ["generated in 0.123 seconds", "Rendered in 45 ms", "17 SQL queries", "9 queries"])
def test_what_it_took_to_make_a_page_is_left_out(words: str) -> None:
    assert steady(f"Before {words} after") == "Before after"


def test_words_without_a_number_are_news() -> None:
    assert steady("No comments: slow queries, generated in Rome") == "No comments: slow queries, generated in Rome"


def test_a_long_text_is_searched_only_at_its_beginning() -> None:
    text = "7 views " + "12.5," * (MAX_SEARCHED // 5) + " 8 views"
    assert steady(text) == steady("12.5," * (MAX_SEARCHED // 5)) + " 8 views"
