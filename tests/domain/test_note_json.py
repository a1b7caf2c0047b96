"""Notes go out as JSON and come back as they were; what is not such JSON is refused by the name of the field."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catchment.domain.note import (
    Author,
    Comment,
    Counts,
    Note,
    NoteCard,
    NoteRef,
    NoteType,
    Platform,
    SearchPage,
    cards_without_authors,
    hashed_id,
    masked_name,
    without_authors,
)
from catchment.domain.note_json import card_from_json, card_to_json, note_from_json, note_to_json
from catchment.errors import InvalidInput

_text = st.text(max_size=12)
_some = st.text(min_size=1, max_size=12)
_count = st.none() | st.integers(0, 2**63 - 1)
_moment = st.none() | st.datetimes(min_value=datetime(1990, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
_texts = st.lists(_text, max_size=3).map(tuple)
_author = st.builds(Author, id=_text, name=_text)
_counts = st.builds(Counts, likes=_count, collects=_count, comments=_count, shares=_count)
_ref = st.builds(
    NoteRef,
    platform=st.sampled_from(Platform),
    note_id=_some,
    token=st.none() | _some,
    token_source=st.none() | _some,
)
_url = st.from_regex(r"https?://[a-z]{1,8}\.example/[a-z0-9]{0,9}", fullmatch=True)
_type = st.sampled_from(NoteType)


def _comments(replies: st.SearchStrategy[tuple[Comment, ...]]) -> st.SearchStrategy[tuple[Comment, ...]]:
    comment = st.builds(
        Comment,
        id=_text,
        content=_text,
        author=_author,
        created_at=_moment,
        likes=_count,
        reply_count=st.integers(0, 999),
        replies=replies,
        images=_texts,
    )
    return st.lists(comment, max_size=2).map(tuple)


cards = st.builds(
    NoteCard, ref=_ref, url=_url, title=_text, type=_type, author=_author, counts=_counts, published_at=_moment
)
notes = st.builds(
    Note,
    ref=_ref,
    url=_url,
    title=_text,
    content=_text,
    type=_type,
    author=_author,
    published_at=_moment,
    updated_at=_moment,
    counts=_counts,
    images=_texts,
    video_url=st.none() | _url,
    tags=_texts,
    comments=_comments(_comments(st.just(()))),
)


@given(notes)
def test_a_note_comes_back_as_it_went_out(note: Note):
    assert note_from_json(json.loads(json.dumps(note_to_json(note)))) == note


@given(cards)
def test_a_card_comes_back_as_it_went_out(card: NoteCard):
    assert card_from_json(json.loads(json.dumps(card_to_json(card)))) == card


_LEAST = {"note_id": "n1", "platform": "wb", "note_url": "https://weibo.example/n1"}


def test_a_note_needs_no_more_than_which_it_is_and_where():
    note = note_from_json(_LEAST)
    assert (note.ref, note.url) == (NoteRef(platform=Platform.WEIBO, note_id="n1"), _LEAST["note_url"])
    assert (note.title, note.counts, note.comments) == ("", Counts(), ())


def test_a_moment_without_a_zone_is_utc():
    note = note_from_json({**_LEAST, "published_at": "2026-03-01T12:00:00"})
    assert note.published_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


def _nested(depth: int) -> list[Any]:
    return [{"replies": _nested(depth - 1)}] if depth else []


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("note_id", "", "note.note_id"),
        ("note_id", "x" * 129, "note.note_id"),
        ("note_id", 7, "note.note_id"),
        ("platform", "ks", "note.platform"),
        ("platform", ["wb"], "note.platform"),
        ("platform", None, "note.platform"),
        ("note_url", "javascript:alert(1)", "note.note_url"),
        ("note_url", "https://", "note.note_url"),
        ("note_url", "https://[", "note.note_url"),
        ("note_url", "https://x.example/" + "y" * 2000, "note.note_url"),
        ("title", {"is": "none"}, "note.title"),
        ("note_type", "poem", "note.note_type"),
        ("likes", -1, "note.likes"),
        ("likes", "1.2万", "note.likes"),
        ("likes", True, "note.likes"),
        ("likes", 2**63, "note.likes"),
        ("published_at", "yesterday", "note.published_at"),
        ("published_at", "0001-01-01T00:00:00+23:00", "note.published_at"),
        ("images", "https://x.example/1.jpg", "note.images"),
        ("tags", [1], "note.tags"),
        ("comment_list", {}, "note.comment_list"),
        ("comment_list", ["first!"], "note.comment_list[0]"),
        ("comment_list", [{"likes": 1}, {"likes": "2"}], "note.comment_list[1].likes"),
        ("comment_list", [{"replies": [{"content": 5}]}], "note.comment_list[0].replies[0].content"),
    ],
)
def test_what_is_wrong_is_named_by_its_field(field: str, value: object, named: str):
    with pytest.raises(InvalidInput) as caught:
        note_from_json({**_LEAST, field: value})
    assert caught.value.field == named


@pytest.mark.parametrize("given_instead", [None, [], "note", 5])
def test_what_is_no_object_is_no_note(given_instead: object):
    with pytest.raises(InvalidInput):
        note_from_json(given_instead)
    with pytest.raises(InvalidInput):
        card_from_json(given_instead)


def test_replies_without_end_are_refused_before_they_are_followed():
    with pytest.raises(InvalidInput, match="deep"):
        note_from_json({**_LEAST, "comment_list": _nested(40)})


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


@given(st.dictionaries(st.sampled_from([*note_to_json(note_from_json(_LEAST)), "xsec_token"]), _json))
def test_whatever_comes_in_is_a_note_or_invalid_input(given_instead: dict[str, object]):
    with suppress(InvalidInput):
        assert isinstance(note_from_json({**_LEAST, **given_instead}), Note)


@pytest.mark.parametrize(
    ("name", "masked"), [("", ""), ("a", "*"), ("ab", "a*"), ("abc", "a***c"), ("小红薯的日常", "小***常")]
)
def test_a_name_keeps_its_ends_only(name: str, masked: str):
    assert masked_name(name) == masked


def test_an_id_is_hashed_and_that_of_nobody_stays_empty():
    assert hashed_id("5a5b") == "9d96779f2b443c26"
    assert hashed_id("") == ""


@given(notes, cards)
def test_nobody_is_left_in_what_was_made_unrecognisable(note: Note, card: NoteCard):
    def people(comments: tuple[Comment, ...]) -> list[Author]:
        return [one for comment in comments for one in (comment.author, *people(comment.replies))]

    hidden = without_authors(note)
    shown = [hidden.author, *people(hidden.comments)]
    page = cards_without_authors(SearchPage(cards=(card,), has_more=False))
    for author in (*shown, page.cards[0].author):
        assert author.id == "" or len(author.id) == 16
        assert author.name == "" or "*" in author.name
    for before, after in zip([note.author, *people(note.comments)], shown, strict=True):
        assert after == Author(id=hashed_id(before.id), name=masked_name(before.name))
