"""What Weibo answered once, and what it might answer, read."""

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
from catchment.domain.note import Counts, NoteType
from catchment.fetch.client import Response
from catchment.sources.platforms.weibo import (
    Weibo,
    id_of,
    lines_of,
    note_url,
    page_refusal,
    read_cards,
    read_comments,
    read_envelope,
    read_note,
    read_page,
    read_state,
)
from service_visits import capture

pytestmark = pytest.mark.proves("E-13")

ADDRESSES = addresses("https://weibo.com/1234567/M1VT3jzNX", "m.weibo.cn/detail/4804608494665869?a=b")
STRANGE = strange_json(
    "ok", "data", "cards", "card_group", "card_type", "mblog", "id", "text", "user", "pics", "page_info", "urls",
    "created_at", "retweeted_status", "page_pic", "page_title", "href", "status", "msg", "errno", "url", "max_id", "comments", "longText", "pic",
)  # fmt: skip


ELSEWHERE = "https%3A%2F%2Fexample.org%2Fa%3Fb%3D1%26c%3D2"
ICON = "<span class='url-icon'><img src='x'></span>"


def answer(body: bytes, *, status: int = 200, url: str = "https://m.weibo.cn/api/x") -> Response:
    return Response(status=status, url=url, headers={}, body=body)


def envelope(**fields: object) -> Response:
    return answer(json.dumps(fields).encode())


def refused(response: Response) -> CrawlError:
    with pytest.raises(CrawlError) as caught:
        read_envelope(response, cookie="the-whole-cookie")
    return caught.value


class TestTheCapturedTimeline:
    def timeline(self) -> dict:
        return json.loads(capture("weibo", "getIndex_user_timeline_2022.json"))

    def test_its_posts_are_cards_with_all_that_one_chooses_by(self):
        [card] = read_cards(self.timeline())
        assert card.ref.note_id == "4804608494665869"
        assert card.url == "https://m.weibo.cn/detail/4804608494665869"
        assert card.title == "#过刚刚好的生活，从小小的我开始#"
        assert (card.author.id, card.author.name) == ("1223178222", "胡歌")
        assert card.counts == Counts(likes=116398, comments=17356, shares=28544)
        assert card.published_at == datetime(2022, 8, 20, 10, 29, 52, tzinfo=UTC)

    def test_a_repost_brings_the_words_the_film_and_the_topics_of_what_it_passes_on(self):
        [card] = self.timeline()["cards"]
        note = read_note(card["mblog"])
        own, passed_on = note.content.split("\n\n", 1)
        assert own == "#过刚刚好的生活，从小小的我开始#"
        assert passed_on.startswith("> 2022年 #零废弃日#，@胡歌 与我们分享他在日常生活中看到的零废弃行动")
        assert all(line.startswith(">") for line in passed_on.splitlines()), "it is told from the words of who reposts"
        assert "万科公益基金会" not in passed_on.splitlines()[0], "whether names are shown is not decided here"
        assert passed_on.endswith("微博视频 https://video.weibo.com/show?fid=1034:4804256763674671")
        assert "<" not in note.content
        assert note.tags == ("过刚刚好的生活，从小小的我开始", "零废弃日", "胡歌")
        assert note.video_url.startswith("https://f.video.weibocdn.com/o0/LXYpbqKtlx07YxDoYhm801041200P18N0E010.mp4")

    def test_a_post_that_was_edited_says_when_and_what_shows_a_film_is_one(self):
        original = read_note(self.timeline()["cards"][0]["mblog"]["retweeted_status"])
        assert original.updated_at == datetime(2022, 8, 19, 12, 1, 30, tzinfo=UTC)
        assert original.type is NoteType.VIDEO
        assert "\n\n#胡歌#" in original.content, "lines are kept"

    def test_the_short_names_in_it_stand_for_its_ids(self):
        post = self.timeline()["cards"][0]["mblog"]
        for one in (post, post["retweeted_status"]):
            assert id_of(f"https://weibo.com/{one['user']['id']}/{one['bid']}") == one["id"]


def test_an_advertisement_between_the_posts_is_none_of_them():
    posts = [{"id": "1", "promotion": {"type": "ad"}}, {"id": "2", "promotion": None}, {"id": "3"}]
    cards = [{"card_type": 9, "mblog": post} for post in posts]
    assert [card.ref.note_id for card in read_cards({"cards": cards})] == ["2", "3"]


class TestTheCapturedComment:
    def test_it_is_read_with_its_likes_and_where_to_go_on(self):
        page = read_comments(json.loads(capture("weibo", "ajax_buildComments_item_2022.json")))
        [comment] = page.comments
        assert (comment.id, comment.content, comment.likes) == ("4799762106156993", "早上好", 0)
        assert comment.created_at == datetime(2022, 8, 7, 1, 32, 4, tzinfo=UTC)
        assert page.next == ("82511576961854", "0")


class TestPosts:
    def test_the_large_picture_is_taken_however_pictures_are_given(self):
        picture = {"url": "https://wx1.sinaimg.cn/small.jpg", "large": {"url": "//wx1.sinaimg.cn/large.jpg"}}
        for pics in ([picture], {"0": picture}):
            assert read_note({"id": "4804608494665869", "pics": pics}).images == ("https://wx1.sinaimg.cn/large.jpg",)

    def test_the_whole_of_a_long_text_is_taken_where_it_is_given(self):
        note = read_note({"id": "1", "text": "short...全文", "longText": {"longTextContent": "the whole<br/>of it"}})
        assert note.content == "the whole\nof it"

    def test_counts_are_read_as_people_read_them(self):
        note = read_note({"id": "1", "attitudes_count": "1.2万", "comments_count": "100万+", "reposts_count": "3,456"})
        assert note.counts == Counts(likes=12_000, comments=1_000_000, shares=3_456)

    @pytest.mark.parametrize(
        ("html", "text"),
        [
            ("a<br />b<br>\nc", "a\nb\n\nc"),
            ("<span class='url-icon'><img alt=[哈哈] src='x'></span>!", "[哈哈]!"),
            ('<img src="x" alt="[doge]" style="width:1em">', "[doge]"),
            ("<img src='x'>no words", "no words"),
            ("1 &lt; 2 &amp; 3", "1 < 2 & 3"),
            ("<script>alert(1)</script>hi", "alert(1)hi"),
        ],
    )
    def test_html_becomes_text_with_its_lines_and_emoticons(self, html, text):
        assert lines_of(html) == text

    @pytest.mark.parametrize(
        ("html", "text"),
        [
            (
                f'看 <a href="https://weibo.cn/sinaurl?luicode=1&amp;u={ELSEWHERE}">{ICON}<span>网页链接</span></a>吧',
                "看 网页链接 https://example.org/a?b=1&c=2 吧",
            ),
            ("<a href='https://weibo.com/sinaurl?u=javascript%3Aalert(1)'>网页链接</a>", "网页链接"),
            ("<a href=https://example.org/>https://example.org/</a>", "https://example.org/"),
            ('<a href="/status/4804608494665869">全文</a>', "全文"),
            ('<a href="https://m.weibo.cn/search?q=1"><span>#茶#</span></a>', "#茶#"),
            ("<a href='https://m.weibo.cn/n/x'>@someone</a>", "@someone"),
            ("<a>nowhere</a>", "nowhere"),
        ],
    )
    def test_a_link_keeps_where_it_leads_unless_it_is_a_topic_or_a_person(self, html, text):
        assert lines_of(html) == text

    def test_a_super_topic_and_a_place_are_told_by_their_names(self):
        of_topic = f"<a href='https://m.weibo.cn/p/index?containerid=100808a1&amp;lfid=1'>{ICON}<span>茶超话</span></a>"
        of_place = f"<a href='http://m.weibo.cn/p/index?containerid=100101B2'>{ICON}<span>北京·胡同</span></a>"
        note = read_note({"id": "1", "text": f"{of_topic} 春茶到了 {of_place}"})
        assert note.title == note.content == "茶超话 春茶到了 北京·胡同"

    def test_the_address_behind_a_link_has_no_topics(self):
        html = "<a href='https://example.org/#part'>网页链接</a> #茶# <a href='https://example.org/#end'>网页链接</a>"
        assert read_note({"id": "1", "text": html}).tags == ("茶",)

    @pytest.mark.parametrize("picture", [{"url": "https://wx1.sinaimg.cn/p.jpg"}, "https://wx1.sinaimg.cn/p.jpg"])
    def test_the_picture_of_the_page_it_shows_stands_in_where_there_is_none(self, picture):
        post = {"id": "1", "page_info": {"page_pic": picture}}
        assert read_note(post).images == ("https://wx1.sinaimg.cn/p.jpg",)
        assert read_note({"id": "2", "retweeted_status": post}).images == ("https://wx1.sinaimg.cn/p.jpg",)
        assert read_note({**post, "pics": [{"url": "https://wx1.sinaimg.cn/own.jpg"}]}).images == (
            "https://wx1.sinaimg.cn/own.jpg",
        )

    @pytest.mark.parametrize("kind", ["search_topic", "topic"])
    def test_the_picture_of_a_topic_is_none_of_the_post(self, kind):
        page = {"type": kind, "page_title": "#茶#", "page_pic": {"url": "https://wx1.sinaimg.cn/topic.jpg"}}
        assert read_note({"id": "1", "text": "words", "page_info": page}).images == ()

    def test_a_post_without_words_has_those_of_the_page_it_shows(self):
        note = read_note({"id": "1", "text": "", "page_info": {"page_title": "On <b>tea</b>"}})
        assert (note.title, note.content) == ("On tea", "On tea")
        assert read_note({"id": "1", "text": "mine", "page_info": {"page_title": "x"}}).content == "mine"

    def test_a_repost_without_words_of_its_own_is_called_by_what_it_passes_on(self):
        note = read_note({"id": "1", "text": "", "retweeted_status": {"text": "first<br>second"}})
        assert (note.title, note.content) == ("first", "> first\n> second")

    def test_links_made_to_be_slow_to_read_are_not(self):
        assert lines_of("<a href=x>" * 10_000) == ""

    def test_text_made_to_be_slow_to_read_is_not(self):
        assert lines_of("<img alt=" * 40_000 + "#" * 10_000) is not None

    def test_a_post_without_an_id_is_none(self):
        with pytest.raises(CrawlError) as caught:
            read_note({"text": "hi"})
        assert caught.value.code is Code.PARSE_ERROR


class TestNames:
    @pytest.mark.parametrize(
        "given",
        [
            "4804608494665869",
            " 4804608494665869 ",
            "https://m.weibo.cn/detail/4804608494665869",
            "https://m.weibo.cn/status/4804608494665869?sourceType=weixin",
            "https://m.weibo.cn/status/M1VT3jzNX?mblogid=M1VT3jzNX&luicode=10000011",
            "https://weibo.com/1223178222/M1VT3jzNX",
            "https://www.weibo.com/1223178222/M1VT3jzNX#comment",
            "weibo.com/detail/4804608494665869/",
        ],
    )
    def test_ids_and_addresses_name_a_post(self, given):
        ref = Weibo().ref_of(given)
        assert ref is not None
        assert ref.note_id == "4804608494665869"
        assert note_url(ref.note_id) == "https://m.weibo.cn/detail/4804608494665869"

    @pytest.mark.parametrize(
        "given",
        [
            "", "hello", "12", "https://weibo.com/u/1223178222", "https://example.org/detail/4804608494665869",
            "https://m.weibo.cn.example.org/detail/4804608494665869", "https://weibo.com/1223178222/000000a../x",
            "٤٨٠٤٦٠٨٤٩٤٦٦٥٨٦٩", "https://weibo.com/1234567/ſ12345678", "https://m.weibo.cn/detail/\u212a12345678",
        ],
    )  # fmt: skip
    def test_nothing_else_does(self, given):
        assert Weibo().ref_of(given) is None

    @given(st.text() | ADDRESSES)
    def test_whatever_is_given_is_a_number_or_nothing(self, given):
        found = id_of(given)
        assert found is None or (found.isascii() and found.isdigit())


@pytest.mark.proves("E-09")
class TestRefusals:
    @pytest.mark.parametrize(
        ("response", "code", "cause"),
        [
            (answer(b"<html>", status=432), Code.COOKIE_INVALID, "stale"),
            (answer(b"<html>please wait</html>"), Code.COOKIE_INVALID, "stale"),
            (envelope(ok=-100, url="https://passport.weibo.com/sso/signin"), Code.COOKIE_INVALID, "login_expired"),
            (envelope(ok=0, url="https://passport.weibo.cn/signin/login"), Code.COOKIE_INVALID, "login_expired"),
            (envelope(ok=0, msg="请先登录"), Code.COOKIE_INVALID, "login_expired"),
            (answer(b"<html>", url="https://passport.weibo.com/visitor"), Code.COOKIE_INVALID, "login_expired"),
            (envelope(ok=0, errno="20101", msg=""), Code.NOT_FOUND, "gone"),
            (envelope(ok=0, errno="20112", msg=""), Code.NOT_FOUND, "gone"),
            (envelope(ok=0, msg="该微博不存在"), Code.NOT_FOUND, "gone"),
            (envelope(ok=0, msg="由于作者隐私设置，你没有权限查看此微博"), Code.NOT_FOUND, "gone"),
            (answer(b"", status=404), Code.NOT_FOUND, "gone"),
            (answer(b"", status=418), Code.RATE_LIMITED, "access"),
            (answer(b"", status=429), Code.RATE_LIMITED, "access"),
            (envelope(ok=0, msg="请求过于频繁，歇歇吧"), Code.RATE_LIMITED, "access"),
            (envelope(ok=0, msg="请求频率过高"), Code.RATE_LIMITED, "access"),
            (envelope(ok=0, msg="您的帐号异常，请登录后申诉"), Code.ACCOUNT_BANNED, "banned"),
            (envelope(ok=0, msg="该用户因违规已被封禁"), Code.NOT_FOUND, "gone"),
            (envelope(ok=0, msg="图片被封面替代"), Code.PLATFORM_ERROR, "refused"),
            (envelope(ok=0, msg="系统繁忙"), Code.PLATFORM_ERROR, "refused"),
            (envelope(ok=-1), Code.PLATFORM_ERROR, "refused"),
            (answer(b"", status=502), Code.PLATFORM_ERROR, "status"),
            (answer(b'{"ok": 1, "da'), Code.PARSE_ERROR, "unreadable"),
            (answer(b"[]"), Code.PARSE_ERROR, "unreadable"),
        ],
    )
    def test_each_has_its_code_and_its_cause(self, response, code, cause):
        error = refused(response)
        assert (error.code, error.details["cause"]) == (code, cause)

    @pytest.mark.parametrize("status", [418, 429, 503])
    def test_whoever_says_when_to_come_back_is_heard(self, status):
        assert refused(replace(answer(b"", status=status), retry_after=90.0)).retry_after == 90.0
        assert refused(answer(b"", status=status)).retry_after is None

    @pytest.mark.parametrize("status", [404, 432])
    def test_what_gets_no_better_by_waiting_is_not_waited_for(self, status):
        assert refused(replace(answer(b"", status=status), retry_after=90.0)).retry_after is None

    @pytest.mark.parametrize("said", ["这里还没有内容", "暂无数据", "快来发表你的评论吧", ""])
    def test_nothing_yet_is_no_refusal(self, said):
        assert read_envelope(envelope(ok=0, msg=said, data={"cards": []}), cookie="")["ok"] == 0

    def test_what_it_says_does_not_repeat_the_cookie(self):
        assert "the-whole-cookie" not in str(refused(envelope(ok=0, msg="bad the-whole-cookie")))

    @pytest.mark.proves("E-24")
    @pytest.mark.parametrize("said", ["you are xYz-of-mine", "id xYz-of-mine%2Fand+more", "it is other1 to us"])
    def test_nor_any_value_in_it(self, said):
        with pytest.raises(CrawlError) as caught:
            read_envelope(envelope(ok=0, msg=said), cookie="ALF=xYz-of-mine/and+more; X=xYz-of-mine; Y=other1; Z=to")
        assert "xYz-of-mine" not in str(caught.value)
        assert "other1" not in str(caught.value)
        assert said.split()[0] in str(caught.value), "the rest is told"

    @pytest.mark.parametrize(
        ("html", "code"),
        [
            ("<p>微博不存在或暂无查看权限!</p>", Code.NOT_FOUND),
            ("<p>由于博主设置，目前内容暂不可见。</p>", Code.NOT_FOUND),
            ("<p>由于作者隐私设置，你没有权限查看此微博</p>", Code.NOT_FOUND),
            ("<title>Sina Visitor System</title>", Code.COOKIE_INVALID),
            ("<title>登录 - 微博</title>", Code.COOKIE_INVALID),
            ("<nav>登录</nav><p>该作者账号已被封禁，帐号异常，已冻结</p>", Code.PARSE_ERROR),
            ("<nav>登录</nav><p>微博不存在</p>", Code.NOT_FOUND),
            ("<p>hello</p>", Code.PARSE_ERROR),
        ],
    )
    def test_a_page_without_a_post_says_why(self, html, code):
        assert page_refusal(html).code is code

    @given(STRANGE)
    def test_any_json_is_read_or_refused(self, value):
        body = json.dumps(value).encode()
        with suppress(CrawlError):
            data = read_envelope(answer(body), cookie="")
            read_cards(data)
            read_comments(data)
        if isinstance(value, dict):
            read_cards(value)
            read_comments(value)

    def test_ids_can_be_stored_whatever_they_hold(self):
        odd = "7\0\ud800"
        note = read_note({"id": "1", "user": {"id": odd}})
        [comment] = read_comments({"data": [{"id": odd, "user": {"id": odd}}]}).comments
        assert note.author.id == comment.id == comment.author.id == "7"

    @given(STRANGE)
    def test_any_state_inside_a_page_is_a_post_or_refused(self, value):
        html = f"<script>var $render_data = [{json.dumps(value)}][0] || {{}};</script>"
        with suppress(CrawlError):
            state = read_state(read_page(answer(html.encode()), cookie=""))
            read_note(state if state is not None else value if isinstance(value, dict) else {})

    @given(st.text(), st.binary())
    def test_any_page_is_read_or_refused(self, text, body):
        for page in (answer(body), answer(f"<html>$render_data = [{text}".encode(errors="replace"))):
            with suppress(CrawlError):
                assert read_state(read_page(page, cookie="")) is None

    def test_a_state_without_a_bottom_is_refused(self):
        with pytest.raises(CrawlError):
            read_state("$render_data = " + "[" * 100_000)
