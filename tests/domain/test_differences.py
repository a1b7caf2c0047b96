"""What changed from one text to another."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.differences import MAX_PIECES, ChangeKind, differences


def text_of(parts: list, *kinds: ChangeKind) -> str:
    return "".join(part.text for part in parts if part.kind in kinds)


@pytest.mark.proves("G-06")
@given(st.text(max_size=300), st.text(max_size=300))
def test_both_texts_can_be_read_from_their_differences(before: str, after: str):
    parts = differences(before, after)
    assert text_of(parts, ChangeKind.SAME, ChangeKind.REMOVED) == before
    assert text_of(parts, ChangeKind.SAME, ChangeKind.ADDED) == after


@pytest.mark.proves("G-06")
def test_words_and_chinese_characters_are_compared_one_by_one():
    parts = differences("The price is 5 euros. 价格上涨", "The price is 6 euros. 价格下跌")
    assert [part.text for part in parts if part.kind is not ChangeKind.SAME] == ["5", "6", "上涨", "下跌"]


def test_long_texts_are_compared_by_sentences():
    before = "One sentence here. " * (MAX_PIECES // 4)
    parts = differences(before + "End.", before + "Finish.")
    assert [part.text for part in parts if part.kind is not ChangeKind.SAME] == ["End.", "Finish."]


def test_texts_without_end_are_not_compared_piece_by_piece():
    parts = differences("a. " * 3 * MAX_PIECES, "b. " * 3 * MAX_PIECES)
    assert [part.kind for part in parts] == [ChangeKind.REMOVED, ChangeKind.ADDED]
