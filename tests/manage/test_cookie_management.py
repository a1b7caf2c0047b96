"""Cookies as an administrator keeps them: sealed, replaced, checked, rotated while they are in use."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text

from catchment.domain.cookie import CookieStatus
from catchment.domain.crawl_errors import Code, CrawlError
from catchment.domain.note import Platform
from catchment.errors import Conflict, InvalidInput, NotFound, SettingsError
from catchment.manage.cookies import CookieChanges, Cookies, shown
from catchment.sources.platforms.reader import PlatformReader, ReadPolicy
from catchment.store import cookies
from cookie_factory import MASTER_KEY, MINUTE
from planted import MARKER, planted_cookie
from stores import on_both_stores, on_sqlite_alone

pytestmark = on_sqlite_alone

VALUE, NEW_VALUE = planted_cookie(), planted_cookie("anew")
#: For where the name of a test shows it.
ANY_VALUE = "a1=whatever; web_session=it; webId=is"
NEW_KEY = "another passphrase that is long enough as well"
KEYED = {"cookie_master_key": MASTER_KEY, "crawl_spacing_seconds": 0.0}
ROTATED = {
    "cookie_master_key": NEW_KEY,
    "cookie_key_id": "key_v2",
    "cookie_earlier_keys": {"key_v1": MASTER_KEY},
    "crawl_spacing_seconds": 0.0,
}


@pytest.fixture
async def system(open_test_system):
    async with open_test_system(**KEYED) as system:
        yield system


async def add(system, name="a", value=VALUE, **settings):
    return await system.cookies.add(name, Platform.XHS, value, settings=CookieChanges(**settings))


async def value_of(system, name="a"):
    async with system.cookies._pool().lend(Platform.XHS, name=name) as lent:
        return lent.value


async def fail(system, code=Code.COOKIE_INVALID):
    with pytest.raises(CrawlError):
        async with system.cookies._pool().lend(Platform.XHS):
            raise CrawlError(code, "no")


def everything_in(conn):
    return [str(row) for row in conn.execute(text("SELECT * FROM cookies"))]


@on_both_stores
@pytest.mark.proves("E-07")
async def test_a_value_goes_in_and_never_comes_out(system, log):
    added = await add(system, description="of Ada")
    texts = [repr(added), str(shown(added)), *map(repr, await system.cookies.list()), *log]
    texts += await system.store.read(everything_in)
    assert not [one for one in texts if MARKER in one]
    assert "sealed" not in repr(added)
    assert added.sealed not in str(shown(added))
    assert await value_of(system) == VALUE


@on_both_stores
@pytest.mark.proves("E-07")
async def test_sealing_one_value_twice_gives_two_texts_that_name_their_key(system):
    one, other = await add(system, "a"), await add(system, "b")
    assert one.sealed != other.sealed
    assert one.sealed.startswith("v2:key_v1:")
    assert one.key_id == "key_v1"


@pytest.mark.proves("E-18")
async def test_adding_a_name_again_replaces_its_value_and_makes_it_active(system, clock):
    first = await add(system, priority=7, daily_limit=5, description="of Ada")
    await fail(system, Code.ACCOUNT_BANNED)
    assert (await system.cookies.get("a")).status is CookieStatus.BANNED
    clock.advance(MINUTE)
    again = await add(system, value=NEW_VALUE, daily_limit=9)
    assert (again.status, again.total_errors, again.total_used) == (CookieStatus.ACTIVE, 0, 1)
    assert (again.priority, again.daily_limit, again.description) == (7, 9, "of Ada")
    assert again.created_at == first.created_at
    assert await value_of(system) == NEW_VALUE
    assert len(await system.cookies.list()) == 1


async def test_an_error_of_the_old_value_is_not_held_against_the_new_one(system, clock):
    await add(system)

    async def use_the_old_one():
        async with system.cookies._pool().lend(Platform.XHS):
            clock.advance(MINUTE)
            await add(system, value=NEW_VALUE)
            raise CrawlError(Code.ACCOUNT_BANNED, "the old one")

    with pytest.raises(CrawlError):
        await use_the_old_one()
    after = await system.cookies.get("a")
    assert (after.status, after.total_errors) == (CookieStatus.ACTIVE, 0)


async def test_a_name_is_of_one_platform(system):
    await add(system)
    with pytest.raises(Conflict, match="is one of xhs"):
        await system.cookies.add("a", Platform.WEIBO, planted_cookie(platform="wb"))


@pytest.mark.proves("R-35")
@pytest.mark.parametrize(
    ("platform", "missing"),
    [
        (Platform.XHS, ("a1",)),
        (Platform.XHS, ("web_session",)),
        (Platform.XHS, ("web_session", "webId")),
        (Platform.WEIBO, ("SUB",)),
        (Platform.DOUYIN, ("LOGIN_STATUS",)),
    ],
)
async def test_a_cookie_that_lacks_what_its_platform_needs_is_refused_by_name_of_the_part(system, platform, missing):
    whole = planted_cookie(platform=platform)
    parts = [part for part in whole.split("; ") if part.partition("=")[0] not in missing]
    for lacking in (parts, [*parts, *(f"{name}=" for name in missing)]):
        with pytest.raises(InvalidInput) as refused:
            await system.cookies.add("b", platform, "; ".join(lacking))
        assert refused.value.field == "value"
        assert all(name in str(refused.value) for name in missing)
        assert MARKER not in str(refused.value)
    assert await system.cookies.list() == []
    assert (await system.cookies.add("b", platform, whole)).name == "b"


@pytest.mark.proves("R-35")
async def test_a_cookie_that_says_itself_that_nobody_is_signed_in_is_refused(system):
    out = planted_cookie(platform="dy").replace("LOGIN_STATUS=1", "LOGIN_STATUS=0")
    with pytest.raises(InvalidInput, match="lacks LOGIN_STATUS=1,"):
        await system.cookies.add("b", Platform.DOUYIN, out)
    assert await system.cookies.list() == []


@pytest.mark.proves("R-35")
async def test_a_new_value_that_lacks_a_part_leaves_the_old_one_in_place(system):
    await add(system)
    with pytest.raises(InvalidInput, match="web_session"):
        await add(system, value="a1=whatever; webId=it-is")
    assert await value_of(system) == VALUE


@on_sqlite_alone
@pytest.mark.parametrize(
    ("name", "value", "settings", "field"),
    [
        ("", ANY_VALUE, {}, "name"),
        ("  ", ANY_VALUE, {}, "name"),
        ("a" * 51, ANY_VALUE, {}, "name"),
        ("web_session=oops", ANY_VALUE, {}, "name"),
        ("a/b", ANY_VALUE, {}, "name"),
        ("a", "", {}, "value"),
        ("a", "   \n  ", {}, "value"),
        ("a", "short=1", {}, "value"),
        ("a", "x" * 16_385, {}, "value"),
        ("a", "a1=1; injected\r\nHost: x", {}, "value"),
        ("a", ANY_VALUE, {"priority": 101}, "priority"),
        ("a", ANY_VALUE, {"priority": -1}, "priority"),
        ("a", ANY_VALUE, {"daily_limit": 0}, "daily_limit"),
        ("a", ANY_VALUE, {"daily_limit": 10_001}, "daily_limit"),
        ("a", ANY_VALUE, {"description": "x" * 1001}, "description"),
    ],
)
async def test_what_cannot_be_is_refused_by_the_name_of_the_field(system, name, value, settings, field):
    with pytest.raises(InvalidInput) as refusal:
        await add(system, name, value, **settings)
    assert refusal.value.field == field
    assert "oops" not in str(refusal.value)
    assert await system.cookies.list() == []


async def test_defaults_are_those_of_the_document(system):
    added = await add(system)
    assert (added.priority, added.daily_limit, added.status) == (1, 100, CookieStatus.ACTIVE)


@pytest.mark.proves("E-07")
async def test_without_a_master_key_nothing_is_stored_and_the_variable_is_named(open_test_system):
    async with open_test_system() as system:
        with pytest.raises(SettingsError, match="set COOKIE_MASTER_KEY"):
            await add(system)
        assert await system.cookies.list() == []


@on_both_stores
async def test_disabling_limits_and_priority_take_effect_at_once(system):
    await add(system, "a")
    await add(system, "b", priority=5)
    assert (await system.cookies.change("b", CookieChanges(is_enabled=False))).is_enabled is False
    with pytest.raises(CrawlError):
        await value_of(system, "b")
    await system.cookies.change("a", CookieChanges(daily_limit=1))
    await value_of(system, "a")
    with pytest.raises(CrawlError) as spent:
        await value_of(system, "a")
    assert spent.value.code is Code.COOKIE_EXHAUSTED
    enabled = await system.cookies.change("b", CookieChanges(is_enabled=True, priority=0))
    assert (enabled.is_enabled, enabled.priority) == (True, 0)


@pytest.mark.proves("E-10", "E-19")
async def test_the_settings_say_when_a_cookie_rests_and_for_how_long(open_test_system, clock):
    settings = {**KEYED, "max_consecutive_errors": 2, "cooling_duration_minutes": 5, "max_total_errors": 3}
    async with open_test_system(**settings) as system:
        await add(system)
        await fail(system)
        await fail(system)
        assert (await system.cookies.get("a")).cooling_until == clock.now() + 5 * MINUTE
        clock.advance(5 * MINUTE)
        assert (await system.cookies.get("a")).status is CookieStatus.ACTIVE
        await fail(system)
        assert (await system.cookies.get("a")).status is CookieStatus.INVALID
        assert (await system.cookies.reset("a")).status is CookieStatus.ACTIVE


async def test_the_day_of_a_cookie_ends_at_midnight_in_shanghai(system, clock):
    await add(system, daily_limit=1)
    await value_of(system)
    assert (await system.cookies.get("a")).daily_used == 1
    clock.advance(timedelta(hours=4))
    assert (await system.cookies.get("a")).daily_used == 0
    assert await value_of(system) == VALUE


@on_both_stores
@pytest.mark.parametrize("act", ["get", "reset", "remove", "check"])
async def test_a_cookie_that_is_not_there_is_not_found(system, act):
    with pytest.raises(NotFound, match="'nobody'"):
        await getattr(system.cookies, act)("nobody")
    with pytest.raises(NotFound):
        await system.cookies.change("nobody", CookieChanges(priority=1))


async def test_a_removed_cookie_is_gone_and_its_user_undisturbed(system):
    await add(system)
    async with system.cookies._pool().lend(Platform.XHS) as lent:
        await system.cookies.remove("a")
    assert lent.value == VALUE
    assert await system.cookies.list() == []


class TestRotation:
    pytestmark = pytest.mark.proves("E-07")

    async def test_every_cookie_is_sealed_anew_while_they_are_lent(self, system, open_test_system):
        for name in "abc":
            await add(system, name)
        async with open_test_system(**ROTATED) as rotated:
            assert await value_of(rotated) == VALUE
            seen: list[tuple[int, int]] = []
            async with rotated.cookies._pool().lend(Platform.XHS, name="b") as lent:
                found = await rotated.cookies.rotate(lambda done, total: seen.append((done, total)))
            assert (found.total, found.resealed, found.unreadable) == (3, 3, ())
            assert seen == [(1, 3), (2, 3), (3, 3)]
            assert lent.value == VALUE
            assert {one.key_id for one in await rotated.cookies.list()} == {"key_v2"}
            assert (await rotated.cookies.get("b")).total_used == 1
            assert (await rotated.cookies.rotate()).total == 0
        async with open_test_system(**{**ROTATED, "cookie_earlier_keys": {}}) as later:
            assert [await value_of(later, name) for name in "abc"] == [VALUE] * 3

    async def test_processes_that_still_have_the_old_key_first_lend_what_they_can_open(self, system, open_test_system):
        await add(system, "a")
        await add(system, "b")
        async with open_test_system(**ROTATED) as rotated:
            await rotated.cookies.rotate()
            await add(rotated, "c", value=NEW_VALUE)
        await add(system, "d")
        async with system.cookies._pool().lend(Platform.XHS) as lent:
            assert lent.name == "d"

    async def test_one_whose_key_is_not_at_hand_is_named_and_left_as_it_is(self, system, open_test_system):
        before = await add(system)
        async with open_test_system(**{**ROTATED, "cookie_earlier_keys": {}}) as rotated:
            await add(rotated, "b")
            found = await rotated.cookies.rotate()
            assert (found.total, found.resealed, found.unreadable) == (1, 0, ("a",))
            assert (await rotated.cookies.get("a")).sealed == before.sealed

    @on_both_stores
    async def test_a_value_that_is_replaced_meanwhile_stays(self, system, open_test_system):
        for name in "ab":
            await add(system, name)
        async with open_test_system(**ROTATED) as rotated:
            replacing: list[asyncio.Task[object]] = []

            def on_progress(done, total):
                replacing.append(asyncio.create_task(add(rotated, "b", value=NEW_VALUE)))

            await rotated.cookies.rotate(on_progress)
            await asyncio.gather(*replacing)
            assert await value_of(rotated, "b") == NEW_VALUE


class Answering:
    """A platform that says of every cookie the same."""

    name = Platform.XHS
    needs_token = True

    def __init__(self, answer):
        self.answer = answer

    async def is_valid(self, http, cookie):
        assert cookie == VALUE
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None:
            await asyncio.Event().wait()
        return self.answer


class TestChecking:
    def cookies(self, system, answer):
        mine = system.cookies
        reader = PlatformReader(
            platforms={Platform.XHS: Answering(answer)},
            pool=mine._pool(),
            http=system.http,
            journal=system.reader._journal,
            known_address=system.reader._known_address,
            policy=ReadPolicy(check_seconds=0.2),
        )
        return Cookies(
            store=system.store,
            pool=mine._pool,
            seal=mine._seal,
            reader=lambda: reader,
            clock=system.clock,
            policy=mine._policy,
            wait_seconds=1.0,
        )

    @pytest.mark.parametrize(("answer", "status"), [(True, CookieStatus.ACTIVE), (False, CookieStatus.INVALID)])
    async def test_what_the_platform_says_is_told_and_kept(self, system, answer, status):
        await add(system)
        found = await self.cookies(system, answer).check("a")
        assert (found.name, found.is_valid, found.status) == ("a", answer, status)
        assert (await system.cookies.get("a")).total_used == 0

    async def test_a_platform_that_does_not_answer_in_time_says_nothing_about_the_cookie(self, system):
        await add(system)
        with pytest.raises(CrawlError) as slow:
            await self.cookies(system, None).check("a")
        assert slow.value.code is Code.TIMEOUT_ERROR
        assert (await system.cookies.get("a")).total_errors == 0
        assert await system.store.read(cookies.lent_names) == set()

    async def test_a_ban_that_the_check_brings_to_light_is_kept(self, system):
        await add(system)
        with pytest.raises(CrawlError):
            await self.cookies(system, CrawlError(Code.ACCOUNT_BANNED, "no")).check("a")
        assert (await system.cookies.get("a")).status is CookieStatus.BANNED

    async def test_a_cookie_that_stays_in_use_is_not_waited_for_without_an_end(self, system):
        await add(system)
        async with system.cookies._pool().lend(Platform.XHS):
            with pytest.raises(CrawlError) as busy:
                await self.cookies(system, True).check("a")
        assert busy.value.code is Code.TIMEOUT_ERROR


async def test_the_forecast_goes_by_the_requests_of_the_last_hour(system, clock):
    await add(system, daily_limit=6)
    await system.cookies.add("w", Platform.WEIBO, planted_cookie(platform="wb"))
    for _ in range(2):
        await value_of(system)
        clock.advance(10 * MINUTE)
    weibo, xhs = await system.cookies.forecast()
    assert (weibo.platform, weibo.per_hour, weibo.dry_at) == (Platform.WEIBO, 0, None)
    assert (xhs.per_hour, xhs.remaining_today) == (2, 4)
    assert xhs.dry_at == clock.now() + timedelta(hours=2)
