"""Xiaohongshu over real sockets: what is found and read, and what each way of saying no means."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from urllib.parse import parse_qs, urlsplit

import pytest
from platform_visits import gathered
from xhs_bench import COOKIE, SESSION, START, Bench, xhs_at_work

from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import NoteRef, NoteSort, NoteType, Platform, Search
from catchment.fetch.client import Request, Response
from catchment.fetch.pacing import Deferred
from catchment.simulator.services.keyword_platforms import TroubleKind
from catchment.sources.platforms.answers import Patience
from catchment.sources.platforms.xhs import search_id
from catchment.sources.platforms.xhs_parser import read_data, read_html

pytestmark = pytest.mark.proves("E-13")
COFFEE = Search(keyword="咖啡")
#: What no error may repeat.
SECRETS = [part.partition("=")[2] for part in COOKIE.split("; ")]


async def refused(bench: Bench, ref: NoteRef) -> CrawlError:
    with pytest.raises(CrawlError) as caught:
        await bench.xhs.detail(bench.http, COOKIE, ref)
    for secret in [*SECRETS, ref.token or "?"]:
        assert secret not in f"{caught.value} {caught.value.details}"
    return caught.value


async def test_a_search_finds_notes_with_their_tokens_and_no_suggestions():
    async with xhs_at_work() as bench:
        page = await bench.xhs.search(bench.http, COOKIE, COFFEE)
        assert len(page.cards) == 20
        assert page.has_more
        assert all(card.ref.token and card.title.startswith("咖啡") for card in page.cards)
        assert all(card.url == bench.xhs.url_of(card.ref) for card in page.cards)
        assert all(card.published_at and card.published_at <= START for card in page.cards)


async def test_pages_of_a_search_do_not_overlap_and_end():
    async with xhs_at_work() as bench:
        pages = [await bench.xhs.search(bench.http, COOKIE, replace(COFFEE, page=number)) for number in (1, 2, 3)]
        ids = [card.ref.note_id for page in pages for card in page.cards]
        assert len(ids) == len(set(ids)) == 60
        assert [page.has_more for page in pages] == [True, True, False]
        asked = [json.loads(request.body)["search_id"] for request in bench.service.requests]
        assert len(set(asked)) == 1


async def test_new_notes_appear_with_time():
    async with xhs_at_work() as bench:
        before = await bench.xhs.search(bench.http, COOKIE, COFFEE)
        bench.clock.advance(timedelta(minutes=25))
        after = await bench.xhs.search(bench.http, COOKIE, COFFEE)
        new = {card.ref.note_id for card in after.cards} - {card.ref.note_id for card in before.cards}
        assert len(new) == 2


@pytest.mark.parametrize("wanted", NoteType)
async def test_a_search_may_be_for_one_type(wanted):
    async with xhs_at_work() as bench:
        page = await bench.xhs.search(bench.http, COOKIE, replace(COFFEE, type=wanted))
        assert {card.type for card in page.cards} == {wanted}


async def test_the_order_of_a_search_can_be_chosen():
    async with xhs_at_work() as bench:
        newest = await bench.xhs.search(bench.http, COOKIE, replace(COFFEE, sort=NoteSort.NEWEST))
        popular = await bench.xhs.search(bench.http, COOKIE, replace(COFFEE, sort=NoteSort.POPULAR))
        assert all(a.published_at >= b.published_at for a, b in pairwise(newest.cards))
        assert all(a.counts.likes >= b.counts.likes for a, b in pairwise(popular.cards))
        sorts = [json.loads(request.body)["sort"] for request in bench.service.requests]
        assert sorts == ["time_descending", "popularity_descending"]


def test_a_search_keeps_its_number_for_an_hour_and_shares_it_with_nobody():
    def number(search=COFFEE, *, at=START, whose="a"):
        return search_id(search, at=at, whose=whose)

    assert number() == number(replace(COFFEE, page=7), at=START + timedelta(minutes=59))
    others = [number(Search(keyword="茶")), number(at=START + timedelta(hours=1)), number(whose="b")]
    assert len({number(), *others}) == 4
    assert number().isalnum()
    assert number().islower()


async def test_a_note_is_read_with_everything_it_has():
    async with xhs_at_work() as bench:
        card = await bench.card()
        note = await bench.xhs.detail(bench.http, COOKIE, card.ref)
        assert (note.ref, note.url, note.title, note.author) == (card.ref, card.url, card.title, card.author)
        assert note.published_at == card.published_at
        assert note.updated_at == note.published_at + timedelta(seconds=1)
        assert note.content
        assert note.images
        assert all(image.startswith("https://") for image in note.images)
        assert note.counts.likes == card.counts.likes


async def test_videos_have_their_address():
    async with xhs_at_work() as bench:
        page = await bench.xhs.search(bench.http, COOKIE, replace(COFFEE, type=NoteType.VIDEO))
        notes = [await bench.xhs.detail(bench.http, COOKIE, card.ref) for card in page.cards[:2]]
        assert {note.type for note in notes} == {NoteType.VIDEO}
        # One has the key of the film as it was uploaded, the other only what it was made into.
        assert {note.video_url.split("/")[2] for note in notes} == {
            "sns-video-bd.xhscdn.com",
            "sns-video-bd.xhscdn.example",
        }


@pytest.mark.parametrize("kind", [TroubleKind.EMPTY, TroubleKind.SIGNATURE])
async def test_the_page_is_read_where_the_api_gives_no_note(kind):
    async with xhs_at_work() as bench:
        card = await bench.card()
        told = await bench.xhs.detail(bench.http, COOKIE, card.ref)
        bench.service.trouble(kind, note=card.ref.note_id)
        assert await bench.xhs.detail(bench.http, COOKIE, card.ref) == told
        asked = bench.service.requests[-1]
        assert (asked.method, asked.path) == ("GET", f"/explore/{card.ref.note_id}")
        assert "x-s" not in asked.headers


@pytest.mark.parametrize(
    ("kind", "code", "cause"),
    [
        (TroubleKind.GONE, Code.NOT_FOUND, None),
        (TroubleKind.EMPTY, Code.PLATFORM_ERROR, "withheld"),
        (TroubleKind.ODD, Code.PLATFORM_ERROR, "withheld"),
        (TroubleKind.CAPTCHA, Code.RATE_LIMITED, "captcha"),
        (TroubleKind.ACCESS, Code.COOKIE_INVALID, "access"),
        (TroubleKind.MALFORMED, Code.PARSE_ERROR, "unreadable"),
        (TroubleKind.SERVER_ERROR, Code.PLATFORM_ERROR, "refused"),
    ],
)
@pytest.mark.proves("E-09")
async def test_what_stands_in_place_of_the_page_is_told_apart(kind, code, cause):
    async with xhs_at_work() as bench:
        card = await bench.card()
        bench.service.trouble(TroubleKind.EMPTY, note=card.ref.note_id)
        bench.service.trouble_page(kind, note=card.ref.note_id)
        error = await refused(bench, card.ref)
        assert (error.code, error.details.get("cause")) == (code, cause)


@pytest.mark.parametrize(
    ("kind", "code", "cause"),
    [
        (TroubleKind.CAPTCHA, Code.RATE_LIMITED, "captcha"),
        (TroubleKind.LOGIN_EXPIRED, Code.COOKIE_INVALID, "login_expired"),
        (TroubleKind.ACCESS, Code.COOKIE_INVALID, "access"),
        (TroubleKind.IP_BLOCKED, Code.PLATFORM_ERROR, "ip_blocked"),
        (TroubleKind.BANNED, Code.ACCOUNT_BANNED, "banned"),
        (TroubleKind.GONE, Code.NOT_FOUND, None),
        (TroubleKind.ODD, Code.PLATFORM_ERROR, "refused"),
        (TroubleKind.SERVER_ERROR, Code.PLATFORM_ERROR, "refused"),
        (TroubleKind.MALFORMED, Code.PARSE_ERROR, "unreadable"),
    ],
)
@pytest.mark.proves("E-09")
async def test_every_no_has_its_code(kind, code, cause):
    async with xhs_at_work() as bench:
        card = await bench.card()
        bench.service.trouble(kind, cookie=SESSION)
        error = await refused(bench, card.ref)
        assert (error.code, error.details.get("cause")) == (code, cause)


@pytest.mark.parametrize("kind", [TroubleKind.SIGNATURE, TroubleKind.CAPTCHA, TroubleKind.IP_BLOCKED])
@pytest.mark.proves("E-09")
async def test_a_search_is_refused_in_the_same_words(kind):
    causes = {TroubleKind.SIGNATURE: "signature", TroubleKind.CAPTCHA: "captcha", TroubleKind.IP_BLOCKED: "ip_blocked"}
    async with xhs_at_work() as bench:
        bench.service.trouble(kind, times=1)
        with pytest.raises(CrawlError) as caught:
            await bench.xhs.search(bench.http, COOKIE, COFFEE)
        assert caught.value.details["cause"] == causes[kind]
        assert (await bench.xhs.search(bench.http, COOKIE, COFFEE)).cards


@pytest.mark.proves("E-09")
async def test_a_captcha_says_which_and_a_blocked_address_for_how_long():
    async with xhs_at_work() as bench:
        card = await bench.card()
        bench.service.trouble(TroubleKind.CAPTCHA, times=1)
        captcha = await refused(bench, card.ref)
        assert captcha.details == {"cause": "captcha", "verify_type": "102", "verify_uuid": "shared-5e8d0000"}
        bench.service.trouble(TroubleKind.IP_BLOCKED, times=1)
        blocked = await refused(bench, card.ref)
        assert blocked.retry_after == 1800


@pytest.mark.proves("E-09")
async def test_silence_is_a_timeout():
    async with xhs_at_work(patience=Patience(detail=0.2)) as bench:
        card = await bench.card()
        bench.service.trouble(TroubleKind.SILENT, note=card.ref.note_id)
        assert (await refused(bench, card.ref)).code is Code.TIMEOUT_ERROR


async def test_a_slow_answer_is_waited_for():
    async with xhs_at_work(slow_seconds=0.2) as bench:
        card = await bench.card()
        bench.service.trouble(TroubleKind.SLOW, note=card.ref.note_id)
        assert (await bench.xhs.detail(bench.http, COOKIE, card.ref)).title == card.title


@pytest.mark.proves("E-09")
async def test_nobody_at_the_address_is_the_network():
    async with xhs_at_work() as bench:
        card = await bench.card()
        closed = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
        port = closed.sockets[0].getsockname()[1]
        closed.close()
        await closed.wait_closed()
        elsewhere = replace(bench.xhs, base_url=f"http://127.0.0.1:{port}")
        with pytest.raises(CrawlError) as caught:
            await elsewhere.detail(bench.http, COOKIE, card.ref)
        assert caught.value.code is Code.NETWORK_ERROR


async def test_having_to_wait_for_a_turn_is_no_failure():
    class Busy:
        async def send(self, request: Request):
            raise Deferred("xhs", seconds=3)

    async with xhs_at_work() as bench:
        with pytest.raises(Deferred):
            await bench.xhs.search(Busy(), COOKIE, COFFEE)


async def test_a_note_without_its_token_is_not_asked_for():
    async with xhs_at_work() as bench:
        ref = NoteRef(platform=Platform.XHS, note_id="65039504000000001303d03a")
        error = await refused(bench, ref)
        assert error.code is Code.INVALID_INPUT
        assert "xsec_token" in str(error)
        assert not bench.service.requests


async def test_a_token_of_another_listing_shows_nothing():
    async with xhs_at_work() as bench:
        coffee, tea = await bench.card(), await bench.card(keyword="茶")
        error = await refused(bench, replace(coffee.ref, token=tea.ref.token))
        assert error.code is Code.NOT_FOUND


@pytest.mark.parametrize("missing", ["a1", "web_session", "webId"])
async def test_a_cookie_that_lacks_a_part_is_not_sent(missing):
    cookie = "; ".join(part for part in COOKIE.split("; ") if not part.startswith(f"{missing}="))
    async with xhs_at_work() as bench:
        with pytest.raises(CrawlError, match=missing) as caught:
            await bench.xhs.search(bench.http, cookie, COFFEE)
        assert caught.value.code is Code.COOKIE_INVALID
        assert not any(secret in str(caught.value) for secret in SECRETS)
        assert not await bench.xhs.is_valid(bench.http, cookie)
        assert not bench.service.requests


async def test_a_cookie_with_a_line_break_is_not_sent():
    async with xhs_at_work() as bench:
        with pytest.raises(CrawlError) as caught:
            await bench.xhs.search(bench.http, f"{COOKIE}\r\nX-Evil: 1", COFFEE)
        assert caught.value.code is Code.COOKIE_INVALID
        assert not bench.service.requests


async def test_what_cannot_be_written_as_bytes_is_refused_before_it_is_signed():
    async with xhs_at_work() as bench:
        with pytest.raises(CrawlError) as caught:
            await bench.xhs.search(bench.http, COOKIE, Search(keyword="half \ud83d"))
        assert caught.value.code is Code.INVALID_INPUT
        assert not bench.service.requests


@pytest.mark.parametrize("limit", [0, 1, 10, 11, 200])
async def test_comments_come_page_by_page_until_there_are_enough(limit):
    async with xhs_at_work() as bench:
        cards = (await bench.xhs.search(bench.http, COOKIE, COFFEE)).cards
        card = max(cards, key=lambda card: card.counts.comments)
        there = card.counts.comments
        assert there > 20
        before = len(bench.service.requests)
        comments = await gathered(bench.xhs.comments(bench.http, COOKIE, card.ref, limit=limit))
        wanted = min(limit, there)
        assert len(comments) == len({comment.id for comment in comments}) == wanted
        assert len(bench.service.requests) - before == -(-wanted // 10)


async def test_replies_and_pictures_come_along_with_comments():
    async with xhs_at_work() as bench:
        cards = (await bench.xhs.search(bench.http, COOKIE, COFFEE)).cards
        card = max(cards, key=lambda card: card.counts.comments)
        comments = await gathered(bench.xhs.comments(bench.http, COOKIE, card.ref, limit=200))
        replied = [comment for comment in comments if comment.replies]
        assert {comment.reply_count for comment in replied} == {3}
        assert any(comment.images for comment in comments)
        assert all(comment.author.name and comment.created_at for comment in comments)


async def test_a_comment_that_stands_on_two_pages_comes_once_and_pushes_no_other_out():
    pages = {"": (range(10), "k1"), "k1": (range(8, 18), "k2"), "k2": (range(17, 20), "")}

    class Overlapping:
        async def send(self, request: Request) -> Response:
            numbers, cursor = pages[parse_qs(urlsplit(request.url).query, keep_blank_values=True)["cursor"][0]]
            comments = [{"id": f"c{number}", "content": "good"} for number in numbers]
            data = {"comments": comments, "has_more": bool(cursor), "cursor": cursor}
            body = json.dumps({"success": True, "data": data}).encode()
            return Response(status=200, url=request.url, headers={}, body=body)

    async with xhs_at_work() as bench:
        ref = NoteRef(platform=Platform.XHS, note_id="a" * 24, token="t")
        comments = await gathered(bench.xhs.comments(Overlapping(), COOKIE, ref, limit=20))
        assert [comment.id for comment in comments] == [f"c{number}" for number in range(20)]


async def test_whether_a_cookie_is_signed_in():
    async with xhs_at_work() as bench:
        assert await bench.xhs.is_valid(bench.http, COOKIE)
        bench.service.trouble(TroubleKind.LOGIN_EXPIRED, cookie=SESSION, times=1)
        assert not await bench.xhs.is_valid(bench.http, COOKIE)
        bench.service.trouble(TroubleKind.BANNED, cookie=SESSION, times=1)
        with pytest.raises(CrawlError) as caught:
            await bench.xhs.is_valid(bench.http, COOKIE)
        assert caught.value.code is Code.ACCOUNT_BANNED


@pytest.mark.proves("E-09")
async def test_an_access_that_is_restricted_does_not_make_a_cookie_invalid():
    async with xhs_at_work() as bench:
        bench.service.trouble(TroubleKind.ACCESS, cookie=SESSION, times=1)
        with pytest.raises(CrawlError) as caught:
            await bench.xhs.is_valid(bench.http, COOKIE)
        assert caught.value.details["cause"] == "access"


@pytest.mark.proves("E-09")
@pytest.mark.parametrize(
    ("code", "said", "expected"),
    [
        (-510001, "该作者账号已被封禁", Code.NOT_FOUND),
        (-510000, "登录已过期", Code.NOT_FOUND),
        (300012, "账号被冻结", Code.PLATFORM_ERROR),
        (-1, "账号因违反社区规范已被封禁", Code.ACCOUNT_BANNED),
        (-100, "登录已过期", Code.COOKIE_INVALID),
        (-100, "", Code.COOKIE_INVALID),
        (300013, "", Code.RATE_LIMITED),
        (-1, "访问频次异常，请勿频繁操作", Code.RATE_LIMITED),
        (-101, "无登录信息，或登录信息为空", Code.COOKIE_INVALID),
    ],
)
def test_a_code_that_is_known_counts_before_words(code, said, expected):
    body = json.dumps({"success": False, "code": code, "msg": said}).encode()
    with pytest.raises(CrawlError) as caught:
        read_data(Response(status=200, url="https://x", headers={}, body=body), cookie=COOKIE, token="")
    assert caught.value.code is expected


@pytest.mark.proves("E-09")
@pytest.mark.parametrize("code", [-104, 300015])
def test_both_codes_for_a_bad_signature_are_known(code):
    body = json.dumps({"success": False, "code": code, "msg": "浏览器异常"}).encode()
    with pytest.raises(CrawlError) as caught:
        read_data(Response(status=200, url="https://x", headers={}, body=body), cookie=COOKIE, token="")
    assert caught.value.details["cause"] == "signature"


@pytest.mark.proves("E-09")
@pytest.mark.parametrize(
    ("place", "code", "cause"),
    [
        ("/404?source=/publish/publish", Code.NOT_FOUND, None),
        (
            "/404?source=/404/sec_x?redirectPath=https%3A%2F%2Fx%2Fexplore&error_code=300031",
            Code.PLATFORM_ERROR,
            "withheld",
        ),
        ("/website-login/error?redirectPath=https%3A%2F%2Fx&error_code=300012", Code.PLATFORM_ERROR, "ip_blocked"),
        ("/website-login/error?error_code=300013", Code.RATE_LIMITED, "access"),
        ("/website-login/error?error_code=300099", Code.PLATFORM_ERROR, "refused"),
        ("/website-login/captcha?error_code=300012", Code.RATE_LIMITED, "captcha"),
        ("/404?error_code=-510001", Code.NOT_FOUND, None),
        ("/login?redirectPath=https%3A%2F%2Fx%2Fexplore", Code.COOKIE_INVALID, "login_expired"),
    ],
)
def test_the_page_that_a_refusal_leads_to_says_which_it_is(place, code, cause):
    with pytest.raises(CrawlError) as caught:
        read_html(Response(status=200, url=f"https://www.xiaohongshu.com{place}", headers={}, body=b"<html>"))
    assert (caught.value.code, caught.value.details.get("cause")) == (code, cause)
