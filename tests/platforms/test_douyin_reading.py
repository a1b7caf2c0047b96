"""What Douyin might answer, read: by the shapes that are known, and by any other."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platform_visits import addresses, strange_json

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Author, Counts, NoteSort, NoteType, Search
from catchment.fetch.client import Response
from catchment.sources.platforms.douyin import (
    Douyin,
    id_of,
    missing_work,
    note_url,
    read_answer,
    read_cards,
    read_comments,
    read_note,
    search_query,
)

pytestmark = pytest.mark.proves("E-13")

ID = "7301234567890123456"
WORK = {
    "aweme_id": ID,
    "desc": "第一行 #手艺\n第二行",
    "create_time": 1_700_000_000,
    "author": {"uid": "98", "nickname": "白鹭"},
    "statistics": {"digg_count": 12_000, "collect_count": 3, "comment_count": 0, "share_count": "1.2万"},
    "text_extra": [{"hashtag_name": "手艺"}, {"hashtag_name": "手艺"}, {"user_id": "1"}],
    "video": {"play_addr": {"url_list": ["", "https://v3.douyinvod.com/a.mp4", "https://v9.douyinvod.com/a.mp4"]}},
}
STRANGE = strange_json(
    "status_code", "status_msg", "data", "aweme_info", "aweme_mix_info", "mix_items", "aweme_detail", "filter_detail",
    "aweme_id", "desc", "author", "statistics", "video", "play_addr", "url_list", "images", "comments", "cid", "text",
    "user", "has_more", "cursor", "text_extra", "create_time", "search_nil_info", "reply_comment", "image_list",
)  # fmt: skip


def answer(body: bytes, *, status: int = 200) -> Response:
    return Response(status=status, url="https://www.douyin.com/aweme/v1/web/x", headers={}, body=body)


def said(**fields: object) -> Response:
    return answer(json.dumps(fields).encode())


class TestWorks:
    def test_a_film_is_read_whole(self):
        note = read_note(WORK)
        assert (note.ref.note_id, note.url) == (ID, f"https://www.douyin.com/video/{ID}")
        assert (note.title, note.content) == ("第一行 #手艺", "第一行 #手艺\n第二行")
        assert note.author == Author(id="98", name="白鹭")
        assert note.published_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
        assert note.counts == Counts(likes=12_000, collects=3, comments=0, shares=12_000)
        assert (note.type, note.video_url) == (NoteType.VIDEO, "https://v3.douyinvod.com/a.mp4")
        assert note.tags == ("手艺",)

    def test_pictures_are_no_film_though_one_comes_along(self):
        note = read_note({**WORK, "images": [{"url_list": ["https://p3.douyinpic.com/1.jpeg"]}, {"url_list": []}]})
        assert (note.type, note.video_url) == (NoteType.NORMAL, None)
        assert note.images == ("https://p3.douyinpic.com/1.jpeg",)

    def test_results_are_works_by_themselves_and_in_a_series(self):
        mixed = {"aweme_mix_info": {"mix_items": [{**WORK, "aweme_id": "1"}, {**WORK, "aweme_id": "2"}]}}
        cards = read_cards({"data": [{"aweme_info": WORK}, mixed, {"user_list": []}, {"aweme_info": {"desc": "x"}}]})
        assert [card.ref.note_id for card in cards] == [ID, "1"]

    def test_a_comment_brings_its_replies_and_pictures(self):
        reply = {"cid": "2", "text": "嗯", "create_time": 1_700_000_060, "user": {"uid": "2", "nickname": "乙"}}
        comment = {
            **reply,
            "cid": "1",
            "digg_count": 5,
            "reply_comment_total": 9,
            "reply_comment": [{**reply, "reply_comment": [reply]}],
            "image_list": [{"origin_url": {"url_list": ["https://p3.douyinpic.com/c.jpeg"]}}],
        }
        page = read_comments({"comments": [comment], "has_more": 1, "cursor": 20})
        [read] = page.comments
        assert (read.likes, read.reply_count, read.images) == (5, 9, ("https://p3.douyinpic.com/c.jpeg",))
        assert [(one.id, one.replies) for one in read.replies] == [("2", ())]
        assert page.next == "20"
        assert read_comments({"comments": None, "has_more": 0, "cursor": 20}).next is None


class TestNames:
    @pytest.mark.parametrize(
        "given",
        [
            ID,
            f"https://www.douyin.com/video/{ID}",
            f"https://www.douyin.com/note/{ID}?previous_page=app_code_link",
            f"https://www.iesdouyin.com/share/video/{ID}/",
            f"douyin.com/video/{ID}",
        ],
    )
    def test_ids_and_addresses_name_a_work(self, given):
        ref = Douyin().ref_of(given)
        assert ref is not None
        assert ref.note_id == ID
        assert note_url(ref.note_id) == f"https://www.douyin.com/video/{ID}"

    @pytest.mark.parametrize("given", ["", "123", "https://v.douyin.com/abc/", f"https://example.org/video/{ID}"])
    def test_nothing_else_does(self, given):
        assert Douyin().ref_of(given) is None

    @given(st.text() | addresses(f"https://www.iesdouyin.com/share/video/{ID}/", f"douyin.com/note/{ID}?a=b"))
    def test_whatever_is_given_is_a_number_or_nothing(self, given):
        found = id_of(given)
        assert found is None or (found.isascii() and found.isdigit())


class TestAsking:
    def test_pages_are_fifteen_long(self):
        assert search_query(Search(keyword="咖啡", page=3))["offset"] == "30"

    @pytest.mark.parametrize(("sort", "number"), [(NoteSort.POPULAR, "1"), (NoteSort.NEWEST, "2")])
    def test_an_order_is_asked_for_as_a_filter(self, sort, number):
        asked = search_query(Search(keyword="咖啡", sort=sort))
        assert json.loads(asked["filter_selected"])["sort_type"] == number
        assert asked["is_filter_search"] == "1"
        assert "filter_selected" not in search_query(Search(keyword="咖啡"))


@pytest.mark.proves("E-09")
class TestRefusals:
    @pytest.mark.parametrize(
        ("response", "code", "cause"),
        [
            (answer(b""), Code.ACCOUNT_BANNED, "blocked"),
            (answer(b" \n"), Code.ACCOUNT_BANNED, "blocked"),
            (answer(b"blocked"), Code.ACCOUNT_BANNED, "blocked"),
            (said(status_code=9, status_msg="账号已被封禁，请重新登录"), Code.ACCOUNT_BANNED, "banned"),
            (said(status_code=9, status_msg="该作者账号已被封禁"), Code.NOT_FOUND, "gone"),
            (said(status_code=9, status_msg="作品被封面遮挡"), Code.PLATFORM_ERROR, "refused"),
            (said(status_code=8, status_msg="用户未登录"), Code.COOKIE_INVALID, "login_expired"),
            (said(status_code=2483), Code.COOKIE_INVALID, "login_expired"),
            (said(status_code=1, status_msg="请登录"), Code.COOKIE_INVALID, "login_expired"),
            (said(status_code=2053, status_msg="作品不存在"), Code.NOT_FOUND, "gone"),
            (answer(b"", status=404), Code.NOT_FOUND, "gone"),
            (answer(b"", status=403), Code.RATE_LIMITED, "access"),
            (answer(b"", status=429), Code.RATE_LIMITED, "access"),
            (said(status_code=7, status_msg="操作太频繁"), Code.RATE_LIMITED, "access"),
            (
                said(status_code=0, data=[], search_nil_info={"search_nil_type": "verify_check"}),
                Code.RATE_LIMITED,
                "captcha",
            ),
            (answer("<html><title>验证码中间页</title></html>".encode()), Code.RATE_LIMITED, "captcha"),
            (said(status_code=5, status_msg="参数不合法"), Code.PLATFORM_ERROR, "refused"),
            (said(status_code=5), Code.PLATFORM_ERROR, "refused"),
            (answer(b"", status=500), Code.PLATFORM_ERROR, "status"),
            (answer(b"<html>"), Code.PARSE_ERROR, "unreadable"),
            (answer(b'{"status_code": 0, "da'), Code.PARSE_ERROR, "unreadable"),
            (said(data=[]), Code.PARSE_ERROR, "shape"),
        ],
    )
    def test_each_has_its_code_and_its_cause(self, response, code, cause):
        with pytest.raises(CrawlError) as caught:
            read_answer(response, cookie="c")
        assert (caught.value.code, caught.value.details["cause"]) == (code, cause)

    @pytest.mark.parametrize("status", [403, 429, 503])
    def test_whoever_says_when_to_come_back_is_heard(self, status):
        with pytest.raises(CrawlError) as caught:
            read_answer(replace(answer(b"", status=status), retry_after=90.0), cookie="c")
        assert caught.value.retry_after == 90.0

    def test_what_it_says_does_not_repeat_the_cookie(self):
        with pytest.raises(CrawlError) as caught:
            read_answer(said(status_code=5, status_msg="bad the-whole-cookie"), cookie="the-whole-cookie")
        assert "the-whole-cookie" not in str(caught.value)

    def test_a_missing_work_is_gone_where_a_reason_is_given_and_a_riddle_otherwise(self):
        assert missing_work({"filter_detail": {"filter_reason": "core_dep"}}).code is Code.NOT_FOUND
        assert missing_work({}).code is Code.PARSE_ERROR

    def test_ids_can_be_stored_whatever_they_hold(self):
        odd = "7\0\ud800"
        note = read_note({"aweme_id": "1", "author": {"uid": odd}})
        [comment] = read_comments({"comments": [{"cid": odd, "user": {"uid": odd}}]}).comments
        assert note.author.id == comment.id == comment.author.id == "7"

    @given(STRANGE)
    def test_any_json_is_read_or_refused(self, value):
        with suppress(CrawlError):
            read_answer(answer(json.dumps(value).encode()), cookie="")
        if isinstance(value, dict):
            read_cards(value)
            read_comments(value)
            with suppress(CrawlError):
                read_note(value)

    @given(st.binary(), st.integers(200, 599))
    def test_any_body_is_read_or_refused(self, body, status):
        with suppress(CrawlError):
            read_answer(answer(body, status=status), cookie="")
