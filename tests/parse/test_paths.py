"""Paths into JSON: what they lead to, and what is refused because it could go on for ever."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.errors import BadConfig, ParseError
from catchment.parse.json_values import MAX_CHARS, compile_path, first_at, read_json

DOCUMENT = {"data": {"posts": [{"id": 1, "tags": ["a", "b"]}, {"id": 2}], "odd.name": 5}, "0": "zero"}
KEYS = st.text(st.characters(exclude_characters="."), min_size=1, max_size=5).filter(
    lambda key: not key.startswith("$")
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(KEYS, one, max_size=3),
    max_leaves=15,
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("", [DOCUMENT]),
        ("data.posts.1.id", [2]),
        ("data.posts.0.tags", [["a", "b"]]),
        ("0", ["zero"]),
        ("data.posts.7.id", []),
        ("data.posts.x", []),
        ("data.missing.id", []),
        ("$", [DOCUMENT]),
        ("$.data.posts[*].id", [1, 2]),
        ("$.data.posts[-1].id", [2]),
        ("$.data.posts[0:1].id", [1]),
        ("$.data['odd.name']", [5]),
        ("$..id", [1, 2]),
        ("$.nothing[*]", []),
    ],
)
def test_a_path_leads_to_what_it_says(path, found):
    assert compile_path(path)(DOCUMENT) == found


@pytest.mark.parametrize(
    "path",
    [
        "$.[",
        "$$",
        "$.a b",
        "$[0,0][0,0][0,0].x",
        "$..a..b",
        "$.a[?@.b == 1]",
        "$.a[?match(@.b, '(a+)+$')]",
        "$.a[?@.b =~ /(a+)+$/]",
        "$.a | $.b",
        "a" * (MAX_CHARS + 1),
        "$" + "[" * 200,
    ],
)
def test_what_is_no_path_or_could_take_for_ever_is_refused(path):
    with pytest.raises(BadConfig):
        compile_path(path)


@given(VALUES, st.lists(KEYS | st.integers(0, 3).map(str), max_size=4))
def test_a_dot_path_is_the_same_as_taking_one_step_after_the_other(document, steps):
    expected: object = document
    for step in steps:
        if isinstance(expected, dict) and step in expected:
            expected = expected[step]
        elif isinstance(expected, list) and step.isascii() and step.isdecimal() and int(step) < len(expected):
            expected = expected[int(step)]
        else:
            expected = None
            break
    assert first_at(compile_path(".".join(steps)), document) == expected


@given(st.text(max_size=30) | st.text("$.[]*'\"@?,:0a(", max_size=20).map("$".__add__), VALUES)
def test_any_text_is_a_path_or_bad_config(text, document):
    try:
        path = compile_path(text)
    except BadConfig:
        return
    assert isinstance(path(document), list)


def test_a_document_nested_too_deep_is_a_parse_error():
    deep: object = {"id": 1}
    for _ in range(500):
        deep = [deep]
    with pytest.raises(ParseError):
        compile_path("$..id")(deep)


@given(st.binary(max_size=60) | VALUES.map(json.dumps).map(str.encode))
def test_any_bytes_are_json_or_a_parse_error(body):
    with suppress(ParseError):
        read_json(body)


@pytest.mark.parametrize("body", [b"[" * 100_000, b"1" * 10_000, b"\xff\xfe\x00", b'{"a": secret}', b"<p>secret</p>"])
def test_json_that_cannot_be_read_says_so_and_keeps_what_it_held(body):
    with pytest.raises(ParseError) as caught:
        read_json(body)
    assert "secret" not in str(caught.value)
