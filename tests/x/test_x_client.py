"""The client of X's provider, over real sockets."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise
from urllib.parse import parse_qs

import pytest
from bench import simulated_x as x
from bench.simulated_x import TweetEnvelope, XProvider, timeline
from x_provider import KEY, START, working

from catchment.errors import InvalidInput, TimedOut
from catchment.fetch.pacing import HostPace
from catchment.redact import redact_text
from catchment.simulator.messages import Answer
from catchment.sources.x.client import XError, XTrouble, key_pace, list_timeline, user_timeline, wait_seconds

pytestmark = pytest.mark.proves("D-01")
ADA = user_timeline("ada")


def provider(count: int = 5, **options) -> XProvider:
    return XProvider(key=KEY, users={"ada": timeline("ada", count, at=START)}, **options)


@pytest.mark.parametrize("envelope", TweetEnvelope)
@pytest.mark.parametrize(
    ("there", "limit", "pages"), [(0, 100, 1), (5, 100, 1), (20, 100, 1), (90, 100, 5), (90, 50, 3), (90, 10, 1)]
)
async def test_pages_are_asked_for_by_cursor_until_the_limit(envelope, there, limit, pages):
    async with working(provider(there, envelope=envelope)) as bench:
        found = await bench.pages(ADA, limit=limit)
    assert len(found) == pages == bench.spending.pages
    assert sum(page.count for page in found) == min(there, pages * 20)
    cursors = [parse_qs(request.query).get("cursor", [""])[0] for request in bench.provider.requests]
    assert cursors == ["", "page-20", "page-40", "page-60", "page-80"][:pages]


async def test_the_key_goes_in_its_header_and_nowhere_else():
    async with working(provider()) as bench:
        await bench.pages(ADA)
    [request] = bench.provider.requests
    assert request.headers["x-api-key"] == KEY
    assert "authorization" not in request.headers
    assert KEY not in request.path + request.query
    assert parse_qs(request.query) == {"userName": ["ada"], "includeReplies": ["false"]}


async def test_a_list_is_asked_for_where_the_settings_say():
    lists = {"77": timeline("ada", 3, at=START)}
    async with working(provider(lists=lists)) as bench:
        [page] = await bench.pages(list_timeline("77", path="list/tweets_timeline"))
    assert page.count == 3
    assert bench.provider.requests[0].path == "/twitter/list/tweets_timeline"


async def test_a_refused_key_is_one_call_and_stops_everything():
    async with working(provider(), key="wrong") as bench:
        with pytest.raises(XError) as refusal:
            await bench.pages(ADA)
    assert len(bench.provider.requests) == 1
    assert (refusal.value.trouble, refusal.value.status) == (XTrouble.KEY_REFUSED, 401)
    assert refusal.value.stops_everything


@pytest.mark.parametrize(
    ("answer", "trouble", "words"),
    [
        (x.out_of_credit(), XTrouble.NO_CREDIT, "Credits is not enough"),
        (x.missing_key(), XTrouble.REFUSED, "API key required"),
        (x.reply(400, {"detail": "bad parameter"}), XTrouble.REFUSED, "bad parameter"),
        (x.user_not_found(), XTrouble.USER_NOT_FOUND, "User not found"),
        (x.reply(404, {"message": "User not found"}), XTrouble.USER_NOT_FOUND, "User not found"),
        (x.reply(200, {"status": "error", "message": "odd"}), XTrouble.REFUSED, "odd"),
        (x.reply(200, {"error": "Something broke", "tweets": []}), XTrouble.REFUSED, "Something broke"),
        (x.reply(200, {"error": True, "message": "odd"}), XTrouble.REFUSED, "odd"),
        (x.reply(200, {"errors": [{"message": "no such user"}]}), XTrouble.REFUSED, "no such user"),
        (x.reply(200, {"status": "error", "code": 402, "msg": "top up"}), XTrouble.NO_CREDIT, "top up"),
        (x.reply(200, {"status": "error", "msg": "Credits is not enough"}), XTrouble.NO_CREDIT, "out of credit"),
        (x.reply(403, {"message": "Insufficient credits. Please recharge"}), XTrouble.NO_CREDIT, "out of credit"),
        (x.reply(200, {"status": "error", "msg": "@credit: User not found"}), XTrouble.USER_NOT_FOUND, "not found"),
        (x.not_json(), XTrouble.UNREADABLE, "not JSON"),
        (x.reply(200, [1, 2]), XTrouble.UNREADABLE, "not JSON"),
        (x.reply(200, {"status": "success", "msg": "success"}), XTrouble.UNREADABLE, "without any list"),
        (x.reply(200, {}), XTrouble.UNREADABLE, "without any list"),
    ],
)
@pytest.mark.proves("D-18", "R-29", "R-30")
async def test_what_another_attempt_cannot_mend_fails_this_user_at_once(answer, trouble, words):
    source = provider()
    source.fail("ada", answer)
    async with working(source) as bench:
        with pytest.raises(XError, match=words) as refusal:
            await bench.pages(ADA)
        assert len(bench.provider.requests) == 1
        assert (await bench.pages(ADA))[0].count == 5
    assert refusal.value.trouble is trouble
    assert not refusal.value.stops_everything


@pytest.mark.parametrize(
    "body",
    [
        {"status": "success", "data": {"tweets": [], "pin_tweet": None}},
        {"status": None, "tweets": []},
        {"data": None, "msg": None},
        {"meta": {"result_count": 0}},
    ],
)
async def test_a_page_without_tweets_is_one_however_it_is_said(body):
    source = provider()
    source.fail("ada", x.reply(200, body))
    async with working(source) as bench:
        [page] = await bench.pages(ADA)
    assert (page.count, page.next_cursor) == (0, None)


@pytest.mark.parametrize("mishap", [x.too_fast(), x.broken(), x.silent()])
async def test_what_may_pass_is_tried_again_after_one_two_and_four_seconds(mishap):
    source = provider()
    source.fail("ada", mishap, mishap, mishap)
    async with working(source, timeout_seconds=0.3) as bench:
        [page] = await bench.pages(ADA)
    assert page.count == 5
    assert bench.waits == [1, 2, 4]
    assert bench.spending.pages == 1


async def test_after_the_last_retry_the_trouble_is_told():
    source = provider()
    source.fail("ada", *[x.too_fast()] * 4)
    async with working(source) as bench:
        with pytest.raises(XError, match="one request every 5 seconds") as refusal:
            await bench.pages(ADA)
    assert refusal.value.trouble is XTrouble.RATE_LIMITED
    assert len(bench.provider.requests) == 4


async def test_a_provider_that_never_answers_is_a_timeout():
    source = provider()
    source.fail("ada", *[x.silent()] * 2)
    async with working(source, timeout_seconds=0.2, max_retries=1) as bench:
        with pytest.raises(TimedOut):
            await bench.pages(ADA)
    assert bench.waits == [1]


def asking_for_patience(status: int, value: str) -> Answer:
    answer = x.reply(status, {"error": "Too Many Requests", "message": "slow down"})
    return replace(answer, headers=(*answer.headers, ("Retry-After", value)))


@pytest.mark.proves("R-30")
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_followed(status):
    source = provider()
    source.fail("ada", asking_for_patience(status, "7"), asking_for_patience(status, "1"))
    async with working(source) as bench:
        assert (await bench.pages(ADA))[0].count == 5
    assert bench.waits == [7, 2]


@pytest.mark.proves("R-30")
async def test_a_wait_that_is_too_long_to_sit_through_is_told_to_whoever_asked():
    source = provider()
    source.fail("ada", asking_for_patience(429, "900"))
    async with working(source) as bench:
        with pytest.raises(XError) as refusal:
            await bench.pages(ADA)
    assert (refusal.value.trouble, refusal.value.retry_after) == (XTrouble.RATE_LIMITED, 900)
    assert (bench.waits, len(bench.provider.requests)) == ([], 1)


def test_waits_double_up_to_a_minute():
    assert [wait_seconds(attempt) for attempt in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]


@pytest.mark.proves("D-18")
async def test_an_error_tells_what_was_said_but_never_the_key(log):
    source = provider()
    source.fail(
        "ada", x.reply(400, {"detail": f"no such key {KEY}", "api_key": "another-secret", "padding": "." * 2000})
    )
    async with working(source) as bench:
        with pytest.raises(XError) as refusal:
            await bench.pages(ADA)
    told = f"{refusal.value!r} {refusal.value} {refusal.value.response} {log}"
    assert KEY not in told
    assert "another-secret" not in told
    assert "no such key" in refusal.value.response
    assert len(refusal.value.response) == 500


async def test_what_the_provider_says_of_a_key_outlives_the_striking_out_of_secrets():
    source = provider()
    source.fail("ada", x.reply(401, {"error": "Unauthorized", "message": "Unauthorized: this key was revoked"}))
    async with working(source) as bench:
        with pytest.raises(XError) as refusal:
            await bench.pages(ADA)
    told = redact_text(str(refusal.value))
    assert told == "X's provider refuses the key; check TWITTER_API_KEY (Unauthorized: this key was revoked)"


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_limit_below_one_is_refused_without_a_call(limit):
    async with working(provider()) as bench:
        with pytest.raises(InvalidInput):
            await bench.pages(ADA, limit=limit)
    assert bench.provider.requests == []


async def test_at_the_cap_nothing_more_is_asked_for():
    async with working(provider(90)) as bench:
        bench.spending.cap = 2
        with pytest.raises(XError, match="the cap is reached") as refusal:
            await bench.pages(ADA)
    assert len(bench.provider.requests) == 2
    assert (refusal.value.trouble, refusal.value.retry_after) == (XTrouble.CAP_REACHED, 60)
    assert refusal.value.stops_everything


@pytest.mark.parametrize(
    "body",
    [
        {"tweets": [], "has_next_page": True, "next_cursor": "on"},
        {"tweets": [{"id": "1"}], "has_next_page": True, "next_cursor": "same"},
        {"tweets": [{"id": "1"}], "has_next_page": True, "next_cursor": ""},
        {"tweets": [{"id": "1"}], "has_next_page": True},
    ],
)
async def test_paging_that_leads_nowhere_comes_to_an_end(body):
    source = provider()
    source.fail("ada", *[x.reply(200, body)] * 10)
    async with working(source) as bench:
        assert len(await bench.pages(ADA)) <= 2


async def test_another_site_is_not_told_the_key():
    elsewhere = []
    source = provider()
    async with working(source) as bench, working(provider()) as other:
        port = other.client._base_url
        source.fail("ada", Answer(status=302, headers=(("Location", f"{port}/user/last_tweets?userName=ada"),)))
        with pytest.raises(XError, match="API key required"):
            await bench.pages(ADA)
        elsewhere += other.provider.requests
    assert ["x-api-key" in request.headers for request in elsewhere] == [False]


@pytest.mark.parametrize("rate", [0.2, 1.0, 20.0, 500.0])
def test_requests_start_no_faster_than_the_key_allows(rate):
    pace, starts, now = HostPace(key_pace(rate)), [], 0.0
    for _ in range(40):
        now = pace.earliest(now)
        pace.started(now)
        starts.append(now)
    assert min(after - before for before, after in pairwise(starts)) >= 1 / rate - 1e-9


async def test_users_side_by_side_share_one_pace():
    users = {f"u{number}": timeline(f"u{number}", 3, at=START) for number in range(8)}
    async with working(XProvider(key=KEY, users=users), requests_per_second=100.0) as bench:
        started = asyncio.get_running_loop().time()
        await asyncio.gather(*(bench.pages(user_timeline(name)) for name in users))
        assert asyncio.get_running_loop().time() - started >= 7 / 100 - 0.005
