"""The cookie pool at work: who gets which cookie, who waits, what each ending means, and that nobody keeps one."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from catchment.clock import SystemClock
from catchment.domain.cookie import CookiePolicy, CookieStatus
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Platform
from catchment.domain.run import RunKind
from catchment.engine.leases import LeasePolicy, owner_name, recover
from catchment.errors import SettingsError
from catchment.platforms.cookies import CookieSeal, StoredCookiePool
from catchment.store import cookies, runs
from cookie_factory import MINUTE, a_cookie, a_seal
from eventually import eventually
from planted import MARKER, planted_cookie

pytestmark = pytest.mark.proves("E-10")
VALUE = planted_cookie()


@pytest.fixture
def make_pool(store, clock):
    def make(*, seal=None, clock=clock, **policy):
        leases = LeasePolicy(owner=owner_name(), duration=timedelta(seconds=60))
        return StoredCookiePool(
            store=store, seal=seal or a_seal(), clock=clock, leases=leases, policy=CookiePolicy(**policy)
        )

    return make


@pytest.fixture
def pool(make_pool):
    return make_pool()


@pytest.fixture
def add(store):
    async def add_(name="a", *, value=VALUE, **values):
        cookie = a_cookie(name, **{"sealed": a_seal().seal(name, value), **values})
        assert await store.write(cookies.add, cookie)

    return add_


async def use(pool, error=None, **asked):
    async with pool.lend(Platform.XHS, **asked) as lent:
        if error is not None:
            raise error
    return lent.name


async def refused(pool, code, **asked):
    with pytest.raises(CrawlError) as failure:
        await use(pool, **asked)
    assert failure.value.code is code
    return failure.value


async def stored(store, name="a"):
    return await store.read(cookies.get, name)


def fault(cause="captcha"):
    return CrawlError(Code.RATE_LIMITED, "no", details={"cause": cause})


async def test_a_cookie_is_lent_with_its_value_and_given_back(store, pool, add):
    await add()
    async with pool.lend(Platform.XHS) as lent:
        assert (lent.name, lent.platform, lent.value) == ("a", Platform.XHS, VALUE)
        assert await store.read(cookies.lent_names) == {"a"}
    assert await store.read(cookies.lent_names) == set()
    assert (await stored(store)).total_used == 1


class TestHowABlockEnds:
    async def end(self, pool, error):
        with pytest.raises(type(error)):
            await use(pool, error)

    @pytest.mark.parametrize(
        ("error", "errors", "status"),
        [
            (fault(), 1, CookieStatus.ACTIVE),
            (CrawlError(Code.COOKIE_INVALID, "no"), 1, CookieStatus.ACTIVE),
            (CrawlError(Code.ACCOUNT_BANNED, "no"), 1, CookieStatus.BANNED),
            (CrawlError(Code.NOT_FOUND, "no"), 0, CookieStatus.ACTIVE),
            (CrawlError(Code.TIMEOUT_ERROR, "no"), 0, CookieStatus.ACTIVE),
            (RuntimeError("broken"), 0, CookieStatus.ACTIVE),
        ],
    )
    async def test_it_counts_against_the_cookie_or_not_and_is_given_back(self, store, pool, add, error, errors, status):
        await add()
        await self.end(pool, error)
        after = await stored(store)
        assert (after.total_errors, after.status) == (errors, status)
        assert await store.read(cookies.lent_names) == set()

    async def test_who_runs_out_of_time_gives_it_back_uncounted(self, store, pool, add):
        await add(consecutive_errors=1, total_errors=1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), pool.lend(Platform.XHS):
                await asyncio.Event().wait()
        after = await stored(store)
        assert (after.consecutive_errors, after.total_errors) == (1, 1)
        assert await store.read(cookies.lent_names) == set()

    async def test_three_errors_in_a_row_and_it_rests_for_half_an_hour(self, store, pool, add, clock, log):
        await add()
        for _ in range(3):
            await self.end(pool, fault())
        assert (await stored(store)).cooling_until == clock.now() + 30 * MINUTE
        assert "WARNING cookie a: active → cooling" in log
        clock.advance(30 * MINUTE)
        assert await use(pool) == "a"

    async def test_one_cause_counts_once_in_a_batch(self, store, pool, add):
        await add()
        blamed: set[tuple[str, str]] = set()
        for error in (fault(), fault(), CrawlError(Code.COOKIE_INVALID, "no"), fault()):
            with pytest.raises(CrawlError):
                await use(pool, error, blamed=blamed)
        assert (await stored(store)).total_errors == 2
        assert blamed == {("a", "captcha"), ("a", "COOKIE_INVALID")}


class TestWhoWaits:
    async def test_whoever_finds_all_lent_out_waits_for_one_to_come_back(self, pool, add):
        await add()
        async with pool.lend(Platform.XHS):
            waiting = asyncio.create_task(use(pool))
            done, _ = await asyncio.wait([waiting], timeout=0.1)
            assert not done
        assert await asyncio.wait_for(waiting, 5) == "a"

    async def test_also_for_one_that_another_process_holds(self, store, make_pool, add):
        await add()
        here, there = make_pool(), make_pool()
        async with there.lend(Platform.XHS):
            waiting = asyncio.create_task(use(here))
            await eventually(lambda: store.read(cookies.lent_names))
        assert await asyncio.wait_for(waiting, 5) == "a"

    async def test_one_cookie_is_not_used_twice_within_the_spacing(self, store, make_pool, add):
        await add()
        pool = make_pool(clock=SystemClock(), spacing=timedelta(seconds=0.3))
        await use(pool)
        given_back = (await stored(store)).last_used_at
        async with asyncio.timeout(10), pool.lend(Platform.XHS):
            lent_again = (await stored(store)).last_used_at
        assert lent_again - given_back >= timedelta(seconds=0.3)

    async def test_a_cookie_that_is_added_meanwhile_is_taken(self, pool, add):
        await add()
        async with pool.lend(Platform.XHS):
            waiting = asyncio.create_task(use(pool))
            await add("b")
            assert await asyncio.wait_for(waiting, 5) == "b"


class TestNoneToWaitFor:
    async def test_an_empty_pool_is_exhausted_and_says_how_to_fill_it(self, pool, add):
        await add(platform=Platform.WEIBO)
        error = await refused(pool, Code.COOKIE_EXHAUSTED)
        assert "catchment cookies add" in str(error)
        assert error.retry_after is None

    async def test_a_pool_that_rests_says_when_the_next_is_back(self, pool, add, clock):
        until = clock.now() + 20 * MINUTE
        await add(status=CookieStatus.COOLING, cooling_until=until)
        error = await refused(pool, Code.COOKIE_EXHAUSTED)
        assert error.retry_after == 1200
        assert error.details["next_back_at"] == until.isoformat()

    async def test_those_that_failed_already_are_not_waited_for(self, pool, add):
        await add("a")
        await add("b")
        assert await use(pool, excluded=frozenset({"a"})) == "b"
        await refused(pool, Code.COOKIE_EXHAUSTED, excluded=frozenset({"a", "b"}))

    async def test_the_one_that_is_asked_for_says_that_it_rests(self, pool, add, clock):
        await add("a", status=CookieStatus.COOLING, cooling_until=clock.now() + MINUTE)
        await add("b")
        error = await refused(pool, Code.COOKIE_COOLING, name="a")
        assert error.retry_after == 60
        assert await use(pool, name="b") == "b"

    @pytest.mark.parametrize(
        ("values", "reason"),
        [
            ({"is_enabled": False}, "it is disabled"),
            ({"status": CookieStatus.INVALID}, "it is invalid"),
            ({"daily_limit": 1, "daily_used": 1}, "its 1 reads of today are used up"),
            ({"platform": Platform.WEIBO}, "There is no cookie 'a' of xhs"),
        ],
    )
    async def test_the_one_that_is_asked_for_says_why_it_cannot_be_used(self, pool, add, clock, values, reason):
        await add("a", used_on=clock.now().date(), **values)
        error = await refused(pool, Code.COOKIE_EXHAUSTED, name="a")
        assert reason in str(error)


class TestProbes:
    async def answer(self, pool, known):
        async def ask(lent):
            assert lent.value == VALUE
            return known

        return await pool.check("a", ask)

    @pytest.mark.parametrize(
        ("before", "known", "status"),
        [
            (CookieStatus.ACTIVE, True, CookieStatus.ACTIVE),
            (CookieStatus.ACTIVE, False, CookieStatus.INVALID),
            (CookieStatus.COOLING, True, CookieStatus.COOLING),
            (CookieStatus.COOLING, False, CookieStatus.BANNED),
            (CookieStatus.INVALID, True, CookieStatus.INVALID),
        ],
    )
    async def test_a_cookie_that_the_platform_does_not_know_is_out(
        self, store, pool, add, clock, before, known, status
    ):
        until = clock.now() + MINUTE if before is CookieStatus.COOLING else None
        await add(status=before, cooling_until=until, cooling_since=clock.now() - MINUTE)
        assert await self.answer(pool, known) is known
        after = await stored(store)
        assert (after.status, after.total_used) == (status, 0)
        assert await store.read(cookies.lent_names) == set()

    async def test_an_error_while_it_rests_is_a_ban(self, store, pool, add, clock):
        until = clock.now() + MINUTE
        await add(status=CookieStatus.COOLING, cooling_until=until, cooling_since=clock.now() - MINUTE)

        async def ask(lent):
            raise fault()

        with pytest.raises(CrawlError):
            await pool.check("a", ask)
        assert (await stored(store)).status is CookieStatus.BANNED


class TestSecrets:
    @pytest.mark.proves("E-07")
    async def test_no_text_of_ours_tells_the_value(self, store, pool, add, log):
        await add()
        async with pool.lend(Platform.XHS) as lent:
            texts = [repr(lent), str(lent), repr(await stored(store)), repr(pool), repr(pool.__dict__)]
        error = await refused(pool, Code.COOKIE_EXHAUSTED, name="b")
        texts += [str(error), repr(error.details), *log]
        assert not [text for text in texts if MARKER in text]

    @pytest.mark.proves("E-07")
    async def test_a_value_that_does_not_open_is_passed_over_and_named_in_the_log(self, store, pool, add, log):
        await add("a", priority=9, sealed="v2:key_v0:AAAA")
        await add("b")
        assert await use(pool) == "b"
        assert any("cookie a is passed over" in line and "'key_v0'" in line for line in log)
        assert await store.read(cookies.lent_names) == set()
        await refused(pool, Code.COOKIE_EXHAUSTED, name="a")

    @pytest.mark.proves("E-07")
    async def test_a_value_opens_only_under_the_name_it_was_sealed_for(self, pool, add):
        await add("a", sealed=a_seal().seal("b", VALUE))
        await refused(pool, Code.COOKIE_EXHAUSTED)

    async def test_without_a_key_the_variable_to_set_is_named_and_nothing_stays_lent(self, store, make_pool, add):
        await add()
        pool = make_pool(seal=CookieSeal(vault=None, key_id="key_v1"))
        with pytest.raises(SettingsError, match="COOKIE_MASTER_KEY"):
            await use(pool)
        assert await store.read(cookies.lent_names) == set()


class TestDeath:
    async def test_the_cookie_of_a_holder_without_heartbeat_is_free_once_its_lease_is_over(
        self, store, pool, add, clock
    ):
        await add()
        elsewhere = {"owner": "another-host:1:x", "now": clock.now(), "until": clock.now() + MINUTE}
        await store.write(runs.start, RunKind.COOKIE, "a", **elsewhere)
        waiting = asyncio.create_task(use(pool))
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        clock.advance(MINUTE)
        assert await asyncio.wait_for(waiting, 5) == "a"

    async def test_who_is_interrupted_while_claiming_leaves_nothing_lent(self, store, pool, add):
        await add()
        for _ in range(20):
            claiming = asyncio.create_task(use(pool))
            await asyncio.sleep(0)
            claiming.cancel()
            await asyncio.gather(claiming, return_exceptions=True)
        assert await eventually(lambda: _nothing_lent(store))

    async def test_kill_9_of_a_holder_frees_its_cookie(self, store, store_url, make_pool, add, tmp_path, fork_server):
        await add()
        async with holder(fork_server, store_url, tmp_path, times=0) as process:
            assert await says(process) == "holds a"
            assert await store.read(cookies.lent_names) == {"a"}
            assert await recover(store, SystemClock()) == []
            process.send_signal(signal.SIGKILL)
            await process.wait()
        assert await asyncio.wait_for(use(make_pool(clock=SystemClock())), 10) == "a"

    async def test_two_processes_never_hold_one_cookie_at_once(self, store, store_url, add, tmp_path, fork_server):
        await add("a", daily_limit=1000)
        await add("b", daily_limit=1000)
        both = [holder(fork_server, store_url, tmp_path, 15) for _ in range(2)]
        async with both[0] as one, both[1] as another:
            assert [await says(one), await says(another)] == ["done", "done"]
        known = await store.read(cookies.list_all)
        assert sum(cookie.daily_used for cookie in known) == 30
        assert sum(cookie.total_errors for cookie in known) == 0


async def _nothing_lent(store):
    return not await store.read(cookies.lent_names)


@asynccontextmanager
async def holder(fork_server, store_url, folder, times):
    words = (store_url, str(folder), str(times))
    process = await fork_server.start("cookie_holder", *words, cwd=folder, env=dict(os.environ))
    try:
        yield process
    finally:
        process.kill()
        await process.stdout.read()
        await process.wait()


async def says(process):
    async with asyncio.timeout(40):
        return (await process.stdout.readline()).decode().strip()
