"""Douyin over real sockets: signed by the operator's signer, found, read, talked about, and refused."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import parse_qs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from platform_visits import START, WORLD, gathered, on_loopback, refusal, struck

from catchment.clock import ManualClock
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Comment, Note, NoteRef, NoteSort, NoteType, Platform, Search, SearchPage
from catchment.fetch.client import HttpClient
from catchment.settings import Settings
from catchment.simulator.services.keyword_platforms import TroubleKind
from catchment.sources.platforms.answers import Patience, Sender
from catchment.sources.platforms.douyin import Douyin, note_url
from catchment.sources.platforms.registry import make_platforms
from catchment.sources.platforms.signer import CommandSigner, Signer, ToSign
from examples import at_most
from planted import MARKER
from simulated_douyin import FIRST_ID, DouyinService, signature_of

pytestmark = pytest.mark.proves("E-13")

SESSION = f"{MARKER}-session"
COOKIE = f"sessionid={SESSION}; LOGIN_STATUS=1; msToken=a/b+c=="
GONE = NoteRef(platform=Platform.DOUYIN, note_id=str(FIRST_ID - 5))


class Pen:
    """Signs as the simulated Douyin wants it, and keeps what it was given."""

    def __init__(self) -> None:
        self.signed: list[ToSign] = []

    async def sign(self, _http: Sender, wanted: ToSign) -> str:
        self.signed.append(wanted)
        return signature_of(wanted.query)


class Forger:
    async def sign(self, _http: Sender, _wanted: ToSign) -> str:
        return "forged"


@dataclass(kw_only=True)
class Visit:
    douyin: Douyin
    service: DouyinService
    http: HttpClient
    clock: ManualClock
    url: str

    async def search(self, **wanted: object) -> SearchPage:
        return await self.douyin.search(self.http, COOKIE, Search(**{"keyword": "咖啡", **wanted}))

    async def detail(self, ref: NoteRef) -> Note:
        return await self.douyin.detail(self.http, COOKIE, ref)

    async def comments(self, ref: NoteRef, limit: int = 200) -> tuple[Comment, ...]:
        return await gathered(self.douyin.comments(self.http, COOKIE, ref, limit=limit))

    async def whose_comments(self, count: int) -> NoteRef:
        return next(card.ref for card in (await self.search()).cards if card.counts.comments == count)


@asynccontextmanager
async def visiting(*, signer: Signer | None = None, seconds: float = 5.0) -> AsyncIterator[Visit]:
    clock = ManualClock(START)
    service = DouyinService(WORLD, slow_seconds=0.2)
    async with on_loopback(service, clock) as (url, http):
        patience = Patience(search=seconds, detail=seconds, validate=seconds)
        douyin = Douyin(base_url=url, signer=signer or Pen(), patience=patience)
        yield Visit(douyin=douyin, service=service, http=http, clock=clock, url=url)


async def refused(asking: Awaitable[object]) -> CrawlError:
    return await refusal(asking, secret=SESSION)


class TestSearching:
    async def test_works_are_found_by_themselves_and_in_series(self):
        async with visiting() as visit:
            page = await visit.search()
            assert len(page.cards) == 15
            assert page.has_more
            assert {card.type for card in page.cards} == set(NoteType)
            assert all(card.url == note_url(card.ref.note_id) for card in page.cards)

    async def test_pages_follow_each_other_and_end(self):
        async with visiting() as visit:
            pages = [await visit.search(page=number) for number in (1, 2, 3)]
            ids = [card.ref.note_id for page in pages for card in page.cards]
            assert len(ids) == len(set(ids)) == 40
            assert [page.has_more for page in pages] == [True, True, False]

    async def test_new_works_appear_with_time(self):
        async with visiting() as visit:
            before = {card.ref for card in (await visit.search()).cards}
            visit.clock.advance(timedelta(hours=1))
            assert len({card.ref for card in (await visit.search()).cards} - before) == 3

    async def test_the_most_liked_come_first_where_that_is_wanted(self):
        async with visiting() as visit:
            likes = [card.counts.likes for card in (await visit.search(sort=NoteSort.POPULAR)).cards]
            assert likes == sorted(likes, reverse=True)

    async def test_only_the_wanted_kind_is_given(self):
        async with visiting() as visit:
            page = await visit.search(type=NoteType.NORMAL)
            assert {card.type for card in page.cards} == {NoteType.NORMAL}

    @given(keyword=st.text(max_size=40))
    @settings(max_examples=at_most(20), deadline=None)
    async def test_any_keyword_can_be_asked_for(self, keyword):
        async with visiting() as visit:
            assert (await visit.search(keyword=keyword)).cards


class TestSigning:
    async def test_what_is_signed_is_what_is_sent(self):
        async with visiting(signer=(pen := Pen())) as visit:
            [card, *_] = (await visit.search()).cards
            await visit.detail(card.ref)
            request = visit.service.requests[-1]
            [wanted] = pen.signed
            assert request.query.partition("&a_bogus=")[0] == wanted.query
            assert wanted.url.endswith("/aweme/v1/web/aweme/detail/")
            assert wanted.user_agent == request.headers["user-agent"]

    async def test_the_token_of_the_cookie_goes_along_as_it_is(self):
        async with visiting() as visit:
            await refused(visit.detail(GONE))
            [request] = visit.service.requests
            asked = parse_qs(request.query)
            assert asked["msToken"] == ["a/b+c=="]
            assert asked["device_platform"] == ["webapp"]
            assert len(asked["webid"][0]) == 19

    async def test_a_command_signs_as_well(self, tmp_path):
        script = tmp_path / "sign.py"
        script.write_text(
            "import hashlib, json, sys\nquery = json.load(sys.stdin)['query']\n"
            "print(json.dumps({'a_bogus': hashlib.sha256(query.encode()).hexdigest() + '/+=='}))\n"
        )
        async with visiting(signer=CommandSigner([sys.executable, str(script)])) as visit:
            [card, *_] = (await visit.search()).cards
            assert (await visit.detail(card.ref)).title == card.title

    async def test_a_signature_that_does_not_hold_is_answered_with_nothing(self):
        async with visiting(signer=Forger()) as visit:
            error = await refused(visit.detail(GONE))
            assert (error.code, error.details["cause"]) == (Code.ACCOUNT_BANNED, "blocked")

    @pytest.mark.parametrize("way", ["search", "detail", "comments", "is_valid"])
    async def test_without_a_signer_nothing_is_asked(self, way):
        async with visiting() as visit:
            bare = Douyin()
            ways: dict[str, Callable[[], Awaitable[object]]] = {
                "search": lambda: bare.search(visit.http, COOKIE, Search(keyword="x")),
                "detail": lambda: bare.detail(visit.http, COOKIE, GONE),
                "comments": lambda: gathered(bare.comments(visit.http, COOKIE, GONE, limit=5)),
                "is_valid": lambda: bare.is_valid(visit.http, COOKIE),
            }
            error = await refused(ways[way]())
            assert error.code is Code.PLATFORM_ERROR
            assert "unsupported until CATCHMENT_DOUYIN_SIGNER" in str(error)


class TestReading:
    async def test_films_and_pictures_are_whole(self):
        async with visiting() as visit:
            film, pictures, *_ = sorted((await visit.search()).cards, key=lambda card: card.type, reverse=True)[::14]
            film_note, picture_note = await visit.detail(film.ref), await visit.detail(pictures.ref)
            assert (film_note.type, film_note.images) == (NoteType.VIDEO, ())
            assert film_note.video_url.endswith("/video.mp4")
            assert (picture_note.type, picture_note.video_url, len(picture_note.images)) == (NoteType.NORMAL, None, 3)
            for note, card in ((film_note, film), (picture_note, pictures)):
                assert note.content.endswith("\n第二行 #手艺 #散步")
                assert note.tags == ("手艺", "散步")
                assert (note.title, note.counts, note.published_at) == (card.title, card.counts, card.published_at)

    async def test_comments_are_followed_to_the_end_or_to_the_limit(self):
        async with visiting() as visit:
            ref = await visit.whose_comments(45)
            comments = await visit.comments(ref)
            assert len({comment.id for comment in comments}) == 45
            assert (comments[0].reply_count, len(comments[0].images)) == (12, 1)
            assert await visit.comments(ref, limit=25) == comments[:25]

    async def test_none_is_no_error(self):
        async with visiting() as visit:
            assert await visit.comments(await visit.whose_comments(0)) == ()


@pytest.mark.proves("E-09")
class TestRefusals:
    @pytest.mark.parametrize(
        ("kind", "code", "cause"),
        [
            (TroubleKind.BANNED, Code.ACCOUNT_BANNED, "blocked"),
            (TroubleKind.SIGNATURE, Code.ACCOUNT_BANNED, "blocked"),
            (TroubleKind.LOGIN_EXPIRED, Code.COOKIE_INVALID, "login_expired"),
            (TroubleKind.CAPTCHA, Code.RATE_LIMITED, "captcha"),
            (TroubleKind.ACCESS, Code.RATE_LIMITED, "access"),
            (TroubleKind.IP_BLOCKED, Code.RATE_LIMITED, "access"),
            (TroubleKind.ODD, Code.PLATFORM_ERROR, "refused"),
            (TroubleKind.SERVER_ERROR, Code.PLATFORM_ERROR, "status"),
            (TroubleKind.MALFORMED, Code.PARSE_ERROR, "unreadable"),
        ],
    )
    @pytest.mark.parametrize("way", ["search", "detail", "comments"])
    async def test_each_trouble_has_its_code_wherever_it_strikes(self, kind, code, cause, way):
        async with visiting() as visit:
            assert await struck(visit, kind, way, cookie=SESSION) == (code, cause)

    async def test_a_work_that_is_gone_is_not_found(self):
        async with visiting() as visit:
            assert (await refused(visit.detail(GONE))).code is Code.NOT_FOUND
            assert (await refused(visit.comments(GONE))).code is Code.NOT_FOUND

    async def test_no_work_and_no_reason_is_a_change_of_the_platform(self):
        async with visiting() as visit:
            visit.service.trouble(TroubleKind.EMPTY)
            assert (await refused(visit.detail(GONE))).code is Code.PARSE_ERROR

    async def test_silence_ends_in_time(self):
        async with visiting(seconds=0.1) as visit:
            visit.service.trouble(TroubleKind.SILENT)
            assert (await refused(visit.search())).code is Code.TIMEOUT_ERROR


class TestCookies:
    async def test_who_is_logged_in_is_told_from_who_is_not(self):
        async with visiting() as visit:
            assert await visit.douyin.is_valid(visit.http, COOKIE)
            assert not await visit.douyin.is_valid(visit.http, "sessionid=; LOGIN_STATUS=1")

    async def test_a_cookie_that_says_no_itself_is_not_asked_about(self):
        async with visiting() as visit:
            assert not await visit.douyin.is_valid(visit.http, f"sessionid={SESSION}; LOGIN_STATUS=0")
            assert not visit.service.requests

    async def test_one_that_is_refused_is_not_valid(self):
        async with visiting() as visit:
            visit.service.trouble(TroubleKind.LOGIN_EXPIRED, cookie=SESSION)
            assert not await visit.douyin.is_valid(visit.http, COOKIE)

    @pytest.mark.proves("E-09")
    async def test_a_ban_is_told_as_one(self):
        async with visiting() as visit:
            visit.service.trouble(TroubleKind.BANNED, cookie=SESSION)
            assert (await refused(visit.douyin.is_valid(visit.http, COOKIE))).code is Code.ACCOUNT_BANNED

    async def test_a_platform_in_trouble_says_nothing_about_it(self):
        async with visiting() as visit:
            visit.service.trouble(TroubleKind.SERVER_ERROR)
            assert (await refused(visit.douyin.is_valid(visit.http, COOKIE))).code is Code.PLATFORM_ERROR


class TestWiring:
    def test_all_three_are_made_from_the_settings(self):
        platforms = make_platforms(Settings(), ManualClock(START))
        assert {name: platform.name for name, platform in platforms.items()} == {name: name for name in Platform}

    async def test_their_addresses_and_the_signer_are_those_of_the_settings(self, tmp_path):
        script = tmp_path / "sign.py"
        script.write_text('print(\'{"a_bogus": "forged"}\')')
        async with visiting() as visit:
            chosen = Settings(douyin_base_url=visit.url, douyin_signer=f"{sys.executable} {script}")
            douyin = make_platforms(chosen, ManualClock(START))[Platform.DOUYIN]
            await refused(douyin.detail(visit.http, COOKIE, GONE))
            assert visit.service.requests[-1].query.endswith("&a_bogus=forged")
