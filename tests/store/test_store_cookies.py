"""Cookies in the store: lent to one at a time, by the same choice as the rules make, and fenced once lost."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import func, select, text

from catchment.domain.cookie import CookiePolicy, CookieStatus, Outcome, after
from catchment.domain.cookie_pool import Want, choose
from catchment.domain.note import Platform
from catchment.domain.run import RunKind
from catchment.store import cookies, runs
from catchment.store.database import open_store
from catchment.store.tables import runs as runs_table
from cookie_factory import MINUTE, POLICY, a_cookie
from source_factory import START

ANY = Want(platform=Platform.XHS)


async def lend(store, want=ANY, *, owner="a:1:x", now=START, policy=POLICY):
    return await store.write(cookies.lend, want, owner=owner, now=now, until=now + MINUTE, policy=policy)


async def add(store, *all_):
    for cookie in all_:
        assert await store.write(cookies.add, cookie)


def a_random_cookie(chance, number):
    status = chance.choice([CookieStatus.ACTIVE] * 4 + list(CookieStatus))
    return a_cookie(
        f"c{number:02}",
        platform=chance.choice([Platform.XHS, Platform.XHS, Platform.WEIBO]),
        status=status,
        cooling_until=START + chance.randint(-2, 2) * MINUTE if status is CookieStatus.COOLING else None,
        is_enabled=chance.random() < 0.8,
        priority=chance.randint(0, 3),
        daily_limit=3,
        daily_used=chance.randint(0, 3),
        used_on=chance.choice([None, START.date(), START.date() - timedelta(days=1)]),
        last_used_at=chance.choice([None, START - timedelta(seconds=1), START - timedelta(seconds=3)]),
    )


@pytest.mark.proves("E-10")
async def test_the_store_lends_in_the_order_that_the_rules_say_until_none_is_left(store):
    policy = CookiePolicy(spacing=timedelta(seconds=2))
    chance = random.Random(20260301)
    for round_ in range(25):
        pool = [a_random_cookie(chance, number) for number in range(8)]
        await add(store, *pool)
        want = replace(ANY, excluded=frozenset(chance.sample([one.name for one in pool], 2)))
        lent: set[str] = set()
        while (expected := choose(pool, want, lent=lent, now=START, policy=policy)) is not None:
            lease = await lend(store, want, policy=policy)
            assert lease is not None, f"round {round_}: {expected}"
            assert lease.cookie.name == expected.name
            lent.add(expected.name)
        assert await lend(store, want, policy=policy) is None
        await store.write(_empty)


def _empty(conn):
    conn.execute(text("DELETE FROM cookies"))
    conn.execute(text("DELETE FROM runs"))


@pytest.mark.proves("E-10")
async def test_of_many_who_ask_at_once_each_gets_a_cookie_of_their_own(store, store_url):
    await add(store, *(a_cookie(f"c{number}") for number in range(5)))
    others = [open_store(store_url) for _ in range(4)]
    asked = [lend(others[number % 4], owner=f"a:{number}:x") for number in range(40)]
    leases = [one for one in await asyncio.gather(*asked) if one is not None]
    names = [one.cookie.name for one in leases]
    assert len(names) == len(set(names)) > 0
    known = await store.read(cookies.list_all)
    assert {one.name for one in known if one.daily_used == 1} == set(names)
    assert await store.read(cookies.lent_names) == set(names)
    for other in others:
        await other.close()


async def test_lending_counts_the_use_and_ends_a_rest_that_is_over(store):
    yesterday = START.date() - timedelta(days=1)
    await add(store, a_cookie(status=CookieStatus.COOLING, cooling_until=START, daily_used=9, used_on=yesterday))
    lease = await lend(store)
    stored = await store.read(cookies.get, "a")
    assert lease.cookie == stored
    assert (stored.status, stored.cooling_until) == (CookieStatus.ACTIVE, None)
    assert (stored.daily_used, stored.used_on, stored.total_used, stored.last_used_at) == (1, START.date(), 1, START)


async def test_the_last_use_of_a_day_is_lent_once(store):
    await add(store, a_cookie(daily_limit=1))
    lease = await lend(store)
    await store.write(cookies.give_back, lease.run, lambda cookie: cookie, now=START)
    assert await lend(store) is None


async def test_the_report_of_a_lease_that_was_taken_over_changes_nothing(store):
    await add(store, a_cookie())
    late = await lend(store)
    await store.write(runs.expire, now=START + MINUTE)
    successor = await lend(store, owner="a:2:x", now=START + MINUTE)
    assert successor.run.id > late.run.id
    before = await store.read(cookies.get, "a")

    def banned(cookie):
        return after(cookie, Outcome.BAN, acquired_at=START, now=START + MINUTE, policy=POLICY)

    assert await store.write(cookies.give_back, late.run, banned, now=START + 2 * MINUTE) is None
    assert await store.read(cookies.get, "a") == before
    assert await store.write(cookies.give_back, successor.run, banned, now=START + 2 * MINUTE) is not None
    assert (await store.read(cookies.get, "a")).status is CookieStatus.BANNED


async def test_a_cookie_may_be_looked_at_in_any_state_but_only_by_one(store):
    await add(store, a_cookie(status=CookieStatus.BANNED, is_enabled=False))

    async def borrow(name, owner):
        return await store.write(cookies.borrow, name, owner=owner, now=START, until=START + MINUTE)

    assert (await borrow("a", "a:1:x")).cookie.total_used == 0
    assert await borrow("a", "a:2:x") is None
    assert await borrow("nobody", "a:2:x") is None
    assert {run.subject for run in await store.read(runs.list_running, RunKind.COOKIE)} == {"a"}


async def test_a_cookie_that_was_removed_meanwhile_is_given_back_all_the_same(store):
    await add(store, a_cookie())
    lease = await lend(store)
    assert await store.write(cookies.remove, "a")
    assert await store.write(cookies.give_back, lease.run, lambda cookie: cookie, now=START) is None
    assert await store.read(cookies.lent_names) == set()


async def test_a_new_key_is_put_only_on_the_value_that_was_read(store):
    await add(store, a_cookie())
    before = await store.read(cookies.get, "a")
    await store.write(cookies.change, "a", lambda cookie: replace(cookie, sealed="a newer one"))
    assert not await store.write(cookies.reseal, before, sealed="the old one", key_id="key_v2")
    current = await store.read(cookies.get, "a")
    assert await store.write(cookies.reseal, current, sealed="the newer one anew", key_id="key_v2")
    assert (await store.read(cookies.get, "a")).key_id == "key_v2"


async def test_uses_are_counted_by_platform_and_hour(store):
    await add(store, a_cookie("a"), a_cookie("b", platform=Platform.WEIBO))
    for minutes in (0, 50, 55):
        lease = await lend(store, now=START + minutes * MINUTE)
        await store.write(cookies.give_back, lease.run, lambda cookie: cookie, now=START + minutes * MINUTE)
    await lend(store, replace(ANY, platform=Platform.WEIBO), now=START + 59 * MINUTE)
    uses = await store.read(cookies.uses_since, START + 10 * MINUTE)
    assert uses == {Platform.XHS: 2, Platform.WEIBO: 1}


@pytest.mark.proves("E-18")
async def test_tbl_cookie_has_the_fields_of_the_document(store):
    await add(store, a_cookie(description="of Ada", total_errors=2))

    def read(conn):
        return conn.execute(text("SELECT * FROM tbl_cookie")).mappings().one()

    row = await store.read(read)
    assert list(row) == [
        "cookie_name", "platform", "cookie_encrypted", "encryption_key_id", "status", "priority", "daily_used",
        "daily_limit", "consecutive_errors", "cooling_until", "total_used", "total_errors", "last_used_at",
        "last_error_at", "description", "created_at", "updated_at",
    ]  # fmt: skip
    assert (row["cookie_name"], row["platform"], row["status"], row["total_errors"]) == ("a", "xhs", "active", 2)


async def test_a_lost_race_leaves_no_lease_behind(store):
    await add(store, a_cookie())
    await lend(store)
    assert await lend(store, owner="a:2:x") is None
    assert await store.read(lambda conn: conn.execute(select(func.count()).select_from(runs_table)).scalar_one()) == 1
