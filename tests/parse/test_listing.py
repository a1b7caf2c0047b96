"""Lists of sources in YAML and JSON: where each entry begins, what is refused, and that nothing is lost."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.listing import BadLine, ListedSource, as_entry
from catchment.errors import InvalidInput
from catchment.parse.source_lists import MAX_BYTES, read_listing
from catchment.publish.opml import write_json, write_yaml

pytestmark = pytest.mark.proves("A-33")

YAML = b"""# what I read
- https://example.org/feed
- name: Weekly
  url: https://example.net/feed
  tags: [news, no, 2024]
  interval: 60
- type: reddit
  config: {subreddit: python}
  active: false
"""


def test_an_entry_is_an_address_or_a_mapping_and_knows_its_line() -> None:
    assert read_listing(YAML).sources == [
        ListedSource(type="rss", config={"url": "https://example.org/feed"}, line=2),
        ListedSource(
            type="rss",
            config={"url": "https://example.net/feed", "fetch_interval_minutes": 60},
            name="Weekly",
            tags=("news", "no", "2024"),
            line=3,
        ),
        ListedSource(type="reddit", config={"subreddit": "python"}, is_active=False, line=7),
    ]


def test_a_file_may_say_more_than_a_list() -> None:
    body = (
        '{"name": "Mine",\n "n": {"a": [1]},\n "sources": [\n\t{"url": "https://a.example/\\ud83d\\ude00"},\n\n 5\n]}'
    )
    listing = read_listing(body.encode())
    assert listing.name == "Mine"
    assert [entry.line for entry in listing.entries] == [4, 6]
    assert listing.sources[0].config["url"] == "https://a.example/😀"
    assert isinstance(listing.entries[1], BadLine)


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("5", "An entry is an address, or a mapping"),
        ("{name: x}", "neither an address .* nor a type"),
        ("{url: https://a.example/, intervall: 5}", "no field 'intervall'"),
        ("{url: https://a.example/, name: true}", "name is text"),
        ("{url: https://a.example/, tags: [[]]}", "A tag is text"),
        ("{url: https://a.example/, active: maybe}", "is_active is true or false"),
        ("{url: https://a.example/, active: true, is_active: true}", "is_active is there twice"),
        ("{url: https://a.example/, config: 7}", "config is a mapping"),
        ("{type: rss, config: '{'}", "config is a mapping, or one as JSON"),
        ("{url: https://a.example/, interval: 5, config: {fetch_interval_minutes: 6}}", "interval is there twice"),
        ("{url: https://a.example/, options: {adaptive: true}, config: {adaptive: true}}", "adaptive is there twice"),
        ('{url: https://a.example/, name: "a\\0b"}', "NUL"),
        ('{type: rss, config: \'{"url": "\\ud800"}\'}', "broken characters"),
        ("{type: x, config: {n: 1.0e+999}}", "inf is no number"),
        (f"{{type: x, config: '{'[' * 30}{']' * 30}'}}", "nested deeper than 20"),
    ],
)
def test_a_bad_entry_is_told_with_its_line_and_costs_nothing_but_itself(entry: str, why: str) -> None:
    body = f"- https://a.example/feed\n- {entry}\n- https://b.example/feed\n".encode()
    first, bad, last = read_listing(body).entries
    assert isinstance(first, ListedSource)
    assert isinstance(last, ListedSource)
    assert isinstance(bad, BadLine)
    assert bad.line == 2
    with pytest.raises(InvalidInput, match=why):
        raise InvalidInput(bad.reason)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("- &a [x, x]\n- *a", "Line 2: aliases"),
        ("- !!python/object:os.system x", r"Line 1: tags \(tag:yaml.org,2002:python/object:os.system\)"),
        ("- !!binary aGk=", "Line 1: tags"),
        ("- {<<: *a}", "Line 1: aliases"),
        ("- a: 1\n  a: 2", "Line 2: 'a' is there twice"),
        ("- ? [a]\n  : b", "Line 1: a list or a mapping cannot be a key"),
        ("- a\n---\n- b", "Line 2: a second document"),
        ("- a: 'never ends\n- b", "Line 2: this is no YAML"),
        ("[1, 2", "Line 1: this is no JSON"),
        ("hello", "no list of sources"),
        ("", "no list of sources"),
        ("{}", "no list of sources"),
        ('{"sources": 5}', "no list of sources"),
        ("- \x01", "characters that YAML does not know"),
        ("[" * 100_000, "nested too deep"),
        ("[" + "9" * 5000 + "]", "number that is too long"),
        ("- " * 100_000, "Line 1: it is nested deeper than 20"),
        ("x: " + "[" * 100_000, "Line 1: it is nested deeper than 20"),
        ("x: " + "{a: " * 100_000, "Line 1: it is nested deeper than 20"),
    ],
    ids=range(19),
)
def test_what_cannot_be_read_or_would_expand_is_refused_at_once(body: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        read_listing(body.encode())


def test_size_and_count_are_capped() -> None:
    with pytest.raises(InvalidInput, match="larger than 10 MiB"):
        read_listing(b" " * (MAX_BYTES + 1))
    with pytest.raises(InvalidInput, match="more than 50,000 sources"):
        read_listing(json.dumps(["https://a.example/"] * 50_001).encode())
    with pytest.raises(InvalidInput, match="not text in UTF-8"):
        read_listing(b"\xff\xfe\x00")


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
# What a writer might leave without quotes, and a reader take for something else.
tricky = st.sampled_from(
    ["no", "Null", "tRUE", "089", "0x1F", "1_000", "1:30", "-.5", "1.5e5", "1e3", ".inf", "~", "=", "<<", "2024-01-01"]
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
    | text | tricky,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text | tricky, inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
configs = st.dictionaries((text | tricky).filter(lambda key: key != "url"), plain, max_size=4)
names = (text | tricky).map(str.strip)
sources = st.builds(
    ListedSource,
    type=names.filter(bool),
    config=configs,
    name=names,
    tags=st.lists(names.filter(bool), max_size=3).map(tuple),
    is_public=st.booleans(),
    is_active=st.none() | st.booleans(),
)


@given(st.lists(sources, max_size=4), st.sampled_from([write_yaml, write_json]))
def test_whatever_is_written_is_read_as_the_same(given_sources: list[ListedSource], write: Any) -> None:
    document = {"name": "Any", "sources": [as_entry(one) for one in given_sources]}
    read = read_listing(write(document)).entries
    assert all(isinstance(one, ListedSource) for one in read), read
    assert [as_entry(one) for one in read] == document["sources"]  # type: ignore[arg-type]


@given(st.binary(max_size=200) | st.text(alphabet="[]{}:,-?&*!|>'\"%#@ \n\tab01", max_size=200).map(str.encode))
def test_whatever_the_bytes_are_nothing_but_our_own_error_is_raised(body: bytes) -> None:
    with contextlib.suppress(InvalidInput):
        read_listing(b"- https://a.example/\n" + body)
