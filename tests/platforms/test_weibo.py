"""Weibo over real sockets: found, read, talked about, and refused in every way there is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from platform_visits import START, WORLD, gathered, http_client, on_loopback, refusal, struck

from catchment.clock import ManualClock
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Comment, Note, NoteRef, NoteSort, NoteType, Platform, Search, SearchPage
from catchment.fetch.client import HttpClient
from catchment.simulator.services.keyword_platforms import TroubleKind
from catchment.simulator.services.weibo import FIRST_ID, WeiboService
from catchment.sources.platforms.answers import Patience
from catchment.sources.platforms.weibo import Weibo, note_url
from examples import at_most
from feed_site import FeedSite
from planted import MARKER

pytestmark = pytest.mark.proves("E-13")

SESSION = f"{MARKER}-session"
COOKIE = f"SUB=_2A25; WBPSESS={SESSION}; SSOLoginState=1700000000"
GONE = NoteRef(platform=Platform.WEIBO, note_id=str(FIRST_ID - 5))


@dataclass(kw_only=True)
class Visit:
    weibo: Weibo
    service: WeiboService
    http: HttpClient
    clock: ManualClock

    async def search(self, **wanted: object) -> SearchPage:
        return await self.weibo.search(self.http, COOKIE, Search(**{"keyword": "咖啡", **wanted}))

    async def detail(self, ref: NoteRef, cookie: str = COOKIE) -> Note:
        return await self.weibo.detail(self.http, cookie, ref)

    async def comments(self, ref: NoteRef, limit: int = 200) -> tuple[Comment, ...]:
        return await gathered(self.weibo.comments(self.http, COOKIE, ref, limit=limit))

    async def notes(self) -> list[Note]:
        return [await self.detail(card.ref) for card in (await self.search()).cards]

    async def whose_comments(self, count: int) -> NoteRef:
        """A post with so many comments."""
        return next(card.ref for card in (await self.search()).cards if card.counts.comments == count)


@asynccontextmanager
async def visiting(*, seconds: float = 5.0) -> AsyncIterator[Visit]:
    clock = ManualClock(START)
    service = WeiboService(WORLD, slow_seconds=0.2)
    async with on_loopback(service, clock) as (url, http):
        weibo = Weibo(base_url=url, patience=Patience(search=seconds, detail=seconds, validate=seconds))
        yield Visit(weibo=weibo, service=service, http=http, clock=clock)


async def refused(asking: Awaitable[object]) -> CrawlError:
    return await refusal(asking, secret=SESSION)


class TestSearching:
    async def test_posts_are_found_by_themselves_and_in_groups(self):
        async with visiting() as visit:
            page = await visit.search()
            assert len(page.cards) == 10
            assert page.has_more
            assert all(card.title and card.ref.platform is Platform.WEIBO for card in page.cards)
            assert all(card.url == note_url(card.ref.note_id) for card in page.cards)
            assert page.cards[0].published_at <= START

    async def test_pages_follow_each_other_and_end(self):
        async with visiting() as visit:
            pages = [await visit.search(page=number) for number in range(1, 7)]
            ids = [card.ref.note_id for page in pages for card in page.cards]
            assert len(ids) == len(set(ids)) == 50
            assert [page.has_more for page in pages] == [True] * 5 + [False]

    async def test_new_posts_appear_with_time_and_other_words_find_others(self):
        async with visiting() as visit:
            before = {card.ref for card in (await visit.search()).cards}
            visit.clock.advance(timedelta(hours=1))
            after = {card.ref for card in (await visit.search()).cards}
            other = {card.ref for card in (await visit.search(keyword="茶")).cards}
            assert len(after - before) == 3
            assert not other & after

    @pytest.mark.parametrize(
        ("wanted", "kind"),
        [
            ({"sort": NoteSort.GENERAL}, "1"),
            ({"sort": NoteSort.NEWEST}, "61"),
            ({"sort": NoteSort.POPULAR}, "60"),
            ({"type": NoteType.VIDEO}, "64"),
            ({"type": NoteType.NORMAL, "sort": NoteSort.NEWEST}, "61"),
        ],
    )
    async def test_orders_and_kinds_are_asked_for_by_number(self, wanted, kind):
        async with visiting() as visit:
            page = await visit.search(**wanted)
            [request] = visit.service.requests
            assert f"containerid=100103type%3D{kind}%26q%3D" in request.query
            assert {card.type for card in page.cards} <= {wanted.get("type") or card.type for card in page.cards}
            assert page.cards

    async def test_the_cookie_and_the_looks_of_a_browser_go_along(self):
        async with visiting() as visit:
            await visit.search()
            [request] = visit.service.requests
            assert request.headers["cookie"] == COOKIE
            assert "Mobile" in request.headers["user-agent"]
            assert request.headers["referer"].startswith("http://127.0.0.1")

    @given(keyword=st.text(max_size=40))
    @settings(max_examples=at_most(20), deadline=None)
    async def test_any_keyword_can_be_asked_for(self, keyword):
        async with visiting() as visit:
            assert (await visit.search(keyword=keyword)).cards


class TestReading:
    async def test_every_form_of_post_is_whole(self):
        async with visiting() as visit:
            notes = await visit.notes()
            assert all(note.content and note.title and note.published_at and note.url for note in notes)
            assert all("<" not in note.content for note in notes)
            assert any(note.images == tuple(f"https://wx1.sinaimg.cn/{n}.jpg" for n in range(3)) for note in notes)
            assert {note.type for note in notes} == {NoteType.NORMAL, NoteType.VIDEO}
            assert all(note.video_url for note in notes if note.type is NoteType.VIDEO)
            assert any("[哈哈]\n" in note.content and note.tags == ("手艺",) for note in notes)
            assert any(note.content.startswith("转发微博\n\n> 原文：") and note.images for note in notes)

    async def test_a_long_text_is_cut_in_the_list_and_whole_on_its_page(self):
        async with visiting() as visit:
            notes = await visit.notes()
            [*long] = [note for note in notes if len(note.content.split("\n")) == 20]
            assert long
            assert not any("全文" in note.content for note in long)

    async def test_times_in_china_are_kept_in_utc(self):
        async with visiting() as visit:
            [card, *_] = (await visit.search()).cards
            note = await visit.detail(card.ref)
            assert note.published_at == card.published_at
            assert note.published_at.tzinfo is UTC
            assert datetime(2026, 3, 1, 11, 0, tzinfo=UTC) <= note.published_at <= START


class TestComments:
    async def test_pages_are_followed_to_the_end(self):
        async with visiting() as visit:
            comments = await visit.comments(await visit.whose_comments(45))
            assert len({comment.id for comment in comments}) == 45
            asked = [request.query for request in visit.service.requests if "hotflow" in request.path]
            assert ["max_id=" in query for query in asked] == [False, True, True]

    async def test_no_more_are_asked_for_than_are_wanted(self):
        async with visiting() as visit:
            ref = await visit.whose_comments(45)
            assert len(await visit.comments(ref, limit=25)) == 25
            assert len([request for request in visit.service.requests if "hotflow" in request.path]) == 2
            assert await visit.comments(ref, limit=0) == ()

    async def test_a_comment_brings_its_replies_and_its_picture(self):
        async with visiting() as visit:
            [first, second, *_] = await visit.comments(await visit.whose_comments(3))
            assert first.reply_count == 12
            assert first.replies[0].content == "回复 @x：好"
            assert first.images == ("https://wx1.sinaimg.cn/s.jpg",)
            assert (second.reply_count, second.replies, second.images) == (0, (), ())
            assert second.created_at == first.created_at + timedelta(minutes=1)

    async def test_none_is_no_error(self):
        async with visiting() as visit:
            assert await visit.comments(await visit.whose_comments(0)) == ()


@pytest.mark.proves("E-09")
class TestRefusals:
    @pytest.mark.parametrize(
        ("kind", "code", "cause"),
        [
            (TroubleKind.STALE, Code.COOKIE_INVALID, "stale"),
            (TroubleKind.LOGIN_EXPIRED, Code.COOKIE_INVALID, "login_expired"),
            (TroubleKind.ACCESS, Code.RATE_LIMITED, "access"),
            (TroubleKind.BANNED, Code.ACCOUNT_BANNED, "banned"),
            (TroubleKind.ODD, Code.PLATFORM_ERROR, "refused"),
            (TroubleKind.SERVER_ERROR, Code.PLATFORM_ERROR, "status"),
            (TroubleKind.MALFORMED, Code.PARSE_ERROR, "unreadable"),
        ],
    )
    @pytest.mark.parametrize("way", ["search", "detail", "comments"])
    async def test_each_trouble_has_its_code_wherever_it_strikes(self, kind, code, cause, way):
        async with visiting() as visit:
            assert await struck(visit, kind, way, cookie=SESSION) == (code, cause)

    @pytest.mark.parametrize("when", ["90", "Sun, 01 Mar 2026 12:01:30 GMT"])
    async def test_it_is_believed_when_it_says_when_to_come_back(self, when):
        async with FeedSite() as site, http_client() as http:
            site.serve("", path="/api/container/getIndex", status=429, headers={"Retry-After": when})
            error = await refused(Weibo(base_url=site.url("")).search(http, COOKIE, Search(keyword="咖啡")))
        assert (error.code, error.retry_after) == (Code.RATE_LIMITED, 90.0)

    async def test_a_post_that_is_gone_is_not_found(self):
        async with visiting() as visit:
            assert (await refused(visit.detail(GONE))).code is Code.NOT_FOUND
            assert (await refused(visit.comments(GONE))).code is Code.NOT_FOUND

    async def test_one_gone_post_does_not_hide_the_others(self):
        async with visiting() as visit:
            first, second, *_ = (await visit.search()).cards
            visit.service.trouble(TroubleKind.GONE, note=first.ref.note_id)
            assert (await refused(visit.detail(first.ref))).code is Code.NOT_FOUND
            assert await visit.detail(second.ref)

    async def test_a_page_that_holds_nothing_is_a_change_of_the_platform(self):
        async with visiting() as visit:
            [card, *_] = (await visit.search()).cards
            visit.service.trouble(TroubleKind.EMPTY, note=card.ref.note_id)
            assert (await refused(visit.detail(card.ref))).code is Code.PARSE_ERROR

    async def test_silence_ends_in_time(self):
        async with visiting(seconds=0.1) as visit:
            visit.service.trouble(TroubleKind.SILENT)
            assert (await refused(visit.search())).code is Code.TIMEOUT_ERROR

    async def test_slowness_within_the_time_is_none(self):
        async with visiting() as visit:
            visit.service.trouble(TroubleKind.SLOW)
            assert (await visit.search()).cards

    async def test_nobody_there_is_the_networks_fault(self):
        async with http_client() as http:
            asking = Weibo(base_url="http://127.0.0.1:9").search(http, COOKIE, Search(keyword="x"))
            assert (await refused(asking)).code is Code.NETWORK_ERROR

    async def test_a_cookie_that_cannot_be_sent_is_invalid(self):
        async with visiting() as visit:
            asking = visit.detail(GONE, cookie=f"{COOKIE}\r\nX: y")
            assert (await refused(asking)).code is Code.COOKIE_INVALID


class TestCookies:
    async def test_who_is_logged_in_is_told_from_who_is_not(self):
        async with visiting() as visit:
            assert await visit.weibo.is_valid(visit.http, COOKIE)
            assert not await visit.weibo.is_valid(visit.http, "SUB=_2A25")

    @pytest.mark.parametrize("kind", [TroubleKind.STALE, TroubleKind.LOGIN_EXPIRED])
    async def test_one_that_is_refused_is_not_valid(self, kind):
        async with visiting() as visit:
            visit.service.trouble(kind, cookie=SESSION)
            assert not await visit.weibo.is_valid(visit.http, COOKIE)

    @pytest.mark.proves("E-09")
    async def test_a_ban_is_told_as_one(self):
        async with visiting() as visit:
            visit.service.trouble(TroubleKind.BANNED, cookie=SESSION)
            assert (await refused(visit.weibo.is_valid(visit.http, COOKIE))).code is Code.ACCOUNT_BANNED

    async def test_a_platform_in_trouble_says_nothing_about_it(self):
        async with visiting() as visit:
            visit.service.trouble(TroubleKind.SERVER_ERROR)
            assert (await refused(visit.weibo.is_valid(visit.http, COOKIE))).code is Code.PLATFORM_ERROR
