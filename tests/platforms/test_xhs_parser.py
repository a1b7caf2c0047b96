"""What Xiaohongshu once answered, and whatever else it might: read without surprises."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Author, Counts, NoteRef, NoteType, Platform
from catchment.sources.platforms.xhs_parser import (
    created_at,
    read_comments,
    read_feed,
    read_note,
    read_page,
    read_search,
    url_of,
)
from service_visits import capture

pytestmark = pytest.mark.proves("E-13")
address = partial(url_of, site_url="https://www.xiaohongshu.com")
REF = NoteRef(platform=Platform.XHS, note_id="65039504000000001303d03a", token="AB=", token_source="pc_search")


def captured(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(capture("xhs", name))["data"]
    return data


def page_with(state: str) -> str:
    return f"<html><script>window.__INITIAL_STATE__={state}</script></html>"


def test_a_captured_search_result_is_read_whole():
    page = read_search(captured("web_search_notes_2026-04_trimmed.json"), address)
    assert page.has_more
    (card,) = page.cards
    assert card.ref.note_id == "69c4b106000000002003a15b"
    assert card.ref.token == "ABYWEisRlB3NUzLrxnV1cMVfwQywNtYQ-9RW2GMJ-uNI4="
    assert card.ref.token_source == "pc_search"
    assert card.url == (
        "https://www.xiaohongshu.com/explore/69c4b106000000002003a15b"
        "?xsec_token=ABYWEisRlB3NUzLrxnV1cMVfwQywNtYQ-9RW2GMJ-uNI4=&xsec_source=pc_search"
    )
    assert card.title == "春天要多吃的十道时令家常菜‼️"
    assert card.type is NoteType.VIDEO
    assert card.author == Author(id="625520e80000000010008699", name="厨神妈妈的美食日记")
    assert card.counts == Counts(likes=1049, collects=811, comments=7, shares=493)
    assert card.published_at == datetime(2026, 3, 26, 4, 7, 34, tzinfo=UTC)


def test_a_captured_note_is_read_whole():
    note = read_feed(captured("web_feed_note_detail_2023.json"), REF, address)
    assert note is not None
    assert note.ref == REF
    assert note.title == "碎片化时间记忆更深刻"
    assert note.content == "xxxx"
    assert note.type is NoteType.NORMAL
    assert note.author == Author(id="5a3caffc11be101baff9ac7b", name="远远")
    assert note.published_at == datetime(2023, 9, 14, 23, 19, 32, tzinfo=UTC)
    assert note.updated_at == datetime(2023, 9, 14, 23, 19, 33, tzinfo=UTC)
    assert note.counts == Counts(likes=4, collects=1, comments=0, shares=0)
    (image,) = note.images
    assert image.startswith("https://sns-webpic-qc.xhscdn.com/202309150840/760d25c833b29233591d6c7ccf360340/1040g008")
    assert image.endswith("!nd_whgt34_webp_wm_1")
    assert note.video_url is None
    assert note.tags == ("记忆碎片", "碎片时间", "日语N1")
    assert note.comments == ()


def test_captured_comments_are_read_whole():
    page = read_comments(captured("web_comment_page_2026-04_trimmed.json"))
    assert page.next is None
    first, second = page.comments
    assert (first.id, first.content) == ("69dc4a8d00000000350120e3", "很赞👍👍👍👍")
    assert first.author == Author(id="5db6fbcc0000000001000503", name="张阿姨美食记")
    assert first.created_at == datetime(2026, 4, 13, 1, 44, 46, tzinfo=UTC)
    assert (first.likes, first.reply_count, first.replies, first.images) == (1, 0, (), ())
    assert second.content.startswith("芦笋炒口蘑")
    assert second.author.name == "平平安安"


def test_another_note_than_the_one_asked_for_is_no_answer():
    data = {"items": [{"id": "a" * 24, "note_card": {"note_id": "a" * 24, "title": "another"}}]}
    assert read_feed(data, REF, address) is None


def test_a_bad_entry_does_not_lose_the_others():
    good = {"id": REF.note_id, "note_card": {"display_title": "good"}}
    entries = [None, 7, {"id": "short", "note_card": {"title": "x"}}, {"id": "b" * 24}, good]
    page = read_search({"items": entries, "has_more": True}, address)
    assert [card.title for card in page.cards] == ["good"]
    comments = read_comments({"comments": ["?", {"content": "nameless"}, {"id": "1", "content": "good"}]})
    assert [comment.content for comment in comments.comments] == ["good"]


@pytest.mark.parametrize("items", [[None], [{"id": "odd"}], {"0": {}}, "text"])
def test_a_list_of_which_nothing_can_be_read_is_an_error(items):
    with pytest.raises(CrawlError) as caught:
        read_search({"items": items}, address)
    assert caught.value.code is Code.PARSE_ERROR


@pytest.mark.parametrize("data", [{}, {"items": None}, {"items": []}, {"items": [{"model_type": "hot_query"}]}])
def test_nothing_found_is_no_error(data):
    assert read_search(data, address).cards == ()


def test_suggestions_among_the_results_are_left_out():
    note = {"id": REF.note_id, "model_type": "note", "note_card": {"type": "normal"}}
    items = [{"id": "b" * 24, "model_type": kind, "note_card": {"type": "x"}} for kind in ("rec_query", "hot_query")]
    assert [card.ref.note_id for card in read_search({"items": [*items, note]}, address).cards] == [REF.note_id]


def test_what_looks_like_a_note_and_is_called_something_else_is_none():
    notes = [{"id": REF.note_id, "model_type": kind, "note_card": {"type": "normal"}} for kind in ("note", None)]
    advertisement = {**notes[0], "id": "b" * 24, "model_type": "ads"}
    for note in notes:
        found = read_search({"items": [advertisement, note]}, address).cards
        assert [card.ref.note_id for card in found] == [REF.note_id]
    with pytest.raises(CrawlError, match="none of 1 entries"):
        read_search({"items": [advertisement]}, address)


@pytest.mark.parametrize(
    ("shown", "count"),
    [
        ("1.2万", 12_000),
        ("3,456", 3456),
        ("10+", 10),
        ("", None),
        ("赞", None),
        (7, 7),
        (None, None),
        ("9" * 400, None),
    ],
)
def test_counts_are_read_as_people_are_shown_them(shown, count):
    note = read_note({"interact_info": {"liked_count": shown}}, REF, address)
    assert note.counts.likes == count


@pytest.mark.parametrize(
    ("picture", "read"),
    [
        ({"url_default": "http://i.example/a", "url": "http://i.example/b"}, ("https://i.example/a",)),
        ({"url_default": "", "url": "https://i.example/b"}, ("https://i.example/b",)),
        ({"info_list": [{"url": "http://i.example/prv"}, {"url": "http://i.example/dft"}]}, ("https://i.example/dft",)),
        ({"url": "javascript:alert(1)"}, ()),
        ({}, ()),
    ],
)
def test_a_picture_is_found_however_it_is_listed(picture, read):
    assert read_note({"image_list": [picture, None]}, REF, address).images == read


@pytest.mark.parametrize(
    ("video", "url"),
    [
        ({"consumer": {"origin_video_key": "pre_post/1"}}, "https://sns-video-bd.xhscdn.com/pre_post/1"),
        (
            {
                "consumer": {"origin_video_key": ""},
                "media": {"stream": {"h264": [{}, {"master_url": "http://v.example/1.mp4"}]}},
            },
            "https://v.example/1.mp4",
        ),
        ({"media": {"stream": {"h265": []}}}, None),
        ("none", None),
    ],
)
def test_a_video_is_found_where_it_is(video, url):
    assert read_note({"type": "video", "video": video}, REF, address).video_url == url


def test_only_topics_are_tags_and_each_once():
    tags = [{"name": "茶", "type": "topic"}, {"name": "茶", "type": "topic"}, {"name": "山雀", "type": "user"}, 3]
    assert read_note({"tag_list": tags}, REF, address).tags == ("茶",)


def test_replies_and_pictures_belong_to_their_comment():
    reply = {
        "id": "2",
        "content": "yes",
        "sub_comments": [{"id": "3"}],
        "pictures": [{"url_default": "http://i.example/2"}],
    }
    entry = {"id": "1", "content": "so?", "sub_comment_count": "12", "sub_comments": [reply, None]}
    (comment,) = read_comments({"comments": [entry]}).comments
    assert comment.reply_count == 12
    assert [(one.content, one.images, one.replies) for one in comment.replies] == [
        ("yes", ("https://i.example/2",), ())
    ]


@pytest.mark.parametrize(
    ("more", "cursor", "comments", "following"),
    [
        (True, "abc", [{"id": "1"}], "abc"),
        (False, "abc", [{"id": "1"}], None),
        (True, "", [{"id": "1"}], None),
        (True, "abc", [], None),
        (True, "a/b c", [{"id": "1"}], None),
    ],
)
def test_there_is_a_next_page_only_when_something_leads_there(more, cursor, comments, following):
    assert read_comments({"has_more": more, "cursor": cursor, "comments": comments}).next == following


def test_an_id_says_when_it_was_made():
    assert created_at("69c4b106000000002003a15b") == datetime(2026, 3, 26, 4, 7, 34, tzinfo=UTC)
    assert created_at("000000000000000000000000") is None
    assert created_at("not an id") is None
    assert read_note({"title": "no time"}, REF, address).published_at == datetime(2023, 9, 14, 23, 19, 32, tzinfo=UTC)


def test_a_page_is_read_though_it_holds_what_is_no_json():
    note = {
        "noteId": REF.note_id,
        "title": 'undefined behaviour, "quoted" \\',
        "desc": "a: undefined",
        "lastUpdateTime": 1694733573000,
        "user": {"userId": "u", "nickname": "n"},
        "interactInfo": {"likedCount": "1.2万", "shareCount": "3"},
        "imageList": [{"urlDefault": "http://i.example/a"}],
        "video": {"media": {"stream": {"h264": [{"masterUrl": "http://v.example/1.mp4"}]}}},
    }
    state = json.dumps({"note": {"noteDetailMap": {REF.note_id: {"note": note}}}}, ensure_ascii=False)
    read = read_page(page_with(f'{{"a":undefined,{state[1:]};'), REF, address)
    assert (read.title, read.content) == (note["title"], note["desc"])
    assert read.updated_at == datetime(2023, 9, 14, 23, 19, 33, tzinfo=UTC)
    assert read.author == Author(id="u", name="n")
    assert (read.counts.likes, read.counts.shares) == (12_000, 3)
    assert (read.images, read.video_url) == (("https://i.example/a",), "https://v.example/1.mp4")


@pytest.mark.timeout(20)
def test_a_page_that_ends_in_the_middle_of_a_text_is_soon_done_with():
    with pytest.raises(CrawlError) as caught:
        read_page(page_with('{"a":"' + '\\"' * 500_000), REF, address)
    assert caught.value.code is Code.PARSE_ERROR


@pytest.mark.timeout(20)
def test_a_page_that_begins_its_state_again_and_again_is_soon_done_with():
    with pytest.raises(CrawlError):
        read_page("window.__INITIAL_STATE__={" * 40_000, REF, address)


NAMES = [
    "id",
    "note_card",
    "items",
    "comments",
    "sub_comments",
    "pictures",
    "image_list",
    "info_list",
    "url",
    "url_default",
    "user",
    "user_info",
    "user_id",
    "nickname",
    "interact_info",
    "liked_count",
    "share_count",
    "video",
    "consumer",
    "origin_video_key",
    "media",
    "stream",
    "h264",
    "master_url",
    "time",
    "create_time",
    "tag_list",
    "name",
    "type",
    "title",
    "desc",
    "cursor",
    "has_more",
    "model_type",
    "xsec_token",
    "sub_comment_count",
    "note",
    "noteDetailMap",
]
KEYS = st.sampled_from([*NAMES, REF.note_id])
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["note", "topic", "video", "1.2万", "9" * 400, "http://[", "\ud800", REF.note_id, 10**18, -1])
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=15
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=8)


@given(data=OBJECTS)
@example(data={"items": [{"id": REF.note_id, "note_card": {"interact_info": {"liked_count": "9" * 400}}}]})
@example(data={"comments": [{"id": 1, "create_time": 10**18, "like_count": float("inf")}]})
def test_whatever_comes_is_read_or_refused(data):
    for read in (
        lambda: read_search(data, address),
        lambda: read_feed(data, REF, address),
        lambda: read_note(data, REF, address),
        lambda: read_comments(data),
        lambda: read_page(page_with(json.dumps(data)), REF, address),
    ):
        with suppress(CrawlError):
            read()


@given(
    html=st.text(max_size=200) | st.text('window.__INITIAL_STATE__={}"\\undefined</script>', max_size=80).map(page_with)
)
def test_any_page_is_read_or_refused(html):
    with pytest.raises(CrawlError):
        read_page(html, REF, address)


@given(data=OBJECTS)
def test_all_that_is_read_can_be_stored(data):
    try:
        note = read_note(data, REF, address)
    except CrawlError:
        return
    for text in (note.title, note.content, note.author.id, note.author.name, *note.images, *note.tags):
        assert b"\0" not in text.encode()
