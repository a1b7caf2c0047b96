"""Reading platforms over real sockets: with cookies of the pool, in time, at the pace that was set."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from itertools import count, pairwise
from pathlib import Path
from time import monotonic
from typing import TypeVar

import pytest
from sqlalchemy import Connection, select

from catchment.bootstrap import open_system
from catchment.clock import ManualClock, SystemClock
from catchment.domain.cookie import CookieStatus
from catchment.domain.crawl_errors import HANDLING, Code, CrawlError
from catchment.domain.note import NoteRef, Platform, Search, hashed_id
from catchment.simulator.services.keyword_platforms import TroubleKind
from catchment.sources.platforms.reader import ReadPolicy
from catchment.sources.platforms.request import Allowance, Waiting
from catchment.sources.platforms.search import patiently
from catchment.store import fetch_log
from catchment.store.platform_tables import crawl_minutes as minutes
from crawler_site import START, CrawlerSite, crawler_site, session_of

COFFEE = Search(keyword="咖啡")
XHS = Platform.XHS
T = TypeVar("T")


@pytest.fixture
async def crawler(sqlite_url: str) -> AsyncIterator[CrawlerSite]:
    async with crawler_site(sqlite_url, ManualClock(START)) as site:
        yield site


@pytest.fixture
async def impatient(sqlite_url: str) -> AsyncIterator[CrawlerSite]:
    """Waits no longer than it has to, for what never answers; a busy machine may answer later than that."""
    async with crawler_site(sqlite_url, ManualClock(START), detail_timeout=1.0) as site:
        yield site


async def status_of(crawler: CrawlerSite, name: str) -> tuple[CookieStatus, int]:
    cookie = await crawler.system.cookies.get(name)
    return cookie.status, cookie.total_errors


@pytest.mark.proves("E-13")
@pytest.mark.parametrize("platform", [Platform.XHS, Platform.WEIBO])
async def test_a_search_and_its_notes_are_read_with_a_cookie_of_the_platform(crawler: CrawlerSite, platform: Platform):
    await crawler.add_cookies("of xhs")
    await crawler.add_cookies("of weibo", platform=Platform.WEIBO)
    reader = crawler.system.reader
    outcome = await reader.search(platform, COFFEE)
    assert outcome.cookie_used == {Platform.XHS: "of xhs", Platform.WEIBO: "of weibo"}[platform]
    assert outcome.retry_count == 0
    assert outcome.latency > timedelta()
    note = (await reader.note(outcome.result().cards[0].ref, comments_limit=12)).result()
    assert note.content
    assert 0 < len(note.comments) <= 12
    assert note.ref == outcome.result().cards[0].ref


async def test_who_wrote_a_note_is_made_unrecognisable_unless_that_is_to_be_kept(tmp_path: Path):
    async def read(*, keep: bool) -> tuple[set[str], set[str]]:
        store_url = f"sqlite:///{tmp_path / str(keep)}.sqlite3"
        async with crawler_site(store_url, ManualClock(START), crawl_keep_authors=keep) as crawler:
            await crawler.add_cookies("a")
            page = (await crawler.system.reader.search(XHS, COFFEE)).result()
            note = (await crawler.system.reader.note(page.cards[0].ref, comments_limit=20)).result()
            people = [*(card.author for card in page.cards), note.author, *(one.author for one in note.comments)]
            people += [reply.author for one in note.comments for reply in one.replies]
            return {one.id for one in people}, {one.name for one in people}

    kept_ids, kept_names = await read(keep=True)
    ids, names = await read(keep=False)
    assert ids == {hashed_id(one) for one in kept_ids}
    assert not names & kept_names
    assert all("*" in name for name in names)


@pytest.mark.proves("E-08")
@pytest.mark.parametrize("kind", [TroubleKind.LOGIN_EXPIRED, TroubleKind.BANNED])
async def test_a_dead_cookie_is_switched_within_the_batch_and_found_dead_once(crawler: CrawlerSite, kind: TroubleKind):
    await crawler.add_cookies("1 dead", "2 well")
    refs = await crawler.refs(4)
    crawler.xhs.trouble(kind, cookie=session_of("1 dead"))
    outcomes = await crawler.system.reader.batch(refs)
    assert [outcome.error for outcome in outcomes] == [None] * 4
    assert {outcome.cookie_used for outcome in outcomes} == {"2 well"}
    assert sum(outcome.retry_count for outcome in outcomes) >= 1
    _, errors = await status_of(crawler, "1 dead")
    assert errors == 1, "one cause counts once in a batch"
    assert await status_of(crawler, "2 well") == (CookieStatus.ACTIVE, 0)


@pytest.mark.proves("E-10")
@pytest.mark.parametrize("names", ["a", "abc"])
async def test_checks_of_cookies_keep_the_pace_of_the_platform_and_of_each_cookie(sqlite_url: str, names: str):
    spacing = 0.4
    paced = {"crawl_at_once": 1, "crawl_spacing_seconds": spacing}
    async with crawler_site(sqlite_url, ManualClock(START), **paced) as crawler:
        await crawler.add_cookies(*names)
        began = monotonic()
        for name in (names * 3)[:3]:
            assert (await crawler.system.cookies.check(name)).is_valid
        assert monotonic() - began > 2 * spacing * 0.9


@pytest.mark.proves("E-10")
async def test_a_cookie_used_elsewhere_a_moment_ago_is_checked_when_its_time_has_come(sqlite_url: str):
    paced = {"crawl_at_once": 1, "crawl_spacing_seconds": 0.4}
    clock = ManualClock(START)
    async with crawler_site(sqlite_url, clock, **paced) as crawler:
        await crawler.add_cookies("a")
        async with open_system(crawler.system.settings, clock=clock) as elsewhere:
            assert (await elsewhere.reader.search(XHS, COFFEE)).error is None
        began = monotonic()
        assert (await crawler.system.cookies.check("a")).is_valid
        assert monotonic() - began > 0.4 * 0.9


async def test_a_cookie_that_was_asked_for_by_name_is_not_replaced(crawler: CrawlerSite):
    await crawler.add_cookies("asked for", "another")
    crawler.xhs.trouble(TroubleKind.LOGIN_EXPIRED, cookie=session_of("asked for"))
    outcome = await crawler.system.reader.search(XHS, COFFEE, cookie_name="asked for")
    assert outcome.error is not None
    assert (outcome.error.code, outcome.cookie_used, outcome.retry_count) == (Code.COOKIE_INVALID, "asked for", 0)


async def test_when_all_cookies_are_dead_the_last_ones_fault_is_told(crawler: CrawlerSite):
    await crawler.add_cookies("a", "b")
    crawler.xhs.trouble(TroubleKind.LOGIN_EXPIRED)
    outcome = await crawler.system.reader.search(XHS, COFFEE)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.retry_count) == (Code.COOKIE_INVALID, 1)


async def test_no_more_than_three_other_cookies_are_tried(crawler: CrawlerSite):
    await crawler.add_cookies(*"abcdef")
    crawler.xhs.trouble(TroubleKind.LOGIN_EXPIRED)
    outcome = await crawler.system.reader.search(XHS, COFFEE)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.retry_count) == (Code.COOKIE_INVALID, 3)
    assert len(crawler.xhs.requests) == 4


async def test_without_a_cookie_the_pool_is_exhausted(crawler: CrawlerSite):
    outcome = await crawler.system.reader.search(XHS, COFFEE)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.cookie_used) == (Code.COOKIE_EXHAUSTED, None)
    assert crawler.xhs.requests == []


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (TroubleKind.CAPTCHA, Code.RATE_LIMITED),
        (TroubleKind.SERVER_ERROR, Code.PLATFORM_ERROR),
        (TroubleKind.MALFORMED, Code.PARSE_ERROR),
        (TroubleKind.GONE, Code.NOT_FOUND),
    ],
)
async def test_what_is_not_the_cookies_end_is_given_up_with_its_code(
    crawler: CrawlerSite, kind: TroubleKind, code: Code
):
    await crawler.add_cookies("a", "b")
    [ref] = await crawler.refs(1)
    asked = len(crawler.xhs.requests)
    crawler.xhs.trouble(kind)
    outcome = await crawler.system.reader.note(ref)
    assert outcome.error is not None
    assert (outcome.error.code, outcome.retry_count) == (code, 0)
    assert len(crawler.xhs.requests) == asked + 1


@pytest.mark.proves("E-08")
async def test_of_three_notes_one_hangs_and_the_others_do_not_wait_for_it(impatient: CrawlerSite):
    crawler = impatient
    await crawler.add_cookies("a", "b", "c")
    refs = await crawler.refs(3)
    crawler.xhs.trouble(TroubleKind.SILENT, note=refs[0].note_id)
    hung, *others = await crawler.system.reader.batch(refs)
    assert hung.error is not None
    assert (hung.error.code, hung.error.details["timeout_seconds"]) == (Code.TIMEOUT_ERROR, 1.0)
    assert [other.error for other in others] == [None, None]
    assert max(other.latency for other in others) < hung.latency
    assert await status_of(crawler, hung.cookie_used or "") == (CookieStatus.ACTIVE, 0)


@pytest.mark.proves("E-08", "E-19")
async def test_a_batch_ends_in_time_and_what_is_not_done_by_then_has_timed_out(sqlite_url: str):
    async with crawler_site(sqlite_url, ManualClock(START), detail_timeout=30.0, detail_batch_timeout=1.0) as crawler:
        await crawler.add_cookies("only one")
        refs = await crawler.refs(3)
        crawler.xhs.trouble(TroubleKind.SILENT, note=refs[1].note_id)
        outcomes = await crawler.system.reader.batch(refs, comments_limit=5)
        failed = [outcome for outcome in outcomes if outcome.error]
        assert outcomes[1] in failed
        assert {outcome.error.code for outcome in failed if outcome.error} == {Code.TIMEOUT_ERROR}
        assert {outcome.error.details["timeout_seconds"] for outcome in failed if outcome.error} == {1.0}
        # Its only cookie is free again.
        assert (await crawler.system.reader.note(refs[0])).error is None


@pytest.mark.proves("R-33")
async def test_a_batch_of_twenty_notes_succeeds_at_the_pace_that_is_set(sqlite_url: str):
    """The defaults, twenty times as fast: 60 s for a batch, 2 s between requests, one at a time, ten comments each."""
    paced = {"crawl_at_once": 1, "crawl_spacing_seconds": 0.1, "detail_batch_timeout": 3.0}
    async with crawler_site(sqlite_url, SystemClock(), **paced) as crawler:
        await crawler.add_cookies("a")
        refs = await crawler.refs(20)
        outcomes = await crawler.system.reader.batch(refs, comments_limit=10)
    assert [outcome.error or outcome.comments_error for outcome in outcomes] == [None] * 20


@pytest.mark.proves("R-33")
@pytest.mark.parametrize(
    ("notes", "comments", "spacing", "seconds"),
    [(1, 0, 2.0, 64), (20, 0, 2.0, 140), (20, 50, 2.0, 540), (20, 50, 0.0, 60), (20, 50, 4.0, 1020)],
)
def test_the_time_of_a_batch_grows_with_its_size_and_pace(notes: int, comments: int, spacing: float, seconds: float):
    assert ReadPolicy(spacing_seconds=spacing).seconds_for(notes, comments_limit=comments) == seconds


async def test_a_note_is_not_lost_with_its_comments(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    [ref] = await crawler.refs(1)

    def break_after_the_note() -> None:
        crawler.xhs.trouble(TroubleKind.ODD, note=ref.note_id)

    crawler.xhs.notes.find = _noticed(crawler.xhs.notes.find, break_after_the_note)  # type: ignore[method-assign]
    outcome = await crawler.system.reader.note(ref, comments_limit=5)
    assert outcome.result().title
    assert outcome.result().comments == ()
    assert outcome.comments_error is not None
    assert outcome.comments_error.code is Code.PLATFORM_ERROR


@pytest.mark.proves("E-13")
async def test_comments_that_came_are_kept_when_the_next_page_does_not(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    ref = await most_commented(crawler)
    # The note and the first page of its comments are looked up; then it breaks.
    break_after(crawler, ref, TroubleKind.SERVER_ERROR, looks=2)
    outcome = await crawler.system.reader.note(ref, comments_limit=200)
    assert len(outcome.result().comments) == 10
    assert outcome.comments_error is not None
    assert outcome.comments_error.code is Code.PLATFORM_ERROR
    alone = await crawler.system.reader.comments(ref, limit=200)
    assert (alone.value, alone.error and alone.error.code) == ((), Code.PLATFORM_ERROR)


@pytest.mark.proves("E-13")
async def test_comments_that_came_are_kept_when_the_next_page_takes_too_long(impatient: CrawlerSite):
    crawler = impatient
    await crawler.add_cookies("a")
    ref = await most_commented(crawler)
    break_after(crawler, ref, TroubleKind.SILENT, looks=1)
    outcome = await crawler.system.reader.comments(ref, limit=200)
    assert outcome.error is not None
    assert (len(outcome.value or ()), outcome.error.code) == (10, Code.TIMEOUT_ERROR)
    assert all("*" in comment.author.name for comment in outcome.value or ()), "nobody is named here either"


def break_after(crawler: CrawlerSite, ref: NoteRef, kind: TroubleKind, *, looks: int) -> None:
    """Trouble for this note, once the platform has looked it up so often."""
    looked = count(1)

    def notice() -> None:
        if next(looked) == looks:
            crawler.xhs.trouble(kind, note=ref.note_id)

    crawler.xhs.notes.find = _noticed(crawler.xhs.notes.find, notice)  # type: ignore[method-assign]


async def most_commented(crawler: CrawlerSite) -> NoteRef:
    """A note whose comments are on several pages."""
    page = (await crawler.system.reader.search(XHS, COFFEE)).result()
    return max(page.cards, key=lambda card: card.counts.comments or 0).ref


@pytest.mark.proves("E-10")
async def test_a_cookies_daily_limit_counts_reads_however_many_requests_they_take(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    ref = await most_commented(crawler)
    asked = len(crawler.xhs.requests)
    await crawler.system.reader.note(ref, comments_limit=200)
    assert len(crawler.xhs.requests) - asked > 3
    assert (await crawler.system.cookies.get("a")).daily_used == 3, "the search, the note, its comments"


async def test_a_note_whose_token_nobody_knows_is_not_even_asked_for(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    outcome = await crawler.system.reader.note(NoteRef(platform=XHS, note_id="69a42a40c6681ef00000003b"))
    assert outcome.error is not None
    assert (outcome.error.code, outcome.cookie_used) == (Code.INVALID_INPUT, None)
    assert crawler.xhs.requests == []


@pytest.mark.proves("E-13")
async def test_a_platform_gets_one_request_at_a_time_and_so_far_apart(sqlite_url: str):
    spacing = 0.4
    async with crawler_site(
        sqlite_url, ManualClock(START), crawl_at_once=1, crawl_spacing_seconds=spacing, detail_timeout=1.0
    ) as crawler:
        # As many cookies as notes: what holds them back is the platform's pace alone.
        await crawler.add_cookies("a", "b", "c", "d", "e", "f", "g")
        sent: list[float] = []
        when = _noticed(crawler.xhs.notes.find, lambda: sent.append(monotonic()))
        crawler.xhs.notes.find = when  # type: ignore[method-assign]
        refs = await crawler.refs(6)
        outcomes = await crawler.system.reader.batch(refs)
        # They waited for longer than any of them may take, at nobody's expense.
        assert max(outcome.latency.total_seconds() for outcome in outcomes) > 1.5
        assert [outcome.error for outcome in outcomes] == [None] * 6
        assert all(later - earlier > spacing * 0.8 for earlier, later in pairwise(sent))


def _noticed(find: Callable[..., T], notice: Callable[[], None]) -> Callable[..., T]:
    """The simulated platform looks a note up, and we hear of it."""

    def found(*args: object) -> T:
        notice()
        return find(*args)

    return found


@pytest.mark.proves("E-12")
async def test_each_read_counts_in_its_minute(crawler: CrawlerSite):
    await crawler.add_cookies("a")
    [ref] = await crawler.refs(1)
    for kind in (TroubleKind.GONE, TroubleKind.SERVER_ERROR):
        crawler.xhs.trouble(kind, note=ref.note_id, times=1)
        await crawler.system.reader.note(ref)

    def count(conn: Connection) -> fetch_log.Requests:
        [row] = conn.execute(select(minutes)).all()
        assert row.minute == START
        return fetch_log.count_requests(conn, START)["xhs"]

    # The search, and the note that is gone: the platform answered. It did not when it broke.
    assert await crawler.system.store.read(count) == fetch_log.Requests(ok=2, failed=1)


@pytest.mark.proves("E-09", "E-21")
@pytest.mark.parametrize("code", Code)
async def test_what_may_pass_is_tried_again_as_often_and_as_late_as_the_table_says(code: Code):
    waits: list[float] = []
    tries = 0

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def fail() -> None:
        nonlocal tries
        tries += 1
        raise CrawlError(code, "no")

    with pytest.raises(CrawlError):
        await patiently(fail, sleep=sleep)
    assert waits == [wait.total_seconds() for wait in HANDLING[code].waits]
    assert tries == len(waits) + 1


async def test_whoever_says_when_to_come_back_is_believed():
    answers = [CrawlError(Code.COOKIE_COOLING, "resting", retry_after=90.0), None]
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async def work() -> str:
        if error := answers.pop(0):
            raise error
        return "well"

    assert await patiently(work, sleep=sleep) == "well"
    assert waits == [90.0]


async def test_time_passes_only_while_it_is_not_paused_and_over_all_parts_together(monkeypatch):
    loop, passed = asyncio.get_running_loop(), [0.0]
    real_time = loop.time
    monkeypatch.setattr(loop, "time", lambda: real_time() + sum(passed))
    allowance = Allowance(60.0)
    async with allowance.running():
        allowance.pause()
        passed.append(1000.0)
        assert allowance.resume() > 50
        passed.append(40.0)

    async def take_too_long() -> None:
        async with allowance.running():
            passed.append(30.0)
            await asyncio.Event().wait()

    with pytest.raises(CrawlError) as caught:
        await take_too_long()
    assert (caught.value.code, caught.value.details) == (Code.TIMEOUT_ERROR, {"timeout_seconds": 60.0})


async def test_who_waits_without_an_end_is_never_told_that_time_is_up():
    async with Waiting(None).ends_in_time():
        await asyncio.sleep(0)
    with pytest.raises(CrawlError):
        async with Waiting(0.01).ends_in_time():
            await asyncio.Event().wait()
