"""What is found by which words, without a store."""

from __future__ import annotations

from contextlib import suppress
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.search import (
    MAX_CHARS,
    MAX_TOKENS,
    item_tokens,
    read_query,
    text_of_html,
    tokens_of,
)
from catchment.errors import InvalidInput

HAN = st.text(st.sampled_from("人工智能芯片市场股票新闻科技"), min_size=2, max_size=8)
WORDS = st.text(st.sampled_from("abcXYZ019"), min_size=1, max_size=6)


def is_found(q: str, text: str) -> bool:
    return read_query(q).finds(tokens_of(text))


@pytest.mark.proves("G-06")
@given(before=HAN, word=HAN, after=HAN)
def test_a_chinese_word_of_two_characters_or_more_is_found_wherever_it_stands(before: str, word: str, after: str):
    assert is_found(word, before + word + after)
    assert is_found(word, f"{before}，{word}。")
    assert is_found(f"{word} {after}", before + word + after)


@given(text=HAN, word=HAN)
def test_a_chinese_word_that_is_not_there_is_not_found(text: str, word: str):
    assert is_found(word, text) == (word in text)


@given(parts=st.lists(st.one_of(HAN, WORDS), min_size=1, max_size=6), data=st.data())
def test_words_of_both_scripts_side_by_side_are_found_together(parts: list[str], data: st.DataObject):
    text = "".join(chain.from_iterable(zip(parts, ["。"] * len(parts), strict=True)))
    part = data.draw(st.sampled_from(parts))
    assert is_found(part, text)


@pytest.mark.proves("G-06")
@pytest.mark.parametrize(
    ("q", "text"),
    [
        ("climate", "The Climate, today"),
        ("CAFÉ", "a cafe"),
        ("A股", "买A股市场"),
        ("A股", "今天的A股"),
        ("股a", "炒股A"),
        ("iPhone手机", "新iPhone手机壳"),
        ("５Ｇ", "5G is here"),
        ('"open source"', "Open-source news"),
        ("gpt-4", "GPT-4 and others"),
        ("micro*", "Microscopes"),
        ("news -sport", "news of the day"),
        ("हिन्दी", "यह हिन्दी है"),
        ("ราคา", "ดูราคาทอง"),
        ("서울", "서울에서"),
    ],
)
def test_what_a_reader_expects_is_found(q: str, text: str):
    assert is_found(q, text)


@pytest.mark.parametrize(
    ("q", "text"),
    [
        ("climate", "climates"),
        ('"open source"', "source, open"),
        ("news -sport", "news of sport"),
        ("智能", "智 能"),
        ('news -"red tape"', "news: red tape again"),
    ],
)
def test_what_a_reader_does_not_ask_for_is_not_found(q: str, text: str):
    assert not is_found(q, text)


@pytest.mark.proves("G-06")
@pytest.mark.parametrize(
    ("q", "said"),
    [
        ("人", "One character alone"),
        ("news 人", "One character alone"),
        ("ab*", "begins too many words"),
        ("-news", "Name a word"),
        ("!?", "no word"),
        ("a " * 21, "at most 20"),
        ("x" * 501, "at most 500"),
    ],
)
def test_what_would_find_too_much_or_nothing_is_refused_with_the_reason(q: str, said: str):
    if said == "at most 20":
        q = " ".join(f"w{number}" for number in range(21))
    with pytest.raises(InvalidInput, match=said):
        read_query(q)


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(q: str):
    with suppress(InvalidInput):
        query = read_query(q)
        tokens = [token for term in (*query.terms, *query.without) for token in term.tokens]
        assert tokens
        assert all(tokens)
        assert not any(set(token) & set("\"'\\ _*:&|!()<>") for token in tokens), "nothing that a store would read"


@given(st.text(max_size=2_000))
def test_no_text_makes_a_token_that_a_store_would_read_as_something_else(text: str):
    assert not any(set(token) & set("\"'\\ _*:&|!()<>\0") for token in tokens_of(text))


@pytest.mark.proves("S-03")
@pytest.mark.parametrize(
    ("q", "tokens"),
    [
        ("climate policy", ["climate", "policy"]),
        ('"climate policy"', ["climate", "policy"]),
        ("人工智能", ["人工", "工智", "智能"]),
        ("A股", ["a", "股*"]),
        ("micro* chip", ["chip"]),
        ("mic* micro*", ["micro*"]),
    ],
)
def test_an_index_is_asked_for_words_and_for_a_beginning_only_where_there_is_nothing_else(q: str, tokens: list[str]):
    rough = read_query(q).rough()
    assert ["".join(term.tokens) + "*" * term.is_prefix for term in rough.terms] == tokens


@given(
    st.lists(WORDS | HAN | st.sampled_from(["abc*", "-abc", '"ab ab"', '-"ab ab"', "A股"]), min_size=1, max_size=4),
    HAN,
    WORDS,
)
def test_what_a_search_finds_is_among_what_the_index_is_asked_for(parts: list[str], han: str, word: str):
    with suppress(InvalidInput):
        query = read_query(" ".join(parts))
        for text in (" ".join(parts), " ".join([*reversed(parts), han]), f"{word} {''.join(parts)}"):
            if query.finds(tokens_of(text)):
                assert query.rough().finds(tokens_of(text))


def test_no_phrase_reaches_from_the_title_into_the_text():
    tokens = item_tokens(title="open", author="source", content="code", mark="_7")
    assert tokens == ["open", "_7", "source", "_7", "code"]


def test_very_long_texts_are_bounded():
    assert len(item_tokens(title="t", author="", content="a " * 50_000, mark="_7")) == MAX_TOKENS
    tokens = item_tokens(title="t", author="", content="".join(f"{n:064} " for n in range(20_000)), mark="_7")
    assert sum(map(len, tokens)) <= MAX_CHARS


def test_markup_is_no_text_and_leaves_no_gap_within_a_word():
    assert tokens_of(text_of_html("<p>人<b>工</b>智</p><p class='x'>能 &amp; &lt;b&gt;</p>")) == [
        "人工",
        "工智",
        "智",
        "能",
        "b",
    ]
    assert tokens_of(text_of_html("1 < 2 and 3 > 2")) == ["1", "2", "and", "3", "2"]
